//! The normal distribution's cumulative function over lanes.

use super::exp::exp_below;
use crate::simd::lanes::Simd;

/// m · Φ(x), with a relative error that the rounding of x² dominates, x² · 2⁻²⁴ (held by a test), in the lower tail too. NaN stays NaN.
///
/// The tail is Φ(-a) = exp(-a²/2) · R(a) with R(a) = erfcx(a/√2)/2, a smooth function between 1/2 and 0; the exponential is taken as
/// a square, so that it underflows only far behind the result.
#[inline(always)]
pub fn cumulative<S: Simd>(s: S, x: S::V, m: S::V) -> S::V {
    // R(a) = t · P(t − T0) with t = 1 / (1 + 0.3·a). P interpolates at the Chebyshev points of 0 ≤ a ≤ 19 and is rounded to f32;
    // greatest relative error 2.5e-8.
    const T0: f32 = 0.574_626_86;
    const P: [f32; 10] = [
        0.248_555_76,
        0.384_576_68,
        0.396_552_32,
        0.226_176_44,
        -0.002_367_559_4,
        -0.089_318_8,
        -0.015_353_808,
        0.043_630_22,
        0.005_767_741_7,
        -0.020_918_868,
    ];
    let one = s.splat(1.0);
    let a = s.abs(x);
    let t = s.div(one, s.fma(s.splat(0.3), a, one));
    let u = s.sub(t, s.splat(T0));
    let mut p = s.splat(P[9]);
    for i in (0..9).rev() {
        p = s.fma(p, u, s.splat(P[i]));
    }
    let ratio = s.mul(t, p);
    // exp(-a²/4)
    let h = exp_below(s, s.mul(s.mul(a, a), s.splat(-0.25)));
    let below = s.mul(s.mul(m, h), s.mul(h, ratio));
    let above = s.mul(m, s.sub(one, s.mul(s.mul(h, h), ratio)));
    s.pick_less(x, s.splat(0.0), below, above)
}

//! eˣ where no result is above 1.

use crate::simd::lanes::Simd;

/// eˣ for x of at most 0, at most 1.5 units in the last place off wherever the result is a normal number (held by a test); 0 below.
/// −∞ gives 0, NaN stays NaN.
///
/// Half the work of [`crate::simd::math::exp`]: a result that is a normal number and at most 1 is one product with a power of two,
/// whose bits fall out of the rounding.
#[inline(always)]
pub fn exp_below<S: Simd>(s: S, x: S::V) -> S::V {
    // ln 2 in two parts. The first has 15 bits, so its product with n is exact.
    const LN2_HIGH: f32 = 0.693_145_75;
    const LN2_LOW: f32 = 1.428_606_8e-6;
    // Of 1 + r + r²·q(r) for |r| up to 0.3466, as in `math.rs`.
    const Q: [f32; 5] = [
        0.5,
        0.166_665_18,
        0.041_666_204,
        0.008_368_953,
        0.001_395_058_6,
    ];
    // Below this the result would be no normal number.
    const LEAST: f32 = -87.336_54;
    // 1.5·2²³: a sum with it is rounded to an integer, which stands in its low bits; 127 more is the exponent's bias.
    const ROUND: f32 = 12_582_912.0 + 127.0;
    let clamped = s.max(s.splat(LEAST), x);
    let shifted = s.fma(clamped, s.splat(core::f32::consts::LOG2_E), s.splat(ROUND));
    let n = s.sub(shifted, s.splat(ROUND));
    let power = s.as_floats(s.shl::<23>(s.as_words(shifted)));
    let r = s.fma(n, s.splat(-LN2_HIGH), clamped);
    let r = s.fma(n, s.splat(-LN2_LOW), r);
    let mut q = s.splat(Q[4]);
    q = s.fma(q, r, s.splat(Q[3]));
    q = s.fma(q, r, s.splat(Q[2]));
    q = s.fma(q, r, s.splat(Q[1]));
    q = s.fma(q, r, s.splat(Q[0]));
    let y = s.add(s.splat(1.0), s.fma(s.mul(r, r), q, r));
    s.pick_less(x, s.splat(LEAST), s.splat(0.0), s.mul(y, power))
}

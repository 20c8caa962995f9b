//! exp and tanh over lanes.

use super::lanes::Simd;

/// eˣ, at most 1.25 units in the last place off wherever the result is a normal number (held by a test).
///
/// Above 88.73 the result is infinity. Below −87.34, where it would be subnormal, it is zero: such a weight cannot change a
/// softmax, and subnormal operands are slow on many CPUs. −∞ gives 0, +∞ gives +∞, NaN stays NaN.
#[inline(always)]
pub fn exp<S: Simd>(s: S, x: S::V) -> S::V {
    // ln 2 in two parts. The first has 15 bits, so its product with n is exact; n·ln 2 leaves r within ±0.3466.
    const LN2_HIGH: f32 = 0.693_145_75;
    const LN2_LOW: f32 = 1.428_606_8e-6;
    // Least greatest relative error of 1 + r + r²·q(r) over that interval, by the exchange algorithm: 3.2e-9.
    const Q: [f32; 5] = [
        0.5,
        0.166_665_18,
        0.041_666_204,
        0.008_368_953,
        0.001_395_058_6,
    ];
    let clamped = s.min(s.splat(100.0), s.max(s.splat(-110.0), x));
    let n = s.round(s.mul(clamped, s.splat(core::f32::consts::LOG2_E)));
    let r = s.fma(n, s.splat(-LN2_HIGH), clamped);
    let r = s.fma(n, s.splat(-LN2_LOW), r);
    let mut q = s.splat(Q[4]);
    q = s.fma(q, r, s.splat(Q[3]));
    q = s.fma(q, r, s.splat(Q[2]));
    q = s.fma(q, r, s.splat(Q[1]));
    q = s.fma(q, r, s.splat(Q[0]));
    let y = s.add(s.splat(1.0), s.fma(s.mul(r, r), q, r));
    let y = s.scale_by_power(y, n);
    s.pick_less(x, s.splat(-87.336_54), s.splat(0.0), y)
}

/// tanh x, at most 3 units in the last place off (held by a test). ±∞ gives ±1, NaN stays NaN, the sign of zero is kept.
#[inline(always)]
pub fn tanh<S: Simd>(s: S, x: S::V) -> S::V {
    // Near zero 1 − 2/(e²ˣ+1) cancels, so there x + x³·p(x²) is taken: greatest relative error 4.2e-9 up to 0.625.
    const P: [f32; 5] = [
        -0.333_332_84,
        0.133_314_91,
        -0.053_743_497,
        0.020_650_584,
        -0.005_717_042,
    ];
    let size = s.abs(x);
    let x2 = s.mul(x, x);
    let mut p = s.splat(P[4]);
    p = s.fma(p, x2, s.splat(P[3]));
    p = s.fma(p, x2, s.splat(P[2]));
    p = s.fma(p, x2, s.splat(P[1]));
    p = s.fma(p, x2, s.splat(P[0]));
    let near = s.fma(s.mul(x2, size), p, size);
    // From 10 on tanh is 1 in single precision.
    let e = exp(s, s.mul(s.splat(2.0), s.min(s.splat(10.0), size)));
    let far = s.sub(s.splat(1.0), s.div(s.splat(2.0), s.add(e, s.splat(1.0))));
    // The sign comes last, so that −0 keeps its own.
    s.with_sign(s.pick_less(size, s.splat(0.625), near, far), x)
}

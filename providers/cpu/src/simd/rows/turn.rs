//! Cosines and sines of large angles, in f64 and rounded once.
//!
//! Written as plain loops over arrays: inlined into a task they are compiled with its instructions, and the compiler makes vectors of
//! them.

/// Angles up to here are reduced by [`reduced`]: n · π/2 stays exact enough in two parts.
const FAR: f64 = (1_u64 << 45) as f64;

/// π/2 in two parts of 53 bits each.
const HALF_PI: [f64; 2] = [core::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];

/// Writes cos and sin of `position · frequency`, each times `amplitude`, for every frequency. The product is taken in f64, which
/// holds it exactly up to positions of 2²⁹.
#[inline(always)]
pub fn turns(position: i32, frequencies: &[f32], amplitude: f64, cos: &mut [f32], sin: &mut [f32]) {
    let position = f64::from(position);
    let (cos, sin) = (&mut cos[..frequencies.len()], &mut sin[..frequencies.len()]);
    let mut far = false;
    for i in 0..frequencies.len() {
        let angle = position * f64::from(frequencies[i]);
        far |= angle.abs() > FAR || angle.is_nan();
        let (c, s) = reduced(angle);
        cos[i] = (c * amplitude) as f32;
        sin[i] = (s * amplitude) as f32;
    }
    if far {
        for i in 0..frequencies.len() {
            let (s, c) = (position * f64::from(frequencies[i])).sin_cos();
            cos[i] = (c * amplitude) as f32;
            sin[i] = (s * amplitude) as f32;
        }
    }
}

/// cos and sin of an angle of at most [`FAR`], off by less than 2⁻⁴⁵ (held by a test).
#[inline(always)]
fn reduced(angle: f64) -> (f64, f64) {
    // Greatest error 1e-14 up to π/4: Taylor series with enough terms, since f32 is what is wanted.
    const SIN: [f64; 6] = [
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5_040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
    ];
    const COS: [f64; 7] = [
        -0.5,
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0,
    ];
    // Adding 1.5·2⁵² rounds to an integer, whose low bits then are those of the sum.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = angle.mul_add(core::f64::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    let quarter = shifted.to_bits();
    let r = (-n).mul_add(HALF_PI[0], angle);
    let r = (-n).mul_add(HALF_PI[1], r);
    let r2 = r * r;
    let mut s = SIN[5];
    for i in (0..5).rev() {
        s = s.mul_add(r2, SIN[i]);
    }
    let s = (s * r2).mul_add(r, r);
    let mut c = COS[6];
    for i in (0..6).rev() {
        c = c.mul_add(r2, COS[i]);
    }
    let c = c.mul_add(r2, 1.0);
    // A quarter turn exchanges them; signs follow the quarter: − for cos in the second and third, for sin in the last two.
    let odd = quarter & 1 != 0;
    let (cos, sin) = if odd { (s, c) } else { (c, s) };
    let cos_sign = (quarter.wrapping_add(1) & 2) << 62;
    let sin_sign = (quarter & 2) << 62;
    (
        f64::from_bits(cos.to_bits() ^ cos_sign),
        f64::from_bits(sin.to_bits() ^ sin_sign),
    )
}

#[cfg(test)]
mod tests {
    use super::{FAR, reduced, turns};

    #[test]
    fn angles_of_every_size_are_reduced_exactly_enough() {
        let mut worst = 0.0_f64;
        let mut angle = 1e-9;
        while angle < FAR {
            for a in [angle, -angle, angle * 1.37] {
                let a = a.min(FAR);
                let (c, s) = reduced(a);
                worst = worst.max((c - a.cos()).abs()).max((s - a.sin()).abs());
            }
            angle *= 1.003;
        }
        // Close to multiples of π/2, where the reduction loses most.
        for n in 0..4000 {
            let a = f64::from(n * n) * core::f64::consts::FRAC_PI_2;
            let (c, s) = reduced(a);
            worst = worst.max((c - a.cos()).abs()).max((s - a.sin()).abs());
        }
        eprintln!("off by {worst:e}");
        assert!(worst < 2f64.powi(-45), "{worst:e}");
    }

    #[test]
    fn frequencies_beyond_all_use_are_still_right() {
        let frequencies = [1.0_f32, 1e30, 3e38, 0.0, -2.5];
        let (mut cos, mut sin) = ([0.0; 5], [0.0; 5]);
        turns(i32::MAX, &frequencies, 0.5, &mut cos, &mut sin);
        for i in 0..5 {
            let (s, c) = (f64::from(i32::MAX) * f64::from(frequencies[i])).sin_cos();
            assert!((f64::from(cos[i]) - 0.5 * c).abs() < 1e-7, "{i}");
            assert!((f64::from(sin[i]) - 0.5 * s).abs() < 1e-7, "{i}");
        }
    }
}

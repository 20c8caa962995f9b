//! The draw: Philox4x32-10, after Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (2011).

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// Added to the key from round to round: the golden ratio and the root of 3 less 1, in units of 2^-32.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const ROUNDS: u32 = 10;

/// The first word of the output for the key `seed` and the counter `draw`, low words first, as a share of 2^32: in 0..1.
pub fn uniform(seed: i64, draw: i64) -> f64 {
    let counter = [draw as u32, (draw >> 32) as u32, 0, 0];
    let key = [seed as u32, (seed >> 32) as u32];
    f64::from(philox(counter, key)[0]) * 2f64.powi(-32)
}

fn philox(mut x: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    for round in 0..ROUNDS {
        let key: [u32; 2] =
            std::array::from_fn(|i| key[i].wrapping_add(round.wrapping_mul(WEYL[i])));
        let product = |word: u32, i: usize| u64::from(word) * u64::from(MULTIPLIERS[i]);
        let (p, q) = (product(x[0], 0), product(x[2], 1));
        x = [
            (q >> 32) as u32 ^ x[1] ^ key[0],
            q as u32,
            (p >> 32) as u32 ^ x[3] ^ key[1],
            p as u32,
        ];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::{philox, uniform};

    /// The authors' known answers: all bits clear, all set, and digits of pi.
    #[test]
    fn published_answers_are_met() {
        assert_eq!(
            philox([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn numbers_are_even_in_0_to_1() {
        let n = 4096;
        let drawn: Vec<f64> = (0..n).map(|draw| uniform(-3, draw)).collect();
        assert!(drawn.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = drawn.iter().sum::<f64>() / n as f64;
        // Of 4096 even numbers the mean is within 0.02 of one half but once in 10^5.
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert_ne!(uniform(-3, 1), uniform(-3, 1 + (1 << 32)));
        assert_ne!(uniform(-3, 1), uniform(-3 ^ (1 << 32), 1));
    }
}

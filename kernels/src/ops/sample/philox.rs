//! Philox4x32-10: a random function of a counter and a key, of Salmon, Moraes, Dror and Shaw (2011).

/// Ten rounds on a counter of four words under a key of two.
pub(super) fn philox4x32_10(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key[0] = key[0].wrapping_add(0x9e37_79b9);
            key[1] = key[1].wrapping_add(0xbb67_ae85);
        }
        let (a, b) = (
            u64::from(counter[0]) * 0xd251_1f53,
            u64::from(counter[2]) * 0xcd9e_8d57,
        );
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
    }
    counter
}

/// The draw of the op: in 0..1, a multiple of 2^-32.
pub(super) fn uniform(seed: i64, draw: i64) -> f64 {
    let words = |x: i64| [x as u32, (x as u64 >> 32) as u32];
    let ([low, high], key) = (words(draw), words(seed));
    f64::from(philox4x32_10([low, high, 0, 0], key)[0]) / 2f64.powi(32)
}

#[cfg(test)]
mod tests {
    use super::{philox4x32_10, uniform};

    /// The known answers that the authors publish with their implementation: zeros, ones, and digits of pi.
    #[test]
    fn known_answers_are_met() {
        for (counter, key, want) in [
            (
                [0; 4],
                [0; 2],
                [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            ),
            (
                [u32::MAX; 4],
                [u32::MAX; 2],
                [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            ),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox4x32_10(counter, key), want);
        }
    }

    #[test]
    fn seed_and_draw_are_key_and_counter_with_the_low_word_first() {
        let whole = |counter, key| f64::from(philox4x32_10(counter, key)[0]) / 4_294_967_296.0;
        assert_eq!(uniform(0, 0), f64::from(0x6627_e8d5_u32) / 4_294_967_296.0);
        assert_eq!(
            uniform(0x0000_0007_0000_0003, 0x0000_0009_0000_0005),
            whole([5, 9, 0, 0], [3, 7])
        );
        assert_eq!(
            uniform(-1, -2),
            whole([u32::MAX - 1, u32::MAX, 0, 0], [u32::MAX; 2])
        );
    }
}

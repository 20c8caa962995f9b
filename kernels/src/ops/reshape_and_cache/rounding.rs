//! How far a stored value may be from what was to be stored.

use crate::dtype::{
    FP8_E4M3FN, FP8_E4M3FNUZ, FP8_E5M2, FP8_E5M2FNUZ, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,
};
use crate::op::Tolerance;
use crate::ops::support::unit_roundoff;
use overt_abi::OvertDType;

/// The greatest magnitude of a block over the root mean square of its row that is allowed for. Of uniform numbers, with which
/// verification fills, it is about 1.8, and in one row of 32 of some thousands 2.6.
const CREST: f64 = 3.0;

/// One rounding of an f32 quotient, for the division by the scale.
const QUOTIENT: f64 = 1.01 / (1u64 << 24) as f64;

/// Half the spacing of f16 in its normal range, which the scales of blocks are rounded to.
const SCALE: f64 = 1.01 / (1u64 << 11) as f64;

/// What storing a number of a row once in this type may change, blocks and all. Of a type that no cache has: one rounding.
pub fn storing(dtype: OvertDType) -> Tolerance {
    let eight_bits = |relative: i32, floor: i32| Tolerance {
        absolute: 0.0,
        relative: 2f64.powi(relative) + QUOTIENT,
        floor: 2f64.powi(floor) * (1.0 + QUOTIENT),
        reason: "the one rounding to an 8-bit float: half a spacing, 2^-4 of the value with three fraction bits and 2^-3 with two, and \
                 half the least number among subnormals; larger than the largest is the largest",
    };
    let block = |absolute: f64, relative: f64| Tolerance {
        absolute: CREST * absolute,
        relative: relative + SCALE + QUOTIENT,
        floor: f64::from(f32::MIN_POSITIVE),
        reason: "half a step of the block, whose greatest magnitude is at most three times the row's root mean square: 1/254 of \
                 it for q8_0, 1/16 for q4_0, 1/32 for q5_0, and of a range of twice that 1/15 for q4_1 and 1/31 for q5_1; the scale's \
                 rounding to f16, 2^-11 of what it scales; and for q4_0 and q5_0, whose codes reach one step less far on one side, \
                 another half step at that end, 1/16 and 1/32 of the value",
    };
    match dtype {
        FP8_E4M3FN => eight_bits(-4, -10),
        FP8_E4M3FNUZ => eight_bits(-4, -11),
        FP8_E5M2 => eight_bits(-3, -17),
        FP8_E5M2FNUZ => eight_bits(-3, -18),
        Q8_0 => block(1.0 / 254.0, 0.0),
        Q4_0 => block(1.0 / 16.0, 1.0 / 16.0),
        Q5_0 => block(1.0 / 32.0, 1.0 / 32.0),
        Q4_1 => block(1.0 / 15.0 + 3.0 * SCALE, 0.0),
        Q5_1 => block(1.0 / 31.0 + 3.0 * SCALE, 0.0),
        _ => Tolerance {
            absolute: 0.0,
            relative: unit_roundoff(dtype) + QUOTIENT,
            floor: Tolerance::floor_of(dtype),
            reason: "the one rounding to the type (2^-24 f32, 2^-11 f16, 2^-8 bf16) and that of the quotient in f32",
        },
    }
}

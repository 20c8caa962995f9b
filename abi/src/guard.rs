//! Guards as data: each clause tests one fact, so that the host can evaluate, explain and reason about it.

use crate::{OvertStr, OvertValue};

/// One test of one fact. A guard is the conjunction of its kernel's clauses.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertClause {
    /// `sizeof(OvertClause)` as the writer knows it.
    pub size: u32,
    /// One of the `OVERT_CMP_…` comparisons. An unknown one makes the kernel unusable, and says so.
    pub cmp: u32,
    /// The fact's full name: `device.arch`, `query.dtype`, `D`, `attr.softcap`, `knob.attn.decode.kv_splits`.
    pub fact: OvertStr,
    /// What the fact is compared with.
    pub values: *const OvertValue,
    /// Number of `values`: one, except for `IN`, `NOT_IN` and `ARCH`.
    pub value_count: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Where a number comes from, in words: a limit of the hardware, a measurement. May be empty.
    pub source: OvertStr,
}

/// The fact equals the value.
pub const OVERT_CMP_IS: u32 = 1;
/// The fact differs from the value.
pub const OVERT_CMP_IS_NOT: u32 = 2;
/// The fact is one of the values.
pub const OVERT_CMP_IN: u32 = 3;
/// The fact is none of the values.
pub const OVERT_CMP_NOT_IN: u32 = 4;
/// The fact is at least the value.
pub const OVERT_CMP_AT_LEAST: u32 = 5;
/// The fact is at most the value.
pub const OVERT_CMP_AT_MOST: u32 = 6;
/// The fact is below the value.
pub const OVERT_CMP_BELOW: u32 = 7;
/// The fact is above the value.
pub const OVERT_CMP_ABOVE: u32 = 8;
/// The integer fact is a multiple of the value.
pub const OVERT_CMP_MULTIPLE_OF: u32 = 9;
/// The architecture fact lies in one of the patterns.
pub const OVERT_CMP_ARCH: u32 = 10;

//! One call of an op, as a kernel sees it.

use crate::{OvertTensor, OvertValue};
use core::ffi::c_void;

/// The operands and attributes of one call. The host owns it and everything it points to, for the duration of the entry; a
/// provider copies what it needs later.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertCall {
    /// `sizeof(OvertCall)` as the host knows it.
    pub size: u32,
    /// `OVERT_CALL_…` flags.
    pub flags: u32,
    /// Number of operands: inputs in schema order, then outputs in schema order. Absent optional ones are there, flagged.
    pub operand_count: u32,
    /// Number of attributes, always all of the schema's, defaults filled in.
    pub attr_count: u32,
    /// The operands.
    pub operands: *const OvertTensor,
    /// The attributes in schema order.
    pub attrs: *const OvertValue,
    /// The values of the knobs that the kernel declares, in that order.
    pub knobs: *const OvertValue,
    /// Number of `knobs`.
    pub knob_count: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Workspace for this launch, at least as large and aligned as `kernel_workspace` asked for; null when it asked for none.
    /// Rank 1, `uint8`. Used by one stream at a time; its contents are undefined on entry.
    pub workspace: *const OvertTensor,
    /// What `kernel_prepare` returned for this problem, or null when the host did not prepare.
    pub plan: *mut c_void,
}

/// The stream is capturing. `launch` records and must not compile, tune, allocate or synchronise.
pub const OVERT_CALL_CAPTURING: u32 = 1;

/// Workspace that a call needs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertWorkspaceNeed {
    /// `sizeof(OvertWorkspaceNeed)` as the host knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Bytes; 0 for none.
    pub bytes: u64,
    /// Alignment, a power of two; 0 for the device's own.
    pub alignment: u64,
}

/// The memory of a weight after repacking for one kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertWeightsLayout {
    /// `sizeof(OvertWeightsLayout)` as the host knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Names the layout, never 0. Two kernels that return one key share packed weights. It covers everything that the packed
    /// bytes depend on (format, tile, device), so it can be a cache key.
    pub key: u64,
    /// Bytes of the packed weight.
    pub bytes: u64,
    /// Alignment it needs, a power of two; 0 for the device's own.
    pub alignment: u64,
}

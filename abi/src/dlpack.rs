//! The structs of DLPack 1.x, laid out as its header states them (version 1.1, `dlpack/dlpack.h` of the DMLC project), so that
//! tensors go in and out of other frameworks without copying.

use core::ffi::c_void;

/// Version of the DLPack ABI that a producer speaks.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// A consumer that sees another major version may only call the deleter.
    pub major: u32,
    /// Additions.
    pub minor: u32,
}

/// Where memory lives.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// A `kDL…` device type: 1 CPU, 2 CUDA, 7 Vulkan, 8 Metal, 10 ROCm, 14 oneAPI.
    pub device_type: i32,
    /// Index among devices of the type.
    pub device_id: i32,
}

/// A tensor view.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// Start of the allocation.
    pub data: *mut c_void,
    /// Where it lives.
    pub device: DLDevice,
    /// Number of dimensions.
    pub ndim: i32,
    /// Element type: the same three members as [`crate::OvertDType`].
    pub dtype: crate::OvertDType,
    /// Extents.
    pub shape: *mut i64,
    /// Strides in elements; null for contiguous (before version 1.2).
    pub strides: *mut i64,
    /// Offset of the first element in bytes.
    pub byte_offset: u64,
}

/// A tensor with its owner.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensorVersioned {
    /// Checked before anything else is read.
    pub version: DLPackVersion,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// Called once by the consumer when it is done; null if the producer needs nothing.
    pub deleter: Option<unsafe extern "C" fn(managed: *mut DLManagedTensorVersioned)>,
    /// `DLPACK_FLAG_…` bits.
    pub flags: u64,
    /// The view.
    pub dl_tensor: DLTensor,
}

/// The tensor must not be written.
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u64 = 1;
/// The producer made a copy.
pub const DLPACK_FLAG_BITMASK_IS_COPIED: u64 = 2;
/// Elements narrower than a byte are padded to one.
pub const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED: u64 = 4;

//! A tensor as an argument: a view into an allocation.

use crate::OvertDType;

/// A view: allocation handle and byte offset, and a device address where the backend has one, so that backends that bind
/// buffers by handle fit as well as those that pass pointers.
///
/// The view's elements are at `byte_offset + bytes(Σ indexᵢ · stridesᵢ)`. The host has checked that every reachable element
/// lies inside the allocation, without overflow, before a provider sees the view.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertTensor {
    /// `sizeof(OvertTensor)` as the writer knows it.
    pub size: u32,
    /// `OVERT_TENSOR_…` flags.
    pub flags: u32,
    /// Element type.
    pub dtype: OvertDType,
    /// Number of dimensions.
    pub rank: u32,
    /// The allocation, as `memory_alloc` or `memory_import` named it; 0 when absent.
    pub handle: u64,
    /// From the start of the allocation to the first element, in bytes.
    pub byte_offset: u64,
    /// Device address of the first element, offset included; 0 where the backend has no addresses.
    pub address: u64,
    /// Size of the whole allocation in bytes.
    pub allocation_bytes: u64,
    /// A power of two that divides the first element's address (or its offset, where there is no address).
    pub alignment: u64,
    /// 0 for the plain layout that `shape` and `strides` describe; otherwise the key of a packed layout that the kernel's
    /// `weights_layout` returned. Packed memory is opaque: then `shape` is still the logical one and `strides` are unused.
    pub layout: u64,
    /// `rank` extents, in elements, each at least 0. Null for rank 0. A block format counts elements, not blocks.
    pub shape: *const i64,
    /// `rank` strides, in elements, always present, each at least 0. A stride of 0 repeats an element; on an output it occurs
    /// only where the extent is at most 1. Null for rank 0. In a block format the last dimension has stride 1 and every other stride
    /// is a multiple of the block's elements.
    pub strides: *const i64,
}

/// The optional operand is not given. All other members but `size` are zero.
pub const OVERT_TENSOR_ABSENT: u32 = 1;
/// The kernel must not write through this view.
pub const OVERT_TENSOR_READ_ONLY: u32 = 2;

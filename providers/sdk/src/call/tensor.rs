//! One operand.

use crate::dtypes::{self, Element};
use crate::{Error, Result};
use overt_abi::{OVERT_TENSOR_READ_ONLY, OvertDType, OvertTensor};

/// A view of one present operand. Copying it copies nothing of the tensor.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    raw: &'a OvertTensor,
}

impl<'a> TensorView<'a> {
    /// # Safety
    /// `raw.shape` and `raw.strides` point to `raw.rank` values that live for `'a` (or the rank is 0).
    pub(crate) unsafe fn new(raw: &'a OvertTensor) -> Self {
        Self { raw }
    }

    /// The struct itself, for backends that bind by handle.
    pub fn raw(&self) -> &'a OvertTensor {
        self.raw
    }

    /// Element type.
    pub fn dtype(&self) -> OvertDType {
        self.raw.dtype
    }

    /// Extents in elements.
    pub fn shape(&self) -> &'a [i64] {
        // SAFETY: the rule of `new`.
        unsafe { values(self.raw.shape, self.raw.rank) }
    }

    /// Strides in elements.
    pub fn strides(&self) -> &'a [i64] {
        // SAFETY: the rule of `new`.
        unsafe { values(self.raw.strides, self.raw.rank) }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.raw.rank as usize
    }

    /// Extent of one dimension.
    pub fn dim(&self, index: usize) -> Result<i64> {
        self.shape()
            .get(index)
            .copied()
            .ok_or_else(|| self.no_dim(index))
    }

    /// Stride of one dimension, in elements.
    pub fn stride(&self, index: usize) -> Result<i64> {
        self.strides()
            .get(index)
            .copied()
            .ok_or_else(|| self.no_dim(index))
    }

    fn no_dim(&self, index: usize) -> Error {
        Error::invalid(format!(
            "dimension {index} of an operand of rank {}",
            self.rank()
        ))
    }

    /// Number of elements; saturating.
    pub fn elements(&self) -> i64 {
        self.shape().iter().fold(1, |n, d| n.saturating_mul(*d))
    }

    /// The allocation's handle.
    pub fn handle(&self) -> u64 {
        self.raw.handle
    }

    /// First element's offset in the allocation, in bytes.
    pub fn byte_offset(&self) -> u64 {
        self.raw.byte_offset
    }

    /// Device address of the first element, 0 where the backend has none.
    pub fn address(&self) -> u64 {
        self.raw.address
    }

    /// Size of the whole allocation in bytes.
    pub fn allocation_bytes(&self) -> u64 {
        self.raw.allocation_bytes
    }

    /// A power of two that divides the first element's address.
    pub fn alignment(&self) -> u64 {
        self.raw.alignment
    }

    /// Key of a packed layout, 0 for the plain one.
    pub fn layout(&self) -> u64 {
        self.raw.layout
    }

    /// Whether writing is forbidden.
    pub fn read_only(&self) -> bool {
        self.raw.flags & OVERT_TENSOR_READ_ONLY != 0
    }

    /// The first element's address as a pointer to `T`. An error when the operand is not of that type. Dereferencing is the
    /// caller's affair; on a device with memory of its own it is never right on the host.
    pub fn as_ptr<T: Element>(&self) -> Result<*const T> {
        if self.raw.dtype != T::DTYPE {
            return Err(Error::invalid(format!(
                "operand is {}, read as {}",
                dtypes::name(self.raw.dtype),
                dtypes::name(T::DTYPE)
            )));
        }
        Ok(self.raw.address as usize as *const T)
    }

    /// Like [`Self::as_ptr`], for writing; an error on a read-only operand.
    pub fn as_mut_ptr<T: Element>(&self) -> Result<*mut T> {
        if self.read_only() {
            return Err(Error::invalid("operand is read-only and would be written"));
        }
        self.as_ptr::<T>().map(<*const T>::cast_mut)
    }
}

/// # Safety
/// `data` points to `count` values that live for `'a`, or `count` is 0.
unsafe fn values<'a>(data: *const i64, count: u32) -> &'a [i64] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data, count as usize) }
}

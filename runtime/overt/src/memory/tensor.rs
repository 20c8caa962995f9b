//! Tensors: a view and the allocation that it looks into.

use super::{Allocation, MAX_RANK, MemoryKind, View, ViewError};
use crate::error::Error;
use crate::registry::Device;
use overt_abi::{OvertDType, OvertTensor};
use overt_kernels::dtype;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// A view into an allocation of one device. Checked when it is made: every element that an index reaches lies inside the
/// allocation. A clone shares the memory. `Send` and `Sync`: the host never touches the memory through it.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub(crate) view: View,
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) place: Place,
}

/// Where a tensor is, copied out of its allocation, so that a dispatch need not follow a pointer for each operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) handle: u64,
    /// Device address of the first element, 0 where the backend has none.
    pub(crate) address: u64,
    /// Size of the allocation.
    pub(crate) bytes: u64,
    /// Its device, by identity.
    pub(crate) device: usize,
    /// Other allocations may name the same memory.
    pub(crate) imported: bool,
}

impl Tensor {
    /// Allocates a contiguous tensor. Its contents are undefined.
    pub fn empty(device: &Device, dtype: OvertDType, shape: &[i64]) -> Result<Tensor, Error> {
        let view = View::contiguous(dtype, shape)?;
        let allocation = Allocation::new(device, view.span_bytes, 0, MemoryKind::Device)?;
        Tensor::over(allocation, view, 0)
    }

    /// Views an allocation: `view`'s shape and strides, first element `byte_offset` bytes in.
    pub fn over(
        allocation: Arc<Allocation>,
        view: View,
        byte_offset: u64,
    ) -> Result<Tensor, Error> {
        let available = allocation.bytes();
        let end = byte_offset.checked_add(view.span_bytes);
        if end.is_none_or(|end| end > available) {
            return Err(ViewError::OutOfBounds {
                needed: view.span_bytes,
                offset: byte_offset,
                available,
            }
            .into());
        }
        let view = view.at(byte_offset, allocation.alignment());
        let needed = dtype::element_bytes(view.dtype).unwrap_or(1);
        // An element that straddles its own alignment cannot be loaded by most devices, and no kernel declares that it can.
        if needed.is_power_of_two() && view.alignment < needed && view.span_bytes > 0 {
            return Err(ViewError::Misaligned {
                alignment: view.alignment,
                dtype: dtype::name(view.dtype).unwrap_or("?"),
                needed,
            }
            .into());
        }
        Ok(Tensor::at(allocation, view))
    }

    /// A tensor whose view is known to lie inside the allocation.
    pub(crate) fn at(allocation: Arc<Allocation>, view: View) -> Tensor {
        let address = allocation.address();
        let place = Place {
            handle: allocation.handle(),
            address: if address == 0 {
                0
            } else {
                address + view.byte_offset
            },
            bytes: allocation.bytes(),
            device: allocation.device().identity(),
            imported: allocation.is_imported(),
        };
        Tensor {
            view,
            allocation,
            place,
        }
    }

    /// The part of dimension `dimension` from `start` for `len` elements.
    pub fn slice(&self, dimension: usize, start: i64, len: i64) -> Result<Tensor, Error> {
        let mut shape = [0; MAX_RANK];
        let rank = self.view.rank as usize;
        shape[..rank].copy_from_slice(self.view.shape());
        let extent = *self.view.shape().get(dimension).ok_or(ViewError::Rank {
            rank: dimension + 1,
        })?;
        if start < 0 || len < 0 || start.checked_add(len).is_none_or(|end| end > extent) {
            return Err(ViewError::Slice {
                dimension,
                start,
                len,
                extent,
            }
            .into());
        }
        if self.view.layout != 0 {
            return Err(ViewError::Packed.into());
        }
        shape[dimension] = len;
        let mut view = View::strided(self.view.dtype, &shape[..rank], self.view.strides())?;
        if self.view.read_only {
            view = view.read_only();
        }
        // A start inside the extent was reached before, so neither product nor sum can wrap.
        let elements = start as u64 * self.view.strides[dimension] as u64;
        let bytes = if view.span_bytes == 0 {
            0
        } else {
            dtype::bytes_for(self.view.dtype, elements).ok_or_else(|| ViewError::Blocks {
                dtype: dtype::name(self.view.dtype).unwrap_or("?"),
                block: dtype::block(self.view.dtype).map_or(1, |b| b.elements),
                what: format!("a part that starts at element {elements} starts inside one"),
            })?
        };
        Tensor::over(self.allocation.clone(), view, self.view.byte_offset + bytes)
    }

    /// Where both start in one address space; `None` where they cannot share memory. Imports may name memory that another allocation
    /// names too, and are told apart by address alone.
    #[inline]
    pub(crate) fn starts(&self, other: &Tensor) -> Option<(u64, u64)> {
        let (a, b) = (&self.place, &other.place);
        if a.handle == b.handle && a.device == b.device {
            Some((self.view.byte_offset, other.view.byte_offset))
        } else {
            ((a.imported || b.imported) && a.address != 0 && b.address != 0)
                .then_some((a.address, b.address))
        }
    }

    /// The same elements, not to be written through.
    #[must_use]
    pub fn read_only(mut self) -> Tensor {
        self.view = self.view.read_only();
        self
    }

    /// Marks the memory as holding the packed layout `layout` of a weight.
    pub(crate) fn packed(mut self, layout: u64) -> Tensor {
        self.view = self.view.packed(layout);
        self
    }

    /// How it lies.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Its memory.
    pub fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }

    /// The device it lies on.
    pub fn device(&self) -> &Device {
        self.allocation.device()
    }

    /// Element type.
    pub fn dtype(&self) -> OvertDType {
        self.view.dtype
    }

    /// Extents.
    pub fn shape(&self) -> &[i64] {
        self.view.shape()
    }

    /// Writes what the ABI sees.
    #[inline]
    pub(crate) fn write_raw(&self, place: &mut MaybeUninit<OvertTensor>) {
        self.view.write_raw(
            place,
            self.place.handle,
            self.place.address,
            self.place.bytes,
        );
    }

    /// What the ABI sees. The pointers borrow from `self`.
    pub(crate) fn raw(&self) -> OvertTensor {
        let mut place = MaybeUninit::uninit();
        self.write_raw(&mut place);
        // SAFETY: `write_raw` writes every field.
        unsafe { place.assume_init() }
    }
}

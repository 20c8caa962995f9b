//! Views: dtype, shape, strides and place of a tensor, with everything that guards ask of them worked out once.

use overt_abi::{OVERT_TENSOR_READ_ONLY, OvertDType, OvertTensor};
use overt_kernels::dtype;
use std::mem::MaybeUninit;

/// Most dimensions that a view may have.
pub const MAX_RANK: usize = 8;

/// How a tensor lies in its allocation. Immutable; a copy costs some 250 bytes and no allocation.
///
/// Extents and strides are in elements; offsets, spans and alignments in bytes. Extents of zero are valid and make the view
/// empty. A block-quantised format counts elements, its last dimension has stride 1 and whole blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub(crate) dtype: OvertDType,
    pub(crate) rank: u32,
    pub(crate) read_only: bool,
    pub(crate) contiguous: bool,
    pub(crate) inner_contiguous: bool,
    /// Greatest power of two, up to [`MOST_ROW_ALIGN`], that divides every stride but the last, in elements.
    pub(crate) row_align: i64,
    pub(crate) shape: [i64; MAX_RANK],
    pub(crate) strides: [i64; MAX_RANK],
    pub(crate) byte_offset: u64,
    pub(crate) alignment: u64,
    pub(crate) layout: u64,
    pub(crate) elements: i64,
    /// Σ(dimᵢ−1)·strideᵢ, or −1 for an empty view: the greatest element offset that an index reaches.
    pub(crate) max_offset: i64,
    /// Bytes from the first element to the end of the last reachable one; 0 for an empty view.
    pub(crate) span_bytes: u64,
    /// Stands for everything above but the offset.
    pub(crate) mark: Mark,
}

/// Stands for a view's dtype, shape, strides, alignment, layout and read-only flag: 128 bits, mixed so that views which differ in one
/// of these words always differ in the mark, and any two others do but for one chance in 2^128. What was checked for one view
/// holds for every other with its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark(pub(crate) u64, pub(crate) u64);

impl Mark {
    /// The mark of an absent operand; no view has it in practice, as of any other view.
    pub(crate) const ABSENT: Mark = Mark(0, 0);
}

/// A view that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// More dimensions than a view may have.
    #[error("rank {rank} is above the greatest, {MAX_RANK}")]
    Rank {
        /// The rank asked for.
        rank: usize,
    },
    /// A number of strides other than the number of dimensions.
    #[error("{strides} strides for {rank} dimensions; give one for each")]
    StrideCount {
        /// Strides given.
        strides: usize,
        /// Dimensions given.
        rank: usize,
    },
    /// A negative extent or stride.
    #[error("{what} {dimension} is {value}; extents and strides are at least 0")]
    Negative {
        /// `extent` or `stride`.
        what: &'static str,
        /// Which dimension.
        dimension: usize,
        /// The value given.
        value: i64,
    },
    /// The product of extents, or the reach of the strides, does not fit 64 bits.
    #[error("shape {shape:?} with strides {strides:?} reaches beyond 2^63 bytes")]
    Overflow {
        /// The shape.
        shape: Vec<i64>,
        /// The strides.
        strides: Vec<i64>,
    },
    /// An element type with no size known to this host.
    #[error("element type {code}:{bits}x{lanes} has no size known to this host")]
    DType {
        /// ABI code.
        code: u8,
        /// Bits of a lane.
        bits: u8,
        /// Lanes.
        lanes: u16,
    },
    /// A block format whose rows are not whole blocks, or are strided inside.
    #[error("dtype {dtype} comes in blocks of {block} elements: {what}")]
    Blocks {
        /// The format.
        dtype: &'static str,
        /// Elements of a block.
        block: u64,
        /// What does not fit.
        what: String,
    },
    /// The view reaches beyond its allocation.
    #[error("the view needs {needed} bytes from byte {offset} on; the allocation has {available}")]
    OutOfBounds {
        /// Bytes that the view spans.
        needed: u64,
        /// Where it starts.
        offset: u64,
        /// Size of the allocation.
        available: u64,
    },
    /// A part outside the extent of its dimension.
    #[error("elements {start}..{start}+{len} of dimension {dimension}, whose extent is {extent}")]
    Slice {
        /// Which dimension.
        dimension: usize,
        /// First element asked for.
        start: i64,
        /// Number of elements asked for.
        len: i64,
        /// What there is.
        extent: i64,
    },
    /// A part of a packed weight, whose bytes no stride describes.
    #[error(
        "the tensor lies in a packed layout, of which no part can be taken: slice the plain weight"
    )]
    Packed,
    /// The first element is not aligned to its own size.
    #[error(
        "the first element lies at a multiple of {alignment} bytes; elements of {dtype} need {needed}"
    )]
    Misaligned {
        /// Greatest power of two that divides the address.
        alignment: u64,
        /// The element type.
        dtype: &'static str,
        /// What the type needs.
        needed: u64,
    },
}

/// No kernel asks for more.
const MOST_ROW_ALIGN: i64 = 4096;

/// A dimension that is never stepped along may have any stride.
fn row_align(shape: &[i64], strides: &[i64]) -> i64 {
    let outer = shape.len().saturating_sub(1);
    let stepped = shape[..outer].iter().zip(strides);
    let all = stepped
        .filter(|(extent, _)| **extent > 1)
        .fold(MOST_ROW_ALIGN, |all, (_, stride)| all | stride);
    1 << all.trailing_zeros()
}

impl View {
    /// A contiguous view of `shape` at the start of an allocation of unknown place. Its alignment is taken as 256 bytes, as
    /// allocators give.
    pub fn contiguous(dtype: OvertDType, shape: &[i64]) -> Result<View, ViewError> {
        let mut strides = [0i64; MAX_RANK];
        if shape.len() > MAX_RANK {
            return Err(ViewError::Rank { rank: shape.len() });
        }
        let mut stride = 1i64;
        for d in (0..shape.len()).rev() {
            strides[d] = stride;
            stride = stride
                .checked_mul(shape[d].max(1))
                .ok_or_else(|| ViewError::Overflow {
                    shape: shape.to_vec(),
                    strides: Vec::new(),
                })?;
        }
        View::strided(dtype, shape, &strides[..shape.len()])
    }

    /// A view with given strides, at the start of an allocation.
    pub fn strided(dtype: OvertDType, shape: &[i64], strides: &[i64]) -> Result<View, ViewError> {
        let rank = shape.len();
        if rank > MAX_RANK {
            return Err(ViewError::Rank { rank });
        }
        if strides.len() != rank {
            return Err(ViewError::StrideCount {
                strides: strides.len(),
                rank,
            });
        }
        for (what, list) in [("extent", shape), ("stride", strides)] {
            if let Some(dimension) = list.iter().position(|v| *v < 0) {
                return Err(ViewError::Negative {
                    what,
                    dimension,
                    value: list[dimension],
                });
            }
        }
        let overflow = || ViewError::Overflow {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
        };
        let mut elements = 1i64;
        let mut max_offset = 0i64;
        let empty = shape.contains(&0);
        for (extent, stride) in shape.iter().zip(strides) {
            // The product without zero extents must fit too, so that a later slice of an empty tensor cannot wrap.
            elements = elements
                .checked_mul((*extent).max(1))
                .ok_or_else(overflow)?;
            let reach = (*extent - 1)
                .max(0)
                .checked_mul(*stride)
                .ok_or_else(overflow)?;
            max_offset = max_offset.checked_add(reach).ok_or_else(overflow)?;
        }
        let mut view = View {
            dtype,
            rank: rank as u32,
            read_only: false,
            contiguous: false,
            inner_contiguous: rank == 0 || shape[rank - 1] <= 1 || strides[rank - 1] == 1,
            row_align: row_align(shape, strides),
            shape: [0; MAX_RANK],
            strides: [0; MAX_RANK],
            byte_offset: 0,
            alignment: 256,
            layout: 0,
            elements: if empty { 0 } else { elements },
            max_offset: if empty { -1 } else { max_offset },
            span_bytes: 0,
            mark: Mark::ABSENT,
        };
        view.shape[..rank].copy_from_slice(shape);
        view.strides[..rank].copy_from_slice(strides);
        view.check_blocks()?;
        let reached = max_offset.checked_add(1).ok_or_else(overflow)? as u64;
        let bytes = dtype::bytes_for(dtype, reached.max(1));
        let Some(bytes) = bytes.filter(|b| *b <= i64::MAX as u64) else {
            if dtype::name(dtype).is_none()
                && dtype::element_bytes(dtype).is_none()
                && dtype::block(dtype).is_none()
            {
                return Err(ViewError::DType {
                    code: dtype.code,
                    bits: dtype.bits,
                    lanes: dtype.lanes,
                });
            }
            return Err(overflow());
        };
        view.span_bytes = if empty { 0 } else { bytes };
        view.contiguous = view.is_contiguous();
        Ok(view.sealed())
    }

    /// Works the mark out anew, after a change.
    fn sealed(mut self) -> View {
        let rank = self.rank as usize;
        let dtype = self.dtype;
        let head = u64::from(dtype.code)
            | u64::from(dtype.bits) << 8
            | u64::from(dtype.lanes) << 16
            | u64::from(self.rank) << 32
            | u64::from(self.read_only) << 40;
        let words = [head, self.alignment, self.layout]
            .into_iter()
            .chain(self.shape[..rank].iter().map(|n| *n as u64))
            .chain(self.strides[..rank].iter().map(|n| *n as u64));
        let (mut a, mut b) = (0x243f_6a88_85a3_08d3_u64, 0x1319_8a2e_0370_7344_u64);
        for word in words {
            // Every step is a bijection of the state for a given word and of the word for a given state.
            a = (a ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            a ^= a >> 29;
            b = (b.rotate_left(23) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
            b ^= b >> 32;
        }
        self.mark = Mark(a, b);
        self
    }

    /// The same view in a packed layout.
    pub(crate) fn packed(mut self, layout: u64) -> View {
        self.layout = layout;
        self.sealed()
    }

    fn check_blocks(&self) -> Result<(), ViewError> {
        if !dtype::is_block_format(self.dtype) {
            return Ok(());
        }
        let (Some(block), Some(name)) = (dtype::block(self.dtype), dtype::name(self.dtype)) else {
            return Ok(());
        };
        let elements = block.elements as i64;
        let fail = |what: String| {
            Err(ViewError::Blocks {
                dtype: name,
                block: block.elements,
                what,
            })
        };
        let rank = self.rank as usize;
        if rank == 0 {
            return fail("a scalar cannot hold a block".into());
        }
        let last = self.shape[rank - 1];
        if last % elements != 0 {
            return fail(format!("the last dimension is {last}"));
        }
        if last > 1 && self.strides[rank - 1] != 1 {
            return fail(format!(
                "the last stride is {}; it must be 1",
                self.strides[rank - 1]
            ));
        }
        for d in 0..rank - 1 {
            if self.shape[d] > 1 && self.strides[d] % elements != 0 {
                return fail(format!(
                    "stride {d} is {}; it must be a multiple of a block",
                    self.strides[d]
                ));
            }
        }
        Ok(())
    }

    fn is_contiguous(&self) -> bool {
        if self.elements == 0 {
            return true;
        }
        let mut expected = 1i64;
        for d in (0..self.rank as usize).rev() {
            // A dimension of one element is never stepped over, so its stride says nothing.
            if self.shape[d] != 1 && self.strides[d] != expected {
                return false;
            }
            expected *= self.shape[d];
        }
        true
    }

    /// The same view `byte_offset` bytes into its allocation, whose start is aligned to `base_alignment`.
    #[must_use]
    pub fn at(mut self, byte_offset: u64, base_alignment: u64) -> View {
        self.byte_offset = byte_offset;
        let base = base_alignment.max(1);
        self.alignment = if byte_offset == 0 {
            base
        } else {
            base.min(1 << byte_offset.trailing_zeros().min(63))
        };
        self.sealed()
    }

    /// The same view, not to be written through.
    #[must_use]
    pub fn read_only(mut self) -> View {
        self.read_only = true;
        self.sealed()
    }

    /// Element type.
    pub fn dtype(&self) -> OvertDType {
        self.dtype
    }

    /// Extents.
    pub fn shape(&self) -> &[i64] {
        &self.shape[..self.rank as usize]
    }

    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        &self.strides[..self.rank as usize]
    }

    /// Number of elements; 0 for an empty view.
    pub fn elements(&self) -> u64 {
        self.elements as u64
    }

    /// Greatest element offset that an index reaches, `None` for an empty view.
    pub fn max_offset(&self) -> Option<u64> {
        u64::try_from(self.max_offset).ok()
    }

    /// Bytes from the first element to the end of the last.
    pub fn span_bytes(&self) -> u64 {
        self.span_bytes
    }

    /// From the start of the allocation to the first element.
    pub fn byte_offset(&self) -> u64 {
        self.byte_offset
    }

    /// A power of two that divides the first element's address.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Whether it must not be written through.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_row_major(&self) -> bool {
        self.contiguous
    }

    /// Writes what the ABI sees; `address` is that of the first element. The pointers borrow from `self`. Field by field into its place: a struct built elsewhere and copied
    /// in wider pieces would wait for its own narrow stores.
    #[inline]
    pub(crate) fn write_raw(
        &self,
        place: &mut MaybeUninit<OvertTensor>,
        handle: u64,
        address: u64,
        allocation_bytes: u64,
    ) {
        let at = place.as_mut_ptr();
        let flags = if self.read_only {
            OVERT_TENSOR_READ_ONLY
        } else {
            0
        };
        // SAFETY: `at` is a valid place for a tensor, and every field is written.
        unsafe {
            (*at).size = size_of::<OvertTensor>() as u32;
            (*at).flags = flags;
            (*at).dtype = self.dtype;
            (*at).rank = self.rank;
            (*at).handle = handle;
            (*at).byte_offset = self.byte_offset;
            (*at).address = address;
            (*at).allocation_bytes = allocation_bytes;
            (*at).alignment = self.alignment;
            (*at).layout = self.layout;
            (*at).shape = self.shape.as_ptr();
            (*at).strides = self.strides.as_ptr();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_ROW_ALIGN, row_align};

    #[test]
    fn the_alignment_of_rows_is_that_of_all_strides_that_are_stepped_along() {
        for (shape, strides, want) in [
            (&[3, 8][..], &[24, 1][..], 8),
            (&[3, 8], &[23, 1], 1),
            (&[1, 8], &[23, 1], MOST_ROW_ALIGN),
            (&[2, 3, 8], &[72, 24, 1], 8),
            (&[2, 3, 8], &[68, 24, 1], 4),
            (&[2, 1, 8], &[64, 3, 1], 64),
            (&[8], &[1], MOST_ROW_ALIGN),
            (&[], &[], MOST_ROW_ALIGN),
            (&[2, 8], &[1 << 20, 1], MOST_ROW_ALIGN),
        ] {
            assert_eq!(row_align(shape, strides), want, "{shape:?} {strides:?}");
        }
    }
}

//! How elements lie in memory, and the way from there to f32 lanes: exactly, but for one rounding where the value has more
//! than 24 significant bits.
//!
//! Block formats share scales among the elements of a block; a row is whole blocks. Their layouts are those of GGUF files.
//! Plain types and fp8 are rows of single elements.

mod blocks;
mod fp8;
mod plain;
mod superblocks;

pub use blocks::{E2M1, E2M1_ZERO, Mxfp4, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
pub use fp8::{E4m3fn, E5m2};
pub use superblocks::{Q4K, Q5K, Q6K};

use crate::simd::lanes::{Simd, Task};
use core::marker::PhantomData;

/// A way of storing elements that a body is compiled for.
pub trait Stored: Copy {
    /// Elements of one block, a multiple of 32; 1 for plain types.
    const ELEMENTS: usize;
    /// Bytes of one block.
    const BYTES: usize;

    /// Decodes the `S::LANES` elements of the row at `row` that begin with element `at`, for block formats a multiple of
    /// `S::LANES`.
    ///
    /// # Safety
    /// They are readable, for block formats in whole blocks. Alignment is that of the element for plain types, none for others.
    unsafe fn lanes<S: Simd>(s: S, row: *const u8, at: usize) -> S::V;

    /// Like [`Stored::lanes`] for the first `n` elements, n at most `S::LANES`. The other lanes are zero, and the memory of
    /// their elements is not touched where it may end.
    ///
    /// # Safety
    /// As there, for `n` elements.
    #[inline(always)]
    unsafe fn lanes_head<S: Simd>(s: S, row: *const u8, at: usize, n: usize) -> S::V {
        if n == 0 {
            return s.splat(0.0);
        }
        let mut out = [0.0_f32; 16];
        // SAFETY: a block is readable as a whole, and blocks are multiples of the lanes; the buffer holds the widest vector.
        unsafe {
            s.store(out.as_mut_ptr(), Self::lanes(s, row, at));
            out[n..].fill(0.0);
            s.load(out.as_ptr())
        }
    }
}

/// The storage of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// IEEE single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// fp8 e4m3, finite.
    E4m3fn,
    /// fp8 e5m2.
    E5m2,
    /// 32 elements in 34 bytes: scale, signed bytes.
    Q8_0,
    /// 32 elements in 18 bytes: scale, nibbles less 8.
    Q4_0,
    /// 32 elements in 20 bytes: scale, offset, nibbles.
    Q4_1,
    /// 32 elements in 22 bytes: scale, fifth bits, nibbles; less 16.
    Q5_0,
    /// 32 elements in 24 bytes: scale, offset, fifth bits, nibbles.
    Q5_1,
    /// 256 elements in 144 bytes: scales of scales and offsets, eight of each, nibbles.
    Q4K,
    /// 256 elements in 176 bytes: as q4_K, with fifth bits.
    Q5K,
    /// 256 elements in 210 bytes: nibbles, upper pairs of bits, sixteen scales, their scale.
    Q6K,
    /// 32 elements in 17 bytes: a power of two, e2m1 nibbles.
    Mxfp4,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 14] = [
        Format::F32,
        Format::F16,
        Format::Bf16,
        Format::E4m3fn,
        Format::E5m2,
        Format::Q8_0,
        Format::Q4_0,
        Format::Q4_1,
        Format::Q5_0,
        Format::Q5_1,
        Format::Q4K,
        Format::Q5K,
        Format::Q6K,
        Format::Mxfp4,
    ];

    /// Elements and bytes of one block; one element for plain types.
    pub fn block(self) -> (usize, usize) {
        with_format!(self, F => (F::ELEMENTS, F::BYTES))
    }

    /// Bytes of `elements` consecutive elements, whole blocks of them.
    pub fn bytes_for(self, elements: usize) -> usize {
        let (block, bytes) = self.block();
        debug_assert!(elements.is_multiple_of(block));
        elements / block * bytes
    }

    /// Bytes of a stride of `elements`, whole blocks of them, of either sign.
    pub fn bytes_for_stride(self, elements: i64) -> isize {
        let (block, bytes) = self.block();
        elements as isize / block as isize * bytes as isize
    }

    /// Whether elements share blocks.
    pub fn is_blocks(self) -> bool {
        self.block().0 > 1
    }
}

/// Picks the type of a [`Format`]: `with_format!(format, F => body::<F>())`.
macro_rules! with_format {
    ($format:expr, $f:ident => $body:expr) => {{
        use $crate::simd::quant::formats as f;
        match $format {
            f::Format::F32 => {
                type $f = f32;
                $body
            }
            f::Format::F16 => {
                type $f = half::f16;
                $body
            }
            f::Format::Bf16 => {
                type $f = half::bf16;
                $body
            }
            f::Format::E4m3fn => {
                type $f = f::E4m3fn;
                $body
            }
            f::Format::E5m2 => {
                type $f = f::E5m2;
                $body
            }
            f::Format::Q8_0 => {
                type $f = f::Q8_0;
                $body
            }
            f::Format::Q4_0 => {
                type $f = f::Q4_0;
                $body
            }
            f::Format::Q4_1 => {
                type $f = f::Q4_1;
                $body
            }
            f::Format::Q5_0 => {
                type $f = f::Q5_0;
                $body
            }
            f::Format::Q5_1 => {
                type $f = f::Q5_1;
                $body
            }
            f::Format::Q4K => {
                type $f = f::Q4K;
                $body
            }
            f::Format::Q5K => {
                type $f = f::Q5K;
                $body
            }
            f::Format::Q6K => {
                type $f = f::Q6K;
                $body
            }
            f::Format::Mxfp4 => {
                type $f = f::Mxfp4;
                $body
            }
        }
    }};
}
pub(in crate::simd) use with_format;

/// Decodes `n` elements at the start of a row to f32 at `to`, and zeroes up to `padded`, a multiple of `S::LANES`.
///
/// # Safety
/// `n` elements (whole blocks) are readable at `row`, `padded` floats writable at `to`; n ≤ padded.
pub unsafe fn decode_row<S: Simd>(
    s: S,
    format: Format,
    row: *const u8,
    to: *mut f32,
    n: usize,
    padded: usize,
) {
    with_format!(format, F => s.run(Decode::<F> { row, to, n, padded, format: PhantomData }));
}

struct Decode<F> {
    row: *const u8,
    to: *mut f32,
    n: usize,
    padded: usize,
    format: PhantomData<F>,
}

impl<F: Stored> Task for Decode<F> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut at = 0;
        if F::ELEMENTS > 1 {
            let mut row = self.row;
            while at < self.n {
                // Constant places inside a block let its scales be decoded once.
                for lane in (0..F::ELEMENTS).step_by(S::LANES) {
                    // SAFETY: n is whole blocks, all readable, and padded is no less.
                    unsafe { s.store(self.to.add(at + lane), F::lanes(s, row, lane)) };
                }
                row = row.wrapping_add(F::BYTES);
                at += F::ELEMENTS;
            }
        } else {
            while at + S::LANES <= self.n {
                // SAFETY: the vector lies inside n.
                unsafe { s.store(self.to.add(at), F::lanes(s, self.row, at)) };
                at += S::LANES;
            }
            if at < self.n {
                // SAFETY: only the n − at elements left are read; the padding has room for a whole vector.
                unsafe { s.store(self.to.add(at), F::lanes_head(s, self.row, at, self.n - at)) };
                at += S::LANES;
            }
        }
        while at < self.padded {
            // SAFETY: both are multiples of the lanes, so the vector lies inside the padding.
            unsafe { s.store(self.to.add(at), s.splat(0.0)) };
            at += S::LANES;
        }
    }
}

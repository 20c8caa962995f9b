//! Operands of a body as safe, bounds-checked, typed-at-run-time memory: what reference kernels are written with.

use super::formats::{Blocks, Fp8, MOST_BYTES, MOST_ELEMENTS};
use crate::call::TensorView;
use crate::dtypes::{self, BF16, F16, F32, F64, I8, I32, I64};
use crate::{Error, Result};
use half::{bf16, f16};
use overt_abi::OvertDType;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// The element types that a view reads and writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    F64,
    F32,
    F16,
    Bf16,
    I32,
    I64,
    I8,
    Fp8(Fp8),
    Blocks(Blocks),
}

/// An operand in host memory, indexed by element offset from its first element. Loads widen to `f64`, stores round to nearest
/// even. 8-bit floats saturate: a finite number beyond the largest becomes the largest.
///
/// In a block format offsets count elements as well; blocks follow one another from the first element on, since strides step
/// over whole blocks. Their elements are read one by one or in rows, and written in whole blocks alone ([`Self::store_row`]).
///
/// Every access is bounds-checked and a relaxed atomic, so that two bodies that race (which is a mistake of the host's, or of a
/// kernel's split of its work) give wrong numbers and not undefined behaviour. On the machines that matter a relaxed access is a
/// plain one; a kernel that wants vectors takes pointers instead.
#[derive(Clone, Copy)]
pub struct HostView<'a> {
    base: *mut u8,
    /// Elements from the first one to the allocation's end.
    len: i64,
    kind: Kind,
    writable: bool,
    shape: &'a [i64],
    strides: &'a [i64],
    _memory: PhantomData<&'a [u8]>,
}

// SAFETY: all access is atomic, see the type's words.
unsafe impl Send for HostView<'_> {}
// SAFETY: as above.
unsafe impl Sync for HostView<'_> {}

impl<'a> HostView<'a> {
    /// The operand of a job. An error when its type has no kind here or its address is not a multiple of the element's size.
    ///
    /// Bodies use [`super::Job::view`], which is safe because a job's addresses were resolved from handles.
    ///
    /// # Safety
    /// `view.address()` is an address of this process, and the memory from there to the allocation's end lives for `'a`.
    pub unsafe fn new(view: &TensorView<'a>) -> Result<Self> {
        let dtype = view.dtype();
        let kind = kind(dtype)?;
        let bytes = dtypes::element_bytes(dtype).unwrap_or(1);
        // Blocks are read byte by byte, so they need no alignment.
        if !view.address().is_multiple_of(bytes) {
            return Err(Error::invalid(format!(
                "address {:#x} is not aligned to {bytes} bytes, the size of {}",
                view.address(),
                dtypes::name(dtype)
            )));
        }
        let room = view.allocation_bytes().saturating_sub(view.byte_offset());
        Ok(Self {
            base: view.address() as usize as *mut u8,
            len: match kind {
                Kind::Blocks(format) => {
                    let (elements, size) = format.size();
                    (room / size as u64 * elements as u64) as i64
                }
                _ => (room / bytes) as i64,
            },
            kind,
            writable: !view.read_only(),
            shape: view.shape(),
            strides: view.strides(),
            _memory: PhantomData,
        })
    }

    /// Extents.
    pub fn shape(&self) -> &'a [i64] {
        self.shape
    }

    /// Strides in elements.
    pub fn strides(&self) -> &'a [i64] {
        self.strides
    }

    /// The offset of an index.
    pub fn at<const N: usize>(&self, index: [i64; N]) -> i64 {
        index.iter().zip(self.strides).map(|(i, s)| i * s).sum()
    }

    fn check(&self, offset: i64) -> usize {
        assert!(
            (0..self.len).contains(&offset),
            "element {offset} of an operand that reaches {}",
            self.len
        );
        offset as usize
    }

    /// One byte of a type of bytes; `byte` counts from the first element and lies inside the allocation.
    fn byte(&self, byte: usize) -> &AtomicU8 {
        // SAFETY: inside the allocation by the callers' checks, and never accessed but atomically through views.
        unsafe { &*self.base.cast::<AtomicU8>().add(byte) }
    }

    fn u8(&self, offset: i64) -> &AtomicU8 {
        self.byte(self.check(offset))
    }

    /// Decodes the block that holds an element; returns the element's number in it.
    fn block(&self, format: Blocks, offset: i64, out: &mut [f64; MOST_ELEMENTS]) -> usize {
        let (elements, size) = format.size();
        let offset = self.check(offset);
        let first = offset / elements * size;
        let mut bytes = [0; MOST_BYTES];
        for (i, byte) in bytes[..size].iter_mut().enumerate() {
            *byte = self.byte(first + i).load(Ordering::Relaxed);
        }
        format.unpack(&bytes[..size], &mut out[..elements]);
        offset % elements
    }

    fn u16(&self, offset: i64) -> &AtomicU16 {
        // SAFETY: inside the allocation, aligned (see `new`), and never accessed but atomically through views.
        unsafe { &*self.base.cast::<AtomicU16>().add(self.check(offset)) }
    }

    fn u32(&self, offset: i64) -> &AtomicU32 {
        // SAFETY: as for `u16`.
        unsafe { &*self.base.cast::<AtomicU32>().add(self.check(offset)) }
    }

    fn u64(&self, offset: i64) -> &AtomicU64 {
        // SAFETY: as for `u16`.
        unsafe { &*self.base.cast::<AtomicU64>().add(self.check(offset)) }
    }

    /// One element, widened.
    ///
    /// # Panics
    /// When the offset lies outside the allocation; the worker turns it into the stream's failure.
    #[inline]
    pub fn load(&self, offset: i64) -> f64 {
        match self.kind {
            Kind::F32 => f64::from(f32::from_bits(self.u32(offset).load(Ordering::Relaxed))),
            Kind::Bf16 => bf16::from_bits(self.u16(offset).load(Ordering::Relaxed)).to_f64(),
            Kind::F16 => f16::from_bits(self.u16(offset).load(Ordering::Relaxed)).to_f64(),
            Kind::F64 => f64::from_bits(self.u64(offset).load(Ordering::Relaxed)),
            Kind::I32 | Kind::I64 | Kind::I8 => self.load_int(offset) as f64,
            Kind::Fp8(format) => format.decode(self.u8(offset).load(Ordering::Relaxed)),
            Kind::Blocks(format) => {
                let mut block = [0.0; MOST_ELEMENTS];
                let within = self.block(format, offset, &mut block);
                block[within]
            }
        }
    }

    /// One integer element.
    ///
    /// # Panics
    /// When the offset lies outside the allocation, or the operand holds no integers.
    #[inline]
    pub fn load_int(&self, offset: i64) -> i64 {
        match self.kind {
            Kind::I32 => i64::from(self.u32(offset).load(Ordering::Relaxed) as i32),
            Kind::I64 => self.u64(offset).load(Ordering::Relaxed) as i64,
            Kind::I8 => i64::from(self.u8(offset).load(Ordering::Relaxed) as i8),
            _ => panic!("an integer was read from an operand of floats"),
        }
    }

    /// Writes one element, rounded to nearest even.
    ///
    /// # Panics
    /// When the offset lies outside the allocation, the operand is read-only, or its elements share blocks.
    #[inline]
    pub fn store(&self, offset: i64, value: f64) {
        assert!(self.writable, "a read-only operand was written");
        match self.kind {
            Kind::F32 => self
                .u32(offset)
                .store((value as f32).to_bits(), Ordering::Relaxed),
            Kind::Bf16 => self
                .u16(offset)
                .store(bf16::from_f64(value).to_bits(), Ordering::Relaxed),
            Kind::F16 => self
                .u16(offset)
                .store(f16::from_f64(value).to_bits(), Ordering::Relaxed),
            Kind::F64 => self.u64(offset).store(value.to_bits(), Ordering::Relaxed),
            Kind::I32 => self
                .u32(offset)
                .store(value as i32 as u32, Ordering::Relaxed),
            Kind::I64 => self
                .u64(offset)
                .store(value as i64 as u64, Ordering::Relaxed),
            Kind::I8 => self.u8(offset).store(value as i8 as u8, Ordering::Relaxed),
            Kind::Fp8(format) => self
                .u8(offset)
                .store(format.encode(value), Ordering::Relaxed),
            Kind::Blocks(_) => panic!("an element of a block was written alone"),
        }
    }

    /// Writes `row.len()` elements from `offset` on, `stride` apart, rounded as [`Self::store`] does. In a block format they are
    /// rounded to f32 and quantised in whole blocks, as the format's reference does it.
    ///
    /// # Panics
    /// When an element lies outside the allocation, or the operand is read-only; in a block format also when the row is not whole
    /// blocks side by side, or the format has no reference quantiser here (those of 256 elements and `mxfp4`).
    pub fn store_row(&self, offset: i64, stride: i64, row: &[f64]) {
        let Kind::Blocks(format) = self.kind else {
            let mut at = offset;
            for value in row {
                self.store(at, *value);
                at += stride;
            }
            return;
        };
        assert!(self.writable, "a read-only operand was written");
        let (elements, size) = format.size();
        let whole = |n: usize| n.is_multiple_of(elements);
        assert!(
            whole(row.len()) && whole(offset as usize) && (stride == 1 || row.is_empty()),
            "{} elements from {offset} on, {stride} apart, are no whole blocks of {elements}",
            row.len()
        );
        let (mut values, mut bytes) = ([0f32; MOST_ELEMENTS], [0u8; MOST_BYTES]);
        for (i, row) in row.chunks_exact(elements).enumerate() {
            let first = self.check(offset + (i * elements) as i64) / elements * size;
            for (value, wide) in values.iter_mut().zip(row) {
                *value = *wide as f32;
            }
            let packed = format.pack(&values[..elements], &mut bytes[..size]);
            assert!(packed, "no quantiser for {format:?}");
            for (j, byte) in bytes[..size].iter().enumerate() {
                self.byte(first + j).store(*byte, Ordering::Relaxed);
            }
        }
    }

    /// Copies one element's bits to an element of the same type, so that a NaN keeps its payload.
    ///
    /// # Panics
    /// When an offset lies outside its allocation, the types differ or are of a block format, or the target is read-only.
    #[inline]
    pub fn copy_bits(&self, from: i64, target: &HostView<'_>, to: i64) {
        assert!(target.writable, "a read-only operand was written");
        assert!(self.kind == target.kind, "bits copied between two types");
        match self.kind {
            Kind::F16 | Kind::Bf16 => {
                let bits = self.u16(from).load(Ordering::Relaxed);
                target.u16(to).store(bits, Ordering::Relaxed);
            }
            Kind::F32 | Kind::I32 => {
                let bits = self.u32(from).load(Ordering::Relaxed);
                target.u32(to).store(bits, Ordering::Relaxed);
            }
            Kind::F64 | Kind::I64 => {
                let bits = self.u64(from).load(Ordering::Relaxed);
                target.u64(to).store(bits, Ordering::Relaxed);
            }
            Kind::Fp8(_) | Kind::I8 => {
                let bits = self.u8(from).load(Ordering::Relaxed);
                target.u8(to).store(bits, Ordering::Relaxed);
            }
            Kind::Blocks(_) => panic!("an element of a block was copied alone"),
        }
    }

    /// Whether elements of both are of one type.
    pub fn same_kind(&self, other: &HostView<'_>) -> bool {
        self.kind == other.kind
    }

    /// Widens `row.len()` elements from `offset` on, `stride` apart.
    ///
    /// # Panics
    /// When an element lies outside the allocation.
    pub fn load_row(&self, offset: i64, stride: i64, row: &mut [f64]) {
        if let Kind::Blocks(format) = self.kind
            && stride == 1
        {
            return self.load_blocks(format, offset, row);
        }
        let mut at = offset;
        for value in row {
            *value = self.load(at);
            at += stride;
        }
    }

    /// Elements side by side, each block decoded once.
    fn load_blocks(&self, format: Blocks, offset: i64, row: &mut [f64]) {
        let elements = format.size().0;
        let mut block = [0.0; MOST_ELEMENTS];
        let mut done = 0;
        while done < row.len() {
            let within = self.block(format, offset + done as i64, &mut block);
            let count = (elements - within).min(row.len() - done);
            row[done..done + count].copy_from_slice(&block[within..within + count]);
            done += count;
        }
    }
}

fn kind(dtype: OvertDType) -> Result<Kind> {
    let kinds = [
        (F64, Kind::F64),
        (F32, Kind::F32),
        (F16, Kind::F16),
        (BF16, Kind::Bf16),
        (I32, Kind::I32),
        (I64, Kind::I64),
        (I8, Kind::I8),
    ];
    kinds
        .iter()
        .find(|(d, _)| *d == dtype)
        .map(|(_, k)| *k)
        .or_else(|| Fp8::of(dtype).map(Kind::Fp8))
        .or_else(|| Blocks::of(dtype).map(Kind::Blocks))
        .ok_or_else(|| {
            Error::unsupported(format!(
                "element type {} cannot be read here",
                dtypes::name(dtype)
            ))
        })
}

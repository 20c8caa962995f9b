//! Operands of a body as safe, bounds-checked, typed-at-run-time memory: what reference kernels are written with.

use crate::call::TensorView;
use crate::dtypes::{self, BF16, F16, F32, F64, I32, I64};
use crate::{Error, Result};
use half::{bf16, f16};
use overt_abi::OvertDType;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// The element types that a view reads and writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    F64,
    F32,
    F16,
    Bf16,
    I32,
    I64,
}

/// An operand in host memory, indexed by element offset from its first element. Loads widen to `f64`, stores round to nearest
/// even.
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
            len: (room / bytes) as i64,
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
            Kind::I32 | Kind::I64 => self.load_int(offset) as f64,
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
            _ => panic!("an integer was read from an operand of floats"),
        }
    }

    /// Writes one element, rounded to nearest even.
    ///
    /// # Panics
    /// When the offset lies outside the allocation, or the operand is read-only.
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
        }
    }

    /// Copies one element's bits to an element of the same type, so that a NaN keeps its payload.
    ///
    /// # Panics
    /// When an offset lies outside its allocation, the types differ, or the target is read-only.
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
        let mut at = offset;
        for value in row {
            *value = self.load(at);
            at += stride;
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
    ];
    kinds
        .iter()
        .find(|(d, _)| *d == dtype)
        .map(|(_, k)| *k)
        .ok_or_else(|| {
            Error::unsupported(format!(
                "element type {} cannot be read here",
                dtypes::name(dtype)
            ))
        })
}

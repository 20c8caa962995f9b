//! From checked operands to what the vector bodies take.

use crate::simd::quant::formats::Format;
use crate::simd::rows::{Rows, RowsMut};
use crate::simd::{ElemType, Isa};
use overt_sdk::dtypes::{self, *};
use overt_sdk::{Error, Result, TensorView};
use std::cell::RefCell;

/// Refuses instructions that this machine does not run, whatever chose the kernel.
pub fn available(isa: Isa) -> Result<()> {
    if isa.is_available() {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "{isa:?} code was chosen on a CPU or system without it"
    )))
}

/// Address and type of an operand whose last dimension is contiguous.
///
/// # Errors
/// Another type, a stride, or an address that is not a multiple of the element's size: the guard was not held.
pub fn elements(view: &TensorView<'_>, operand: usize) -> Result<(*const u8, ElemType)> {
    let ty = match view.dtype() {
        F32 => ElemType::F32,
        F16 => ElemType::F16,
        BF16 => ElemType::Bf16,
        other => {
            return Err(Error::launch(format!(
                "operand {operand} is {}; wanted f32, f16 or bf16",
                dtypes::name(other)
            )));
        }
    };
    if let (Some(&dim), Some(&stride)) = (view.shape().last(), view.strides().last())
        && view.rank() > 1
        && dim > 1
        && stride != 1
    {
        return Err(Error::launch(format!(
            "operand {operand}: the last dimension has stride {stride}; wanted 1"
        )));
    }
    aligned(view, operand, ty.bytes() as u64)?;
    Ok((view.address() as usize as *const u8, ty))
}

/// Like [`elements`], for an operand that is written.
pub fn elements_mut(view: &TensorView<'_>, operand: usize) -> Result<(*mut u8, ElemType)> {
    if view.read_only() {
        return Err(Error::launch(format!(
            "operand {operand} is read-only and would be written"
        )));
    }
    elements(view, operand).map(|(at, ty)| (at.cast_mut(), ty))
}

/// Rows of an operand whose last dimension is contiguous: along its first dimension, the only one of an operand of rank 1.
///
/// # Errors
/// As [`elements`].
pub fn rows(view: &TensorView<'_>, operand: usize) -> Result<Rows> {
    let (at, ty) = elements(view, operand)?;
    dense(view, operand)?;
    let stride = view.stride(0)?;
    Ok(Rows { at, ty, stride })
}

/// Like [`rows`], for an operand that is written.
pub fn rows_mut(view: &TensorView<'_>, operand: usize) -> Result<RowsMut> {
    let (at, ty) = elements_mut(view, operand)?;
    dense(view, operand)?;
    let stride = view.stride(0)?;
    Ok(RowsMut { at, ty, stride })
}

/// Refuses a list whose elements lie apart, which [`elements`] lets pass.
fn dense(view: &TensorView<'_>, operand: usize) -> Result<()> {
    match (view.shape(), view.strides()) {
        (&[n], &[stride]) if n > 1 && stride != 1 => Err(Error::launch(format!(
            "operand {operand}: the elements have stride {stride}; wanted 1"
        ))),
        _ => Ok(()),
    }
}

/// Address and storage of an operand in any weight format, whose rows are contiguous.
///
/// # Errors
/// As [`elements`]; blocks need no alignment.
pub fn stored(view: &TensorView<'_>, operand: usize) -> Result<(*const u8, Format)> {
    let format = match view.dtype() {
        FP8_E4M3FN => Format::E4m3fn,
        FP8_E5M2 => Format::E5m2,
        Q8_0 => Format::Q8_0,
        Q4_0 => Format::Q4_0,
        Q4_1 => Format::Q4_1,
        Q5_0 => Format::Q5_0,
        Q5_1 => Format::Q5_1,
        Q4_K => Format::Q4K,
        Q5_K => Format::Q5K,
        Q6_K => Format::Q6K,
        MXFP4 => Format::Mxfp4,
        _ => return elements(view, operand).map(|(at, ty)| (at, ty.into())),
    };
    match (view.shape().last(), view.strides().last()) {
        (Some(&n), Some(&stride)) if n > 1 && stride != 1 => Err(Error::launch(format!(
            "operand {operand}: the last dimension has stride {stride}; wanted 1"
        ))),
        _ => Ok((view.address() as usize as *const u8, format)),
    }
}

/// Address of a list of `i32`, at any stride.
pub fn ints(view: &TensorView<'_>, operand: usize) -> Result<*const i32> {
    aligned(view, operand, size_of::<i32>() as u64)?;
    view.as_ptr()
}

/// Like [`ints`], for an operand that is written.
pub fn ints_mut(view: &TensorView<'_>, operand: usize) -> Result<*mut i32> {
    aligned(view, operand, size_of::<i32>() as u64)?;
    view.as_mut_ptr()
}

/// Refuses an address that is not a multiple of `bytes`.
pub fn aligned(view: &TensorView<'_>, operand: usize, bytes: u64) -> Result<()> {
    if view.address().is_multiple_of(bytes) {
        return Ok(());
    }
    Err(Error::launch(format!(
        "operand {operand}: address {:#x} is not a multiple of {bytes}",
        view.address()
    )))
}

/// Runs `f` with at least `len` numbers of scratch memory that the thread keeps, whose contents do not matter.
pub fn with_scratch<R>(len: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    thread_local! {
        static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
    }
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() < len {
            scratch.resize(len, 0.0);
        }
        f(&mut scratch[..len])
    })
}

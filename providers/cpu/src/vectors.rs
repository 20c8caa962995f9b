//! From checked operands to what the vector bodies take.

use crate::simd::{ElemType, Isa};
use overt_sdk::dtypes::{self, BF16, F16, F32};
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

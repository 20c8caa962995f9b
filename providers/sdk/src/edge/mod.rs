//! The edge: every entry of the ABI as a C function that checks pointers, catches panics, and turns errors into a status and
//! words.
//!
//! # Why the unsafe here is sound
//!
//! All of it rests on the ABI's promises of the host, in the words used by the `SAFETY` notes:
//!
//! * **objects**: a pointer to an instance, device, kernel, stream, event, graph or plan is null or was made by this table's
//!   own entry of that kind and not yet closed, so it points to the box that the entry leaked. Null is checked.
//! * **arguments**: a pointer to a struct is null or points to a struct that is at least as large as its `size` member says and
//!   lives during the entry. Null and size are checked.
//! * **outs**: an out-parameter is null or valid for one write. Null is checked.

pub(crate) mod capture;
pub(crate) mod event;
pub(crate) mod extension;
pub(crate) mod instance;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod panic;
pub(crate) mod query;
pub(crate) mod stream;
pub(crate) mod table;

use crate::declare::KernelDecl;
use crate::provider::{Host, Level};
use crate::text::Sink;
use crate::{Error, Result};
use overt_abi::{OVERT_E_PANIC, OVERT_OK, OvertSink, OvertStatus};
use std::sync::Arc;

/// A device with what every object made from it needs.
pub(crate) struct Shared<D> {
    pub(crate) device: D,
    pub(crate) host: Host,
    pub(crate) kernels: &'static [KernelDecl],
}

/// Behind an `OvertDevice`.
pub(crate) struct DeviceBox<D> {
    pub(crate) shared: Arc<Shared<D>>,
}

/// Behind an `OvertKernel`, `OvertStream`, `OvertEvent` or `OvertGraph`: the object, and its device, which outlives it.
pub(crate) struct ObjectBox<D, T> {
    // Declared first, so it is dropped first.
    pub(crate) object: T,
    pub(crate) shared: Arc<Shared<D>>,
}

/// Runs the body of an entry that returns a status.
pub(crate) fn entry(sink: *const OvertSink, f: impl FnOnce() -> Result<()>) -> OvertStatus {
    // SAFETY: arguments.
    let sink = unsafe { Sink::new(sink) };
    match panic::catch(f) {
        Ok(Ok(())) => OVERT_OK,
        Ok(Err(error)) => {
            sink.write(&error.message);
            error.status
        }
        Err(words) => {
            sink.write("the provider panicked: ");
            sink.write(&words);
            OVERT_E_PANIC
        }
    }
}

/// Runs the body of an entry that returns nothing; its panic goes to the host's log, since there is no sink.
pub(crate) fn void(what: &str, host: Option<Host>, f: impl FnOnce()) {
    if let Err(words) = panic::catch(f)
        && let Some(host) = host
    {
        host.log(
            Level::Error,
            &format!("{what}: the provider panicked: {words}"),
        );
    }
}

/// # Safety
/// Null, or points to a `T` that lives and is not mutated for `'a`.
pub(crate) unsafe fn reference<'a, T, U>(pointer: *const U, what: &str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.cast::<T>().as_ref() }.ok_or_else(|| null(what))
}

/// # Safety
/// Null, or valid for one write.
pub(crate) unsafe fn write<T>(out: *mut T, what: &str, value: T) -> Result<()> {
    check_out(out, what)?;
    // SAFETY: not null, and the caller's promise.
    unsafe { out.write(value) };
    Ok(())
}

/// Refuses a null out-parameter before anything is done that would have to be undone.
pub(crate) fn check_out<T>(out: *const T, what: &str) -> Result<()> {
    if out.is_null() {
        return Err(null(what));
    }
    Ok(())
}

pub(crate) fn null(what: &str) -> Error {
    Error::invalid(format!("`{what}` is null"))
}

/// Checks the `size` member of a struct that the host passes.
///
/// # Safety
/// Null, or points to a struct whose first member is its `u32` size.
pub(crate) unsafe fn sized<T>(pointer: *const T, what: &str) -> Result<()> {
    // SAFETY: the caller's promise.
    let size = unsafe { reference::<u32, T>(pointer, what) }?;
    if (*size as usize) < size_of::<T>() {
        return Err(Error::abi(format!(
            "`{what}` has size {size}; the first version has {}",
            size_of::<T>()
        )));
    }
    Ok(())
}

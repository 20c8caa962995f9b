//! What an entry returns, and where its words go.

use crate::OvertStr;
use core::ffi::c_void;

/// The result of an entry: [`OVERT_OK`] or one of the `OVERT_E_…` codes. A code that the reader does not know is an error of
/// an unknown sort, reported by its number.
pub type OvertStatus = i32;

/// Success. Every out-parameter has been written.
pub const OVERT_OK: OvertStatus = 0;
/// No common ABI version, or a size below the first version's.
pub const OVERT_E_ABI: OvertStatus = 1;
/// An argument breaks the entry's stated rule: null where a pointer is needed, an index or handle that does not exist.
pub const OVERT_E_INVALID: OvertStatus = 2;
/// The provider cannot do this at all: the entry or the feature is absent.
pub const OVERT_E_UNSUPPORTED: OvertStatus = 3;
/// Memory of the device or the host ran out. Nothing has changed; a smaller request may succeed.
pub const OVERT_E_OUT_OF_MEMORY: OvertStatus = 4;
/// The device is gone. Everything opened on it is dead and may only be closed.
pub const OVERT_E_DEVICE_LOST: OvertStatus = 5;
/// The launch was refused or failed. With this code from `launch` nothing was enqueued.
pub const OVERT_E_LAUNCH: OvertStatus = 6;
/// An earlier asynchronous operation failed; reported by a synchronising entry.
pub const OVERT_E_ASYNC: OvertStatus = 7;
/// Work is still pending: the answer of a query that does not block. Not a failure.
pub const OVERT_E_NOT_READY: OvertStatus = 8;
/// Inside a capture: this needs `kernel_prepare` first. The capture stays valid.
pub const OVERT_E_PREPARE_FIRST: OvertStatus = 9;
/// Not allowed while capturing, or on a stream that cannot capture. The capture stays valid.
pub const OVERT_E_CAPTURE: OvertStatus = 10;
/// A guard callback says no. Its words in the sink are the reason.
pub const OVERT_E_REJECTED: OvertStatus = 11;
/// A library, driver or file that the provider needs is missing or too old.
pub const OVERT_E_MISSING: OvertStatus = 12;
/// The provider panicked or threw; the edge caught it. The object it happened on is to be closed.
pub const OVERT_E_PANIC: OvertStatus = 13;
/// Any other failure; the words say which.
pub const OVERT_E_INTERNAL: OvertStatus = 14;

/// Where an entry writes its words. Owned by the host, valid for the duration of the call only.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertSink {
    /// `sizeof(OvertSink)` as the host knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Passed back to `write` untouched.
    pub context: *mut c_void,
    /// Takes a piece of UTF-8 text; pieces of one call are joined. May be null: then the words are dropped. Threads: the
    /// caller's. Does not block, does not call back, does not unwind.
    pub write: Option<unsafe extern "C" fn(context: *mut c_void, text: OvertStr)>,
}

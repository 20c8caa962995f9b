//! The contract between the Overt runtime (the *host*) and a *provider*: a dynamic library that brings devices, kernels,
//! knobs and, if it likes, ops.
//!
//! C is the contract; this crate is its Rust spelling, and `include/overt.h` is generated from it. The crate holds
//! `#[repr(C)]` types and constants. It has no dependencies and no behaviour.
//!
//! # The rules
//!
//! 1. **Version first.** A provider exports one function, [`OVERT_QUERY_SYMBOL`]. The host passes the range of versions it
//!    speaks, the provider picks one or refuses with text, and nothing else is touched before that. The host remembers the
//!    *negotiated* version, because a constant compiled into either side says nothing about the other. Until 1.0 every
//!    layout change raises 0.N, and only equal N load.
//! 2. **Every struct begins with its size** in bytes, as its writer knew it. Fields are only appended. A reader accepts any
//!    size of at least the first version's, reads a missing tail as zero, and never compares sizes for equality. Zero
//!    always means *default*. In an array every element has the size that the first one states, and that is the stride. A writer
//!    into a struct that the other side owns writes no byte beyond its stated size. Structs that grow are embedded nowhere:
//!    they are pointed to, or stand in arrays.
//!    The *atoms* [`OvertStr`], [`OvertDType`], [`OvertValue`] and [`OvertFact`] have no size field and never grow.
//! 3. **Plain C.** Fixed-width integers; no C `bool`, `long`, bit-field or Rust enum crosses the line, since their layout or
//!    their valid values differ between compilers. Closed sets are `uint32_t` with named constants. An unknown value where a
//!    rule is *required* (a clause comparison, a value kind, a flag in a `required` word) is refused; an unknown *optional*
//!    flag is ignored.
//! 4. **No shared allocator.** What one side allocates the other never frees. Strings are pointer and length, UTF-8, not
//!    terminated.
//! 5. **Errors** are an [`OvertStatus`] and words written to the [`OvertSink`] that the host passed with the call. There is
//!    no thread-local last error. No unwinding crosses the line in either direction.
//! 6. **Threads.** Each entry of [`OvertProviderApi`] states who may call it when, whether it may block, and whether it may
//!    call back. The host keeps these promises; a provider need not check them.
//! 7. **The host validates.** Before [`OvertProviderApi::launch`] the host has checked ranks, dtypes, symbols, bounds, overlap
//!    and the kernel's whole guard. A provider may rely on that, and must still return an error, never crash, on a handle
//!    that it does not know.
//! 8. **Receipts are facts.** A launch states what it really launched. The host counts from receipts alone, so a launch
//!    function that takes another path inside is seen.
//!
//! # What is not promised
//!
//! A provider is native code in the host's process. The ABI makes mistakes visible; it is no sandbox against malice.

#![no_std]
#![deny(missing_docs)]
#![allow(non_camel_case_types)]

mod arch;
mod atoms;
mod call;
mod device;
mod guard;
mod kernel;
mod op;
mod provider;
mod query;
mod receipt;
mod status;
mod tensor;

pub mod dlpack;

pub use arch::*;
pub use atoms::*;
pub use call::*;
pub use device::*;
pub use guard::*;
pub use kernel::*;
pub use op::*;
pub use provider::*;
pub use query::*;
pub use receipt::*;
pub use status::*;
pub use tensor::*;

//! Overt: a kernel-dispatch runtime. A host program asks for an operation; Overt picks one kernel out of all that the loaded
//! providers offer for that device, launches it, counts it, and can always say why every other kernel was not chosen.
//!
//! # The way through
//!
//! 1. [`Runtime::builder`] loads providers: dynamic libraries that speak the C ABI.
//! 2. [`Tensor`]s lie on a [`Device`]; a [`Stream`] is a queue of work on one.
//! 3. A [`Call`] names an [`Op`], its operands and attributes. [`Stream::dispatch`] binds it to the op's schema, selects a kernel by
//!    guards, and launches it. [`Runtime::plan`] settles the selection once, for launching again and again; [`Stream::capture`]
//!    records a sequence for replay.
//! 4. [`Runtime::explain`] gives the [`Selection`] with every rejected candidate and all its failing clauses.
//!    [`Runtime::counts`] and [`Witness`] say what ran.
//!
//! # Who answers for what
//!
//! The runtime validates: ranks, dtypes, equal symbols, exact divisions, bounds of memory, overlap, and the kernel's whole guard,
//! before a provider sees a call. A problem that breaks a rule gives a typed [`Error`] that names the operand or fact, and nothing
//! has run. Lengths that live in device memory enter as bounds that the host supplies; [`RuntimeBuilder::checked`] verifies them.
//!
//! The provider answers for what it launches, and its receipt says what that was: a symbol that the selected kernel does not declare
//! is a *guard lie*, reported by name. It is native code in this process; nothing here is a sandbox.
//!
//! The host program answers for memory that it imports, and for ordering work between streams by [`Event`]s.
//!
//! # What is not promised
//!
//! Nothing about time but what `docs/performance.md` measures. No retry: an error is reported, not papered over. No fallback
//! without a trace: a lower tier than another kernel that declares this architecture is a *fallback*, counted, explained, and refused
//! where the [`Policy`] says so.

#![deny(missing_docs)]

#[doc(hidden)]
pub mod bench_support;
mod bind;
mod builder;
mod core;
mod count;
mod error;
mod ffi;
mod guard;
mod knob;
mod launch;
pub mod load;
pub mod measure;
mod memory;
mod registry;
mod select;
mod value;
pub mod verify;
pub mod workload;

pub use crate::core::{KernelCounts, KernelListing, ProviderListing, Runtime};
pub use bind::{Attr, BindError, BindProblem, Call, MAX_ATTRS, MAX_OPERANDS, MAX_SYMBOLS, Problem};
pub use builder::RuntimeBuilder;
pub use count::{Counts, Witness, WitnessError, Witnessed};
pub use error::{Error, GuardLie};
pub use guard::{Reason, ReasonCause};
pub use launch::{Capture, Event, Graph, Launched, PeerAccess, Plan, Receipt, Step, Stream};
pub use load::decl::{Tier, Value};
pub use memory::{
    Allocation, DlpackError, MAX_RANK, MemoryKind, OwnedDlpack, Tensor, View, ViewError,
};
pub use overt_abi::OvertDType as DType;
pub use overt_kernels as kernels;
pub use overt_kernels::dtype;
pub use registry::{Device, DeviceInfo, DeviceKind, Op};
pub use select::{
    Chosen, Denial, Fallback, FallbackRule, OnFallback, Pin, Policy, Rejected, Selection,
};

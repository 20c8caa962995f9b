//! Ops that a provider uses, and ops that it brings.

use crate::{OvertCall, OvertSink, OvertStatus, OvertStr};

/// An op that a provider's kernels implement.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertOpDecl {
    /// `sizeof(OvertOpDecl)` as the provider knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// The name with its version: `matmul_bt.1`, or `provider:op.N` for an op of the provider's own.
    pub name: OvertStr,
    /// Digest of the schema that the provider was built for: 64-bit FNV-1a over the schema's canonical text. The host refuses
    /// one name with two digests.
    pub digest: u64,
    /// The schema of an op of the provider's own; empty for one of the common ops.
    pub schema: OvertStr,
    /// Computes the right answer of an op of the provider's own, or null: then the op is shown as unverified.
    ///
    /// Every operand of the call is contiguous host memory at `address`: floats of any format as `float64`, integers as they
    /// are. Writes the outputs. Threads: any. May take long; does not call back, except the sink.
    pub oracle: Option<OvertOracle>,
}

/// The type of [`OvertOpDecl::oracle`].
pub type OvertOracle =
    unsafe extern "C" fn(call: *const OvertCall, sink: *const OvertSink) -> OvertStatus;

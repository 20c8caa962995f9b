//! Negotiation: the first and only thing that happens before a version is agreed.

use crate::{OvertProvider, OvertSink, OvertStatus, OvertStr};

/// This version of the ABI, as `major << 16 | minor`: 0.1.
pub const OVERT_ABI_VERSION: u32 = 1;

/// The one symbol that a provider exports. Its type is [`OvertProviderQuery`].
pub const OVERT_QUERY_SYMBOL: &str = "overt_provider_query";

/// The type of the exported function. Threads: any; it may be called again, also at once, since two hosts may live in one
/// process, and gives the same pointers each time. It may not block on anything
/// outside the process, and reads no environment. It touches no struct but these two before it has chosen a version.
pub type OvertProviderQuery = unsafe extern "C" fn(
    request: *const OvertQueryRequest,
    response: *mut OvertQueryResponse,
) -> OvertStatus;

/// What the host speaks. This struct, the response, [`OvertBuildInfo`], [`OvertSink`] and [`OvertStr`] are read before a version is
/// agreed, so they never change but by growing, in every version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertQueryRequest {
    /// `sizeof(OvertQueryRequest)` as the host knows it.
    pub size: u32,
    /// The oldest version the host speaks, `major << 16 | minor`.
    pub abi_min: u32,
    /// The newest version the host speaks.
    pub abi_max: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Name and version of the host, for messages.
    pub host: OvertStr,
    /// Where a refusal's words go. Never null.
    pub sink: *const OvertSink,
}

/// The provider's answer. The host zeroes all but `size`; the provider writes no byte beyond it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertQueryResponse {
    /// In: `sizeof(OvertQueryResponse)` as the host knows it.
    pub size: u32,
    /// The version that the provider chose inside the host's range; on refusal, the newest that it speaks.
    pub abi_version: u32,
    /// How the library was built, null if not stated. May be set on refusal too.
    pub build: *const OvertBuildInfo,
    /// The declarations and entries, in the layout of `abi_version`. Null on refusal. Lives as long as the library.
    pub provider: *const OvertProvider,
}

/// How a library was built.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertBuildInfo {
    /// `sizeof(OvertBuildInfo)` as the provider knows it.
    pub size: u32,
    /// One of the `OVERT_PANIC_…` modes.
    pub panic_mode: u32,
    /// Compiler and its version.
    pub compiler: OvertStr,
    /// Least glibc version that it needs, as `2.36`; empty if unknown.
    pub min_glibc: OvertStr,
    /// The sanitizer it was built with, empty for none.
    pub sanitizer: OvertStr,
    /// Revision of its sources.
    pub revision: OvertStr,
    /// Target triple.
    pub target: OvertStr,
    /// Build profile: `release`, `dev`.
    pub profile: OvertStr,
}

/// Not stated, or a language without panics.
pub const OVERT_PANIC_UNKNOWN: u32 = 0;
/// Panics unwind and are caught at the edge.
pub const OVERT_PANIC_UNWIND: u32 = 1;
/// A panic ends the process.
pub const OVERT_PANIC_ABORT: u32 = 2;

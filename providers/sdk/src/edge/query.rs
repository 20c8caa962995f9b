//! Negotiation.

use super::panic;
use crate::declare::table;
use crate::provider::Provider;
use crate::text::text;
use crate::{Error, Result};
use overt_abi::*;

/// How the provider's library was built. Made by [`crate::export_provider!`] in the provider's own crate.
pub struct BuildFacts(OvertBuildInfo);

// SAFETY: constant, and its text is static.
unsafe impl Sync for BuildFacts {}

impl BuildFacts {
    /// Facts from compile-time text; what is not known is empty. `unwinds` says how a panic ends.
    #[must_use]
    pub const fn new(
        compiler: Option<&'static str>,
        sanitizer: Option<&'static str>,
        revision: Option<&'static str>,
        target: Option<&'static str>,
        profile: Option<&'static str>,
        unwinds: bool,
    ) -> Self {
        const fn known(value: Option<&'static str>) -> OvertStr {
            match value {
                Some(v) => text(v),
                None => text(""),
            }
        }
        Self(OvertBuildInfo {
            size: size_of::<OvertBuildInfo>() as u32,
            panic_mode: if unwinds {
                OVERT_PANIC_UNWIND
            } else {
                OVERT_PANIC_ABORT
            },
            compiler: known(compiler),
            // Only the linked file knows it; whoever writes the manifest reads it there.
            min_glibc: text(""),
            sanitizer: known(sanitizer),
            revision: known(revision),
            target: known(target),
            profile: known(profile),
        })
    }
}

/// The body of `overt_provider_query`.
///
/// # Safety
/// As the ABI says of [`OvertProviderQuery`]: both pointers are null or point to structs that are at least as large as their
/// `size` members say.
pub unsafe fn query<P: Provider>(
    request: *const OvertQueryRequest,
    response: *mut OvertQueryResponse,
    build: &'static BuildFacts,
) -> OvertStatus {
    panic::install_hook();
    if request.is_null() || response.is_null() {
        return OVERT_E_INVALID;
    }
    // SAFETY: not null; the size is the first member in every version.
    let (request_size, response_size) = unsafe { ((*request).size, (*response).size) };
    if (request_size as usize) < size_of::<OvertQueryRequest>() {
        // The sink lies behind a size that makes no sense, so there is nowhere to say why.
        return OVERT_E_ABI;
    }
    // SAFETY: the request is as large as this version's.
    let request = unsafe { &*request };
    super::entry(request.sink, || {
        if (response_size as usize) < size_of::<OvertQueryResponse>() {
            return Err(Error::abi(format!(
                "provider `{}`: OvertQueryResponse has size {response_size}; the first version has {}",
                P::NAME,
                size_of::<OvertQueryResponse>()
            )));
        }
        // SAFETY: the response is as large as this version's, and the caller lets this entry write it.
        let response = unsafe { &mut *response };
        response.abi_version = OVERT_ABI_VERSION;
        response.build = &raw const build.0;
        response.provider = std::ptr::null();
        response.abi_version = choose::<P>(request.abi_min, request.abi_max)?;
        response.provider = &raw const table::<P>()?.provider;
        Ok(())
    })
}

fn choose<P: Provider>(min: u32, max: u32) -> Result<u32> {
    if (min..=max).contains(&OVERT_ABI_VERSION) {
        return Ok(OVERT_ABI_VERSION);
    }
    let show = |v: u32| format!("{}.{}", v >> 16, v & 0xffff);
    let host = if min == max {
        show(min)
    } else {
        format!("{} to {}", show(min), show(max))
    };
    let note = if min > max {
        ", which is an empty range"
    } else {
        ""
    };
    Err(Error::abi(format!(
        "provider `{}` speaks ABI {}; the host speaks {host}{note}",
        P::NAME,
        show(OVERT_ABI_VERSION)
    )))
}

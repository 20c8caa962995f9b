//! The first call into a library: version, then declarations.

use super::decl::ProviderDecl;
use super::fault::NegotiateError;
use super::memory::Memory;
use super::tables::{self, At, Reader};
use overt_abi::*;
use std::ffi::c_void;

/// The oldest ABI version that this host speaks. Until 1.0 only equal versions load.
pub const HOST_ABI_MIN: u32 = OVERT_ABI_VERSION;
/// The newest ABI version that this host speaks.
pub const HOST_ABI_MAX: u32 = OVERT_ABI_VERSION;

/// First version's size of `OvertQueryResponse`.
const RESPONSE_FIRST: u32 = 24;

/// What negotiation yields: the declarations, and the entries with a missing tail as null.
#[derive(Clone)]
pub(super) struct Negotiated {
    pub(super) decl: ProviderDecl,
    pub(super) api: OvertProviderApi,
}

/// The response with room behind it, so that a provider that writes too much is caught and harms nothing.
#[repr(C)]
struct Answer {
    response: OvertQueryResponse,
    beyond: [u8; 4096],
}

/// Calls the query function once and copies what it answers.
///
/// # Safety
///
/// `query` is the `overt_provider_query` of a library that stays loaded for the life of the process.
pub(super) unsafe fn negotiate(query: OvertProviderQuery) -> Result<Negotiated, NegotiateError> {
    const HOST: &str = concat!("overt ", env!("CARGO_PKG_VERSION"));
    let memory = Memory::open();
    let mut words = Words {
        memory: &memory,
        bytes: Vec::new(),
    };
    let sink = OvertSink {
        size: size_of::<OvertSink>() as u32,
        reserved: 0,
        context: (&raw mut words).cast(),
        write: Some(write_words),
    };
    let request = OvertQueryRequest {
        size: size_of::<OvertQueryRequest>() as u32,
        abi_min: HOST_ABI_MIN,
        abi_max: HOST_ABI_MAX,
        reserved: 0,
        host: OvertStr {
            data: HOST.as_ptr(),
            len: HOST.len() as u64,
        },
        sink: &raw const sink,
    };
    let size = size_of::<OvertQueryResponse>() as u32;
    let mut answer = Answer {
        response: OvertQueryResponse {
            size,
            abi_version: 0,
            build: std::ptr::null(),
            provider: std::ptr::null(),
        },
        beyond: [0; 4096],
    };
    // The pointer is derived from the whole, so that a write behind the response stays inside one object.
    let response = (&raw mut answer).cast::<OvertQueryResponse>();
    // SAFETY: the caller vouches for the function; both structs live and are not touched otherwise during the call.
    let status = unsafe { query(&raw const request, response) };
    let words = String::from_utf8_lossy(&words.bytes).trim().to_owned();
    if answer.beyond.iter().any(|byte| *byte != 0) {
        return Err(NegotiateError::WroteBeyond { size });
    }
    let response = answer.response;
    if status != OVERT_OK {
        return Err(NegotiateError::Refused {
            status,
            words,
            speaks: response.abi_version,
            abi_min: HOST_ABI_MIN,
            abi_max: HOST_ABI_MAX,
        });
    }
    // The size is the host's, but a provider may well assign the whole struct; then it must state a possible one.
    if response.size < RESPONSE_FIRST {
        return Err(NegotiateError::Size {
            at: "response".into(),
            what: "OvertQueryResponse",
            found: response.size,
            first: RESPONSE_FIRST,
        });
    }
    if !(HOST_ABI_MIN..=HOST_ABI_MAX).contains(&response.abi_version) {
        return Err(NegotiateError::Version {
            found: response.abi_version,
            abi_min: HOST_ABI_MIN,
            abi_max: HOST_ABI_MAX,
        });
    }
    let reader = Reader { memory: &memory };
    let build = tables::build_info(&reader, response.build)?;
    if response.provider.is_null() {
        return Err(NegotiateError::Null {
            at: At::root("response").field("provider").to_string(),
            wanted: "the provider's declarations, since its query function says OK".into(),
        });
    }
    let (decl, api) = tables::provider(&reader, response.provider, response.abi_version, build)?;
    Ok(Negotiated { decl, api })
}

/// Where a provider's words are gathered during the query.
struct Words<'m> {
    memory: &'m Memory,
    bytes: Vec<u8>,
}

/// More words than this are cut off.
const MOST_WORDS: usize = 1 << 16;

unsafe extern "C" fn write_words(context: *mut c_void, text: OvertStr) {
    // SAFETY: the context is the `Words` that `negotiate` keeps alive and untouched during the query, and the ABI lets the
    // sink be called by the calling thread only.
    let words = unsafe { &mut *context.cast::<Words<'_>>() };
    let room = MOST_WORDS.saturating_sub(words.bytes.len());
    let mut piece = vec![0; room.min(usize::try_from(text.len).unwrap_or(usize::MAX))];
    if words.memory.read_once(text.data.addr(), &mut piece) {
        words.bytes.extend_from_slice(&piece);
    }
}

//! How to write an Overt provider in Rust.
//!
//! A provider is a `cdylib` that exports one function. This crate makes that function and everything behind it:
//!
//! * [`Provider`] and [`Device`] are what a backend implements, in safe Rust wherever the ABI allows it;
//! * [`kernel!`], [`image!`] and [`knob!`] register declarations, each in its own file; the SDK gathers them when the provider
//!   is queried;
//! * [`host`] is a finished backend for devices that execute on host memory;
//! * [`export_provider!`] exports the query.
//!
//! # What the SDK does at every entry
//!
//! It checks pointers for null and sizes for at least the first version's, catches panics, and turns an [`Error`] into the entry's
//! status and the sink's words. It reads no environment, prints nothing, and starts no thread but the workers of
//! [`host`] streams.
//!
//! # What it does not
//!
//! It does not check what the host promises (threads, order of closing, a kernel's guard). It does not hold a kernel to its
//! declared entries: that is the host's to see, from receipts.

#![deny(missing_docs)]

mod arch;
mod arena;
#[cfg(feature = "build")]
pub mod build;
mod call;
pub mod declare;
mod device;
pub mod dtypes;
mod edge;
mod error;
pub mod host;
mod provider;
mod receipt;
mod text;
mod value;

pub use arch::{Arch, ArchPattern, ArchRule, FeatureState};
pub use call::{AttrValue, CallView, DeviceView, TensorView};
pub use device::{
    Allocation, Device, DeviceDesc, DeviceKind, PeerAccess, WeightsLayout, WorkspaceNeed,
};
pub use edge::panic::adopt_thread;
pub use edge::query::{BuildFacts, query};
pub use error::{Error, Result};
pub use overt_abi as abi;
pub use provider::{Host, Level, Options, Provider};
pub use receipt::Receipt;
pub use text::Sink;
pub use value::{Value, value_of};

#[doc(hidden)]
pub mod __private {
    pub use inventory;
}

/// Exports `overt_provider_query` for a [`Provider`]. Once in a library.
///
/// Build facts come from `OVERT_BUILD_…` variables of the *compiler's* environment, which `overt_sdk::build::emit` sets from the
/// provider's build script; without it they are not stated.
#[macro_export]
macro_rules! export_provider {
    ($provider:ty) => {
        /// The one exported symbol of the provider.
        ///
        /// # Safety
        /// As the ABI says of `OvertProviderQuery`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn overt_provider_query(
            request: *const $crate::abi::OvertQueryRequest,
            response: *mut $crate::abi::OvertQueryResponse,
        ) -> $crate::abi::OvertStatus {
            static BUILD: $crate::BuildFacts = $crate::BuildFacts::new(
                option_env!("OVERT_BUILD_COMPILER"),
                option_env!("OVERT_BUILD_SANITIZER"),
                option_env!("OVERT_BUILD_REVISION"),
                option_env!("OVERT_BUILD_TARGET"),
                option_env!("OVERT_BUILD_PROFILE"),
                cfg!(panic = "unwind"),
            );
            // SAFETY: the host's promises, passed on.
            unsafe { $crate::query::<$provider>(request, response, &BUILD) }
        }
    };
}

/// Reads a SHA-256 written as 64 hexadecimal digits, at compile time.
///
/// # Panics
/// When the text is not 64 hexadecimal digits; at compile time where it is used in a constant.
#[must_use]
pub const fn hex_digest(text: &str) -> [u8; 32] {
    const fn nibble(c: u8) -> u8 {
        match c {
            b'0'..=b'9' => c - b'0',
            b'a'..=b'f' => c - b'a' + 10,
            _ => panic!("a digest has lower-case hexadecimal digits"),
        }
    }
    let text = text.as_bytes();
    assert!(text.len() == 64, "a SHA-256 has 64 digits");
    let mut out = [0; 32];
    let mut i = 0;
    while i < 32 {
        out[i] = nibble(text[2 * i]) << 4 | nibble(text[2 * i + 1]);
        i += 1;
    }
    out
}

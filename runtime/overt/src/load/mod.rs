//! Finding, checking and opening providers.
//!
//! [`load`] goes through a list of places in order. Each library passes, one after another: who may have put it there
//! (`trust`), its manifest (`manifest`), whether it can work in this process (`filter`), its digest and the dynamic loader
//! (`open`), its version and declarations (`negotiate`, `tables`), and whether these are what the manifest said (`agree`).
//! The first thing that fails ends its way, and is recorded with a typed reason. A library that was asked for by its path
//! must load; one that was merely found may fail, and stays visible as a failed provider.
//!
//! Nothing here creates an instance of a provider or touches a device. May be called from any thread, by several at once.

mod agree;
mod cpu;
pub mod decl;
mod discover;
mod fault;
mod filter;
mod manifest;
mod memory;
mod names;
mod negotiate;
mod open;
mod platform;
mod report;
mod search;
mod tables;
mod trust;

pub use agree::Disagreement;
pub use cpu::enabled_features;
pub use discover::{Load, LoadRequest, LoadedProvider, load};
pub use fault::NegotiateError;
pub use filter::Unfit;
pub use manifest::{
    FileFacts, MANIFEST_SCHEMA, MANIFEST_SUFFIX, Manifest, ManifestError, ManifestImage,
    ManifestKernel, ManifestOp, hex,
};
pub use negotiate::{HOST_ABI_MAX, HOST_ABI_MIN};
pub use open::{Library, MissingLibrary, OpenError, file_digest};
pub use overt_abi::OVERT_QUERY_SYMBOL as QUERY_SYMBOL;
pub use platform::{glibc_version, privileged};
pub use report::{FailedProvider, LoadError, LoadReport, Outcome, Reason, Tried};
pub use search::{Origin, PROVIDER_FOLDER, PROVIDER_PATH_VARIABLE, Surroundings};
pub use tables::{DeviceDecl, DeviceKind, FactDecl, read_device_info};
pub use trust::Untrusted;

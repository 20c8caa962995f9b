//! Copies a provider's tables into owned types, believing nothing.

mod device;
mod image;
mod kernel;
mod knob;
mod provider;
mod read;
mod value;

pub use device::{DeviceDecl, DeviceKind, FactDecl, read_device_info};
pub(super) use provider::{build_info, provider};
pub(super) use read::{At, Reader};

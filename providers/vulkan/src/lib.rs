//! The Vulkan provider: every physical device that the system's drivers show, software ones included.
//!
//! The loader is opened at run time; a machine without one has no Vulkan devices, and the provider says so. Tensors are handles with
//! offsets, and kernels reach them by buffer device addresses. Commands are gathered into batches, one command buffer each, and handed to the
//! queue when the host flushes, waits or asks. Kernels are compiled to SPIR-V when they are changed, not when the provider is built: see
//! `docs/vulkan.md`.
//!
//! Each kernel is a file in its op's folder and registers itself there.

mod device;
mod kernel;
mod loader;
mod ops;
mod physical;
mod provider;
mod shaders;

pub use provider::Vulkan;

overt_sdk::export_provider!(Vulkan);

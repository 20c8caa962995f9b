//! What a runtime knows: providers, devices, ops and kernels.

mod device;

mod instance;
mod kernel;
mod near;
mod op;
mod snapshot;

pub use crate::load::{DeviceDecl as DeviceInfo, DeviceKind};
pub use device::Device;
pub(crate) use instance::{Instance, entry};
pub(crate) use kernel::{HeldImage, Kernel, KernelHome, OpenKernel};
pub(crate) use near::near;
pub use op::Op;
#[cfg(test)]
pub(crate) use op::OpEntry;
pub(crate) use snapshot::Snapshot;

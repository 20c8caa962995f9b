//! A Vulkan layer that knows nothing of Overt. It stands between the loader and a driver, and
//!
//! * notes each dispatch at the moment its command buffer is handed to a queue, one line each in the file that `OVERT_VKOBSERVER_LOG` names: the
//!   first eight bytes of the SHA-256 of the shader's code, and the grid;
//! * makes calls fail: `OVERT_VKOBSERVER_FAIL=submit:3` has the third `vkQueueSubmit` and all later ones to the same device answer that the device
//!   is lost; `allocate:2-3` has the second `vkAllocateMemory` and the third, and no other, answer that the device's memory ran out,
//!   `allocate_host:2-3` that the host's did.

mod chain;
mod commands;
mod faults;

pub use chain::{vkGetDeviceProcAddr, vkGetInstanceProcAddr};

//! What a kernel of this provider is: shaders, and how a call becomes launches of them.

mod dispatch;
mod elements;
mod plan;
mod shader;

pub use dispatch::Dispatch;
pub use elements::{clauses, dtype_code, offsets};
pub use plan::Plan;
pub use shader::{Code, Shader, image};

use crate::physical::{Features, Limits};
use overt_sdk::{CallView, Result, TensorView, WeightsLayout};

/// Given, as a static of the kernel's file, as `body:` of its declaration.
pub struct VulkanKernel {
    /// Turns a call into launches. Reads shapes, strides, dtypes, attributes and knobs; never addresses, which launches fill in. No launch for
    /// empty work.
    pub plan: fn(&Problem<'_>) -> Result<Vec<Dispatch>>,
    /// Every shader that it may launch. Its capabilities are held against the device when the kernel is opened.
    pub shaders: &'static [&'static Shader],
    /// Bytes of workspace of a call.
    pub workspace: Option<fn(&Problem<'_>) -> Result<u64>>,
    /// How it repacks weights.
    pub weights: Option<Weights>,
}

impl VulkanKernel {
    /// A kernel without workspace and repacking.
    pub const fn new(
        plan: fn(&Problem<'_>) -> Result<Vec<Dispatch>>,
        shaders: &'static [&'static Shader],
    ) -> VulkanKernel {
        VulkanKernel {
            plan,
            shaders,
            workspace: None,
            weights: None,
        }
    }

    /// With workspace.
    #[must_use]
    pub const fn workspace(mut self, workspace: fn(&Problem<'_>) -> Result<u64>) -> VulkanKernel {
        self.workspace = Some(workspace);
        self
    }

    /// With packed weights.
    #[must_use]
    pub const fn weights(mut self, weights: Weights) -> VulkanKernel {
        self.weights = Some(weights);
        self
    }
}

/// How a kernel repacks its weights.
pub struct Weights {
    /// The layout of an operand, or `None` for the plain one.
    pub layout: fn(u32, &TensorView<'_>) -> Result<Option<WeightsLayout>>,
    /// Launches that repack operand number `.0`: the call holds the source as operand 0 and the packed memory as operand 1.
    pub pack: fn(u32, &Problem<'_>) -> Result<Vec<Dispatch>>,
}

/// A call on a device.
pub struct Problem<'a> {
    /// The call.
    pub call: &'a CallView<'a>,
    /// What launches have to keep.
    pub limits: &'a Limits,
    /// What is enabled.
    pub features: &'a Features,
}

//! Kernels, as candidates.

use super::instance::Instance;
use crate::load::decl::KernelDecl;
use overt_abi::OvertKernel;
use std::ptr::NonNull;
use std::sync::Arc;

/// One declared kernel of one provider, loaded or not.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Number in the runtime, stable for its life.
    pub(crate) number: u32,
    pub(crate) decl: KernelDecl,
    /// Name of its provider.
    pub(crate) provider: String,
    pub(crate) home: KernelHome,
    /// The schema digest of its provider differs from the registered one: why it cannot be used.
    pub(crate) refused: Option<String>,
    /// Patterns of the images that hold it and were built, by image.
    pub(crate) images: Vec<HeldImage>,
}

/// An image that holds a kernel.
#[derive(Clone, Debug)]
pub(crate) struct HeldImage {
    pub(crate) id: String,
    pub(crate) pattern: Option<crate::load::decl::ArchPattern>,
    pub(crate) not_built: Option<String>,
    pub(crate) digest: u64,
    pub(crate) unusable: Option<String>,
}

/// Where a kernel's code is.
#[derive(Clone, Debug)]
pub(crate) enum KernelHome {
    /// In a running provider.
    Loaded(Arc<Instance>),
    /// Nowhere: its provider did not load, and why.
    Failed(String),
}

/// A kernel made ready on one device. Closed by its device.
#[derive(Debug)]
pub(crate) struct OpenKernel(NonNull<OvertKernel>);

// SAFETY: the ABI lets many threads use one kernel on different streams at once.
unsafe impl Send for OpenKernel {}
// SAFETY: as above.
unsafe impl Sync for OpenKernel {}

impl OpenKernel {
    pub(super) fn new(raw: NonNull<OvertKernel>) -> OpenKernel {
        OpenKernel(raw)
    }

    pub(crate) fn raw(&self) -> *mut OvertKernel {
        self.0.as_ptr()
    }
}

//! A kernel made ready on a device: what a launch needs, gathered once.

use crate::error::Error;
use crate::load::decl::Value;
use crate::registry::{Device, Kernel, OpenKernel, Snapshot, entry};
use overt_abi::{
    OvertCall, OvertKernel, OvertReceipt, OvertSink, OvertStatus, OvertStr, OvertStream,
    OvertValue, OvertWorkspaceNeed,
};
use std::sync::Arc;

type Launch = unsafe extern "C" fn(
    *mut OvertKernel,
    *mut OvertStream,
    *const OvertCall,
    *mut OvertReceipt,
    *const OvertSink,
) -> OvertStatus;
type Workspace = unsafe extern "C" fn(
    *mut OvertKernel,
    *const OvertCall,
    *mut OvertWorkspaceNeed,
    *const OvertSink,
) -> OvertStatus;

/// A selected kernel, ready to launch. Immutable; shared by all streams of its device.
pub(crate) struct Ready {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) device: Device,
    pub(crate) open: Arc<OpenKernel>,
    pub(crate) launch: Launch,
    pub(crate) workspace: Option<Workspace>,
    /// Its counters' slot.
    pub(crate) slot: u32,
    pub(crate) fallback: bool,
    pub(crate) launch_empty: bool,
    /// Values of its knobs, in its order. Text points into `texts`.
    knobs: Box<[OvertValue]>,
    _texts: Box<[Value]>,
    /// Digests of the images that run here.
    digests: Box<[u64]>,
}

// SAFETY: the raw knob values hold numbers, or text owned by `_texts`, whose heap memory does not move; nothing is written after
// construction.
unsafe impl Send for Ready {}
// SAFETY: as above.
unsafe impl Sync for Ready {}

impl Ready {
    pub(crate) fn new(
        snapshot: &Snapshot,
        kernel: &Arc<Kernel>,
        device: &Device,
        slot: u32,
        fallback: bool,
    ) -> Result<Ready, Error> {
        let instance = device.instance();
        let provider = &instance.provider.decl;
        let launch = entry(instance.api().launch, provider, "launch")?;
        let open = device.kernel(kernel.decl.index)?;
        let texts: Box<[Value]> = kernel
            .decl
            .knobs
            .iter()
            .map(|id| {
                let knob = provider.knobs.iter().find(|k| k.id == *id);
                knob.map_or(Value::None, |knob| snapshot.knob_value(knob, device))
            })
            .collect();
        let arch = &device.info().arch;
        Ok(Ready {
            kernel: kernel.clone(),
            device: device.clone(),
            open,
            launch,
            workspace: instance.api().kernel_workspace,
            slot,
            fallback,
            launch_empty: kernel.decl.flags.launch_empty(),
            knobs: texts.iter().map(crate::value::raw).collect(),
            _texts: texts,
            digests: kernel
                .images
                .iter()
                .filter(|i| {
                    i.pattern
                        .as_ref()
                        .is_some_and(|p| crate::guard::admits(p, arch))
                })
                .map(|i| i.digest)
                .collect(),
        })
    }

    #[inline]
    pub(crate) fn knobs(&self) -> &[OvertValue] {
        &self.knobs
    }

    /// Whether the kernel declares a symbol.
    #[inline]
    pub(crate) fn declares(&self, symbol: OvertStr) -> bool {
        self.kernel.decl.entries.iter().any(|e| equal(e, symbol))
    }

    /// Whether an image of this kernel that runs here has the digest. A kernel without images has nothing to compare.
    #[inline]
    pub(crate) fn holds_image(&self, digest: u64) -> bool {
        self.digests.is_empty() || self.digests.contains(&digest)
    }
}

#[inline]
fn equal(declared: &str, symbol: OvertStr) -> bool {
    if symbol.len != declared.len() as u64 || symbol.data.is_null() {
        return false;
    }
    // SAFETY: the provider vouches for the symbol as long as the kernel is open, which `Ready` sees to.
    let symbol = unsafe { std::slice::from_raw_parts(symbol.data, declared.len()) };
    symbol == declared.as_bytes()
}

//! A kernel made ready on a device: what a launch needs, gathered once.

use crate::error::Error;
use crate::load::decl::Value;
use crate::registry::{Device, Kernel, OpenKernel, Snapshot, entry};
use overt_abi::{
    OvertCall, OvertKernel, OvertReceipt, OvertSink, OvertStatus, OvertStr, OvertStream,
    OvertTensor, OvertValue, OvertWorkspaceNeed,
};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A place that no provider's text has.
static NOWHERE: u8 = 0;

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
    knobs: KnobValues,
    /// Where a declared symbol's text was last seen; at first a place where no text is.
    known: AtomicPtr<u8>,
    /// Digests of the images that run here.
    digests: Box<[u64]>,
}

/// Values of a kernel's knobs on a device, in the kernel's order.
pub(crate) struct KnobValues {
    raw: Box<[OvertValue]>,
    /// What text in `raw` points into.
    _texts: Box<[Value]>,
}

// SAFETY: the raw values hold numbers, or text owned by `_texts`, whose heap memory does not move; nothing is written after
// construction.
unsafe impl Send for KnobValues {}
// SAFETY: as above.
unsafe impl Sync for KnobValues {}

impl KnobValues {
    pub(crate) fn of(snapshot: &Snapshot, kernel: &Kernel, device: &Device) -> KnobValues {
        let declared = &device.instance().provider.decl.knobs;
        let texts: Box<[Value]> = kernel
            .decl
            .knobs
            .iter()
            .map(|id| {
                let knob = declared.iter().find(|k| k.id == *id);
                knob.map_or(Value::None, |knob| snapshot.knob_value(knob, device))
            })
            .collect();
        KnobValues {
            raw: texts.iter().map(crate::value::raw).collect(),
            _texts: texts,
        }
    }

    #[inline]
    pub(crate) fn raw(&self) -> &[OvertValue] {
        &self.raw
    }
}

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
            knobs: KnobValues::of(snapshot, kernel, device),
            known: AtomicPtr::new(std::ptr::from_ref(&NOWHERE).cast_mut()),
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
        self.knobs.raw()
    }

    /// A call of this kernel, without workspace. It borrows operands, attributes and knobs.
    #[inline]
    pub(crate) fn call(
        &self,
        operands: *const OvertTensor,
        operand_count: usize,
        attrs: &[OvertValue],
        plan: *mut c_void,
    ) -> OvertCall {
        OvertCall {
            size: size_of::<OvertCall>() as u32,
            flags: 0,
            operand_count: operand_count as u32,
            attr_count: attrs.len() as u32,
            operands,
            attrs: attrs.as_ptr(),
            knobs: self.knobs.raw.as_ptr(),
            knob_count: self.knobs.raw.len() as u32,
            reserved: 0,
            workspace: std::ptr::null(),
            plan,
        }
    }

    /// Whether the kernel declares a symbol. A text that was found equal once is known by its place, since it lives as long as the
    /// kernel is open.
    #[inline]
    pub(crate) fn declares(&self, symbol: OvertStr) -> bool {
        self.known.load(Ordering::Relaxed) == symbol.data.cast_mut() || self.compare(symbol)
    }

    #[cold]
    fn compare(&self, symbol: OvertStr) -> bool {
        let declared = self.kernel.decl.entries.iter().any(|e| equal(e, symbol));
        if declared && self.kernel.decl.entries.len() == 1 {
            // Place without length tells apart only where there is one declared text.
            self.known.store(symbol.data.cast_mut(), Ordering::Relaxed);
        }
        declared
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

//! The declaration of a kernel.

use super::clause::Clause;
use super::op::{OpRef, conjure};
use crate::call::{CallView, DeviceView};
use crate::edge;
use overt_abi::{
    OVERT_E_REJECTED, OVERT_TIER_PORTABLE, OVERT_TIER_REFERENCE, OVERT_TIER_TUNED, OvertCall,
    OvertDeviceInfo, OvertGuardCallback, OvertSink, OvertStatus,
};
use std::any::Any;
use std::borrow::Cow;

/// The tier of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Written for speed on some architecture and shape.
    Tuned,
    /// Fast enough everywhere its broad guard holds.
    Portable,
    /// Right over the whole schema, at any speed.
    Reference,
}

impl Tier {
    pub(crate) const fn raw(self) -> u32 {
        match self {
            Self::Tuned => OVERT_TIER_TUNED,
            Self::Portable => OVERT_TIER_PORTABLE,
            Self::Reference => OVERT_TIER_REFERENCE,
        }
    }
}

/// Flags of a kernel, joined with `|`.
pub mod flags {
    /// `launch` may be recorded while its stream captures.
    pub const CAPTURE_SAFE: u32 = overt_abi::OVERT_KERNEL_CAPTURE_SAFE;
    /// `launch` allocates device memory.
    pub const ALLOCATES: u32 = overt_abi::OVERT_KERNEL_ALLOCATES;
    /// `launch` waits for the device.
    pub const HOST_SYNC: u32 = overt_abi::OVERT_KERNEL_HOST_SYNC;
    /// The same call on the same device gives the same bits in every run.
    pub const DETERMINISTIC: u32 = overt_abi::OVERT_KERNEL_DETERMINISTIC;
    /// Outputs may be exactly an input, where the schema allows it.
    pub const IN_PLACE: u32 = overt_abi::OVERT_KERNEL_IN_PLACE;
    /// An empty call is still to be launched.
    pub const LAUNCH_EMPTY: u32 = overt_abi::OVERT_KERNEL_LAUNCH_EMPTY;
}

/// A kernel's declaration and, for the backend, its body.
pub struct KernelDecl {
    pub(crate) id: Cow<'static, str>,
    pub(crate) op: OpRef,
    pub(crate) tier: Tier,
    pub(crate) priority: i32,
    pub(crate) flags: u32,
    pub(crate) handles: Vec<Cow<'static, str>>,
    pub(crate) clauses: Vec<Clause>,
    pub(crate) images: Vec<Cow<'static, str>>,
    pub(crate) entries: Vec<Cow<'static, str>>,
    pub(crate) knobs: Vec<Cow<'static, str>>,
    pub(crate) numeric_class: Cow<'static, str>,
    pub(crate) not_built: Cow<'static, str>,
    pub(crate) doc: Cow<'static, str>,
    pub(crate) guard: Option<OvertGuardCallback>,
    pub(crate) guard_reads: Vec<Cow<'static, str>>,
    pub(crate) guard_reason: Cow<'static, str>,
    pub(crate) must_hold: Vec<Cow<'static, str>>,
    pub(crate) body: Option<Box<dyn Any + Send + Sync>>,
    pub(crate) file: &'static str,
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        impl KernelDecl {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name<S: Into<Cow<'static, str>>>(
                    mut self,
                    items: impl IntoIterator<Item = S>,
                ) -> Self {
                    self.$name = items.into_iter().map(Into::into).collect();
                    self
                }
            )*
        }
    };
}

lists! {
    /// Attributes and optional operands honoured at any value. Every other one must be at its default, or absent.
    handles,
    /// Ids of the images that hold the kernel.
    images,
    /// Every symbol that a launch may report.
    entries,
    /// Ids of the knobs whose values the launch reads, in the order of [`CallView::knob`].
    knobs,
    /// Instruction classes that the compiled body must hold, as `arch-family:class`.
    must_hold,
}

impl KernelDecl {
    /// A declaration with everything else at its default: priority 0, no flags, nothing handled, no clauses.
    pub fn new(id: impl Into<Cow<'static, str>>, op: impl Into<OpRef>, tier: Tier) -> Self {
        Self {
            id: id.into(),
            op: op.into(),
            tier,
            priority: 0,
            flags: 0,
            handles: Vec::new(),
            clauses: Vec::new(),
            images: Vec::new(),
            entries: Vec::new(),
            knobs: Vec::new(),
            numeric_class: "".into(),
            not_built: "".into(),
            doc: "".into(),
            guard: None,
            guard_reads: Vec::new(),
            guard_reason: "".into(),
            must_hold: Vec::new(),
            body: None,
            file: "",
        }
    }

    /// Orders kernels of one tier; higher is preferred.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Flags out of [`flags`].
    #[must_use]
    pub fn flags(mut self, flags: u32) -> Self {
        self.flags = flags;
        self
    }

    /// The clauses of the guard.
    #[must_use]
    pub fn needs(mut self, clauses: impl IntoIterator<Item = Clause>) -> Self {
        self.clauses.extend(clauses);
        self
    }

    /// The class of kernels that give bit-equal rows however the batch is composed. Unset: no such promise.
    #[must_use]
    pub fn numeric_class(mut self, class: impl Into<Cow<'static, str>>) -> Self {
        self.numeric_class = class.into();
        self
    }

    /// Declared, but not built: why.
    #[must_use]
    pub fn not_built(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        self.not_built = why.into();
        self
    }

    /// What it is, in one line.
    #[must_use]
    pub fn doc(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.doc = words.into();
        self
    }

    /// A last test that clauses cannot express: why, the facts it reads, and the test, which says yes or gives the reason for
    /// no. Pure: the device need not be open or present. A plain function or a closure that captures nothing, since the C entry carries no state.
    #[must_use]
    pub fn guard<F>(
        mut self,
        (reason, reads, _): (&'static str, &'static [&'static str], F),
    ) -> Self
    where
        F: Fn(&DeviceView<'_>, &CallView<'_>) -> Result<(), String> + Copy + Send + Sync + 'static,
    {
        const {
            assert!(
                size_of::<F>() == 0,
                "a guard is a plain function and captures nothing"
            )
        };
        self.guard_reason = reason.into();
        self.guard_reads = reads.iter().map(|r| (*r).into()).collect();
        self.guard = Some(guard_entry::<F>);
        self
    }

    /// Like [`Self::guard`] with a C function.
    #[must_use]
    pub fn guard_raw(
        mut self,
        (reason, reads, entry): (&'static str, &'static [&'static str], OvertGuardCallback),
    ) -> Self {
        self.guard_reason = reason.into();
        self.guard_reads = reads.iter().map(|r| (*r).into()).collect();
        self.guard = Some(entry);
        self
    }

    /// What the backend needs to open and launch it: for host code a [`crate::host::HostKernel`].
    #[must_use]
    pub fn body<B: Any + Send + Sync>(mut self, body: B) -> Self {
        self.body = Some(Box::new(body));
        self
    }

    /// The source file, for messages. The macro fills it.
    #[must_use]
    pub fn file(mut self, file: &'static str) -> Self {
        self.file = file;
        self
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The op's name with its version.
    pub fn op_name(&self) -> &'static str {
        self.op.name()
    }

    /// Its flags.
    pub fn flag_bits(&self) -> u32 {
        self.flags
    }

    /// Ids of its images.
    pub fn image_ids(&self) -> impl Iterator<Item = &str> {
        self.images.iter().map(AsRef::as_ref)
    }

    /// Its entry symbols.
    pub fn entry_symbols(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(AsRef::as_ref)
    }

    /// Why it was not built; empty when it was.
    pub fn why_not_built(&self) -> &str {
        &self.not_built
    }

    /// The body as the backend's type, or `None` when it is another type or there is none.
    pub fn body_as<B: Any>(&self) -> Option<&B> {
        self.body.as_deref()?.downcast_ref()
    }
}

unsafe extern "C" fn guard_entry<F>(
    device: *const OvertDeviceInfo,
    call: *const OvertCall,
    sink: *const OvertSink,
) -> OvertStatus
where
    F: Fn(&DeviceView<'_>, &CallView<'_>) -> Result<(), String> + Copy + Send + Sync + 'static,
{
    edge::entry(sink, || {
        // SAFETY: the host passes a call that lives during the entry.
        let (device, call) = unsafe { (DeviceView::from_abi(device)?, CallView::from_abi(call)?) };
        conjure::<F>()(&device, &call).map_err(|why| crate::Error::new(OVERT_E_REJECTED, why))
    })
}

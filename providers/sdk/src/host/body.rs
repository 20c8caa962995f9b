//! Bodies and what they see.

use super::launch::Launch;
use super::view::HostView;
use crate::call::{CallView, OwnedCall, TensorView};
use crate::declare::Image;
use crate::device::{WeightsLayout, WorkspaceNeed};
use crate::{Error, Result};
use std::any::Any;

/// A piece of compiled host code: what a receipt names and what a worker runs. A `static` beside its function.
pub struct Body {
    /// The symbol, as the kernel's `entries` declare it. Different bodies have different symbols.
    pub symbol: &'static str,
    /// The image that holds it.
    pub image: &'static Image,
    /// The code. Runs on the stream's worker; an error or a panic becomes the stream's failure.
    pub run: fn(&Job<'_>) -> Result<()>,
}

/// How many words of its own a launch can hand to a body.
pub(crate) const PARAMS: usize = 8;

/// A queued run of a body, reused from launch to launch.
pub(crate) struct JobData {
    pub(crate) body: &'static Body,
    pub(crate) grid: [u32; 3],
    pub(crate) params: [u64; PARAMS],
    pub(crate) param_count: usize,
    pub(crate) call: OwnedCall,
}

/// One run of a body: the call, the geometry, and what the device provides.
pub struct Job<'a> {
    pub(crate) call: CallView<'a>,
    pub(crate) grid: [u32; 3],
    pub(crate) params: &'a [u64],
    pub(crate) context: &'a (dyn Any + Send + Sync),
}

impl<'a> Job<'a> {
    /// The call. Operand addresses are those of the device's allocations.
    pub fn call(&self) -> CallView<'a> {
        self.call
    }

    /// An operand that must be there, as safe memory.
    pub fn view(&self, operand: usize) -> Result<HostView<'a>> {
        let view = self.call.operand(operand)?;
        // SAFETY: a job's addresses were resolved from handles of live allocations (or are imports that the host vouches for), and
        // the host keeps them until the stream has passed the job.
        unsafe { HostView::new(&view) }.map_err(|e| e.at(operand))
    }

    /// An operand that may be left out, as safe memory.
    pub fn optional_view(&self, operand: usize) -> Result<Option<HostView<'a>>> {
        match self.call.optional(operand)? {
            None => Ok(None),
            Some(_) => self.view(operand).map(Some),
        }
    }

    /// The grid that the launch gave, in independent pieces of work.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// The words that the launch gave.
    pub fn params(&self) -> &'a [u64] {
        self.params
    }

    /// What the device was made with.
    pub fn context<T: Any>(&self) -> Result<&'a T> {
        Context(self.context).get()
    }

    /// What `prepare` made for this problem, or `None` when the host did not prepare.
    pub fn plan<T: Any>(&self) -> Option<&'a T> {
        // SAFETY: the host passes null or what `kernel_prepare` of this table returned, which is a box of a `HostPlan`, and keeps
        // it until no launch that uses it is pending.
        let plan = unsafe { self.call.plan_ptr().cast::<HostPlan>().as_ref() }?;
        plan.downcast_ref()
    }
}

/// What the device was made with, behind its type.
#[derive(Clone, Copy)]
pub struct Context<'a>(pub(crate) &'a (dyn Any + Send + Sync));

impl<'a> Context<'a> {
    /// The value, when it has this type.
    pub fn get<T: Any>(&self) -> Result<&'a T> {
        self.0.downcast_ref().ok_or_else(|| {
            Error::internal(format!(
                "the device's context is no `{}`",
                std::any::type_name::<T>()
            ))
        })
    }
}

/// A problem made ready: any value of the kernel's.
pub type HostPlan = Box<dyn Any + Send + Sync>;

type LaunchFn = fn(&mut Launch<'_>) -> Result<()>;
type WorkspaceFn = fn(&CallView<'_>) -> Result<WorkspaceNeed>;
type PrepareFn = fn(Context<'_>, &CallView<'_>) -> Result<Option<HostPlan>>;
/// Operand number, the weight, and a call that holds the kernel's knobs alone.
pub(crate) type WeightsFn =
    fn(u32, &TensorView<'_>, &CallView<'_>) -> Result<Option<WeightsLayout>>;
type OpenFn = fn(Context<'_>) -> Result<()>;

/// How a kernel repacks its weights.
#[derive(Clone, Copy)]
pub struct HostWeights {
    /// The packed layout of an operand, or `None` for the plain one: operand number, the weight, and a call that holds the
    /// kernel's knobs alone.
    pub layout: WeightsFn,
    /// Repacks: operand 0 is the source, operand 1 the packed memory, parameter 0 the operand's number.
    pub pack: &'static Body,
}

/// What a kernel of this backend is, given as `body:` of its declaration.
#[derive(Clone, Copy)]
pub struct HostKernel {
    pub(crate) launch: LaunchFn,
    pub(crate) workspace: Option<WorkspaceFn>,
    pub(crate) prepare: Option<PrepareFn>,
    pub(crate) weights: Option<HostWeights>,
    pub(crate) open: Option<OpenFn>,
}

impl HostKernel {
    /// A kernel that launches with this function.
    #[must_use]
    pub const fn new(launch: LaunchFn) -> Self {
        Self {
            launch,
            workspace: None,
            prepare: None,
            weights: None,
            open: None,
        }
    }

    /// It needs workspace.
    #[must_use]
    pub const fn workspace(mut self, workspace: WorkspaceFn) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// It prepares a problem. Inside a capture a launch without a plan is then refused with `OVERT_E_PREPARE_FIRST`.
    #[must_use]
    pub const fn prepare(mut self, prepare: PrepareFn) -> Self {
        self.prepare = Some(prepare);
        self
    }

    /// It repacks weights.
    #[must_use]
    pub const fn weights(mut self, weights: HostWeights) -> Self {
        self.weights = Some(weights);
        self
    }

    /// It has a one-time set-up for each device. After a failure the host may try again.
    #[must_use]
    pub const fn open(mut self, open: OpenFn) -> Self {
        self.open = Some(open);
        self
    }
}

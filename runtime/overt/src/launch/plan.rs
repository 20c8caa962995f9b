//! Plans: a selection made ready to launch, with everything frozen that can be.

use super::stream::{Launched, Stream, nothing};
use crate::bind::{Arguments, BindProblem, Bound, Call, bind_error};
use crate::core::Runtime;
use crate::count::Witness;
use crate::error::Error;
use crate::ffi::Words;
use crate::memory::{Tensor, ViewError};
use crate::registry::{Device, Op};
use crate::select::{Ready, Table, key_room};
use overt_abi::{OVERT_VALUE_STR, OvertCall, OvertTensor, OvertValue};
use std::sync::Arc;

/// A call whose kernel, shapes, strides, dtypes and attributes are settled. Launching it checks the generation and makes one
/// indirect call. Keeps its operands alive. `Send` and `Sync`: many threads may launch one plan on their streams.
pub struct Plan {
    runtime: Runtime,
    op: Op,
    ready: Arc<Ready>,
    table: Arc<Table>,
    /// The class of every fact when the kernel was selected; empty where selections of the op are not cached.
    key: Box<[u64]>,
    tensors: Vec<Option<Tensor>>,
    raw: Box<[OvertTensor]>,
    attrs: Box<[OvertValue]>,
    _texts: Vec<Box<str>>,
    /// Points into `raw`, `attrs` and the knobs of `ready`, whose heap memory does not move.
    call: OvertCall,
    /// What `call.plan` points to, where the kernel prepared something.
    prepared: Option<Arc<Prepared>>,
    empty: bool,
    /// There is work, and it needs no workspace.
    direct: bool,
    device_identity: usize,
    /// That of `table`.
    generation: u64,
    /// An output is exactly another operand's memory.
    in_place: bool,
}

/// What a kernel prepared. Shared with the graphs that captured a launch of it, and released when no work can use it any more.
pub(super) struct Prepared {
    ready: Arc<Ready>,
    raw: usize,
}

// SAFETY: raw tensors point into views boxed inside `tensors`' heap buffer, which is never resized; raw attributes hold numbers or
// text owned by `_texts`; the provider's plan is only read during launches, by the ABI. Mutation takes `&mut self`.
unsafe impl Send for Plan {}
// SAFETY: as above.
unsafe impl Sync for Plan {}

impl Plan {
    pub(crate) fn make(runtime: &Runtime, call: &Call<'_>, device: &Device) -> Result<Plan, Error> {
        let binder = &call.op.0.binder;
        let mut bound = Bound::new();
        binder.bind(call, &mut bound)?;
        for operand in 0..binder.operand_count() {
            if let Some(tensor) = call.tensor(operand)
                && !tensor.device().same(device)
            {
                return Err(bind_error(
                    call.op,
                    BindProblem::OtherDevice {
                        operand: call.op.schema().operands[operand].name.clone(),
                        got: tensor.device().name().to_owned(),
                        wanted: device.name().to_owned(),
                    },
                )
                .into());
            }
        }
        let (ready, table) = runtime.0.select(call, &bound, device, false)?;
        let tensors: Vec<Option<Tensor>> = (0..binder.operand_count())
            .map(|i| call.tensor(i).cloned())
            .collect();
        // SAFETY: binding has written every operand up to the count.
        let bound_raw = |i: usize| unsafe { bound.raw[i].assume_init() };
        let raw: Box<[OvertTensor]> = (0..tensors.len())
            .map(|i| {
                tensors[i]
                    .as_ref()
                    .map_or_else(|| bound_raw(i), Tensor::raw)
            })
            .collect();
        let mut texts = Vec::new();
        let attrs = bound
            .attrs()
            .iter()
            .map(|value| {
                if value.kind != OVERT_VALUE_STR {
                    return *value;
                }
                // SAFETY: bound text attributes were made from text that outlives the binding.
                let text: Box<str> = unsafe { crate::bind::str_of(value) }.into();
                let own = crate::value::raw_str(&text);
                texts.push(text);
                own
            })
            .collect::<Box<[OvertValue]>>();
        let own_call = ready.call(raw.as_ptr(), raw.len(), &attrs, std::ptr::null_mut());
        let mut room = key_room();
        let key = match table.key_len() {
            Some(_) => table.key(call, &bound, false, &mut room).into(),
            None => Box::default(),
        };
        let generation = table.generation;
        let (launch_empty, needs_workspace) = (ready.launch_empty, ready.workspace.is_some());
        let mut plan = Plan {
            runtime: runtime.clone(),
            op: call.op.clone(),
            ready,
            table,
            key,
            tensors,
            raw,
            attrs,
            call: own_call,
            _texts: texts,
            prepared: None,
            empty: bound.empty,
            direct: (!bound.empty || launch_empty) && !needs_workspace,
            device_identity: device.identity(),
            generation,
            in_place: bound.in_place,
        };
        plan.prepare()?;
        Ok(plan)
    }

    fn prepare(&mut self) -> Result<(), Error> {
        let device = &self.ready.device;
        let Some(prepare) = device.instance().api().kernel_prepare else {
            return Ok(());
        };
        let mut words = Words::default();
        let sink = words.sink();
        let mut prepared = std::ptr::null_mut();
        // SAFETY: the kernel is open; call, out-pointer and sink are valid for the call.
        let status = unsafe { prepare(self.ready.open.raw(), &self.call, &mut prepared, &sink) };
        if status == overt_abi::OVERT_E_UNSUPPORTED {
            return Ok(());
        }
        device.check("kernel_prepare", status, &mut words)?;
        self.call.plan = prepared;
        self.prepared = (!prepared.is_null()).then(|| {
            Arc::new(Prepared {
                ready: self.ready.clone(),
                raw: prepared.expose_provenance(),
            })
        });
        Ok(())
    }

    /// The kernel's id.
    pub fn kernel(&self) -> &str {
        &self.ready.kernel.decl.id
    }

    /// Whether the selection is a fallback.
    pub fn is_fallback(&self) -> bool {
        self.ready.fallback
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.ready.device
    }

    /// Puts another tensor in the place of an operand: of the same dtype, shape, strides and device, and aligned as well as the planned
    /// one, or as well as any guard tells alignments apart: what an allocation's address happens to be divisible by beyond that is
    /// luck.
    pub fn set(&mut self, operand: &str, tensor: &Tensor) -> Result<(), Error> {
        let schema = self.op.schema();
        let Some(index) = schema.operand(operand) else {
            let known: Vec<String> = schema.operands.iter().map(|o| o.name.clone()).collect();
            let near = crate::registry::near(operand, known.iter().map(String::as_str));
            return Err(bind_error(
                &self.op,
                BindProblem::UnknownOperand {
                    name: operand.into(),
                    near,
                    known,
                },
            )
            .into());
        };
        if !tensor.device().same(&self.ready.device) {
            return Err(Error::WrongDevice {
                what: "tensor",
                got: tensor.device().name().to_owned(),
                wanted: self.ready.device.name().to_owned(),
            });
        }
        let planned = self.tensors[index].as_ref().map(|t| &t.view);
        let fits = planned.is_some_and(|p| {
            let v = &tensor.view;
            v.dtype == p.dtype
                && v.shape() == p.shape()
                && v.strides() == p.strides()
                && v.layout == p.layout
        });
        if !fits {
            let what = format!(
                "{:?} with strides {:?}",
                tensor.view.shape(),
                tensor.view.strides()
            );
            return Err(Error::Crossed {
                kernel: self.kernel().to_owned(),
                what: format!("operand `{operand}` is {what}, and was planned otherwise"),
            });
        }
        let worse = planned.is_some_and(|p| tensor.view.alignment < p.alignment);
        let before = self.tensors[index].replace(tensor.clone());
        if let Err(error) = self.rebind(worse.then_some(index)) {
            self.tensors[index] = before;
            return Err(error);
        }
        self.raw[index] = self.tensors[index]
            .as_ref()
            .map_or(self.raw[index], Tensor::raw);
        Ok(())
    }

    /// Checks read-only and overlap rules again, which depend on where operands are. The kernel was chosen for operands that lie apart,
    /// or for ones that do not.
    ///
    /// `worse` is an operand that is now aligned less well than the planned one was.
    fn rebind(&self, worse: Option<usize>) -> Result<(), Error> {
        let args = PlanArgs(self);
        let mut bound = Bound::new();
        self.op.0.binder.bind(&args, &mut bound)?;
        if bound.in_place != self.in_place {
            let what = if self.in_place {
                "the call was planned in place, and no output is another operand's memory any more"
            } else {
                "an output is now another operand's memory, and the call was not planned in place"
            };
            return Err(Error::Crossed {
                kernel: self.kernel().to_owned(),
                what: what.into(),
            });
        }
        let Some(index) = worse else { return Ok(()) };
        let mut room = key_room();
        let same = self.table.key_len().is_some()
            && self.table.key(&args, &bound, false, &mut room) == &*self.key;
        match (&self.tensors[index], same) {
            (Some(tensor), false) => Err(ViewError::Misaligned {
                alignment: tensor.view.alignment,
                dtype: overt_kernels::dtype::name(tensor.view.dtype).unwrap_or("?"),
                needed: self.raw[index].alignment,
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// Enqueues the call.
    #[inline]
    pub fn launch(&self, stream: &Stream) -> Result<Launched, Error> {
        self.run(stream, None)
    }

    /// Enqueues the call and has a witness see it.
    pub fn launch_witnessed(&self, stream: &Stream, witness: &Witness) -> Result<Launched, Error> {
        self.run(stream, Some(witness))
    }

    #[inline]
    fn run(&self, stream: &Stream, witness: Option<&Witness>) -> Result<Launched, Error> {
        let here = self.device_identity == stream.device.identity();
        let current = self.generation == self.runtime.0.generation();
        if here && current && self.direct && stream.is_plain() {
            return stream.launch_direct(&self.ready, &self.call, witness);
        }
        self.run_with_care(stream, witness)
    }

    /// A launch that is not the common one: into a capture, checked, with workspace, empty, or wrong.
    #[cold]
    #[inline(never)]
    fn run_with_care(&self, stream: &Stream, witness: Option<&Witness>) -> Result<Launched, Error> {
        if self.table.generation != self.runtime.0.generation() {
            return Err(Error::Stale { what: "plan" });
        }
        if !stream.device.same(&self.ready.device) {
            return Err(self.wrong_device(stream));
        }
        if self.empty && !self.ready.launch_empty {
            return Ok(nothing(&self.ready));
        }
        if self.runtime.0.checked && !stream.capturing.get() {
            self.check_contents(stream)?;
        }
        if stream.capturing.get() && !self.ready.kernel.decl.flags.capture_safe() {
            return Err(Error::Capture {
                what: format!(
                    "{} cannot be captured, and the stream is capturing: dispatch the call, which selects another kernel",
                    self.kernel()
                ),
            });
        }
        let launched = stream.launch(&self.ready, &self.call, witness)?;
        if stream.capturing.get() {
            let prepared = self.prepared.as_ref();
            stream.record_plan(&self.ready, &self.tensors, prepared, &launched, witness);
        }
        Ok(launched)
    }

    /// Checked mode, as for a dispatch.
    #[cold]
    fn check_contents(&self, stream: &Stream) -> Result<(), Error> {
        let mut call = Call::new(&self.op);
        for (index, tensor) in self.tensors.iter().enumerate() {
            call.set(index, tensor.as_ref());
        }
        for (index, value) in self.attrs.iter().enumerate() {
            call.set_raw(index, *value);
        }
        let mut bound = Bound::new();
        self.op.0.binder.bind(&call, &mut bound)?;
        stream.check_contents(&call, &bound)
    }

    /// The launch entry alone, for measuring what the host adds to it.
    pub(crate) fn bare<'a>(&'a self, stream: &'a Stream) -> impl Fn() + 'a {
        let call = self.call;
        let mut words = Box::new(Words::default());
        let sink = words.sink();
        let receipt = std::cell::Cell::new(super::receipt::EMPTY);
        move || {
            let _keep = &words;
            // SAFETY: as in `Stream::launch`, for the benchmark's own tensors, which outlive the closure.
            let status = unsafe {
                (self.ready.launch)(
                    self.ready.open.raw(),
                    stream.raw.as_ptr(),
                    &call,
                    receipt.as_ptr(),
                    &sink,
                )
            };
            assert_eq!(status, overt_abi::OVERT_OK);
        }
    }

    #[cold]
    fn wrong_device(&self, stream: &Stream) -> Error {
        Error::WrongDevice {
            what: "plan",
            got: self.ready.device.name().to_owned(),
            wanted: stream.device.name().to_owned(),
        }
    }
}

struct PlanArgs<'p>(&'p Plan);

impl Arguments for PlanArgs<'_> {
    fn op(&self) -> &Op {
        &self.0.op
    }
    fn view(&self, operand: usize) -> Option<&crate::memory::View> {
        self.0.tensors[operand].as_ref().map(|t| &t.view)
    }
    fn tensor(&self, operand: usize) -> Option<&Tensor> {
        self.0.tensors[operand].as_ref()
    }
    fn attr(&self, index: usize) -> OvertValue {
        self.0.attrs[index]
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let prepared = self.raw;
        let ready = self.ready.clone();
        // A launch with this plan may be pending on any stream.
        self.ready
            .device
            .instance()
            .retired
            .retire(Box::new(move || {
                if let Some(release) = ready.device.instance().api().kernel_release_plan {
                    // SAFETY: the plan came from this kernel, is released once, and no launch with it is pending.
                    unsafe {
                        release(
                            ready.open.raw(),
                            std::ptr::with_exposed_provenance_mut(prepared),
                        )
                    };
                }
            }));
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("kernel", &self.kernel())
            .field("device", self.device())
            .finish_non_exhaustive()
    }
}

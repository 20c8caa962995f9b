//! Plans: a selection made ready to launch, with everything frozen that can be.

use super::stream::{Launched, Stream, nothing};
use crate::bind::{Arguments, BindProblem, Bound, Call, bind_error};
use crate::core::Runtime;
use crate::count::Witness;
use crate::error::Error;
use crate::ffi::Words;
use crate::memory::{Tensor, ViewError};
use crate::registry::{Device, Op};
use crate::select::Ready;
use overt_abi::{OVERT_VALUE_STR, OvertCall, OvertTensor, OvertValue};
use std::sync::Arc;

/// A call whose kernel, shapes, strides, dtypes and attributes are settled. Launching it checks the generation and makes one
/// indirect call. Keeps its operands alive. `Send` and `Sync`: many threads may launch one plan on their streams.
pub struct Plan {
    runtime: Runtime,
    op: Op,
    ready: Arc<Ready>,
    generation: u64,
    tensors: Vec<Option<Tensor>>,
    raw: Box<[OvertTensor]>,
    attrs: Box<[OvertValue]>,
    _texts: Vec<Box<str>>,
    /// Points into `raw`, `attrs` and the knobs of `ready`, whose heap memory does not move.
    call: OvertCall,
    empty: bool,
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
        let mut plan = Plan {
            runtime: runtime.clone(),
            op: call.op.clone(),
            ready,
            generation: table.generation,
            tensors,
            raw,
            attrs,
            call: own_call,
            _texts: texts,
            empty: bound.empty,
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

    /// Puts another tensor in the place of an operand: of the same dtype, shape, strides and device, and aligned at least as well as
    /// the planned one.
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
        if let Some(planned) = planned
            && tensor.view.alignment < planned.alignment
        {
            return Err(ViewError::Misaligned {
                alignment: tensor.view.alignment,
                dtype: overt_kernels::dtype::name(tensor.view.dtype).unwrap_or("?"),
                needed: planned.alignment,
            }
            .into());
        }
        let before = self.tensors[index].replace(tensor.clone());
        if let Err(error) = self.rebind() {
            self.tensors[index] = before;
            return Err(error);
        }
        self.raw[index] = self.tensors[index]
            .as_ref()
            .map_or(self.raw[index], Tensor::raw);
        Ok(())
    }

    /// Checks read-only and overlap rules again, which depend on where operands are.
    fn rebind(&self) -> Result<(), Error> {
        let args = PlanArgs(self);
        let mut bound = Bound::new();
        self.op.0.binder.bind(&args, &mut bound)?;
        Ok(())
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
        if self.generation != self.runtime.0.generation() {
            return Err(Error::Stale { what: "plan" });
        }
        if !stream.device.same(&self.ready.device) {
            return Err(self.wrong_device(stream));
        }
        if self.empty && !self.ready.launch_empty {
            return Ok(nothing(&self.ready));
        }
        let launched = stream.launch(&self.ready, &self.call, witness)?;
        if stream.capturing.get() {
            stream.record_plan(&self.ready, &self.tensors, &launched, witness);
        }
        Ok(launched)
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

impl Drop for Plan {
    fn drop(&mut self) {
        let prepared = self.call.plan as usize;
        if prepared == 0 {
            return;
        }
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

//! Capture and replay.

use super::plan::Prepared;
use super::stream::{Launched, Stream};
use crate::bind::{Arguments, Bound, Call};
use crate::core::Runtime;
use crate::count::Witness;
use crate::error::{Error, GuardLie};
use crate::ffi::Words;
use crate::memory::{Allocation, Tensor, View};
use crate::registry::{Device, entry};
use crate::select::{Ready, Table, key_room};
use overt_abi::{OVERT_OK, OvertGraph, OvertReplayReceipt, OvertValue};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a running capture has recorded.
pub(super) struct Recording {
    nodes: Vec<Node>,
    kept: Vec<Arc<Allocation>>,
    plans: Vec<Arc<Prepared>>,
    generation: u64,
    /// The kernel whose launch failed after it had recorded something: the sequence holds work that no node accounts for and whose
    /// operands nobody keeps.
    spoiled: Option<String>,
}

impl Recording {
    pub(super) fn spoil(&mut self, kernel: &str) {
        self.spoiled.get_or_insert_with(|| kernel.to_owned());
    }

    pub(super) fn keep(&mut self, allocation: Arc<Allocation>) {
        if !self.kept.iter().any(|k| Arc::ptr_eq(k, &allocation)) {
            self.kept.push(allocation);
        }
    }
}

/// One captured call.
struct Node {
    ready: Arc<Ready>,
    /// 0 for a call that was empty and left nothing to launch: it is kept so that later calls are matched one to one.
    launches: u32,
    witness: Option<Witness>,
    /// Present for dispatched calls: what a later call must agree with. A plan's launch has fixed operands.
    call: Option<NodeCall>,
}

struct NodeCall {
    table: Arc<Table>,
    key: Vec<u64>,
    /// Views and the very allocations, since handles of two devices may be equal.
    operands: Vec<Option<(View, Arc<Allocation>)>>,
    attrs: Vec<NodeAttr>,
}

#[derive(Clone, Copy, PartialEq)]
enum NodeAttr {
    /// Bits of a number or truth value.
    Bits(u32, i64),
    /// Texts are compared by digest.
    Text(u64),
}

/// A running capture. What is dispatched on its stream is recorded and not run. Ends with [`Capture::end`]; dropped without, it
/// is forgotten.
pub struct Capture<'s> {
    stream: &'s Stream,
    ended: bool,
}

/// A captured sequence of calls, to be replayed. Keeps its operands and workspace alive. `Send`, not `Sync`: one stream replays it at
/// a time, since its workspace is one.
pub struct Graph {
    runtime: Runtime,
    device: Device,
    raw: NonNull<OvertGraph>,
    nodes: Vec<Node>,
    launches: u32,
    generation: u64,
    kept: Vec<Arc<Allocation>>,
    plans: Vec<Arc<Prepared>>,
}

// SAFETY: the ABI lets a graph move between threads with a happens-before edge; all else is `Send`.
unsafe impl Send for Graph {}

impl Stream {
    /// Starts a capture. Kernels must have been made ready before (dispatched once, or planned) where they cannot be while
    /// capturing.
    pub fn capture(&self) -> Result<Capture<'_>, Error> {
        self.refuse_while_capturing("capture again")?;
        let instance = self.device.instance();
        let begin = entry(
            instance.api().capture_begin,
            &instance.provider.decl,
            "capture_begin",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: the stream is open and used by this thread alone; the sink is valid for the call.
        let status = unsafe { begin(self.raw.as_ptr(), &sink) };
        self.device.check("capture_begin", status, &mut words)?;
        self.workspace.borrow_mut().renew();
        self.set_capturing(true);
        *self.recording.borrow_mut() = Some(Recording {
            nodes: Vec::new(),
            kept: Vec::new(),
            plans: Vec::new(),
            generation: self.runtime.generation(),
            spoiled: None,
        });
        Ok(Capture {
            stream: self,
            ended: false,
        })
    }

    /// Notes a dispatched call in the running capture.
    #[cold]
    pub(super) fn record(
        &self,
        ready: &Arc<Ready>,
        call: &Call<'_>,
        bound: &Bound,
        launched: &Launched,
    ) -> Result<(), Error> {
        let (_, table) = self.runtime.0.table(call.op, &self.device)?;
        let binder = &call.op.0.binder;
        let mut room = key_room();
        let key = match table.key_len() {
            Some(_) => table.key(call, bound, true, &mut room).to_vec(),
            None => Vec::new(),
        };
        let operands = (0..binder.operand_count())
            .map(|i| {
                call.tensor(i).map(|t| {
                    self.keep(t.allocation.clone());
                    (t.view.clone(), t.allocation.clone())
                })
            })
            .collect();
        let attrs = bound.attrs().iter().map(NodeAttr::of).collect();
        self.push_node(Node {
            ready: ready.clone(),
            launches: launched.launches,
            witness: call.witness.cloned(),
            call: Some(NodeCall {
                table,
                key,
                operands,
                attrs,
            }),
        });
        Ok(())
    }

    /// Notes a plan's launch in the running capture.
    #[cold]
    pub(super) fn record_plan(
        &self,
        ready: &Arc<Ready>,
        tensors: &[Option<Tensor>],
        prepared: Option<&Arc<Prepared>>,
        launched: &Launched,
        witness: Option<&Witness>,
    ) {
        for tensor in tensors.iter().flatten() {
            self.keep(tensor.allocation.clone());
        }
        if let (Some(recording), Some(prepared)) = (self.recording.borrow_mut().as_mut(), prepared)
        {
            recording.plans.push(prepared.clone());
        }
        self.push_node(Node {
            ready: ready.clone(),
            launches: launched.launches,
            witness: witness.cloned(),
            call: None,
        });
    }

    fn push_node(&self, node: Node) {
        if let Some(recording) = self.recording.borrow_mut().as_mut() {
            recording.nodes.push(node);
        }
    }
}

impl NodeAttr {
    fn of(value: &OvertValue) -> NodeAttr {
        if value.kind == overt_abi::OVERT_VALUE_STR {
            // SAFETY: bound text attributes were made from text that outlives the binding.
            return NodeAttr::Text(overt_kernels::schema::digest(unsafe {
                crate::bind::str_of(value)
            }));
        }
        // SAFETY: every other kind of attribute is a number, and its bits are read as such.
        NodeAttr::Bits(value.kind, unsafe { value.data.i })
    }
}

impl Capture<'_> {
    /// Ends the capture and makes its graph.
    ///
    /// A capture in which a launch failed *after* it had recorded something, a guard lie say, is forgotten instead: its graph would
    /// run what no call answers for.
    pub fn end(mut self) -> Result<Graph, Error> {
        let stream = self.stream;
        let spoiled = stream
            .recording
            .borrow()
            .as_ref()
            .and_then(|r| r.spoiled.clone());
        if let Some(kernel) = spoiled {
            return Err(Error::Capture {
                what: format!(
                    "a launch of {kernel} failed after it had recorded something, so this capture is forgotten: capture again without it"
                ),
            });
        }
        self.ended = true;
        let instance = stream.device.instance();
        let end = entry(
            instance.api().capture_end,
            &instance.provider.decl,
            "capture_end",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the stream is open and capturing; out-pointer and sink are valid for the call.
        let status = unsafe { end(stream.raw.as_ptr(), &mut raw, &sink) };
        stream.set_capturing(false);
        stream.workspace.borrow_mut().renew();
        let recording = stream.recording.borrow_mut().take();
        stream.device.check("capture_end", status, &mut words)?;
        let raw = NonNull::new(raw).ok_or_else(|| {
            Error::provider(
                stream.device.provider(),
                "capture_end",
                OVERT_OK,
                "it returned no graph".into(),
            )
        })?;
        let recording =
            recording.ok_or_else(|| Error::internal("a capture without a recording"))?;
        Ok(Graph {
            runtime: stream.runtime.clone(),
            device: stream.device.clone(),
            raw,
            launches: recording.nodes.iter().map(|n| n.launches).sum(),
            nodes: recording.nodes,
            generation: recording.generation,
            kept: recording.kept,
            plans: recording.plans,
        })
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let stream = self.stream;
        if let Some(abort) = stream.device.instance().api().capture_abort {
            // SAFETY: the stream is open and capturing.
            unsafe { abort(stream.raw.as_ptr()) };
        }
        stream.set_capturing(false);
        stream.workspace.borrow_mut().renew();
        *stream.recording.borrow_mut() = None;
    }
}

impl Graph {
    /// Number of captured calls that launch something.
    pub fn len(&self) -> usize {
        self.launching().count()
    }

    /// Whether a replay launches nothing.
    pub fn is_empty(&self) -> bool {
        self.launching().next().is_none()
    }

    fn launching(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|n| n.launches > 0)
    }

    /// Device launches of one replay.
    pub fn launches(&self) -> u32 {
        self.launches
    }

    /// Ids of the captured kernels, in order.
    pub fn kernels(&self) -> Vec<String> {
        self.launching()
            .map(|n| n.ready.kernel.decl.id.clone())
            .collect()
    }

    /// Enqueues the whole graph. The caller vouches that the captured bounds still hold; [`Graph::replay_for`] checks it.
    pub fn replay(&self, stream: &Stream) -> Result<(), Error> {
        if self.generation != self.runtime.generation() {
            return Err(Error::Stale { what: "graph" });
        }
        if !stream.device.same(&self.device) {
            return Err(Error::WrongDevice {
                what: "graph",
                got: self.device.name().to_owned(),
                wanted: stream.device.name().to_owned(),
            });
        }
        stream.refuse_while_capturing("replay a graph")?;
        let instance = self.device.instance();
        let replay = entry(
            instance.api().graph_replay,
            &instance.provider.decl,
            "graph_replay",
        )?;
        let mut receipt = OvertReplayReceipt {
            size: size_of::<OvertReplayReceipt>() as u32,
            launches: 0,
        };
        let mut words = Words::default();
        let sink = words.sink();
        stream.progress.enqueue();
        // SAFETY: graph and stream are of one device and open; receipt and sink are valid for the call; the graph keeps its
        // memory, and its own drop waits for nothing because `retire` holds the graph until the stream has passed it.
        let status = unsafe { replay(self.raw.as_ptr(), stream.raw.as_ptr(), &mut receipt, &sink) };
        self.device.check("graph_replay", status, &mut words)?;
        if receipt.launches != self.launches {
            let kernel = self.kernels().join(", ");
            for node in self.launching() {
                stream.shard.cells(node.ready.slot).lied();
            }
            return Err(Error::GuardLie(Box::new(GuardLie {
                kernel,
                device: self.device.name().to_owned(),
                said: format!(
                    "{} launch(es) in a replay of {} captured",
                    receipt.launches, self.launches
                ),
                owner: Vec::new(),
            })));
        }
        for node in self.launching() {
            stream.shard.cells(node.ready.slot).replayed(node.launches);
            if let Some(witness) = &node.witness {
                stream.note_replayed(witness, &node.ready.kernel.decl.id, node.launches);
            }
        }
        Ok(())
    }

    /// Replays if each of `calls`, in the captured order, still lies within what was captured: the same operands and attributes,
    /// bounds not above the captured ones, and every fact that guards read in its captured interval. Otherwise nothing runs, and
    /// the error says which fact crossed.
    pub fn replay_for(&self, stream: &Stream, calls: &[&Call<'_>]) -> Result<(), Error> {
        self.covers(calls)?;
        self.replay(stream)
    }

    /// The check of [`Graph::replay_for`] alone.
    pub fn covers(&self, calls: &[&Call<'_>]) -> Result<(), Error> {
        let dispatched: Vec<&Node> = self.nodes.iter().filter(|n| n.call.is_some()).collect();
        if calls.len() != dispatched.len() {
            let kernel = dispatched
                .first()
                .map_or_else(|| "graph".into(), |n| n.ready.kernel.decl.id.clone());
            let what = format!("{} call(s) for {} captured", calls.len(), dispatched.len());
            return Err(Error::Crossed { kernel, what });
        }
        for (node, call) in dispatched.into_iter().zip(calls) {
            let mut bound = Bound::new();
            call.op.0.binder.bind(*call, &mut bound)?;
            if let Some(recorded) = &node.call
                && let Some(what) = recorded.crossed(call, &bound)
            {
                return Err(Error::Crossed {
                    kernel: node.ready.kernel.decl.id.clone(),
                    what,
                });
            }
        }
        Ok(())
    }
}

impl NodeCall {
    /// What differs from the captured call so that a replay would not be the same.
    fn crossed(&self, call: &Call<'_>, bound: &Bound) -> Option<String> {
        let op = call.op;
        if !Arc::ptr_eq(&op.0, &self.table.op.0) {
            return Some(format!(
                "the call is of {}, captured was {}",
                op.name(),
                self.table.op.name()
            ));
        }
        let schema = op.schema();
        for (index, captured) in self.operands.iter().enumerate() {
            let same = match (call.tensor(index), captured) {
                (None, None) => true,
                (Some(now), Some((view, allocation))) => {
                    now.view == *view && Arc::ptr_eq(&now.allocation, allocation)
                }
                _ => false,
            };
            if !same {
                return Some(format!(
                    "operand `{}` is other memory, or lies otherwise, than captured",
                    schema.operands[index].name
                ));
            }
        }
        let binder = &op.0.binder;
        for (index, captured) in self.attrs.iter().enumerate() {
            let now = NodeAttr::of(&bound.attrs()[index]);
            let name = &schema.attrs[index].name;
            if let (NodeAttr::Bits(_, most), NodeAttr::Bits(_, now), true) =
                (captured, now, binder.is_bound(index))
            {
                if now > *most {
                    return Some(format!("bound `{name}` is {now}, captured was {most}"));
                }
            } else if *captured != now {
                return Some(format!("attribute `{name}` differs from the captured one"));
            }
        }
        self.table.key_len()?;
        let mut room = key_room();
        let key = self.table.key(call, bound, true, &mut room);
        (key != self.key)
            .then(|| "a fact that guards read left the interval it was captured in".into())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let raw = self.raw.as_ptr() as usize;
        let device = self.device.clone();
        let kept = std::mem::take(&mut self.kept);
        let plans = std::mem::take(&mut self.plans);
        // A replay may be pending on any stream; the graph and its memory go when those have passed.
        self.device.instance().retired.retire(Box::new(move || {
            if let Some(destroy) = device.instance().api().graph_destroy {
                // SAFETY: the graph is the provider's own, destroyed once, and no stream has a replay of it pending.
                unsafe { destroy(std::ptr::with_exposed_provenance_mut(raw)) };
            }
            drop((plans, kept));
        }));
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph")
            .field("device", &self.device)
            .field("kernels", &self.kernels())
            .finish()
    }
}

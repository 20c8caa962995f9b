//! The device.

use super::body::{HostKernel, HostPlan};
use super::capture::HostGraph;
use super::command::{Bytes, Command};
use super::event::HostEvent;
use super::memory::Memory;
use super::recorder::Recorder;
use super::stream::HostStream;
use super::worker::Worker;
use crate::call::{CallView, TensorView};
use crate::declare::{KernelDecl, flags};
use crate::device::{Allocation, Device, PeerAccess, WeightsLayout, WorkspaceNeed};
use crate::receipt::Receipt;
use crate::{Error, Result};
use overt_abi::*;
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Copies `len` bytes between devices: target, source.
///
/// # Safety
/// The target is valid for writes and the source for reads of `len` bytes, and they do not overlap.
pub type PeerCopy = unsafe fn(target: *mut u8, source: *const u8, len: usize);

/// What streams and workers of a device share.
pub(crate) struct HostShared {
    /// Unique in the process, so that what is known of a peer is not taken for another.
    pub(crate) id: u64,
    pub(crate) memory: Memory,
    pub(crate) recorder: Recorder,
    pub(crate) context: Box<dyn Any + Send + Sync>,
    pub(crate) peer_copy: PeerCopy,
    pub(crate) peers: Mutex<Vec<(u64, PeerAccess)>>,
}

/// A device that executes on host memory.
pub struct HostDevice {
    pub(crate) shared: Arc<HostShared>,
    default: Mutex<Option<Arc<Worker>>>,
}

/// # Safety
/// As [`PeerCopy`].
unsafe fn plain_copy(target: *mut u8, source: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { target.copy_from_nonoverlapping(source, len) }
}

impl HostDevice {
    /// A device with a context of the provider's, which bodies and launches reach by its type, and the instance's recorder.
    pub fn new<C: Any + Send + Sync>(context: C, recorder: &Recorder) -> Self {
        Self::with_peer_copy(context, recorder, plain_copy)
    }

    /// Like [`Self::new`], with the function by which this device fetches a peer's memory. A function that does not copy
    /// stands for a broken path: the probe sees it and copies are staged.
    pub fn with_peer_copy<C: Any + Send + Sync>(
        context: C,
        recorder: &Recorder,
        peer_copy: PeerCopy,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: Arc::new(HostShared {
                id,
                memory: Memory::of(id),
                recorder: recorder.clone(),
                context: Box::new(context),
                peer_copy,
                peers: Mutex::new(Vec::new()),
            }),
            default: Mutex::new(None),
        }
    }

    fn bytes(&self, (handle, offset): (u64, u64), len: u64, what: &str) -> Result<Bytes> {
        let at = self
            .shared
            .memory
            .resolve(handle, offset, len, || what.to_owned())?;
        Ok(Bytes {
            at,
            len: len as usize,
        })
    }
}

impl Device for HostDevice {
    type Kernel = (HostKernel, &'static KernelDecl);
    type Plan = HostPlan;
    type Stream = HostStream;
    type Event = HostEvent;
    type Graph = HostGraph;

    const PREPARE: bool = true;
    const WORKSPACE: bool = true;
    const WEIGHTS: bool = true;
    const IMPORT: bool = true;
    const COPY_OUT: bool = true;
    const PEER: bool = true;
    const STREAM_IMPORT: bool = true;
    const CAPTURE: bool = true;

    fn open_kernel(&self, decl: &'static KernelDecl) -> Result<Self::Kernel> {
        let kernel = decl
            .body_as::<HostKernel>()
            .ok_or_else(|| Error::internal(format!("kernel `{}` has no host body", decl.id())))?;
        if let Some(open) = kernel.open {
            open(super::Context(&*self.shared.context))?;
        }
        Ok((*kernel, decl))
    }

    fn prepare(&self, (kernel, _): &Self::Kernel, call: &CallView<'_>) -> Result<Option<HostPlan>> {
        match kernel.prepare {
            Some(prepare) => prepare(super::Context(&*self.shared.context), call),
            None => Ok(None),
        }
    }

    fn workspace(&self, (kernel, _): &Self::Kernel, call: &CallView<'_>) -> Result<WorkspaceNeed> {
        kernel
            .workspace
            .map_or(Ok(WorkspaceNeed::default()), |f| f(call))
    }

    fn weights_layout(
        &self,
        (kernel, _): &Self::Kernel,
        operand: u32,
        weight: &TensorView<'_>,
        knobs: &CallView<'_>,
    ) -> Result<Option<WeightsLayout>> {
        kernel
            .weights
            .map_or(Ok(None), |w| (w.layout)(operand, weight, knobs))
    }

    fn weights_pack(
        &self,
        (kernel, decl): &Self::Kernel,
        stream: &HostStream,
        operand: u32,
        call: &CallView<'_>,
        receipt: &mut Receipt,
    ) -> Result<()> {
        stream.not_capturing("repacking a weight")?;
        let weights = kernel
            .weights
            .ok_or_else(|| Error::unsupported(format!("kernel `{}` does not repack", decl.id())))?;
        self.enqueue(stream, call, None, receipt, |launch| {
            launch.run_with(weights.pack, [1, 1, 1], &[u64::from(operand)])
        })
    }

    fn launch(
        &self,
        (kernel, decl): &Self::Kernel,
        stream: &HostStream,
        call: &CallView<'_>,
        plan: Option<&HostPlan>,
        receipt: &mut Receipt,
    ) -> Result<()> {
        let capturing = stream.side.lock().recording.is_some();
        if capturing && decl.flag_bits() & flags::CAPTURE_SAFE == 0 {
            return Err(Error::capture(format!(
                "kernel `{}` is not capture-safe",
                decl.id()
            )));
        }
        if capturing && kernel.prepare.is_some() && plan.is_none() {
            return Err(Error::prepare_first(format!(
                "kernel `{}`: prepare first; a capture cannot compile or tune",
                decl.id()
            )));
        }
        self.enqueue(stream, call, plan, receipt, kernel.launch)
    }

    fn alloc(&self, bytes: u64, alignment: u64, _host_visible: bool) -> Result<Allocation> {
        self.shared.memory.alloc(bytes, alignment)
    }

    fn free(&self, handle: u64) {
        self.shared.memory.free(handle);
    }

    fn import(&self, import: &OvertImport) -> Result<Allocation> {
        // On a device of host memory both kinds are the same.
        if ![OVERT_IMPORT_HOST_POINTER, OVERT_IMPORT_DEVICE_POINTER].contains(&import.kind) {
            return Err(Error::invalid(format!(
                "import kind {} is not memory",
                import.kind
            )));
        }
        self.shared.memory.import(import.native, import.bytes)
    }

    fn copy_in(&self, stream: &HostStream, handle: u64, offset: u64, source: &[u8]) -> Result<()> {
        stream.not_capturing("a copy from the host")?;
        let target = self.bytes((handle, offset), source.len() as u64, "target of copy_in")?;
        if stream.queue().idle() {
            // Nothing is before it, so now is its turn, and large weights need no second copy.
            // SAFETY: bounds were checked; the host orders other streams' work on this memory.
            unsafe { std::ptr::copy(source.as_ptr(), target.at, target.len) }
            return Ok(());
        }
        stream.submit(Command::CopyIn(target.at, source.into()));
        Ok(())
    }

    unsafe fn copy_out(
        &self,
        stream: &HostStream,
        handle: u64,
        offset: u64,
        target: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        stream.not_capturing("a copy to the host")?;
        let source = self.bytes((handle, offset), bytes, "source of copy_out")?;
        let target = Bytes {
            at: target,
            len: source.len,
        };
        stream.submit(Command::Copy(source, target, None));
        Ok(())
    }

    unsafe fn copy_out_sync(
        &self,
        stream: &HostStream,
        handle: u64,
        offset: u64,
        target: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        stream.not_capturing("a synchronous copy to the host")?;
        let source = self.bytes((handle, offset), bytes, "source of copy_out_sync")?;
        stream.queue().sync()?;
        // SAFETY: bounds were checked, everything before it is done, and the caller vouches for the target.
        unsafe { std::ptr::copy(source.at, target, source.len) }
        Ok(())
    }

    fn copy(
        &self,
        stream: &HostStream,
        target: (u64, u64),
        source: (u64, u64),
        bytes: u64,
    ) -> Result<()> {
        let target = self.bytes(target, bytes, "target of copy")?;
        let source = self.bytes(source, bytes, "source of copy")?;
        stream.submit(Command::Copy(source, target, None));
        Ok(())
    }

    fn fill(
        &self,
        stream: &HostStream,
        handle: u64,
        offset: u64,
        value: u8,
        bytes: u64,
    ) -> Result<()> {
        let target = self.bytes((handle, offset), bytes, "target of fill")?;
        stream.submit(Command::Fill(target, value));
        Ok(())
    }

    fn peer_access(&self, peer: &Self) -> Result<PeerAccess> {
        self.probe(peer)
    }

    fn copy_peer(
        &self,
        stream: &HostStream,
        target: (u64, u64),
        source_device: &Self,
        source: (u64, u64),
        bytes: u64,
    ) -> Result<()> {
        stream.not_capturing("a copy from a peer")?;
        let target = self.bytes(target, bytes, "target of copy_peer")?;
        let source = source_device.bytes(source, bytes, "source of copy_peer")?;
        self.enqueue_peer(stream, target, source_device, source)
    }

    fn stream(&self) -> Result<HostStream> {
        Ok(HostStream::new(
            Arc::new(Worker::start(&self.shared)?),
            false,
        ))
    }

    fn import_stream(&self, import: &OvertImport) -> Result<HostStream> {
        if import.native != 0 {
            return Err(Error::invalid(
                "host memory has no native streams; only the null stream, which is the device's default queue, can be imported",
            ));
        }
        let mut default = self.default.lock();
        let worker = match &*default {
            Some(worker) => worker.clone(),
            None => default
                .insert(Arc::new(Worker::start(&self.shared)?))
                .clone(),
        };
        Ok(HostStream::new(worker, true))
    }

    fn flush(&self, stream: &HostStream) -> Result<()> {
        stream.not_capturing("a flush")?;
        stream.queue().flush();
        Ok(())
    }

    fn query(&self, stream: &HostStream) -> Result<bool> {
        stream.not_capturing("a query")?;
        stream.queue().query()
    }

    fn sync(&self, stream: &HostStream) -> Result<()> {
        stream.not_capturing("a synchronise")?;
        stream.queue().sync()
    }

    fn wait_event(&self, stream: &HostStream, event: &HostEvent) -> Result<()> {
        stream.not_capturing("waiting for an event")?;
        let number = event.inner.last()?;
        stream.submit(Command::Wait(event.inner.clone(), number));
        Ok(())
    }

    fn event(&self) -> Result<HostEvent> {
        Ok(HostEvent::default())
    }

    fn record(&self, event: &HostEvent, stream: &HostStream) -> Result<()> {
        stream.not_capturing("recording an event")?;
        let number = event.inner.issue(stream.queue());
        stream.submit(Command::Record(event.inner.clone(), number));
        stream.queue().flush();
        Ok(())
    }

    fn event_query(&self, event: &HostEvent) -> Result<bool> {
        event.inner.query()
    }

    fn event_sync(&self, event: &HostEvent) -> Result<()> {
        event.inner.sync()
    }

    fn elapsed(&self, start: &HostEvent, end: &HostEvent) -> Result<Option<f64>> {
        let (Some(start), Some(end)) = (start.inner.time()?, end.inner.time()?) else {
            return Ok(None);
        };
        let nanoseconds = if end >= start {
            (end - start).as_nanos() as f64
        } else {
            -((start - end).as_nanos() as f64)
        };
        Ok(Some(nanoseconds))
    }

    fn capture_begin(&self, stream: &HostStream) -> Result<()> {
        if stream.default {
            return Err(Error::capture(
                "the default stream cannot capture; make a stream of your own",
            ));
        }
        let mut side = stream.side.lock();
        if side.recording.is_some() {
            return Err(Error::capture("the stream captures already"));
        }
        side.recording = Some(Vec::new());
        Ok(())
    }

    fn capture_end(&self, stream: &HostStream) -> Result<HostGraph> {
        let recorded = stream.side.lock().recording.take();
        recorded
            .map(HostGraph::new)
            .ok_or_else(|| Error::capture("the stream does not capture"))
    }

    fn capture_abort(&self, stream: &HostStream) {
        stream.side.lock().recording = None;
    }

    fn replay(&self, graph: &HostGraph, stream: &HostStream) -> Result<u32> {
        stream.not_capturing("a replay")?;
        stream.submit(Command::Replay(graph.inner.clone()));
        Ok(graph.inner.launches)
    }
}

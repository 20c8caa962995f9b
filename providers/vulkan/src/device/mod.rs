//! The device: entries of the contract, each by its part.

mod disk;
mod event;
mod gpu;
mod graph;
mod memory;
mod pipelines;
mod reports;
mod stream;
mod tape;
mod ticks;
mod timeline;

pub use event::VulkanEvent;
pub use graph::VulkanGraph;
pub use pipelines::{PUSH_BYTES, Pipeline};
pub use stream::VulkanStream;

use crate::kernel::{Plan, Problem, VulkanKernel};
use crate::loader::Instance;
use crate::physical::{Limits, Physical};
use gpu::Gpu;
use memory::{Block, Use};
use overt_sdk::declare::{KernelDecl, flags};
use overt_sdk::host::Recorder;
use overt_sdk::{
    Allocation, CallView, Device, Error, Host, Receipt, Result, TensorView, WeightsLayout,
    WorkspaceNeed,
};
use std::path::Path;
use std::sync::Arc;
use tape::Range;

/// An open device.
pub struct VulkanDevice {
    gpu: Arc<Gpu>,
    /// Each byte four times, for the edges of fills.
    patterns: Block,
}

impl VulkanDevice {
    pub fn open(
        host: Host,
        instance: Arc<Instance>,
        physical: &Physical,
        cache: Option<&Path>,
        validation: bool,
        recorder: &Recorder,
    ) -> Result<VulkanDevice> {
        let gpu = Arc::new(Gpu::open(
            host, instance, physical, cache, validation, recorder,
        )?);
        let patterns = gpu.memory.block(&gpu.raw, 1024, Use::Upload)?;
        let mapped = patterns
            .mapped
            .ok_or_else(|| Error::internal("memory for uploads is not mapped"))?;
        for byte in 0..=255_u8 {
            // SAFETY: 1024 bytes of fresh memory.
            unsafe {
                mapped.ptr().add(usize::from(byte) * 4).write_bytes(byte, 4);
            }
        }
        Ok(VulkanDevice { gpu, patterns })
    }

    /// What launches have to keep.
    pub fn limits(&self) -> &Limits {
        &self.gpu.limits
    }

    fn problem<'a>(&'a self, call: &'a CallView<'a>) -> Problem<'a> {
        Problem {
            call,
            limits: &self.gpu.limits,
            features: &self.gpu.features,
        }
    }

    /// Compiles what a call needs.
    fn plan(&self, kernel: &VulkanKernel, call: &CallView<'_>) -> Result<Plan> {
        let dispatches = (kernel.plan)(&self.problem(call))?;
        self.compile(dispatches)
    }

    fn compile(&self, dispatches: Vec<crate::kernel::Dispatch>) -> Result<Plan> {
        self.gpu.alive()?;
        Plan::new(dispatches, &self.gpu.limits, |dispatch| {
            self.gpu.pipelines.get(
                &self.gpu.raw,
                dispatch.shader,
                dispatch.block,
                &dispatch.constants,
                dispatch.shared_bytes,
            )
        })
    }

    fn enqueue(
        &self,
        stream: &VulkanStream,
        plan: &Plan,
        call: &CallView<'_>,
        receipt: &mut Receipt,
    ) -> Result<()> {
        for step in plan.steps() {
            let words = step.words(call)?;
            stream.dispatch(&step.pipeline, &words[..step.used], step.groups)?;
            let shader = step.pipeline.shader;
            receipt.add(
                shader.symbol,
                shader.image.short_digest(),
                step.groups,
                step.pipeline.block,
                step.pipeline.shared_bytes,
            );
        }
        Ok(())
    }
}

impl Drop for VulkanDevice {
    fn drop(&mut self) {
        // SAFETY: streams, which fill by it, are closed before the device, and a closed stream has nothing pending.
        unsafe { self.gpu.memory.release(&self.gpu.raw, &self.patterns) }
    }
}

impl Device for VulkanDevice {
    type Kernel = (&'static VulkanKernel, &'static KernelDecl);
    type Plan = Plan;
    type Stream = VulkanStream;
    type Event = VulkanEvent;
    type Graph = VulkanGraph;

    const PREPARE: bool = true;
    const WORKSPACE: bool = true;
    const WEIGHTS: bool = true;
    const CAPTURE: bool = true;

    fn open_kernel(&self, decl: &'static KernelDecl) -> Result<Self::Kernel> {
        let kernel = decl
            .body_as::<&'static VulkanKernel>()
            .copied()
            .ok_or_else(|| Error::internal(format!("kernel `{}` has no shader", decl.id())))?;
        for shader in kernel.shaders {
            shader.fits(&self.gpu.features)?;
        }
        Ok((kernel, decl))
    }

    fn prepare(&self, (kernel, _): &Self::Kernel, call: &CallView<'_>) -> Result<Option<Plan>> {
        self.plan(kernel, call).map(Some)
    }

    fn workspace(&self, (kernel, _): &Self::Kernel, call: &CallView<'_>) -> Result<WorkspaceNeed> {
        match kernel.workspace {
            Some(workspace) => Ok(WorkspaceNeed {
                bytes: workspace(&self.problem(call))?,
                alignment: 0,
            }),
            None => Ok(WorkspaceNeed::default()),
        }
    }

    fn weights_layout(
        &self,
        (kernel, _): &Self::Kernel,
        operand: u32,
        weight: &TensorView<'_>,
        _: &CallView<'_>,
    ) -> Result<Option<WeightsLayout>> {
        match &kernel.weights {
            Some(weights) => (weights.layout)(operand, weight),
            None => Ok(None),
        }
    }

    fn weights_pack(
        &self,
        (kernel, decl): &Self::Kernel,
        stream: &VulkanStream,
        operand: u32,
        call: &CallView<'_>,
        receipt: &mut Receipt,
    ) -> Result<()> {
        if stream.captures() {
            return Err(Error::capture(
                "repacking a weight is not possible while the stream captures",
            ));
        }
        let weights = kernel
            .weights
            .as_ref()
            .ok_or_else(|| Error::unsupported(format!("kernel `{}` does not repack", decl.id())))?;
        let dispatches = (weights.pack)(operand, &self.problem(call))?;
        let plan = self.compile(dispatches)?;
        self.enqueue(stream, &plan, call, receipt)
    }

    fn launch(
        &self,
        (kernel, decl): &Self::Kernel,
        stream: &VulkanStream,
        call: &CallView<'_>,
        plan: Option<&Plan>,
        receipt: &mut Receipt,
    ) -> Result<()> {
        if let Some(plan) = plan {
            return self.enqueue(stream, plan, call, receipt);
        }
        if stream.captures() {
            if decl.flag_bits() & flags::CAPTURE_SAFE == 0 {
                return Err(Error::capture(format!(
                    "kernel `{}` is not capture-safe",
                    decl.id()
                )));
            }
            return Err(Error::prepare_first(format!(
                "kernel `{}`: prepare first; a capture cannot compile",
                decl.id()
            )));
        }
        let plan = self.plan(kernel, call)?;
        self.enqueue(stream, &plan, call, receipt)
    }

    fn alloc(&self, bytes: u64, alignment: u64, host_visible: bool) -> Result<Allocation> {
        self.gpu.alive()?;
        self.gpu
            .memory
            .alloc(&self.gpu.raw, bytes, alignment, host_visible)
    }

    fn free(&self, handle: u64) {
        self.gpu.memory.free(&self.gpu.raw, handle);
    }

    fn copy_in(
        &self,
        stream: &VulkanStream,
        handle: u64,
        offset: u64,
        source: &[u8],
    ) -> Result<()> {
        let bytes = source.len() as u64;
        let target = self
            .gpu
            .memory
            .resolve(handle, offset, bytes, "target of copy_in")?;
        stream.copy_in(&target, offset, source)
    }

    unsafe fn copy_out_sync(
        &self,
        stream: &VulkanStream,
        handle: u64,
        offset: u64,
        target: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        let memory = &self.gpu.memory;
        let source = memory.resolve(handle, offset, bytes, "source of copy_out_sync")?;
        // SAFETY: the caller's promise.
        unsafe { stream.copy_out(&source, offset, target, bytes) }
    }

    fn copy(
        &self,
        stream: &VulkanStream,
        target: (u64, u64),
        source: (u64, u64),
        bytes: u64,
    ) -> Result<()> {
        let memory = &self.gpu.memory;
        let to = memory.resolve(target.0, target.1, bytes, "target of copy")?;
        let from = memory.resolve(source.0, source.1, bytes, "source of copy")?;
        let range = Range {
            block: &from,
            offset: source.1,
            bytes,
        };
        stream.copy(range, &to, target.1)
    }

    fn fill(
        &self,
        stream: &VulkanStream,
        handle: u64,
        offset: u64,
        value: u8,
        bytes: u64,
    ) -> Result<()> {
        let memory = &self.gpu.memory;
        let block = memory.resolve(handle, offset, bytes, "target of fill")?;
        let range = Range {
            block: &block,
            offset,
            bytes,
        };
        stream.fill(range, value, &self.patterns)
    }

    fn stream(&self) -> Result<VulkanStream> {
        VulkanStream::new(&self.gpu)
    }

    fn flush(&self, stream: &VulkanStream) -> Result<()> {
        stream.flush()
    }

    fn query(&self, stream: &VulkanStream) -> Result<bool> {
        stream.query()
    }

    fn sync(&self, stream: &VulkanStream) -> Result<()> {
        stream.sync()
    }

    fn wait_event(&self, stream: &VulkanStream, event: &VulkanEvent) -> Result<()> {
        stream.wait_for(&event.recorded()?)
    }

    fn event(&self) -> Result<VulkanEvent> {
        Ok(VulkanEvent::default())
    }

    fn record(&self, event: &VulkanEvent, stream: &VulkanStream) -> Result<()> {
        event.set(stream.record()?);
        Ok(())
    }

    fn event_query(&self, event: &VulkanEvent) -> Result<bool> {
        event.passed()
    }

    fn event_sync(&self, event: &VulkanEvent) -> Result<()> {
        event.sync()
    }

    fn elapsed(&self, start: &VulkanEvent, end: &VulkanEvent) -> Result<Option<f64>> {
        let (Some(start), Some(end)) = (start.tick(&self.gpu)?, end.tick(&self.gpu)?) else {
            return Ok(None);
        };
        self.gpu.ticks.between(start, end).map(Some)
    }

    fn capture_begin(&self, stream: &VulkanStream) -> Result<()> {
        stream.capture_begin()
    }

    fn capture_end(&self, stream: &VulkanStream) -> Result<VulkanGraph> {
        stream.capture_end()
    }

    fn capture_abort(&self, stream: &VulkanStream) {
        stream.capture_abort();
    }

    fn replay(&self, graph: &VulkanGraph, stream: &VulkanStream) -> Result<u32> {
        stream.replay(graph)
    }
}

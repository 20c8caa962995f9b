//! Streams: batches of commands, handed to the queue in order.

use super::event::{Recorded, SlotHold};
use super::gpu::Gpu;
use super::graph::{GraphInner, VulkanGraph};
use super::memory::{Block, Use};
use super::pipelines::Pipeline;
use super::tape::{Range, Tape};
use super::timeline::Timeline;
use ash::vk;
use overt_sdk::{Error, Result};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;

/// Commands after which a batch is handed over without being asked, so that a device does not wait for the end of a long row of launches.
const MOST_COMMANDS: u32 = 192;

/// Bytes that are copied to the host in one piece.
const PIECE: u64 = 64 << 20;

/// A stream. One thread at a time, by the contract; the lock makes that safe to break.
pub struct VulkanStream {
    gpu: Arc<Gpu>,
    timeline: Arc<Timeline>,
    inner: Mutex<Inner>,
}

struct Inner {
    pool: vk::CommandPool,
    free: Vec<vk::CommandBuffer>,
    open: Option<Batch>,
    pending: VecDeque<(u64, Batch)>,
    /// The value that the last batch handed over raises the timeline to.
    issued: u64,
    waits: Vec<(Arc<Timeline>, u64)>,
    capture: Option<GraphInner>,
}

struct Batch {
    tape: Tape,
    blocks: Vec<Block>,
    graphs: Vec<Arc<GraphInner>>,
    slots: Vec<Arc<SlotHold>>,
    timelines: Vec<Arc<Timeline>>,
}

impl VulkanStream {
    pub fn new(gpu: &Arc<Gpu>) -> Result<VulkanStream> {
        gpu.alive()?;
        let timeline = Arc::new(Timeline::new(gpu)?);
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(gpu.family)
            .flags(
                vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER
                    | vk::CommandPoolCreateFlags::TRANSIENT,
            );
        // SAFETY: the device is alive.
        let pool = unsafe { gpu.raw.create_command_pool(&info, None) }
            .map_err(|e| gpu.failed("vkCreateCommandPool", e))?;
        Ok(VulkanStream {
            gpu: gpu.clone(),
            timeline,
            inner: Mutex::new(Inner {
                pool,
                free: Vec::new(),
                open: None,
                pending: VecDeque::new(),
                issued: 0,
                waits: Vec::new(),
                capture: None,
            }),
        })
    }

    /// The stream outside of a capture.
    fn plain(&self, what: &str) -> Result<MutexGuard<'_, Inner>> {
        let inner = self.inner.lock();
        match inner.capture {
            None => Ok(inner),
            Some(_) => Err(Error::capture(format!(
                "{what} is not possible while the stream captures"
            ))),
        }
    }

    /// Whether it captures.
    pub fn captures(&self) -> bool {
        self.inner.lock().capture.is_some()
    }

    /// Writes commands into the batch, or into the capture.
    fn write(&self, f: impl FnOnce(&Gpu, &mut Tape)) -> Result<()> {
        self.gpu.alive()?;
        let mut inner = self.inner.lock();
        if let Some(graph) = &mut inner.capture {
            f(&self.gpu, &mut graph.tape);
            return Ok(());
        }
        let batch = inner.batch(&self.gpu)?;
        f(&self.gpu, &mut batch.tape);
        if batch.tape.commands >= MOST_COMMANDS {
            inner.submit(&self.gpu, &self.timeline)?;
        }
        Ok(())
    }

    pub fn dispatch(&self, pipeline: &Pipeline, words: &[u32], groups: [u32; 3]) -> Result<()> {
        self.write(|gpu, tape| tape.dispatch(gpu, pipeline, words, groups))
    }

    pub fn copy(&self, source: Range<'_>, target: &Block, offset: u64) -> Result<()> {
        self.write(|gpu, tape| tape.copy(gpu, source, target, offset))
    }

    pub fn fill(&self, target: Range<'_>, value: u8, patterns: &Block) -> Result<()> {
        self.write(|gpu, tape| tape.fill(gpu, target, value, patterns))
    }

    pub fn copy_in(&self, target: &Block, offset: u64, source: &[u8]) -> Result<()> {
        self.gpu.alive()?;
        let mut inner = self.plain("a copy from the host")?;
        if let Some(mapped) = target.mapped
            && inner.idle(&self.timeline)?
        {
            // Nothing is before it, so now is its turn, and large weights need no second copy.
            // SAFETY: the range was resolved; the host orders other streams' work on this memory, and a later batch sees host writes.
            unsafe {
                mapped
                    .ptr()
                    .add(offset as usize)
                    .copy_from(source.as_ptr(), source.len());
            }
            return Ok(());
        }
        let gpu = &*self.gpu;
        if Tape::takes_along(offset, source.len()) {
            inner.batch(gpu)?.tape.update(gpu, target, offset, source);
            return Ok(());
        }
        let staged = gpu
            .memory
            .block(&gpu.raw, source.len() as u64, Use::Upload)?;
        let mapped = staged
            .mapped
            .ok_or_else(|| Error::internal("memory for uploads is not mapped"))?;
        // SAFETY: fresh memory of that size.
        unsafe {
            mapped
                .ptr()
                .copy_from_nonoverlapping(source.as_ptr(), source.len());
        }
        let batch = inner.batch(gpu)?;
        let range = Range {
            block: &staged,
            offset: 0,
            bytes: source.len() as u64,
        };
        batch.tape.copy(gpu, range, target, offset);
        batch.blocks.push(staged);
        Ok(())
    }

    /// # Safety
    /// The target is valid for writes of so many bytes.
    pub unsafe fn copy_out(
        &self,
        source: &Block,
        offset: u64,
        target: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        let mut inner = self.plain("a synchronous copy to the host")?;
        let gpu = &*self.gpu;
        if let Some(mapped) = source.mapped.filter(|_| source.cached) {
            inner.sync(gpu, &self.timeline)?;
            // SAFETY: the range was resolved, all before it is done and was made visible to the host, and the caller vouches for the target.
            unsafe { target.copy_from(mapped.ptr().add(offset as usize), bytes as usize) };
            return Ok(());
        }
        if bytes == 0 {
            return inner.sync(gpu, &self.timeline);
        }
        let size = bytes.min(PIECE);
        let staged = gpu.memory.block(&gpu.raw, size, Use::Download)?;
        let mut copied = Ok(());
        let mut at = 0;
        while at < bytes && copied.is_ok() {
            let piece = size.min(bytes - at);
            let range = Range {
                block: source,
                offset: offset + at,
                bytes: piece,
            };
            copied = inner
                .batch(gpu)
                .map(|batch| batch.tape.copy(gpu, range, &staged, 0))
                .and_then(|()| inner.sync(gpu, &self.timeline));
            if let (Ok(()), Some(mapped)) = (&copied, staged.mapped) {
                // SAFETY: the copy is done and visible, and the caller vouches for the target.
                unsafe {
                    target
                        .add(at as usize)
                        .copy_from_nonoverlapping(mapped.ptr(), piece as usize);
                }
            }
            at += piece;
        }
        // SAFETY: the copies are done, or the device is lost and does nothing any more.
        unsafe { gpu.memory.release(&gpu.raw, &staged) };
        copied
    }

    pub fn flush(&self) -> Result<()> {
        self.plain("a flush")?.submit(&self.gpu, &self.timeline)
    }

    pub fn query(&self) -> Result<bool> {
        let mut inner = self.plain("a query")?;
        inner.submit(&self.gpu, &self.timeline)?;
        inner.idle(&self.timeline)
    }

    pub fn sync(&self) -> Result<()> {
        self.plain("a synchronise")?
            .sync(&self.gpu, &self.timeline)?;
        self.gpu.listen()
    }

    pub fn wait_for(&self, event: &Recorded) -> Result<()> {
        let mut inner = self.plain("waiting for an event")?;
        // A wait holds for a whole batch, so what was enqueued before it must not wait too.
        inner.submit(&self.gpu, &self.timeline)?;
        if !Arc::ptr_eq(&event.timeline, &self.timeline) {
            inner.waits.push((event.timeline.clone(), event.value));
        }
        Ok(())
    }

    /// Notes the time, hands over what is enqueued, and says what to wait for.
    pub fn record(&self) -> Result<Recorded> {
        self.gpu.alive()?;
        let mut inner = self.plain("recording an event")?;
        let slot = SlotHold::take(&self.gpu)?;
        let batch = inner.batch(&self.gpu)?;
        if let Some(slot) = &slot {
            batch.tape.tick(&self.gpu, slot.slot);
            batch.slots.push(slot.clone());
        }
        inner.submit(&self.gpu, &self.timeline)?;
        Ok(Recorded {
            timeline: self.timeline.clone(),
            value: inner.issued,
            slot,
        })
    }

    pub fn capture_begin(&self) -> Result<()> {
        self.gpu.alive()?;
        let mut inner = self.inner.lock();
        if inner.capture.is_some() {
            return Err(Error::capture("the stream captures already"));
        }
        inner.capture = Some(GraphInner::begin(&self.gpu)?);
        Ok(())
    }

    pub fn capture_end(&self) -> Result<VulkanGraph> {
        let graph = self.inner.lock().capture.take();
        graph
            .ok_or_else(|| Error::capture("the stream does not capture"))?
            .finish()
    }

    pub fn capture_abort(&self) {
        self.inner.lock().capture = None;
    }

    pub fn replay(&self, graph: &VulkanGraph) -> Result<u32> {
        self.gpu.alive()?;
        let mut inner = self.plain("a replay")?;
        let batch = inner.batch(&self.gpu)?;
        let tape = &graph.inner.tape;
        batch.tape.play(&self.gpu, tape.buffer, &tape.symbols);
        batch.graphs.push(graph.inner.clone());
        Ok(tape.symbols.len() as u32)
    }
}

impl Inner {
    /// The batch that commands go to.
    fn batch(&mut self, gpu: &Gpu) -> Result<&mut Batch> {
        if self.open.is_none() {
            let buffer = match self.free.pop() {
                Some(buffer) => buffer,
                None => {
                    let info = vk::CommandBufferAllocateInfo::default()
                        .command_pool(self.pool)
                        .level(vk::CommandBufferLevel::PRIMARY)
                        .command_buffer_count(1);
                    // SAFETY: the pool is this stream's, whose lock is held.
                    unsafe { gpu.raw.allocate_command_buffers(&info) }
                        .map_err(|e| gpu.failed("vkAllocateCommandBuffers", e))?[0]
                }
            };
            self.open = Some(Batch {
                tape: Tape::begin(gpu, buffer, false)?,
                blocks: Vec::new(),
                graphs: Vec::new(),
                slots: Vec::new(),
                timelines: Vec::new(),
            });
        }
        self.open
            .as_mut()
            .ok_or_else(|| Error::internal("a batch was just opened"))
    }

    /// Hands the batch over.
    fn submit(&mut self, gpu: &Gpu, timeline: &Timeline) -> Result<()> {
        let Some(mut batch) = self.open.take() else {
            // On a lost device not even nothing is done: a query must not call its stream idle.
            return gpu.alive();
        };
        if let Err(error) = batch.tape.end(gpu) {
            self.take_back(gpu, batch);
            return Err(error);
        }
        let value = self.issued + 1;
        let (mut semaphores, mut values) = (Vec::new(), Vec::new());
        for (other, value) in self.waits.drain(..) {
            semaphores.push(other.raw);
            values.push(value);
            batch.timelines.push(other);
        }
        let stages = vec![vk::PipelineStageFlags::ALL_COMMANDS; semaphores.len()];
        let signalled = [timeline.raw];
        let reached = [value];
        let buffers = [batch.tape.buffer];
        let mut timelines = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&values)
            .signal_semaphore_values(&reached);
        let info = vk::SubmitInfo::default()
            .wait_semaphores(&semaphores)
            .wait_dst_stage_mask(&stages)
            .command_buffers(&buffers)
            .signal_semaphores(&signalled)
            .push_next(&mut timelines);
        if let Err(error) = gpu.submit(&info) {
            // None of it runs: the caller is told, and what it held is given back. What comes next still has to wait.
            let waited = batch.timelines.drain(..).zip(values.iter().copied());
            self.waits.extend(waited);
            self.take_back(gpu, batch);
            return Err(error);
        }
        self.issued = value;
        self.pending.push_back((value, batch));
        // A stream that never waits must not keep what its batches needed.
        let passed = timeline.value()?;
        self.collect(gpu, passed);
        Ok(())
    }

    /// Takes back what is done.
    fn collect(&mut self, gpu: &Gpu, passed: u64) {
        while let Some((value, _)) = self.pending.front()
            && *value <= passed
        {
            let Some((_, batch)) = self.pending.pop_front() else {
                break;
            };
            for symbol in &batch.tape.symbols {
                gpu.recorder.executed(symbol);
            }
            self.take_back(gpu, batch);
        }
    }

    /// Takes back a batch that is done, or that never ran.
    fn take_back(&mut self, gpu: &Gpu, batch: Batch) {
        for block in &batch.blocks {
            // SAFETY: the batch was the only user, and it is not pending.
            unsafe { gpu.memory.release(&gpu.raw, block) };
        }
        self.free.push(batch.tape.buffer);
    }

    /// Whether nothing is pending.
    fn idle(&mut self, timeline: &Timeline) -> Result<bool> {
        if self.open.is_some() || !self.waits.is_empty() {
            return Ok(false);
        }
        Ok(self.pending.is_empty() || timeline.value()? >= self.issued)
    }

    fn sync(&mut self, gpu: &Gpu, timeline: &Timeline) -> Result<()> {
        self.submit(gpu, timeline)?;
        if !self.pending.is_empty() {
            timeline.wait(self.issued)?;
            self.collect(gpu, self.issued);
        }
        gpu.alive()
    }
}

impl Drop for VulkanStream {
    fn drop(&mut self) {
        let inner = self.inner.get_mut();
        inner.capture = None;
        // On a lost device nothing is pending any more, whatever the error says.
        let _ = inner.sync(&self.gpu, &self.timeline);
        // What is left is lost with its device: it is given back, and not said to have been executed.
        while let Some((_, batch)) = inner.pending.pop_front() {
            inner.take_back(&self.gpu, batch);
        }
        if let Some(batch) = inner.open.take() {
            inner.take_back(&self.gpu, batch);
        }
        // SAFETY: nothing of the pool is pending.
        unsafe { self.gpu.raw.destroy_command_pool(inner.pool, None) }
    }
}

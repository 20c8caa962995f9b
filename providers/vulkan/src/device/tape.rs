//! A command buffer being written: a batch of a stream, or a capture.

use super::gpu::Gpu;
use super::memory::Block;
use super::pipelines::{PUSH_BYTES, Pipeline};
use ash::vk;
use overt_sdk::Result;

/// What is written so far.
pub struct Tape {
    pub buffer: vk::CommandBuffer,
    /// Commands in it.
    pub commands: u32,
    /// Symbols of its launches, in order.
    pub symbols: Vec<&'static str>,
    bound: vk::Pipeline,
}

/// Bytes of a block.
pub struct Range<'a> {
    pub block: &'a Block,
    pub offset: u64,
    pub bytes: u64,
}

/// Bytes that a command buffer takes along at most.
const INLINE: usize = 65_536;

impl Tape {
    /// Begins a command buffer, which is reset where it was used before.
    pub fn begin(gpu: &Gpu, buffer: vk::CommandBuffer, secondary: bool) -> Result<Tape> {
        let inheritance = vk::CommandBufferInheritanceInfo::default();
        let flags = match secondary {
            true => vk::CommandBufferUsageFlags::SIMULTANEOUS_USE,
            false => vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT,
        };
        let info = vk::CommandBufferBeginInfo::default()
            .flags(flags)
            .inheritance_info(&inheritance);
        // SAFETY: the buffer is not pending, and its pool is used by the holder of the stream's lock alone.
        unsafe { gpu.raw.begin_command_buffer(buffer, &info) }
            .map_err(|e| gpu.failed("vkBeginCommandBuffer", e))?;
        Ok(Tape {
            buffer,
            commands: 0,
            symbols: Vec::new(),
            bound: vk::Pipeline::null(),
        })
    }

    /// What was written before is done, and seen, before what comes. At the beginning of a batch this reaches back to the batches before it.
    fn barrier(&mut self, gpu: &Gpu) {
        self.commands += 1;
        let written = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(
                vk::AccessFlags::SHADER_READ
                    | vk::AccessFlags::SHADER_WRITE
                    | vk::AccessFlags::TRANSFER_READ
                    | vk::AccessFlags::TRANSFER_WRITE,
            );
        let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
        // SAFETY: the buffer is being recorded by the holder of the stream's lock.
        unsafe {
            gpu.raw.cmd_pipeline_barrier(
                self.buffer,
                stages,
                stages,
                vk::DependencyFlags::empty(),
                &[written],
                &[],
                &[],
            );
        }
    }

    /// Launches a kernel.
    pub fn dispatch(&mut self, gpu: &Gpu, pipeline: &Pipeline, words: &[u32], groups: [u32; 3]) {
        debug_assert!(words.len() * 4 <= PUSH_BYTES as usize);
        self.barrier(gpu);
        let bytes = words.as_ptr().cast::<u8>();
        // SAFETY: as in `barrier`; pipeline and layout are the device's, and words are read as bytes.
        unsafe {
            if self.bound != pipeline.raw {
                gpu.raw.cmd_bind_pipeline(
                    self.buffer,
                    vk::PipelineBindPoint::COMPUTE,
                    pipeline.raw,
                );
                self.bound = pipeline.raw;
            }
            if !words.is_empty() {
                gpu.raw.cmd_push_constants(
                    self.buffer,
                    gpu.pipelines.layout,
                    vk::ShaderStageFlags::COMPUTE,
                    0,
                    std::slice::from_raw_parts(bytes, words.len() * 4),
                );
            }
            gpu.raw
                .cmd_dispatch(self.buffer, groups[0], groups[1], groups[2]);
        }
        self.symbols.push(pipeline.shader.symbol);
    }

    /// Copies between blocks. Of the target as many bytes as of the source.
    pub fn copy(&mut self, gpu: &Gpu, source: Range<'_>, target: &Block, offset: u64) {
        if source.bytes == 0 {
            return;
        }
        self.barrier(gpu);
        let region = vk::BufferCopy::default()
            .src_offset(source.offset)
            .dst_offset(offset)
            .size(source.bytes);
        // SAFETY: as in `barrier`; both ranges were resolved.
        unsafe {
            gpu.raw
                .cmd_copy_buffer(self.buffer, source.block.buffer, target.buffer, &[region]);
        }
    }

    /// Whether bytes can travel in the command buffer itself.
    pub fn takes_along(offset: u64, bytes: usize) -> bool {
        bytes <= INLINE && bytes.is_multiple_of(4) && offset.is_multiple_of(4)
    }

    /// Writes bytes that [`Self::takes_along`] accepts.
    pub fn update(&mut self, gpu: &Gpu, target: &Block, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.barrier(gpu);
        // SAFETY: as in `barrier`; the range was resolved, and the command copies the bytes.
        unsafe {
            gpu.raw
                .cmd_update_buffer(self.buffer, target.buffer, offset, bytes);
        }
    }

    /// Fills a range with a byte. `patterns` holds each byte four times. The driver fills words; edges are copied.
    pub fn fill(&mut self, gpu: &Gpu, target: Range<'_>, value: u8, patterns: &Block) {
        let (start, end) = (target.offset, target.offset + target.bytes);
        let (first, last) = (start.next_multiple_of(4), end / 4 * 4);
        let mut edge = |from: u64, to: u64| {
            let source = Range {
                block: patterns,
                offset: u64::from(value) * 4,
                bytes: to - from,
            };
            self.copy(gpu, source, target.block, from);
        };
        if first >= last {
            // At most two words, neither of them whole.
            let middle = first.min(end);
            edge(start, middle);
            edge(middle, end);
            return;
        }
        edge(start, first);
        edge(last, end);
        self.barrier(gpu);
        // SAFETY: as in `barrier`; the range was resolved.
        unsafe {
            gpu.raw.cmd_fill_buffer(
                self.buffer,
                target.block.buffer,
                first,
                last - first,
                u32::from_ne_bytes([value; 4]),
            );
        }
    }

    /// Notes the time at which everything before is done.
    pub fn tick(&mut self, gpu: &Gpu, slot: super::ticks::Slot) {
        self.barrier(gpu);
        // SAFETY: as in `barrier`; nothing pending writes the slot.
        unsafe {
            gpu.raw
                .cmd_reset_query_pool(self.buffer, slot.pool, slot.index, 1);
            gpu.raw.cmd_write_timestamp(
                self.buffer,
                vk::PipelineStageFlags::BOTTOM_OF_PIPE,
                slot.pool,
                slot.index,
            );
        }
    }

    /// Plays a capture.
    pub fn play(&mut self, gpu: &Gpu, graph: vk::CommandBuffer, symbols: &[&'static str]) {
        self.barrier(gpu);
        // SAFETY: as in `barrier`; the graph's buffer is finished, may be used at once in several places, and is kept until this batch is done.
        unsafe { gpu.raw.cmd_execute_commands(self.buffer, &[graph]) }
        // What is bound afterwards is not defined.
        self.bound = vk::Pipeline::null();
        self.symbols.extend(symbols);
    }

    /// Ends the buffer. What was written is then seen by the host once the batch is done.
    pub fn end(&self, gpu: &Gpu) -> Result<()> {
        let written = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(vk::AccessFlags::HOST_READ);
        // SAFETY: as in `barrier`.
        unsafe {
            gpu.raw.cmd_pipeline_barrier(
                self.buffer,
                vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER,
                vk::PipelineStageFlags::HOST,
                vk::DependencyFlags::empty(),
                &[written],
                &[],
                &[],
            );
            gpu.raw.end_command_buffer(self.buffer)
        }
        .map_err(|e| gpu.failed("vkEndCommandBuffer", e))
    }
}

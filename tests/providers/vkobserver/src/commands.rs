//! What is recorded and what is executed.

use crate::chain::{key, next};
use crate::faults::{Call, fails};
use ash::vk::{self, Handle};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::c_void;
use std::io::Write;

/// Code, as eight bytes of its digest, and grid.
type Dispatch = (u64, [u32; 3]);

#[derive(Default)]
struct Seen {
    /// Digest of each shader module.
    modules: HashMap<u64, u64>,
    /// Digest of each pipeline's shader.
    pipelines: HashMap<u64, u64>,
    /// What is bound in each command buffer.
    bound: HashMap<u64, u64>,
    /// What each command buffer holds.
    recorded: HashMap<u64, Vec<Dispatch>>,
}

static SEEN: Mutex<Option<Seen>> = Mutex::new(None);

fn with<R>(f: impl FnOnce(&mut Seen) -> R) -> R {
    f(SEEN.lock().get_or_insert_default())
}

/// The function of this layer by name.
pub fn own(name: &[u8]) -> Option<*const c_void> {
    Some(match name {
        b"vkCreateShaderModule" => create_shader_module as *const c_void,
        b"vkCreateComputePipelines" => create_compute_pipelines as *const c_void,
        b"vkBeginCommandBuffer" => begin as *const c_void,
        b"vkCmdBindPipeline" => bind as *const c_void,
        b"vkCmdDispatch" => dispatch as *const c_void,
        b"vkCmdExecuteCommands" => execute as *const c_void,
        b"vkQueueSubmit" => submit as *const c_void,
        b"vkAllocateMemory" => allocate as *const c_void,
        _ => return None,
    })
}

// SAFETY (of all below): called by the loader with what the application passed, which the specification makes valid; the next function of
// the chain has the type of its name.

unsafe extern "system" fn create_shader_module(
    device: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    module: *mut vk::ShaderModule,
) -> vk::Result {
    // SAFETY: see above.
    unsafe {
        let function: vk::PFN_vkCreateShaderModule = next(device.as_raw(), c"vkCreateShaderModule");
        let result = function(device, info, allocator, module);
        if result == vk::Result::SUCCESS {
            let code = std::slice::from_raw_parts((*info).p_code.cast::<u8>(), (*info).code_size);
            let digest = Sha256::digest(code);
            let short = u64::from_ne_bytes([
                digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6],
                digest[7],
            ]);
            with(|seen| seen.modules.insert((*module).as_raw(), short));
        }
        result
    }
}

unsafe extern "system" fn create_compute_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    // SAFETY: see above.
    unsafe {
        let function: vk::PFN_vkCreateComputePipelines =
            next(device.as_raw(), c"vkCreateComputePipelines");
        let result = function(device, cache, count, infos, allocator, pipelines);
        if result == vk::Result::SUCCESS {
            with(|seen| {
                for i in 0..count as usize {
                    let module = (*infos.add(i)).stage.module.as_raw();
                    let digest = seen.modules.get(&module).copied().unwrap_or(0);
                    seen.pipelines.insert((*pipelines.add(i)).as_raw(), digest);
                }
            });
        }
        result
    }
}

unsafe extern "system" fn begin(
    buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    // SAFETY: see above.
    unsafe {
        with(|seen| seen.recorded.insert(buffer.as_raw(), Vec::new()));
        let function: vk::PFN_vkBeginCommandBuffer = next(buffer.as_raw(), c"vkBeginCommandBuffer");
        function(buffer, info)
    }
}

unsafe extern "system" fn bind(
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    pipeline: vk::Pipeline,
) {
    // SAFETY: see above.
    unsafe {
        with(|seen| {
            let digest = seen.pipelines.get(&pipeline.as_raw()).copied();
            seen.bound.insert(buffer.as_raw(), digest.unwrap_or(0));
        });
        let function: vk::PFN_vkCmdBindPipeline = next(buffer.as_raw(), c"vkCmdBindPipeline");
        function(buffer, point, pipeline);
    }
}

unsafe extern "system" fn dispatch(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
    // SAFETY: see above.
    unsafe {
        with(|seen| {
            let digest = seen.bound.get(&buffer.as_raw()).copied().unwrap_or(0);
            let list = seen.recorded.entry(buffer.as_raw()).or_default();
            list.push((digest, [x, y, z]));
        });
        let function: vk::PFN_vkCmdDispatch = next(buffer.as_raw(), c"vkCmdDispatch");
        function(buffer, x, y, z);
    }
}

unsafe extern "system" fn execute(
    buffer: vk::CommandBuffer,
    count: u32,
    buffers: *const vk::CommandBuffer,
) {
    // SAFETY: see above.
    unsafe {
        with(|seen| {
            for i in 0..count as usize {
                let inner = seen.recorded.get(&(*buffers.add(i)).as_raw());
                let inner = inner.cloned().unwrap_or_default();
                let list = seen.recorded.entry(buffer.as_raw()).or_default();
                list.extend(inner);
            }
        });
        let function: vk::PFN_vkCmdExecuteCommands = next(buffer.as_raw(), c"vkCmdExecuteCommands");
        function(buffer, count, buffers);
    }
}

unsafe extern "system" fn submit(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: see above.
    unsafe {
        if let Some(error) = fails(Call::Submit, key(queue.as_raw())) {
            return error;
        }
        let mut lines = String::new();
        with(|seen| {
            for i in 0..count as usize {
                let info = &*submits.add(i);
                for j in 0..info.command_buffer_count as usize {
                    let buffer = (*info.p_command_buffers.add(j)).as_raw();
                    for (digest, [x, y, z]) in seen.recorded.get(&buffer).into_iter().flatten() {
                        lines += &format!("{digest:016x} {x} {y} {z}\n");
                    }
                }
            }
        });
        note(&lines);
        let function: vk::PFN_vkQueueSubmit = next(queue.as_raw(), c"vkQueueSubmit");
        function(queue, count, submits, fence)
    }
}

unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: see above.
    unsafe {
        if let Some(error) = fails(Call::Allocate, key(device.as_raw())) {
            return error;
        }
        let function: vk::PFN_vkAllocateMemory = next(device.as_raw(), c"vkAllocateMemory");
        function(device, info, allocator, memory)
    }
}

fn note(lines: &str) {
    let Some(path) = std::env::var_os("OVERT_VKOBSERVER_LOG") else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    file.and_then(|mut file| file.write_all(lines.as_bytes()))
        .expect("the log can be written");
}

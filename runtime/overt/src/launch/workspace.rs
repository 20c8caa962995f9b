//! Workspace: memory that a launch needs besides its operands, given for one stream at a time.

use super::stream::Stream;
use crate::error::Error;
use crate::ffi::Words;
use crate::memory::{Allocation, MemoryKind};
use crate::select::Ready;
use overt_abi::{OvertCall, OvertDType, OvertTensor, OvertWorkspaceNeed};
use std::sync::Arc;

/// Workspace above this is taken for a mistake of the provider.
const MOST: u64 = 1 << 40;

/// A stream's workspace: one allocation, replaced by a larger one when needed. The old one retires, so work that uses it is safe.
#[derive(Default)]
pub(super) struct Workspace {
    held: Option<Arc<Allocation>>,
    /// What the raw tensor's shape points to.
    shape: Box<[i64; 1]>,
}

const STRIDE: [i64; 1] = [1];

impl Workspace {
    /// At least `bytes` aligned to `alignment`.
    fn reserve(
        &mut self,
        stream: &Stream,
        bytes: u64,
        alignment: u64,
    ) -> Result<OvertTensor, Error> {
        let fits = |held: &Arc<Allocation>| held.bytes() >= bytes && held.alignment() >= alignment;
        if !self.held.as_ref().is_some_and(fits) {
            // Growing by half saves a step-by-step climb of sequences that lengthen.
            let size = self
                .held
                .as_ref()
                .map_or(bytes, |held| bytes.max(held.bytes() + held.bytes() / 2));
            self.held = Some(Allocation::new(
                &stream.device,
                size,
                alignment,
                MemoryKind::Device,
            )?);
        }
        let held = self
            .held
            .as_ref()
            .ok_or_else(|| Error::internal("the workspace is gone"))?;
        if stream.capturing.get() {
            stream.keep(held.clone());
        }
        self.shape[0] = held.bytes() as i64;
        Ok(OvertTensor {
            size: size_of::<OvertTensor>() as u32,
            flags: 0,
            dtype: OvertDType {
                code: overt_abi::OVERT_DTYPE_UINT,
                bits: 8,
                lanes: 1,
            },
            rank: 1,
            handle: held.handle(),
            byte_offset: 0,
            address: held.address(),
            allocation_bytes: held.bytes(),
            alignment: held.alignment(),
            layout: 0,
            shape: self.shape.as_ptr(),
            strides: STRIDE.as_ptr(),
        })
    }

    /// Parts with the memory, so that what was captured into a graph is not shared with later work of the stream.
    pub(super) fn renew(&mut self) {
        self.held = None;
    }
}

impl Stream {
    /// Asks the kernel what it needs for a call, and gives it.
    pub(super) fn workspace_for(
        &self,
        ready: &Ready,
        call: &OvertCall,
    ) -> Result<Option<OvertTensor>, Error> {
        let Some(ask) = ready.workspace else {
            return Ok(None);
        };
        let mut need = OvertWorkspaceNeed {
            size: size_of::<OvertWorkspaceNeed>() as u32,
            reserved: 0,
            bytes: 0,
            alignment: 0,
        };
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: the kernel is open; call, out-pointer and sink are valid for the call.
        let status = unsafe { ask(ready.open.raw(), call, &mut need, &sink) };
        self.device.check("kernel_workspace", status, &mut words)?;
        if need.bytes == 0 {
            return Ok(None);
        }
        if need.bytes > MOST || (need.alignment != 0 && !need.alignment.is_power_of_two()) {
            let words = format!(
                "{} asks for {} bytes aligned to {}",
                ready.kernel.decl.id, need.bytes, need.alignment
            );
            return Err(Error::provider(
                self.device.provider(),
                "kernel_workspace",
                status,
                words,
            ));
        }
        self.workspace
            .borrow_mut()
            .reserve(self, need.bytes, need.alignment.max(1))
            .map(Some)
    }
}

//! Host fallback: serving a call on a host-addressable device when no kernel of its own device can, where the policy allows it.

use super::stream::{Launched, Stream};
use crate::bind::{Arguments, Bound, Call};
use crate::error::Error;
use crate::memory::{Allocation, Tensor};
use crate::registry::Device;
use crate::select::Selection;

impl Stream {
    /// Serves the call on the device that the explanation names. Waits for the stream first, and for the result.
    #[cold]
    pub(super) fn dispatch_on_host(
        &self,
        call: &Call<'_>,
        bound: &Bound,
        refused: Selection,
    ) -> Result<Launched, Error> {
        if self.capturing.get() {
            return Err(Error::Capture {
                what: format!(
                    "{} has no kernel on {}, and a host fallback cannot be captured",
                    refused.op, refused.device
                ),
            });
        }
        let selection = self.runtime.explain_call(call, &self.device)?;
        let Some(name) = &selection.served_by else {
            return Err(Error::NoKernel(Box::new(selection)));
        };
        let device = self.runtime.device(name)?;
        tracing::warn!(target: "overt::fallback", device = name, "{selection}");
        self.serve_on(&device, call, bound)
    }

    fn serve_on(&self, device: &Device, call: &Call<'_>, bound: &Bound) -> Result<Launched, Error> {
        self.sync()?;
        let helper = self.runtime.stream(device)?;
        let binder = &call.op.0.binder;
        let staged = (0..binder.operand_count())
            .map(|index| {
                call.tensor(index)
                    .map(|t| self.stage(&helper, device, t))
                    .transpose()
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let mut there = Call::new(call.op);
        for (index, staged) in staged.iter().enumerate() {
            there.set(index, staged.as_ref().map(|s| &s.tensor));
        }
        for index in 0..binder.attr_count() {
            there.set_raw(index, bound.attrs()[index]);
        }
        if let Some(witness) = call.witness {
            there = there.witnessed(witness);
        }
        let launched = helper.dispatch(&there)?;
        helper.sync()?;
        for (index, staged) in staged.iter().enumerate() {
            if binder.written() & 1 << index != 0
                && let (Some(staged), Some(original)) = (staged, call.tensor(index))
                && staged.copied
            {
                self.write(original, &helper.read_vec(&staged.tensor)?)?;
            }
        }
        self.sync()?;
        helper.shard.cells(launched.slot()).host_fallback();
        Ok(launched.on_host())
    }

    /// The operand as the helping device sees it: the same memory where the host can address it, else a copy. The whole span is
    /// copied, so that gaps of a strided output come back as they were.
    fn stage(&self, helper: &Stream, device: &Device, tensor: &Tensor) -> Result<Staged, Error> {
        if let Some(address) = tensor.allocation.host_address() {
            let bytes = tensor.allocation.bytes();
            // SAFETY: the provider declares the memory addressable at `host_address`; nothing of this stream is pending on it, and
            // the caller's tensor outlives the call, which waits for the helper.
            let imported = unsafe {
                Allocation::import_host(
                    device,
                    std::ptr::with_exposed_provenance(address as usize),
                    bytes,
                )
            };
            match imported {
                Ok(allocation) => {
                    let tensor =
                        Tensor::over(allocation, tensor.view.clone(), tensor.view.byte_offset)?;
                    return Ok(Staged {
                        tensor,
                        copied: false,
                    });
                }
                Err(Error::Unsupported { .. }) => {}
                Err(Error::Provider {
                    status: overt_abi::OVERT_E_UNSUPPORTED,
                    ..
                }) => {}
                Err(other) => return Err(other),
            }
        }
        let allocation = Allocation::new(
            device,
            tensor.view.span_bytes,
            0,
            crate::memory::MemoryKind::Device,
        )?;
        let staged = Tensor::over(allocation, tensor.view.clone(), 0)?;
        helper.put(&staged, &self.read_vec(tensor)?)?;
        Ok(Staged {
            tensor: staged,
            copied: true,
        })
    }
}

struct Staged {
    tensor: Tensor,
    copied: bool,
}

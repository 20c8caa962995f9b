//! From a launch to commands: operands are resolved, the launch function is asked, and what it asked for is enqueued.

use super::body::HostPlan;
use super::device::HostDevice;
use super::launch::Launch;
use super::stream::{HostStream, Side};
use crate::call::{CallView, TensorView};
use crate::dtypes;
use crate::receipt::Receipt;
use crate::{Error, Result};

impl HostDevice {
    /// The address of a view's first element, after a check that all it reaches lies in its allocation.
    fn address(&self, view: &TensorView<'_>, what: impl Fn() -> String) -> Result<u64> {
        let bytes = reach(view)
            .ok_or_else(|| Error::invalid(format!("{}: shape and strides overflow", what())))?;
        let at = self
            .shared
            .memory
            .resolve(view.handle(), view.byte_offset(), bytes, what)?;
        Ok(at as usize as u64)
    }

    fn resolve(&self, call: &CallView<'_>, addresses: &mut Vec<u64>) -> Result<()> {
        addresses.clear();
        for index in 0..call.operand_count() {
            addresses.push(match call.optional(index)? {
                None => 0,
                Some(view) => self.address(&view, || format!("operand {index}"))?,
            });
        }
        if let Some(view) = call.workspace() {
            addresses.push(self.address(&view, || "workspace".to_owned())?);
        }
        Ok(())
    }

    /// Runs a launch function and enqueues (or records) what it asked for, all or nothing.
    pub(crate) fn enqueue(
        &self,
        stream: &HostStream,
        call: &CallView<'_>,
        plan: Option<&HostPlan>,
        receipt: &mut Receipt,
        launch: impl FnOnce(&mut Launch<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut side = stream.side.lock();
        // What an earlier launch left when it failed or panicked.
        side.staged.clear();
        let mut addresses = std::mem::take(&mut side.addresses);
        let resolved = self.resolve(call, &mut addresses);
        side.addresses = addresses;
        resolved?;
        let mut state = Launch {
            call: *call,
            plan,
            shared: &self.shared,
            queue: stream.queue(),
            side: &mut side,
            receipt: Receipt::empty(),
        };
        launch(&mut state)?;
        // Only now, since what a failed launch asked for is not enqueued.
        *receipt = state.receipt;
        let Side {
            recording, staged, ..
        } = &mut *side;
        match recording {
            Some(recording) => recording.append(staged),
            None => stream.queue().push(staged.drain(..)),
        }
        Ok(())
    }
}

/// Bytes from the first element to the end of the furthest one; 0 for an empty view. A packed or block-quantised view is
/// taken at its offset alone, since its bytes are not those of its shape.
fn reach(view: &TensorView<'_>) -> Option<u64> {
    let Some(bytes) = dtypes::element_bytes(view.dtype()) else {
        return Some(0);
    };
    if view.layout() != 0 {
        return Some(0);
    }
    let mut last: u64 = 0;
    for (&dim, &stride) in view.shape().iter().zip(view.strides()) {
        if dim <= 0 {
            return Some(0);
        }
        let stride = if dim == 1 {
            0
        } else {
            u64::try_from(stride).ok()?
        };
        last = last.checked_add((dim as u64 - 1).checked_mul(stride)?)?;
    }
    last.checked_add(1)?.checked_mul(bytes)
}

//! Weights repacked for a kernel.

use super::receipt::EMPTY;
use super::stream::Stream;
use crate::bind::{Arguments, BindProblem, Bound, Call, bind_error};
use crate::error::Error;
use crate::ffi::Words;
use crate::memory::{Allocation, Mark, MemoryKind, Tensor};
use overt_abi::{OVERT_E_UNSUPPORTED, OvertWeightsLayout};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Which weight in which layout: device, allocation, offset, the view's mark, and the layout's key. The mark because two views that
/// start at one place are two weights.
type Key = (u32, u64, u64, Mark, u64);

/// One weight in one layout, locked while it is packed.
type Packed = Arc<Mutex<Copy>>;

/// Weak: when the last tensor of it is gone, so is the memory.
#[derive(Default)]
struct Copy {
    packed: Weak<Allocation>,
    /// What was packed. A provider may give the handle of freed memory out again, for another weight.
    source: Weak<Allocation>,
}

impl Copy {
    fn of(&self, source: &Arc<Allocation>) -> Option<Arc<Allocation>> {
        std::ptr::eq(self.source.as_ptr(), Arc::as_ptr(source))
            .then(|| self.packed.upgrade())
            .flatten()
    }
}

/// Packed weights that are alive, so that one weight is packed once for all kernels of one layout.
#[derive(Default)]
pub(crate) struct PackCache(Mutex<HashMap<Key, Packed>>);

impl Stream {
    /// Repacks operand `operand` of the call for the kernel that the call would select, and gives the packed tensor, to be passed in
    /// its place. The same tensor comes back where that kernel takes the plain layout, or where it is packed already. Enqueued on this stream: others wait for an
    /// event. The plain weight must stay until the stream has passed it, and is not needed after.
    pub fn pack_weight(&self, call: &Call<'_>, operand: &str) -> Result<Tensor, Error> {
        self.refuse_while_capturing("repack a weight")?;
        let schema = call.op.schema();
        let Some(index) = schema.operand(operand) else {
            let known: Vec<String> = schema.operands.iter().map(|o| o.name.clone()).collect();
            let near = crate::registry::near(operand, known.iter().map(String::as_str));
            return Err(bind_error(
                call.op,
                BindProblem::UnknownOperand {
                    name: operand.into(),
                    near,
                    known,
                },
            )
            .into());
        };
        let mut bound = Bound::new();
        call.op.0.binder.bind(call, &mut bound)?;
        let (ready, _) = self.runtime.0.select(call, &bound, &self.device, false)?;
        let Some(source) = call.tensor(index) else {
            return Err(bind_error(
                call.op,
                BindProblem::Missing {
                    operand: operand.into(),
                    wanted: "the weight to repack".into(),
                },
            )
            .into());
        };
        if source.view.layout != 0 {
            // The kernel was selected with it, so it takes it.
            return Ok(source.clone());
        }
        let api = self.device.instance().api();
        let (Some(layout_of), Some(pack)) = (api.weights_layout, api.weights_pack) else {
            return Ok(source.clone());
        };
        let raw = source.raw();
        let mut layout = OvertWeightsLayout {
            size: size_of::<OvertWeightsLayout>() as u32,
            reserved: 0,
            key: 0,
            bytes: 0,
            alignment: 0,
        };
        let knobs = ready.knobs();
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: the kernel is open; tensor, knobs, out-pointer and sink are valid for the call.
        let status = unsafe {
            layout_of(
                ready.open.raw(),
                index as u32,
                &raw,
                knobs.as_ptr(),
                knobs.len() as u32,
                &mut layout,
                &sink,
            )
        };
        if status == OVERT_E_UNSUPPORTED {
            return Ok(source.clone());
        }
        self.device.check("weights_layout", status, &mut words)?;
        if layout.key == 0 {
            let words = "it states the key 0, which means the plain layout".into();
            return Err(Error::provider(
                self.device.provider(),
                "weights_layout",
                status,
                words,
            ));
        }
        let key = (
            self.device.number(),
            source.allocation.handle(),
            source.view.byte_offset,
            source.view.mark,
            layout.key,
        );
        let entry = self
            .runtime
            .0
            .packs
            .0
            .lock()
            .entry(key)
            .or_default()
            .clone();
        let mut packed = entry.lock();
        if let Some(allocation) = packed.of(&source.allocation) {
            return Ok(Tensor::at(
                allocation.clone(),
                source.view.clone().at(0, allocation.alignment()),
            )
            .packed(layout.key));
        }
        let allocation = Allocation::new(
            &self.device,
            layout.bytes,
            layout.alignment,
            MemoryKind::Device,
        )?;
        let target = Tensor::at(
            allocation.clone(),
            source.view.clone().at(0, allocation.alignment()),
        )
        .packed(layout.key);
        let raw_target = target.raw();
        let mut receipt = EMPTY;
        self.progress.enqueue();
        // SAFETY: kernel and stream are open and of one device; both tensors live until the stream has passed them, since retired
        // memory waits for `progress`.
        let status = unsafe {
            pack(
                ready.open.raw(),
                self.raw.as_ptr(),
                index as u32,
                &raw,
                &raw_target,
                knobs.as_ptr(),
                knobs.len() as u32,
                &mut receipt,
                &sink,
            )
        };
        self.device.check("weights_pack", status, &mut words)?;
        *packed = Copy {
            packed: Arc::downgrade(&allocation),
            source: Arc::downgrade(&source.allocation),
        };
        drop(packed);
        self.runtime.0.packs.0.lock().retain(|_, entry| {
            // An entry that is locked is being packed now.
            entry
                .try_lock()
                .is_none_or(|copy| copy.packed.strong_count() > 0)
        });
        Ok(target)
    }
}

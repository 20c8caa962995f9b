//! Streams: dispatch and launch, with counters moved from receipts.

use super::cache::OpCache;
use super::graph::Recording;
use super::receipt::{self, empty_receipt};
use super::workspace::Workspace;
use crate::bind::{Arguments, Bound, Call};
use crate::core::{Core, Runtime};
use crate::count::{Shard, Witness};
use crate::error::Error;
use crate::ffi::Words;
use crate::memory::{Allocation, Progress};
use crate::registry::{Device, entry};
use crate::select::{KeyWords, MAX_FACTS, Ready};
use overt_abi::{OVERT_CALL_CAPTURING, OVERT_OK, OvertCall, OvertStream, OvertTensor, OvertValue};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// A queue of work on one device, in order. `Send`, not `Sync`: one thread uses it at a time. Dropping it waits for its work.
///
/// Work is asynchronous: [`Stream::dispatch`] returns when it is enqueued, and a failure that shows only later is reported by
/// [`Stream::sync`], with the launches since the last good one.
pub struct Stream {
    pub(super) runtime: Runtime,
    pub(super) device: Device,
    pub(super) raw: NonNull<OvertStream>,
    number: u64,
    pub(super) shard: Arc<Shard>,
    pub(super) progress: Arc<Progress>,
    caches: RefCell<Vec<Option<Box<OpCache>>>>,
    pub(super) workspace: RefCell<Workspace>,
    pub(super) capturing: Cell<bool>,
    pub(super) recording: RefCell<Option<Recording>>,
    witnessed: RefCell<Vec<Owed>>,
    imported: bool,
}

// SAFETY: the raw stream may move between threads with a happens-before edge, which moving a value gives; everything else is
// `Send`. It is not `Sync`, by `Cell`.
unsafe impl Send for Stream {}

/// A witness, and how many calls of which kernel it is to be told the end of.
type Owed = (Witness, Vec<(String, u64)>);

/// What one dispatch or launch enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Device launches, by the receipt; 0 for empty work.
    pub launches: u32,
    /// Grid of the first, in blocks or pieces of work.
    pub grid: [u32; 3],
    /// Block of the first, in threads.
    pub block: [u32; 3],
    /// Shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// Whether the selection is a fallback.
    pub fallback: bool,
    /// Another device served the call.
    pub host_fallback: bool,
    slot: u32,
}

impl Launched {
    pub(super) fn slot(&self) -> u32 {
        self.slot
    }

    /// The same launch, made on another device than the call's.
    pub(super) fn on_host(mut self) -> Launched {
        self.host_fallback = true;
        self.fallback = true;
        self
    }

    /// The id of the kernel that was launched.
    pub fn kernel(&self, runtime: &Runtime) -> String {
        runtime.0.slot_kernel(self.slot)
    }
}

impl Stream {
    pub(crate) fn create(runtime: &Runtime, device: &Device) -> Result<Stream, Error> {
        let instance = device.instance();
        let create = entry(
            instance.api().stream_create,
            &instance.provider.decl,
            "stream_create",
        )?;
        let raw_device = device.raw()?;
        let mut words = Words::default();
        let sink = words.sink();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device is open; out-pointer and sink are valid for the call.
        let status = unsafe { create(raw_device, &mut raw, &sink) };
        device.check("stream_create", status, &mut words)?;
        Self::adopt(runtime, device, raw, false)
    }

    /// Takes in a native stream of an engine. Null is the driver's own default stream, which cannot be captured.
    ///
    /// # Safety
    ///
    /// `native` is a stream of the device's driver, and outlives this one.
    pub unsafe fn import(runtime: &Runtime, device: &Device, native: u64) -> Result<Stream, Error> {
        let instance = device.instance();
        let take = entry(
            instance.api().stream_import,
            &instance.provider.decl,
            "stream_import",
        )?;
        let raw_device = device.raw()?;
        let import = overt_abi::OvertImport {
            size: size_of::<overt_abi::OvertImport>() as u32,
            kind: overt_abi::OVERT_IMPORT_STREAM,
            native,
            bytes: 0,
        };
        let mut words = Words::default();
        let sink = words.sink();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device is open, the pointers are valid for the call, and the caller vouches for the native stream.
        let status = unsafe { take(raw_device, &import, &mut raw, &sink) };
        device.check("stream_import", status, &mut words)?;
        Self::adopt(runtime, device, raw, true)
    }

    fn adopt(
        runtime: &Runtime,
        device: &Device,
        raw: *mut OvertStream,
        imported: bool,
    ) -> Result<Stream, Error> {
        let raw = NonNull::new(raw).ok_or_else(|| {
            Error::provider(
                device.provider(),
                "stream_create",
                OVERT_OK,
                "it returned no stream".into(),
            )
        })?;
        let progress = Arc::new(Progress::default());
        device.instance().retired.follow(&progress);
        Ok(Stream {
            runtime: runtime.clone(),
            device: device.clone(),
            raw,
            number: runtime.0.next_stream(),
            shard: runtime.0.shards.make(),
            progress,
            caches: RefCell::default(),
            workspace: RefCell::default(),
            capturing: Cell::new(false),
            recording: RefCell::new(None),
            witnessed: RefCell::default(),
            imported,
        })
    }

    /// The stream's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Whether the stream is an engine's own.
    pub fn is_imported(&self) -> bool {
        self.imported
    }

    /// Selects a kernel for the call and enqueues it. Remembered selections cost no lock, no allocation and no look at the
    /// environment.
    #[inline]
    pub fn dispatch(&self, call: &Call<'_>) -> Result<Launched, Error> {
        let mut caches = self.caches.borrow_mut();
        let cache = self.cache(&mut caches, call.op)?;
        let mut bound = Bound::new();
        call.op.0.binder.bind(call, &mut bound)?;
        self.on_this_device(call)?;
        if self.runtime.0.checked {
            self.check_contents(call, &bound)?;
        }
        let capturing = self.capturing.get();
        let mut key: KeyWords = [0; MAX_FACTS];
        let Some(words) = cache.table.key_len() else {
            return self.dispatch_anew(call, &bound, None);
        };
        cache.table.key(call, &bound, capturing, &mut key);
        let Some(ready) = cache.find(&key[..words]) else {
            return self.dispatch_anew(call, &bound, Some((cache, &key[..words])));
        };
        self.shard.cells(ready.slot).selected(ready.fallback);
        self.run(ready, call, &bound)
    }

    #[inline]
    fn cache<'c>(
        &self,
        caches: &'c mut Vec<Option<Box<OpCache>>>,
        op: &crate::Op,
    ) -> Result<&'c mut OpCache, Error> {
        let number = op.0.number as usize;
        let generation = self.runtime.0.generation();
        let fresh =
            matches!(caches.get(number), Some(Some(cache)) if cache.table.generation == generation);
        if !fresh {
            let (_, table) = self.runtime.0.table(op, &self.device);
            if caches.len() <= number {
                caches.resize_with(number + 1, || None);
            }
            caches[number] = Some(Box::new(OpCache::new(table)));
        }
        caches[number]
            .as_deref_mut()
            .ok_or_else(|| Error::internal("a cache that was just made is gone"))
    }

    #[cold]
    fn dispatch_anew(
        &self,
        call: &Call<'_>,
        bound: &Bound,
        remember: Option<(&mut OpCache, &[u64])>,
    ) -> Result<Launched, Error> {
        let core: &Core = &self.runtime.0;
        match core.select(call, bound, &self.device, self.capturing.get()) {
            Ok((ready, _)) => {
                if let Some((cache, key)) = remember {
                    cache.insert(key, ready.clone());
                }
                self.shard.cells(ready.slot).selected(ready.fallback);
                self.run(&ready, call, bound)
            }
            Err(Error::NoKernel(selection)) if core.snapshot().policy.host_fallback => {
                self.dispatch_on_host(call, bound, *selection)
            }
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn run(&self, ready: &Arc<Ready>, call: &Call<'_>, bound: &Bound) -> Result<Launched, Error> {
        if bound.empty && !ready.launch_empty {
            return Ok(nothing(ready));
        }
        let binder = &call.op.0.binder;
        let parts = Parts {
            operands: bound.raw.as_ptr().cast(),
            operand_count: binder.operand_count() as u32,
            attrs: bound.attrs.as_ptr(),
            attr_count: binder.attr_count() as u32,
            plan: std::ptr::null_mut(),
        };
        let launched = self.launch(ready, &parts, call.witness)?;
        if self.capturing.get() {
            self.record(ready, call, bound, &launched);
        }
        Ok(launched)
    }

    #[inline]
    fn on_this_device(&self, call: &Call<'_>) -> Result<(), Error> {
        for operand in 0..call.op.0.binder.operand_count() {
            if let Some(tensor) = call.tensor(operand)
                && !tensor.device().same(&self.device)
            {
                return Err(self.other_device(call, operand, tensor.device()));
            }
        }
        Ok(())
    }

    #[cold]
    fn other_device(&self, call: &Call<'_>, operand: usize, got: &Device) -> Error {
        crate::bind::bind_error(
            call.op,
            crate::BindProblem::OtherDevice {
                operand: call.op.schema().operands[operand].name.clone(),
                got: got.name().to_owned(),
                wanted: self.device.name().to_owned(),
            },
        )
        .into()
    }

    /// Launches a ready kernel and counts what its receipt says.
    #[inline]
    pub(super) fn launch(
        &self,
        ready: &Ready,
        parts: &Parts,
        witness: Option<&Witness>,
    ) -> Result<Launched, Error> {
        let capturing = self.capturing.get();
        let mut call = OvertCall {
            size: size_of::<OvertCall>() as u32,
            flags: if capturing { OVERT_CALL_CAPTURING } else { 0 },
            operand_count: parts.operand_count,
            attr_count: parts.attr_count,
            operands: parts.operands,
            attrs: parts.attrs,
            knobs: ready.knobs().as_ptr(),
            knob_count: ready.knobs().len() as u32,
            reserved: 0,
            workspace: std::ptr::null(),
            plan: parts.plan,
        };
        let workspace: Option<OvertTensor>;
        if ready.workspace.is_some() {
            workspace = self.workspace_for(ready, &call)?;
            call.workspace = workspace
                .as_ref()
                .map_or(std::ptr::null(), std::ptr::from_ref);
        }
        let mut receipt = empty_receipt();
        let mut words = Words::default();
        let sink = words.sink();
        if !capturing {
            self.progress.enqueue();
        }
        // SAFETY: kernel and stream are of one device and open; the call and all it points to are valid until the entry returns;
        // operands stay alive until the stream has passed the launch, since retired memory waits for `progress`, and a capture
        // keeps its own references.
        let status = unsafe {
            (ready.launch)(
                ready.open.raw(),
                self.raw.as_ptr(),
                &call,
                &mut receipt,
                &sink,
            )
        };
        if status != OVERT_OK {
            return Err(receipt::refused(
                self,
                ready,
                status,
                words.take(),
                &receipt,
                witness,
            ));
        }
        if receipt.launches == 0
            || receipt.more_count != 0
            || !ready.declares(receipt.entry)
            || !ready.holds_image(receipt.image_digest)
        {
            receipt::verify(self, ready, &receipt, witness)?;
        }
        let cells = self.shard.cells(ready.slot);
        if capturing {
            cells.captured();
        } else {
            cells.enqueued(receipt.launches);
        }
        if let Some(witness) = witness {
            self.note(witness, &ready.kernel.decl.id, receipt.launches);
        }
        Ok(Launched {
            launches: receipt.launches,
            grid: receipt.grid,
            block: receipt.block,
            shared_bytes: receipt.shared_bytes,
            fallback: ready.fallback,
            host_fallback: false,
            slot: ready.slot,
        })
    }

    /// Has a witness see a launch, and remembers to settle it when the stream is synchronised.
    #[cold]
    pub(super) fn note(&self, witness: &Witness, kernel: &str, launches: u32) {
        if self.capturing.get() {
            witness.note(kernel, None, |c| c.captured += 1);
            return;
        }
        witness.note(kernel, Some(self.number), |c| {
            c.enqueued += 1;
            c.launches += u64::from(launches);
        });
        self.owe(witness, kernel);
    }

    /// Has a witness see a replayed launch.
    pub(super) fn note_replayed(&self, witness: &Witness, kernel: &str, launches: u32) {
        witness.note(kernel, Some(self.number), |c| {
            c.replayed += 1;
            c.launches += u64::from(launches);
        });
        self.owe(witness, kernel);
    }

    fn owe(&self, witness: &Witness, kernel: &str) {
        let mut witnessed = self.witnessed.borrow_mut();
        let index = witnessed
            .iter()
            .position(|(w, _)| w.same(witness))
            .unwrap_or_else(|| {
                witnessed.push((witness.clone(), Vec::new()));
                witnessed.len() - 1
            });
        let calls = &mut witnessed[index].1;
        match calls.iter_mut().find(|(k, _)| k == kernel) {
            Some((_, n)) => *n += 1,
            None => calls.push((kernel.to_owned(), 1)),
        }
    }

    /// Waits until all work is done. On success everything that was pending counts as completed; on a failure it counts as failed,
    /// the error names it, and the stream works again unless the device is lost.
    pub fn sync(&self) -> Result<(), Error> {
        self.refuse_while_capturing("synchronise")?;
        let instance = self.device.instance();
        let sync = entry(
            instance.api().stream_sync,
            &instance.provider.decl,
            "stream_sync",
        )?;
        let point = self.progress.enqueued();
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: the stream is open and used by this thread alone; the sink is valid for the call.
        let status = unsafe { sync(self.raw.as_ptr(), &sink) };
        self.settle(point, status, words)
    }

    /// Whether all work is done, without waiting. Counts as [`Stream::sync`] does when it is.
    pub fn is_done(&self) -> Result<bool, Error> {
        self.refuse_while_capturing("ask for progress")?;
        let instance = self.device.instance();
        let query = entry(
            instance.api().stream_query,
            &instance.provider.decl,
            "stream_query",
        )?;
        let point = self.progress.enqueued();
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: as in `sync`.
        let status = unsafe { query(self.raw.as_ptr(), &sink) };
        match status {
            overt_abi::OVERT_E_NOT_READY => Ok(false),
            OVERT_OK => self.settle(point, status, words).map(|()| true),
            // The failure stays to be reported, and settled, by a synchronise.
            _ => self.sync().map(|()| true),
        }
    }

    /// Hands what was enqueued to the device without waiting.
    pub fn flush(&self) -> Result<(), Error> {
        self.refuse_while_capturing("flush")?;
        let instance = self.device.instance();
        let flush = entry(
            instance.api().stream_flush,
            &instance.provider.decl,
            "stream_flush",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: as in `sync`.
        let status = unsafe { flush(self.raw.as_ptr(), &sink) };
        self.device.check("stream_flush", status, &mut words)
    }

    /// Work up to `point` has ended, well or badly.
    pub(super) fn settle(&self, point: u64, status: i32, mut words: Words) -> Result<(), Error> {
        let good = status == OVERT_OK;
        self.progress.pass(point);
        for (witness, calls) in self.witnessed.borrow_mut().drain(..) {
            witness.settle(self.number, &calls, good);
        }
        let result = if good {
            self.shard.complete();
            Ok(())
        } else {
            let lost = self.shard.fail();
            let launches = lost
                .into_iter()
                .map(|(slot, n)| (self.runtime.0.slot_kernel(slot), n))
                .collect();
            Err(Error::Async {
                device: self.device.name().to_owned(),
                status,
                words: words.take(),
                launches,
            })
        };
        self.device.instance().retired.reap();
        result
    }

    pub(super) fn refuse_while_capturing(&self, what: &str) -> Result<(), Error> {
        if self.capturing.get() {
            return Err(Error::Capture {
                what: format!(
                    "the stream is capturing and cannot {what}: end the capture first; it stays valid"
                ),
            });
        }
        Ok(())
    }

    /// Keeps an allocation until the running capture's graph is gone.
    pub(super) fn keep(&self, allocation: Arc<Allocation>) {
        if let Some(recording) = self.recording.borrow_mut().as_mut() {
            recording.keep(allocation);
        }
    }
}

/// The operands and attributes of a launch, in ABI form.
pub(super) struct Parts {
    pub(super) operands: *const OvertTensor,
    pub(super) operand_count: u32,
    pub(super) attrs: *const OvertValue,
    pub(super) attr_count: u32,
    pub(super) plan: *mut c_void,
}

/// The result for empty work: selected, and nothing to launch.
pub(super) fn nothing(ready: &Ready) -> Launched {
    Launched {
        launches: 0,
        grid: [0; 3],
        block: [0; 3],
        shared_bytes: 0,
        fallback: ready.fallback,
        host_fallback: false,
        slot: ready.slot,
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let api = self.device.instance().api();
        if self.capturing.get()
            && let Some(abort) = api.capture_abort
        {
            // SAFETY: the stream is open and capturing.
            unsafe { abort(self.raw.as_ptr()) };
            self.capturing.set(false);
        }
        // A failure that nobody waited for must still be counted and told.
        if let Err(error) = self.sync() {
            tracing::error!(target: "overt::stream", device = self.device.name(), %error, "a stream was dropped with failed work");
        }
        if let Some(destroy) = api.stream_destroy {
            // SAFETY: the stream is the provider's own, and this is its last use.
            unsafe { destroy(self.raw.as_ptr()) };
        }
        self.progress.pass(self.progress.enqueued());
        self.runtime.0.shards.retire(&self.shard);
        self.device.instance().retired.reap();
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("device", &self.device)
            .field("capturing", &self.capturing.get())
            .finish()
    }
}

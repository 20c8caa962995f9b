//! Streams: dispatch and launch, with counters moved from receipts.

use super::cache::OpCache;
use super::graph::Recording;
use super::receipt::{self, Receipt};
use super::shapes::other_device;
use super::workspace::Workspace;
use crate::bind::{Arguments, Bound, Call};
use crate::core::{Core, Runtime};
use crate::count::{Cells, Shard, Witness};
use crate::error::Error;
use crate::ffi::Words;
use crate::memory::{Allocation, Progress};
use crate::registry::{Device, entry};
use crate::select::{Ready, key_room};
use overt_abi::{OVERT_CALL_CAPTURING, OVERT_OK, OvertCall, OvertReceipt, OvertSink, OvertStream};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ptr::NonNull;
use std::rc::Rc;
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
    /// Slot and place of the counters that were moved last.
    counted: Cell<(u32, NonNull<Cells>)>,
    /// Neither capturing nor checked; one look for the common launch.
    plain: Cell<bool>,
    io: Rc<Io>,
    sink: OvertSink,
    imported: bool,
}

/// What a launch writes to, at a fixed place, so that no launch builds it anew. Counted and not boxed, because raw pointers to it
/// stay valid when the stream moves.
struct Io {
    receipt: UnsafeCell<OvertReceipt>,
    words: UnsafeCell<Words>,
}

// SAFETY: the raw stream may move between threads with a happens-before edge, which moving a value gives; `io` has no other owner;
// everything else is `Send`. It is not `Sync`, by `Cell`.
unsafe impl Send for Stream {}

/// A witness, and how many calls of which kernel it is to be told the end of.
type Owed = (Witness, Vec<(String, u64)>);

/// What one dispatch or launch enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Device launches, by the receipt; 0 for empty work.
    pub launches: u32,
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
        let io = Rc::new(Io {
            receipt: UnsafeCell::new(receipt::EMPTY),
            words: UnsafeCell::default(),
        });
        Ok(Stream {
            runtime: runtime.clone(),
            device: device.clone(),
            raw,
            number: runtime.0.next_stream(),
            counted: Cell::new((u32::MAX, NonNull::dangling())),
            plain: Cell::new(!runtime.0.checked),
            shard: runtime.0.shards.make(),
            progress,
            caches: RefCell::default(),
            workspace: RefCell::default(),
            capturing: Cell::new(false),
            recording: RefCell::new(None),
            witnessed: RefCell::default(),
            sink: Words::sink_at(io.words.get()),
            io,
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
        if self.is_plain() {
            // Views that were bound before need no binding: only what they do not settle is looked at.
            let shapes = &mut cache.shapes;
            if let Some(known) = shapes.find(&cache.table, call, &self.device)? {
                self.shard
                    .cells(known.ready.slot)
                    .selected(known.ready.fallback);
                if known.idle {
                    return Ok(nothing(known.ready));
                }
                return self.launch(known.ready, known.call, call.witness);
            }
        }
        self.dispatch_bound(cache, call)
    }

    /// Dispatches a call whose views were not bound lately, or that is captured or checked.
    fn dispatch_bound(&self, cache: &mut OpCache, call: &Call<'_>) -> Result<Launched, Error> {
        let mut bound = Bound::new();
        call.op.0.binder.bind(call, &mut bound)?;
        self.on_this_device(call)?;
        if self.runtime.0.checked {
            self.check_contents(call, &bound)?;
        }
        let capturing = self.capturing.get();
        if cache.table.key_len().is_none() {
            return self.dispatch_anew(call, &bound, None);
        }
        let mut room = key_room();
        let key = cache.table.key(call, &bound, capturing, &mut room);
        let Some(ready) = cache.find(key).cloned() else {
            return self.dispatch_anew(call, &bound, Some((cache, key)));
        };
        if !capturing {
            cache.shapes.note(&cache.table, call, &bound, &ready);
        }
        self.shard.cells(ready.slot).selected(ready.fallback);
        self.run(&ready, call, &bound)
    }

    #[inline]
    fn cache<'c>(
        &self,
        caches: &'c mut Vec<Option<Box<OpCache>>>,
        op: &crate::Op,
    ) -> Result<&'c mut OpCache, Error> {
        let number = op.0.number as usize;
        let generation = self.runtime.0.generation();
        let fresh = matches!(caches.get(number), Some(Some(cache)) if cache.table.generation == generation
            && Arc::ptr_eq(&cache.table.op.0, &op.0));
        if !fresh {
            let (_, table) = self.runtime.0.table(op, &self.device)?;
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
            let launched = nothing(ready);
            if self.capturing.get() {
                self.record(ready, call, bound, &launched)?;
            }
            return Ok(launched);
        }
        let binder = &call.op.0.binder;
        let parts = ready.call(
            bound.raw.as_ptr().cast(),
            binder.operand_count(),
            bound.attrs(),
            std::ptr::null_mut(),
        );
        let launched = self.launch(ready, &parts, call.witness)?;
        if self.capturing.get() {
            self.record(ready, call, bound, &launched)?;
        }
        Ok(launched)
    }

    #[inline]
    fn on_this_device(&self, call: &Call<'_>) -> Result<(), Error> {
        for operand in 0..call.op.0.binder.operand_count() {
            if let Some(tensor) = call.tensor(operand)
                && !tensor.device().same(&self.device)
            {
                return Err(other_device(call, operand, tensor.device(), &self.device));
            }
        }
        Ok(())
    }

    /// Launches a ready kernel and counts what its receipt says.
    #[inline]
    pub(super) fn launch(
        &self,
        ready: &Ready,
        call: &OvertCall,
        witness: Option<&Witness>,
    ) -> Result<Launched, Error> {
        if ready.workspace.is_some() || self.capturing.get() {
            return self.launch_amended(ready, *call, witness);
        }
        self.launch_direct(ready, call, witness)
    }

    /// A launch without workspace, not into a capture. Inlined even across crates: a call of its own would cost a tenth of what is
    /// left.
    #[inline(always)]
    pub(super) fn launch_direct(
        &self,
        ready: &Ready,
        call: &OvertCall,
        witness: Option<&Witness>,
    ) -> Result<Launched, Error> {
        self.progress.enqueue();
        let launches = self.submit(ready, call, witness)?.launches;
        self.cells(ready.slot).enqueued(launches);
        Ok(self.launched(ready, launches, witness))
    }

    /// Neither capturing nor checked.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.plain.get()
    }

    pub(super) fn set_capturing(&self, capturing: bool) {
        self.capturing.set(capturing);
        self.plain.set(!capturing && !self.runtime.0.checked);
    }

    /// The counters of a slot; those used last are known by their place.
    #[inline]
    fn cells(&self, slot: u32) -> &Cells {
        let (known, cells) = self.counted.get();
        if known == slot {
            // SAFETY: the counters were lent by this stream's own shard, which keeps them in place as long as it lives.
            return unsafe { cells.as_ref() };
        }
        let cells = self.shard.cells(slot);
        self.counted.set((slot, NonNull::from(cells)));
        cells
    }

    /// A launch with workspace, or into a capture.
    fn launch_amended(
        &self,
        ready: &Ready,
        mut call: OvertCall,
        witness: Option<&Witness>,
    ) -> Result<Launched, Error> {
        let capturing = self.capturing.get();
        if capturing {
            call.flags |= OVERT_CALL_CAPTURING;
        }
        let workspace = self.workspace_for(ready, &call)?;
        if let Some(workspace) = &workspace {
            call.workspace = workspace;
        }
        if !capturing {
            self.progress.enqueue();
        }
        let receipt = self.submit(ready, &call, witness)?;
        let cells = self.shard.cells(ready.slot);
        if capturing {
            cells.captured();
        } else {
            cells.enqueued(receipt.launches);
        }
        Ok(self.launched(ready, receipt.launches, witness))
    }

    #[inline(always)]
    fn launched(&self, ready: &Ready, launches: u32, witness: Option<&Witness>) -> Launched {
        if let Some(witness) = witness {
            self.note(witness, &ready.kernel.decl.id, launches);
        }
        Launched {
            launches,
            fallback: ready.fallback,
            host_fallback: false,
            slot: ready.slot,
        }
    }

    /// Calls the launch entry and believes its receipt only after a look.
    #[inline(always)]
    fn submit(
        &self,
        ready: &Ready,
        call: &OvertCall,
        witness: Option<&Witness>,
    ) -> Result<&OvertReceipt, Error> {
        let receipt = self.io.receipt.get();
        // SAFETY: the stream is used by one thread at a time, and no reference to the receipt outlives the call that made it: the
        // one returned here ends before the caller returns.
        unsafe { receipt.write(receipt::EMPTY) };
        // SAFETY: kernel and stream are of one device and open; the call and all it points to are valid until the entry returns;
        // operands stay alive until the stream has passed the launch, since retired memory waits for `progress`, and a capture
        // keeps its own references. Sink and receipt lie in memory that this stream keeps.
        let status = unsafe {
            (ready.launch)(
                ready.open.raw(),
                self.raw.as_ptr(),
                call,
                receipt,
                &self.sink,
            )
        };
        // SAFETY: the entry has returned, so nobody writes the receipt any more.
        let receipt = unsafe { &*receipt };
        if status != OVERT_OK {
            if receipt.launches > 0 {
                self.spoil(ready);
            }
            return Err(receipt::refused(
                self,
                ready,
                status,
                self.take_words(),
                receipt,
                witness,
            ));
        }
        if receipt.launches == 0
            || receipt.more_count != 0
            || !ready.declares(receipt.entry)
            || !ready.holds_image(receipt.image_digest)
        {
            receipt::verify(self, ready, receipt, witness).inspect_err(|_| self.spoil(ready))?;
        }
        Ok(receipt)
    }

    fn take_words(&self) -> String {
        // SAFETY: the stream is used by one thread, and the entry that wrote has returned.
        unsafe { (*self.io.words.get()).take() }
    }

    /// What the receipt of the last launch on this stream said. Before the first launch everything in it is empty.
    pub fn last_receipt(&self) -> Receipt {
        // SAFETY: one thread uses the stream, and no launch is under way on it.
        Receipt::of(unsafe { &*self.io.receipt.get() })
    }

    /// Has a witness see a launch, and remembers to settle it when the stream is synchronised.
    #[cold]
    #[inline(never)]
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
            // A failure of the work stays to be reported, and settled, by a synchronise; where that finds none, it is the query
            // itself that failed.
            _ => {
                self.sync()?;
                self.device
                    .check("stream_query", status, &mut words)
                    .map(|()| true)
            }
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

    /// Notes that the running capture, if there is one, holds what nobody answers for.
    #[cold]
    fn spoil(&self, ready: &Ready) {
        if let Some(recording) = self.recording.borrow_mut().as_mut() {
            recording.spoil(&ready.kernel.decl.id);
        }
    }

    /// Keeps an allocation until the running capture's graph is gone.
    pub(super) fn keep(&self, allocation: Arc<Allocation>) {
        if let Some(recording) = self.recording.borrow_mut().as_mut() {
            recording.keep(allocation);
        }
    }
}

/// The result for empty work: selected, and nothing to launch.
pub(super) fn nothing(ready: &Ready) -> Launched {
    Launched {
        launches: 0,
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
            self.set_capturing(false);
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

//! Counters without locks or shared writes: each stream has its own, written by the one thread that uses the stream, and a
//! reading sums over all.

use super::Counts;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Counters in one chunk.
const CHUNK: usize = 64;
/// Chunks of a shard. A chunk is made when a counter in it is first moved.
const CHUNKS: usize = 1024;
/// Most kernels on devices that one runtime can count.
pub(crate) const MAX_SLOTS: usize = CHUNK * CHUNKS;

/// The counters of one kernel on one device, of one stream.
#[derive(Default)]
pub(crate) struct Cells {
    selected: AtomicU64,
    fallbacks: AtomicU64,
    enqueued: AtomicU64,
    captured: AtomicU64,
    replayed: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    launches: AtomicU64,
    lies: AtomicU64,
    host_fallbacks: AtomicU64,
}

/// Adds without a locked instruction: one thread writes, so nothing can come between the load and the store.
#[inline]
fn add(cell: &AtomicU64, n: u64) {
    cell.store(
        cell.load(Ordering::Relaxed).wrapping_add(n),
        Ordering::Relaxed,
    );
}

impl Cells {
    #[inline]
    pub(crate) fn selected(&self, fallback: bool) {
        add(&self.selected, 1);
        if fallback {
            add(&self.fallbacks, 1);
        }
    }
    #[inline]
    pub(crate) fn enqueued(&self, launches: u32) {
        add(&self.enqueued, 1);
        add(&self.launches, launches.into());
    }
    #[inline]
    pub(crate) fn captured(&self) {
        add(&self.captured, 1);
    }
    #[inline]
    pub(crate) fn replayed(&self, launches: u32) {
        add(&self.replayed, 1);
        add(&self.launches, launches.into());
    }
    pub(crate) fn lied(&self) {
        add(&self.lies, 1);
    }
    pub(crate) fn failed(&self) {
        add(&self.failed, 1);
    }
    pub(crate) fn host_fallback(&self) {
        add(&self.host_fallbacks, 1);
    }

    fn read(&self) -> Counts {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        Counts {
            selected: get(&self.selected),
            fallbacks: get(&self.fallbacks),
            enqueued: get(&self.enqueued),
            captured: get(&self.captured),
            replayed: get(&self.replayed),
            completed: get(&self.completed),
            failed: get(&self.failed),
            launches: get(&self.launches),
            lies: get(&self.lies),
            host_fallbacks: get(&self.host_fallbacks),
        }
    }

    fn write(&self, counts: Counts) {
        let set = |cell: &AtomicU64, value| cell.store(value, Ordering::Relaxed);
        set(&self.selected, counts.selected);
        set(&self.fallbacks, counts.fallbacks);
        set(&self.enqueued, counts.enqueued);
        set(&self.captured, counts.captured);
        set(&self.replayed, counts.replayed);
        set(&self.completed, counts.completed);
        set(&self.failed, counts.failed);
        set(&self.launches, counts.launches);
        set(&self.lies, counts.lies);
        set(&self.host_fallbacks, counts.host_fallbacks);
    }
}

/// The counters of one stream. Written by one thread at a time, read by any.
pub(crate) struct Shard {
    chunks: Box<[OnceLock<Box<[Cells; CHUNK]>>]>,
}

impl Shard {
    fn new() -> Shard {
        Shard {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The counters of a slot, below [`MAX_SLOTS`].
    #[inline]
    pub(crate) fn cells(&self, slot: u32) -> &Cells {
        let slot = slot as usize;
        let chunk = self.chunks[slot / CHUNK]
            .get_or_init(|| Box::new(std::array::from_fn(|_| Cells::default())));
        &chunk[slot % CHUNK]
    }

    /// Visits every counter that was ever moved or stands beside one that was.
    fn each(&self, mut visit: impl FnMut(u32, &Cells)) {
        for (index, chunk) in self.chunks.iter().enumerate() {
            if let Some(cells) = chunk.get() {
                for (offset, cells) in cells.iter().enumerate() {
                    visit((index * CHUNK + offset) as u32, cells);
                }
            }
        }
    }

    /// Counts what is pending as completed. Called by the stream's thread after a successful synchronise.
    pub(crate) fn complete(&self) {
        self.each(|_, cells| {
            let pending = cells.read().pending();
            if pending > 0 {
                add(&cells.completed, pending);
            }
        });
    }

    /// Counts what is pending as failed and says what it was: slots and numbers of calls.
    pub(crate) fn fail(&self) -> Vec<(u32, u64)> {
        let mut lost = Vec::new();
        self.each(|slot, cells| {
            let pending = cells.read().pending();
            if pending > 0 {
                add(&cells.failed, pending);
                lost.push((slot, pending));
            }
        });
        lost
    }
}

/// All shards of a runtime.
#[derive(Default)]
pub(crate) struct Shards(Mutex<State>);

#[derive(Default)]
struct State {
    live: Vec<Weak<Shard>>,
    /// Totals of streams that are gone.
    retired: Vec<Counts>,
}

impl Shards {
    /// A shard for a new stream. It is to be given back with [`Shards::retire`], or its counts are lost.
    pub(crate) fn make(&self) -> Arc<Shard> {
        let shard = Arc::new(Shard::new());
        self.0.lock().live.push(Arc::downgrade(&shard));
        shard
    }

    /// Folds the counts of a stream that is gone into the totals.
    pub(crate) fn retire(&self, shard: &Arc<Shard>) {
        let mut state = self.0.lock();
        shard.each(|slot, cells| {
            let counts = cells.read();
            if !counts.is_zero() {
                let slot = slot as usize;
                if state.retired.len() <= slot {
                    state.retired.resize(slot + 1, Counts::default());
                }
                state.retired[slot] += counts;
            }
            cells.write(Counts::default());
        });
        state
            .live
            .retain(|weak| !std::ptr::eq(weak.as_ptr(), Arc::as_ptr(shard)));
    }

    /// The counts of every slot that was moved.
    pub(crate) fn read(&self) -> Vec<(u32, Counts)> {
        let state = self.0.lock();
        let mut totals = state.retired.clone();
        for shard in state.live.iter().filter_map(Weak::upgrade) {
            shard.each(|slot, cells| {
                let counts = cells.read();
                if !counts.is_zero() {
                    let slot = slot as usize;
                    if totals.len() <= slot {
                        totals.resize(slot + 1, Counts::default());
                    }
                    totals[slot] += counts;
                }
            });
        }
        totals
            .into_iter()
            .enumerate()
            .filter(|(_, c)| !c.is_zero())
            .map(|(slot, c)| (slot as u32, c))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_over_threads_and_after_streams_are_gone() {
        let shards = Arc::new(Shards::default());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let shard = shards.make();
                    for i in 0..10_000u32 {
                        shard.cells(i % 130).enqueued(2);
                    }
                    shard.complete();
                    shards.retire(&shard);
                });
            }
            for _ in 0..100 {
                let seen: u64 = shards.read().iter().map(|(_, c)| c.enqueued).sum();
                assert!(seen <= 80_000);
            }
        });
        let total = shards
            .read()
            .into_iter()
            .fold(Counts::default(), |mut sum, (_, c)| {
                sum += c;
                sum
            });
        assert_eq!(
            (
                total.enqueued,
                total.completed,
                total.launches,
                total.pending()
            ),
            (80_000, 80_000, 160_000, 0)
        );
    }

    #[test]
    fn a_failure_names_what_was_pending_and_only_that() {
        let shards = Shards::default();
        let shard = shards.make();
        shard.cells(3).enqueued(1);
        shard.complete();
        shard.cells(3).enqueued(1);
        shard.cells(70).replayed(4);
        assert_eq!(shard.fail(), [(3, 1), (70, 1)]);
        assert_eq!(shard.fail(), []);
    }
}

//! When memory may be freed: not before every stream has passed the work that may use it.
//!
//! A launch takes no reference on its operands, which would cost two atomic operations for each. Instead an allocation whose
//! last owner is gone *retires*: it remembers how far each stream of the provider had enqueued at that moment, and is freed
//! once those streams have been synchronised past that point.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// How far one stream has come. Written by the stream's thread, read by whoever retires memory.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    enqueued: AtomicU64,
    passed: AtomicU64,
}

impl Progress {
    /// Notes one more piece of work. Only the stream's own thread calls this, so a plain add on an atomic does.
    #[inline]
    pub(crate) fn enqueue(&self) {
        self.enqueued
            .store(self.enqueued.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// How much has been enqueued.
    pub(crate) fn enqueued(&self) -> u64 {
        self.enqueued.load(Ordering::Acquire)
    }

    /// Notes that all work up to `point` is done.
    pub(crate) fn pass(&self, point: u64) {
        self.passed.fetch_max(point, Ordering::AcqRel);
    }

    fn passed(&self) -> u64 {
        self.passed.load(Ordering::Acquire)
    }
}

/// Memory that waits to be freed, for all devices of one provider instance, since a copy between peers uses memory of both.
#[derive(Default)]
pub(crate) struct Retired {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    streams: Vec<Weak<Progress>>,
    waiting: Vec<Waiting>,
}

struct Waiting {
    until: Vec<(Arc<Progress>, u64)>,
    free: Box<dyn FnOnce() + Send>,
}

impl Retired {
    /// Follows a new stream.
    pub(crate) fn follow(&self, progress: &Arc<Progress>) {
        let mut state = self.state.lock();
        state.streams.retain(|s| s.strong_count() > 0);
        state.streams.push(Arc::downgrade(progress));
    }

    /// Runs `free` once every stream has passed what it has enqueued by now; at once where nothing is pending.
    pub(crate) fn retire(&self, free: Box<dyn FnOnce() + Send>) {
        let mut state = self.state.lock();
        let until: Vec<_> = state
            .streams
            .iter()
            .filter_map(Weak::upgrade)
            .filter_map(|p| {
                let point = p.enqueued();
                (point > p.passed()).then_some((p, point))
            })
            .collect();
        if until.is_empty() {
            drop(state);
            free();
        } else {
            state.waiting.push(Waiting { until, free });
        }
    }

    /// Frees what no stream can use any more. Called after a stream has been synchronised or destroyed.
    pub(crate) fn reap(&self) {
        let mut ready = Vec::new();
        {
            let mut state = self.state.lock();
            if state.waiting.is_empty() {
                return;
            }
            let mut index = 0;
            while index < state.waiting.len() {
                state.waiting[index]
                    .until
                    .retain(|(p, point)| p.passed() < *point);
                if state.waiting[index].until.is_empty() {
                    ready.push(state.waiting.swap_remove(index));
                } else {
                    index += 1;
                }
            }
        }
        // Outside the lock: freeing calls into the provider.
        for waiting in ready {
            (waiting.free)();
        }
    }

    /// How many allocations wait.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_waits_for_every_stream_that_had_work_when_it_retired() {
        let retired = Retired::default();
        let (a, b) = (Arc::new(Progress::default()), Arc::new(Progress::default()));
        retired.follow(&a);
        retired.follow(&b);
        let freed = Arc::new(AtomicU64::new(0));
        let free = || {
            let freed = freed.clone();
            Box::new(move || {
                freed.fetch_add(1, Ordering::Relaxed);
            })
        };
        retired.retire(free());
        assert_eq!(
            freed.load(Ordering::Relaxed),
            1,
            "nothing pending: freed at once"
        );
        a.enqueue();
        b.enqueue();
        retired.retire(free());
        a.pass(a.enqueued());
        retired.reap();
        assert_eq!(
            (freed.load(Ordering::Relaxed), retired.waiting()),
            (1, 1),
            "b has not passed"
        );
        // Later work of a stream does not hold what retired before it.
        b.pass(1);
        b.enqueue();
        retired.reap();
        assert_eq!((freed.load(Ordering::Relaxed), retired.waiting()), (2, 0));
    }
}

//! What is counted for a kernel on a device.

use std::ops::{AddAssign, Sub};

/// Counts of one kernel on one device. They move from receipts, and each state has its own: a launch that was captured is not
/// enqueued, and one that was enqueued is completed only when its stream was synchronised without error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Times that selection chose it for a dispatch. Launches of a plan select nothing and count as enqueued alone.
    pub selected: u64,
    /// Selections of it that were fallbacks.
    pub fallbacks: u64,
    /// Calls enqueued directly.
    pub enqueued: u64,
    /// Calls recorded in a capture.
    pub captured: u64,
    /// Calls enqueued by a replay.
    pub replayed: u64,
    /// Calls, enqueued or replayed, that a synchronise has seen succeed.
    pub completed: u64,
    /// Calls that failed: refused at launch after part was enqueued, or unfinished when their stream reported an error.
    pub failed: u64,
    /// Device launches, as receipts state them, enqueued or replayed.
    pub launches: u64,
    /// Receipts that lied: a symbol that it does not declare, or no launch for non-empty work.
    pub lies: u64,
    /// Calls that it served for another device.
    pub host_fallbacks: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.selected += other.selected;
        self.fallbacks += other.fallbacks;
        self.enqueued += other.enqueued;
        self.captured += other.captured;
        self.replayed += other.replayed;
        self.completed += other.completed;
        self.failed += other.failed;
        self.launches += other.launches;
        self.lies += other.lies;
        self.host_fallbacks += other.host_fallbacks;
    }
}

/// The difference between two readings.
impl Sub for Counts {
    type Output = Counts;

    fn sub(self, earlier: Counts) -> Counts {
        Counts {
            selected: self.selected - earlier.selected,
            fallbacks: self.fallbacks - earlier.fallbacks,
            enqueued: self.enqueued - earlier.enqueued,
            captured: self.captured - earlier.captured,
            replayed: self.replayed - earlier.replayed,
            completed: self.completed - earlier.completed,
            failed: self.failed - earlier.failed,
            launches: self.launches - earlier.launches,
            lies: self.lies - earlier.lies,
            host_fallbacks: self.host_fallbacks - earlier.host_fallbacks,
        }
    }
}

impl Counts {
    /// Calls that were enqueued or replayed and neither completed nor failed yet.
    pub fn pending(&self) -> u64 {
        (self.enqueued + self.replayed).saturating_sub(self.completed + self.failed)
    }

    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Counts::default()
    }
}

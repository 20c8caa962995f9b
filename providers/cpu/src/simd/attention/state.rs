//! What rows have gathered: over the keys of one chunk, or over all chunks so far.

use super::super::lanes::{Simd, Task};
use super::softmax::{Running, power};

/// Rows of one KV head: outputs not yet divided by their sums of weights, and the running maximum and sum of each row.
pub struct Rows<'a> {
    out: &'a mut [f32],
    running: &'a mut [f32],
    padded: usize,
}

/// Floats that `rows` rows of `padded` floats take.
pub fn rows_len(rows: usize, padded: usize) -> usize {
    (rows * padded).next_multiple_of(16) + (rows * 2).next_multiple_of(16)
}

impl<'a> Rows<'a> {
    /// Rows in a piece of memory of [`rows_len`] floats.
    pub fn of(memory: &'a mut [f32], rows: usize, padded: usize) -> Self {
        let (out, running) = memory.split_at_mut((rows * padded).next_multiple_of(16));
        Rows {
            out: &mut out[..rows * padded],
            running: &mut running[..rows * 2],
            padded,
        }
    }

    /// Sets every output to zero and every row's state to `start`.
    pub fn clear(&mut self, start: impl Fn(usize) -> Running) {
        self.out.fill(0.0);
        for (row, pair) in self.running.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let start = start(row);
            *pair = [start.max, start.sum];
        }
    }

    pub fn running(&self, row: usize) -> Running {
        Running {
            max: self.running[row * 2],
            sum: self.running[row * 2 + 1],
        }
    }

    pub fn set_running(&mut self, row: usize, running: Running) {
        self.running[row * 2] = running.max;
        self.running[row * 2 + 1] = running.sum;
    }

    /// The outputs from `row` on.
    pub fn out_from(&mut self, row: usize) -> *mut f32 {
        self.out[row * self.padded..].as_mut_ptr()
    }

    /// The output of a row.
    pub fn out(&self, row: usize) -> &[f32] {
        &self.out[row * self.padded..(row + 1) * self.padded]
    }

    /// Adds what `part`'s row `from` gathered to row `to` of this.
    ///
    /// The one place where chunks meet: whether one worker went through all of them or several did, each row's chunks are
    /// gathered from nothing and come here in ascending order.
    pub fn merge<S: Simd>(&mut self, s: S, to: usize, part: &Rows<'_>, from: usize) {
        let running = s.run(Merge {
            running: self.running(to),
            out: &mut self.out[to * self.padded..(to + 1) * self.padded],
            part_running: part.running(from),
            part: part.out(from),
        });
        self.set_running(to, running);
    }
}

struct Merge<'a> {
    running: Running,
    out: &'a mut [f32],
    part_running: Running,
    part: &'a [f32],
}

impl Task for Merge<'_> {
    type Out = Running;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Running {
        let (old, new) = (self.running, self.part_running);
        // A NaN on either side stays.
        let max = if old.max > new.max || old.max.is_nan() {
            old.max
        } else {
            new.max
        };
        // Where everything seen is −∞, the difference to it would be NaN; every weight is 0 then.
        let base = if max == f32::NEG_INFINITY { 0.0 } else { max };
        let keep_all = power(s, s.splat(old.max - base));
        let add_all = power(s, s.splat(new.max - base));
        let (keep, add) = (s.largest(keep_all), s.largest(add_all));
        let n = self.out.len().min(self.part.len());
        let (out, part) = (self.out.as_mut_ptr(), self.part.as_ptr());
        for at in (0..n).step_by(S::LANES) {
            // SAFETY: rows are whole vectors, as long as each other.
            unsafe {
                let kept = s.mul(s.load(out.add(at)), keep_all);
                s.store(out.add(at), s.fma(s.load(part.add(at)), add_all, kept));
            }
        }
        Running {
            max,
            sum: old.sum * keep + new.sum * add,
        }
    }
}

//! What a launch costs the caller on the host backend: the entry, the copy of the call, the receipt and the queue.
//!
//! Prints the median over rounds of the mean of a round, in nanoseconds. A round enqueues launches of a body that does
//! nothing, flushed once at its end; waiting for the worker is not in the time.

#[path = "../tests/support/mod.rs"]
mod support;

#[path = "../tests/support/fake.rs"]
mod fake;

use std::time::Instant;
use support::*;

const LAUNCHES: usize = 1000;
const ROUNDS: usize = 101;

fn main() {
    let s = Session::new::<fake::Fake>();
    let (stream, kernel) = (s.stream(), s.kernel("fake/shift/fails"));
    for operands in [1, 3, 8] {
        let list: Vec<_> = (0..operands).map(|_| (s.alloc(0, 64), 16)).collect();
        // The attribute 2 makes the body do nothing.
        let call = Call::new(&list).with(&[i64_value(2)]);
        let raw = call.raw();
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let mut receipt = empty_receipt();
                let start = Instant::now();
                for _ in 0..LAUNCHES {
                    call!(s, launch(kernel, stream, &raw, &mut receipt)).unwrap();
                }
                let each = start.elapsed().as_nanos() as f64 / LAUNCHES as f64;
                call!(s, stream_sync(stream)).unwrap();
                each
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        println!(
            "launch with {operands} operands: {:.0} ns",
            rounds[ROUNDS / 2]
        );
    }
}

//! Timing several things in turns.

use std::time::{Duration, Instant};

/// Fewest and most timings of each.
const FEWEST: usize = 5;
const MOST: usize = 101;

/// What the timings of one thing say, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The median.
    pub median: f64,
    /// The time that a tenth are below, and that a tenth are above.
    pub low: f64,
    pub high: f64,
}

impl Times {
    fn of(mut times: Vec<f64>) -> Times {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        Times {
            median: at(0.5),
            low: at(0.1),
            high: at(0.9),
        }
    }

    /// Half of the distance from the low to the high time, as a share of the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.median
    }
}

/// Times each of the runs, taking turns, so that what else the machine does meets all of them. A run gets the number of the
/// turn, and goes on to the next of its buffers with it.
pub fn in_turns(patience: Duration, runs: &mut [Box<dyn FnMut(usize) + '_>]) -> Vec<Times> {
    let mut times = vec![Vec::new(); runs.len()];
    for run in runs.iter_mut() {
        run(0);
    }
    let begun = Instant::now();
    for turn in 1..=MOST {
        if turn > FEWEST && begun.elapsed() > patience {
            break;
        }
        for (run, times) in runs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            run(turn);
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.into_iter().map(Times::of).collect()
}

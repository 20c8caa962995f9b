//! Timing the probes.

use super::Rate;
use crate::bind::Call;
use crate::error::Error;
use crate::launch::{Event, Stream};
use crate::load::decl::Tier;
use crate::memory::Tensor;
use overt_abi::OvertDType;
use overt_kernels::dtype;
use std::time::{Duration, Instant};

/// Timings of which the best counts: whatever else ran in the meantime makes a rate lower, never higher.
const TIMINGS: usize = 7;
/// Most bytes that are read for the rate of memory: several times the largest cache of machines in use.
const MOST_BYTES: u64 = 512 << 20;
/// Outputs of the probe of arithmetic: enough for every thread of a large device.
const OUTPUTS: i64 = 1 << 18;
/// A timing shorter than this says more of the launch than of the work.
const LONG_ENOUGH: Duration = Duration::from_millis(4);
/// Time that the timings of one call may take together.
const PATIENCE: Duration = Duration::from_millis(300);
/// Passes are not doubled beyond this; sums of f32 stay exact.
const MOST_STEPS: i64 = 1 << 20;

/// Bytes read in a second.
pub(super) fn memory(stream: &Stream) -> Result<Result<Rate, String>, Error> {
    let device = stream.device();
    let known = device.info().memory_bytes;
    let room = if known == 0 { MOST_BYTES } else { known / 8 };
    let elements = (room.min(MOST_BYTES) / 4) as i64;
    let op = stream.runtime().op("memory_probe.1")?;
    let x = match Tensor::empty(device, dtype::F32, &[elements]) {
        Ok(x) => x,
        Err(error) => return Ok(Err(format!("no buffer of {} bytes: {error}", elements * 4))),
    };
    let out = Tensor::empty(device, dtype::F32, &[1])?;
    // Writes each page, since pages that were never written may all be one page of zeros.
    stream.fill(&x, 0x3f)?;
    let call = Call::new(&op).operand("x", &x)?.operand("out", &out)?;
    let best = best(stream, &call)?;
    Ok(best.map(|(kernel, time)| Rate {
        per_second: elements as f64 * 4.0 / time.as_secs_f64(),
        kernel,
    }))
}

/// Operations in a second on factors of this type.
pub(super) fn arithmetic(stream: &Stream, of: OvertDType) -> Result<Result<Rate, String>, Error> {
    let device = stream.device();
    let op = stream.runtime().op("arithmetic_probe.1")?;
    let a = Tensor::empty(device, of, &[32])?;
    let b = Tensor::empty(device, of, &[32])?;
    let out = Tensor::empty(device, dtype::F32, &[OUTPUTS])?;
    for factor in [&a, &b] {
        // Ones, in any of the types.
        let one: &[u8] = match of {
            dtype::F32 => &[0, 0, 0x80, 0x3f],
            dtype::BF16 => &[0x80, 0x3f],
            _ => &[1],
        };
        stream.write(factor, &one.repeat(32))?;
    }
    let mut steps = 16;
    loop {
        let call = Call::new(&op)
            .operand("a", &a)?
            .operand("b", &b)?
            .operand("out", &out)?
            .attr("steps", steps)?;
        let (kernel, time) = match best(stream, &call)? {
            Ok(found) => found,
            Err(reason) => return Ok(Err(reason)),
        };
        if time >= LONG_ENOUGH || steps >= MOST_STEPS {
            return Ok(Ok(Rate {
                per_second: 8.0 * steps as f64 * OUTPUTS as f64 / time.as_secs_f64(),
                kernel,
            }));
        }
        steps *= 2;
    }
}

/// The shortest of several timings on the device's clock, and the kernel; or why there is none.
fn best(stream: &Stream, call: &Call<'_>) -> Result<Result<(String, Duration), String>, Error> {
    let runtime = stream.runtime();
    let selection = runtime.explain_call(call, stream.device())?;
    match &selection.chosen {
        None => return Ok(Err(format!("no kernel serves it:\n{selection}"))),
        Some(chosen) if chosen.tier == Tier::Reference => {
            return Ok(Err(format!(
                "{} alone serves it, and a reference kernel is no measure",
                chosen.kernel
            )));
        }
        Some(_) => {}
    }
    let mut start = Event::new(stream.device())?;
    let mut end = Event::new(stream.device())?;
    let mut best = Duration::MAX;
    let mut kernel = String::new();
    let begun = Instant::now();
    for timing in 0..TIMINGS {
        // A slow device is not made slower still: two timings are enough where one takes long.
        if timing >= 2 && begun.elapsed() > PATIENCE {
            break;
        }
        start.record(stream)?;
        // A policy may refuse what the guards allow; then nothing was enqueued.
        kernel = match stream.dispatch(call) {
            Ok(launched) if launched.host_fallback => {
                return Ok(Err("another device serves it".to_owned()));
            }
            Ok(launched) => launched.kernel(runtime),
            Err(error) => return Ok(Err(error.to_string())),
        };
        end.record(stream)?;
        stream.sync()?;
        best = best.min(end.since(&start)?);
    }
    Ok(Ok((kernel, best.max(Duration::from_nanos(1)))))
}

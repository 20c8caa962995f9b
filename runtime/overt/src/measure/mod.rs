//! What a device can do at most, measured: the rate of reading memory and the rates of multiply-adds. What a call took is held
//! against them.
//!
//! The rates come from dispatching the ops `memory_probe` and `arithmetic_probe`, so they come with the kernel that gave them. A
//! device for which no provider offers more than a reference kernel of a probe has no such rate, and the reason is kept in its
//! place.

mod probe;
mod roof;

pub use roof::{Arithmetic, Limit, Share};

use crate::error::Error;
use crate::launch::Stream;
use overt_kernels::dtype;

/// A rate, and what gave it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Rate {
    /// Bytes or operations in a second, the best of several timings. A multiply-add counts two.
    pub per_second: f64,
    /// The kernel that was timed.
    pub kernel: String,
}

/// The rates of a device. Each is there, or the reason why not.
#[derive(Clone, Debug)]
pub struct Rates {
    /// Bytes read in a second from a buffer that no cache holds.
    pub memory: Result<Rate, String>,
    /// f32 multiply-adds.
    pub f32: Result<Rate, String>,
    /// Products of bf16 with sums in f32.
    pub bf16: Result<Rate, String>,
    /// Products of bytes with sums in 32 bits.
    pub int8: Result<Rate, String>,
}

impl Rates {
    /// Measures on the stream's device. Takes about a second on a CPU, and allocates a buffer of at most 512 MiB for that time.
    /// Nothing else should run on the device meanwhile.
    ///
    /// # Errors
    /// Only what breaks the stream. A probe that cannot be served is no error but a rate that is missing.
    pub fn measure(stream: &Stream) -> Result<Rates, Error> {
        Ok(Rates {
            memory: probe::memory(stream)?,
            f32: probe::arithmetic(stream, dtype::F32)?,
            bf16: probe::arithmetic(stream, dtype::BF16)?,
            int8: probe::arithmetic(stream, dtype::I8)?,
        })
    }

    /// The rate of a sort of arithmetic. Where a device has none for a narrow type, its f32 multiply-adds do that work.
    pub fn arithmetic(&self, sort: Arithmetic) -> Result<&Rate, &str> {
        let own = match sort {
            Arithmetic::F32 => &self.f32,
            Arithmetic::Bf16 => &self.bf16,
            Arithmetic::Int8 => &self.int8,
        };
        own.as_ref().or(self.f32.as_ref()).map_err(String::as_str)
    }
}

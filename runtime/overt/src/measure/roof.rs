//! Holding a call's time against what the device can do.

use super::Rates;
use overt_kernels::dtype::{BF16, F32};
use overt_kernels::host::HostCall;
use overt_kernels::op::Work;
use overt_kernels::schema::AttrValue;

/// A sort of multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// f32 with f32 sums.
    F32,
    /// Products of bf16 with f32 sums.
    Bf16,
    /// Products of bytes with 32-bit sums.
    Int8,
}

impl Arithmetic {
    /// The fastest sort that the call's types and attributes allow its products to be made with.
    pub fn of(call: &HostCall) -> Arithmetic {
        if call.attr("int8_activations") == Some(&AttrValue::Bool(true)) {
            return Arithmetic::Int8;
        }
        let schema = &call.schema;
        let floats: Vec<_> = call
            .operands
            .iter()
            .zip(&schema.operands)
            .take(schema.input_count)
            .filter_map(|(tensor, _)| tensor.as_ref())
            .filter(|tensor| tensor.shape.len() > 1)
            .map(|tensor| tensor.dtype)
            .collect();
        let narrow = floats.iter().filter(|dtype| **dtype == BF16).count();
        if narrow > 1 && !floats.contains(&F32) {
            Arithmetic::Bf16
        } else {
            Arithmetic::F32
        }
    }
}

/// What bounds a call from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Bytes over the rate of memory.
    Memory,
    /// Operations over the rate of multiply-adds.
    Arithmetic,
}

/// A call's speed beside the device's.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Share {
    /// The work's bytes in a second.
    pub bytes_per_second: f64,
    /// The work's operations in a second.
    pub flops_per_second: f64,
    /// The greater of the two least times, by memory and by arithmetic.
    pub limit: Limit,
    /// That least time as a share of the time it took. Above 1 where operands came from a cache.
    pub share: f64,
}

impl Rates {
    /// Holds work that took so many seconds against the rates; the reason where one that is needed is missing.
    pub fn share(&self, work: Work, sort: Arithmetic, seconds: f64) -> Result<Share, String> {
        let memory = self.memory.as_ref().map_err(Clone::clone)?;
        let by_memory = work.bytes / memory.per_second;
        let by_arithmetic = if work.flops > 0.0 {
            work.flops / self.arithmetic(sort)?.per_second
        } else {
            0.0
        };
        let (limit, least) = if by_memory >= by_arithmetic {
            (Limit::Memory, by_memory)
        } else {
            (Limit::Arithmetic, by_arithmetic)
        };
        Ok(Share {
            bytes_per_second: work.bytes / seconds,
            flops_per_second: work.flops / seconds,
            limit,
            share: least / seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rate;
    use super::*;

    fn rate(per_second: f64) -> Result<Rate, String> {
        Ok(Rate {
            per_second,
            kernel: "a/b/c".into(),
        })
    }

    fn rates() -> Rates {
        Rates {
            memory: rate(1e9),
            f32: rate(1e10),
            bf16: Err("none".into()),
            int8: rate(4e10),
        }
    }

    #[test]
    fn the_greater_least_time_is_the_limit() {
        let work = |bytes, flops| Work { bytes, flops };
        let share = rates().share(work(1e9, 1e9), Arithmetic::F32, 2.0).unwrap();
        assert_eq!((share.limit, share.share), (Limit::Memory, 0.5));
        assert_eq!(share.bytes_per_second, 5e8);
        let share = rates()
            .share(work(1e9, 4e10), Arithmetic::F32, 5.0)
            .unwrap();
        assert_eq!((share.limit, share.share), (Limit::Arithmetic, 0.8));
        // The same operations on bytes are four times as fast, and those on bf16 are done in f32 here.
        let share = rates()
            .share(work(1e9, 8e10), Arithmetic::Int8, 4.0)
            .unwrap();
        assert_eq!((share.limit, share.share), (Limit::Arithmetic, 0.5));
        let share = rates()
            .share(work(1e9, 4e10), Arithmetic::Bf16, 5.0)
            .unwrap();
        assert_eq!(share.share, 0.8);
    }

    #[test]
    fn a_missing_rate_is_a_reason_and_no_share() {
        let mut rates = rates();
        rates.f32 = Err("no kernel".into());
        let work = Work {
            bytes: 1.0,
            flops: 1.0,
        };
        assert_eq!(
            rates.share(work, Arithmetic::Bf16, 1.0),
            Err("no kernel".into())
        );
        let copy = Work {
            bytes: 1.0,
            flops: 0.0,
        };
        assert!(rates.share(copy, Arithmetic::F32, 1.0).is_ok());
        rates.memory = Err("no memory".into());
        assert_eq!(
            rates.share(copy, Arithmetic::F32, 1.0),
            Err("no memory".into())
        );
    }
}

//! The rate of reading memory, as an op: `out[0] = sum of x`.
//!
//! What a device reads in a second is the floor of most ops of a decoding step. A kernel of this op reads each element once and
//! does nothing else that takes time; whoever asks for the rate times it on a buffer that no cache holds and divides. Being an op, the
//! probe is chosen, counted and verified like any other: a rate comes with the kernel that gave it.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, touch_all};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "memory_probe.1(x: f32[N]) -> out: f32[1]";

/// `memory_probe.1`.
pub static OP: Op = Op {
    name: "memory_probe.1",
    schema: SCHEMA,
    doc: "reads a buffer once and sums it: the rate of reading memory",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    work: |call| {
        touch_all(
            call,
            call.operands[0].as_ref().map_or(0.0, |x| x.len() as f64),
        )
    },
    rows: Rows::Dependent,
    lengths: &[],
};

fn tolerance(_: &HostCall, _: usize) -> Tolerance {
    Tolerance {
        absolute: 0.0,
        relative: 2f64.powi(-20),
        floor: Tolerance::floor_of(crate::dtype::F32),
        reason: "contents are whole numbers whose partial sums stay below 2^24, so that f32 sums are exact in every order; 2^-20 is for \
                 contents of another's choice",
    }
}

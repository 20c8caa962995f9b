//! The rate of multiply-adds, as an op: `steps` times the same four products, summed.
//!
//! `out[g] = sum over s < steps, i < 4 of a[4·(g mod 8) + i] · b[4·(g mod 8) + i]`. A kernel of this op really makes `steps` passes: it
//! multiplies and adds `4 · steps` times for each output, with the instruction that the type is for (f32 multiply-adds, dot products of
//! bf16 pairs, dot products of four bytes), on operands that stay in registers. Whoever asks for the peak times it and divides. The
//! eight groups of four fill the vectors of every instruction set in use, and repeat in wider ones.
//!
//! Contents: `steps` is not negative, and bytes lie within -64 and 64, so that no instruction's 16-bit sum of two products overflows.
//!
//! Being an op, the probe is chosen, counted and verified like any other: a peak comes with the kernel that gave it.

mod fill;
mod geometries;
mod oracle;

use super::support::{View, i64_attr, operand_bytes, output_dtype, symbol};
use crate::host::HostCall;
use crate::op::{ContentError, Op, Rows, Tolerance, Work};

/// The schema.
pub const SCHEMA: &str = "\
arithmetic_probe.1(a: {f32, bf16, i8}[32], b: like a[32]) -> out: f32[G];
  steps: i64";

/// `arithmetic_probe.1`.
pub static OP: Op = Op {
    name: "arithmetic_probe.1",
    schema: SCHEMA,
    doc: "the same products again and again: the rate of multiply-adds",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents,
    float_rules: &[],
    work: |call| Work {
        bytes: ["a", "b", "out"]
            .map(|name| operand_bytes(call, name))
            .iter()
            .sum(),
        flops: 8.0 * i64_attr(call, "steps").max(0) as f64 * symbol(call, "G") as f64,
    },
    rows: Rows::Dependent,
    lengths: &[],
};

fn tolerance(_: &HostCall, _: usize) -> Tolerance {
    Tolerance {
        absolute: 0.0,
        relative: 2f64.powi(-20),
        floor: Tolerance::floor_of(crate::dtype::F32),
        reason: "contents are whole numbers whose sums stay below 2^24, so that f32 sums are exact in every order; 2^-20 is for \
                 contents of another's choice",
    }
}

/// Bytes beyond this could overflow the 16-bit sums of two products that some instructions make on their way.
const MOST_BYTE: i64 = 64;

fn check_contents(call: &HostCall) -> Result<(), ContentError> {
    let steps = i64_attr(call, "steps");
    if steps < 0 {
        return Err(ContentError {
            operand: "steps".to_owned(),
            index: Vec::new(),
            what: steps.to_string(),
            wanted: "a number of passes from 0 up".to_owned(),
        });
    }
    for name in ["a", "b"] {
        let factors = View::of(call, name);
        for i in (0..32).filter(|_| output_dtype(call, 0) == crate::dtype::I8) {
            let value = factors.integer(&[i]);
            if value.abs() > MOST_BYTE {
                return Err(ContentError {
                    operand: name.to_owned(),
                    index: vec![i],
                    what: value.to_string(),
                    wanted: format!("-{MOST_BYTE} to {MOST_BYTE}"),
                });
            }
        }
    }
    Ok(())
}

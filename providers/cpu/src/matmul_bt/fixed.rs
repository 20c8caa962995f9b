//! What the kernels that multiply fixed point share: how many rows they are for.

use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;

overt_sdk::knob! {
    id: "cpu.matmul_bt.fixed_rows",
    default: 4,
    defaults: [(
        ArchPattern::family("x86-64").with("avx512vnni"),
        Value::I64(8),
        "measured on Zen 4: 1.1 to 2.5 times as fast as sums in f32 up to here, by format and shape",
    )],
    doc: "rows of the activations up to which products with block formats are computed in fixed point of 22 bits",
    range: 0..=1_000_000,
}

/// Clauses besides those of [`super::quant::needs`].
pub fn needs() -> Vec<Clause> {
    vec![
        fact("M")
            .at_most(value_of("knob.cpu.matmul_bt.fixed_rows"))
            .source("three integer products cost more than one in f32 where decoded weights serve many rows"),
    ]
}

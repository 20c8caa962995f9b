//! What the kernels with register tiles share: when they are worth it.

use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;

overt_sdk::knob! {
    id: "cpu.matmul_bt.many_rows",
    default: 16,
    doc: "rows of the activations from which products are computed in register tiles",
    range: 1..=1_000_000,
}

/// Clauses besides those of [`super::tuned::needs`].
pub fn needs() -> Vec<Clause> {
    vec![
        fact("M")
            .at_least(value_of("knob.cpu.matmul_bt.many_rows"))
            .source("laying weights out costs as much as some rows' multiply-adds"),
    ]
}

//! Gated activation.

/// The schema.
pub const SCHEMA: &str = "\
silu_and_mul.1(x: float[T,D2]) -> out: like x[T,D];
  where D = D2 / 2 exact";

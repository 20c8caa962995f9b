//! Elementwise sum.

/// The schema.
pub const SCHEMA: &str = "add.1(a: float[T,D], b: float[T,D]) -> out: like a[T,D] may_alias(a, b)";

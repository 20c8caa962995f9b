//! Root-mean-square normalisation of rows.

/// The schema.
pub const SCHEMA: &str = "\
rms_norm.1(x: float[T,D], weight: float[D]) -> out: like x[T,D] may_alias(x);
  eps: f64";

//! Matrix product with a transposed right side.

/// The schema.
pub const SCHEMA: &str =
    "matmul_bt.1(a: float[M,K], b: weight[N,K], bias?: float[N]) -> out: float[M,N]";

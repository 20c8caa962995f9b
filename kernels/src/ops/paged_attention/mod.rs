//! Attention over a paged cache.

/// The schema.
pub const SCHEMA: &str = "\
paged_attention.1(
  query: float[T,Hq,D], k_cache: kv[N,P,Hkv,D], v_cache: kv[N,P,Hkv,Dv],
  block_table: i32[R,M], seq_lens: i32[R], query_start: i32[R+1], sinks?: f32[Hq]) -> out: float[T,Hq,Dv];
  scale: f64, causal: bool = true, window: i64 = 0, softcap: f64 = 0,
  max_query_len: i64 = T, max_seq_len: i64 = M*P;
  where gqa_ratio = Hq / Hkv exact";

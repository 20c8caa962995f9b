//! Writes new keys and values into the paged cache.

/// The schema.
pub const SCHEMA: &str = "\
reshape_and_cache.1(
  key: float[T,Hkv,D], value: float[T,Hkv,Dv], slots: i64[T],
  inout k_cache: kv[N,P,Hkv,D], inout v_cache: kv[N,P,Hkv,Dv])";

//! Names of tensors in files.

/// The table of embedded tokens.
pub const EMBEDDING: &str = "token_embd.weight";
/// The norm before the head.
pub const OUTPUT_NORM: &str = "output_norm.weight";
/// The head; a file without it uses the embedding.
pub const HEAD: &str = "output.weight";
/// What rope's frequencies are divided by, one by one.
pub const FACTORS: &str = "rope_freqs.weight";

/// A tensor of a layer.
pub fn of(layer: usize, part: &str, kind: &str) -> String {
    format!("blk.{layer}.{part}.{kind}")
}

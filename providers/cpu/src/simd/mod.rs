//! Tuned bodies for x86-64: pure functions over raw pointers, strides and sizes, which know neither the ABI nor streams.
//!
//! Each algorithm is written once over [`lanes::Simd`], a set of vector operations, and compiled twice: for AVX2 with FMA and
//! F16C, and for AVX-512. Nothing here needs `-C target-cpu`: the vector code sits inside functions that enable its
//! instructions themselves, and a caller reaches them through an [`Isa`] that it has found on the machine.
//!
//! # Numeric class
//!
//! Every output element is computed by one sequence of operations that depends on its own operands and on the instruction
//! set alone: never on how many rows a call has, on how the caller cuts the work, or on the other rows of the batch. So the
//! kernels built on these bodies are batch-invariant, one class for each [`Isa`]. What makes it true stands where it is
//! done: `dot.rs` for the order of a reduction, `attention/item.rs` for the tiles of keys.

#![cfg(target_arch = "x86_64")]
#![allow(
    clippy::needless_range_loop,
    reason = "loops over the registers of a tile index several arrays alike, and unroll because their bounds are constants"
)]

pub mod attention;
mod avx2;
mod avx512;
mod convert;
mod dot;
mod elem;
mod lanes;
mod math;
pub mod matmul;
pub mod moe;
pub mod probe;
#[allow(
    dead_code,
    reason = "read by the quantised products and by caches, which are being added"
)]
pub mod quant;
pub mod rows;
mod scratch;

#[cfg(test)]
mod tests_attention;
#[cfg(test)]
mod tests_lanes;
#[cfg(test)]
mod tests_matmul;
#[cfg(test)]
mod tests_support;
#[cfg(test)]
mod tests_wide;

pub use elem::ElemType;

/// An instruction set that the bodies are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// AVX2, FMA and F16C: eight lanes, sixteen registers.
    Avx2,
    /// AVX-512 F, BW, VL and DQ beside the AVX2 set: sixteen lanes, thirty-two registers.
    Avx512,
}

impl Isa {
    /// Whether this CPU has the instructions and the operating system keeps their registers. Any thread; does not block.
    pub fn is_available(self) -> bool {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        match self {
            Isa::Avx2 => avx2,
            Isa::Avx512 => {
                avx2 && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
            }
        }
    }
}

/// Names the token of an [`Isa`] in an expression: `with_isa!(isa, s => body(s))`. The caller argues that it is available.
macro_rules! with_isa {
    ($isa:expr, $s:ident => $body:expr) => {
        match $isa {
            $crate::simd::Isa::Avx2 => {
                // SAFETY: the caller of the entry that holds this macro has found the instruction set on this machine.
                let $s = unsafe { $crate::simd::avx2::Avx2::assume() };
                $body
            }
            $crate::simd::Isa::Avx512 => {
                // SAFETY: as above.
                let $s = unsafe { $crate::simd::avx512::Avx512::assume() };
                $body
            }
        }
    };
}
use with_isa;

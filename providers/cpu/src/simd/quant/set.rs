//! The instruction sets that quantised bodies are compiled for.

use crate::simd::Isa;
use crate::simd::lanes::Simd;

/// Names the token of a [`Set`] in an expression: `with_set!(set, s => body(s))`. The caller argues that it is available where
/// the body uses it.
macro_rules! with_set {
    ($set:expr, $s:ident => $body:expr) => {
        match $set {
            $crate::simd::quant::Set::Avx2 => {
                // SAFETY: the caller of the entry that holds this macro has found the instructions on this machine, or runs none.
                let $s = unsafe { $crate::simd::avx2::Avx2::assume() };
                $body
            }
            $crate::simd::quant::Set::Avx512 => {
                // SAFETY: as above.
                let $s = unsafe { $crate::simd::avx512::Avx512::assume() };
                $body
            }
            $crate::simd::quant::Set::Vnni => {
                // SAFETY: as above.
                let $s = unsafe { $crate::simd::avx512::Avx512::assume_vnni() };
                $body
            }
        }
    };
}
pub(in crate::simd) use with_set;

/// An [`Isa`], and whether it multiplies bytes by fours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// [`Isa::Avx2`].
    Avx2,
    /// [`Isa::Avx512`].
    Avx512,
    /// [`Isa::Avx512`] with VNNI.
    Vnni,
}

impl Set {
    /// Whether this CPU has the instructions and the operating system keeps their registers. Any thread; does not block.
    pub fn is_available(self) -> bool {
        match self {
            Set::Avx2 => Isa::Avx2.is_available(),
            Set::Avx512 => Isa::Avx512.is_available(),
            Set::Vnni => Isa::Avx512.is_available() && is_x86_feature_detected!("avx512vnni"),
        }
    }

    /// Lanes of f32, which are the rows of a panel.
    pub fn lanes(self) -> usize {
        // The token is not used for any instruction.
        with_set!(self, s => lanes_of(s))
    }
}

fn lanes_of<S: Simd>(_: S) -> usize {
    S::LANES
}

//! Element types: how each is decoded to f32 lanes and encoded from them.

use super::lanes::Simd;
use half::{bf16, f16};

/// The element type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElemType {
    /// IEEE single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
}

impl ElemType {
    /// Size of one element in bytes.
    pub fn bytes(self) -> usize {
        match self {
            ElemType::F32 => 4,
            ElemType::F16 | ElemType::Bf16 => 2,
        }
    }

    /// Decodes the element at `p`.
    ///
    /// # Safety
    /// `p` is readable and aligned to the element.
    pub(super) unsafe fn decode(self, p: *const u8) -> f32 {
        // SAFETY: the caller's pointer, read as the type it holds.
        unsafe {
            match self {
                ElemType::F32 => p.cast::<f32>().read(),
                ElemType::F16 => p.cast::<f16>().read().to_f32(),
                ElemType::Bf16 => p.cast::<bf16>().read().to_f32(),
            }
        }
    }

    /// Encodes `x` to `p`: to nearest, ties to even, NaN kept.
    ///
    /// # Safety
    /// `p` is writable and aligned to the element.
    #[cfg(test)]
    pub(super) unsafe fn encode(self, p: *mut u8, x: f32) {
        // SAFETY: the caller's pointer, written as the type it holds.
        unsafe {
            match self {
                ElemType::F32 => p.cast::<f32>().write(x),
                ElemType::F16 => p.cast::<f16>().write(f16::from_f32(x)),
                ElemType::Bf16 => p.cast::<bf16>().write(bf16::from_f32(x)),
            }
        }
    }
}

/// An element type that a body is compiled for.
pub trait Elem: Copy {
    /// Loads and decodes one vector.
    ///
    /// # Safety
    /// `S::LANES` elements are readable at `p`.
    unsafe fn load<S: Simd>(s: S, p: *const Self) -> S::V;
    /// Loads and decodes the first lanes; the rest are zero and their memory is not touched.
    ///
    /// # Safety
    /// The head's elements are readable at `p`.
    unsafe fn load_head<S: Simd>(s: S, p: *const Self, head: S::Head) -> S::V;
    /// Encodes and stores one vector.
    ///
    /// # Safety
    /// `S::LANES` elements are writable at `p`.
    unsafe fn store<S: Simd>(s: S, p: *mut Self, v: S::V);
    /// Encodes and stores the first lanes.
    ///
    /// # Safety
    /// The head's elements are writable at `p`.
    unsafe fn store_head<S: Simd>(s: S, p: *mut Self, v: S::V, head: S::Head);
    /// What a load of stored lanes would yield.
    fn rounded<S: Simd>(s: S, v: S::V) -> S::V;
}

impl Elem for f32 {
    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const Self) -> S::V {
        // SAFETY: the same contract.
        unsafe { s.load(p) }
    }
    #[inline(always)]
    unsafe fn load_head<S: Simd>(s: S, p: *const Self, head: S::Head) -> S::V {
        // SAFETY: the same contract.
        unsafe { s.load_head(p, head) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(s: S, p: *mut Self, v: S::V) {
        // SAFETY: the same contract.
        unsafe { s.store(p, v) }
    }
    #[inline(always)]
    unsafe fn store_head<S: Simd>(s: S, p: *mut Self, v: S::V, head: S::Head) {
        // SAFETY: the same contract.
        unsafe { s.store_head(p, v, head) }
    }
    #[inline(always)]
    fn rounded<S: Simd>(_: S, v: S::V) -> S::V {
        v
    }
}

macro_rules! elem16 {
    ($type:ty, $from:ident, $to:ident) => {
        impl Elem for $type {
            #[inline(always)]
            unsafe fn load<S: Simd>(s: S, p: *const Self) -> S::V {
                // SAFETY: the same contract; the type is a transparent u16.
                s.$from(unsafe { s.load16(p.cast()) })
            }
            #[inline(always)]
            unsafe fn load_head<S: Simd>(s: S, p: *const Self, head: S::Head) -> S::V {
                // SAFETY: the same contract; the type is a transparent u16.
                s.$from(unsafe { s.load16_head(p.cast(), head) })
            }
            #[inline(always)]
            unsafe fn store<S: Simd>(s: S, p: *mut Self, v: S::V) {
                // SAFETY: the same contract; the type is a transparent u16.
                unsafe { s.store16(p.cast(), s.$to(v)) }
            }
            #[inline(always)]
            unsafe fn store_head<S: Simd>(s: S, p: *mut Self, v: S::V, head: S::Head) {
                // SAFETY: the same contract; the type is a transparent u16.
                unsafe { s.store16_head(p.cast(), s.$to(v), head) }
            }
            #[inline(always)]
            fn rounded<S: Simd>(s: S, v: S::V) -> S::V {
                s.$from(s.$to(v))
            }
        }
    };
}

elem16!(f16, widen_f16, narrow_f16);
elem16!(bf16, widen_bf16, narrow_bf16);

/// Picks the Rust type of an [`ElemType`]: `with_elem!(ty, E => body::<E>())`.
macro_rules! with_elem {
    ($ty:expr, $e:ident => $body:expr) => {
        match $ty {
            $crate::simd::ElemType::F32 => {
                type $e = f32;
                $body
            }
            $crate::simd::ElemType::F16 => {
                type $e = half::f16;
                $body
            }
            $crate::simd::ElemType::Bf16 => {
                type $e = half::bf16;
                $body
            }
        }
    };
}
pub(super) use with_elem;

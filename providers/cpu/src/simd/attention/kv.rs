//! The element types of caches.
//!
//! Decoding is exact, or rounds once where a format has an offset, and always in the same way: so it may happen in registers, or
//! once on the way to memory, without a difference in any bit.

use super::super::quant::formats::Format;

/// Whether keys and values may be stored so.
pub fn is_kv(format: Format) -> bool {
    !matches!(
        format,
        Format::Q4_1 | Format::Q4K | Format::Q5K | Format::Q6K | Format::Mxfp4
    )
}

/// Bytes from one element to that `elements` further on, whole blocks either way.
pub fn offset(format: Format, elements: i64) -> isize {
    let (block, bytes) = format.block();
    elements as isize / block as isize * bytes as isize
}

/// Picks the type of a cache's [`Format`]: `with_kv!(format, B => body::<B>())`.
macro_rules! with_kv {
    ($format:expr, $b:ident => $body:expr) => {{
        use $crate::simd::quant::formats as f;
        match $format {
            f::Format::F32 => {
                type $b = f32;
                $body
            }
            f::Format::F16 => {
                type $b = half::f16;
                $body
            }
            f::Format::Bf16 => {
                type $b = half::bf16;
                $body
            }
            f::Format::E4m3fn => {
                type $b = f::E4m3fn;
                $body
            }
            f::Format::E5m2 => {
                type $b = f::E5m2;
                $body
            }
            f::Format::Q8_0 => {
                type $b = f::Q8_0;
                $body
            }
            f::Format::Q4_0 => {
                type $b = f::Q4_0;
                $body
            }
            f::Format::Q5_0 => {
                type $b = f::Q5_0;
                $body
            }
            f::Format::Q5_1 => {
                type $b = f::Q5_1;
                $body
            }
            other => unreachable!("no cache is stored as {other:?}"),
        }
    }};
}
pub(super) use with_kv;

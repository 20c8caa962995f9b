//! Element types by their short names, and the Rust types that hold them.

use half::{bf16, f16};
use overt_abi::OvertDType;

pub use overt_kernels::dtype::{
    BF16, BOOL, F16, F32, F64, FP8_E4M3FN, FP8_E4M3FNUZ, FP8_E5M2, FP8_E5M2FNUZ, I8, I16, I32, I64,
    MXFP4, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0, U8, U16, U32, U64,
};

/// How an element type is written in messages: `bf16`, `i32`.
pub fn name(dtype: OvertDType) -> String {
    overt_kernels::dtype::Shown(dtype).to_string()
}

/// Bytes of one element, or `None` for a block format or a type that is not a whole number of bytes.
pub const fn element_bytes(dtype: OvertDType) -> Option<u64> {
    let bits = dtype.bits as u64 * dtype.lanes as u64;
    if dtype.code >= 128 || bits == 0 || !bits.is_multiple_of(8) {
        None
    } else {
        Some(bits / 8)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that holds one element of a tensor: any bit pattern is a value of it.
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// Its element type.
    const DTYPE: OvertDType;
}

macro_rules! elements {
    ($($ty:ty = $dtype:ident),* $(,)?) => {
        $(
            impl sealed::Sealed for $ty {}
            impl Element for $ty {
                const DTYPE: OvertDType = $dtype;
            }
        )*
    };
}

elements! { f64 = F64, f32 = F32, f16 = F16, bf16 = BF16, i8 = I8, i32 = I32, i64 = I64, u8 = U8 }

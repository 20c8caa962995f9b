//! The tensor types of ggml: numbers, sizes, and the dtype of each.

use overt::{DType, dtype};
use std::fmt;

/// A tensor type as GGUF files number them. All types of current ggml are known by size, so that any file can be listed; not all
/// have a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types, reason = "these are the names in use")]
#[allow(
    missing_docs,
    reason = "the names say all there is; sizes are in the table"
)]
#[non_exhaustive]
#[repr(u8)]
pub enum GgmlType {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    I8 = 24,
    I16 = 25,
    I32 = 26,
    I64 = 27,
    F64 = 28,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
    Q1_0 = 41,
}

struct Row {
    kind: GgmlType,
    name: &'static str,
    elements: u64,
    bytes: u64,
    dtype: Option<DType>,
}

const fn row(
    kind: GgmlType,
    name: &'static str,
    elements: u64,
    bytes: u64,
    dtype: Option<DType>,
) -> Row {
    Row {
        kind,
        name,
        elements,
        bytes,
        dtype,
    }
}

const TABLE: &[Row] = {
    use GgmlType::*;
    &[
        row(F32, "F32", 1, 4, Some(dtype::F32)),
        row(F16, "F16", 1, 2, Some(dtype::F16)),
        row(Q4_0, "Q4_0", 32, 18, Some(dtype::Q4_0)),
        row(Q4_1, "Q4_1", 32, 20, Some(dtype::Q4_1)),
        row(Q5_0, "Q5_0", 32, 22, Some(dtype::Q5_0)),
        row(Q5_1, "Q5_1", 32, 24, Some(dtype::Q5_1)),
        row(Q8_0, "Q8_0", 32, 34, Some(dtype::Q8_0)),
        row(Q8_1, "Q8_1", 32, 40, None),
        row(Q2_K, "Q2_K", 256, 84, None),
        row(Q3_K, "Q3_K", 256, 110, None),
        row(Q4_K, "Q4_K", 256, 144, Some(dtype::Q4_K)),
        row(Q5_K, "Q5_K", 256, 176, Some(dtype::Q5_K)),
        row(Q6_K, "Q6_K", 256, 210, Some(dtype::Q6_K)),
        row(Q8_K, "Q8_K", 256, 292, None),
        row(IQ2_XXS, "IQ2_XXS", 256, 66, None),
        row(IQ2_XS, "IQ2_XS", 256, 74, None),
        row(IQ3_XXS, "IQ3_XXS", 256, 98, None),
        row(IQ1_S, "IQ1_S", 256, 50, None),
        row(IQ4_NL, "IQ4_NL", 32, 18, None),
        row(IQ3_S, "IQ3_S", 256, 110, None),
        row(IQ2_S, "IQ2_S", 256, 82, None),
        row(IQ4_XS, "IQ4_XS", 256, 136, None),
        row(I8, "I8", 1, 1, Some(dtype::I8)),
        row(I16, "I16", 1, 2, Some(dtype::I16)),
        row(I32, "I32", 1, 4, Some(dtype::I32)),
        row(I64, "I64", 1, 8, Some(dtype::I64)),
        row(F64, "F64", 1, 8, Some(dtype::F64)),
        row(IQ1_M, "IQ1_M", 256, 56, None),
        row(BF16, "BF16", 1, 2, Some(dtype::BF16)),
        row(TQ1_0, "TQ1_0", 256, 54, None),
        row(TQ2_0, "TQ2_0", 256, 66, None),
        row(MXFP4, "MXFP4", 32, 17, Some(dtype::MXFP4)),
        row(NVFP4, "NVFP4", 64, 36, None),
        row(Q1_0, "Q1_0", 128, 18, None),
    ]
};

impl GgmlType {
    /// Every known type, by number.
    pub fn all() -> impl Iterator<Item = GgmlType> {
        TABLE.iter().map(|row| row.kind)
    }

    /// The type of this number. `None` for one that is not known, and for those that ggml has removed (4, 5, 31 to 33, 36 to 38).
    pub fn from_code(code: u32) -> Option<GgmlType> {
        TABLE.iter().map(|r| r.kind).find(|k| k.code() == code)
    }

    /// The type that stores this dtype. `None` where GGUF has none.
    pub fn from_dtype(dtype: DType) -> Option<GgmlType> {
        let row = TABLE.iter().find(|r| r.dtype == Some(dtype))?;
        Some(row.kind)
    }

    fn row(self) -> &'static Row {
        // Complete by the test below; the first row is never reached for want of another.
        TABLE.iter().find(|r| r.kind == self).unwrap_or(&TABLE[0])
    }

    /// The number in files.
    pub fn code(self) -> u32 {
        u32::from(self as u8)
    }

    /// The name in use: `Q4_K`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Elements of one block; 1 for plain types.
    pub fn block_elements(self) -> u64 {
        self.row().elements
    }

    /// Bytes of one block.
    pub fn block_bytes(self) -> u64 {
        self.row().bytes
    }

    /// The dtype with the same layout. `None` for types that no op of Overt takes.
    pub fn dtype(self) -> Option<DType> {
        self.row().dtype
    }

    /// Bytes of `elements` elements. `None` where they are no whole blocks, or the product does not fit.
    pub fn bytes_for(self, elements: u64) -> Option<u64> {
        if !elements.is_multiple_of(self.block_elements()) {
            return None;
        }
        (elements / self.block_elements()).checked_mul(self.block_bytes())
    }
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_agrees_with_the_dtypes() {
        for (at, row) in TABLE.iter().enumerate() {
            assert!(row.elements > 0 && row.bytes > 0, "{}", row.name);
            assert_eq!(row.name, format!("{:?}", row.kind));
            assert!(TABLE[..at].iter().all(|r| r.kind.code() < row.kind.code()));
            let Some(dtype) = row.dtype else { continue };
            let block = dtype::block(dtype).unwrap();
            assert_eq!(
                (block.elements, block.bytes),
                (row.elements, row.bytes),
                "{}",
                row.name
            );
            let name = dtype::name(dtype).unwrap();
            assert!(
                name.eq_ignore_ascii_case(row.name),
                "{name} is not {}",
                row.name
            );
            assert_eq!(GgmlType::from_dtype(dtype), Some(row.kind));
        }
    }

    #[test]
    fn every_number_in_use_has_a_row_and_no_other() {
        let removed = [4, 5, 31, 32, 33, 36, 37, 38];
        for code in 0..300 {
            let wanted = code <= 41 && !removed.contains(&code);
            let got = GgmlType::from_code(code);
            assert_eq!(got.is_some(), wanted, "{code}");
            assert!(got.is_none_or(|kind| kind.code() == code));
        }
    }
}

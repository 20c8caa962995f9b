//! Classes of element types that a schema may name. One table: widening a class is one line here.

use crate::dtype::{
    BF16, F16, F32, FP8_E4M3FN, FP8_E5M2, I32, I64, MXFP4, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K,
    Q6_K, Q8_0,
};
use overt_abi::OvertDType;

/// A named set of element types.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// The word in a schema.
    pub name: &'static str,
    /// What belongs to it, in the order of listings.
    pub dtypes: &'static [OvertDType],
    /// What it is for.
    pub doc: &'static str,
}

/// Every class.
pub const CLASSES: &[Class] = &[
    Class {
        name: "float",
        dtypes: &[F32, F16, BF16],
        doc: "activations",
    },
    Class {
        name: "kv",
        dtypes: &[F32, F16, BF16, FP8_E4M3FN, FP8_E5M2, Q8_0, Q4_0, Q5_0, Q5_1],
        doc: "elements of a key or value cache",
    },
    Class {
        name: "weight",
        dtypes: &[
            F32, F16, BF16, FP8_E4M3FN, FP8_E5M2, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K,
            MXFP4,
        ],
        doc: "parameters of a model, which may be stored narrower than activations",
    },
    Class {
        name: "int",
        dtypes: &[I32, I64],
        doc: "indices and lengths",
    },
];

/// The class of this name.
pub fn class(name: &str) -> Option<&'static Class> {
    CLASSES.iter().find(|c| c.name == name)
}

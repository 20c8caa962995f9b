//! Values, shown and passed across the ABI.

use crate::load::decl::Value;
use overt_abi::{
    OVERT_VALUE_BOOL, OVERT_VALUE_DTYPE, OVERT_VALUE_F64, OVERT_VALUE_I64, OVERT_VALUE_NONE,
    OVERT_VALUE_STR, OvertValue, OvertValueData,
};
use std::fmt;

pub(crate) const NONE: OvertValue = OvertValue {
    kind: OVERT_VALUE_NONE,
    reserved: 0,
    data: OvertValueData { i: 0 },
};

pub(crate) fn raw_bool(value: bool) -> OvertValue {
    OvertValue {
        kind: OVERT_VALUE_BOOL,
        reserved: 0,
        data: OvertValueData { i: value.into() },
    }
}

pub(crate) fn raw_i64(value: i64) -> OvertValue {
    OvertValue {
        kind: OVERT_VALUE_I64,
        reserved: 0,
        data: OvertValueData { i: value },
    }
}

pub(crate) fn raw_f64(value: f64) -> OvertValue {
    OvertValue {
        kind: OVERT_VALUE_F64,
        reserved: 0,
        data: OvertValueData { f: value },
    }
}

pub(crate) fn raw_str(value: &str) -> OvertValue {
    OvertValue {
        kind: OVERT_VALUE_STR,
        reserved: 0,
        data: OvertValueData {
            s: crate::ffi::text(value),
        },
    }
}

/// The ABI form of a value; text borrows from it. Facts, architectures and patterns never travel this way and become `NONE`.
pub(crate) fn raw(value: &Value) -> OvertValue {
    match value {
        Value::Bool(b) => raw_bool(*b),
        Value::I64(i) => raw_i64(*i),
        Value::F64(f) => raw_f64(*f),
        Value::Str(s) => raw_str(s),
        Value::DType(dtype) => OvertValue {
            kind: OVERT_VALUE_DTYPE,
            reserved: 0,
            data: OvertValueData { dtype: *dtype },
        },
        Value::None | Value::Fact(_) | Value::Arch(_) | Value::Pattern(_) => NONE,
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("not known"),
            Value::Bool(b) => f.write_str(if *b { "true" } else { "false" }),
            Value::I64(i) => write!(f, "{i}"),
            Value::F64(x) => write!(f, "{x}"),
            Value::Str(s) => write!(f, "{s:?}"),
            Value::DType(d) => write!(f, "{}", overt_kernels::dtype::Shown(*d)),
            Value::Fact(name) => f.write_str(name),
            Value::Arch(arch) => f.write_str(&arch.name),
            Value::Pattern(pattern) => write!(f, "{pattern}"),
        }
    }
}

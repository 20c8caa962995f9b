//! Typed values: of attributes, facts, knobs and in clauses.

use crate::arch::{Arch, ArchPattern};
use overt_abi::OvertDType;
use std::borrow::Cow;

/// A value that a declaration holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    None,
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// A float.
    F64(f64),
    /// Text.
    Str(Cow<'static, str>),
    /// An element type.
    DType(OvertDType),
    /// In a clause: the value of another fact, so that a threshold can be a knob.
    Fact(Cow<'static, str>),
    /// An architecture.
    Arch(Arch),
    /// In a clause: a set of architectures.
    Pattern(ArchPattern),
}

macro_rules! from {
    ($($ty:ty => $variant:ident),* $(,)?) => {
        $(impl From<$ty> for Value {
            fn from(value: $ty) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

from! {
    bool => Bool, i64 => I64, i32 => I64, u32 => I64, f64 => F64, &'static str => Str, String => Str,
    OvertDType => DType, Arch => Arch, ArchPattern => Pattern,
}

/// Means the value of another fact inside a clause: `fact("M").at_least(value_of("knob.cpu.rows"))`.
pub fn value_of(fact: impl Into<Cow<'static, str>>) -> Value {
    Value::Fact(fact.into())
}

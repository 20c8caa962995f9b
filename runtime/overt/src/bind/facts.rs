//! Facts: the typed values that guards test, found by name and read from a bound problem.

use super::args::{Arguments, str_of};
use super::{Bound, MAX_SYMBOLS};
use crate::load::decl::Value;
use overt_abi::{OvertDType, OvertValue};
use overt_kernels::schema::{AttrType, Schema};
use std::collections::HashMap;

/// Where a fact's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    /// Known for the device, before any problem.
    Constant(Value),
    /// A device fact or knob that nobody states: no clause on it holds.
    Unknown,
    /// A symbol of the schema.
    Symbol(usize),
    /// An attribute.
    Attr(usize, AttrType),
    /// A property of an operand.
    Operand(usize, OperandFact),
    /// An output is exactly another operand's memory.
    InPlace,
    /// Which of these operands (bits) lie in a packed layout.
    Packed(u32),
    /// The stream is capturing.
    Capturing,
}

/// Properties of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandFact {
    Dtype,
    Rank,
    Align,
    MaxOffset,
    RowAlign,
    Contiguous,
    InnerContiguous,
    Present,
    Layout,
    ReadOnly,
    Bytes,
}

const OPERAND_FACTS: [(&str, OperandFact); 11] = [
    ("dtype", OperandFact::Dtype),
    ("rank", OperandFact::Rank),
    ("align", OperandFact::Align),
    ("max_offset", OperandFact::MaxOffset),
    ("row_align", OperandFact::RowAlign),
    ("contiguous", OperandFact::Contiguous),
    ("inner_contiguous", OperandFact::InnerContiguous),
    ("present", OperandFact::Present),
    ("layout", OperandFact::Layout),
    ("read_only", OperandFact::ReadOnly),
    ("bytes", OperandFact::Bytes),
];

/// Type of a fact's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactKind {
    Bool,
    I64,
    F64,
    Str,
    DType,
    Arch,
}

/// A name that can be no fact of this op.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is no fact of {op}: a symbol, `attr.…`, `<operand>.dtype` (or {}), `in_place`, `stream.capturing`, `device.…`, `knob.…`",
    OPERAND_FACTS[1..].iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ")
)]
pub(crate) struct FactError {
    pub(crate) name: String,
    pub(crate) op: String,
}

/// Facts that hold for a device before any problem: `device.…` and `knob.…`, by full name.
pub(crate) type Constants = HashMap<String, Value>;

impl Fact {
    /// Finds a fact by its full name.
    pub(crate) fn find(
        name: &str,
        schema: &Schema,
        constants: &Constants,
    ) -> Result<Fact, FactError> {
        if name.starts_with("device.") || name.starts_with("knob.") {
            return Ok(match constants.get(name) {
                Some(Value::None) | None => Fact::Unknown,
                Some(value) => Fact::Constant(value.clone()),
            });
        }
        match name {
            "stream.capturing" => return Ok(Fact::Capturing),
            "in_place" => return Ok(Fact::InPlace),
            _ => {}
        }
        if let Some(symbol) = schema.symbol(name) {
            return Ok(Fact::Symbol(symbol));
        }
        let bare = name.strip_prefix("attr.").unwrap_or(name);
        if let Some(attr) = schema.attr(bare) {
            return Ok(Fact::Attr(attr, schema.attrs[attr].ty));
        }
        if let Some((operand, property)) = name.rsplit_once('.')
            && let Some(operand) = schema.operand(operand)
            && let Some((_, fact)) = OPERAND_FACTS.iter().find(|(n, _)| *n == property)
        {
            return Ok(Fact::Operand(operand, *fact));
        }
        Err(FactError {
            name: name.into(),
            op: schema.name.clone(),
        })
    }

    /// Type of its values; `None` for an unknown fact.
    pub(crate) fn kind(&self) -> Option<FactKind> {
        Some(match self {
            Fact::Unknown => return None,
            Fact::Constant(value) => match value {
                Value::Bool(_) => FactKind::Bool,
                Value::I64(_) => FactKind::I64,
                Value::F64(_) => FactKind::F64,
                Value::Str(_) => FactKind::Str,
                Value::DType(_) => FactKind::DType,
                Value::Arch(_) => FactKind::Arch,
                Value::None | Value::Fact(_) | Value::Pattern(_) => return None,
            },
            Fact::Symbol(_) | Fact::Packed(_) => FactKind::I64,
            Fact::Attr(_, AttrType::Bool) | Fact::InPlace | Fact::Capturing => FactKind::Bool,
            Fact::Attr(_, AttrType::I64) => FactKind::I64,
            Fact::Attr(_, AttrType::F64) => FactKind::F64,
            Fact::Attr(_, AttrType::Str) => FactKind::Str,
            Fact::Operand(_, fact) => match fact {
                OperandFact::Dtype => FactKind::DType,
                OperandFact::Contiguous
                | OperandFact::InnerContiguous
                | OperandFact::Present
                | OperandFact::ReadOnly => FactKind::Bool,
                _ => FactKind::I64,
            },
        })
    }

    /// Its value for a problem. `None` where it has none: a property of an absent operand, a symbol that only such an operand
    /// binds.
    pub(crate) fn value<A: Arguments>(
        &self,
        args: &A,
        bound: &Bound,
        capturing: bool,
    ) -> Option<Value> {
        match self {
            Fact::Constant(value) => Some(value.clone()),
            Fact::Unknown => None,
            Fact::Attr(index, AttrType::Str) => {
                // SAFETY: bound attributes of type text were made by `raw_str` from text that outlives the binding.
                Some(Value::Str(
                    unsafe { str_of(&bound.attrs()[*index]) }.to_owned(),
                ))
            }
            _ => self
                .number(args, bound, capturing)
                .map(|n| match self.kind() {
                    Some(FactKind::Bool) => Value::Bool(n != 0),
                    Some(FactKind::F64) => Value::F64(float_of(n)),
                    Some(FactKind::DType) => Value::DType(dtype_of(n)),
                    _ => Value::I64(n),
                }),
        }
    }

    /// Its value as an ordered number: truth values are 0 and 1, floats keep their order, dtypes are told apart. `None` where it
    /// has none. Text has no number here (its class is found by comparing with the texts that clauses name).
    #[inline]
    pub(crate) fn number<A: Arguments>(
        &self,
        args: &A,
        bound: &Bound,
        capturing: bool,
    ) -> Option<i64> {
        Some(match self {
            Fact::Symbol(symbol) => {
                if *symbol >= MAX_SYMBOLS || bound.known & 1 << symbol == 0 {
                    return None;
                }
                bound.symbols[*symbol]
            }
            Fact::Attr(..) | Fact::InPlace | Fact::Capturing => {
                let varying = Varying {
                    attrs: bound.attrs(),
                    in_place: bound.in_place,
                    capturing,
                };
                return self.varying_number(&varying);
            }
            Fact::Operand(index, fact) => {
                let view = args.view(*index);
                if *fact == OperandFact::Present {
                    return Some(view.is_some().into());
                }
                let view = view?;
                match fact {
                    OperandFact::Dtype => dtype_number(view.dtype),
                    OperandFact::Rank => view.rank.into(),
                    OperandFact::Align => i64::try_from(view.alignment).unwrap_or(i64::MAX),
                    // Nothing is reached in an empty view, so nothing is out of reach of a narrow index.
                    OperandFact::MaxOffset => view.max_offset.max(0),
                    OperandFact::RowAlign => view.row_align,
                    OperandFact::Contiguous => view.contiguous.into(),
                    OperandFact::InnerContiguous => view.inner_contiguous.into(),
                    OperandFact::Present => 1,
                    OperandFact::Layout => view.layout as i64,
                    OperandFact::ReadOnly => view.read_only.into(),
                    OperandFact::Bytes => view.span_bytes as i64,
                }
            }
            Fact::Packed(mask) => (bound.packed & mask).into(),
            Fact::Constant(_) | Fact::Unknown => return None,
        })
    }
}

/// What of a problem its views do not settle.
pub(crate) struct Varying<'a> {
    /// Attributes, defaults and bounds filled in.
    pub(crate) attrs: &'a [OvertValue],
    pub(crate) in_place: bool,
    pub(crate) capturing: bool,
}

impl Fact {
    /// Whether views alone do not settle it.
    pub(crate) fn varies(&self) -> bool {
        matches!(self, Fact::Attr(..) | Fact::InPlace | Fact::Capturing)
    }

    /// The number of a fact that varies; `None` for text and for every other fact.
    #[inline]
    pub(crate) fn varying_number(&self, varying: &Varying<'_>) -> Option<i64> {
        Some(match self {
            Fact::Attr(index, ty) => {
                let value = &varying.attrs[*index];
                match ty {
                    // SAFETY: binding checked the type, which says the live member.
                    AttrType::F64 => ordered(unsafe { value.data.f }),
                    AttrType::Str => return None,
                    // SAFETY: as above.
                    AttrType::Bool | AttrType::I64 => unsafe { value.data.i },
                }
            }
            Fact::InPlace => varying.in_place.into(),
            Fact::Capturing => varying.capturing.into(),
            _ => return None,
        })
    }
}

/// Order-preserving image of a float. Both zeros are one number, since guards compare values and not bits.
#[inline]
pub(crate) fn ordered(value: f64) -> i64 {
    let bits = (if value == 0.0 { 0.0 } else { value }).to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// Inverse of [`ordered`].
pub(crate) fn float_of(number: i64) -> f64 {
    f64::from_bits((number ^ (((number >> 63) as u64) >> 1) as i64) as u64)
}

/// A number for a dtype.
#[inline]
pub(crate) fn dtype_number(dtype: OvertDType) -> i64 {
    i64::from(dtype.code) << 24 | i64::from(dtype.bits) << 16 | i64::from(dtype.lanes)
}

fn dtype_of(number: i64) -> OvertDType {
    OvertDType {
        code: (number >> 24) as u8,
        bits: (number >> 16) as u8,
        lanes: number as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_order_as_numbers() {
        let values = [
            f64::NEG_INFINITY,
            -3.5,
            -1e-300,
            0.0,
            1e-300,
            0.1,
            1.0,
            50.0,
            f64::INFINITY,
        ];
        for pair in values.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]), "{pair:?}");
        }
        for value in values {
            assert_eq!(float_of(ordered(value)), value);
        }
        assert_eq!(ordered(-0.0), ordered(0.0));
    }

    #[test]
    fn dtypes_survive_as_numbers() {
        for (dtype, name) in overt_kernels::dtype::all() {
            assert_eq!(dtype_of(dtype_number(dtype)), dtype, "{name}");
        }
    }
}

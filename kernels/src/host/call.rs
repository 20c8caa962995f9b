//! Whole calls on host memory.

use super::bind;
use super::error::HostError;
use super::tensor::HostTensor;
use crate::op::Geometry;
use crate::schema::{AttrDefault, AttrType, AttrValue, Dtypes, Expr, Schema};
use overt_abi::OvertDType;
use std::sync::Arc;

/// One call of an op on host memory.
#[derive(Clone, Debug)]
pub struct HostCall {
    /// The op's schema.
    pub schema: Arc<Schema>,
    /// One for each of the schema's operands; `None` for an absent optional one. Outputs hold what was there before.
    pub operands: Vec<Option<HostTensor>>,
    /// One for each of the schema's attributes, defaults and bounds filled in.
    pub attrs: Vec<AttrValue>,
    /// Values of all symbols, by number.
    pub symbols: Vec<i64>,
    /// Parameters of filling that no symbol states (see [`crate::op::Geometry::lengths`]).
    pub lengths: Vec<(String, Vec<i64>)>,
}

impl HostCall {
    /// Makes a call from operands and the attributes that are given; the others get their defaults. Checks ranks, types,
    /// symbols, exact divisions and attributes, and nothing of the contents.
    ///
    /// # Errors
    /// [`HostError`] for the first rule that is broken.
    pub fn bind(
        schema: &Arc<Schema>,
        operands: Vec<Option<HostTensor>>,
        attrs: &[(String, AttrValue)],
    ) -> Result<Self, HostError> {
        let (mut symbols, set_by) = bind::symbols(schema, &operands)?;
        let attrs = bind_attrs(schema, attrs, &symbols)?;
        bind::attr_symbols(schema, &attrs, &mut symbols);
        bind::extents(schema, &operands, &symbols, &set_by)?;
        Ok(HostCall {
            schema: schema.clone(),
            operands,
            attrs,
            symbols,
            lengths: Vec::new(),
        })
    }

    /// Makes the call that a geometry describes, its memory fresh (see [`HostTensor::with_strides`]): [`crate::op::Op::fill`]
    /// writes the contents.
    ///
    /// # Errors
    /// [`HostError`] when the geometry leaves out a symbol, a type with a choice or a required attribute, names something that
    /// the schema does not have, or breaks a rule of the schema.
    pub fn from_geometry(schema: &Arc<Schema>, geometry: &Geometry) -> Result<Self, HostError> {
        known_names(schema, geometry)?;
        let mut values = vec![0; schema.symbols.len()];
        let bound = schema.bound_symbols();
        for (symbol, name) in schema.symbols[..bound].iter().enumerate() {
            let Some((_, value)) = geometry.symbols.iter().find(|(n, _)| n == name) else {
                return Err(fault(
                    schema,
                    geometry,
                    format!("symbol `{name}` has no value"),
                    "a value for each symbol",
                ));
            };
            if *value < 0 {
                return Err(fault(
                    schema,
                    geometry,
                    format!("symbol `{name}` is {value}"),
                    "an extent of at least 0",
                ));
            }
            values[symbol] = *value;
        }
        bind::derive(schema, &mut values)?;
        let attrs = bind_attrs(schema, &geometry.attrs, &values)?;
        bind::attr_symbols(schema, &attrs, &mut values);
        let mut operands: Vec<Option<HostTensor>> = Vec::with_capacity(schema.operands.len());
        for (number, declared) in schema.operands.iter().enumerate() {
            if declared.optional && !geometry.present.contains(&declared.name) {
                operands.push(None);
                continue;
            }
            let dtype = dtype(schema, geometry, number, &operands)?;
            let shape = (0..declared.dims.len())
                .map(|dim| bind::dimension(schema, number, dim, &values))
                .collect::<Result<Vec<_>, _>>()?;
            let of = |list: &[(String, i64)]| {
                list.iter()
                    .find(|(n, _)| *n == declared.name)
                    .map_or(0, |(_, p)| *p)
            };
            let repeated = geometry
                .repeated
                .iter()
                .find(|(n, _)| *n == declared.name)
                .map(|(_, dim)| *dim);
            let padding = (of(&geometry.padded), of(&geometry.outer_padded));
            let tensor =
                lay_out(dtype, &shape, padding, repeated).map_err(|e| named(e, &declared.name))?;
            operands.push(Some(tensor));
        }
        let mut call = Self::bind(schema, operands, &geometry.attrs)?;
        call.lengths = geometry.lengths.clone();
        Ok(call)
    }

    /// The operand of this name, `None` when it is absent or there is none.
    pub fn operand(&self, name: &str) -> Option<&HostTensor> {
        self.operands.get(self.schema.operand(name)?)?.as_ref()
    }

    /// The operand of this name, to write.
    pub fn operand_mut(&mut self, name: &str) -> Option<&mut HostTensor> {
        let number = self.schema.operand(name)?;
        self.operands.get_mut(number)?.as_mut()
    }

    /// The value of the symbol of this name.
    pub fn symbol(&self, name: &str) -> Option<i64> {
        self.symbols.get(self.schema.symbol(name)?).copied()
    }

    /// The value of the attribute of this name.
    pub fn attr(&self, name: &str) -> Option<&AttrValue> {
        self.attrs.get(self.schema.attr(name)?)
    }

    /// The parameter of filling of this name.
    pub fn lengths_of(&self, name: &str) -> Option<&[i64]> {
        self.lengths
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_slice())
    }

    /// Numbers of the operands that the op writes: outputs and in-outs.
    pub fn outputs(&self) -> Vec<usize> {
        self.schema.outputs()
    }
}

/// A fresh tensor with gaps, of which one dimension may repeat its element.
fn lay_out(
    dtype: OvertDType,
    shape: &[i64],
    (padding, outer): (i64, i64),
    repeated: Option<usize>,
) -> Result<HostTensor, HostError> {
    let Some(dim) = repeated.filter(|&dim| dim < shape.len()) else {
        return HostTensor::padded(dtype, shape, padding, outer);
    };
    // Laid out with the element once, then seen several times.
    let mut once = shape.to_vec();
    once[dim] = once[dim].min(1);
    let mut strides = HostTensor::padded(dtype, &once, padding, outer)?.strides;
    strides[dim] = 0;
    HostTensor::with_strides(dtype, shape, &strides)
}

fn fault(schema: &Schema, geometry: &Geometry, what: String, wanted: &str) -> HostError {
    HostError::Geometry {
        op: schema.name.clone(),
        geometry: geometry.name.clone(),
        what,
        wanted: wanted.to_owned(),
    }
}

fn named(error: HostError, name: &str) -> HostError {
    match error {
        HostError::Layout { what, wanted, .. } => HostError::Layout {
            operand: name.to_owned(),
            what,
            wanted,
        },
        other => other,
    }
}

/// A name that the schema does not have is a mistake, not a thing to pass over.
fn known_names(schema: &Schema, geometry: &Geometry) -> Result<(), HostError> {
    let bound = schema.bound_symbols();
    for (name, _) in &geometry.symbols {
        if !schema.symbols[..bound].contains(name) {
            return Err(fault(
                schema,
                geometry,
                format!("symbol `{name}`"),
                "a symbol that a dimension binds",
            ));
        }
    }
    let dtypes = geometry.dtypes.iter().map(|(n, _)| n);
    let padded = geometry
        .padded
        .iter()
        .chain(&geometry.outer_padded)
        .map(|(n, _)| n);
    let repeated = geometry.repeated.iter().map(|(n, _)| n);
    for name in dtypes
        .chain(padded)
        .chain(repeated)
        .chain(&geometry.present)
    {
        if schema.operand(name).is_none() {
            return Err(fault(
                schema,
                geometry,
                format!("operand `{name}`"),
                "an operand of the op",
            ));
        }
    }
    Ok(())
}

fn dtype(
    schema: &Schema,
    geometry: &Geometry,
    number: usize,
    earlier: &[Option<HostTensor>],
) -> Result<OvertDType, HostError> {
    let declared = &schema.operands[number];
    let given = geometry
        .dtypes
        .iter()
        .find(|(n, _)| *n == declared.name)
        .map(|(_, d)| *d);
    let dtype_of = |other: usize| earlier.get(other).and_then(Option::as_ref).map(|t| t.dtype);
    let dtype = match (&declared.dtypes, given) {
        (_, Some(given)) => given,
        (Dtypes::Of { dtypes, .. }, None) if dtypes.len() == 1 => dtypes[0],
        (Dtypes::Like(other), None) if dtype_of(*other).is_some() => {
            dtype_of(*other).expect("just tested")
        }
        _ => {
            let what = format!("operand `{}` has no type", declared.name);
            return Err(fault(
                schema,
                geometry,
                what,
                "a type for each operand that has a choice",
            ));
        }
    };
    bind::check_dtype(schema, number, dtype, dtype_of)?;
    Ok(dtype)
}

fn bind_attrs(
    schema: &Schema,
    given: &[(String, AttrValue)],
    symbols: &[i64],
) -> Result<Vec<AttrValue>, HostError> {
    let fault = |attr: &str, what: String, wanted: String| HostError::Attr {
        op: schema.name.clone(),
        attr: attr.to_owned(),
        what,
        wanted,
    };
    for (name, _) in given {
        if schema.attr(name).is_none() {
            let names: Vec<&str> = schema.attrs.iter().map(|a| a.name.as_str()).collect();
            let wanted = if names.is_empty() {
                "none".to_owned()
            } else {
                format!("one of {}", names.join(", "))
            };
            return Err(fault(name, "does not exist".to_owned(), wanted));
        }
        if given.iter().filter(|(n, _)| n == name).count() > 1 {
            return Err(fault(
                name,
                "is given twice".to_owned(),
                "one value".to_owned(),
            ));
        }
    }
    let mut out = Vec::with_capacity(schema.attrs.len());
    for attr in &schema.attrs {
        let value = given.iter().find(|(n, _)| *n == attr.name).map(|(_, v)| v);
        if let Some(value) = value
            && type_of(value) != attr.ty
        {
            let what = format!("{value} is of type {}", type_of(value));
            return Err(fault(&attr.name, what, attr.ty.to_string()));
        }
        out.push(match (&attr.default, value) {
            (AttrDefault::Required, None) => {
                return Err(fault(
                    &attr.name,
                    "is not given".to_owned(),
                    "a value, since it has no default".to_owned(),
                ));
            }
            (AttrDefault::Value(default), None) => default.clone(),
            (AttrDefault::Bound(expr), value) => bound(schema, &attr.name, expr, value, symbols)?,
            (_, Some(value)) => value.clone(),
        });
    }
    Ok(out)
}

fn bound(
    schema: &Schema,
    name: &str,
    expr: &Expr,
    value: Option<&AttrValue>,
    symbols: &[i64],
) -> Result<AttrValue, HostError> {
    let most = schema
        .eval(expr, symbols, false)
        .map_err(|error| HostError::Eval {
            op: schema.name.clone(),
            place: format!("the bound of attribute `{name}`"),
            error,
        })?;
    match value {
        Some(AttrValue::I64(value)) if !(0..=most).contains(value) => Err(HostError::Attr {
            op: schema.name.clone(),
            attr: name.to_owned(),
            what: format!("is {value}"),
            wanted: format!("0 to {most}, which is `{}`", expr.shown(&schema.symbols)),
        }),
        Some(value) => Ok(value.clone()),
        None => Ok(AttrValue::I64(most)),
    }
}

fn type_of(value: &AttrValue) -> AttrType {
    match value {
        AttrValue::Bool(_) => AttrType::Bool,
        AttrValue::I64(_) => AttrType::I64,
        AttrValue::F64(_) => AttrType::F64,
        AttrValue::Str(_) => AttrType::Str,
    }
}

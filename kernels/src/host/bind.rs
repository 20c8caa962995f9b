//! Holding operands against a schema: symbols, derived symbols, extents, types.

use super::error::HostError;
use super::tensor::HostTensor;
use crate::dtype::Shown;
use crate::schema::{AttrValue, Dtypes, Expr, Role, Schema};
use overt_abi::OvertDType;

/// Which operand and dimension gave each symbol its value.
pub(super) type SetBy = Vec<Option<(usize, usize)>>;

/// Checks presence, types and ranks, and computes all symbols but those of attributes.
pub(super) fn symbols(
    schema: &Schema,
    operands: &[Option<HostTensor>],
) -> Result<(Vec<i64>, SetBy), HostError> {
    if operands.len() != schema.operands.len() {
        return Err(HostError::Count {
            op: schema.name.clone(),
            of: "operands",
            got: operands.len(),
            wanted: schema.operands.len(),
        });
    }
    for (number, operand) in operands.iter().enumerate() {
        let declared = &schema.operands[number];
        match operand {
            None if declared.optional && declared.role == Role::In => {}
            None => {
                return Err(HostError::Absent {
                    op: schema.name.clone(),
                    operand: declared.name.clone(),
                });
            }
            Some(tensor) => {
                check_dtype(schema, number, tensor.dtype, |other| {
                    operands[other].as_ref().map(|t| t.dtype)
                })?;
                if tensor.shape.len() != declared.dims.len()
                    || tensor.strides.len() != declared.dims.len()
                {
                    return Err(HostError::Rank {
                        op: schema.name.clone(),
                        operand: declared.name.clone(),
                        got: tensor.shape.len(),
                        wanted: declared.dims.len(),
                    });
                }
            }
        }
    }
    let mut values = vec![0; schema.symbols.len()];
    let mut set_by: Vec<Option<(usize, usize)>> = vec![None; schema.symbols.len()];
    let derived_from = schema.bound_symbols();
    for (number, operand) in operands.iter().enumerate() {
        let Some(tensor) = operand else { continue };
        for (dim, expr) in schema.operands[number].dims.iter().enumerate() {
            let Expr::Symbol(symbol) = *expr else {
                continue;
            };
            if symbol < derived_from && set_by[symbol].is_none() {
                values[symbol] = tensor.shape[dim];
                set_by[symbol] = Some((number, dim));
            }
        }
    }
    derive(schema, &mut values)?;
    Ok((values, set_by))
}

/// Gives the symbols of attributes their values. `attrs` holds one value for each of the schema's attributes.
pub(super) fn attr_symbols(schema: &Schema, attrs: &[AttrValue], values: &mut [i64]) {
    for &(symbol, attr) in &schema.attr_symbols {
        if let Some(AttrValue::I64(value)) = attrs.get(attr) {
            values[symbol] = *value;
        }
    }
}

/// Holds every extent against the schema.
pub(super) fn extents(
    schema: &Schema,
    operands: &[Option<HostTensor>],
    values: &[i64],
    set_by: &SetBy,
) -> Result<(), HostError> {
    for (number, operand) in operands.iter().enumerate() {
        let Some(tensor) = operand else { continue };
        for (dim, expr) in schema.operands[number].dims.iter().enumerate() {
            let wanted = dimension(schema, number, dim, values)?;
            if tensor.shape[dim] != wanted {
                let because = match expr {
                    Expr::Symbol(s) => set_by[*s].map(|(o, d)| {
                        format!(", from operand `{}` dimension {d}", schema.operands[o].name)
                    }),
                    _ => None,
                };
                return Err(HostError::Extent {
                    op: schema.name.clone(),
                    operand: schema.operands[number].name.clone(),
                    dim,
                    got: tensor.shape[dim],
                    expression: expr.shown(&schema.symbols).to_string(),
                    wanted,
                    because: because.unwrap_or_default(),
                });
            }
        }
    }
    Ok(())
}

/// Computes derived symbols, with an error that names the op.
pub(super) fn derive(schema: &Schema, values: &mut [i64]) -> Result<(), HostError> {
    schema.derive(values).map_err(|error| HostError::Eval {
        op: schema.name.clone(),
        place: "a derived symbol".to_owned(),
        error,
    })
}

/// The extent that the schema gives to a dimension.
pub(super) fn dimension(
    schema: &Schema,
    operand: usize,
    dim: usize,
    values: &[i64],
) -> Result<i64, HostError> {
    let declared = &schema.operands[operand];
    schema
        .eval(&declared.dims[dim], values, false)
        .map_err(|error| HostError::Eval {
            op: schema.name.clone(),
            place: format!("operand `{}` dimension {dim}", declared.name),
            error,
        })
}

/// Holds a type against what the schema allows.
pub(super) fn check_dtype(
    schema: &Schema,
    operand: usize,
    got: OvertDType,
    dtype_of: impl Fn(usize) -> Option<OvertDType>,
) -> Result<(), HostError> {
    let declared = &schema.operands[operand];
    let wanted = match &declared.dtypes {
        Dtypes::Of { class, dtypes } if !dtypes.contains(&got) => {
            let names: Vec<String> = dtypes.iter().map(|d| Shown(*d).to_string()).collect();
            if dtypes.len() == 1 {
                names.concat()
            } else {
                format!("{class} ({})", names.join(", "))
            }
        }
        Dtypes::Like(other) if dtype_of(*other) != Some(got) => {
            let name = &schema.operands[*other].name;
            match dtype_of(*other) {
                Some(dtype) => format!("{}, the type of `{name}`", Shown(dtype)),
                None => format!("the type of `{name}`"),
            }
        }
        _ => return Ok(()),
    };
    Err(HostError::Dtype {
        op: schema.name.clone(),
        operand: declared.name.clone(),
        got: Shown(got).to_string(),
        wanted,
    })
}

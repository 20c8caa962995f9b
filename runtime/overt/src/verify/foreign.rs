//! Ops that a provider brings: geometries, contents and the answer of its own oracle.

use super::VerifyError;
use super::walk::gathered;
use super::wanted::{Wanted, WantedOutput};
use crate::ffi::Words;
use crate::registry::Op;
use crate::value::{raw_bool, raw_f64, raw_i64, raw_str};
use overt_abi::{OVERT_OK, OVERT_TENSOR_ABSENT, OvertCall, OvertDType, OvertTensor, OvertValue};
use overt_kernels::dtype::{self, F64, is_block_format};
use overt_kernels::host::{HostCall, HostError, HostTensor, Storage};
use overt_kernels::op::{Geometry, Tolerance, Want};
use overt_kernels::ops::reshape_and_cache::storing;
use overt_kernels::schema::{AttrDefault, AttrType, AttrValue, Dtypes};

/// Extents that symbols get, in turn: one, small and distinct, a power of two, odd and larger.
const EXTENTS: [[i64; 4]; 4] = [[1, 1, 1, 1], [2, 3, 5, 7], [16, 32, 8, 4], [33, 31, 17, 9]];

/// Geometries of an op that states none: extents in turn, and each element type in turn. Those that break the schema (a
/// quotient that is not exact) are left out.
pub(super) fn geometries(op: &Op) -> Vec<Geometry> {
    let schema = op.schema();
    let bound = schema.bound_symbols();
    let choices = schema
        .operands
        .iter()
        .map(|o| match &o.dtypes {
            Dtypes::Of { dtypes, .. } => dtypes.len(),
            Dtypes::Like(_) => 1,
        })
        .max()
        .unwrap_or(1);
    let mut out = Vec::new();
    for (number, extents) in EXTENTS.iter().enumerate() {
        for choice in 0..choices {
            let mut geometry = Geometry::named(format!("extents{number}_types{choice}"));
            for (i, symbol) in schema.symbols[..bound].iter().enumerate() {
                geometry
                    .symbols
                    .push((symbol.clone(), extents[i % extents.len()]));
            }
            for operand in &schema.operands {
                if let Dtypes::Of { dtypes, .. } = &operand.dtypes {
                    let dtype = dtypes[choice % dtypes.len()];
                    geometry.dtypes.push((operand.name.clone(), dtype));
                }
            }
            for attr in schema
                .attrs
                .iter()
                .filter(|a| a.default == AttrDefault::Required)
            {
                let value = match attr.ty {
                    AttrType::Bool => AttrValue::Bool(true),
                    AttrType::I64 => AttrValue::I64(1),
                    AttrType::F64 => AttrValue::F64(1.0),
                    AttrType::Str => AttrValue::Str(String::new()),
                };
                geometry.attrs.push((attr.name.clone(), value));
            }
            if HostCall::from_geometry(schema, &geometry).is_ok() {
                out.push(geometry);
            }
        }
    }
    out
}

/// Floats in [-1, 1); integers and truth values 0, the one value that an index of anything non-empty may have.
pub(super) fn fill(call: &mut HostCall, seed: u64) -> Result<(), HostError> {
    let mut state = seed;
    let outputs = call.schema.input_count;
    for (number, operand) in call.operands.iter_mut().enumerate() {
        let Some(tensor) = operand else { continue };
        if number >= outputs {
            continue;
        }
        let float = tensor.storage()?.is_float();
        tensor.fill_with(|| {
            if float {
                (super::depth::next(&mut state) >> 11) as f64 / 2f64.powi(52) - 1.0
            } else {
                0.0
            }
        })?;
    }
    Ok(())
}

/// An op of a provider's own states no tolerance.
fn tolerance(dtype: OvertDType) -> Tolerance {
    if dtype.bits == 8 && Storage::of(dtype).is_ok_and(Storage::is_float) || is_block_format(dtype)
    {
        let once = storing(dtype);
        return Tolerance {
            absolute: 2.0 * once.absolute,
            relative: 2.0 * once.relative,
            floor: 2.0 * once.floor,
            reason: "the provider states none: storing to the output type, twice",
        };
    }
    let rounding = match dtype {
        dtype::F64 => 2f64.powi(-50),
        dtype::F16 => 2f64.powi(-10),
        dtype::BF16 => 2f64.powi(-7),
        dtype::F32 => 2f64.powi(-14),
        _ => 0.0,
    };
    Tolerance {
        absolute: rounding / 4.0,
        relative: rounding,
        floor: if rounding == 0.0 {
            f64::MIN_POSITIVE
        } else {
            Tolerance::floor_of(dtype)
        },
        reason: "the provider states none: two roundings to the output type, and f32 sums of some thousand terms; integers are exact",
    }
}

/// One operand as the oracle takes it: contiguous, floats as f64.
struct Flat {
    bytes: Vec<u64>,
    dtype: OvertDType,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl Flat {
    fn of(tensor: &HostTensor) -> Result<Flat, HostError> {
        let (dtype, bytes) = if tensor.storage()?.is_float() {
            let values = tensor.to_f64()?;
            (F64, values.iter().map(|v| v.to_bits()).collect())
        } else {
            let mut raw = gathered(tensor, &tensor.bytes)?;
            raw.resize(raw.len().next_multiple_of(8), 0);
            let words = raw
                .chunks_exact(8)
                .map(|c| u64::from_ne_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]));
            (tensor.dtype, words.collect())
        };
        let layout = HostTensor::contiguous(dtype, &tensor.shape)?;
        Ok(Flat {
            bytes,
            dtype,
            shape: layout.shape,
            strides: layout.strides,
        })
    }

    fn raw(&mut self) -> OvertTensor {
        let address = self.bytes.as_mut_ptr() as u64;
        OvertTensor {
            size: size_of::<OvertTensor>() as u32,
            flags: 0,
            dtype: self.dtype,
            rank: self.shape.len() as u32,
            handle: 0,
            byte_offset: 0,
            address,
            allocation_bytes: self.bytes.len() as u64 * 8,
            alignment: 8,
            layout: 0,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
        }
    }

    fn values(&self) -> Result<Vec<f64>, HostError> {
        let mut layout = HostTensor::contiguous(self.dtype, &self.shape)?;
        let bytes: Vec<u8> = self.bytes.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let len = layout.bytes.len();
        layout.bytes.copy_from_slice(&bytes[..len]);
        layout.to_f64()
    }
}

/// Asks the provider's oracle.
pub(super) fn wanted(op: &Op, host: &HostCall) -> Result<Wanted, VerifyError> {
    let Some(oracle) = op.0.oracle else {
        return Err(VerifyError::NoOracle {
            op: op.name().to_owned(),
        });
    };
    let mut flats = host
        .operands
        .iter()
        .map(|t| t.as_ref().map(Flat::of).transpose())
        .collect::<Result<Vec<_>, HostError>>()?;
    let raw: Vec<OvertTensor> = flats
        .iter_mut()
        .map(|flat| flat.as_mut().map_or_else(absent, Flat::raw))
        .collect();
    let attrs: Vec<OvertValue> = host.attrs.iter().map(attr).collect();
    let call = OvertCall {
        size: size_of::<OvertCall>() as u32,
        flags: 0,
        operand_count: raw.len() as u32,
        attr_count: attrs.len() as u32,
        operands: raw.as_ptr(),
        attrs: attrs.as_ptr(),
        knobs: std::ptr::null(),
        knob_count: 0,
        reserved: 0,
        workspace: std::ptr::null(),
        plan: std::ptr::null_mut(),
    };
    let mut words = Words::default();
    let sink = words.sink();
    // SAFETY: the oracle lies in a library that is never unloaded. Every operand is contiguous host memory that lives, exclusively
    // ours, until the call returns; shapes, strides, attributes and sink do too.
    let status = unsafe { oracle(&call, &sink) };
    if status != OVERT_OK {
        return Err(VerifyError::Oracle {
            op: op.name().to_owned(),
            status,
            words: words.take(),
        });
    }
    let outputs = host
        .outputs()
        .into_iter()
        .filter_map(|operand| {
            let dtype = host.operands[operand].as_ref()?.dtype;
            let flat = flats[operand].as_ref()?;
            Some(flat.values().map(|values| WantedOutput {
                operand,
                want: Want::All,
                values,
                tolerance: tolerance(dtype),
            }))
        })
        .collect::<Result<Vec<_>, HostError>>()?;
    Ok(Wanted { outputs })
}

fn absent() -> OvertTensor {
    OvertTensor {
        size: size_of::<OvertTensor>() as u32,
        flags: OVERT_TENSOR_ABSENT,
        dtype: OvertDType {
            code: 0,
            bits: 0,
            lanes: 0,
        },
        rank: 0,
        handle: 0,
        byte_offset: 0,
        address: 0,
        allocation_bytes: 0,
        alignment: 0,
        layout: 0,
        shape: std::ptr::null(),
        strides: std::ptr::null(),
    }
}

fn attr(value: &AttrValue) -> OvertValue {
    match value {
        AttrValue::Bool(b) => raw_bool(*b),
        AttrValue::I64(i) => raw_i64(*i),
        AttrValue::F64(f) => raw_f64(*f),
        AttrValue::Str(s) => raw_str(s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::Binder;
    use crate::ffi::text;
    use crate::registry::OpEntry;
    use overt_abi::{OVERT_E_INTERNAL, OvertOracle, OvertSink, OvertStatus};
    use std::sync::Arc;

    /// `out = factor * x`, and `sum` counts what `ids` holds, so that floats, integers and an absent operand all pass the line.
    const SCHEMA: &str = "t:scaled.1(x: float[R,C], ids: i32[R], bias?: f32[C]) -> out: like x[R,C], sum: i64[R];\n\
                          factor: f64; where half = C / 1 exact";

    unsafe extern "C" fn scaled(call: *const OvertCall, _: *const OvertSink) -> OvertStatus {
        // SAFETY: the caller passes a call whose operands are contiguous host memory, as the ABI says of oracles.
        unsafe {
            let call = &*call;
            let operands = std::slice::from_raw_parts(call.operands, call.operand_count as usize);
            let factor = (*call.attrs).data.f;
            assert_eq!(operands[2].flags & OVERT_TENSOR_ABSENT, OVERT_TENSOR_ABSENT);
            assert_eq!((operands[0].dtype, operands[3].dtype), (F64, F64));
            let (rows, columns) = (*operands[0].shape, *operands[0].shape.add(1));
            let (x, out) = (
                operands[0].address as *const f64,
                operands[3].address as *mut f64,
            );
            let (ids, sum) = (
                operands[1].address as *const i32,
                operands[4].address as *mut i64,
            );
            for i in 0..(rows * columns) as usize {
                *out.add(i) = factor * *x.add(i);
            }
            for r in 0..rows as usize {
                *sum.add(r) = i64::from(*ids.add(r)) + 40 + r as i64;
            }
        }
        OVERT_OK
    }

    unsafe extern "C" fn broken(_: *const OvertCall, sink: *const OvertSink) -> OvertStatus {
        // SAFETY: the sink is the host's own and valid for the call.
        unsafe {
            let sink = &*sink;
            if let Some(write) = sink.write {
                write(sink.context, text("the table is gone"));
            }
        }
        OVERT_E_INTERNAL
    }

    fn op(oracle: Option<OvertOracle>) -> Op {
        let schema =
            Arc::new(overt_kernels::schema::parse(SCHEMA).unwrap_or_else(|e| panic!("{e}")));
        Op(Arc::new(OpEntry {
            number: 0,
            binder: Binder::new(&schema).unwrap(),
            schema,
            common: None,
            oracle,
            provider: Some("t".into()),
        }))
    }

    fn filled(op: &Op, geometry: &Geometry) -> HostCall {
        let mut call = HostCall::from_geometry(op.schema(), geometry).unwrap();
        fill(&mut call, 3).unwrap();
        call
    }

    #[test]
    fn a_providers_own_oracle_is_asked_in_f64_and_its_answer_taken() {
        let op = op(Some(scaled));
        let geometries = geometries(&op);
        assert_eq!(
            geometries.len(),
            EXTENTS.len() * 3,
            "each extent with each float"
        );
        for geometry in geometries {
            let padded = geometry.padded(&[("x", 3), ("out", 5)]);
            let call = filled(&op, &padded);
            let wanted = wanted(&op, &call).unwrap();
            let x = call.operand("x").unwrap().to_f64().unwrap();
            assert!(x.iter().any(|v| *v != 0.0));
            assert_eq!(wanted.outputs[0].operand, 3);
            assert_eq!(wanted.outputs[0].values, x, "the required factor is 1");
            let rows = call.symbol("R").unwrap();
            let sums: Vec<f64> = (0..rows).map(|r| 40.0 + r as f64).collect();
            assert_eq!(wanted.outputs[1].values, sums);
        }
    }

    #[test]
    fn integers_have_no_tolerance_to_speak_of_and_floats_follow_their_type() {
        let exact = tolerance(dtype::I64);
        assert!(exact.allows(7.0, 7.0, 7.0) && !exact.allows(7.0, 8.0, 7.0));
        assert!(tolerance(dtype::BF16).relative > tolerance(dtype::F32).relative);
        let narrow = tolerance(dtype::FP8_E4M3FN);
        assert!(narrow.allows(18.0, 17.0, 17.0) && !narrow.allows(20.0, 17.0, 17.0));
        assert!(tolerance(dtype::Q8_0).absolute > 0.0);
    }

    #[test]
    fn an_oracle_that_fails_is_quoted_and_a_missing_one_named() {
        let broken = op(Some(broken));
        let call = filled(&broken, &geometries(&broken)[0]);
        let error = wanted(&broken, &call).unwrap_err().to_string();
        assert!(
            error.contains("t:scaled.1") && error.contains("the table is gone"),
            "{error}"
        );
        let none = op(None);
        let error = wanted(&none, &call).unwrap_err();
        assert!(matches!(error, VerifyError::NoOracle { .. }), "{error}");
    }
}

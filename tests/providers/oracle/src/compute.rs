//! From a job to the oracle and back.

use crate::context::Context;
use overt_kernels::host::{HostCall, HostTensor};
use overt_kernels::op::{Op, Want};
use overt_kernels::schema::AttrValue as Value;
use overt_sdk::host::Job;
use overt_sdk::{AttrValue, Error, Result, TensorView};
use std::fmt::Display;
use std::sync::Arc;

fn internal(error: impl Display) -> Error {
    Error::internal(error.to_string())
}

/// Fails where the instance was told to.
fn begin(job: &Job<'_>) -> Result<()> {
    let context = job.context::<Context>()?;
    let number = context
        .label
        .count(&format!("bodies of {}", context.device));
    if context.has(&format!("fail:{}:{number}", context.device)) {
        return Err(Error::internal("the device raised a fault"));
    }
    Ok(())
}

/// Computes the op by its oracle.
pub fn compute(job: &Job<'_>, op: &'static Op) -> Result<()> {
    begin(job)?;
    let call = job.call();
    let schema = Arc::new(op.parse().map_err(internal)?);
    let operands = (0..call.operand_count())
        .map(|index| call.optional(index)?.map(|view| tensor(&view)).transpose())
        .collect::<Result<_>>()?;
    let mut attrs = Vec::new();
    for (index, attr) in schema.attrs.iter().enumerate() {
        let value = match call.attr(index)? {
            AttrValue::Bool(b) => Value::Bool(b),
            AttrValue::I64(i) => Value::I64(i),
            AttrValue::F64(f) => Value::F64(f),
            AttrValue::Str(s) => Value::Str(s.to_owned()),
            other => {
                return Err(internal(format!("attribute `{}` is {other:?}", attr.name)));
            }
        };
        attrs.push((attr.name.clone(), value));
    }
    let host = HostCall::bind(&schema, operands, &attrs).map_err(internal)?;
    (op.check_contents)(&host).map_err(internal)?;
    // All are computed before any is written, since an output may be the memory of an input.
    let outputs = host.outputs();
    let results: Vec<Vec<f64>> = outputs
        .iter()
        .map(|output| (op.oracle)(&host, *output, &Want::All))
        .collect();
    for (output, values) in outputs.into_iter().zip(results) {
        let view = job.view(output)?;
        let tensor = host.operands[output]
            .as_ref()
            .ok_or_else(|| internal("an output that is not there"))?;
        for (flat, value) in (0..).zip(values) {
            let index = tensor.index_of(flat).map_err(internal)?;
            view.store(tensor.offset(&index).map_err(internal)?, value);
        }
    }
    Ok(())
}

/// A copy of an operand.
fn tensor(view: &TensorView<'_>) -> Result<HostTensor> {
    let mut tensor =
        HostTensor::with_strides(view.dtype(), view.shape(), view.strides()).map_err(internal)?;
    let room = view.allocation_bytes().saturating_sub(view.byte_offset());
    if tensor.bytes.len() as u64 > room {
        return Err(internal(format!(
            "an operand of {} bytes in memory of {room}",
            tensor.bytes.len()
        )));
    }
    // SAFETY: the address was resolved from a live handle of this device and has at least so many bytes behind it, by the test above; the
    // host orders work on them. The target is fresh memory of that length.
    unsafe {
        let source = view.address() as usize as *const u8;
        source.copy_to_nonoverlapping(tensor.bytes.as_mut_ptr(), tensor.bytes.len());
    }
    Ok(tensor)
}

//! Checked mode: rules on the contents of operands, held before a call runs.

use super::stream::Stream;
use crate::bind::{Arguments, Bound, Call};
use crate::error::Error;
use crate::memory::Tensor;
use overt_abi::{OVERT_DTYPE_INT, OVERT_VALUE_BOOL, OVERT_VALUE_F64, OVERT_VALUE_I64};
use overt_kernels::host::{HostCall, HostTensor};
use overt_kernels::schema::AttrValue;

impl Stream {
    /// Reads the operands that the rules are about back, which waits for the stream, and holds them against the op's rules.
    #[cold]
    pub(super) fn check_contents(&self, call: &Call<'_>, bound: &Bound) -> Result<(), Error> {
        let Some(common) = call.op.common() else {
            return Ok(());
        };
        let host = self.host_call(call, bound, common.float_rules)?;
        (common.check_contents)(&host).map_err(|error| Error::Content {
            op: call.op.name().to_owned(),
            error,
        })
    }

    /// The call on host memory with the contents of its integer operands and of those named. Other operands have their shapes and no
    /// contents.
    fn host_call(
        &self,
        call: &Call<'_>,
        bound: &Bound,
        float_rules: &[&str],
    ) -> Result<HostCall, Error> {
        let schema = call.op.schema();
        let binder = &call.op.0.binder;
        let operands = (0..binder.operand_count())
            .map(|index| {
                let Some(tensor) = call.tensor(index) else {
                    return Ok(None);
                };
                let named = float_rules.contains(&schema.operands[index].name.as_str());
                let bytes = if named || tensor.dtype().code == OVERT_DTYPE_INT {
                    self.read_vec(tensor)?
                } else {
                    Vec::new()
                };
                Ok(Some(host_tensor(tensor, bytes)))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(HostCall {
            schema: schema.clone(),
            operands,
            attrs: bound_attrs(bound),
            symbols: bound.symbols[..schema.symbols.len()].to_vec(),
            lengths: Vec::new(),
        })
    }
}

fn host_tensor(tensor: &Tensor, bytes: Vec<u8>) -> HostTensor {
    HostTensor {
        dtype: tensor.dtype(),
        shape: tensor.shape().to_vec(),
        strides: tensor.view().strides().to_vec(),
        bytes,
    }
}

/// Bound attributes as owned values.
fn bound_attrs(bound: &Bound) -> Vec<AttrValue> {
    bound
        .attrs()
        .iter()
        .map(|value| {
            // SAFETY: binding checked every attribute's type, and `kind` says which member is live; text outlives the binding.
            unsafe {
                match value.kind {
                    OVERT_VALUE_BOOL => AttrValue::Bool(value.data.i != 0),
                    OVERT_VALUE_I64 => AttrValue::I64(value.data.i),
                    OVERT_VALUE_F64 => AttrValue::F64(value.data.f),
                    _ => AttrValue::Str(crate::bind::str_of(value).to_owned()),
                }
            }
        })
        .collect()
}

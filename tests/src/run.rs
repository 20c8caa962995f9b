//! Calls on a device: operands uploaded, results read back and held against the oracle.

use crate::problems;
use overt::kernels::host::{HostCall, HostTensor};
use overt::kernels::op::{Tolerance, Want};
use overt::kernels::schema::AttrValue;
use overt::{
    Allocation, Attr, Call, Device, Error, Launched, MemoryKind, Op, Runtime, Stream, Tensor,
    Witness,
};

/// A call whose operands lie on a device.
pub struct Uploaded {
    /// Its op.
    pub op: Op,
    /// What was uploaded.
    pub host: HostCall,
    /// The operands.
    pub tensors: Vec<Option<Tensor>>,
}

/// An attribute's value as the runtime takes it.
pub fn attr(value: &AttrValue) -> Attr<'_> {
    match value {
        AttrValue::Bool(b) => Attr::Bool(*b),
        AttrValue::I64(i) => Attr::I64(*i),
        AttrValue::F64(f) => Attr::F64(*f),
        AttrValue::Str(s) => Attr::Str(s),
    }
}

/// Puts one tensor on the stream's device, with its strides.
pub fn upload(stream: &Stream, tensor: &HostTensor) -> Result<Tensor, Error> {
    let view = problems::view(tensor);
    let allocation = Allocation::new(stream.device(), view.span_bytes(), 256, MemoryKind::Device)?;
    let there = Tensor::over(allocation, view, 0)?;
    stream.write(&there, &tensor.bytes)?;
    Ok(there)
}

impl Uploaded {
    /// Puts every operand on the stream's device.
    pub fn new(stream: &Stream, host: HostCall) -> Result<Uploaded, Error> {
        let op = stream.runtime().op(&host.schema.name)?;
        let tensors = host
            .operands
            .iter()
            .map(|operand| operand.as_ref().map(|t| upload(stream, t)).transpose())
            .collect::<Result<_, _>>()?;
        Ok(Uploaded { op, host, tensors })
    }

    /// The call.
    pub fn call(&self) -> Call<'_> {
        let mut call = Call::new(&self.op);
        for (index, tensor) in self.tensors.iter().enumerate() {
            call.set(index, tensor.as_ref());
        }
        for (index, value) in self.host.attrs.iter().enumerate() {
            call.set_attr(index, attr(value))
                .unwrap_or_else(|error| panic!("{error}"));
        }
        call
    }

    /// Reads an operand back.
    pub fn read(&self, stream: &Stream, operand: &str) -> HostTensor {
        let index = self
            .host
            .schema
            .operand(operand)
            .unwrap_or_else(|| panic!("operand {operand}"));
        let tensor = self.tensors[index]
            .as_ref()
            .unwrap_or_else(|| panic!("operand {operand} is absent"));
        let host = self.host.operands[index]
            .as_ref()
            .unwrap_or_else(|| panic!("operand {operand} is absent"));
        HostTensor {
            bytes: stream
                .read_vec(tensor)
                .unwrap_or_else(|error| panic!("{error}")),
            ..host.clone()
        }
    }

    /// Holds every output against the oracle; an error names the first element that is too far off.
    pub fn check(&self, stream: &Stream) -> Result<(), String> {
        let common = self.op.common().ok_or("an op without a common oracle")?;
        for output in self.host.outputs() {
            let name = &self.host.schema.operands[output].name;
            let got = self.read(stream, name);
            let values = got.to_f64().map_err(|error| error.to_string())?;
            let want = (common.oracle)(&self.host, output, &Want::All);
            let tolerance = (common.tolerance)(&self.host, output);
            let width = got.shape.last().copied().unwrap_or(1).max(1) as usize;
            for (row, (values, want)) in values.chunks(width).zip(want.chunks(width)).enumerate() {
                let scale = Tolerance::scale_of(want);
                for (column, (value, want)) in values.iter().zip(want).enumerate() {
                    if !tolerance.allows(*value, *want, scale) {
                        return Err(format!(
                            "{name} row {row} column {column} is {value}; the oracle says {want}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Dispatches a call on a device, checks it and returns the kernel that a witness saw.
pub fn verified(runtime: &Runtime, device: &Device, host: HostCall) -> (String, Launched) {
    let stream = runtime
        .stream(device)
        .unwrap_or_else(|error| panic!("{error}"));
    let uploaded = Uploaded::new(&stream, host).unwrap_or_else(|error| panic!("{error}"));
    let witness = Witness::new();
    let launched = stream
        .dispatch(&uploaded.call().witnessed(&witness))
        .unwrap_or_else(|error| panic!("{error}"));
    uploaded
        .check(&stream)
        .unwrap_or_else(|error| panic!("{error}"));
    let kernel = launched.kernel(runtime);
    if launched.launches > 0 {
        witness
            .assert_only(&kernel, 1)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    (kernel, launched)
}

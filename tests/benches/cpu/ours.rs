//! Calls through the runtime's public API.

use overt::kernels::host::HostCall;
use overt::kernels::op::{Geometry, Op as Common};
use overt::kernels::{ops, schema::AttrValue};
use overt::{Attr, Call, Device, Error, Op, Runtime, Stream, Tensor};
use std::sync::Arc;

/// Bytes over which the copies of a weight are spread at least, so that no cache holds what is read again.
const FAR: usize = 192 << 20;
/// Most copies.
const COPIES: usize = 400;

/// A call without contents.
pub fn shaped(op: &'static Common, geometry: &Geometry) -> Result<HostCall, String> {
    let schema = Arc::new(op.parse().map_err(|e| e.to_string())?);
    HostCall::from_geometry(&schema, geometry).map_err(|e| e.to_string())
}

/// A call with the op's seeded contents.
pub fn filled(op: &'static Common, geometry: &Geometry) -> Result<HostCall, String> {
    let mut call = shaped(op, geometry)?;
    (op.fill)(&mut call, 1);
    Ok(call)
}

/// The op of this name, if there is one in this build.
pub fn op(name: &str) -> Result<&'static Common, String> {
    ops::find(name).ok_or_else(|| format!("there is no op `{name}`"))
}

/// A call on the device, with copies of the operand that is read most.
pub struct Ours {
    op: Op,
    stream: Stream,
    pub host: HostCall,
    tensors: Vec<Option<Tensor>>,
    /// Its number, and its copies.
    rotated: Option<(usize, Vec<Tensor>)>,
    /// The kernel that serves it.
    pub kernel: String,
    /// Whether the rotated operand was repacked for that kernel.
    pub packed: bool,
}

impl Ours {
    /// Uploads; an error if no kernel of a better tier than reference serves the call.
    pub fn new(
        runtime: &Runtime,
        device: &Device,
        host: HostCall,
        rotate: Option<&str>,
    ) -> Result<Ours, String> {
        Self::uploaded(runtime, device, host, rotate).map_err(|e| e.to_string())?
    }

    fn uploaded(
        runtime: &Runtime,
        device: &Device,
        host: HostCall,
        rotate: Option<&str>,
    ) -> Result<Result<Ours, String>, Error> {
        let op = runtime.op(&host.schema.name)?;
        let stream = runtime.stream(device)?;
        let mut tensors = Vec::new();
        for operand in &host.operands {
            let Some(operand) = operand else {
                tensors.push(None);
                continue;
            };
            let tensor = Tensor::empty(device, operand.dtype, &operand.shape)?;
            stream.write(&tensor, &operand.bytes)?;
            tensors.push(Some(tensor));
        }
        let mut ours = Ours {
            op,
            stream,
            host,
            tensors,
            rotated: None,
            kernel: String::new(),
            packed: false,
        };
        let selection = runtime.explain_call(&ours.call(0), device)?;
        match &selection.chosen {
            None => return Ok(Err("no kernel serves it".into())),
            Some(chosen) if chosen.kernel.ends_with("/reference") => {
                return Ok(Err(format!("{} alone serves it", chosen.kernel)));
            }
            Some(chosen) => ours.kernel = chosen.kernel.clone(),
        }
        if let Some(name) = rotate {
            ours.rotate(device, name)?;
        }
        Ok(Ok(ours))
    }

    /// Copies an operand until no cache holds all copies, each repacked if the kernel repacks.
    fn rotate(&mut self, device: &Device, name: &str) -> Result<(), Error> {
        let number = self.host.schema.operand(name).expect("an operand");
        let operand = self.host.operands[number].as_ref().expect("it is present");
        let count = FAR.div_ceil(operand.bytes.len().max(1)).clamp(1, COPIES);
        let mut copies = Vec::new();
        for _ in 0..count {
            let plain = Tensor::empty(device, operand.dtype, &operand.shape)?;
            self.stream.write(&plain, &operand.bytes)?;
            self.tensors[number] = Some(plain.clone());
            let copy = self.stream.pack_weight(&self.call(0), name)?;
            self.stream.sync()?;
            self.packed |= !std::sync::Arc::ptr_eq(copy.allocation(), plain.allocation());
            copies.push(copy);
        }
        self.rotated = Some((number, copies));
        Ok(())
    }

    fn call(&self, turn: usize) -> Call<'_> {
        let mut call = Call::new(&self.op);
        for (number, tensor) in self.tensors.iter().enumerate() {
            call.set(number, tensor.as_ref());
        }
        if let Some((number, copies)) = &self.rotated {
            call.set(*number, Some(&copies[turn % copies.len()]));
        }
        for (number, value) in self.host.attrs.iter().enumerate() {
            let value = match value {
                AttrValue::Bool(b) => Attr::Bool(*b),
                AttrValue::I64(i) => Attr::I64(*i),
                AttrValue::F64(f) => Attr::F64(*f),
                AttrValue::Str(s) => Attr::Str(s),
            };
            call.set_attr(number, value).expect("an attribute");
        }
        call
    }

    /// Runs it to its end.
    pub fn run(&self, turn: usize) {
        self.stream.dispatch(&self.call(turn)).expect("a launch");
        self.stream.sync().expect("a successful launch");
    }

    /// The bytes of an operand.
    pub fn bytes(&self, name: &str) -> &[u8] {
        let number = self.host.schema.operand(name).expect("an operand");
        &self.host.operands[number]
            .as_ref()
            .expect("it is present")
            .bytes
    }

    /// The bytes of the output, as the last run left it.
    pub fn output(&self) -> Vec<u8> {
        let out = self.host.outputs()[0];
        let out = self.tensors[out].as_ref().expect("an output");
        self.stream.read_vec(out).expect("its bytes")
    }

    /// How many copies are in turn.
    pub fn copies(&self) -> usize {
        self.rotated.as_ref().map_or(1, |(_, copies)| copies.len())
    }
}

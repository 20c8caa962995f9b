//! A call whose operands lie on the device.
#![allow(dead_code)]

use crate::call;
use crate::support::*;
use overt_kernels::host::HostCall;
use overt_kernels::op::{Op, Want};
use overt_kernels::schema::AttrValue;
use overt_sdk::abi::*;
use overt_sdk::dtypes::{BF16, F16, F32, F64, I32, I64};
use std::ptr::{null, null_mut};

/// One geometry of an op, its operands on the device.
pub struct Case {
    pub host: HostCall,
    pub operands: Vec<OvertTensor>,
    pub attrs: Vec<OvertValue>,
}

fn value(attr: &AttrValue) -> OvertValue {
    let (kind, data) = match attr {
        AttrValue::Bool(b) => (OVERT_VALUE_BOOL, OvertValueData { i: i64::from(*b) }),
        AttrValue::I64(i) => (OVERT_VALUE_I64, OvertValueData { i: *i }),
        AttrValue::F64(f) => (OVERT_VALUE_F64, OvertValueData { f: *f }),
        AttrValue::Str(s) => (OVERT_VALUE_STR, OvertValueData { s: abi_str(s) }),
    };
    OvertValue {
        kind,
        reserved: 0,
        data,
    }
}

impl Case {
    pub fn new(s: &Session, host: HostCall) -> Self {
        let operands = host
            .operands
            .iter()
            .map(|operand| match operand {
                None => OvertTensor {
                    size: size_of::<OvertTensor>() as u32,
                    flags: OVERT_TENSOR_ABSENT,
                    dtype: overt_sdk::dtypes::F32,
                    rank: 0,
                    handle: 0,
                    byte_offset: 0,
                    address: 0,
                    allocation_bytes: 0,
                    alignment: 0,
                    layout: 0,
                    shape: null(),
                    strides: null(),
                },
                Some(t) => {
                    let a = s.alloc(0, (t.bytes.len() as u64).max(1));
                    OvertTensor {
                        size: size_of::<OvertTensor>() as u32,
                        flags: 0,
                        dtype: t.dtype,
                        rank: t.shape.len() as u32,
                        handle: a.handle,
                        byte_offset: 0,
                        address: a.address,
                        allocation_bytes: a.bytes,
                        alignment: a.alignment,
                        layout: 0,
                        shape: t.shape.as_ptr(),
                        strides: t.strides.as_ptr(),
                    }
                }
            })
            .collect();
        let attrs = host.attrs.iter().map(value).collect();
        Self {
            host,
            operands,
            attrs,
        }
    }

    pub fn upload(&self, s: &Session, stream: *mut OvertStream) {
        for (operand, tensor) in self.host.operands.iter().zip(&self.operands) {
            if let Some(t) = operand {
                let (data, bytes) = (t.bytes.as_ptr().cast(), t.bytes.len() as u64);
                call!(s, memory_copy_in(stream, tensor.handle, 0, data, bytes)).unwrap();
            }
        }
    }

    pub fn call(&self) -> OvertCall {
        OvertCall {
            size: size_of::<OvertCall>() as u32,
            flags: 0,
            operand_count: self.operands.len() as u32,
            attr_count: self.attrs.len() as u32,
            operands: self.operands.as_ptr(),
            attrs: self.attrs.as_ptr(),
            knobs: null(),
            knob_count: 0,
            reserved: 0,
            workspace: null(),
            plan: null_mut(),
        }
    }

    /// Holds the outputs on the device against the oracle; answers how many elements were compared.
    pub fn check(&self, s: &Session, stream: *mut OvertStream, op: &Op, label: &str) -> usize {
        let mut compared = 0;
        for output in self.host.outputs() {
            let mut got = self.host.operands[output].clone().unwrap();
            let bytes = got.bytes.len() as u64;
            let target = got.bytes.as_mut_ptr().cast();
            call!(
                s,
                memory_copy_out_sync(stream, self.operands[output].handle, 0, target, bytes)
            )
            .unwrap_or_else(|e| panic!("{label}: {e:?}"));
            let want = (op.oracle)(&self.host, output, &Want::All);
            let got = got.to_f64().unwrap();
            assert_eq!(got.len(), want.len(), "{label}");
            let tolerance = (op.tolerance)(&self.host, output);
            let width = *self.host.operands[output]
                .as_ref()
                .unwrap()
                .shape
                .last()
                .unwrap();
            let rows = got
                .chunks(width.max(1) as usize)
                .zip(want.chunks(width.max(1) as usize));
            for (row, (got, want)) in rows.enumerate() {
                let finite = want.iter().filter(|w| w.is_finite());
                let scale = (finite.map(|w| w * w).sum::<f64>() / want.len() as f64).sqrt();
                for (d, (g, w)) in got.iter().zip(want).enumerate() {
                    let right = tolerance.allows(*g, *w, scale);
                    assert!(
                        right,
                        "{label}: output {output} row {row} element {d}: {g}, wanted {w}"
                    );
                    compared += 1;
                }
            }
        }
        compared
    }

    pub fn inner_contiguous(&self, operands: &[usize]) -> bool {
        operands.iter().all(|i| {
            let t = self.host.operands[*i].as_ref().unwrap();
            t.shape.last().is_none_or(|d| *d <= 1) || t.strides.last() == Some(&1)
        })
    }

    /// Whether all floats are of 16 bits or more and nothing is scaled or rounded: what the kernels for dense operands take.
    pub fn plain(&self, op: &Op) -> bool {
        let wide = |dtype| matches!(dtype, F64 | F32 | F16 | BF16 | I32 | I64);
        let scaled = ["b_scale"].map(|name| self.host.operand(name).is_some());
        let given = ["k_scale", "v_scale", "int8_activations"].map(|name| {
            !matches!(
                self.host.attr(name),
                None | Some(AttrValue::Bool(false) | AttrValue::F64(1.0))
            )
        });
        assert_eq!(self.host.schema.name, op.name);
        self.host.operands.iter().flatten().all(|t| wide(t.dtype))
            && !scaled.contains(&true)
            && !given.contains(&true)
    }

    /// The bytes of an operand on the device.
    pub fn download(&self, s: &Session, stream: *mut OvertStream, operand: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.host.operands[operand].as_ref().unwrap().bytes.len()];
        let (target, len) = (bytes.as_mut_ptr().cast(), bytes.len() as u64);
        let handle = self.operands[operand].handle;
        call!(s, memory_copy_out_sync(stream, handle, 0, target, len)).unwrap();
        bytes
    }

    /// Launches and waits; the receipt's number of launches, or the failure.
    pub fn run(
        &self,
        s: &Session,
        stream: *mut OvertStream,
        kernel: &str,
    ) -> Result<u32, (OvertStatus, String)> {
        let opened = s.kernel(kernel);
        self.upload(s, stream);
        let raw = self.call();
        let mut receipt = empty_receipt();
        call!(s, launch(opened, stream, &raw, &mut receipt))?;
        call!(s, stream_sync(stream))?;
        Ok(receipt.launches)
    }
}

/// Kernels of the op that this machine runs.
pub fn runnable(op: &str) -> Vec<String> {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut kernels = vec![format!("cpu/{op}/reference")];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            kernels.push(format!("cpu/{op}/avx2"));
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
            {
                kernels.push(format!("cpu/{op}/avx512"));
            }
        }
    }
    kernels
}

//! Every kernel of the provider against its op's oracle, over the op's geometries, called through the table.
//!
//! The runtime's `verify` does this with selection and receipts; here it runs without a runtime, so that a fault is the
//! provider's own.

#[path = "../../sdk/tests/support/mod.rs"]
mod support;

use overt_cpu::Cpu;
use overt_kernels::host::HostCall;
use overt_kernels::op::{Op, Want};
use overt_kernels::schema::AttrValue;
use overt_sdk::abi::*;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use support::*;

/// One geometry of an op, its operands on the device.
struct Case {
    host: HostCall,
    operands: Vec<OvertTensor>,
    attrs: Vec<OvertValue>,
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
    fn new(s: &Session, host: HostCall) -> Self {
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

    fn upload(&self, s: &Session, stream: *mut OvertStream) {
        for (operand, tensor) in self.host.operands.iter().zip(&self.operands) {
            if let Some(t) = operand {
                let (data, bytes) = (t.bytes.as_ptr().cast(), t.bytes.len() as u64);
                call!(s, memory_copy_in(stream, tensor.handle, 0, data, bytes)).unwrap();
            }
        }
    }

    fn call(&self) -> OvertCall {
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
    fn check(&self, s: &Session, stream: *mut OvertStream, op: &Op, label: &str) -> usize {
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
            let tolerance =
                (op.tolerance)(output, self.host.operands[output].as_ref().unwrap().dtype);
            // Where a whole row lies among the type's subnormals, their spacing is the least error there is.
            let floor = match self.operands[output].dtype {
                overt_sdk::dtypes::F16 => 2f64.powi(-24),
                overt_sdk::dtypes::BF16 => 2f64.powi(-133),
                _ => 2f64.powi(-149),
            };
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
                    let right = if w.is_finite() {
                        let allowed = tolerance.absolute * scale + tolerance.relative * w.abs();
                        (g - w).abs() <= allowed + floor
                    } else {
                        g == w || (g.is_nan() && w.is_nan())
                    };
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

    fn inner_contiguous(&self, operands: &[usize]) -> bool {
        operands.iter().all(|i| {
            let t = self.host.operands[*i].as_ref().unwrap();
            t.shape.last().is_none_or(|d| *d <= 1) || t.strides.last() == Some(&1)
        })
    }
}

/// Runs a kernel over every geometry that `fits`, and answers how many there were.
fn verify(op: &'static Op, kernel: &str, fits: impl Fn(&Case) -> bool) -> usize {
    let s = Session::new::<Cpu>();
    let stream = s.stream();
    let opened = s.kernel(kernel);
    let schema = Arc::new(op.parse().unwrap());
    let (mut executed, mut compared) = (0, 0);
    for (seed, geometry) in (op.geometries)().iter().enumerate() {
        let label = format!("{kernel} on {}", geometry.name);
        let mut host = HostCall::from_geometry(&schema, geometry).unwrap();
        (op.fill)(&mut host, seed as u64);
        let case = Case::new(&s, host);
        if !fits(&case) {
            continue;
        }
        case.upload(&s, stream);
        let raw = case.call();
        let mut receipt = empty_receipt();
        call!(s, launch(opened, stream, &raw, &mut receipt))
            .unwrap_or_else(|e| panic!("{label}: {e:?}"));
        compared += case.check(&s, stream, op, &label);
        if receipt.launches > 0 {
            assert_eq!(str_of(receipt.entry), kernel.replace('/', "_"));
            executed += 1;
        }
        for tensor in &case.operands {
            // SAFETY: nothing is pending.
            unsafe { s.api.memory_free.unwrap()(s.devices[0], tensor.handle) };
        }
    }
    assert!(executed > 0 && compared > 0, "{kernel} executed nothing");
    executed
}

fn reference(op: &'static Op) {
    let short = op.name.split('.').next().unwrap();
    verify(op, &format!("cpu/{short}/reference"), |_| true);
}

#[test]
fn add_reference() {
    reference(&overt_kernels::ops::add::OP);
}

#[test]
fn rms_norm_reference() {
    reference(&overt_kernels::ops::rms_norm::OP);
}

#[test]
fn silu_and_mul_reference() {
    reference(&overt_kernels::ops::silu_and_mul::OP);
}

#[test]
fn reshape_and_cache_reference() {
    reference(&overt_kernels::ops::reshape_and_cache::OP);
}

#[test]
fn matmul_bt_reference() {
    reference(&overt_kernels::ops::matmul_bt::OP);
}

#[test]
fn paged_attention_reference() {
    reference(&overt_kernels::ops::paged_attention::OP);
}

/// The tuned kernels that this machine can run. Which ones it cannot is for the ledger of cases to count; here the test's output says so.
#[cfg(target_arch = "x86_64")]
fn tuned(op: &'static Op, name: &str, operands: &[usize], fits: impl Fn(&Case) -> bool) {
    let have = |isa: &str| match isa {
        "avx2" => {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
        }
        _ => {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
        }
    };
    for isa in ["avx2", "avx512"] {
        if have(isa) {
            verify(op, &format!("cpu/{name}/{isa}"), |case| {
                case.inner_contiguous(operands) && fits(case)
            });
        } else {
            println!("skipped cpu/{name}/{isa}: this CPU lacks it");
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn matmul_bt_tuned() {
    tuned(
        &overt_kernels::ops::matmul_bt::OP,
        "matmul_bt",
        &[0, 1, 3],
        |_| true,
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn paged_attention_tuned() {
    tuned(
        &overt_kernels::ops::paged_attention::OP,
        "paged_attention",
        &[0, 1, 2, 7],
        |case| {
            let guarded = |causal: &AttrValue, window: &AttrValue| {
                *causal == AttrValue::Bool(false) && *window != AttrValue::I64(0)
            };
            !guarded(&case.host.attrs[1], &case.host.attrs[2])
        },
    );
}

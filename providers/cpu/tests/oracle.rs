//! Every kernel of the provider against its op's oracle, over the op's geometries, called through the table.
//!
//! The runtime's `verify` does this with selection and receipts; here it runs without a runtime, so that a fault is the
//! provider's own.

#[path = "../../sdk/tests/support/mod.rs"]
mod support;

#[path = "support/case.rs"]
mod case;

use case::{Case, runnable};
use overt_cpu::Cpu;
use overt_kernels::host::HostCall;
use overt_kernels::op::Op;
use std::sync::Arc;
use support::*;

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
fn add_rms_norm_reference() {
    reference(&overt_kernels::ops::add_rms_norm::OP);
}

#[test]
fn embedding_reference() {
    reference(&overt_kernels::ops::embedding::OP);
}

#[test]
fn gelu_and_mul_reference() {
    reference(&overt_kernels::ops::gelu_and_mul::OP);
}

#[test]
fn greedy_argmax_reference() {
    reference(&overt_kernels::ops::greedy_argmax::OP);
}

#[test]
fn rope_reference() {
    reference(&overt_kernels::ops::rope::OP);
}

#[test]
fn sample_reference() {
    reference(&overt_kernels::ops::sample::OP);
}

#[test]
fn softmax_reference() {
    reference(&overt_kernels::ops::softmax::OP);
}

#[test]
fn swiglu_clamped_reference() {
    reference(&overt_kernels::ops::swiglu_clamped::OP);
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
fn memory_probe_reference() {
    reference(&overt_kernels::ops::memory_probe::OP);
}

#[test]
fn arithmetic_probe_reference() {
    reference(&overt_kernels::ops::arithmetic_probe::OP);
}

#[test]
fn matmul_bt_reference() {
    reference(&overt_kernels::ops::matmul_bt::OP);
}

#[test]
fn moe_router_topk_reference() {
    reference(&overt_kernels::ops::moe_router_topk::OP);
}

#[test]
fn moe_grouped_gemm_reference() {
    reference(&overt_kernels::ops::moe_grouped_gemm::OP);
}

#[test]
fn moe_combine_reference() {
    reference(&overt_kernels::ops::moe_combine::OP);
}

#[test]
fn paged_attention_reference() {
    reference(&overt_kernels::ops::paged_attention::OP);
}

/// The tuned kernels that this machine can run, where they fit; the others are named in the test's output.
#[cfg(target_arch = "x86_64")]
fn tuned_where(op: &'static Op, name: &str, fits: impl Fn(&Case) -> bool) {
    let have = runnable(name);
    for isa in ["avx2", "avx512"] {
        let kernel = format!("cpu/{name}/{isa}");
        if have.contains(&kernel) {
            verify(op, &kernel, &fits);
        } else {
            println!("not run: {kernel}, whose instructions this machine lacks");
        }
    }
}

/// Those that want plain types and contiguous rows of these operands.
#[cfg(target_arch = "x86_64")]
fn tuned(op: &'static Op, name: &str, operands: &[usize]) {
    tuned_where(op, name, |case| {
        case.inner_contiguous(operands) && case.plain(op)
    });
}

/// Those that want contiguous rows alone, at any type that the op has.
#[cfg(target_arch = "x86_64")]
fn tuned_rows(op: &'static Op, operands: &[usize]) {
    let name = op.name.split('.').next().unwrap();
    tuned_where(op, name, |case| case.inner_contiguous(operands));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn add_tuned() {
    tuned_rows(&overt_kernels::ops::add::OP, &[0, 1, 2]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn rms_norm_tuned() {
    tuned_rows(&overt_kernels::ops::rms_norm::OP, &[0, 1, 2]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn add_rms_norm_tuned() {
    tuned_rows(&overt_kernels::ops::add_rms_norm::OP, &[0, 1, 2, 3]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn silu_and_mul_tuned() {
    tuned_rows(&overt_kernels::ops::silu_and_mul::OP, &[0, 1]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn gelu_and_mul_tuned() {
    tuned_rows(&overt_kernels::ops::gelu_and_mul::OP, &[0, 1]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn swiglu_clamped_tuned() {
    tuned_rows(&overt_kernels::ops::swiglu_clamped::OP, &[0, 1]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn softmax_tuned() {
    tuned_rows(&overt_kernels::ops::softmax::OP, &[0, 1]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn greedy_argmax_tuned() {
    tuned_rows(&overt_kernels::ops::greedy_argmax::OP, &[0]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn sample_tuned() {
    tuned_rows(&overt_kernels::ops::sample::OP, &[0]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn rope_tuned() {
    tuned_rows(&overt_kernels::ops::rope::OP, &[0, 3]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn embedding_tuned() {
    tuned_rows(&overt_kernels::ops::embedding::OP, &[0, 2]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn reshape_and_cache_tuned() {
    use overt_kernels::dtype::{BF16, F16, F32};
    let op = &overt_kernels::ops::reshape_and_cache::OP;
    tuned_where(op, "reshape_and_cache", |case| {
        let plain = |i: usize| [F32, F16, BF16].contains(&case.operands[i].dtype);
        case.inner_contiguous(&[0, 1, 3, 4]) && plain(3) && plain(4)
    });
}

#[cfg(target_arch = "x86_64")]
#[test]
fn matmul_bt_tuned() {
    tuned(&overt_kernels::ops::matmul_bt::OP, "matmul_bt", &[0, 1, 4]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn paged_attention_tuned() {
    let op = &overt_kernels::ops::paged_attention::OP;
    tuned_where(op, "paged_attention", |case| {
        case.inner_contiguous(&[0, 1, 2, 7])
    });
}

#[cfg(target_arch = "x86_64")]
#[test]
fn moe_combine_tuned() {
    tuned_rows(&overt_kernels::ops::moe_combine::OP, &[0, 3]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn moe_router_topk_tuned() {
    tuned_rows(&overt_kernels::ops::moe_router_topk::OP, &[0]);
}

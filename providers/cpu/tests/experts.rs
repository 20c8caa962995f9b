//! The vector kernels of mixtures of experts against their ops' oracles, over every geometry that they take, and each token alone
//! against the batch.
#![cfg(target_arch = "x86_64")]

#[path = "../../sdk/tests/support/mod.rs"]
mod support;

#[path = "support/case.rs"]
mod case;

use case::Case;
use overt_cpu::Cpu;
use overt_kernels::dtype::{self, FP8_E4M3FN, FP8_E5M2};
use overt_kernels::host::{HostCall, HostTensor};
use overt_kernels::op::Op;
use overt_kernels::ops::{moe_combine, moe_grouped_gemm, moe_router_topk};
use overt_kernels::schema::AttrValue;
use overt_sdk::abi::*;
use std::ptr::null;
use std::sync::Arc;
use support::*;

/// Whether this machine has the instructions that a kernel's name ends with; says so if not.
fn have(kernel: &str) -> bool {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq");
    let have = if kernel.contains("vnni") {
        avx512 && is_x86_feature_detected!("avx512vnni")
    } else if kernel.contains("avx512") {
        avx512
    } else {
        avx2
    };
    if !have {
        println!("not run: {kernel}, whose instructions this machine lacks");
    }
    have
}

/// Launches with the workspace that the kernel asks for; answers how many launches there were.
fn launch(s: &Session, stream: *mut OvertStream, kernel: &str, case: &Case) -> u32 {
    let opened = s.kernel(kernel);
    case.upload(s, stream);
    let mut raw = case.call();
    let mut need = OvertWorkspaceNeed {
        size: size_of::<OvertWorkspaceNeed>() as u32,
        reserved: 0,
        bytes: 0,
        alignment: 0,
    };
    call!(s, kernel_workspace(opened, &raw, &mut need)).unwrap();
    let a = s.alloc(0, need.bytes.max(1));
    let space = OvertTensor {
        dtype: dtype::U8,
        rank: 0,
        handle: a.handle,
        byte_offset: 0,
        address: a.address,
        allocation_bytes: a.bytes,
        alignment: a.alignment,
        layout: 0,
        shape: null(),
        strides: null(),
        ..case.operands[0]
    };
    if need.bytes > 0 {
        raw.workspace = &space;
    }
    let mut receipt = empty_receipt();
    call!(s, launch(opened, stream, &raw, &mut receipt)).unwrap();
    call!(s, stream_sync(stream)).unwrap();
    if receipt.launches > 0 {
        assert_eq!(str_of(receipt.entry), kernel.replace('/', "_"));
    }
    // SAFETY: nothing is pending.
    unsafe { s.api.memory_free.unwrap()(s.devices[0], space.handle) };
    receipt.launches
}

fn free(s: &Session, case: &Case) {
    for tensor in &case.operands {
        // SAFETY: nothing is pending.
        unsafe { s.api.memory_free.unwrap()(s.devices[0], tensor.handle) };
    }
}

/// Token `t` of a call by itself.
fn alone(host: &HostCall, t: i64) -> HostCall {
    let number = host.schema.symbol("T");
    let operands = host.operands.iter().zip(&host.schema.operands);
    let operands = operands
        .map(|(tensor, declared)| {
            let tensor = tensor.as_ref()?;
            let rows = matches!(
                declared.dims.first(),
                Some(overt_kernels::schema::Expr::Symbol(s)) if Some(*s) == number
            );
            if !rows {
                return Some(tensor.clone());
            }
            let mut shape = tensor.shape.clone();
            shape[0] = 1;
            let mut one = HostTensor::with_strides(tensor.dtype, &shape, &tensor.strides).unwrap();
            let start = (t * tensor.strides[0]) as usize * tensor.element().unwrap().bytes();
            let len = one.bytes.len();
            if len == 0 {
                return Some(one);
            }
            one.bytes.copy_from_slice(&tensor.bytes[start..start + len]);
            Some(one)
        })
        .collect();
    let attrs: Vec<_> = host
        .schema
        .attrs
        .iter()
        .map(|a| a.name.clone())
        .zip(host.attrs.clone())
        .collect();
    HostCall::bind(&host.schema, operands, &attrs).unwrap()
}

/// The bytes of an output's elements, row by row.
fn rows(host: &HostCall, output: usize, bytes: &[u8]) -> Vec<Vec<u8>> {
    let layout = host.operands[output].as_ref().unwrap();
    let size = layout.element().unwrap().bytes();
    let per_row = layout.shape[1..].iter().product::<i64>() as u64;
    (0..layout.shape[0] as u64)
        .map(|t| {
            (t * per_row..(t + 1) * per_row)
                .flat_map(|flat| {
                    let index = layout.index_of(flat).unwrap();
                    let at = layout.offset(&index).unwrap() as usize * size;
                    bytes[at..at + size].to_vec()
                })
                .collect()
        })
        .collect()
}

fn verify(op: &'static Op, kernel: &str, fits: impl Fn(&HostCall) -> bool) {
    if !have(kernel) {
        return;
    }
    let s = Session::new::<Cpu>();
    let stream = s.stream();
    let schema = Arc::new(op.parse().unwrap());
    let (mut executed, mut compared) = (0, 0);
    for (seed, geometry) in (op.geometries)().iter().enumerate() {
        let label = format!("{kernel} on {}", geometry.name);
        let mut host = HostCall::from_geometry(&schema, geometry).unwrap();
        (op.fill)(&mut host, seed as u64);
        if !fits(&host) {
            continue;
        }
        let case = Case::new(&s, host);
        let launched = launch(&s, stream, kernel, &case) > 0;
        executed += usize::from(launched);
        case.check(&s, stream, op, &label);
        let tokens = case.host.symbol("T").unwrap();
        if launched && tokens > 1 {
            let t = seed as i64 % tokens;
            let one = Case::new(&s, alone(&case.host, t));
            launch(&s, stream, kernel, &one);
            for output in case.host.outputs() {
                let all = rows(&case.host, output, &case.download(&s, stream, output));
                let got = rows(&one.host, output, &one.download(&s, stream, output));
                assert_eq!(got[0], all[t as usize], "{label}: token {t} alone");
                compared += 1;
            }
            free(&s, &one);
        }
        free(&s, &case);
    }
    println!("{kernel}: {executed} geometries, {compared} outputs of a token alone");
    assert!(
        executed > 10 && compared > 5,
        "{kernel}: {executed}, {compared}"
    );
}

fn weight(host: &HostCall) -> OvertDType {
    host.operand("b").unwrap().dtype
}

fn rounded(host: &HostCall) -> bool {
    host.attr("int8_activations") == Some(&AttrValue::Bool(true))
}

fn scaled(host: &HostCall) -> bool {
    host.operand("b_scale").is_some()
}

#[test]
fn choices() {
    for isa in ["avx2", "avx512"] {
        let kernel = format!("cpu/moe_router_topk/{isa}");
        verify(&moe_router_topk::OP, &kernel, |_| true);
    }
}

#[test]
fn sums() {
    for isa in ["avx2", "avx512"] {
        verify(&moe_combine::OP, &format!("cpu/moe_combine/{isa}"), |_| {
            true
        });
    }
}

#[test]
fn products_of_dense_experts() {
    let dense = |host: &HostCall| {
        let wide = [dtype::F32, dtype::F16, dtype::BF16].contains(&weight(host));
        wide && !scaled(host) && !rounded(host)
    };
    for isa in ["avx2", "avx512"] {
        let kernel = format!("cpu/moe_grouped_gemm/{isa}");
        verify(&moe_grouped_gemm::OP, &kernel, dense);
        let kernel = format!("cpu/moe_grouped_gemm/{isa}_many");
        verify(&moe_grouped_gemm::OP, &kernel, dense);
    }
}

#[test]
fn products_of_experts_in_block_formats() {
    let blocks = |host: &HostCall| dtype::is_block_format(weight(host)) && !scaled(host);
    for isa in ["avx2", "avx512"] {
        let kernel = format!("cpu/moe_grouped_gemm/quant_{isa}");
        verify(&moe_grouped_gemm::OP, &kernel, blocks);
    }
    verify(
        &moe_grouped_gemm::OP,
        "cpu/moe_grouped_gemm/quant_vnni",
        |h| blocks(h) && rounded(h),
    );
}

#[test]
fn products_of_experts_in_fp8() {
    for isa in ["avx2", "avx512"] {
        let kernel = format!("cpu/moe_grouped_gemm/fp8_{isa}");
        verify(&moe_grouped_gemm::OP, &kernel, |host| {
            [FP8_E4M3FN, FP8_E5M2].contains(&weight(host)) && !rounded(host)
        });
    }
}

//! The kernels of quantised weights against the op's oracle, over every geometry that they take, with plain and with packed
//! weights, called through the table.
#![cfg(target_arch = "x86_64")]

#[path = "../../sdk/tests/support/mod.rs"]
mod support;

#[path = "support/case.rs"]
mod case;

use case::Case;
use overt_cpu::Cpu;
use overt_kernels::dtype::{FP8_E4M3FN, FP8_E5M2, is_block_format};
use overt_kernels::host::HostCall;
use overt_kernels::ops::matmul_bt::OP;
use overt_kernels::schema::AttrValue;
use overt_sdk::abi::*;
use std::ptr::null;
use std::sync::Arc;
use support::*;

const B: usize = 1;

/// What a kernel takes.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Blocks { rounded: bool },
    Fp8,
}

impl Takes {
    fn fits(self, case: &Case) -> bool {
        let b = case.host.operand("b").unwrap().dtype;
        let rounded = case.host.attr("int8_activations") == Some(&AttrValue::Bool(true));
        let scaled = case.host.operand("b_scale").is_some();
        let given = match self {
            Takes::Blocks { rounded: wanted } => is_block_format(b) && !scaled && rounded == wanted,
            Takes::Fp8 => [FP8_E4M3FN, FP8_E5M2].contains(&b) && !rounded,
        };
        given && case.inner_contiguous(&[0, B, 4])
    }
}

/// A tensor of plain bytes on the device.
fn bytes(s: &Session, count: u64, layout: u64, like: &OvertTensor) -> OvertTensor {
    let memory = s.alloc(0, count.max(1));
    OvertTensor {
        handle: memory.handle,
        byte_offset: 0,
        address: memory.address,
        allocation_bytes: memory.bytes,
        alignment: memory.alignment,
        layout,
        ..*like
    }
}

fn free(s: &Session, tensor: &OvertTensor) {
    if tensor.handle != 0 {
        // SAFETY: nothing is pending.
        unsafe { s.api.memory_free.unwrap()(s.devices[0], tensor.handle) };
    }
}

/// Launches over a case and holds the output against the oracle.
fn launch(
    s: &Session,
    stream: *mut OvertStream,
    opened: *mut OvertKernel,
    case: &Case,
    label: &str,
) -> Vec<u8> {
    let mut raw = case.call();
    let mut need = OvertWorkspaceNeed {
        size: size_of::<OvertWorkspaceNeed>() as u32,
        reserved: 0,
        bytes: 0,
        alignment: 0,
    };
    call!(s, kernel_workspace(opened, &raw, &mut need))
        .unwrap_or_else(|e| panic!("{label}: {e:?}"));
    let mut space = bytes(s, need.bytes, 0, &case.operands[B]);
    (space.rank, space.shape, space.strides) = (0, null(), null());
    raw.workspace = &space;
    let mut receipt = empty_receipt();
    call!(s, launch(opened, stream, &raw, &mut receipt))
        .unwrap_or_else(|e| panic!("{label}: {e:?}"));
    case.check(s, stream, &OP, label);
    free(s, &space);
    case.download(s, stream, 4)
}

fn verify(kernel: &str, takes: Takes) {
    let s = Session::new::<Cpu>();
    let stream = s.stream();
    let opened = s.kernel(kernel);
    let schema = Arc::new(OP.parse().unwrap());
    let mut executed = 0;
    for (seed, geometry) in (OP.geometries)().iter().enumerate() {
        let label = format!("{kernel} on {}", geometry.name);
        let mut host = HostCall::from_geometry(&schema, geometry).unwrap();
        (OP.fill)(&mut host, seed as u64);
        let mut case = Case::new(&s, host);
        if takes.fits(&case) {
            case.upload(&s, stream);
            let plain = launch(&s, stream, opened, &case, &label);
            let source = case.operands[B];
            let mut layout = OvertWeightsLayout {
                size: size_of::<OvertWeightsLayout>() as u32,
                reserved: 0,
                key: 0,
                bytes: 0,
                alignment: 0,
            };
            let b = B as u32;
            call!(
                s,
                weights_layout(opened, b, &source, null(), 0, &mut layout)
            )
            .unwrap();
            assert_ne!(layout.key, 0, "{label}");
            let packed = bytes(&s, layout.bytes, layout.key, &source);
            assert!(packed.alignment >= layout.alignment, "{label}");
            let mut receipt = empty_receipt();
            call!(
                s,
                weights_pack(opened, stream, b, &source, &packed, null(), 0, &mut receipt)
            )
            .unwrap();
            case.operands[B] = packed;
            // The output is as it was before, so that what is not written shows.
            let out = case.host.operands[4].as_ref().unwrap();
            let (data, count) = (out.bytes.as_ptr().cast(), out.bytes.len() as u64);
            call!(
                s,
                memory_copy_in(stream, case.operands[4].handle, 0, data, count)
            )
            .unwrap();
            let repacked = launch(&s, stream, opened, &case, &format!("{label}, packed"));
            assert!(
                plain == repacked,
                "{label}: packed and plain weights give other bits"
            );
            free(&s, &source);
            executed += 1;
        }
        for tensor in &case.operands {
            free(&s, tensor);
        }
    }
    println!("{kernel}: {executed} geometries");
    assert!(executed > 0, "{kernel} executed nothing");
}

fn have(features: &[(&str, bool)], kernels: &[(&str, Takes)]) {
    match features.iter().find(|(_, on)| !on) {
        Some((missing, _)) => println!("not run for lack of {missing}: {}", kernels.len()),
        None => {
            for (kernel, takes) in kernels {
                verify(kernel, *takes);
            }
        }
    }
}

macro_rules! features {
    ($($name:tt),*) => { [$(($name, is_x86_feature_detected!($name))),*] };
}

const EXACT: Takes = Takes::Blocks { rounded: false };
const ROUNDED: Takes = Takes::Blocks { rounded: true };

#[test]
fn avx2_is_right() {
    have(
        &features!["avx2", "fma", "f16c"],
        &[
            ("cpu/matmul_bt/quant_avx2", EXACT),
            ("cpu/matmul_bt/quant_fixed_avx2", EXACT),
            ("cpu/matmul_bt/quant_int8_avx2", ROUNDED),
            ("cpu/matmul_bt/fp8_avx2", Takes::Fp8),
        ],
    );
}

#[test]
fn avx512_is_right() {
    have(
        &features!["avx512f", "avx512bw", "avx512vl", "avx512dq", "fma", "f16c"],
        &[
            ("cpu/matmul_bt/quant_avx512", EXACT),
            ("cpu/matmul_bt/quant_fixed_avx512", EXACT),
            ("cpu/matmul_bt/quant_int8_avx512", ROUNDED),
            ("cpu/matmul_bt/fp8_avx512", Takes::Fp8),
        ],
    );
}

#[test]
fn vnni_is_right() {
    have(
        &features![
            "avx512f",
            "avx512bw",
            "avx512vl",
            "avx512dq",
            "avx512vnni",
            "fma",
            "f16c"
        ],
        &[
            ("cpu/matmul_bt/quant_fixed_vnni", EXACT),
            ("cpu/matmul_bt/quant_int8_vnni", ROUNDED),
        ],
    );
}

#[test]
fn a_launch_without_its_workspace_or_in_a_foreign_layout_is_refused() {
    if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
        println!("not run for lack of avx2 or fma");
        return;
    }
    let s = Session::new::<Cpu>();
    let stream = s.stream();
    let schema = Arc::new(OP.parse().unwrap());
    let geometries = (OP.geometries)();
    let mut case = geometries
        .iter()
        .map(|g| {
            let mut host = HostCall::from_geometry(&schema, g).unwrap();
            (OP.fill)(&mut host, 1);
            Case::new(&s, host)
        })
        .find(|case| EXACT.fits(case))
        .expect("a geometry of a block format");
    let (_, words) = case
        .run(&s, stream, "cpu/matmul_bt/quant_avx2")
        .expect_err("no workspace was given");
    assert!(words.contains("workspace"), "{words}");
    case.operands[B].layout = 7;
    let (_, words) = case
        .run(&s, stream, "cpu/matmul_bt/quant_avx2")
        .expect_err("nobody packed it");
    assert!(words.contains("layout 0x7"), "{words}");
}

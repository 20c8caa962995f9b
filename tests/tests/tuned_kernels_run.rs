//! The tuned kernels of the CPU provider are what runs where they should: for each class of shapes a witness must have seen the kernel
//! by name. Making one's guard unsatisfiable, dropping its registration or having it launch another body turns these tests red, and
//! they say what ran instead.

use overt::kernels::dtype::{
    BF16, F16, F32, MXFP4, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0,
};
use overt::kernels::host::HostCall;
use overt::kernels::op::Geometry;
use overt::kernels::schema::AttrValue;
use overt::{DType, Runtime};
use overt_tests::case;
use overt_tests::problems::{self, Attention};
use overt_tests::run::verified;
use overt_tests::start;

const FLOATS: [DType; 3] = [F32, F16, BF16];

/// Shapes of a product of few rows, uneven sizes among them.
const FEW: [(i64, i64, i64); 5] = [
    (1, 64, 64),
    (1, 37, 129),
    (4, 16, 256),
    (7, 1, 1),
    (15, 9, 40),
];

/// Shapes of a product of many rows.
const MANY: [(i64, i64, i64); 3] = [(16, 9, 40), (33, 65, 31), (128, 96, 64)];

fn products(shapes: &[(i64, i64, i64)], types: &[DType]) -> Vec<HostCall> {
    shapes
        .iter()
        .flat_map(|&(m, n, k)| {
            types
                .iter()
                .map(move |&dtype| problems::matmul(m, n, k, dtype))
        })
        .collect()
}

/// Decode, prefill, mixed; every attribute and head width.
fn attentions() -> Vec<HostCall> {
    let shapes: [(&[i64], &[i64]); 4] = [
        (&[1, 1, 1], &[40, 1, 17]),
        (&[19], &[19]),
        (&[7, 0, 5], &[23, 9, 5]),
        (&[1, 6], &[64, 6]),
    ];
    let attrs: [&[(&str, AttrValue)]; 4] = [
        &[],
        &[("softcap", AttrValue::F64(50.0))],
        &[("window", AttrValue::I64(5))],
        &[("causal", AttrValue::Bool(false))],
    ];
    let mut calls = Vec::new();
    for (index, (queries, lengths)) in shapes.iter().enumerate() {
        for (number, attrs) in attrs.iter().enumerate() {
            for (dtype, widths) in FLOATS.into_iter().zip([(64, 64), (112, 112), (192, 128)]) {
                let attention = Attention {
                    queries: queries.to_vec(),
                    lengths: lengths.to_vec(),
                    heads: [(4, 4), (6, 2), (8, 1), (5, 1)][index],
                    widths,
                    page: [16, 1, 3, 64][number],
                    dtypes: (dtype, dtype, dtype),
                    sinks: number % 2 == 1,
                    attrs: attrs
                        .iter()
                        .map(|(n, v)| ((*n).to_owned(), v.clone()))
                        .collect(),
                };
                calls.push(attention.filled());
            }
        }
    }
    calls
}

fn expect(runtime: &Runtime, calls: Vec<HostCall>, wanted: &str) {
    let device = runtime.device("cpu").unwrap();
    let mut others = Vec::new();
    let count = calls.len();
    for host in calls {
        let shown = format!(
            "{:?}",
            host.operands
                .iter()
                .flatten()
                .map(|t| t.shape.clone())
                .collect::<Vec<_>>()
        );
        let (kernel, launched) = verified(runtime, &device, host);
        if kernel != wanted || launched.fallback {
            others.push(format!("{kernel} ran instead of {wanted} for {shown}"));
        }
    }
    assert!(
        others.is_empty(),
        "{} of {count}: {}",
        others.len(),
        others.join("\n")
    );
}

/// The features up to AVX2, so that a machine with AVX-512 tests these kernels too.
const AVX2: &str = "sse3,ssse3,sse4.1,sse4.2,popcnt,avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe";

/// What AVX-512 kernels need besides.
const AVX512: &str = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl";

fn cpu(features: &str) -> Runtime {
    start::cpu().knob("cpu.features", features).start().unwrap()
}

#[test]
fn avx2_serves_every_class_of_products() {
    case!("cpu", [Avx2], || {
        let runtime = cpu(AVX2);
        expect(&runtime, products(&FEW, &FLOATS), "cpu/matmul_bt/avx2");
        expect(
            &runtime,
            products(&MANY, &FLOATS),
            "cpu/matmul_bt/avx2_many",
        );
    });
}

#[test]
fn the_number_of_rows_for_tiles_is_a_knob() {
    case!("cpu", [Avx2], || {
        let knobs = start::cpu().knob("cpu.features", AVX2);
        let runtime = knobs.knob("cpu.matmul_bt.many_rows", "33").start().unwrap();
        let (below, from) = MANY.split_at(1);
        expect(&runtime, products(below, &FLOATS), "cpu/matmul_bt/avx2");
        expect(&runtime, products(from, &FLOATS), "cpu/matmul_bt/avx2_many");
    });
}

#[test]
fn avx2_serves_every_class_of_attention() {
    case!("cpu", [Avx2], || expect(
        &cpu(AVX2),
        attentions(),
        "cpu/paged_attention/avx2"
    ));
}

#[test]
fn avx512_serves_every_class_of_products() {
    case!("cpu", [Avx512], || {
        // Without AVX-512 BF16, which some of these machines have.
        let runtime = cpu(&format!("{AVX2},{AVX512}"));
        expect(&runtime, products(&FEW, &FLOATS), "cpu/matmul_bt/avx512");
        let many = products(&MANY, &FLOATS);
        expect(&runtime, many, "cpu/matmul_bt/avx512_many");
    });
}

/// Whether this machine multiplies bytes by fours.
fn has_vnni() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Products with weights in blocks of this many rows: one small, one with tails.
fn quantised(rows: &[i64]) -> Vec<HostCall> {
    let op = &overt::kernels::ops::matmul_bt::OP;
    let mut calls = Vec::new();
    for &m in rows {
        for b in [Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4] {
            for (n, a) in [(33, F32), (64, BF16)] {
                let geometry = Geometry::named("quantised")
                    .symbols(&[("M", m), ("N", n), ("K", 256)])
                    .dtypes(&[("a", a), ("b", b), ("out", F32)]);
                calls.push(problems::filled(op, &geometry, 1));
            }
        }
    }
    calls
}

#[test]
fn few_rows_with_weights_in_blocks_are_products_of_integers_and_more_are_not() {
    case!("cpu", [Avx2], || {
        let runtime = cpu(AVX2);
        let few = quantised(&[1, 2, 3, 4]);
        expect(&runtime, few, "cpu/matmul_bt/quant_fixed_avx2");
        expect(&runtime, quantised(&[5]), "cpu/matmul_bt/quant_avx2");
        let knobs = start::cpu().knob("cpu.features", AVX2);
        let runtime = knobs.knob("cpu.matmul_bt.fixed_rows", "0").start().unwrap();
        expect(&runtime, quantised(&[1]), "cpu/matmul_bt/quant_avx2");
    });
}

#[test]
fn avx512_multiplies_integers_for_few_rows() {
    case!("cpu", [Avx512], || {
        let runtime = cpu(&format!("{AVX2},{AVX512}"));
        let few = quantised(&[1, 4]);
        expect(&runtime, few, "cpu/matmul_bt/quant_fixed_avx512");
        expect(&runtime, quantised(&[5]), "cpu/matmul_bt/quant_avx512");
        if has_vnni() {
            let runtime = cpu("all");
            let few = quantised(&[1, 8]);
            expect(&runtime, few, "cpu/matmul_bt/quant_fixed_vnni");
            expect(&runtime, quantised(&[9]), "cpu/matmul_bt/quant_avx512");
        }
    });
}

#[test]
fn avx512_serves_every_class_of_attention() {
    case!("cpu", [Avx512], || expect(
        &cpu("all"),
        attentions(),
        "cpu/paged_attention/avx512"
    ));
}

#[test]
fn without_vectors_the_reference_serves_and_is_no_fallback_in_silence() {
    case!("cpu", [], || {
        let runtime = cpu("none");
        for (host, kernel) in [
            (problems::matmul(4, 8, 16, F32), "cpu/matmul_bt/reference"),
            (
                Attention::default().filled(),
                "cpu/paged_attention/reference",
            ),
        ] {
            let problem = problems::problem(&runtime, &host);
            assert_eq!(
                verified(&runtime, &runtime.device("cpu").unwrap(), host).0,
                kernel
            );
            let text = runtime
                .explain(&problem, &runtime.device("cpu").unwrap())
                .unwrap()
                .to_string();
            assert!(
                text.contains("device.feature.avx2 is false; needs true"),
                "{text}"
            );
        }
    });
}

#[test]
fn every_declared_kernel_is_there_and_built() {
    case!("cpu", [], || {
        let runtime = cpu("all");
        let ids: Vec<String> = runtime.kernels().into_iter().map(|k| k.decl.id).collect();
        for op in [
            "add",
            "matmul_bt",
            "paged_attention",
            "reshape_and_cache",
            "rms_norm",
            "silu_and_mul",
        ] {
            assert!(
                ids.contains(&format!("cpu/{op}/reference")),
                "cpu/{op}/reference is missing: {ids:?}"
            );
        }
        for op in ["matmul_bt", "paged_attention"] {
            for name in ["avx2", "avx512"] {
                assert!(
                    ids.contains(&format!("cpu/{op}/{name}")),
                    "cpu/{op}/{name} is missing: {ids:?}"
                );
            }
        }
        if cfg!(target_arch = "x86_64") {
            assert!(
                runtime
                    .kernels()
                    .iter()
                    .all(|k| k.decl.not_built.is_none() && k.decl.unusable.is_empty())
            );
        }
    });
}

//! Scenario 12: kernels for contiguous or aligned memory take exactly what is.

use overt::kernels::dtype::{BF16, F16, F32};
use overt::kernels::host::{HostCall, HostTensor};
use overt::{Allocation, Call, DType, MemoryKind, Stream, Tensor, View};
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::verified;
use overt_tests::start::Fake;

/// `add.1` with one operand at given strides.
fn with_strides(rows: i64, width: i64, operand: &str, strides: [i64; 2]) -> HostCall {
    let mut host = problems::add(rows, width, F32);
    let index = host.schema.operand(operand).unwrap();
    let values = host.operands[index].as_ref().unwrap().to_f64().unwrap();
    let mut tensor = HostTensor::with_strides(F32, &[rows, width], &strides).unwrap();
    let mut values = values.into_iter();
    tensor
        .fill_with(|| values.next().unwrap_or_default())
        .unwrap();
    host.operands[index] = Some(tensor);
    host
}

#[test]
fn rows_with_gaps_are_not_contiguous_and_an_odd_stride_over_one_row_does_not_matter() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let device = started.device("fake");
        for operand in ["a", "b", "out"] {
            for (rows, width, strides, kernel) in [
                (3, 1152, [2304, 1], "narrow"),
                (3, 1152, [1153, 1], "narrow"),
                (3, 1152, [1152, 1], "aligned"),
                (1, 1152, [2304, 1], "aligned"),
                (1, 1152, [77, 1], "aligned"),
                (3, 1, [1, 999], "aligned"),
                (3, 2, [1, 3], "narrow"),
            ] {
                let host = with_strides(rows, width, operand, strides);
                let (ran, _) = verified(&started.runtime, &device, host);
                assert_eq!(
                    ran,
                    format!("fake/add/{kernel}"),
                    "{operand} [{rows},{width}] with strides {strides:?}"
                );
            }
        }
    });
}

/// A tensor of two rows that starts `offset` bytes into an aligned allocation.
fn at(stream: &Stream, dtype: DType, offset: u64) -> Tensor {
    let view = View::contiguous(dtype, &[2, 64]).unwrap();
    let allocation = Allocation::new(
        stream.device(),
        view.span_bytes() + offset,
        256,
        MemoryKind::Device,
    )
    .unwrap();
    let tensor = Tensor::over(allocation, view, offset).unwrap();
    stream.fill(&tensor, 0).unwrap();
    tensor
}

#[test]
fn a_base_that_is_off_by_a_few_bytes_fails_alignment_and_says_so() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let op = started.runtime.op("add").unwrap();
        for (offset, kernel) in [
            (0, "aligned"),
            (16, "aligned"),
            (256, "aligned"),
            (4, "contiguous"),
            (8, "contiguous"),
            (24, "contiguous"),
        ] {
            for moved in 0..3 {
                let tensors: Vec<Tensor> = (0..3)
                    .map(|i| at(&stream, F32, if i == moved { offset } else { 0 }))
                    .collect();
                let mut call = Call::new(&op);
                (0..3).for_each(|i| call.set(i, Some(&tensors[i])));
                let launched = stream.dispatch(&call).unwrap();
                assert_eq!(
                    launched.kernel(&started.runtime),
                    format!("fake/add/{kernel}"),
                    "operand {moved} at {offset}"
                );
                if kernel == "contiguous" {
                    let text = started
                        .runtime
                        .explain_call(&call, stream.device())
                        .unwrap()
                        .to_string();
                    let words = format!(
                        "{}.align is {}; needs at least 16 (one load of four floats)",
                        ["a", "b", "out"][moved],
                        1 << offset.trailing_zeros()
                    );
                    assert!(text.contains(&words), "`{words}` is missing from\n{text}");
                }
            }
        }
        stream.sync().unwrap();
    });
}

#[test]
fn a_base_off_by_two_bytes_is_taken_for_two_byte_elements_and_refused_for_four() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let op = started.runtime.op("add").unwrap();
        for dtype in [F16, BF16] {
            let (moved, other, out) = (
                at(&stream, dtype, 2),
                at(&stream, dtype, 0),
                at(&stream, dtype, 0),
            );
            let mut call = Call::new(&op);
            [&moved, &other, &out]
                .into_iter()
                .enumerate()
                .for_each(|(i, t)| call.set(i, Some(t)));
            assert_eq!(
                stream.dispatch(&call).unwrap().kernel(&started.runtime),
                "fake/add/contiguous"
            );
        }
        let view = View::contiguous(F32, &[2, 64]).unwrap();
        let allocation = Allocation::new(stream.device(), 1024, 256, MemoryKind::Device).unwrap();
        let error = Tensor::over(allocation, view, 2).unwrap_err().to_string();
        assert!(
            error.contains("multiple of 2 bytes") && error.contains("f32"),
            "{error}"
        );
        stream.sync().unwrap();
    });
}

#[test]
fn the_cpu_is_right_on_every_one_of_these() {
    case!("cpu", [], || {
        let runtime = overt_tests::start::cpu().start().unwrap();
        let device = runtime.device("cpu").unwrap();
        for operand in ["a", "b", "out"] {
            for (rows, width, strides) in [
                (3, 1152, [2304, 1]),
                (1, 1152, [77, 1]),
                (3, 2, [1, 3]),
                (4, 7, [9, 1]),
            ] {
                verified(
                    &runtime,
                    &device,
                    with_strides(rows, width, operand, strides),
                );
            }
        }
    });
}

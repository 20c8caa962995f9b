//! Scenario 7: the limit of a 32-bit kernel is on the greatest element offset that is reachable, not on a length.

use overt::kernels::dtype::{F16, F32, I32};
use overt::{Problem, Runtime, View};
use overt_tests::case;
use overt_tests::start::Fake;

/// Attention over caches of `blocks` pages that lie `stride` elements apart.
fn attention(runtime: &Runtime, blocks: i64, stride: i64) -> Problem {
    let op = runtime.op("paged_attention").unwrap();
    let (page, heads, width) = (16, 8, 128);
    let cache = View::strided(
        F16,
        &[blocks, page, heads, width],
        &[stride, heads * width, width, 1],
    )
    .unwrap();
    Problem::new(&op)
        .operand("query", View::contiguous(F32, &[1, heads, width]).unwrap())
        .unwrap()
        .operand("k_cache", cache.clone())
        .unwrap()
        .operand("v_cache", cache)
        .unwrap()
        .operand("block_table", View::contiguous(I32, &[1, 4]).unwrap())
        .unwrap()
        .operand("seq_lens", View::contiguous(I32, &[1]).unwrap())
        .unwrap()
        .operand("query_start", View::contiguous(I32, &[2]).unwrap())
        .unwrap()
        .operand("out", View::contiguous(F32, &[1, heads, width]).unwrap())
        .unwrap()
        .attr("scale", 0.1)
        .unwrap()
}

fn chosen(runtime: &Runtime, problem: &Problem) -> String {
    runtime
        .explain(problem, &runtime.device("fake").unwrap())
        .unwrap()
        .chosen
        .unwrap()
        .kernel
}

/// A page of 16 tokens, 8 heads and 128 elements reaches this far inside.
const INSIDE: i64 = 16 * 8 * 128 - 1;

#[test]
fn at_a_block_stride_of_1_039_680_block_2064_passes_and_2066_does_not() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stride = 1_039_680;
        for (block, kernel) in [(2064, "narrow"), (2066, "wide")] {
            let problem = attention(&started.runtime, block + 1, stride);
            assert_eq!(
                chosen(&started.runtime, &problem),
                format!("fake/paged_attention/{kernel}"),
                "block {block}"
            );
        }
        let selection = started
            .runtime
            .explain(
                &attention(&started.runtime, 2067, stride),
                &started.device("fake"),
            )
            .unwrap();
        let reach = 2066 * stride + INSIDE;
        for cache in ["k_cache", "v_cache"] {
            let words = format!(
                "{cache}.max_offset is {reach}; needs below 2147483648 (offsets are computed in 32 bits)"
            );
            assert!(
                selection.to_string().contains(&words),
                "`{words}` is missing from\n{selection}"
            );
        }
    });
}

#[test]
fn the_border_is_exact_for_many_strides_and_not_on_any_length() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let limit: i64 = 1 << 31;
        for stride in [
            16_384,
            16_385,
            65_537,
            1_039_680,
            99_999_999,
            limit - INSIDE - 1,
            limit - INSIDE,
        ] {
            // The last block whose furthest element lies below the limit.
            let last = (limit - 1 - INSIDE) / stride;
            for (block, wanted) in [(last, "narrow"), (last + 1, "wide")] {
                let reach = block * stride + INSIDE;
                assert_eq!(reach < limit, wanted == "narrow");
                let problem = attention(&started.runtime, block + 1, stride);
                assert_eq!(
                    chosen(&started.runtime, &problem),
                    format!("fake/paged_attention/{wanted}"),
                    "stride {stride}, block {block}"
                );
            }
        }
        // One block reaches no further for any stride.
        assert_eq!(
            chosen(&started.runtime, &attention(&started.runtime, 1, 1 << 40)),
            "fake/paged_attention/narrow"
        );
    });
}

#[test]
fn a_sum_of_rows_far_apart_is_judged_by_its_reach() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let op = started.runtime.op("add").unwrap();
        for (rows, stride, kernel) in [
            (3, 1 << 30, "reference"),
            (2, 1 << 30, "narrow"),
            (3, (1 << 30) - 1, "narrow"),
            (5, 1 << 29, "reference"),
        ] {
            let far = View::strided(F32, &[rows, 2], &[stride, 1]).unwrap();
            let near = View::contiguous(F32, &[rows, 2]).unwrap();
            for operand in ["a", "b", "out"] {
                let mut problem = Problem::new(&op);
                for name in ["a", "b", "out"] {
                    problem = problem
                        .operand(
                            name,
                            if name == operand {
                                far.clone()
                            } else {
                                near.clone()
                            },
                        )
                        .unwrap();
                }
                assert_eq!(
                    chosen(&started.runtime, &problem),
                    format!("fake/add/{kernel}"),
                    "{rows} rows {stride} apart"
                );
            }
        }
    });
}

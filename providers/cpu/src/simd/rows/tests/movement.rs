//! Rotations, table rows and cache writes.

use super::super::cache::cache_on;
use super::super::embedding::embedding_on;
use super::super::rope::rope_on;
use super::super::{CacheArgs, CacheSide, EmbeddingArgs, RopeArgs};
use super::*;
use crate::simd::lanes::Simd;
use crate::simd::quant::formats::Format;
use crate::simd::tests_support::{ForEach, TYPES, for_each, rounding};

struct Turns;

impl ForEach for Turns {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        const HEADS: usize = 2;
        let positions = [0, 3, 131_071, i32::MAX, 1_000_003];
        for (ty, interleaved, (head, pairs)) in TYPES
            .iter()
            .flat_map(|&ty| [(ty, false), (ty, true)])
            .flat_map(|(ty, i)| {
                [
                    (2, 1),
                    (7, 3),
                    (64, 32),
                    (33, 8),
                    (40, 17),
                    (128, 64),
                    (9, 0),
                ]
                .map(|h| (ty, i, h))
            })
        {
            let width = HEADS * head;
            let x = source(ty, width, noise(8, 2.0));
            let frequencies: Vec<f32> = (0..pairs).map(|i| 0.7_f32.powi(i as i32)).collect();
            let run = |x: Rows, out: RowsMut, cuts: &[Range<usize>]| {
                let args = RopeArgs {
                    x,
                    out,
                    head_strides: [head as i64; 2],
                    heads: HEADS,
                    width: head,
                    positions: positions.as_ptr(),
                    positions_stride: 1,
                    frequencies: frequencies.as_ptr(),
                    frequencies_stride: 1,
                    pairs,
                    interleaved,
                    amplitude: 1.25,
                };
                let mut scratch = vec![f32::NAN; args.scratch_len()];
                for r in cuts {
                    rope_on(s, &args, r.clone(), &mut scratch);
                }
            };
            let out = cut_both_ways(name, |cuts| {
                let mut out = target(ty, width);
                run(rows(&x, width), rows_mut(&mut out, width), cuts);
                out
            });
            hold(&out, width, name, |t, d| {
                let (h, d) = (d / head, d % head);
                let at = |d: usize| x.get(t * (width + PAD) + h * head + d);
                if d >= 2 * pairs {
                    return (at(d), 0.0);
                }
                let (pair, first) = if interleaved {
                    (d / 2, d % 2 == 0)
                } else {
                    (d % pairs, d < pairs)
                };
                let apart = if interleaved { 1 } else { pairs };
                let (sin, cos) = (f64::from(positions[t]) * f64::from(frequencies[pair])).sin_cos();
                let want = 1.25
                    * if first {
                        at(d) * cos - at(d + apart) * sin
                    } else {
                        at(d) * cos + at(d - apart) * sin
                    };
                (want, want.abs() * rounding(ty) * 1.01 + 2f64.powi(-21))
            });
            let mut own = x.clone();
            let place = rows_mut(&mut own, width);
            run(rows(&own, width), place, CUTS[0]);
            assert!(
                (0..COUNT * (width + PAD))
                    .all(|i| i % (width + PAD) >= width || own.get(i) == out.get(i)),
                "{name}: in place"
            );
        }
    }
}

#[test]
fn pairs_are_turned_and_the_rest_is_copied() {
    for_each(&mut Turns);
}

struct Tables;

impl ForEach for Tables {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let ids = [4, 0, 2, 2, 1];
        for (width, table_type, out_type) in WIDTHS
            .iter()
            .flat_map(|&w| TYPES.map(|x| TYPES.map(|y| (w, x, y))))
            .flatten()
        {
            for scale in [1.0, -0.375] {
                let table = source(table_type, width, noise(9, 2.0));
                let args = |out: &mut Memory, ids: &[i32]| EmbeddingArgs {
                    table: table.as_ptr(),
                    format: Format::from(table_type),
                    table_stride: ((width + PAD) * table_type.bytes()) as isize,
                    vocabulary: COUNT,
                    ids: ids.as_ptr(),
                    ids_stride: 1,
                    out: rows_mut(out, width),
                    width,
                    scale,
                };
                let out = cut_both_ways(name, |cuts| {
                    let mut out = target(out_type, width);
                    for r in cuts {
                        embedding_on(s, &args(&mut out, &ids), r.clone()).unwrap();
                    }
                    out
                });
                hold(&out, width, name, |t, d| {
                    let want = table.get(ids[t] as usize * (width + PAD) + d) * f64::from(scale);
                    (want, want.abs() * 1.01 * rounding(out_type) + 1e-8)
                });
                for (wrong, at) in [([0, 5, 0, 0, 0], 1), ([0, 0, 0, -1, 0], 3)] {
                    let mut out = target(out_type, width);
                    let fault = embedding_on(s, &args(&mut out, &wrong), 0..COUNT).unwrap_err();
                    assert_eq!(fault, (at, wrong[at]), "{name}");
                }
            }
        }
    }
}

#[test]
fn rows_of_a_table_are_found_and_ids_outside_are_told() {
    for_each(&mut Tables);
}

struct Caches;

impl ForEach for Caches {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        const HEADS: usize = 2;
        const PAGE: usize = 3;
        const PAGES: usize = 4;
        let slots = [7_i64, -1, 0, 11, i64::MIN];
        for (head, source_type, cache_type) in [1, 8, 13, 64]
            .iter()
            .flat_map(|&w| TYPES.map(|x| TYPES.map(|y| (w, x, y))))
            .flatten()
        {
            // Heads side by side, whose bits go as one row, or apart.
            for (gap, scale) in [(0, 1.0), (2, 1.0), (0, 0.7)] {
                let width = HEADS * head;
                let keys = source(source_type, width, noise(10, 2.0));
                let stride = head + gap;
                let run = |slots: &[i64], cache: &mut Memory, cuts: &[Range<usize>]| {
                    let side = CacheSide {
                        source: rows(&keys, width),
                        head_stride: head as i64,
                        cache: cache.as_mut_ptr(),
                        cache_type,
                        cache_strides: [PAGE * HEADS * stride, HEADS * stride, stride]
                            .map(|n| n as i64),
                        width: head,
                        scale,
                    };
                    let nothing = CacheSide { width: 0, ..side };
                    let args = CacheArgs {
                        sides: [side, nothing],
                        slots: slots.as_ptr(),
                        slots_stride: 1,
                        heads: HEADS,
                        pages: PAGES,
                        page_size: PAGE,
                    };
                    cuts.iter().try_for_each(|r| cache_on(s, &args, r.clone()))
                };
                let fresh = || Memory::filled(cache_type, PAGES * PAGE * HEADS * stride, |_| 7.0);
                let cache = cut_both_ways(name, |cuts| {
                    let mut cache = fresh();
                    run(&slots, &mut cache, cuts).unwrap();
                    cache
                });
                for i in 0..PAGES * PAGE * HEADS * stride {
                    let (place, h, d) = (i / stride / HEADS, i / stride % HEADS, i % stride);
                    let token = slots.iter().position(|&slot| slot == place as i64);
                    let want = match token {
                        Some(t) if d < head => {
                            keys.get(t * (width + PAD) + h * head + d) / f64::from(scale)
                        }
                        _ => 7.0,
                    };
                    let limit =
                        want.abs() * 1.01 * (rounding(cache_type) + rounding(ElemType::F32));
                    let got = cache.get(i);
                    assert!(
                        (got - want).abs() <= limit,
                        "{name}: at {i}: {got}; wanted {want}"
                    );
                }
                let mut cache = fresh();
                let fault = run(&[0, 1, 12, 2, 3], &mut cache, CUTS[0]).unwrap_err();
                assert_eq!(fault, (2, 12), "{name}");
            }
        }
    }
}

#[test]
fn tokens_go_to_their_slots_and_nowhere_else() {
    for_each(&mut Caches);
}

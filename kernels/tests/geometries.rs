//! Every geometry of every op is a real problem: it binds, fills, obeys the op's rules and has an answer.

use overt_kernels::dtype;
use overt_kernels::host::HostCall;
use overt_kernels::op::{Op, Want};
use overt_kernels::ops;
use std::collections::HashSet;
use std::sync::Arc;

/// Elements of an output that the oracle is asked for: both ends and some between.
fn sample(len: u64) -> Vec<u64> {
    let step = (len / 37).max(1);
    let mut out: Vec<u64> = (0..len).step_by(step as usize).collect();
    if len > 0 && out.last() != Some(&(len - 1)) {
        out.push(len - 1);
    }
    out
}

fn each_call(op: &Op, mut each: impl FnMut(&str, HostCall)) -> usize {
    let schema = Arc::new(op.parse().unwrap());
    let geometries = (op.geometries)();
    for geometry in &geometries {
        let mut call = HostCall::from_geometry(&schema, geometry)
            .unwrap_or_else(|e| panic!("{}: {e}", geometry.name));
        (op.fill)(&mut call, 7);
        each(&geometry.name, call);
    }
    geometries.len()
}

/// Geometries and elements without which a test of an op says little. A probe measures a machine and has few shapes to take.
fn least(op: &Op) -> (usize, usize) {
    if op.name.contains("_probe") {
        (10, 10)
    } else {
        (30, 1000)
    }
}

#[test]
fn every_geometry_binds_fills_and_has_an_answer() {
    for op in ops::ALL {
        let mut elements = 0;
        let count = each_call(op, |name, call| {
            (op.check_contents)(&call).unwrap_or_else(|e| panic!("{} {name}: {e}", op.name));
            // Filling may set bounds, so what it leaves must still bind.
            let attrs: Vec<_> = call
                .schema
                .attrs
                .iter()
                .map(|a| a.name.clone())
                .zip(call.attrs.clone())
                .collect();
            let again = HostCall::bind(&call.schema, call.operands.clone(), &attrs)
                .unwrap_or_else(|e| panic!("{} {name}: {e}", op.name));
            assert_eq!(again.symbols, call.symbols, "{} {name}", op.name);
            assert_eq!(again.attrs, call.attrs, "{} {name}", op.name);
            for output in call.outputs() {
                let wanted = sample(call.operands[output].as_ref().unwrap().len());
                elements += wanted.len();
                let got = (op.oracle)(&call, output, &Want::Elements(wanted.clone()));
                assert_eq!(got.len(), wanted.len(), "{} {name}", op.name);
                assert!(
                    got.iter().all(|v| v.is_finite()),
                    "{} {name}: {got:?}",
                    op.name
                );
            }
            let work = (op.work)(&call);
            assert!(
                work.bytes >= 0.0 && work.flops >= 0.0,
                "{} {name}: {work:?}",
                op.name
            );
        });
        let (least_count, least_elements) = least(op);
        assert!(
            count >= least_count && elements > least_elements,
            "{}: {count} geometries, {elements} elements",
            op.name
        );
    }
}

#[test]
fn names_are_unique_and_every_op_is_found_by_its_name() {
    for op in ops::ALL {
        let mut seen = HashSet::new();
        for geometry in (op.geometries)() {
            assert!(
                seen.insert(geometry.name.clone()),
                "{}: {} stands twice",
                op.name,
                geometry.name
            );
        }
        assert!(std::ptr::eq(ops::find(op.name).unwrap(), *op));
        assert_eq!(op.parse().unwrap().name, op.name);
    }
    assert!(ops::find("rms_norm").is_none());
}

#[test]
fn an_answer_does_not_depend_on_how_it_is_asked_for() {
    for op in ops::ALL {
        let mut compared = 0usize;
        each_call(op, |name, call| {
            for output in call.outputs() {
                let len = call.operands[output].as_ref().unwrap().len();
                if len > 3000 {
                    continue;
                }
                let all = (op.oracle)(&call, output, &Want::All);
                let wanted = sample(len);
                let some = (op.oracle)(&call, output, &Want::Elements(wanted.clone()));
                for (flat, value) in wanted.iter().zip(some) {
                    assert_eq!(
                        all[*flat as usize].to_bits(),
                        value.to_bits(),
                        "{} {name} at {flat}",
                        op.name
                    );
                    compared += 1;
                }
            }
        });
        let least = if op.name.contains("_probe") { 10 } else { 100 };
        assert!(compared > least, "{}: only {compared} elements", op.name);
    }
}

#[test]
fn filling_is_a_function_of_the_seed() {
    for op in ops::ALL {
        let schema = Arc::new(op.parse().unwrap());
        let geometry = (op.geometries)()
            .into_iter()
            .filter(|g| g.symbols.iter().all(|s| s.1 > 0))
            .max_by_key(|g| g.symbols.iter().map(|s| s.1).max())
            .unwrap();
        let made = |seed| {
            let mut call = HostCall::from_geometry(&schema, &geometry).unwrap();
            (op.fill)(&mut call, seed);
            call.operands
        };
        assert!(made(1) == made(1), "{}", op.name);
        assert!(made(1) != made(2), "{}", op.name);
    }
}

#[test]
fn attention_geometries_cover_what_models_use() {
    let geometries = (ops::paged_attention::OP.geometries)();
    assert!(geometries.len() >= 60, "{}", geometries.len());
    let has = |symbol: &str, value: i64| {
        geometries
            .iter()
            .any(|g| g.symbols.contains(&(symbol.to_owned(), value)))
    };
    for d in [64, 80, 88, 96, 100, 112, 128, 192, 256, 512, 576] {
        assert!(has("D", d), "head {d}");
    }
    assert!(has("Dv", 512) && has("T", 0) && has("R", 0));
    for page in [1, 16, 64, 480, 544] {
        assert!(has("P", page), "page {page}");
    }
    for ratio in [1, 3, 4, 5, 7, 8, 16] {
        let found = geometries.iter().any(|g| {
            let of = |n: &str| g.symbols.iter().find(|(s, _)| s == n).unwrap().1;
            of("Hq") == ratio * of("Hkv")
        });
        assert!(found, "ratio {ratio}");
    }
    for len in [
        1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025,
    ] {
        let found = geometries.iter().any(|g| {
            g.lengths
                .iter()
                .any(|(n, v)| n == "seq_lens" && v.contains(&len))
        });
        assert!(found, "sequence of {len}");
    }
    let class = |name| overt_kernels::schema::classes::class(name).unwrap().dtypes;
    let of = |g: &overt_kernels::op::Geometry, operand: &str| {
        let found = g.dtypes.iter().find(|(n, _)| n == operand);
        found.map(|(_, d)| *d)
    };
    for wanted in class("float") {
        let found = geometries.iter().any(|g| of(g, "query") == Some(*wanted));
        assert!(found, "query {}", dtype::Shown(*wanted));
    }
    for k in class("kv") {
        for v in class("kv") {
            let found = geometries
                .iter()
                .any(|g| (of(g, "k_cache"), of(g, "v_cache")) == (Some(*k), Some(*v)));
            assert!(found, "k {} v {}", dtype::Shown(*k), dtype::Shown(*v));
        }
    }
}

#[test]
fn unused_cache_is_nan_and_unused_table_entries_are_no_pages() {
    let op = &ops::paged_attention::OP;
    let (mut nans, mut garbage) = (0u64, 0u64);
    each_call(op, |name, call| {
        let pages = call.symbol("N").unwrap();
        let page = call.symbol("P").unwrap();
        let table = call.operand("block_table").unwrap().to_i64().unwrap();
        let lens = call.operand("seq_lens").unwrap().to_i64().unwrap();
        let columns = call.symbol("M").unwrap() as usize;
        for (r, len) in lens.iter().enumerate() {
            for (j, entry) in table[r * columns..(r + 1) * columns].iter().enumerate() {
                let used = (j as i64) * page < *len;
                assert_eq!(
                    used,
                    (0..pages).contains(entry),
                    "{name}: request {r} column {j}"
                );
                garbage += u64::from(!used);
            }
        }
        let cache = call.operand("k_cache").unwrap().to_f64().unwrap();
        let used: i64 =
            lens.iter().sum::<i64>() * call.symbol("Hkv").unwrap() * call.symbol("D").unwrap();
        let here = cache.iter().filter(|v| v.is_nan()).count() as u64;
        assert_eq!(here, cache.len() as u64 - used as u64, "{name}");
        nans += here;
    });
    assert!(nans > 0 && garbage > 0);
}

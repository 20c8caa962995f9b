//! Calls that break a schema or an op's rules on contents are errors that name what is wrong.

use overt_kernels::dtype::{BF16, F16, F32, F64, I32, I64};
use overt_kernels::host::{HostCall, HostError, HostTensor};
use overt_kernels::models;
use overt_kernels::op::{Geometry, Op, Tolerance};
use overt_kernels::ops::{matmul_bt, paged_attention, reshape_and_cache, rms_norm, silu_and_mul};
use overt_kernels::schema::{AttrValue, parse};
use std::sync::Arc;

fn filled(op: &Op, geometry: &Geometry) -> HostCall {
    let schema = Arc::new(op.parse().unwrap());
    let mut call = HostCall::from_geometry(&schema, geometry).unwrap_or_else(|e| panic!("{e}"));
    (op.fill)(&mut call, 3);
    (op.check_contents)(&call).unwrap();
    call
}

fn refused(op: &Op, geometry: &Geometry, words: &[&str]) -> HostError {
    let schema = Arc::new(op.parse().unwrap());
    let error = HostCall::from_geometry(&schema, geometry).unwrap_err();
    for word in words {
        assert!(
            error.to_string().contains(word),
            "{error} does not hold {word}"
        );
    }
    error
}

fn norm() -> Geometry {
    Geometry::named("g")
        .symbols(&[("T", 2), ("D", 3)])
        .dtypes(&[("x", F16), ("weight", F32)])
        .attr("eps", AttrValue::F64(1e-6))
}

#[test]
fn a_geometry_gives_shapes_types_and_strides() {
    let call = filled(
        &rms_norm::OP,
        &norm().padded(&[("x", 5)]).outer_padded(&[("out", 2)]),
    );
    assert_eq!(call.operand("x").unwrap().strides, [8, 1]);
    let out = call.operand("out").unwrap();
    assert_eq!(
        (out.dtype, &out.shape[..], &out.strides[..]),
        (F16, &[2, 3][..], &[5, 1][..])
    );
    assert_eq!(call.symbols, [2, 3]);
    assert_eq!(call.attr("eps"), Some(&AttrValue::F64(1e-6)));
    let halves = Geometry::named("g")
        .symbols(&[("T", 1), ("D2", 6)])
        .dtypes(&[("x", F32)]);
    assert_eq!(
        filled(&silu_and_mul::OP, &halves)
            .operand("out")
            .unwrap()
            .shape,
        [1, 3]
    );
}

#[test]
fn a_geometry_that_breaks_the_schema_is_an_error_with_names() {
    let op = &rms_norm::OP;
    refused(
        op,
        &Geometry {
            symbols: vec![("T".into(), 2)],
            ..norm()
        },
        &["`D`", "no value"],
    );
    refused(op, &norm().symbols(&[("Q", 1)]), &["symbol `Q`"]);
    refused(op, &norm().padded(&[("y", 1)]), &["operand `y`"]);
    refused(op, &norm().with("y"), &["operand `y`"]);
    refused(
        op,
        &Geometry {
            attrs: vec![],
            ..norm()
        },
        &["attribute `eps`", "not given"],
    );
    refused(
        op,
        &norm().attr("mean", AttrValue::F64(1.0)),
        &["attribute `mean`", "does not exist", "eps"],
    );
    refused(
        op,
        &norm().attr("eps", AttrValue::F64(1.0)),
        &["attribute `eps`", "twice"],
    );
    let wrong = Geometry {
        attrs: vec![("eps".into(), AttrValue::I64(1))],
        ..norm()
    };
    refused(op, &wrong, &["attribute `eps`", "i64", "f64"]);
    let wrong = Geometry {
        dtypes: vec![("x".into(), F64), ("weight".into(), F32)],
        ..norm()
    };
    refused(op, &wrong, &["`x` is f64", "float (f32, f16, bf16)"]);
    let wrong = Geometry {
        dtypes: vec![("x".into(), F32)],
        ..norm()
    };
    refused(op, &wrong, &["operand `weight` has no type"]);
    refused(
        op,
        &norm().dtypes(&[("out", F32)]),
        &["`out` is f32", "f16, the type of `x`"],
    );
    let wrong = Geometry {
        symbols: vec![("T".into(), -2), ("D".into(), 3)],
        ..norm()
    };
    refused(op, &wrong, &["`T` is -2"]);
    let wrong = Geometry {
        symbols: vec![("T".into(), 1 << 40), ("D".into(), 1 << 40)],
        ..norm()
    };
    refused(op, &wrong, &["operand `x`", "64 bits"]);
    let odd = Geometry::named("g")
        .symbols(&[("T", 1), ("D2", 7)])
        .dtypes(&[("x", F32)]);
    refused(&silu_and_mul::OP, &odd, &["`D2 / 2`", "D2 = 7", "exact"]);
    let heads = Geometry {
        symbols: with(attention().symbols, "Hq", 33),
        ..attention()
    };
    refused(
        &paged_attention::OP,
        &heads,
        &["`Hq / Hkv`", "Hq = 33, Hkv = 2"],
    );
    let heads = Geometry {
        symbols: with(attention().symbols, "Hkv", 0),
        ..attention()
    };
    refused(&paged_attention::OP, &heads, &["division by zero"]);
    let long = attention().attr("max_seq_len", AttrValue::I64(1000));
    refused(
        &paged_attention::OP,
        &long,
        &["`max_seq_len`", "is 1000", "M * P"],
    );
}

#[test]
fn operands_that_break_the_schema_are_named() {
    let schema = Arc::new(matmul_bt::OP.parse().unwrap());
    let tensor = |dtype, shape: &[i64]| Some(HostTensor::contiguous(dtype, shape).unwrap());
    let bind = |mut operands: Vec<Option<HostTensor>>| {
        // The scales of the weight stand third, and are left out throughout.
        operands.insert(2.min(operands.len()), None);
        HostCall::bind(&schema, operands, &[])
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    let (a, b, out) = (
        tensor(F32, &[2, 3]),
        tensor(BF16, &[4, 3]),
        tensor(F16, &[2, 4]),
    );
    assert_eq!(bind(vec![a.clone(), b.clone(), None, out.clone()]), Ok(()));
    let holds = |operands, words: &[&str]| {
        let text = bind(operands).unwrap_err();
        assert!(words.iter().all(|w| text.contains(w)), "{text}: {words:?}");
    };
    holds(
        vec![a.clone(), b.clone(), out.clone()],
        &["4 operands", "wanted 5"],
    );
    holds(vec![a.clone(), None, None, out.clone()], &["`b` is absent"]);
    holds(vec![a.clone(), b.clone(), None, None], &["`out` is absent"]);
    let wrong = tensor(BF16, &[4, 5]);
    holds(
        vec![a.clone(), wrong, None, out.clone()],
        &["`b` dimension 1 is 5", "`K` = 3", "operand `a` dimension 1"],
    );
    let wrong = tensor(BF16, &[4, 3, 1]);
    holds(
        vec![a.clone(), wrong, None, out.clone()],
        &["`b` has 3 dimensions", "wanted 2"],
    );
    let wrong = tensor(I32, &[4]);
    holds(
        vec![a.clone(), b.clone(), wrong, out.clone()],
        &["`bias` is i32"],
    );
    let wrong = tensor(F32, &[5]);
    holds(
        vec![a, b, wrong, out],
        &["`bias` dimension 0 is 5", "`N` = 4"],
    );
    let fixed = Arc::new(parse("x.1(a: i64[N,2], b: f32[N+1]) -> c: f32[N]").unwrap());
    let operands = vec![tensor(I64, &[3, 2]), tensor(F32, &[3]), tensor(F32, &[3])];
    let text = HostCall::bind(&fixed, operands, &[])
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("`b` dimension 0 is 3; wanted `N + 1` = 4"),
        "{text}"
    );
}

fn with(mut symbols: Vec<(String, i64)>, name: &str, value: i64) -> Vec<(String, i64)> {
    symbols.iter_mut().find(|(n, _)| n == name).unwrap().1 = value;
    symbols
}

/// Two requests of 2 and 1 query rows, of 5 and 3 keys, pages of 4.
fn attention() -> Geometry {
    let symbols = [
        ("T", 3),
        ("Hq", 4),
        ("D", 8),
        ("N", 9),
        ("P", 4),
        ("Hkv", 2),
        ("Dv", 8),
        ("R", 2),
        ("M", 3),
    ];
    Geometry::named("g")
        .symbols(&symbols)
        .dtypes(&[
            ("query", F32),
            ("k_cache", F16),
            ("v_cache", F16),
            ("out", F32),
        ])
        .attr("scale", AttrValue::F64(0.3))
        .lengths("query_lens", &[2, 1])
        .lengths("seq_lens", &[5, 3])
}

#[test]
fn broken_contents_of_attention_are_named_by_operand_and_index() {
    let op = &paged_attention::OP;
    let good = filled(op, &attention());
    assert_eq!(good.attr("max_query_len"), Some(&AttrValue::I64(2)));
    assert_eq!(good.attr("max_seq_len"), Some(&AttrValue::I64(5)));
    let broken = |operand: &str, index: &[i64], value: i64| {
        let mut call = good.clone();
        call.operand_mut(operand)
            .unwrap()
            .set_i64(index, value)
            .unwrap();
        (op.check_contents)(&call).map_err(|e| (e.operand.clone(), e.index.clone()))
    };
    let at = |operand: &str, index: &[i64]| Err((operand.to_owned(), index.to_vec()));
    assert_eq!(broken("query_start", &[0], 1), at("query_start", &[0]));
    assert_eq!(broken("query_start", &[1], 4), at("query_start", &[2]));
    assert_eq!(broken("query_start", &[2], 2), at("query_start", &[2]));
    assert_eq!(
        broken("query_start", &[1], 0),
        at("query_start", &[2]),
        "3 rows, and the bound says 2"
    );
    assert_eq!(broken("seq_lens", &[0], 1), at("seq_lens", &[0]));
    assert_eq!(broken("seq_lens", &[1], -1), at("seq_lens", &[1]));
    assert_eq!(broken("seq_lens", &[1], 13), at("seq_lens", &[1]));
    assert_eq!(
        broken("seq_lens", &[1], 6),
        at("seq_lens", &[1]),
        "beyond the bound"
    );
    assert_eq!(
        broken("block_table", &[0, 1], -1),
        at("block_table", &[0, 1])
    );
    assert_eq!(
        broken("block_table", &[1, 0], 9),
        at("block_table", &[1, 0])
    );
    assert_eq!(
        broken("block_table", &[0, 2], 1 << 20),
        Ok(()),
        "behind the end"
    );
    assert_eq!(broken("block_table", &[1, 1], -3), Ok(()), "behind the end");
    for (attr, value) in [
        ("window", AttrValue::I64(-1)),
        ("softcap", AttrValue::F64(-2.0)),
        ("softcap", AttrValue::F64(f64::NAN)),
        ("scale", AttrValue::F64(f64::INFINITY)),
    ] {
        let mut call = good.clone();
        let number = call.schema.attr(attr).unwrap();
        call.attrs[number] = value;
        assert_eq!((op.check_contents)(&call).unwrap_err().operand, attr);
    }
}

#[test]
fn broken_slots_are_named() {
    let op = &reshape_and_cache::OP;
    let geometry = Geometry::named("g")
        .symbols(&[
            ("T", 3),
            ("Hkv", 1),
            ("D", 2),
            ("Dv", 2),
            ("N", 2),
            ("P", 4),
        ])
        .dtypes(&[
            ("key", F32),
            ("value", F32),
            ("k_cache", F16),
            ("v_cache", BF16),
        ]);
    let good = filled(op, &geometry);
    let with = |slots: [i64; 3]| {
        let mut call = good.clone();
        for (t, slot) in slots.iter().enumerate() {
            call.operand_mut("slots")
                .unwrap()
                .set_i64(&[t as i64], *slot)
                .unwrap();
        }
        (op.check_contents)(&call)
    };
    assert_eq!(with([7, -1, 0]), Ok(()));
    assert_eq!(
        with([-1, -1, i64::MIN]),
        Ok(()),
        "skipped ones may be equal"
    );
    assert_eq!(with([0, 8, 1]).unwrap_err().index, [1]);
    assert_eq!(with([3, -1, 3]).unwrap_err().index, [2]);
    assert_eq!(with([i64::MAX, -1, 3]).unwrap_err().index, [0]);
}

/// An answer without one attribute must lie outside what a kernel is allowed, or verification would prove nothing of it.
#[test]
fn filled_attention_tells_a_kernel_that_ignores_an_attribute() {
    let op = &paged_attention::OP;
    let mut told = std::collections::BTreeMap::<&str, (usize, usize)>::new();
    for geometry in (op.geometries)() {
        let call = filled(op, &geometry);
        let output = 7;
        let tensor = call.operands[output].as_ref().unwrap();
        if tensor.is_empty() || tensor.len() > 60_000 {
            continue;
        }
        let right = (op.oracle)(&call, output, &overt_kernels::op::Want::All);
        let allowed = (op.tolerance)(&call, output);
        let width = tensor.shape[2] as usize;
        for attr in ["softcap", "window", "causal", "scale", "sinks"] {
            let mut wrong = call.clone();
            if attr == "sinks" {
                let number = call.schema.operand("sinks").unwrap();
                if wrong.operands[number].take().is_none() {
                    continue;
                }
            } else {
                let number = call.schema.attr(attr).unwrap();
                wrong.attrs[number] = match (attr, &call.attrs[number]) {
                    ("softcap", AttrValue::F64(c)) if *c > 0.0 => AttrValue::F64(0.0),
                    ("window", AttrValue::I64(w)) if *w > 0 => AttrValue::I64(w + 1),
                    ("causal", AttrValue::Bool(c)) => AttrValue::Bool(!c),
                    ("scale", AttrValue::F64(s)) => AttrValue::F64(s * 1.1),
                    _ => continue,
                };
            }
            let got = (op.oracle)(&wrong, output, &overt_kernels::op::Want::All);
            let outside = right
                .chunks(width)
                .zip(got.chunks(width))
                .any(|(want, got)| {
                    let scale = Tolerance::scale_of(want);
                    want.iter()
                        .zip(got)
                        .any(|(w, g)| !allowed.allows(*g, *w, scale))
                });
            let entry = told.entry(attr).or_default();
            entry.0 += usize::from(outside);
            entry.1 += 1;
        }
    }
    // Some problems cannot tell: a window longer than every sequence, a single key.
    for (attr, (outside, of)) in &told {
        let needed = if *attr == "window" || *attr == "causal" {
            of / 4
        } else {
            of * 3 / 4
        };
        assert!(
            *of >= 5 && *outside >= needed,
            "{attr}: {outside} of {of} problems tell; {told:?}"
        );
    }
    assert_eq!(told.len(), 5);
}

#[test]
fn work_is_the_floor_of_the_problem() {
    let call = filled(&paged_attention::OP, &attention());
    let work = (paged_attention::OP.work)(&call);
    // Rows see 4, 5 and 3 keys; 4 heads; 8 + 8 elements of two operations.
    assert_eq!(work.flops, 12.0 * 4.0 * 16.0 * 2.0);
    // query and out f32 3·4·8; keys and values f16: 5 + 3 keys of 2 heads of 8; 3 table entries, 2 lengths, 3 starts.
    assert_eq!(
        work.bytes,
        2.0 * 96.0 * 4.0 + 2.0 * 8.0 * 2.0 * 8.0 * 2.0 + 4.0 * (3.0 + 2.0 + 3.0)
    );
    let product = Geometry::named("g").symbols(&[("M", 2), ("N", 3), ("K", 5)]);
    let product = product.dtypes(&[("a", F32), ("b", BF16), ("out", F16)]);
    let work = (matmul_bt::OP.work)(&filled(&matmul_bt::OP, &product));
    assert_eq!((work.flops, work.bytes), (60.0, 40.0 + 30.0 + 12.0));
}

#[test]
fn lengths_that_are_not_given_fill_what_the_shapes_allow() {
    let call = filled(
        &paged_attention::OP,
        &Geometry {
            lengths: vec![],
            ..attention()
        },
    );
    assert_eq!(
        call.operand("query_start").unwrap().to_i64().unwrap(),
        [0, 2, 3]
    );
    assert_eq!(
        call.operand("seq_lens").unwrap().to_i64().unwrap(),
        [12, 12]
    );
}

#[test]
fn models_hold_together() {
    for model in models::MODELS {
        let same = models::MODELS
            .iter()
            .filter(|m| m.name == model.name)
            .count();
        assert_eq!(same, 1, "{} stands twice", model.name);
        assert_eq!(models::find(model.name), Some(model));
        assert!(!model.attention.is_empty());
        for attention in model.attention {
            assert_eq!(
                attention.gqa_ratio() * attention.kv_heads,
                attention.query_heads,
                "{}",
                model.name
            );
        }
    }
    let small = models::SMOLLM2_135M.body.unwrap();
    let heads = models::SMOLLM2_135M.attention[0];
    assert_eq!(small.hidden, heads.query_heads * heads.key_width);
}

/// Extents may follow from an attribute: the default counts as a value, and another value is another extent.
#[test]
fn an_attribute_gives_extents() {
    let schema = Arc::new(
        parse("x.1(a: f32[N], s?: f32[ceil(N / rows)]) -> c: f32[N]; rows: i64 = 2").unwrap(),
    );
    let tensor = |n: i64| Some(HostTensor::contiguous(F32, &[n]).unwrap());
    let bind = |scales: i64, attrs: &[(String, AttrValue)]| {
        HostCall::bind(&schema, vec![tensor(7), tensor(scales), tensor(7)], attrs)
    };
    let rows = |n: i64| [("rows".to_owned(), AttrValue::I64(n))];
    assert!(bind(4, &[]).is_ok());
    assert!(bind(3, &rows(3)).is_ok());
    assert!(bind(1, &rows(i64::MAX)).is_ok());
    let error = bind(4, &rows(3)).unwrap_err().to_string();
    assert!(
        error.contains("`s`") && error.contains("ceil(N / rows)"),
        "{error}"
    );
    let error = bind(4, &rows(0)).unwrap_err().to_string();
    assert!(
        error.contains("rows = 0") && error.contains("division by zero"),
        "{error}"
    );
    // Without the operand nothing follows from the attribute.
    assert!(HostCall::bind(&schema, vec![tensor(7), None, tensor(7)], &rows(0)).is_ok());
    let geometry = Geometry::named("g")
        .symbols(&[("N", 7)])
        .with("s")
        .attr("rows", AttrValue::I64(3));
    let call = HostCall::from_geometry(&schema, &geometry).unwrap();
    assert_eq!(call.operand("s").unwrap().shape, [3]);
    assert_eq!(call.symbol("rows"), None, "an attribute is no symbol");
}

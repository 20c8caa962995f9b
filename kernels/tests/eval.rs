//! Expressions: right values, and an error with names where there is none.

use overt_kernels::schema::{EvalFault, Expr, Schema, parse};
use proptest::prelude::*;

fn with(expression: &str) -> Schema {
    parse(&format!(
        "x.1(a: f32[N,M]) -> b: f32[N]; where K = {expression}"
    ))
    .unwrap()
}

fn eval(expression: &str, n: i64, m: i64, exact: bool) -> Result<i64, String> {
    let schema = with(expression);
    schema
        .eval(&schema.derived[0].expr, &[n, m, 0], exact)
        .map_err(|e| e.to_string())
}

#[test]
fn values_follow_the_usual_precedence() {
    assert_eq!(eval("N+2*M", 3, 4, false), Ok(11));
    assert_eq!(eval("(N+2)*M", 3, 4, false), Ok(20));
    assert_eq!(eval("N-M-1", 3, 4, false), Ok(-2));
    assert_eq!(eval("N-(M-1)", 3, 4, false), Ok(0));
    assert_eq!(eval("100/N/M", 3, 4, false), Ok(8));
    assert_eq!(eval("N/M", -7, 2, false), Ok(-3));
    assert_eq!(eval("N/M*M", 7, 2, false), Ok(6));
}

#[test]
fn what_has_no_value_is_an_error_that_holds_the_names() {
    let text = eval("N / M", 33, 2, true).unwrap_err();
    assert!(
        text.contains("`N / M`")
            && text.contains("N = 33, M = 2")
            && text.contains("remainder of 1"),
        "{text}"
    );
    let text = eval("N/M", 1, 0, false).unwrap_err();
    assert!(
        text.contains("division by zero") && text.contains("M = 0"),
        "{text}"
    );
    for (expression, n, m) in [
        ("N+M", i64::MAX, 1),
        ("N-M", i64::MIN, 1),
        ("N*M", 1 << 32, 1 << 31),
        ("N/M", i64::MIN, -1),
    ] {
        for exact in [false, true] {
            let text = eval(expression, n, m, exact).unwrap_err();
            assert!(
                text.contains("64 bits") && text.contains(&format!("N = {n}")),
                "{text}"
            );
        }
    }
    assert_eq!(
        Expr::Symbol(3).eval(&[1], false),
        Err(EvalFault::Unbound { symbol: 3 })
    );
}

#[test]
fn derived_symbols_are_computed_in_order() {
    let schema = parse("x.1(a: f32[N]) -> b: f32[L]; where K = N * 2, L = K / 4 exact").unwrap();
    let mut values = [6, 0, 0];
    schema.derive(&mut values).unwrap();
    assert_eq!(values, [6, 12, 3]);
    let mut values = [5, 0, 0];
    let error = schema.derive(&mut values).unwrap_err();
    assert_eq!(error.expression, "K / 4");
    assert_eq!(error.values, "K = 10");
    assert_eq!(error.fault, EvalFault::Inexact { remainder: 2 });
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (0..1000i64).prop_map(Expr::Const),
        (0..2usize).prop_map(Expr::Symbol)
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        (0..5u8, inner.clone(), inner).prop_map(|(op, a, b)| {
            let (a, b) = (Box::new(a), Box::new(b));
            match op {
                0 => Expr::Add(a, b),
                1 => Expr::Sub(a, b),
                2 => Expr::Mul(a, b),
                3 => Expr::Ceil(a, b),
                _ => Expr::Div(a, b),
            }
        })
    })
}

/// The same in 128 bits, whose range no step of four levels of i64 leaves by more than can be told.
fn wide(expr: &Expr, values: &[i64]) -> Option<i128> {
    let value = match expr {
        Expr::Const(v) => i128::from(*v),
        Expr::Symbol(s) => i128::from(values[*s]),
        Expr::Add(a, b) => wide(a, values)? + wide(b, values)?,
        Expr::Sub(a, b) => wide(a, values)? - wide(b, values)?,
        Expr::Mul(a, b) => wide(a, values)? * wide(b, values)?,
        Expr::Div(a, b) => wide(a, values)?.checked_div(wide(b, values)?)?,
        Expr::Ceil(a, b) => {
            let (a, b) = (wide(a, values)?, wide(b, values)?);
            // The least value over -1 leaves the range in the quotient already.
            if a == i128::from(i64::MIN) && b == -1 {
                return None;
            }
            let floor = a.checked_div_euclid(b)?;
            // Euclid rounds towards minus infinity for a positive divisor and away from it for a negative one.
            let exact = a == floor * b;
            floor + i128::from(!exact && b > 0)
        }
    };
    i64::try_from(value).ok().map(i128::from)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn evaluation_agrees_with_wide_arithmetic(e in expr(), n in any::<i64>(), m in any::<i64>()) {
        let got = e.eval(&[n, m], false).ok().map(i128::from);
        prop_assert_eq!(got, wide(&e, &[n, m]));
    }

    #[test]
    fn what_is_printed_parses_to_the_same(e in expr()) {
        let names = ["N".to_owned(), "M".to_owned()];
        let schema = with(&e.shown(&names).to_string());
        prop_assert_eq!(&schema.derived[0].expr, &e);
    }
}

//! Expressions of a schema, in a form that the common shapes evaluate without recursion.

use overt_kernels::schema::Expr;

/// A compiled expression.
pub(crate) enum Formula {
    /// A symbol, a number, or one operation on two such.
    Atom(Atom),
    Sum(Atom, Atom),
    Product(Atom, Atom),
    Quotient(Atom, Atom),
    /// Anything else.
    Any(Expr),
}

/// A symbol or a number.
#[derive(Clone, Copy)]
pub(crate) enum Atom {
    Symbol(usize),
    Number(i64),
}

impl Atom {
    fn of(expr: &Expr) -> Option<Atom> {
        match expr {
            Expr::Symbol(symbol) => Some(Atom::Symbol(*symbol)),
            Expr::Const(number) => Some(Atom::Number(*number)),
            _ => None,
        }
    }

    #[inline]
    fn value(self, symbols: &[i64]) -> Option<i64> {
        match self {
            Atom::Symbol(symbol) => symbols.get(symbol).copied(),
            Atom::Number(number) => Some(number),
        }
    }
}

impl Formula {
    pub(crate) fn new(expr: &Expr) -> Formula {
        let pair = |a: &Expr, b: &Expr| Some((Atom::of(a)?, Atom::of(b)?));
        let simple = match expr {
            Expr::Const(_) | Expr::Symbol(_) => Atom::of(expr).map(Formula::Atom),
            Expr::Add(a, b) => pair(a, b).map(|(a, b)| Formula::Sum(a, b)),
            Expr::Mul(a, b) => pair(a, b).map(|(a, b)| Formula::Product(a, b)),
            Expr::Div(a, b) => pair(a, b).map(|(a, b)| Formula::Quotient(a, b)),
            Expr::Sub(..) | Expr::Ceil(..) => None,
        };
        simple.unwrap_or_else(|| Formula::Any(expr.clone()))
    }

    /// The value; `None` on an overflow, a division by zero, or a remainder where `exact` forbids one.
    #[inline]
    pub(crate) fn value(&self, symbols: &[i64], exact: bool) -> Option<i64> {
        match self {
            Formula::Atom(a) => a.value(symbols),
            Formula::Sum(a, b) => a.value(symbols)?.checked_add(b.value(symbols)?),
            Formula::Product(a, b) => a.value(symbols)?.checked_mul(b.value(symbols)?),
            Formula::Quotient(a, b) => {
                let (a, b) = (a.value(symbols)?, b.value(symbols)?);
                let quotient = a.checked_div(b)?;
                (!exact || quotient.checked_mul(b) == Some(a)).then_some(quotient)
            }
            Formula::Any(expr) => expr.eval(symbols, exact).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use overt_kernels::schema::{AttrDefault, parse};

    /// A formula gives what the expression gives, errors included.
    #[test]
    fn formulas_agree_with_expressions() {
        let values = [i64::MIN, -7, -1, 0, 1, 2, 3, 12, 1 << 40, i64::MAX];
        for text in [
            "A",
            "5",
            "A + B",
            "A * B",
            "A / B",
            "A - B",
            "A + 1",
            "2 * B",
            "A / 3",
            "(A + B) * 2",
            "A * B / 3",
            "ceil(A / B)",
            "ceil((A + 1) / 3)",
        ] {
            let schema = parse(&format!(
                "t.1(x: f32[A,B]) -> y: f32[A]; n: i64 = {text} + A - A"
            ));
            // The wrapping sum makes every text a bound; the expression itself is its first part.
            let AttrDefault::Bound(Expr::Sub(sum, _)) = &schema.expect("a schema").attrs[0].default
            else {
                panic!("{text} is no bound")
            };
            let Expr::Add(expr, _) = sum.as_ref() else {
                panic!("{text} is no sum")
            };
            let formula = Formula::new(expr);
            for a in values {
                for b in values {
                    for exact in [false, true] {
                        assert_eq!(
                            formula.value(&[a, b], exact),
                            expr.eval(&[a, b], exact).ok(),
                            "{text} of {a}, {b}"
                        );
                    }
                }
            }
        }
    }
}

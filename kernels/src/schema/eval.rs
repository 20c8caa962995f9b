//! Expressions over values: checked, since extents come from callers.

use super::{Expr, Schema};

/// An expression that has no value for these symbols.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{expression}` with {values}: {fault}")]
pub struct EvalError {
    /// The expression, as text: `Hq / Hkv`.
    pub expression: String,
    /// The values of its symbols, as text: `Hq = 33, Hkv = 2`.
    pub values: String,
    /// Why.
    pub fault: EvalFault,
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalFault {
    /// A step leaves the range of i64.
    #[error("the value does not fit 64 bits")]
    Overflow,
    /// A divisor is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A division that must be exact has a remainder.
    #[error("the division leaves a remainder of {remainder}, and must be exact")]
    Inexact {
        /// What is left.
        remainder: i64,
    },
    /// No value was given for a symbol.
    #[error("symbol number {symbol} has no value")]
    Unbound {
        /// Its number.
        symbol: usize,
    },
}

impl Expr {
    /// The value for these values of symbols, by number. With `exact` a division with a remainder is an error; without, it
    /// rounds towards zero. Does not allocate.
    ///
    /// # Errors
    /// [`EvalFault`]; [`Schema::eval`] adds the names.
    pub fn eval(&self, values: &[i64], exact: bool) -> Result<i64, EvalFault> {
        match self {
            Expr::Const(value) => Ok(*value),
            Expr::Symbol(symbol) => values
                .get(*symbol)
                .copied()
                .ok_or(EvalFault::Unbound { symbol: *symbol }),
            Expr::Add(a, b) => a
                .eval(values, exact)?
                .checked_add(b.eval(values, exact)?)
                .ok_or(EvalFault::Overflow),
            Expr::Sub(a, b) => a
                .eval(values, exact)?
                .checked_sub(b.eval(values, exact)?)
                .ok_or(EvalFault::Overflow),
            Expr::Mul(a, b) => a
                .eval(values, exact)?
                .checked_mul(b.eval(values, exact)?)
                .ok_or(EvalFault::Overflow),
            Expr::Div(a, b) => {
                let (a, b) = (a.eval(values, exact)?, b.eval(values, exact)?);
                if b == 0 {
                    return Err(EvalFault::DivisionByZero);
                }
                // Both are `None` for the least value over -1 alone.
                let quotient = a.checked_div(b).ok_or(EvalFault::Overflow)?;
                let remainder = a.checked_rem(b).ok_or(EvalFault::Overflow)?;
                if exact && remainder != 0 {
                    return Err(EvalFault::Inexact { remainder });
                }
                Ok(quotient)
            }
            Expr::Ceil(a, b) => {
                let (a, b) = (a.eval(values, exact)?, b.eval(values, exact)?);
                if b == 0 {
                    return Err(EvalFault::DivisionByZero);
                }
                let quotient = a.checked_div(b).ok_or(EvalFault::Overflow)?;
                // A quotient rounded towards zero lies below the true one where both have one sign.
                let below = a.checked_rem(b).ok_or(EvalFault::Overflow)? != 0 && (a < 0) == (b < 0);
                quotient
                    .checked_add(i64::from(below))
                    .ok_or(EvalFault::Overflow)
            }
        }
    }

    /// Numbers of the symbols in it, each once, ascending.
    pub fn symbols(&self) -> Vec<usize> {
        fn walk(expr: &Expr, out: &mut Vec<usize>) {
            match expr {
                Expr::Const(_) => {}
                Expr::Symbol(symbol) => out.push(*symbol),
                Expr::Add(a, b)
                | Expr::Sub(a, b)
                | Expr::Mul(a, b)
                | Expr::Div(a, b)
                | Expr::Ceil(a, b) => {
                    walk(a, out);
                    walk(b, out);
                }
            }
        }
        let mut out = Vec::new();
        walk(self, &mut out);
        out.sort_unstable();
        out.dedup();
        out
    }
}

impl Schema {
    /// [`Expr::eval`] with an error that holds the names.
    ///
    /// # Errors
    /// [`EvalError`] with the expression's text and the values of its symbols.
    pub fn eval(&self, expr: &Expr, values: &[i64], exact: bool) -> Result<i64, EvalError> {
        expr.eval(values, exact).map_err(|fault| {
            let values: Vec<String> = expr
                .symbols()
                .into_iter()
                .map(|s| {
                    let name = self.symbols.get(s).map_or("?", String::as_str);
                    match values.get(s) {
                        Some(value) => format!("{name} = {value}"),
                        None => format!("{name} unknown"),
                    }
                })
                .collect();
            EvalError {
                expression: expr.shown(&self.symbols).to_string(),
                values: if values.is_empty() {
                    "no symbols".to_owned()
                } else {
                    values.join(", ")
                },
                fault,
            }
        })
    }

    /// Computes the derived symbols in order, writing each at its number. `values` holds one value for each symbol.
    ///
    /// # Errors
    /// [`EvalError`] of the first that has no value.
    pub fn derive(&self, values: &mut [i64]) -> Result<(), EvalError> {
        for derived in &self.derived {
            values[derived.symbol] = self.eval(&derived.expr, values, derived.exact)?;
        }
        Ok(())
    }
}

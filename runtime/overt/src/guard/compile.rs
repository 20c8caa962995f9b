//! Compiling a clause against an op, a device and the knobs in force.

use super::test::{Test, Verdict, arch_in};
use crate::bind::{Fact, FactError, FactKind};
use crate::load::decl::{ClauseDecl, Cmp, Value};
use overt_kernels::schema::Schema;
use std::collections::HashMap;

/// A clause ready for use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Compiled {
    /// Decided by the device and the knobs alone.
    Fixed(Verdict),
    /// To be tested on each problem.
    Problem(Fact, Test),
    /// To be tested on each problem, against another fact of it.
    Facts(Fact, Cmp, Fact),
    /// The clause makes no sense here, so the kernel can never be chosen.
    Senseless(String),
}

/// Compiles one clause. `constants` are the device's facts and the knobs.
pub(crate) fn compile(
    clause: &ClauseDecl,
    schema: &Schema,
    constants: &HashMap<String, Value>,
) -> Compiled {
    match try_compile(clause, schema, constants) {
        Ok(compiled) => compiled,
        Err(why) => Compiled::Senseless(why),
    }
}

fn try_compile(
    clause: &ClauseDecl,
    schema: &Schema,
    constants: &HashMap<String, Value>,
) -> Result<Compiled, String> {
    let find =
        |name: &str| Fact::find(name, schema, constants).map_err(|e: FactError| e.to_string());
    let fact = find(&clause.fact)?;
    if matches!(fact, Fact::Unknown) {
        return Ok(Compiled::Fixed(Verdict::Fails));
    }
    let kind = fact
        .kind()
        .ok_or_else(|| format!("`{}` has no values that a clause can test", clause.fact))?;
    if let (Fact::Constant(Value::Arch(arch)), Cmp::Arch) = (&fact, clause.cmp) {
        let patterns: Vec<_> = clause
            .values
            .iter()
            .filter_map(|v| {
                if let Value::Pattern(p) = v {
                    Some(p)
                } else {
                    None
                }
            })
            .collect();
        return Ok(Compiled::Fixed(verdict(arch_in(arch, &patterns))));
    }
    if kind == FactKind::Arch || clause.cmp == Cmp::Arch {
        return Err(format!(
            "`{}` is compared as an architecture, and only `device.arch` with `ARCH` can be",
            clause.fact
        ));
    }
    // Values that name facts: constants are put in, a fact of the problem stays.
    let mut values = Vec::with_capacity(clause.values.len());
    for value in &clause.values {
        let Value::Fact(name) = value else {
            values.push(value.clone());
            continue;
        };
        match find(name)? {
            Fact::Constant(constant) => values.push(constant),
            Fact::Unknown => return Ok(Compiled::Fixed(Verdict::Fails)),
            other => {
                if other.kind() != Some(kind) || kind == FactKind::Str {
                    return Err(format!(
                        "`{}` and `{name}` have no common order",
                        clause.fact
                    ));
                }
                if clause.values.len() != 1 {
                    return Err(format!(
                        "`{name}` is a fact of the problem and can only be compared with alone"
                    ));
                }
                if let Fact::Constant(constant) = &fact {
                    // The constant on the left, the problem on the right: turn the comparison round.
                    let flipped = flip(clause.cmp)
                        .ok_or_else(|| format!("`{}` cannot be tested so", clause.fact))?;
                    let test =
                        number_test(flipped, std::slice::from_ref(constant), kind, &clause.fact)?;
                    return Ok(Compiled::Problem(other, test));
                }
                return Ok(Compiled::Facts(fact, clause.cmp, other));
            }
        }
    }
    if kind == FactKind::Str {
        let texts = texts(&values, &clause.fact)?;
        let test = match clause.cmp {
            Cmp::Is | Cmp::In => Test::TextIn(texts),
            Cmp::IsNot | Cmp::NotIn => Test::TextNotIn(texts),
            _ => return Err(format!("`{}` is text, which has no order", clause.fact)),
        };
        return Ok(match &fact {
            Fact::Constant(Value::Str(text)) => Compiled::Fixed(verdict(test.text(text))),
            _ => Compiled::Problem(fact, test),
        });
    }
    let test = number_test(clause.cmp, &values, kind, &clause.fact)?;
    Ok(match &fact {
        Fact::Constant(value) => {
            let number = number(value, kind, &clause.fact)?;
            Compiled::Fixed(verdict(test.number(number)))
        }
        _ => Compiled::Problem(fact, test),
    })
}

fn verdict(holds: bool) -> Verdict {
    if holds {
        Verdict::Holds
    } else {
        Verdict::Fails
    }
}

fn flip(cmp: Cmp) -> Option<Cmp> {
    Some(match cmp {
        Cmp::Is | Cmp::In => Cmp::Is,
        Cmp::IsNot | Cmp::NotIn => Cmp::IsNot,
        Cmp::AtLeast => Cmp::AtMost,
        Cmp::AtMost => Cmp::AtLeast,
        Cmp::Below => Cmp::Above,
        Cmp::Above => Cmp::Below,
        Cmp::MultipleOf | Cmp::Arch => return None,
    })
}

fn number_test(cmp: Cmp, values: &[Value], kind: FactKind, fact: &str) -> Result<Test, String> {
    let ordered_kind = matches!(kind, FactKind::I64 | FactKind::F64);
    if !ordered_kind && !matches!(cmp, Cmp::Is | Cmp::IsNot | Cmp::In | Cmp::NotIn) {
        return Err(format!(
            "`{fact}` has no order, so it can only be equal or not"
        ));
    }
    let mut numbers = values
        .iter()
        .map(|v| number(v, kind, fact))
        .collect::<Result<Vec<i64>, String>>()?;
    let first = *numbers
        .first()
        .ok_or_else(|| format!("the clause on `{fact}` names no value"))?;
    Ok(match cmp {
        Cmp::Is => Test::Range(first, first),
        Cmp::AtLeast => Test::Range(first, i64::MAX),
        Cmp::AtMost => Test::Range(i64::MIN, first),
        Cmp::Below => first
            .checked_sub(1)
            .map_or(Test::Range(0, -1), |high| Test::Range(i64::MIN, high)),
        Cmp::Above => first
            .checked_add(1)
            .map_or(Test::Range(0, -1), |low| Test::Range(low, i64::MAX)),
        Cmp::MultipleOf if kind != FactKind::I64 => {
            return Err(format!("`{fact}` is no integer, so it has no multiples"));
        }
        Cmp::MultipleOf if first <= 0 => {
            return Err(format!("`{fact}` cannot be a multiple of {first}"));
        }
        Cmp::MultipleOf => Test::MultipleOf(first),
        Cmp::In | Cmp::NotIn | Cmp::IsNot => {
            numbers.sort_unstable();
            numbers.dedup();
            if cmp == Cmp::In {
                Test::In(numbers.into())
            } else {
                Test::NotIn(numbers.into())
            }
        }
        Cmp::Arch => return Err(format!("`{fact}` is no architecture")),
    })
}

/// The number of a value that is compared with a fact of `kind`.
pub(crate) fn number(value: &Value, kind: FactKind, fact: &str) -> Result<i64, String> {
    use crate::bind::{dtype_number, ordered};
    match (kind, value) {
        (FactKind::Bool, Value::Bool(b)) => Ok((*b).into()),
        (FactKind::I64, Value::I64(i)) => Ok(*i),
        (FactKind::F64, Value::F64(f)) if !f.is_nan() => Ok(ordered(*f)),
        (FactKind::F64, Value::I64(i)) => Ok(ordered(*i as f64)),
        (FactKind::DType, Value::DType(d)) => Ok(dtype_number(*d)),
        _ => Err(format!(
            "`{fact}` cannot be compared with {value}, a value of another type"
        )),
    }
}

fn texts(values: &[Value], fact: &str) -> Result<Box<[String]>, String> {
    values
        .iter()
        .map(|v| match v {
            Value::Str(s) => Ok(s.clone()),
            other => Err(format!(
                "`{fact}` is text and cannot be compared with {other}"
            )),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use overt_kernels::schema::parse;

    fn schema() -> Schema {
        parse(
            "op.1(x: float[T,D]) -> out: like x[T,D]; soft: f64 = 0, mode: str = \"a\", n: i64 = T",
        )
        .unwrap()
    }

    fn clause(fact: &str, cmp: Cmp, values: Vec<Value>) -> ClauseDecl {
        ClauseDecl {
            fact: fact.into(),
            cmp,
            values,
            source: String::new(),
        }
    }

    #[test]
    fn device_and_knob_clauses_are_decided_once() {
        let constants = HashMap::from([
            ("device.lds".to_owned(), Value::I64(64)),
            ("knob.split".to_owned(), Value::Bool(false)),
            ("knob.rows".to_owned(), Value::I64(32)),
        ]);
        let schema = schema();
        let decided =
            |fact: &str, cmp, value| compile(&clause(fact, cmp, vec![value]), &schema, &constants);
        assert_eq!(
            decided("device.lds", Cmp::AtLeast, Value::I64(64)),
            Compiled::Fixed(Verdict::Holds)
        );
        assert_eq!(
            decided("device.lds", Cmp::Above, Value::I64(64)),
            Compiled::Fixed(Verdict::Fails)
        );
        assert_eq!(
            decided("knob.split", Cmp::Is, Value::Bool(true)),
            Compiled::Fixed(Verdict::Fails)
        );
        // A fact that nobody states fails every clause, the negative ones too.
        for cmp in [Cmp::Is, Cmp::IsNot, Cmp::NotIn] {
            assert_eq!(
                decided("device.gone", cmp, Value::I64(1)),
                Compiled::Fixed(Verdict::Fails)
            );
        }
        // A threshold may be a knob.
        assert_eq!(
            decided("T", Cmp::AtLeast, Value::Fact("knob.rows".into())),
            Compiled::Problem(Fact::Symbol(0), Test::Range(32, i64::MAX))
        );
        assert_eq!(
            decided("knob.rows", Cmp::Below, Value::Fact("T".into())),
            Compiled::Problem(Fact::Symbol(0), Test::Range(33, i64::MAX))
        );
    }

    #[test]
    fn senseless_clauses_are_told_and_never_hold() {
        let (schema, constants) = (schema(), HashMap::new());
        for bad in [
            clause("Q", Cmp::Is, vec![Value::I64(1)]),
            clause("x.color", Cmp::Is, vec![Value::I64(1)]),
            clause("D", Cmp::Is, vec![Value::Str("a".into())]),
            clause(
                "x.dtype",
                Cmp::AtLeast,
                vec![Value::DType(overt_kernels::dtype::F32)],
            ),
            clause("D", Cmp::MultipleOf, vec![Value::I64(0)]),
            clause("attr.mode", Cmp::Below, vec![Value::Str("a".into())]),
            clause("D", Cmp::Is, vec![Value::Fact("x.dtype".into())]),
            clause("D", Cmp::Is, vec![]),
        ] {
            assert!(
                matches!(compile(&bad, &schema, &constants), Compiled::Senseless(_)),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn limits_of_the_range_are_kept() {
        assert_eq!(
            number_test(Cmp::Below, &[Value::I64(i64::MIN)], FactKind::I64, "D").unwrap(),
            Test::Range(0, -1)
        );
        assert!(!Test::Range(0, -1).number(0));
        let below = number_test(
            Cmp::Below,
            &[Value::I64(1 << 31)],
            FactKind::I64,
            "x.max_offset",
        )
        .unwrap();
        assert!(below.number((1 << 31) - 1) && !below.number(1 << 31));
    }
}

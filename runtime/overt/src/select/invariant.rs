//! What a policy of batch invariance asks of a kernel: that its rows do not depend on the batch, and neither does whether it is chosen.

use super::rules::Check;
use crate::bind::{Fact, OperandFact};
use crate::guard::Reason;
use crate::registry::{Kernel, Op};
use overt_kernels::op::Rows;
use overt_kernels::ops;
use overt_kernels::schema::{AttrDefault, Expr, Role, Schema};

/// Which facts of an op's problems change with the other rows of a batch.
pub(crate) struct Batch<'a> {
    schema: &'a Schema,
    /// Symbols that count rows, by number.
    symbols: Vec<bool>,
    /// Whether rows are independent at all, so that a class says something about them.
    rows: bool,
}

impl<'a> Batch<'a> {
    /// Of an op. Nothing is known of the rows of a provider's own op, so any of its extents may count them.
    pub(crate) fn of(op: &'a Op) -> Batch<'a> {
        let schema = op.schema();
        let mut symbols = vec![false; schema.symbols.len()];
        let known = ops::find(&schema.name).map(|op| op.rows);
        match known {
            Some(Rows::Along(name)) => {
                if let Some(number) = schema.symbol(name) {
                    symbols[number] = true;
                }
            }
            Some(Rows::Requests) => {
                for operand in &schema.operands {
                    match operand.name.as_str() {
                        "query_start" | "seq_lens" | "block_table" => {
                            operand.dims.iter().for_each(|dim| mark(dim, &mut symbols));
                        }
                        _ if operand.role == Role::Out => {
                            operand
                                .dims
                                .iter()
                                .take(1)
                                .for_each(|dim| mark(dim, &mut symbols));
                        }
                        _ => {}
                    }
                }
            }
            Some(Rows::Dependent) => {
                let inputs = schema.operands.iter().filter(|o| o.role == Role::In);
                inputs
                    .filter_map(|operand| operand.dims.first())
                    .for_each(|dim| mark(dim, &mut symbols));
            }
            None => symbols.fill(true),
        }
        for derived in &schema.derived {
            symbols[derived.symbol] |= reads(&derived.expr, &symbols);
        }
        Batch {
            schema,
            symbols,
            rows: known != Some(Rows::Dependent),
        }
    }

    /// Every reason why a kernel's rows, or whether it serves them, may depend on the batch.
    pub(crate) fn reasons<'c>(
        &self,
        kernel: &Kernel,
        checks: impl Iterator<Item = &'c Check>,
    ) -> Vec<Reason> {
        let mut whys = Vec::new();
        if self.rows && kernel.decl.numeric_class.is_none() {
            whys.push("it declares no numeric class".to_owned());
        }
        if kernel.decl.guard.is_some() {
            whys.push("its own test may read the size of the batch".to_owned());
        }
        for check in checks {
            let facts = match check {
                Check::One(fact, _) => [Some(fact), None],
                Check::Two(a, _, b) => [Some(a), Some(b)],
            };
            for fact in facts.into_iter().flatten() {
                if let Some(name) = self.varies(fact) {
                    whys.push(format!(
                        "its guard reads {name}, which changes with the batch"
                    ));
                }
            }
        }
        whys.dedup();
        whys.into_iter()
            .map(|why| Reason::BatchDependent { why })
            .collect()
    }

    /// The name of a fact that changes with the batch.
    fn varies(&self, fact: &Fact) -> Option<String> {
        match fact {
            Fact::Symbol(number) => {
                self.symbols[*number].then(|| self.schema.symbols[*number].clone())
            }
            Fact::Attr(number, _) => {
                let attr = &self.schema.attrs[*number];
                matches!(attr.default, AttrDefault::Bound(_)).then(|| format!("attr.{}", attr.name))
            }
            // Alignment of rows too: a single row has none to be aligned.
            Fact::Operand(
                number,
                OperandFact::MaxOffset | OperandFact::Bytes | OperandFact::RowAlign,
            ) => {
                let operand = &self.schema.operands[*number];
                let grows = operand.dims.iter().any(|dim| reads(dim, &self.symbols));
                grows.then(|| format!("the extent of {}", operand.name))
            }
            // A batch that is captured shares passes with none that is not only where a kernel can be captured.
            Fact::Capturing => Some("stream.capturing".into()),
            _ => None,
        }
    }
}

fn each(expr: &Expr, symbol: &mut dyn FnMut(usize)) {
    match expr {
        Expr::Const(_) => {}
        Expr::Symbol(number) => symbol(*number),
        Expr::Add(a, b)
        | Expr::Sub(a, b)
        | Expr::Mul(a, b)
        | Expr::Div(a, b)
        | Expr::Ceil(a, b) => {
            each(a, symbol);
            each(b, symbol);
        }
    }
}

fn mark(expr: &Expr, symbols: &mut [bool]) {
    each(expr, &mut |number| symbols[number] = true);
}

fn reads(expr: &Expr, symbols: &[bool]) -> bool {
    let mut found = false;
    each(expr, &mut |number| found |= symbols[number]);
    found
}

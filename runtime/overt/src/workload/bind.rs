//! Calls held against their ops, and filled.

use super::error::{WorkloadError, WorkloadProblem};
use super::file::{CallSpec, OperandSpec, Workload, title};
use crate::bind::{Attr, BindError, BindProblem, Bound, Problem};
use crate::core::Runtime;
use crate::memory::View;
use crate::registry::{Op, near};
use overt_kernels::host::{HostCall, HostTensor};
use overt_kernels::schema::{AttrType, AttrValue};

/// A call that fits its op's schema.
#[derive(Clone, Debug)]
pub struct BoundCall {
    /// The op.
    pub op: Op,
    /// Which layer or part of a model it stands for; empty if not said.
    pub tag: String,
    /// How often a step makes it.
    pub repeat: u64,
    /// The line at which it begins.
    pub line: usize,
    spec: CallSpec,
    file: std::path::PathBuf,
    number: usize,
}

impl Workload {
    /// Holds every call against its op's schema. Allocates no operand.
    pub fn bind(&self, runtime: &Runtime) -> Result<Vec<BoundCall>, WorkloadError> {
        self.calls
            .iter()
            .enumerate()
            .map(|(number, spec)| {
                let error = |(line, problem): Located| WorkloadError {
                    file: self.file.clone(),
                    line,
                    call: title(number, &spec.op.0, &spec.tag),
                    problem,
                };
                let op = runtime.op(&spec.op.0).map_err(|e| {
                    let words = e.to_string();
                    error(at(spec.op.1, WorkloadProblem::Op { words }))
                })?;
                check(&op, spec).map_err(error)?;
                Ok(BoundCall {
                    op,
                    tag: spec.tag.clone(),
                    repeat: spec.repeat,
                    line: spec.line,
                    spec: spec.clone(),
                    file: self.file.clone(),
                    number,
                })
            })
            .collect()
    }
}

/// A problem and its line.
type Located = (usize, Box<WorkloadProblem>);

fn at(line: usize, problem: impl Into<WorkloadProblem>) -> Located {
    (line, Box::new(problem.into()))
}

fn check(op: &Op, spec: &CallSpec) -> Result<(), Located> {
    if op.common().is_none() {
        let problem = WorkloadProblem::Foreign {
            op: op.name().to_owned(),
            provider: op.provider().unwrap_or_default().to_owned(),
        };
        return Err(at(spec.op.1, problem));
    }
    let mut problem = Problem::new(op);
    for (name, (operand, line)) in &spec.operands {
        let view = view(operand).map_err(|error| {
            let operand = name.clone();
            at(*line, WorkloadProblem::View { operand, error })
        })?;
        problem = problem.operand(name, view).map_err(|e| at(*line, e))?;
    }
    for (name, (value, line)) in &spec.attrs {
        let value = match value {
            AttrValue::Bool(b) => Attr::Bool(*b),
            AttrValue::I64(i) => Attr::I64(*i),
            AttrValue::F64(f) => Attr::F64(*f),
            AttrValue::Str(s) => Attr::Str(s),
        };
        problem = problem.attr(name, value).map_err(|e| at(*line, e))?;
    }
    let mut bound = Bound::new();
    op.0.binder
        .bind(&problem, &mut bound)
        .map_err(|e| at(line_of(spec, &e), e))?;
    lengths(op, spec, &bound)
}

/// The line of the operand or attribute that an error is about, or that of the call.
fn line_of(spec: &CallSpec, error: &BindError) -> usize {
    let operand = |name: &String| spec.operands.get(name).map(|(_, line)| *line);
    let attr = |name: &String| spec.attrs.get(name).map(|(_, line)| *line);
    let line = match error.problem.as_ref() {
        BindProblem::Rank { operand: o, .. }
        | BindProblem::DType { operand: o, .. }
        | BindProblem::Extent { operand: o, .. }
        | BindProblem::View { operand: o, .. }
        | BindProblem::SharedElements { operand: o, .. } => operand(o),
        BindProblem::AttrType { attr: a, .. }
        | BindProblem::AttrNotFinite { attr: a, .. }
        | BindProblem::Bound { attr: a, .. } => attr(a),
        _ => None,
    };
    line.unwrap_or(spec.line)
}

fn lengths(op: &Op, spec: &CallSpec, bound: &Bound) -> Result<(), Located> {
    let rule = op.common().map_or(&[][..], |common| common.lengths);
    for (name, (list, line)) in &spec.lengths {
        let Some((_, symbol)) = rule.iter().find(|(known, _)| known == name) else {
            let problem = WorkloadProblem::UnknownLengths {
                name: name.clone(),
                near: near(name, rule.iter().map(|(known, _)| *known)),
                known: rule.iter().map(|(known, _)| (*known).to_owned()).collect(),
            };
            return Err(at(*line, problem));
        };
        let wrong = |what: String, wanted: String| {
            let name = name.clone();
            Err(at(*line, WorkloadProblem::Lengths { name, what, wanted }))
        };
        let count = op
            .schema()
            .symbol(symbol)
            .map_or(0, |number| bound.symbols[number]);
        if list.len() as i64 != count {
            let wanted = format!("{count}, one for each of {symbol}");
            return wrong(format!("{} numbers", list.len()), wanted);
        }
        if let Some(negative) = list.iter().find(|n| **n < 0) {
            return wrong(
                format!("{negative} is among them"),
                "numbers from 0 up".into(),
            );
        }
    }
    Ok(())
}

fn view(operand: &OperandSpec) -> Result<View, crate::memory::ViewError> {
    if operand.padding == 0 && operand.outer_padding == 0 {
        return operand.tensor.view();
    }
    let shape = &operand.tensor.shape;
    let overflow = || crate::memory::ViewError::Overflow {
        shape: shape.clone(),
        strides: Vec::new(),
    };
    let mut strides = vec![1i64; shape.len()];
    for dim in (0..shape.len().saturating_sub(1)).rev() {
        let outer = if dim == 0 { operand.outer_padding } else { 0 };
        strides[dim] = strides[dim + 1]
            .checked_mul(shape[dim + 1].max(1))
            .and_then(|s| s.checked_add(operand.padding)?.checked_add(outer))
            .ok_or_else(overflow)?;
    }
    View::strided(operand.tensor.dtype, shape, &strides)
}

impl BoundCall {
    /// Allocates the operands on the host and fills them by the op's rules from a seed.
    pub fn fill(&self, seed: u64) -> Result<HostCall, WorkloadError> {
        self.filled(seed).map_err(|problem| WorkloadError {
            file: self.file.clone(),
            line: self.line,
            call: title(self.number, &self.spec.op.0, &self.tag),
            problem: Box::new(problem),
        })
    }

    fn filled(&self, seed: u64) -> Result<HostCall, WorkloadProblem> {
        let schema = self.op.schema();
        let Some(common) = self.op.common() else {
            return Err(WorkloadProblem::Foreign {
                op: self.op.name().to_owned(),
                provider: self.op.provider().unwrap_or_default().to_owned(),
            });
        };
        let mut operands = Vec::with_capacity(schema.operands.len());
        for declared in &schema.operands {
            operands.push(match self.spec.operands.get(&declared.name) {
                Some((operand, _)) => Some(host(&declared.name, operand)?),
                None => None,
            });
        }
        let attrs: Vec<(String, AttrValue)> = self
            .spec
            .attrs
            .iter()
            .map(|(name, (value, _))| {
                let ty = schema.attr(name).map(|n| schema.attrs[n].ty);
                let value = match (ty, value) {
                    // TOML tells `1` from `1.0`; a float attribute takes both.
                    (Some(AttrType::F64), AttrValue::I64(i)) => AttrValue::F64(*i as f64),
                    _ => value.clone(),
                };
                (name.clone(), value)
            })
            .collect();
        let mut call = HostCall::bind(schema, operands, &attrs)?;
        call.lengths = self
            .spec
            .lengths
            .iter()
            .map(|(name, (list, _))| (name.clone(), list.clone()))
            .collect();
        (common.fill)(&mut call, seed);
        (common.check_contents)(&call).map_err(WorkloadProblem::Content)?;
        Ok(call)
    }
}

fn host(name: &str, operand: &OperandSpec) -> Result<HostTensor, WorkloadProblem> {
    let bytes = view(operand)
        .map_err(|error| WorkloadProblem::View {
            operand: name.to_owned(),
            error,
        })?
        .span_bytes();
    // Asked for beforehand, since an allocation that fails further down ends the process.
    let mut probe: Vec<u8> = Vec::new();
    let room = usize::try_from(bytes).is_ok_and(|n| probe.try_reserve_exact(n).is_ok());
    drop(probe);
    if !room {
        return Err(WorkloadProblem::Memory {
            operand: name.to_owned(),
            bytes,
        });
    }
    let tensor = &operand.tensor;
    Ok(match &tensor.strides {
        Some(strides) => HostTensor::with_strides(tensor.dtype, &tensor.shape, strides)?,
        None => HostTensor::padded(
            tensor.dtype,
            &tensor.shape,
            operand.padding,
            operand.outer_padding,
        )?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn bound(text: &str) -> Result<Vec<BoundCall>, WorkloadError> {
        let runtime = Runtime::builder().search(false).start().unwrap();
        Workload::parse(text, Path::new("w.toml"))?.bind(&runtime)
    }

    fn refused(text: &str, line: usize, words: &[&str]) {
        let error = bound(text).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.line, line, "{message}");
        for word in words {
            assert!(message.contains(word), "{message} lacks {word}");
        }
    }

    const ADD: &str = "[[call]]\nop = \"add\"\noperands.a = \"f32[2,3]\"\noperands.b = \"f32[2,3]\"\noperands.out = \"f32[2,3]\"\n";

    const ATTENTION: &str = r#"[[call]]
op = "paged_attention"
operands.query = "bf16[1,9,64]"
operands.k_cache = "bf16[8,16,3,64]"
operands.v_cache = "bf16[8,16,3,64]"
operands.block_table = "i32[1,4]"
operands.seq_lens = "i32[1]"
operands.query_start = "i32[2]"
operands.out = "bf16[1,9,64]"
attrs.scale = 1
"#;

    #[test]
    fn a_good_call_binds_and_fills() {
        let calls = bound(ADD).unwrap();
        let host = calls[0].fill(1).unwrap();
        assert_eq!(host.symbols, [2, 3]);
        let text = format!("{ATTENTION}lengths.seq_lens = [50]\nlengths.query_lens = [1]\n");
        let host = bound(&text).unwrap()[0].fill(1).unwrap();
        assert_eq!(host.operand("seq_lens").unwrap().get_i64(&[0]).unwrap(), 50);
        assert_eq!(host.attr("max_seq_len"), Some(&AttrValue::I64(50)));
    }

    #[test]
    fn calls_that_break_their_schema_name_line_operand_and_attribute() {
        refused(
            "[[call]]\n\nop = \"ad\"\n",
            3,
            &["no op `ad`", "call 1 (ad)"],
        );
        refused(
            &format!("{ADD}attrs.eps = 1.0\n"),
            6,
            &["no attribute `eps`"],
        );
        refused(
            &format!("{ADD}operands.c = \"f32[1]\"\n"),
            6,
            &["no operand `c`"],
        );
        refused(
            &ADD.replace("b = \"f32[2,3]\"", "b = \"f32[2,4]\""),
            4,
            &["operand `b`", "4"],
        );
        refused(
            &ADD.replace("a = \"f32[2,3]\"", "a = \"i32[2,3]\""),
            3,
            &["operand `a`", "i32"],
        );
        let missing = "[[call]]\nop = \"add\"\noperands.a = \"f32[2,3]\"\n";
        refused(missing, 1, &["operand `b` is missing"]);
        let heads = ATTENTION.replace("[1,9,64]", "[1,10,64]");
        refused(&heads, 1, &["Hq / Hkv"]);
        let text = format!("{ATTENTION}lengths.seq_len = [50]\n");
        refused(&text, 11, &["no lengths `seq_len`", "`seq_lens`"]);
        let text = format!("{ATTENTION}lengths.seq_lens = [50, 3]\n");
        refused(&text, 11, &["`seq_lens`", "2 numbers", "wanted 1"]);
        let text = format!("{ATTENTION}lengths.seq_lens = [-1]\n");
        refused(&text, 11, &["-1"]);
    }

    #[test]
    fn more_memory_than_there_is_is_an_error_and_not_the_end() {
        let text = ADD.replace("[2,3]", "[4194304,4194304]");
        let error = bound(&text).unwrap()[0].fill(1).unwrap_err();
        assert!(
            error.to_string().contains("operand `a`: no memory"),
            "{error}"
        );
    }

    #[test]
    fn lengths_that_do_not_fit_the_shapes_are_content_errors() {
        let text = format!("{ATTENTION}lengths.seq_lens = [65]\nlengths.query_lens = [1]\n");
        let error = bound(&text).unwrap()[0].fill(1).unwrap_err();
        assert!(error.to_string().contains("seq_lens"), "{error}");
    }
}

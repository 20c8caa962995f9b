//! The file: parsed, with the line of everything that a later check may find wrong.

use super::error::{WorkloadError, WorkloadProblem};
use super::tensor::TensorSpec;
use overt_kernels::schema::AttrValue;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::{Spanned, Value};

/// A list of op calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Where it was read.
    pub file: PathBuf,
    /// What it is, in a line.
    pub doc: String,
    /// Seed of all contents.
    pub seed: u64,
    /// The calls, in order.
    pub calls: Vec<CallSpec>,
}

/// One call as written. Not yet held against its op's schema.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSpec {
    /// The line at which it begins.
    pub line: usize,
    /// The op's name, and its line.
    pub op: (String, usize),
    /// Which layer or part of a model it stands for; empty if not said.
    pub tag: String,
    /// How often a step makes it.
    pub repeat: u64,
    /// Operands that are present, with their lines.
    pub operands: BTreeMap<String, (OperandSpec, usize)>,
    /// Attributes that are given, with their lines.
    pub attrs: BTreeMap<String, (AttrValue, usize)>,
    /// Parameters of filling, with their lines.
    pub lengths: BTreeMap<String, (Vec<i64>, usize)>,
}

/// One operand as written.
#[derive(Clone, Debug, PartialEq)]
pub struct OperandSpec {
    /// Its type, extents and strides.
    pub tensor: TensorSpec,
    /// Elements by which every stride but the last exceeds what it steps over. Of no meaning with explicit strides.
    pub padding: i64,
    /// Elements by which the first stride exceeds that as well.
    pub outer_padding: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    doc: String,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default)]
    call: Vec<Spanned<RawCall>>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    op: Spanned<String>,
    #[serde(default)]
    tag: String,
    repeat: Option<Spanned<i64>>,
    #[serde(default)]
    operands: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    attrs: BTreeMap<String, Spanned<Value>>,
    #[serde(default)]
    lengths: BTreeMap<String, Spanned<Vec<i64>>>,
}

/// Where something stands, for errors.
struct Place<'a> {
    text: &'a str,
    file: &'a Path,
    call: String,
}

impl Place<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        self.text.as_bytes()[..span.start.min(self.text.len())]
            .iter()
            .filter(|b| **b == b'\n')
            .count()
            + 1
    }

    fn error(&self, span: &Range<usize>, problem: WorkloadProblem) -> WorkloadError {
        WorkloadError {
            file: self.file.to_owned(),
            line: self.line(span),
            call: self.call.clone(),
            problem: Box::new(problem),
        }
    }
}

impl Workload {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Workload, WorkloadError> {
        let text = std::fs::read_to_string(file).map_err(|e| WorkloadError {
            file: file.to_owned(),
            line: 0,
            call: String::new(),
            problem: Box::new(WorkloadProblem::Read {
                words: e.to_string(),
            }),
        })?;
        Workload::parse(&text, file)
    }

    /// Parses the text of a file; `file` is what errors name.
    pub fn parse(text: &str, file: &Path) -> Result<Workload, WorkloadError> {
        let mut place = Place {
            text,
            file,
            call: String::new(),
        };
        let raw: RawFile = toml::from_str(text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            let words = e.message().to_owned();
            place.error(&span, WorkloadProblem::Form { words })
        })?;
        if raw.call.is_empty() {
            return Err(place.error(&(0..0), WorkloadProblem::Empty));
        }
        let mut calls = Vec::with_capacity(raw.call.len());
        for (number, call) in raw.call.into_iter().enumerate() {
            let span = call.span();
            let call = call.into_inner();
            place.call = title(number, call.op.get_ref(), &call.tag);
            calls.push(call_of(&place, &span, call)?);
        }
        Ok(Workload {
            file: file.to_owned(),
            doc: raw.doc,
            seed: raw.seed,
            calls,
        })
    }
}

/// What errors call a call.
pub(super) fn title(number: usize, op: &str, tag: &str) -> String {
    if tag.is_empty() {
        format!("call {} ({op})", number + 1)
    } else {
        format!("call {} ({op}, {tag})", number + 1)
    }
}

fn call_of(
    place: &Place<'_>,
    span: &Range<usize>,
    raw: RawCall,
) -> Result<CallSpec, WorkloadError> {
    let repeat = match &raw.repeat {
        None => 1,
        Some(n) => match u64::try_from(*n.get_ref()) {
            Ok(n) if n > 0 => n,
            _ => {
                let problem = WorkloadProblem::Repeat { got: *n.get_ref() };
                return Err(place.error(&n.span(), problem));
            }
        },
    };
    let mut operands = BTreeMap::new();
    for (name, value) in raw.operands {
        let span = value.span();
        let spec = operand(&name, value.into_inner()).map_err(|p| place.error(&span, p))?;
        operands.insert(name, (spec, place.line(&span)));
    }
    let mut attrs = BTreeMap::new();
    for (name, value) in raw.attrs {
        let span = value.span();
        let attr = match value.into_inner() {
            Value::Boolean(b) => AttrValue::Bool(b),
            Value::Integer(i) => AttrValue::I64(i),
            Value::Float(f) => AttrValue::F64(f),
            Value::String(s) => AttrValue::Str(s),
            other => {
                let what = format!("of type {}", other.type_str());
                return Err(place.error(&span, WorkloadProblem::Attr { attr: name, what }));
            }
        };
        attrs.insert(name, (attr, place.line(&span)));
    }
    let lengths = raw
        .lengths
        .into_iter()
        .map(|(name, list)| {
            let line = place.line(&list.span());
            (name, (list.into_inner(), line))
        })
        .collect();
    let op_line = place.line(&raw.op.span());
    Ok(CallSpec {
        line: place.line(span),
        op: (raw.op.into_inner(), op_line),
        tag: raw.tag,
        repeat,
        operands,
        attrs,
        lengths,
    })
}

fn operand(name: &str, value: Value) -> Result<OperandSpec, WorkloadProblem> {
    let parse = |text: &str| -> Result<TensorSpec, WorkloadProblem> {
        let tensor: TensorSpec = text.parse().map_err(|error| WorkloadProblem::Tensor {
            operand: name.to_owned(),
            error,
        })?;
        if tensor.align.is_some() {
            return Err(wrong(name, "has an alignment, which only `explain` takes"));
        }
        Ok(tensor)
    };
    let table = match value {
        Value::String(text) => {
            return Ok(OperandSpec {
                tensor: parse(&text)?,
                padding: 0,
                outer_padding: 0,
            });
        }
        Value::Table(table) => table,
        other => return Err(wrong(name, &format!("is of type {}", other.type_str()))),
    };
    let mut tensor = None;
    let mut paddings = [0, 0];
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("tensor", Value::String(text)) => tensor = Some(parse(text)?),
            ("padding", Value::Integer(n)) if *n >= 0 => paddings[0] = *n,
            ("outer_padding", Value::Integer(n)) if *n >= 0 => paddings[1] = *n,
            (key @ ("tensor" | "padding" | "outer_padding"), value) => {
                return Err(wrong(name, &format!("has {key} = {value}")));
            }
            (key, _) => return Err(wrong(name, &format!("has the key `{key}`"))),
        }
    }
    let tensor = tensor.ok_or_else(|| wrong(name, "has no `tensor`"))?;
    if tensor.strides.is_some() && paddings != [0, 0] {
        return Err(wrong(name, "has both strides and padding"));
    }
    Ok(OperandSpec {
        tensor,
        padding: paddings[0],
        outer_padding: paddings[1],
    })
}

fn wrong(operand: &str, what: &str) -> WorkloadProblem {
    WorkloadProblem::Operand {
        operand: operand.to_owned(),
        what: what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, line: usize, words: &str) {
        let error = Workload::parse(text, Path::new("w.toml")).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("w.toml:{line}: ")),
            "{message}"
        );
        assert!(message.contains(words), "{message}");
    }

    #[test]
    fn calls_are_read_with_their_lines() {
        let text = r#"doc = "two calls"

[[call]]
op = "add"
tag = "residual"
repeat = 3
operands.a = "f32[2,3]"
operands.b = { tensor = "f16[2,3]", padding = 5 }

[[call]]
op = "rms_norm.1"
attrs.eps = 1e-5
[call.lengths]
seq_lens = [1, 2]
"#;
        let workload = Workload::parse(text, Path::new("w.toml")).unwrap();
        assert_eq!((workload.seed, workload.calls.len()), (1, 2));
        let first = &workload.calls[0];
        assert_eq!(
            (first.line, first.repeat, first.tag.as_str()),
            (3, 3, "residual")
        );
        assert_eq!(first.operands["b"].0.padding, 5);
        assert_eq!(first.operands["b"].1, 8);
        let second = &workload.calls[1];
        assert_eq!(second.attrs["eps"].0, AttrValue::F64(1e-5));
        assert_eq!(second.lengths["seq_lens"], (vec![1, 2], 14));
    }

    #[test]
    fn malformed_files_are_errors_with_their_line() {
        refused("doc = \"x\"\n", 1, "lists no call");
        refused("doc = \"x\"\n[[call]\n", 2, "");
        refused("[[call]]\ntag = \"x\"\n", 1, "missing field `op`");
        refused("[[call]]\nop = \"add\"\nrepat = 3\n", 3, "repat");
        refused("[[call]]\nop = \"add\"\nrepeat = 0\n", 3, "at least 1");
        refused("[[call]]\nop = \"add\"\nrepeat = \"x\"\n", 3, "");
        refused(
            "[[call]]\nop = \"add\"\noperands.a = \"f33[1]\"\n",
            3,
            "call 1 (add): operand `a`: `f33[1]`",
        );
        refused("[[call]]\nop = \"add\"\noperands.a = 3\n", 3, "operand `a`");
        refused(
            "[[call]]\nop = \"add\"\n\noperands.a = { tensor = \"f32[1]\", pad = 3 }\n",
            4,
            "the key `pad`",
        );
        refused(
            "[[call]]\nop = \"add\"\noperands.a = { tensor = \"f32[1]\", padding = -3 }\n",
            3,
            "padding = -3",
        );
        refused(
            "[[call]]\nop = \"add\"\nattrs.x = [1]\n",
            3,
            "attribute `x`",
        );
        refused(
            "[[call]]\nop = \"add\"\ntag = \"q\"\nlengths.x = [1.5]\n",
            4,
            "",
        );
        refused(
            "[[call]]\nop = \"add\"\noperands.a = \"f32[1]@16\"\n",
            3,
            "only `explain`",
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Workload::read(Path::new("/no/such/file.toml")).unwrap_err();
        assert_eq!(error.line, 0);
        assert!(
            error
                .to_string()
                .starts_with("/no/such/file.toml: it cannot be read")
        );
    }
}

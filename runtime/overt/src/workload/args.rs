//! A problem from `name=value` arguments, as `overt explain` takes them.

use super::tensor::{TensorSpec, TensorTextError};
use crate::bind::{Attr, BindError, Problem, list, near_text};
use crate::memory::ViewError;
use crate::registry::{Op, near};
use overt_kernels::schema::AttrType;

/// An argument that describes no operand and no attribute.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArgError {
    /// No `=`.
    #[error("argument `{arg}` is not of the form `operand=dtype[extents]` or `attribute=value`")]
    Form {
        /// The argument.
        arg: String,
    },
    /// A name that the schema does not have.
    #[error(
        "{op} has no operand or attribute `{name}`{}; it has {}",
        near_text(near),
        list(known)
    )]
    Unknown {
        /// The op.
        op: String,
        /// The name given.
        name: String,
        /// Names like it.
        near: Vec<String>,
        /// Its operands and attributes.
        known: Vec<String>,
    },
    /// One name twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// An operand's text.
    #[error("operand `{operand}`: {error}")]
    Tensor {
        /// The operand.
        operand: String,
        /// What is wrong with the text.
        error: TensorTextError,
    },
    /// An operand that no memory can hold.
    #[error("operand `{operand}`: {error}")]
    View {
        /// The operand.
        operand: String,
        /// What is wrong with its layout.
        error: ViewError,
    },
    /// An attribute's text.
    #[error("attribute `{attr}` is `{got}`; wanted {wanted}")]
    Attr {
        /// The attribute.
        attr: String,
        /// The text.
        got: String,
        /// The type in the schema.
        wanted: &'static str,
    },
    /// A value that the attribute does not take.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// The problem that arguments describe: `query=bf16[5,9,64]`, `softcap=50`. Whether it fits the op's schema shows when it is
/// explained.
pub fn problem<S: AsRef<str>>(op: &Op, args: &[S]) -> Result<Problem, ArgError> {
    let schema = op.schema();
    let mut problem = Problem::new(op);
    let mut seen: Vec<&str> = Vec::new();
    for arg in args {
        let arg = arg.as_ref();
        let Some((name, value)) = arg.split_once('=') else {
            return Err(ArgError::Form {
                arg: arg.to_owned(),
            });
        };
        let (name, value) = (name.trim(), value.trim());
        if seen.contains(&name) {
            return Err(ArgError::Twice {
                name: name.to_owned(),
            });
        }
        seen.push(name);
        if schema.operand(name).is_some() {
            let spec: TensorSpec = value.parse().map_err(|error| ArgError::Tensor {
                operand: name.to_owned(),
                error,
            })?;
            let view = spec.view().map_err(|error| ArgError::View {
                operand: name.to_owned(),
                error,
            })?;
            problem = problem.operand(name, view)?;
        } else if let Some(number) = schema.attr(name) {
            problem = problem.attr(name, attr(name, value, schema.attrs[number].ty)?)?;
        } else {
            let known: Vec<String> = schema
                .operands
                .iter()
                .map(|o| o.name.clone())
                .chain(schema.attrs.iter().map(|a| a.name.clone()))
                .collect();
            return Err(ArgError::Unknown {
                op: op.name().to_owned(),
                name: name.to_owned(),
                near: near(name, known.iter().map(String::as_str)),
                known,
            });
        }
    }
    Ok(problem)
}

fn attr<'a>(name: &str, text: &'a str, ty: AttrType) -> Result<Attr<'a>, ArgError> {
    let wrong = |wanted| ArgError::Attr {
        attr: name.to_owned(),
        got: text.to_owned(),
        wanted,
    };
    Ok(match ty {
        AttrType::Bool => {
            Attr::Bool(crate::knob::truth(text).ok_or_else(|| wrong("true or false"))?)
        }
        AttrType::I64 => Attr::I64(text.parse().map_err(|_| wrong("an integer"))?),
        AttrType::F64 => Attr::F64(text.parse().map_err(|_| wrong("a number"))?),
        AttrType::Str => Attr::Str(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Runtime;

    fn refused(args: &[&str], words: &[&str]) {
        let runtime = Runtime::builder().search(false).start().unwrap();
        let op = runtime.op("paged_attention").unwrap();
        let error = problem(&op, args).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{error} lacks {word}");
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        refused(&["query"], &["`query`", "form"]);
        refused(&["qeury=bf16[1,1,1]"], &["`qeury`", "did you mean `query`"]);
        refused(&["softcpa=1"], &["`softcpa`", "`softcap`"]);
        refused(&["query=bf16[1"], &["operand `query`", "brackets"]);
        refused(&["query=bf16[1,1,1]", "query=bf16[1,1,1]"], &["twice"]);
        refused(
            &["window=wide"],
            &["attribute `window`", "`wide`", "an integer"],
        );
        refused(&["causal=maybe"], &["`causal`", "true or false"]);
        refused(&["scale=nan"], &["`scale`", "finite"]);
        refused(
            &["query=bf16[4294967296,4294967296,4294967296]"],
            &["operand `query`"],
        );
    }

    #[test]
    fn operands_and_attributes_are_told_apart_by_the_schema() {
        let runtime = Runtime::builder().search(false).start().unwrap();
        let op = runtime.op("rms_norm").unwrap();
        let args = [
            "x=bf16[2,8]:[16,1]@2",
            "weight=f32[8]",
            "out=bf16[2,8]",
            "eps=1e-5",
        ];
        problem(&op, &args).unwrap();
    }
}

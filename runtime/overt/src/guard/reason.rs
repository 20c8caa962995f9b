//! Reasons: why a kernel is not chosen, as typed data and in words. All wording of rejections lives here.

use crate::load::decl::{Cmp, Value};
use std::fmt;

/// One reason why a kernel was not chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// A clause of its guard does not hold.
    Clause {
        /// The fact.
        fact: String,
        /// The comparison.
        cmp: Cmp,
        /// What is wanted; values that name other facts are resolved.
        wanted: Vec<Value>,
        /// What there is; `None`: the fact is not known here.
        got: Option<Value>,
        /// Where a number comes from, empty if not stated.
        source: String,
    },
    /// An attribute away from its default that the kernel does not declare to handle.
    Attribute {
        /// The attribute.
        attr: String,
        /// Its value.
        got: Value,
        /// Its default.
        default: Value,
    },
    /// An optional operand that is present and that the kernel does not declare to handle.
    Operand {
        /// The operand.
        operand: String,
    },
    /// An output is another operand's memory, and the kernel does not work in place.
    InPlace,
    /// Operands lie in a layout packed for another kernel.
    Packed {
        /// The operands.
        operands: Vec<String>,
    },
    /// No image of it runs on this device.
    NoImage {
        /// The device's architecture.
        arch: String,
        /// What there are images for.
        has: Vec<String>,
    },
    /// Declared, and not built.
    NotBuilt {
        /// Why.
        why: String,
    },
    /// Its provider did not load.
    NotLoaded {
        /// The provider.
        provider: String,
        /// The loader's words.
        why: String,
    },
    /// The host cannot use it at all.
    Unusable {
        /// Why.
        why: String,
    },
    /// Its own callback says no.
    Callback {
        /// The callback's words.
        words: String,
        /// Why it has a callback.
        why: String,
    },
    /// The stream is capturing, and it cannot be captured.
    NotCaptureSafe,
    /// The policy denies it.
    Denied {
        /// The denial's text.
        by: String,
    },
    /// The policy pins another kernel.
    NotPinned {
        /// The kernel pinned.
        pinned: String,
    },
    /// The policy demands batch invariance, and its rows, or whether it serves them, may depend on the batch.
    BatchDependent {
        /// Why.
        why: String,
    },
}

/// What a reason is about; the cause of a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCause {
    /// Its provider did not load.
    NotLoaded,
    /// It was declared and not built.
    NotBuilt,
    /// No image of it runs on this device.
    Image,
    /// The provider declared it wrongly.
    Provider,
    /// The policy.
    Policy,
    /// A knob.
    Knob,
    /// A property of the device.
    Device,
    /// The stream is capturing.
    Capture,
    /// The problem: shapes, dtypes, attributes, strides.
    Problem,
}

impl fmt::Display for ReasonCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ReasonCause::NotLoaded => "not loaded",
            ReasonCause::NotBuilt => "not built",
            ReasonCause::Image => "image",
            ReasonCause::Provider => "provider",
            ReasonCause::Policy => "policy",
            ReasonCause::Knob => "knob",
            ReasonCause::Device => "device",
            ReasonCause::Capture => "capture",
            ReasonCause::Problem => "problem",
        })
    }
}

impl Reason {
    /// What it is about.
    pub fn cause(&self) -> ReasonCause {
        match self {
            Reason::Clause { fact, .. } if fact.starts_with("knob.") => ReasonCause::Knob,
            Reason::Clause { fact, .. } if fact.starts_with("device.") => ReasonCause::Device,
            Reason::Clause { fact, .. } if fact == "stream.capturing" => ReasonCause::Capture,
            Reason::Clause { .. }
            | Reason::Attribute { .. }
            | Reason::Operand { .. }
            | Reason::InPlace
            | Reason::Packed { .. }
            | Reason::Callback { .. } => ReasonCause::Problem,
            Reason::NoImage { .. } => ReasonCause::Image,
            Reason::NotBuilt { .. } => ReasonCause::NotBuilt,
            Reason::NotLoaded { .. } => ReasonCause::NotLoaded,
            Reason::Unusable { .. } => ReasonCause::Provider,
            Reason::NotCaptureSafe => ReasonCause::Capture,
            Reason::Denied { .. } | Reason::NotPinned { .. } | Reason::BatchDependent { .. } => {
                ReasonCause::Policy
            }
        }
    }

    /// What would have to hold instead, as `fact = value`, where a change of the problem, a knob or the policy could bring it
    /// about; `None` where nothing that the caller controls would.
    pub fn would_run_with(&self) -> Option<String> {
        match self {
            Reason::Clause {
                fact,
                cmp,
                wanted,
                got,
                ..
            } => {
                if fact.starts_with("device.") {
                    return None;
                }
                let first = wanted.first()?;
                Some(match cmp {
                    Cmp::Is => format!("{fact} = {first}"),
                    Cmp::In => format!(
                        "{fact} = {}",
                        nearest(wanted, got.as_ref()).unwrap_or(first)
                    ),
                    Cmp::IsNot => format!("{fact} other than {first}"),
                    Cmp::NotIn => format!("{fact} none of {}", values(wanted)),
                    Cmp::AtLeast => format!("{fact} at least {first}"),
                    Cmp::AtMost => format!("{fact} at most {first}"),
                    Cmp::Below => format!("{fact} below {first}"),
                    Cmp::Above => format!("{fact} above {first}"),
                    Cmp::MultipleOf => format!("{fact} a multiple of {first}"),
                    Cmp::Arch => return None,
                })
            }
            Reason::Attribute { attr, default, .. } => Some(format!("{attr} = {default}")),
            Reason::Operand { operand } => Some(format!("no `{operand}`")),
            Reason::InPlace => Some("an output of its own memory".into()),
            Reason::Packed { operands } => Some(format!("{} in plain layout", operands.join(", "))),
            Reason::NotCaptureSafe => Some("no capture".into()),
            Reason::Denied { .. } => Some("no denial".into()),
            Reason::NotPinned { .. } => Some("no pin".into()),
            Reason::BatchDependent { .. } => Some("no demand of batch invariance".into()),
            _ => None,
        }
    }
}

/// The allowed value nearest to what there is: by distance for numbers, the first of the same type otherwise.
fn nearest<'a>(wanted: &'a [Value], got: Option<&Value>) -> Option<&'a Value> {
    match got {
        Some(Value::I64(got)) => wanted
            .iter()
            .filter_map(|v| {
                if let Value::I64(i) = v {
                    Some((i.abs_diff(*got), v))
                } else {
                    None
                }
            })
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, v)| v),
        _ => wanted.first(),
    }
}

fn is_are(operands: &[String]) -> String {
    format!(
        "{} {}",
        operands.join(", "),
        if operands.len() == 1 { "is" } else { "are" }
    )
}

fn values(list: &[Value]) -> String {
    list.iter()
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Clause {
                fact,
                cmp,
                wanted,
                got,
                source,
            } => {
                match got {
                    Some(Value::Bool(b)) => {
                        write!(f, "{fact} is {}", if *b { "true" } else { "false" })?
                    }
                    Some(got) => write!(f, "{fact} is {got}")?,
                    None => write!(f, "{fact} is not known here")?,
                }
                let text = values(wanted);
                match cmp {
                    Cmp::Is => write!(f, "; needs {text}")?,
                    Cmp::IsNot => write!(f, "; needs anything but {text}")?,
                    Cmp::In | Cmp::Arch if wanted.len() == 1 => write!(f, "; needs {text}")?,
                    Cmp::In | Cmp::Arch => write!(f, "; needs one of {text}")?,
                    Cmp::NotIn => write!(f, "; needs none of {text}")?,
                    Cmp::AtLeast => write!(f, "; needs at least {text}")?,
                    Cmp::AtMost => write!(f, "; needs at most {text}")?,
                    Cmp::Below => write!(f, "; needs below {text}")?,
                    Cmp::Above => write!(f, "; needs above {text}")?,
                    Cmp::MultipleOf => write!(f, "; needs a multiple of {text}")?,
                }
                if source.is_empty() {
                    Ok(())
                } else {
                    write!(f, " ({source})")
                }
            }
            Reason::Attribute { attr, got, default } => {
                write!(
                    f,
                    "attribute {attr} is {got}; this kernel does not handle it (default {default})"
                )
            }
            Reason::Operand { operand } => write!(
                f,
                "operand {operand} is given; this kernel does not handle it"
            ),
            Reason::InPlace => f.write_str(
                "an output is the memory of an input; this kernel does not work in place",
            ),
            Reason::NoImage { arch, has } if has.is_empty() => {
                write!(f, "no image for {arch}; has none")
            }
            Reason::NoImage { arch, has } => {
                write!(f, "no image for {arch}; has {}", has.join(", "))
            }
            Reason::NotBuilt { why } => write!(f, "not built: {why}"),
            Reason::NotLoaded { provider, why } => {
                write!(f, "provider {provider} did not load: {why}")
            }
            Reason::Unusable { why } => write!(f, "cannot be used: {why}"),
            Reason::Callback { words, why } => {
                write!(
                    f,
                    "{}",
                    if words.is_empty() {
                        "its callback says no"
                    } else {
                        words
                    }
                )?;
                write!(f, " (decided by the kernel's own test: {why})")
            }
            Reason::NotCaptureSafe => {
                f.write_str("the stream is capturing; this kernel cannot be captured")
            }
            Reason::Denied { by } => write!(f, "denied by policy: {by}"),
            Reason::NotPinned { pinned } => write!(f, "policy pins {pinned}"),
            Reason::BatchDependent { why } => {
                write!(f, "policy demands batch invariance: {why}")
            }
            Reason::Packed { operands } => {
                write!(
                    f,
                    "{} packed for another kernel; this one takes the plain layout",
                    is_are(operands)
                )
            }
        }
    }
}

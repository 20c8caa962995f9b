//! What is wrong with a problem.

use crate::memory::ViewError;

/// A problem that breaks its op's schema. No kernel was asked and nothing has run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{op}: {problem}")]
pub struct BindError {
    /// The op.
    pub op: String,
    /// What is wrong.
    pub problem: Box<BindProblem>,
}

/// The ways in which a problem can break a schema.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BindProblem {
    /// No such operand.
    #[error(
        "no operand `{name}`{}; the schema has {}",
        near_text(near),
        list(known)
    )]
    UnknownOperand {
        /// The name given.
        name: String,
        /// Names like it.
        near: Vec<String>,
        /// Names in the schema.
        known: Vec<String>,
    },
    /// No such attribute.
    #[error(
        "no attribute `{name}`{}; the schema has {}",
        near_text(near),
        list(known)
    )]
    UnknownAttr {
        /// The name given.
        name: String,
        /// Names like it.
        near: Vec<String>,
        /// Names in the schema.
        known: Vec<String>,
    },
    /// An operand that is not optional was not given.
    #[error("operand `{operand}` is missing; it is {wanted}")]
    Missing {
        /// The operand.
        operand: String,
        /// How the schema describes it.
        wanted: String,
    },
    /// An attribute without default was not given.
    #[error("attribute `{attr}` is missing; it has no default")]
    MissingAttr {
        /// The attribute.
        attr: String,
    },
    /// An attribute of another type.
    #[error("attribute `{attr}` is {got}; wanted {wanted}")]
    AttrType {
        /// The attribute.
        attr: String,
        /// The value given.
        got: String,
        /// The type in the schema.
        wanted: &'static str,
    },
    /// A float attribute that is not a number.
    #[error("attribute `{attr}` is {got}; wanted a finite number")]
    AttrNotFinite {
        /// The attribute.
        attr: String,
        /// The value given.
        got: String,
    },
    /// A bound above what the shapes allow, or negative.
    #[error(
        "attribute `{attr}` is {got}; it bounds a length, so it lies between 0 and {limit}, which is {expression}"
    )]
    Bound {
        /// The attribute.
        attr: String,
        /// The value given.
        got: i64,
        /// Its default, the greatest that shapes allow.
        limit: i64,
        /// The default's text.
        expression: String,
    },
    /// A wrong number of dimensions.
    #[error("operand `{operand}` has rank {got}; wanted {wanted}: {dims}")]
    Rank {
        /// The operand.
        operand: String,
        /// Its rank.
        got: u32,
        /// The schema's rank.
        wanted: u32,
        /// The schema's dimensions.
        dims: String,
    },
    /// An element type outside the schema's.
    #[error("operand `{operand}` has dtype {got}; wanted {wanted}")]
    DType {
        /// The operand.
        operand: String,
        /// Its dtype.
        got: String,
        /// What the schema allows.
        wanted: String,
    },
    /// A dimension that differs from what earlier operands bound.
    #[error(
        "operand `{operand}` dimension {dimension} is {got}; `{expression}` is {wanted} by {by}"
    )]
    Extent {
        /// The operand.
        operand: String,
        /// Which dimension.
        dimension: usize,
        /// Its extent.
        got: i64,
        /// The dimension's expression.
        expression: String,
        /// What it evaluates to.
        wanted: i64,
        /// Where that comes from.
        by: String,
    },
    /// An expression that cannot be computed: a remainder where `exact` forbids one, a division by zero, an overflow.
    #[error("{what}")]
    Expression {
        /// Expression, values and fault.
        what: String,
    },
    /// Too many bytes, negative strides and the like.
    #[error("operand `{operand}`: {error}")]
    View {
        /// The operand.
        operand: String,
        /// What is wrong with the view.
        error: ViewError,
    },
    /// An output that must not be written.
    #[error("operand `{operand}` is read-only, and the op writes it")]
    ReadOnly {
        /// The operand.
        operand: String,
    },
    /// An output that repeats elements.
    #[error(
        "operand `{operand}` is written, and its stride {stride} in dimension {dimension} makes elements share memory"
    )]
    SharedElements {
        /// The operand.
        operand: String,
        /// The dimension.
        dimension: usize,
        /// Its stride.
        stride: i64,
    },
    /// A written operand that shares memory with another.
    #[error("operand `{operand}` is written and shares memory with `{other}`; {allowed}")]
    Overlap {
        /// The written operand.
        operand: String,
        /// The other one.
        other: String,
        /// What the schema allows.
        allowed: String,
    },
    /// An operand on another device than the call's.
    #[error("operand `{operand}` is on {got}; the call is for {wanted}: copy it there first")]
    OtherDevice {
        /// The operand.
        operand: String,
        /// Where it is.
        got: String,
        /// The call's device.
        wanted: String,
    },
}

pub(crate) fn near_text(near: &[String]) -> String {
    if near.is_empty() {
        String::new()
    } else {
        format!(" (did you mean {}?)", list(near))
    }
}

pub(crate) fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    names
        .iter()
        .map(|n| format!("`{n}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

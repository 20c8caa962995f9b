//! What can be wrong with a call on host memory.

use crate::schema::EvalError;

/// A call or a tensor that does not hold together. Names the operand, attribute or symbol, what it is and what was wanted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HostError {
    /// Extents, strides or sizes that no memory can have.
    #[error("operand `{operand}`: {what}; wanted {wanted}")]
    Layout {
        /// The operand, or the dtype where the tensor has no name yet.
        operand: String,
        /// What is wrong.
        what: String,
        /// What would be right.
        wanted: String,
    },
    /// An index outside the shape.
    #[error("index {index:?} is outside the shape {shape:?}")]
    Index {
        /// The index.
        index: Vec<i64>,
        /// The shape.
        shape: Vec<i64>,
    },
    /// Elements of this type have no bytes of their own, or are not known.
    #[error(
        "elements of {dtype} have no bytes of their own: {why}; wanted a plain float, integer or bool"
    )]
    Element {
        /// The type's name.
        dtype: String,
        /// Why not, and what serves instead.
        why: &'static str,
    },
    /// A number of operands or attributes other than the schema's.
    #[error("{op}: {got} {of} were given; wanted {wanted}")]
    Count {
        /// The op.
        op: String,
        /// `operands` or `attributes`.
        of: &'static str,
        /// How many were given.
        got: usize,
        /// How many there are.
        wanted: usize,
    },
    /// An operand that is left out and is not optional, or an output left out.
    #[error("{op}: operand `{operand}` is absent; it is not optional")]
    Absent {
        /// The op.
        op: String,
        /// The operand.
        operand: String,
    },
    /// A type that the schema does not allow.
    #[error("{op}: operand `{operand}` is {got}; wanted {wanted}")]
    Dtype {
        /// The op.
        op: String,
        /// The operand.
        operand: String,
        /// Its type.
        got: String,
        /// The types that are allowed.
        wanted: String,
    },
    /// A wrong number of dimensions.
    #[error("{op}: operand `{operand}` has {got} dimensions; wanted {wanted}")]
    Rank {
        /// The op.
        op: String,
        /// The operand.
        operand: String,
        /// How many it has.
        got: usize,
        /// How many the schema says.
        wanted: usize,
    },
    /// An extent that disagrees with the schema.
    #[error(
        "{op}: operand `{operand}` dimension {dim} is {got}; wanted `{expression}` = {wanted}{because}"
    )]
    Extent {
        /// The op.
        op: String,
        /// The operand.
        operand: String,
        /// Which dimension, from 0.
        dim: usize,
        /// Its extent.
        got: i64,
        /// What the schema says of it.
        expression: String,
        /// The value of that.
        wanted: i64,
        /// Which operand set the symbol, in words, or nothing.
        because: String,
    },
    /// An expression of the schema that has no value for this call.
    #[error("{op}: {place}: {error}")]
    Eval {
        /// The op.
        op: String,
        /// Where the expression stands.
        place: String,
        /// What is wrong with it.
        error: EvalError,
    },
    /// An attribute that does not exist, is missing, or has the wrong type or too great a value.
    #[error("{op}: attribute `{attr}`: {what}; wanted {wanted}")]
    Attr {
        /// The op.
        op: String,
        /// The attribute.
        attr: String,
        /// What is wrong.
        what: String,
        /// What would be right.
        wanted: String,
    },
    /// A geometry that names what the schema does not have, or leaves out what it needs.
    #[error("{op}: geometry `{geometry}`: {what}; wanted {wanted}")]
    Geometry {
        /// The op.
        op: String,
        /// The geometry's name.
        geometry: String,
        /// What is wrong.
        what: String,
        /// What would be right.
        wanted: String,
    },
}

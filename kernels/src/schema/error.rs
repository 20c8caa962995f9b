//! What is wrong with a schema's text.

/// A schema text that is not a schema: what is wrong, where, and what was wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schema, line {line} column {column} (byte {offset}): {what}; wanted {wanted}")]
pub struct ParseError {
    /// The sort of fault, for a program.
    pub kind: ParseErrorKind,
    /// What stands there, in words that hold the name.
    pub what: String,
    /// What would have been right.
    pub wanted: String,
    /// Byte offset in the text.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Sorts of faults in a schema's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseErrorKind {
    /// A token that the grammar does not allow here, or a byte that begins no token.
    Syntax,
    /// A number that does not fit its type.
    Number,
    /// The text, a list, a name, an expression or its nesting is larger than any schema needs (see [`super::limits`]).
    Limit,
    /// An element type or class that does not exist.
    UnknownDtype,
    /// A name given to two things, or twice in one list.
    Duplicate,
    /// A word of the grammar used as a name.
    Reserved,
    /// `like` or `may_alias` names an operand that does not stand earlier.
    UnknownOperand,
    /// A symbol that nothing binds where it is used.
    UnboundSymbol,
    /// A symbol that only an optional operand binds, so that it has no value when that is absent.
    OptionalBinding,
    /// An optional `out` or `inout` operand.
    OptionalOutput,
    /// `may_alias` on an operand that is no output, or between operands that cannot share memory.
    Alias,
    /// A default that the attribute's type does not allow.
    Default,
    /// More dimensions than a tensor may have.
    Rank,
    /// No operand is written.
    NoOutput,
}

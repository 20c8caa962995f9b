//! Bounds on schema text, so that hostile text costs little time, memory and stack. Each is far beyond what an op needs.

/// Bytes of a text.
pub const MAX_TEXT: usize = 64 * 1024;
/// Bytes of one name.
pub const MAX_NAME: usize = 64;
/// Operands, inputs and outputs together.
pub const MAX_OPERANDS: usize = 64;
/// Attributes.
pub const MAX_ATTRS: usize = 64;
/// Symbols, derived ones included.
pub const MAX_SYMBOLS: usize = 64;
/// Dimensions of one operand.
pub const MAX_RANK: usize = 8;
/// Parentheses and unary signs that stand inside one another in an expression.
pub const MAX_NESTING: usize = 16;
/// Numbers, symbols and operators of one expression. It bounds the depth of the tree too, since a sum of many terms is a tree
/// as deep as it is long, and trees are walked and dropped by recursion.
pub const MAX_EXPR_NODES: usize = 64;

//! Binding operands and attributes to an op's schema: the first check of every call, and the source of its facts.

mod args;
mod binder;
mod error;
mod facts;
mod formula;

pub(crate) use args::Arguments;
pub use args::{Attr, Call, Problem};
pub(crate) use args::{bind_error, str_of};
pub(crate) use binder::{ABSENT, Binder, Bound};
pub use error::{BindError, BindProblem};
pub(crate) use error::{list, near_text};
pub(crate) use facts::{
    Constants, Fact, FactError, FactKind, OperandFact, Varying, dtype_number, ordered,
};

/// Most operands of an op.
pub const MAX_OPERANDS: usize = 12;
/// Most attributes of an op.
pub const MAX_ATTRS: usize = 12;
/// Most symbols of an op, derived ones included.
pub const MAX_SYMBOLS: usize = 24;

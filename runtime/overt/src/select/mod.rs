//! Selection: the order of candidates, the fast path over compiled guards, and the explanation over all clauses.

mod explain;
mod invariant;
mod policy;
mod ready;
mod rules;
mod selection;
mod table;

pub(crate) use explain::{explain, explain_anywhere};
pub use policy::{Denial, FallbackRule, OnFallback, Pin, Policy};
pub(crate) use ready::{KnobValues, Ready};
pub use selection::{Chosen, Fallback, Rejected, Selection};
pub(crate) use table::{MAX_FACTS, Table, key_room};

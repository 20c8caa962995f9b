//! Ops: a schema, compiled for binding, and what verifies it.

use crate::bind::Binder;
use overt_abi::OvertOracle;
use overt_kernels::schema::Schema;
use std::sync::Arc;

/// A handle to an op, valid for the life of its runtime whatever is registered later. Cheap to clone. `Send` and `Sync`.
#[derive(Clone)]
pub struct Op(pub(crate) Arc<OpEntry>);

pub(crate) struct OpEntry {
    /// Number in the runtime, stable for its life.
    pub(crate) number: u32,
    pub(crate) schema: Arc<Schema>,
    pub(crate) binder: Binder,
    /// The op of the common set, with oracle and geometries.
    pub(crate) common: Option<&'static overt_kernels::op::Op>,
    /// The oracle of a provider's own op.
    pub(crate) oracle: Option<OvertOracle>,
    /// Who brought it: `None` for a common op.
    pub(crate) provider: Option<String>,
}

impl Op {
    /// Name with version.
    pub fn name(&self) -> &str {
        &self.0.schema.name
    }

    /// The parsed schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.0.schema
    }

    /// The op of the common set behind it: oracle, tolerances, geometries. `None` for a provider's own op.
    pub fn common(&self) -> Option<&'static overt_kernels::op::Op> {
        self.0.common
    }

    /// Name of the provider whose own op this is; `None` for a common op.
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// Whether its kernels can be checked against an oracle.
    pub fn verifiable(&self) -> bool {
        self.0.common.is_some() || self.0.oracle.is_some()
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Op").field(&self.name()).finish()
    }
}

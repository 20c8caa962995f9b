//! A call whose operands lie in host memory: what oracles read and what verification fills.

use crate::schema::{AttrValue, Schema};
use overt_abi::OvertDType;
use std::sync::Arc;

/// A tensor in host memory that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    /// Element type.
    pub dtype: OvertDType,
    /// Extents in elements.
    pub shape: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
    /// The memory that the view reaches, first element at byte 0.
    pub bytes: Vec<u8>,
}

/// One call of an op on host memory.
#[derive(Clone, Debug)]
pub struct HostCall {
    /// The op's schema.
    pub schema: Arc<Schema>,
    /// One for each of the schema's operands; `None` for an absent optional one. Outputs hold what was there before.
    pub operands: Vec<Option<HostTensor>>,
    /// One for each of the schema's attributes, defaults and bounds filled in.
    pub attrs: Vec<AttrValue>,
    /// Values of all symbols, by number.
    pub symbols: Vec<i64>,
    /// Parameters of filling that no symbol states (see [`crate::op::Geometry::lengths`]).
    pub lengths: Vec<(String, Vec<i64>)>,
}

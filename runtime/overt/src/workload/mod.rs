//! Workloads: lists of op calls in TOML, and the text that describes a tensor.
//!
//! ```toml
//! doc = "one layer"
//! seed = 1
//!
//! [[call]]
//! op = "matmul_bt"                      # the newest version, or `matmul_bt.1`
//! tag = "attention.q"                   # which layer or part it stands for
//! repeat = 30                           # how often a step makes it
//! operands.a = "bf16[1,576]"            # dtype[extents], or dtype[extents]:[strides]
//! operands.b = "bf16[576,576]"
//! operands.out = { tensor = "bf16[1,576]", padding = 8, outer_padding = 0 }
//! attrs.eps = 1e-5
//! lengths.seq_lens = [257]              # what filling needs and no shape states
//! ```
//!
//! [`Workload::read`] checks the file's form, [`Workload::bind`] each call against its op's schema, before anything is allocated
//! or run. Every error names the file and the line.

mod args;
mod bind;
mod error;
mod file;
mod tensor;

pub use args::{ArgError, problem};
pub use bind::BoundCall;
pub use error::{WorkloadError, WorkloadProblem};
pub use file::{CallSpec, OperandSpec, Workload};
pub use tensor::{TensorSpec, TensorTextError};

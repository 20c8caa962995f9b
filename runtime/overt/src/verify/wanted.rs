//! What the oracle says of a call, computed once and compared with any number of runs.

use super::{Depth, VerifyError, foreign};
use crate::registry::Op;
use overt_kernels::host::HostCall;
use overt_kernels::op::{Tolerance, Want};

/// The right values of a call's outputs, all or sampled.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub(super) outputs: Vec<WantedOutput>,
}

/// The right values of one output.
#[derive(Clone, Debug)]
pub(super) struct WantedOutput {
    /// Number of the operand.
    pub(super) operand: usize,
    pub(super) want: Want,
    /// One for each wanted element, in order.
    pub(super) values: Vec<f64>,
    pub(super) tolerance: Tolerance,
}

impl Wanted {
    /// Asks the op's oracle. `host` holds the operands as they are before the call. The same seed gives the same sample.
    ///
    /// # Errors
    /// [`VerifyError::NoOracle`] for an op without one, [`VerifyError::Oracle`] when a provider's fails.
    pub fn of(op: &Op, host: &HostCall, depth: &Depth, seed: u64) -> Result<Wanted, VerifyError> {
        let Some(common) = op.common() else {
            return foreign::wanted(op, host);
        };
        let outputs = host
            .outputs()
            .into_iter()
            .filter_map(|operand| {
                let tensor = host.operands[operand].as_ref()?;
                let want = depth.want(common, host, tensor, seed.wrapping_add(operand as u64));
                let values = (common.oracle)(host, operand, &want);
                Some(WantedOutput {
                    operand,
                    want,
                    values,
                    tolerance: (common.tolerance)(host, operand),
                })
            })
            .collect();
        Ok(Wanted { outputs })
    }

    /// Whether some output is compared by a sample.
    pub fn is_sampled(&self) -> bool {
        self.outputs
            .iter()
            .any(|o| matches!(o.want, Want::Elements(_)))
    }
}

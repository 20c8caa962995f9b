//! Ops that kernels implement: common ones, and a provider's own.

use crate::call::CallView;
use crate::{Error, edge};
use overt_abi::{OvertCall, OvertOracle, OvertSink, OvertStatus};
use overt_kernels::op::Op;

/// An op of the provider's own, named `provider:op.N`. A `static` of the provider.
pub struct OwnOp {
    /// The name with its version.
    pub name: &'static str,
    /// The schema's text.
    pub schema: &'static str,
    /// Computes the right answer, or none: then the op is shown as unverified. Made by [`OwnOp::oracle`].
    pub oracle: Option<OvertOracle>,
}

impl OwnOp {
    /// Makes a C entry of a safe function. Operands are contiguous host memory: floats of any format as `f64`, integers as
    /// they are.
    ///
    /// The function must be a plain `fn` item or a closure that captures nothing, since the C entry carries no state.
    pub const fn oracle<F>(_: F) -> Option<OvertOracle>
    where
        F: Fn(&CallView<'_>) -> Result<(), Error> + Copy + Send + Sync + 'static,
    {
        const {
            assert!(
                size_of::<F>() == 0,
                "an oracle is a plain function and captures nothing"
            )
        };
        Some(oracle_entry::<F>)
    }
}

unsafe extern "C" fn oracle_entry<F>(call: *const OvertCall, sink: *const OvertSink) -> OvertStatus
where
    F: Fn(&CallView<'_>) -> Result<(), Error> + Copy + Send + Sync + 'static,
{
    edge::entry(sink, || {
        // SAFETY: the host passes a call that lives during the entry.
        let call = unsafe { CallView::from_abi(call) }?;
        conjure::<F>()(&call)
    })
}

/// A value of a function type that holds no bytes. `F` was given by value where the entry was made, so a value of it exists;
/// it is `Copy`, so another one may.
pub(crate) fn conjure<F: Copy + Send + Sync + 'static>() -> F {
    const { assert!(size_of::<F>() == 0) };
    // SAFETY: `F` has no bytes, is inhabited and `Copy` (see above), so a well-aligned dangling pointer is a valid one to read.
    unsafe { std::ptr::NonNull::<F>::dangling().as_ptr().read() }
}

/// The op of a kernel.
#[derive(Clone, Copy)]
pub enum OpRef {
    /// One of the common set.
    Common(&'static Op),
    /// One of the provider's own.
    Own(&'static OwnOp),
    /// A common op by name and digest, for a provider that was built for another version of a schema.
    Named {
        /// The name with its version.
        name: &'static str,
        /// The digest of the schema that the provider was built for.
        digest: u64,
    },
}

impl OpRef {
    /// The name with its version.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Common(op) => op.name,
            Self::Own(op) => op.name,
            Self::Named { name, .. } => name,
        }
    }

    /// The digest of the schema.
    pub fn digest(&self) -> u64 {
        match self {
            Self::Common(op) => overt_kernels::schema::digest(op.schema),
            Self::Own(op) => overt_kernels::schema::digest(op.schema),
            Self::Named { digest, .. } => *digest,
        }
    }
}

impl From<&'static Op> for OpRef {
    fn from(op: &'static Op) -> Self {
        Self::Common(op)
    }
}

impl From<&'static OwnOp> for OpRef {
    fn from(op: &'static OwnOp) -> Self {
        Self::Own(op)
    }
}

//! Bodies that go over rows: norms, activations, rotations, copies, softmax, choices of tokens.
//!
//! They move more bytes than they compute, so each reads its operands once from memory and whatever it needs twice from the nearest
//! cache. Outputs are stored in the ordinary way and not past the caches, since the next operation reads them.
//!
//! A body handles a range of rows. What it computes for a row depends on that row's operands alone, in one order: sums run over
//! lanes and blocks of a fixed size, whatever the range.

mod add;
mod add_rms_norm;
mod argmax;
mod cache;
mod copy;
mod embedding;
mod exp;
mod gated;
mod largest;
mod normal;
mod rms_norm;
mod rope;
mod sample;
mod softmax;
mod turn;

#[cfg(test)]
mod tests;

pub use add::{AddArgs, add};
pub use add_rms_norm::{AddRmsNormArgs, add_rms_norm};
pub use argmax::{ArgmaxArgs, argmax};
pub use cache::{CacheArgs, CacheSide, cache};
pub use embedding::{EmbeddingArgs, embedding};
pub use gated::{Activation, GatedArgs, gated};
pub use rms_norm::{RmsNormArgs, rms_norm};
pub use rope::{RopeArgs, rope};
pub use sample::{Choice, SampleArgs, sample};
pub use softmax::{SoftmaxArgs, softmax};

use super::ElemType;

/// Rows of an operand: the first element of the first row, the type, and how many elements from one row to the next.
#[derive(Clone, Copy, Debug)]
pub struct Rows<P = *const u8> {
    /// The first element.
    pub at: P,
    /// Its type.
    pub ty: ElemType,
    /// Elements from row to row.
    pub stride: i64,
}

/// Rows that are written.
pub type RowsMut = Rows<*mut u8>;

// SAFETY: an address; whoever makes it vouches for the memory, and a body writes the rows of its own range alone.
unsafe impl<P> Send for Rows<P> {}
// SAFETY: as above.
unsafe impl<P> Sync for Rows<P> {}

impl<P> Rows<P> {
    /// Bytes from the first element to row `t`.
    fn offset(&self, t: usize) -> isize {
        t as isize * self.stride as isize * self.ty.bytes() as isize
    }
}

impl Rows {
    /// The first element of row `t`.
    fn row<E>(&self, t: usize) -> *const E {
        self.at.wrapping_offset(self.offset(t)).cast()
    }
}

impl RowsMut {
    /// The first element of row `t`.
    fn row<E>(&self, t: usize) -> *mut E {
        self.at.wrapping_offset(self.offset(t)).cast()
    }
}

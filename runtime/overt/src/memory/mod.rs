//! Device memory: views, allocations, and when an allocation may be freed.

mod allocation;
mod dlpack;
mod overlap;
mod retire;
mod tensor;
mod view;

pub(crate) use allocation::Release;
pub use allocation::{Allocation, MemoryKind};
pub use dlpack::{DlpackError, OwnedDlpack};
pub(crate) use overlap::{Overlap, overlap};
pub(crate) use retire::{Progress, Retired};
pub use tensor::Tensor;
pub(crate) use view::Mark;
pub use view::{MAX_RANK, View, ViewError};

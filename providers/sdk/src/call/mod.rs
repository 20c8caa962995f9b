//! One call of an op, as a kernel reads it.

mod device;
mod owned;
mod tensor;
mod view;

pub use device::DeviceView;
pub(crate) use owned::OwnedCall;
pub use tensor::TensorView;
pub(crate) use view::read_value;
pub use view::{AttrValue, CallView};

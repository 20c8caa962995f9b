//! What a model is: its sizes and kinds from the file's metadata, and its weights on devices.

mod config;
mod known;
mod load;
mod names;
mod weights;

pub use config::{Architecture, Config, Gate, Positions, Window};
pub(crate) use known::check;
pub use load::Progress;
pub(crate) use load::{Loading, load, total, vocabulary};
pub(crate) use weights::{Attention, Layer, Linear, Weights};

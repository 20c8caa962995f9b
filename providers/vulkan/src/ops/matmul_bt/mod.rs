//! Products with a transposed weight.

mod portable;
mod problem;
pub mod rounded;

//! Products with a transposed weight.

mod coopmat;
mod few;
mod many;
mod portable;
mod problem;
pub mod rounded;

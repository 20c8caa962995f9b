//! Products with a transposed weight.

mod coopmat;
mod few;
mod portable;
mod problem;
pub mod rounded;

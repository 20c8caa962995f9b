//! Products with a transposed weight.

mod coopmat;
mod portable;
mod problem;
pub mod rounded;

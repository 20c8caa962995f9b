//! Numbers of operands and attributes.

pub const A: usize = 0;
pub const B: usize = 1;
pub const EXPERTS: usize = 2;
pub const B_SCALE: usize = 3;
pub const BIAS: usize = 4;
pub const OUT: usize = 5;

pub const SCALE_ROWS: usize = 0;
pub const SCALE_DEPTH: usize = 1;
pub const ROUNDED: usize = 2;

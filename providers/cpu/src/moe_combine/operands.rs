//! Numbers of operands.

pub const X: usize = 0;
pub const WEIGHTS: usize = 1;
pub const SHARED: usize = 2;
pub const OUT: usize = 3;

//! The bodies against sums in f64, over every instruction set that runs here.

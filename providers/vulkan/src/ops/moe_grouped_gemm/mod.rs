//! Products of rows with the weights of chosen experts.

mod portable;

//! One file to a command.

pub mod devices;
pub mod doctor;
pub mod explain;
pub mod generate;
pub mod kernels;
pub mod ops;
pub mod run;
pub mod verify;

//! The program as a user meets it: each command with the real CPU provider, its JSON, its exit codes, and what it says of
//! mistakes.

mod explain;
mod listings;
mod run;
mod support;
mod verify;

//! Quantised weights and caches: the formats, decoded in registers, and the products with them.

pub mod formats;
pub mod ints;
pub mod panel;
pub mod product;
mod set;

#[cfg(test)]
mod tests_fixed;
#[cfg(test)]
mod tests_formats;
#[cfg(test)]
mod tests_product;
#[cfg(test)]
pub mod tests_support;

pub use set::Set;
pub(in crate::simd) use set::with_set;

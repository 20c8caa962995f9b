//! Quantised weights and caches: the formats, decoded in registers, and the products with them.

pub mod formats;
pub mod ints;

#[cfg(test)]
mod tests_formats;
#[cfg(test)]
mod tests_support;

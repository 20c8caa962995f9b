//! Quantised weights and caches: the formats, decoded in registers, and the products with them.

pub mod formats;
pub mod ints;
pub mod panel;
pub mod product;

#[cfg(test)]
mod tests_formats;
#[cfg(test)]
mod tests_product;
#[cfg(test)]
pub mod tests_support;

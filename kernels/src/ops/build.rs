//! Makes geometries in few words.

use crate::op::Geometry;
use crate::schema::AttrValue;
use overt_abi::OvertDType;

impl Geometry {
    /// An empty geometry of this name.
    pub fn named(name: impl Into<String>) -> Self {
        Geometry {
            name: name.into(),
            ..Geometry::default()
        }
    }

    /// Adds values of symbols.
    pub fn symbols(mut self, symbols: &[(&str, i64)]) -> Self {
        self.symbols
            .extend(symbols.iter().map(|(n, v)| ((*n).to_owned(), *v)));
        self
    }

    /// Adds types of operands.
    pub fn dtypes(mut self, dtypes: &[(&str, OvertDType)]) -> Self {
        self.dtypes
            .extend(dtypes.iter().map(|(n, d)| ((*n).to_owned(), *d)));
        self
    }

    /// Gives an attribute.
    pub fn attr(mut self, name: &str, value: AttrValue) -> Self {
        self.attrs.push((name.to_owned(), value));
        self
    }

    /// Makes an optional operand present.
    pub fn with(mut self, operand: &str) -> Self {
        self.present.push(operand.to_owned());
        self
    }

    /// Pads every stride but the last of these operands.
    pub fn padded(mut self, padded: &[(&str, i64)]) -> Self {
        self.padded
            .extend(padded.iter().map(|(n, p)| ((*n).to_owned(), *p)));
        self
    }

    /// Pads the first stride of these operands.
    pub fn outer_padded(mut self, padded: &[(&str, i64)]) -> Self {
        self.outer_padded
            .extend(padded.iter().map(|(n, p)| ((*n).to_owned(), *p)));
        self
    }

    /// Gives a dimension of an operand the stride 0.
    pub fn repeated(mut self, operand: &str, dim: usize) -> Self {
        self.repeated.push((operand.to_owned(), dim));
        self
    }

    /// Sets a parameter of filling.
    pub fn lengths(mut self, name: &str, values: &[i64]) -> Self {
        self.lengths.push((name.to_owned(), values.to_vec()));
        self
    }
}

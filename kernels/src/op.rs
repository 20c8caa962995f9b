//! What an op brings besides its schema.

use crate::host::HostCall;
use crate::schema::{ParseError, Schema, parse};
use overt_abi::OvertDType;

/// One op of the common set. Static; its parsed schema is made by [`Op::parse`].
pub struct Op {
    /// Name with version: `rms_norm.1`. The schema's own name equals it.
    pub name: &'static str,
    /// The schema's text.
    pub schema: &'static str,
    /// What it computes, in one line.
    pub doc: &'static str,
    /// The right answer in `f64`.
    pub oracle: Oracle,
    /// How far a kernel may be from the oracle in this output of this call. Depends on types and attributes alone, not on contents.
    pub tolerance: fn(call: &HostCall, output: usize) -> Tolerance,
    /// The geometries over which kernels are verified, odd ones included.
    pub geometries: fn() -> Vec<Geometry>,
    /// Fills the operands of a call whose shapes, dtypes and attributes are set with seeded values that obey the op's rules
    /// on contents (block tables inside the cache, ascending starts).
    pub fill: fn(call: &mut HostCall, seed: u64),
    /// Rules on the *contents* of operands, which only a checked run can hold: names the operand and the index at fault.
    pub check_contents: fn(call: &HostCall) -> Result<(), ContentError>,
    /// The operands that these rules read besides those of integers. A checked run reads back no others.
    pub float_rules: &'static [&'static str],
    /// Least work of a call.
    pub work: fn(call: &HostCall) -> Work,
    /// Which rows of the outputs are independent of which: what batch invariance is tested on.
    pub rows: Rows,
    /// Names of the parameters of filling that no symbol states, each with the symbol that counts its numbers.
    pub lengths: &'static [(&'static str, &'static str)],
}

/// What of an op's outputs is independent of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Rows along this symbol, which is the first dimension of every output and of each input that goes row by row.
    Along(&'static str),
    /// The requests of a paged batch, by `query_start`, `seq_lens` and `block_table`.
    Requests,
    /// No rows, or rows that depend on each other.
    Dependent,
}

impl Op {
    /// The parsed schema.
    pub fn parse(&self) -> Result<Schema, ParseError> {
        parse(self.schema)
    }
}

/// Computes elements of output number `output` (counted among all operands, so an `inout` operand counts by its own number).
///
/// The call's operands hold their contents *before* the op ran. The answer has one value for each wanted element, in order.
pub type Oracle = fn(call: &HostCall, output: usize, want: &Want) -> Vec<f64>;

/// Which elements of an output are wanted.
#[derive(Clone, Debug)]
pub enum Want {
    /// All, in row-major order of the logical shape.
    All,
    /// These flat row-major indices, ascending.
    Elements(Vec<u64>),
}

impl Want {
    /// The wanted flat indices of an output of `len` elements, ascending.
    pub fn indices(&self, len: u64) -> Box<dyn Iterator<Item = u64> + '_> {
        match self {
            Want::All => Box::new(0..len),
            Want::Elements(list) => Box::new(list.iter().copied()),
        }
    }
}

/// How far from the oracle an output may be: `|got − want| ≤ absolute·scale + relative·|want| + floor`, where `scale` is the root
/// mean square of the wanted values of that row (the last dimension). [`Tolerance::allows`] is the rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Share of the row's root mean square.
    pub absolute: f64,
    /// Share of the value itself.
    pub relative: f64,
    /// An amount, for numbers so small that the output's type holds them badly or not at all: [`Tolerance::floor_of`].
    pub floor: f64,
    /// Why these numbers: from the rounding steps of the op and the width of the dtype.
    pub reason: &'static str,
}

impl Tolerance {
    /// The least spacing of f16, and the least normal number of the wider types, whose subnormals a kernel may flush to zero. A
    /// row may consist of such numbers alone, so that no share of it would allow for them.
    pub fn floor_of(dtype: OvertDType) -> f64 {
        match dtype {
            crate::dtype::F16 => 2f64.powi(-24),
            crate::dtype::F64 => f64::MIN_POSITIVE,
            _ => f64::from(f32::MIN_POSITIVE),
        }
    }

    /// The greatest difference from `want` in a row whose root mean square is `scale`.
    pub fn limit(&self, want: f64, scale: f64) -> f64 {
        self.absolute * scale + self.relative * want.abs() + self.floor
    }

    /// Whether `got` is near enough to `want`. A wanted infinity is met by itself alone, a wanted NaN by any NaN; a NaN meets
    /// nothing else.
    pub fn allows(&self, got: f64, want: f64, scale: f64) -> bool {
        if !want.is_finite() || !got.is_finite() {
            return got == want || got.is_nan() && want.is_nan();
        }
        (got - want).abs() <= self.limit(want, scale)
    }

    /// The root mean square of one row of wanted values, 0 for none.
    pub fn scale_of(row: &[f64]) -> f64 {
        (row.iter().map(|v| v * v).sum::<f64>() / row.len().max(1) as f64).sqrt()
    }
}

/// A problem to verify on: values for the schema's symbols, dtypes and attributes, and how operands lie in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Geometry {
    /// Unique in the op, readable: `d112_gqa7_page480_softcap50`.
    pub name: String,
    /// Every symbol that is bound by a dimension.
    pub symbols: Vec<(String, i64)>,
    /// Dtype of each operand that has a choice; `like` operands follow.
    pub dtypes: Vec<(String, OvertDType)>,
    /// Attributes that are given. A bound that is not given is left to [`Op::fill`], which knows the lengths.
    pub attrs: Vec<(String, crate::schema::AttrValue)>,
    /// Optional operands that are present.
    pub present: Vec<String>,
    /// Operands that do not lie contiguously: name and the padding in elements that every stride but the last has beyond what
    /// it steps over.
    pub padded: Vec<(String, i64)>,
    /// Operands whose first stride alone has padding (on top of `padded`): pages of a cache that lie apart.
    pub outer_padded: Vec<(String, i64)>,
    /// Operands of which one dimension repeats its element, with a stride of 0: name and the dimension.
    pub repeated: Vec<(String, usize)>,
    /// Parameters of [`Op::fill`] that no symbol states: sequence lengths, query lengths.
    pub lengths: Vec<(String, Vec<i64>)>,
}

/// A broken rule on contents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operand `{operand}` at {index:?}: {what}; wanted {wanted}")]
pub struct ContentError {
    /// The operand.
    pub operand: String,
    /// Where.
    pub index: Vec<i64>,
    /// What is there.
    pub what: String,
    /// What the op needs.
    pub wanted: String,
}

/// The floor of a call: each input byte read once, each output byte written once, and the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Bytes read and written.
    pub bytes: f64,
    /// Operations, a multiply-add counting two.
    pub flops: f64,
}

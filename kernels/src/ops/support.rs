//! What the ops' oracles and fills share: views by name, seeded numbers, unit roundoffs.

use crate::dtype;
use crate::host::{HostCall, HostTensor, Reader};
use crate::op::{ContentError, Work};
use crate::schema::AttrValue;
use overt_abi::OvertDType;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A present operand as oracles see it.
///
/// Oracles and fills take bound calls only ([`HostCall::bind`]), in which operands that are not optional are present and every
/// type is one of the schema's; so these views panic where a call breaks that.
pub(crate) struct View<'a> {
    pub reader: Reader<'a>,
    pub shape: &'a [i64],
    pub strides: &'a [i64],
}

impl<'a> View<'a> {
    /// The operand of this name.
    pub fn of(call: &'a HostCall, name: &str) -> Self {
        Self::optional(call, name)
            .unwrap_or_else(|| panic!("{}: operand `{name}` is present", call.schema.name))
    }

    /// The operand of this name, if it is there.
    pub fn optional(call: &'a HostCall, name: &str) -> Option<Self> {
        call.operand(name).map(|tensor| Self::on(tensor, name))
    }

    /// The operand of this number.
    pub fn number(call: &'a HostCall, number: usize) -> Self {
        let tensor = call.operands[number]
            .as_ref()
            .expect("an output is present");
        Self::on(tensor, &call.schema.operands[number].name)
    }

    fn on(tensor: &'a HostTensor, name: &str) -> Self {
        let reader = tensor
            .reader()
            .unwrap_or_else(|e| panic!("operand `{name}`: {e}"));
        View {
            reader,
            shape: &tensor.shape,
            strides: &tensor.strides,
        }
    }

    /// Offset of an index whose trailing zeros may be left out.
    pub fn offset(&self, index: &[i64]) -> i64 {
        index.iter().zip(self.strides).map(|(i, s)| i * s).sum()
    }

    /// The element at an index.
    pub fn at(&self, index: &[i64]) -> f64 {
        self.reader.at(self.offset(index))
    }

    /// The integer at an index.
    pub fn integer(&self, index: &[i64]) -> i64 {
        self.reader.integer(self.offset(index))
    }

    /// The elements of the last dimension at an index of the others.
    pub fn row(&self, index: &[i64], out: &mut [f64]) {
        let stride = self.strides.last().copied().unwrap_or(1);
        self.reader.run(self.offset(index), stride, out);
    }

    /// Elements of the logical shape.
    pub fn len(&self) -> u64 {
        self.shape.iter().map(|&n| n as u64).product()
    }
}

/// The value of an f64 attribute.
pub(crate) fn f64_attr(call: &HostCall, name: &str) -> f64 {
    match call.attr(name) {
        Some(AttrValue::F64(value)) => *value,
        other => panic!(
            "{}: attribute `{name}` is {other:?}, not f64",
            call.schema.name
        ),
    }
}

/// The value of an i64 attribute.
pub(crate) fn i64_attr(call: &HostCall, name: &str) -> i64 {
    match call.attr(name) {
        Some(AttrValue::I64(value)) => *value,
        other => panic!(
            "{}: attribute `{name}` is {other:?}, not i64",
            call.schema.name
        ),
    }
}

/// The value of a bool attribute.
pub(crate) fn bool_attr(call: &HostCall, name: &str) -> bool {
    match call.attr(name) {
        Some(AttrValue::Bool(value)) => *value,
        other => panic!(
            "{}: attribute `{name}` is {other:?}, not bool",
            call.schema.name
        ),
    }
}

/// The value of a symbol.
pub(crate) fn symbol(call: &HostCall, name: &str) -> i64 {
    call.symbol(name)
        .unwrap_or_else(|| panic!("{} has the symbol `{name}`", call.schema.name))
}

/// Seeded numbers, one stream for each use, so that one operand's contents do not depend on another's size.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Random(rng)
    }

    /// Uniform in [-1, 1).
    pub fn signed(&mut self) -> f64 {
        f64::from(self.0.next_u32() as i32) / 2f64.powi(31)
    }

    /// Uniform in 0..n; n is at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        // The bias of a 64-bit remainder is below 2^-32 for every size that memory can have.
        self.0.next_u64() % n
    }
}

/// Distinct numbers of 0..n in an order that looks random, without a table: a walk whose step has no factor in common with n.
/// After n numbers it begins again.
pub(crate) struct Walk {
    next: u64,
    step: u64,
    n: u64,
}

impl Walk {
    /// `n` is at least 1.
    pub fn new(random: &mut Random, n: u64) -> Self {
        let mut step = 1 + random.below(n);
        while gcd(step, n) != 1 {
            step += 1;
        }
        Walk {
            next: random.below(n),
            step: step % n,
            n,
        }
    }

    /// The next number.
    pub fn take(&mut self) -> u64 {
        let here = self.next;
        self.next = ((u128::from(here) + u128::from(self.step)) % u128::from(self.n)) as u64;
        here
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Fills an operand, if it is there, with uniform numbers in [-amplitude, amplitude) around `centre`.
pub(crate) fn fill_uniform(
    call: &mut HostCall,
    name: &str,
    seed: u64,
    centre: f64,
    amplitude: f64,
) {
    let stream = call.schema.operand(name).map_or(0, |n| n as u64);
    let mut random = Random::new(seed, stream);
    if let Some(tensor) = call.operand_mut(name) {
        tensor
            .fill_with(|| centre + amplitude * random.signed())
            .unwrap_or_else(|e| panic!("operand `{name}`: {e}"));
    }
}

/// The type of an output.
///
/// # Panics
/// When the operand is absent, which a bound call's outputs are not.
pub(crate) fn output_dtype(call: &HostCall, output: usize) -> OvertDType {
    call.operands[output]
        .as_ref()
        .expect("an output is present")
        .dtype
}

/// Half the relative spacing of a float type: the most that one rounding to it can change a number in its normal range.
pub(crate) fn unit_roundoff(dtype: OvertDType) -> f64 {
    match dtype {
        dtype::F64 => 2f64.powi(-53),
        dtype::F16 => 2f64.powi(-11),
        dtype::BF16 => 2f64.powi(-8),
        _ => 2f64.powi(-24),
    }
}

/// Bytes of all elements of an operand, 0 when it is absent.
pub(crate) fn operand_bytes(call: &HostCall, name: &str) -> f64 {
    call.operand(name).map_or(0.0, |t| bytes(t.dtype, t.len()))
}

/// Bytes of so many elements; part blocks count in part, since this is a floor.
pub(crate) fn bytes(dtype: OvertDType, elements: u64) -> f64 {
    dtype::block(dtype).map_or(0.0, |b| {
        elements as f64 * b.bytes as f64 / b.elements as f64
    })
}

/// Each operand once, and so many operations.
pub(crate) fn touch_all(call: &HostCall, flops: f64) -> Work {
    let bytes = call
        .operands
        .iter()
        .flatten()
        .map(|t| bytes(t.dtype, t.len()))
        .sum();
    Work { bytes, flops }
}

/// The rule of ops whose operands may hold anything.
pub(crate) fn no_rules(_: &HostCall) -> Result<(), ContentError> {
    Ok(())
}

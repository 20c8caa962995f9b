//! What is asked of an op: with tensors (a [`Call`]), or by shapes alone (a [`Problem`]).

use super::{BindError, BindProblem, MAX_ATTRS, MAX_OPERANDS};
use crate::count::Witness;
use crate::memory::{Tensor, View};
use crate::registry::{Op, near};
use crate::value::{NONE, raw_bool, raw_f64, raw_i64, raw_str};
use overt_abi::{OVERT_VALUE_BOOL, OVERT_VALUE_F64, OVERT_VALUE_I64, OVERT_VALUE_STR, OvertValue};
use overt_kernels::schema::AttrType;

/// A value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attr<'a> {
    /// Truth value.
    Bool(bool),
    /// Signed integer. Also taken for a float attribute where it is exact.
    I64(i64),
    /// Float.
    F64(f64),
    /// Text.
    Str(&'a str),
}

impl From<bool> for Attr<'_> {
    fn from(value: bool) -> Self {
        Attr::Bool(value)
    }
}
impl From<i64> for Attr<'_> {
    fn from(value: i64) -> Self {
        Attr::I64(value)
    }
}
impl From<f64> for Attr<'_> {
    fn from(value: f64) -> Self {
        Attr::F64(value)
    }
}
impl<'a> From<&'a str> for Attr<'a> {
    fn from(value: &'a str) -> Self {
        Attr::Str(value)
    }
}

/// What binding needs of either form.
pub(crate) trait Arguments {
    fn op(&self) -> &Op;
    fn view(&self, operand: usize) -> Option<&View>;
    fn tensor(&self, operand: usize) -> Option<&Tensor>;
    /// Attribute `index` as given; `NONE` where it was not.
    fn attr(&self, index: usize) -> OvertValue;
}

/// One call of an op: borrowed tensors and attribute values. Lives on the stack and allocates nothing; build one a call, or keep
/// it and change what differs.
///
/// ```no_run
/// # fn f(op: &overt::Op, stream: &overt::Stream, x: &overt::Tensor, w: &overt::Tensor, out: &overt::Tensor) -> Result<(), overt::Error> {
/// let call = overt::Call::new(op).operand("x", x)?.operand("weight", w)?.operand("out", out)?.attr("eps", 1e-5)?;
/// stream.dispatch(&call)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub(crate) op: &'a Op,
    operands: [Option<&'a Tensor>; MAX_OPERANDS],
    attrs: [OvertValue; MAX_ATTRS],
    pub(crate) witness: Option<&'a Witness>,
}

// SAFETY: the raw values hold numbers, or text borrowed for `'a` and never written; everything else is `Send` and `Sync`.
unsafe impl Send for Call<'_> {}
// SAFETY: as above.
unsafe impl Sync for Call<'_> {}

impl<'a> Call<'a> {
    /// A call with no operands yet and every attribute at its default.
    #[inline]
    pub fn new(op: &'a Op) -> Call<'a> {
        Call {
            op,
            operands: [None; MAX_OPERANDS],
            attrs: [NONE; MAX_ATTRS],
            witness: None,
        }
    }

    /// Sets an operand by name.
    pub fn operand(mut self, name: &str, tensor: &'a Tensor) -> Result<Call<'a>, BindError> {
        let index = operand_index(self.op, name)?;
        self.operands[index] = Some(tensor);
        Ok(self)
    }

    /// Sets an attribute by name.
    pub fn attr(mut self, name: &str, value: impl Into<Attr<'a>>) -> Result<Call<'a>, BindError> {
        let index = attr_index(self.op, name)?;
        self.attrs[index] = attr_value(self.op, index, value.into())?;
        Ok(self)
    }

    /// Sets or clears an operand by its number in the schema; for hot paths. Panics when the schema has no such number.
    #[inline]
    pub fn set(&mut self, operand: usize, tensor: Option<&'a Tensor>) {
        assert!(
            operand < self.op.0.binder.operand_count(),
            "the schema has no operand {operand}"
        );
        self.operands[operand] = tensor;
    }

    /// Sets an integer attribute by its number in the schema; for hot paths. Panics when the schema has no integer attribute of that
    /// number.
    #[inline]
    pub fn set_i64(&mut self, attr: usize, value: i64) {
        // The type is checked here because nothing later does: a number taken for a text would be followed as a pointer.
        assert!(
            self.op
                .0
                .schema
                .attrs
                .get(attr)
                .is_some_and(|a| a.ty == AttrType::I64),
            "the schema has no integer attribute {attr}"
        );
        self.attrs[attr] = raw_i64(value);
    }

    /// Sets an attribute to a value that an earlier binding has checked.
    pub(crate) fn set_raw(&mut self, attr: usize, value: OvertValue) {
        self.attrs[attr] = value;
    }

    /// Sets any attribute by its number in the schema.
    pub fn set_attr(&mut self, attr: usize, value: impl Into<Attr<'a>>) -> Result<(), BindError> {
        self.attrs[attr] = attr_value(self.op, attr, value.into())?;
        Ok(())
    }

    /// Has the call's launches counted by a witness as well.
    #[must_use]
    pub fn witnessed(mut self, witness: &'a Witness) -> Call<'a> {
        self.witness = Some(witness);
        self
    }

    /// The same call with every bound raised to the greatest value in whose interval it lies, as far as the shapes allow: what a
    /// capture records, so that it holds for as long as possible.
    pub(crate) fn widened(mut self, limits: impl Fn(usize, i64) -> Option<i64>) -> Call<'a> {
        for attr in 0..self.op.0.binder.attr_count() {
            let value = self.attrs[attr];
            if value.kind == OVERT_VALUE_I64 {
                // SAFETY: the kind says which member is live.
                if let Some(raised) = limits(attr, unsafe { value.data.i }) {
                    self.attrs[attr] = raw_i64(raised);
                }
            }
        }
        self
    }

    /// The op.
    pub fn op(&self) -> &'a Op {
        self.op
    }

    /// The operands, one for each of the schema's.
    #[inline]
    pub(crate) fn tensors(&self) -> &[Option<&'a Tensor>] {
        &self.operands[..self.op.0.binder.operand_count().min(MAX_OPERANDS)]
    }

    /// The attributes as given, one for each of the schema's.
    #[inline]
    pub(crate) fn attrs(&self) -> &[OvertValue] {
        &self.attrs[..self.op.0.binder.attr_count().min(MAX_ATTRS)]
    }

    /// The tensor of an operand, by number.
    pub fn tensor_at(&self, operand: usize) -> Option<&'a Tensor> {
        self.operands.get(operand).copied().flatten()
    }
}

impl Arguments for Call<'_> {
    #[inline]
    fn op(&self) -> &Op {
        self.op
    }
    #[inline]
    fn view(&self, operand: usize) -> Option<&View> {
        self.operands[operand].map(|t| &t.view)
    }
    #[inline]
    fn tensor(&self, operand: usize) -> Option<&Tensor> {
        self.operands[operand]
    }
    #[inline]
    fn attr(&self, index: usize) -> OvertValue {
        self.attrs[index]
    }
}

/// A call without memory: views and attribute values, for selecting and explaining.
#[derive(Clone, Debug)]
pub struct Problem {
    op: Op,
    views: Vec<Option<View>>,
    attrs: Vec<Option<OwnedAttr>>,
    capturing: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum OwnedAttr {
    Bool(bool),
    I64(i64),
    F64(f64),
    Str(String),
}

impl Problem {
    /// A problem with no operands yet and every attribute at its default.
    pub fn new(op: &Op) -> Problem {
        Problem {
            op: op.clone(),
            views: vec![None; op.0.schema.operands.len()],
            attrs: vec![None; op.0.schema.attrs.len()],
            capturing: false,
        }
    }

    /// Sets an operand by name.
    pub fn operand(mut self, name: &str, view: View) -> Result<Problem, BindError> {
        let index = operand_index(&self.op, name)?;
        self.views[index] = Some(view);
        Ok(self)
    }

    /// Sets an attribute by name.
    pub fn attr<'v>(
        mut self,
        name: &str,
        value: impl Into<Attr<'v>>,
    ) -> Result<Problem, BindError> {
        let index = attr_index(&self.op, name)?;
        let value = value.into();
        attr_value(&self.op, index, value)?;
        self.attrs[index] = Some(match value {
            Attr::Bool(b) => OwnedAttr::Bool(b),
            Attr::I64(i) if self.op.0.schema.attrs[index].ty == AttrType::F64 => {
                OwnedAttr::F64(i as f64)
            }
            Attr::I64(i) => OwnedAttr::I64(i),
            Attr::F64(f) => OwnedAttr::F64(f),
            Attr::Str(s) => OwnedAttr::Str(s.to_owned()),
        });
        Ok(self)
    }

    /// Asks as a stream that captures would.
    #[must_use]
    pub fn capturing(mut self, capturing: bool) -> Problem {
        self.capturing = capturing;
        self
    }

    /// The problem of a call.
    pub fn of(call: &Call<'_>) -> Problem {
        let mut problem = Problem::new(call.op);
        for (index, view) in problem.views.iter_mut().enumerate() {
            *view = call.view(index).cloned();
        }
        for (index, attr) in problem.attrs.iter_mut().enumerate() {
            let value = call.attr(index);
            // SAFETY: `kind` says which member is live; text is borrowed for as long as the call.
            *attr = unsafe {
                match value.kind {
                    OVERT_VALUE_BOOL => Some(OwnedAttr::Bool(value.data.i != 0)),
                    OVERT_VALUE_I64 => Some(OwnedAttr::I64(value.data.i)),
                    OVERT_VALUE_F64 => Some(OwnedAttr::F64(value.data.f)),
                    OVERT_VALUE_STR => Some(OwnedAttr::Str(str_of(&value).to_owned())),
                    _ => None,
                }
            };
        }
        problem
    }

    pub(crate) fn is_capturing(&self) -> bool {
        self.capturing
    }
}

impl Arguments for Problem {
    fn op(&self) -> &Op {
        &self.op
    }
    fn view(&self, operand: usize) -> Option<&View> {
        self.views[operand].as_ref()
    }
    fn tensor(&self, _operand: usize) -> Option<&Tensor> {
        None
    }
    fn attr(&self, index: usize) -> OvertValue {
        match &self.attrs[index] {
            None => NONE,
            Some(OwnedAttr::Bool(b)) => raw_bool(*b),
            Some(OwnedAttr::I64(i)) => raw_i64(*i),
            Some(OwnedAttr::F64(f)) => raw_f64(*f),
            Some(OwnedAttr::Str(s)) => raw_str(s),
        }
    }
}

/// The text of a `STR` value made by this crate.
///
/// # Safety
///
/// The text must be alive and UTF-8, as in every value that [`raw_str`] made and whose borrow is still held.
pub(crate) unsafe fn str_of(value: &OvertValue) -> &str {
    // SAFETY: passed on to the caller.
    unsafe {
        let s = value.data.s;
        if s.len == 0 {
            return "";
        }
        std::str::from_utf8_unchecked(std::slice::from_raw_parts(s.data, s.len as usize))
    }
}

fn operand_index(op: &Op, name: &str) -> Result<usize, BindError> {
    let schema = &op.0.schema;
    schema.operand(name).ok_or_else(|| {
        let known: Vec<String> = schema.operands.iter().map(|o| o.name.clone()).collect();
        let near = near(name, known.iter().map(String::as_str));
        bind_error(
            op,
            BindProblem::UnknownOperand {
                name: name.into(),
                near,
                known,
            },
        )
    })
}

fn attr_index(op: &Op, name: &str) -> Result<usize, BindError> {
    let schema = &op.0.schema;
    schema.attr(name).ok_or_else(|| {
        let known: Vec<String> = schema.attrs.iter().map(|a| a.name.clone()).collect();
        let near = near(name, known.iter().map(String::as_str));
        bind_error(
            op,
            BindProblem::UnknownAttr {
                name: name.into(),
                near,
                known,
            },
        )
    })
}

fn attr_value(op: &Op, index: usize, value: Attr<'_>) -> Result<OvertValue, BindError> {
    let attr = &op.0.schema.attrs[index];
    let wrong = |got: String, wanted| {
        Err(bind_error(
            op,
            BindProblem::AttrType {
                attr: attr.name.clone(),
                got,
                wanted,
            },
        ))
    };
    match (attr.ty, value) {
        (AttrType::Bool, Attr::Bool(b)) => Ok(raw_bool(b)),
        (AttrType::I64, Attr::I64(i)) => Ok(raw_i64(i)),
        (AttrType::F64, Attr::F64(f)) if f.is_finite() => Ok(raw_f64(f)),
        (AttrType::F64, Attr::F64(f)) => Err(bind_error(
            op,
            BindProblem::AttrNotFinite {
                attr: attr.name.clone(),
                got: f.to_string(),
            },
        )),
        (AttrType::F64, Attr::I64(i)) if (i as f64) as i64 == i => Ok(raw_f64(i as f64)),
        (AttrType::Str, Attr::Str(s)) => Ok(raw_str(s)),
        (ty, got) => wrong(
            match got {
                Attr::Bool(b) => format!("the truth value {b}"),
                Attr::I64(i) => format!("the integer {i}"),
                Attr::F64(f) => format!("the float {f}"),
                Attr::Str(s) => format!("the text {s:?}"),
            },
            match ty {
                AttrType::Bool => "true or false",
                AttrType::I64 => "an integer",
                AttrType::F64 => "a number",
                AttrType::Str => "text",
            },
        ),
    }
}

pub(crate) fn bind_error(op: &Op, problem: BindProblem) -> BindError {
    BindError {
        op: op.name().to_owned(),
        problem: Box::new(problem),
    }
}

//! The call: operands, attributes, knobs, workspace.

use super::TensorView;
use crate::{Error, Result, text};
use overt_abi::{
    OVERT_CALL_CAPTURING, OVERT_TENSOR_ABSENT, OVERT_VALUE_BOOL, OVERT_VALUE_DTYPE,
    OVERT_VALUE_F64, OVERT_VALUE_I64, OVERT_VALUE_NONE, OVERT_VALUE_STR, OvertCall, OvertDType,
    OvertTensor, OvertValue,
};
use std::ffi::c_void;

/// A checked view of one call. Every accessor refuses an index that does not exist and a type that does not fit.
#[derive(Clone, Copy)]
pub struct CallView<'a> {
    raw: &'a OvertCall,
    stride: usize,
}

/// The value of an attribute or knob.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttrValue<'a> {
    /// Not known.
    None,
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// A float.
    F64(f64),
    /// Text.
    Str(&'a str),
    /// An element type.
    DType(OvertDType),
}

impl<'a> CallView<'a> {
    /// Wraps a call after checking sizes and pointers.
    ///
    /// # Safety
    /// `call` is null or points to a call that, with all it points to, lives and does not change for `'a`, as the ABI demands
    /// of the host.
    pub unsafe fn from_abi(call: *const OvertCall) -> Result<Self> {
        // SAFETY: the caller's promise.
        let raw = unsafe { call.as_ref() }.ok_or_else(|| Error::invalid("`call` is null"))?;
        if (raw.size as usize) < size_of::<OvertCall>() {
            return Err(size("OvertCall", raw.size, size_of::<OvertCall>()));
        }
        let mut stride = size_of::<OvertTensor>();
        if raw.operand_count > 0 {
            // SAFETY: the caller's promise; the first element's size is readable in every version.
            let first = unsafe { raw.operands.as_ref() }
                .ok_or_else(|| Error::invalid("`call.operands` is null"))?
                .size;
            if (first as usize) < stride || !(first as usize).is_multiple_of(8) {
                return Err(size("OvertTensor", first, stride));
            }
            stride = first as usize;
        }
        if (raw.attr_count > 0 && raw.attrs.is_null())
            || (raw.knob_count > 0 && raw.knobs.is_null())
        {
            return Err(Error::invalid("`call.attrs` or `call.knobs` is null"));
        }
        let view = Self { raw, stride };
        for index in 0..raw.operand_count as usize {
            // SAFETY: the index is inside.
            let t = unsafe { view.raw_operand(index) };
            if t.flags & OVERT_TENSOR_ABSENT == 0
                && t.rank > 0
                && (t.shape.is_null() || t.strides.is_null())
            {
                return Err(Error::invalid(format!(
                    "operand {index}: null shape or strides"
                )));
            }
        }
        Ok(view)
    }

    /// # Safety
    /// `index` is below the number of operands.
    pub(crate) unsafe fn raw_operand(&self, index: usize) -> &'a OvertTensor {
        // SAFETY: the element lies inside the array, whose stride its first element states.
        unsafe {
            &*self
                .raw
                .operands
                .cast::<u8>()
                .add(index * self.stride)
                .cast::<OvertTensor>()
        }
    }

    pub(crate) fn raw(&self) -> &'a OvertCall {
        self.raw
    }

    /// Number of operands, absent ones included.
    pub fn operand_count(&self) -> usize {
        self.raw.operand_count as usize
    }

    /// An operand that must be there, by its number in the schema (inputs, then outputs).
    pub fn operand(&self, index: usize) -> Result<TensorView<'a>> {
        self.optional(index)?
            .ok_or_else(|| Error::invalid(format!("operand {index} is absent")))
    }

    /// An operand that may be left out.
    pub fn optional(&self, index: usize) -> Result<Option<TensorView<'a>>> {
        if index >= self.operand_count() {
            return Err(Error::invalid(format!(
                "operand {index} of a call with {}",
                self.operand_count()
            )));
        }
        // SAFETY: the index was checked.
        let raw = unsafe { self.raw_operand(index) };
        if raw.flags & OVERT_TENSOR_ABSENT != 0 {
            return Ok(None);
        }
        // SAFETY: `from_abi` checked the pointers, the host vouches for the counts.
        Ok(Some(unsafe { TensorView::new(raw) }))
    }

    /// Number of attributes.
    pub fn attr_count(&self) -> usize {
        self.raw.attr_count as usize
    }

    /// An attribute by its number in the schema.
    pub fn attr(&self, index: usize) -> Result<AttrValue<'a>> {
        // SAFETY: pointer and count are the host's, checked by `from_abi`.
        unsafe { value(self.raw.attrs, self.raw.attr_count, index, "attribute") }
    }

    /// A float attribute.
    pub fn attr_f64(&self, index: usize) -> Result<f64> {
        match self.attr(index)? {
            AttrValue::F64(v) => Ok(v),
            other => Err(wrong("attribute", index, "f64", other)),
        }
    }

    /// An integer attribute.
    pub fn attr_i64(&self, index: usize) -> Result<i64> {
        match self.attr(index)? {
            AttrValue::I64(v) => Ok(v),
            other => Err(wrong("attribute", index, "i64", other)),
        }
    }

    /// A truth attribute.
    pub fn attr_bool(&self, index: usize) -> Result<bool> {
        match self.attr(index)? {
            AttrValue::Bool(v) => Ok(v),
            other => Err(wrong("attribute", index, "bool", other)),
        }
    }

    /// A knob by its place in the kernel's declaration.
    pub fn knob(&self, index: usize) -> Result<AttrValue<'a>> {
        // SAFETY: as for attributes.
        unsafe { value(self.raw.knobs, self.raw.knob_count, index, "knob") }
    }

    /// An integer knob.
    pub fn knob_i64(&self, index: usize) -> Result<i64> {
        match self.knob(index)? {
            AttrValue::I64(v) => Ok(v),
            other => Err(wrong("knob", index, "i64", other)),
        }
    }

    /// A truth knob.
    pub fn knob_bool(&self, index: usize) -> Result<bool> {
        match self.knob(index)? {
            AttrValue::Bool(v) => Ok(v),
            other => Err(wrong("knob", index, "bool", other)),
        }
    }

    /// Workspace of this launch, `None` when the host gave none.
    pub fn workspace(&self) -> Option<TensorView<'a>> {
        // SAFETY: null or a tensor of the host's that lives as long as the call.
        let raw = unsafe { self.raw.workspace.as_ref() }?;
        if raw.rank > 0 && (raw.shape.is_null() || raw.strides.is_null()) {
            return None;
        }
        // SAFETY: the pointers were checked, the host vouches for the counts.
        Some(unsafe { TensorView::new(raw) })
    }

    /// Whether the stream is capturing.
    pub fn capturing(&self) -> bool {
        self.raw.flags & OVERT_CALL_CAPTURING != 0
    }

    pub(crate) fn plan_ptr(&self) -> *mut c_void {
        self.raw.plan
    }
}

/// # Safety
/// `values` points to `count` values that live for `'a`.
unsafe fn value<'a>(
    values: *const OvertValue,
    count: u32,
    index: usize,
    what: &str,
) -> Result<AttrValue<'a>> {
    if index >= count as usize {
        return Err(Error::invalid(format!(
            "{what} {index} of a call with {count}"
        )));
    }
    // SAFETY: the index is inside.
    let raw = unsafe { &*values.add(index) };
    // SAFETY: the caller's promise.
    unsafe { read_value(raw, what) }
}

/// # Safety
/// Text in the value lives for `'a`.
pub(crate) unsafe fn read_value<'a>(raw: &OvertValue, what: &str) -> Result<AttrValue<'a>> {
    // SAFETY (each arm): `kind` states which member is live, and its text lives as long as the call.
    Ok(match raw.kind {
        OVERT_VALUE_NONE => AttrValue::None,
        // SAFETY: see above.
        OVERT_VALUE_BOOL => AttrValue::Bool(unsafe { raw.data.i } != 0),
        // SAFETY: see above.
        OVERT_VALUE_I64 => AttrValue::I64(unsafe { raw.data.i }),
        // SAFETY: see above.
        OVERT_VALUE_F64 => AttrValue::F64(unsafe { raw.data.f }),
        // SAFETY: see above.
        OVERT_VALUE_STR => AttrValue::Str(unsafe { text::read(raw.data.s, what) }?),
        // SAFETY: see above.
        OVERT_VALUE_DTYPE => AttrValue::DType(unsafe { raw.data.dtype }),
        kind => {
            return Err(Error::invalid(format!(
                "{what} has a value of kind {kind}, which cannot stand here"
            )));
        }
    })
}

fn wrong(what: &str, index: usize, wanted: &str, got: AttrValue<'_>) -> Error {
    Error::invalid(format!("{what} {index} is {got:?}; wanted {wanted}"))
}

fn size(name: &str, got: u32, wanted: usize) -> Error {
    Error::abi(format!(
        "{name} has size {got}; the first version has {wanted}"
    ))
}

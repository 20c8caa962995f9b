//! A copy of a call that a queued job keeps, since the host's call ends with the entry.

use super::CallView;
use overt_abi::{OVERT_VALUE_STR, OvertCall, OvertStr, OvertTensor, OvertValue, OvertValueData};

/// Reused from launch to launch: once its lists have grown to the largest call of a stream, filling it allocates nothing.
pub(crate) struct OwnedCall {
    operands: Vec<OvertTensor>,
    dims: Vec<i64>,
    attrs: Vec<OvertValue>,
    knobs: Vec<OvertValue>,
    text: Vec<u8>,
    workspace: Option<OvertTensor>,
    raw: OvertCall,
}

// SAFETY: every pointer inside leads into the lists of the same value (see `fill`) or is the plan, which the host keeps until the
// launch has passed and which is a `Send + Sync` type of the backend.
unsafe impl Send for OwnedCall {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for OwnedCall {}

impl OwnedCall {
    pub(crate) fn new() -> Self {
        Self {
            operands: Vec::new(),
            dims: Vec::new(),
            attrs: Vec::new(),
            knobs: Vec::new(),
            text: Vec::new(),
            workspace: None,
            raw: OvertCall {
                size: size_of::<OvertCall>() as u32,
                flags: 0,
                operand_count: 0,
                attr_count: 0,
                operands: std::ptr::null(),
                attrs: std::ptr::null(),
                knobs: std::ptr::null(),
                knob_count: 0,
                reserved: 0,
                workspace: std::ptr::null(),
                plan: std::ptr::null_mut(),
            },
        }
    }

    /// Copies `call`, with the address of each operand (and of the workspace, last) taken from `addresses`.
    pub(crate) fn fill(&mut self, call: &CallView<'_>, addresses: &[u64]) {
        let count = call.operand_count();
        self.operands.clear();
        self.dims.clear();
        let sources = (0..count)
            // SAFETY: the index is inside.
            .map(|i| unsafe { call.raw_operand(i) })
            .chain(call.workspace().map(|w| w.raw()));
        for (source, address) in sources.zip(addresses) {
            let mut copy = *source;
            copy.size = size_of::<OvertTensor>() as u32;
            copy.address = *address;
            if source.rank > 0 && !source.shape.is_null() {
                // SAFETY: a present operand has `rank` extents and strides (checked by `CallView`).
                unsafe {
                    let rank = source.rank as usize;
                    self.dims
                        .extend_from_slice(std::slice::from_raw_parts(source.shape, rank));
                    self.dims
                        .extend_from_slice(std::slice::from_raw_parts(source.strides, rank));
                }
            } else {
                copy.rank = 0;
            }
            self.operands.push(copy);
        }
        // Only now, since the list may have moved while it grew.
        let mut at = 0;
        for operand in &mut self.operands {
            let rank = operand.rank as usize;
            operand.shape = self.dims[at..].as_ptr();
            operand.strides = self.dims[at + rank..].as_ptr();
            at += 2 * rank;
        }
        self.workspace = call.workspace().and_then(|_| self.operands.pop());
        let raw = call.raw();
        self.text.clear();
        // SAFETY: pointers and counts are the host's; `CallView` checked them for null.
        unsafe {
            copy_values(&mut self.attrs, &mut self.text, raw.attrs, raw.attr_count);
            copy_values(&mut self.knobs, &mut self.text, raw.knobs, raw.knob_count);
        }
        let mut at = 0;
        for value in self.attrs.iter_mut().chain(&mut self.knobs) {
            if value.kind == OVERT_VALUE_STR {
                // SAFETY: the kind says that text is live.
                let len = unsafe { value.data.s }.len;
                value.data = OvertValueData {
                    s: OvertStr {
                        data: self.text[at..].as_ptr(),
                        len,
                    },
                };
                at += len as usize;
            }
        }
        self.raw.flags = raw.flags;
        self.raw.operand_count = count as u32;
        self.raw.attr_count = raw.attr_count;
        self.raw.knob_count = raw.knob_count;
        self.raw.plan = raw.plan;
        self.raw.operands = self.operands.as_ptr();
        self.raw.attrs = self.attrs.as_ptr();
        self.raw.knobs = self.knobs.as_ptr();
    }

    /// Runs `f` on a view of the copy.
    pub(crate) fn with<R>(&self, f: impl FnOnce(CallView<'_>) -> R) -> crate::Result<R> {
        let mut raw = self.raw;
        // The workspace lies inside this value, which may have moved since `fill`.
        raw.workspace = self
            .workspace
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: every pointer leads into this value's lists, which are not changed while it is borrowed.
        let view = unsafe { CallView::from_abi(&raw) }?;
        Ok(f(view))
    }
}

/// # Safety
/// `values` points to `count` values whose text is readable.
unsafe fn copy_values(
    into: &mut Vec<OvertValue>,
    text: &mut Vec<u8>,
    values: *const OvertValue,
    count: u32,
) {
    into.clear();
    for i in 0..count as usize {
        // SAFETY: the caller's promise.
        let value = unsafe { *values.add(i) };
        if value.kind == OVERT_VALUE_STR {
            // SAFETY: the kind says that text is live; an empty text may be null.
            unsafe {
                let s = value.data.s;
                if s.len > 0 {
                    text.extend_from_slice(std::slice::from_raw_parts(s.data, s.len as usize));
                }
            }
        }
        into.push(value);
    }
}

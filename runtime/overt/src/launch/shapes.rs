//! Calls that were bound before: the same views need no second binding, and what they do not settle is little.
//!
//! A view's mark stands for everything that binding asks of it but its place. A call whose operands have the marks of an earlier one
//! therefore has the same symbols, extents and facts. What remains is checked anew each time: the device, overlap, attributes and
//! their bounds. The selection follows from the classes of the attributes.

use crate::bind::{Arguments, Bound, Call, MAX_ATTRS, MAX_OPERANDS, Varying, bind_error};
use crate::error::Error;
use crate::memory::{Mark, Tensor, View};
use crate::registry::Device;
use crate::select::{Ready, Table, key_room};
use crate::value::NONE;
use overt_abi::{OVERT_VALUE_NONE, OvertCall, OvertTensor, OvertValue};
use std::sync::Arc;

/// Places for remembered calls; a power of two.
const PLACES: usize = 128;

/// The limit of an attribute that is no bound.
const FREE: i64 = i64::MIN;

/// Selections remembered for one set of views before they start anew.
const MOST_CHOICES: usize = 64;

/// Remembered calls of one op, by the marks of their views. A place that is taken by other views is written over, so that even shapes
/// that change each time allocate nothing once the places exist.
#[derive(Default)]
pub(super) struct Shapes {
    places: Vec<Option<Box<Shape>>>,
}

/// A call that was recognised.
pub(super) struct Known<'s> {
    pub(super) ready: &'s Ready,
    /// In ABI form; it borrows from the memory it was found in and from the call.
    pub(super) call: &'s OvertCall,
    /// There is nothing to compute.
    pub(super) idle: bool,
}

struct Choice {
    ready: Arc<Ready>,
    /// Points into the shape that holds it.
    call: OvertCall,
}

struct Shape {
    marks: [Mark; MAX_OPERANDS],
    /// What `raw` points into: the shapes and strides of any call with these marks.
    views: [Option<View>; MAX_OPERANDS],
    /// All but the memory, which each call puts in.
    raw: [OvertTensor; MAX_OPERANDS],
    attrs: [OvertValue; MAX_ATTRS],
    /// Values of attributes that extents follow from; of no meaning for the others.
    shaping: [i64; MAX_ATTRS],
    /// Values of attributes that are not given; none for those that must be.
    defaults: [OvertValue; MAX_ATTRS],
    /// Greatest values of attributes that are bounds; [`FREE`] for the others. A bound's may be negative, where the shapes are empty.
    limits: [i64; MAX_ATTRS],
    empty: bool,
    /// Key words of each choice, one behind another.
    words: Vec<u64>,
    choices: Vec<Choice>,
}

// SAFETY: the raw tensors point into `views` of the same box, and the calls to those and to knobs that `Ready` keeps; the raw attributes are read only by the call that wrote them.
unsafe impl Send for Shape {}

impl Shapes {
    /// The kernel for a call whose views and attribute classes were seen before; `None` where they were not.
    #[inline]
    pub(super) fn find<'s>(
        &'s mut self,
        table: &Table,
        call: &Call<'_>,
        device: &Device,
    ) -> Result<Option<Known<'s>>, Error> {
        let tensors = call.tensors();
        let Some(Some(shape)) = self.places.get_mut(place(tensors)) else {
            return Ok(None);
        };
        let known = &shape.marks[..tensors.len()];
        if tensors
            .iter()
            .zip(known)
            .any(|(tensor, known)| mark(*tensor) != *known)
        {
            return Ok(None);
        }
        for (index, (tensor, raw)) in tensors.iter().zip(&mut shape.raw).enumerate() {
            let Some(tensor) = tensor else { continue };
            let place = &tensor.place;
            if place.device != device.identity() {
                return Err(other_device(call, index, tensor.device(), device));
            }
            raw.handle = place.handle;
            raw.byte_offset = tensor.view.byte_offset;
            raw.address = place.address;
            raw.allocation_bytes = place.bytes;
        }
        let binder = &call.op.0.binder;
        let in_place = binder.overlaps(call)?;
        let given = call.attrs();
        let shaping = binder.shaping();
        for (index, (attr, given)) in shape.attrs.iter_mut().zip(given).enumerate() {
            let value = if given.kind == OVERT_VALUE_NONE {
                shape.defaults[index]
            } else {
                *given
            };
            let limit = shape.limits[index];
            // SAFETY: a bound is an integer, since setters check types; for any other attribute the bits are read and not used.
            let number = unsafe { value.data.i };
            let within =
                limit == FREE || given.kind == OVERT_VALUE_NONE || (0..=limit).contains(&number);
            if value.kind == OVERT_VALUE_NONE || !within {
                // Says what is wrong.
                binder.attr(call.op, index, *given, limit)?;
            }
            if shaping & 1 << index != 0 && number != shape.shaping[index] {
                return Ok(None);
            }
            *attr = value;
        }
        let attrs = &shape.attrs[..given.len()];
        let mut room = key_room();
        let varying = Varying {
            attrs,
            in_place,
            capturing: false,
        };
        let key = table.varying_key(&varying, &mut room);
        let Some(choice) = shape.choice(key) else {
            return Ok(None);
        };
        Ok(Some(Known {
            ready: &choice.ready,
            call: &choice.call,
            idle: shape.empty && !choice.ready.launch_empty,
        }))
    }

    /// Remembers a call that was bound in full and the kernel that serves it.
    pub(super) fn note(
        &mut self,
        table: &Table,
        call: &Call<'_>,
        bound: &Bound,
        ready: &Arc<Ready>,
    ) {
        let tensors = call.tensors();
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let slot = &mut self.places[place(tensors)];
        let shape = slot.get_or_insert_with(Shape::new);
        let shaping = call.op.0.binder.shaping();
        let other_views = tensors
            .iter()
            .zip(&shape.marks)
            .any(|(tensor, known)| mark(*tensor) != *known);
        let other_extents = bound
            .attrs()
            .iter()
            .zip(&shape.shaping)
            .enumerate()
            // SAFETY: extents follow from whole numbers alone; the bits of other attributes are not looked at.
            .any(|(i, (attr, known))| shaping & 1 << i != 0 && unsafe { attr.data.i } != *known);
        if other_views || other_extents {
            shape.fill(call, bound);
        }
        let varying = Varying {
            attrs: bound.attrs(),
            in_place: bound.in_place,
            capturing: false,
        };
        let mut room = key_room();
        let key = table.varying_key(&varying, &mut room);
        if shape.choices.len() >= MOST_CHOICES {
            shape.forget();
        }
        shape.words.extend_from_slice(key);
        let parts = ready.call(
            shape.raw.as_ptr(),
            tensors.len(),
            &shape.attrs[..call.attrs().len()],
            std::ptr::null_mut(),
        );
        shape.choices.push(Choice {
            ready: ready.clone(),
            call: parts,
        });
    }
}

impl Shape {
    fn new() -> Box<Shape> {
        let absent = crate::bind::ABSENT;
        Box::new(Shape {
            // No operand count of an op makes this equal to a call's marks before the first `fill`: an op has an output, which is
            // never absent.
            marks: [Mark::ABSENT; MAX_OPERANDS],
            views: [const { None }; MAX_OPERANDS],
            raw: [absent; MAX_OPERANDS],
            attrs: [NONE; MAX_ATTRS],
            shaping: [0; MAX_ATTRS],
            defaults: [NONE; MAX_ATTRS],
            limits: [FREE; MAX_ATTRS],
            empty: false,
            words: Vec::new(),
            choices: Vec::new(),
        })
    }

    /// The selection for the classes of what varies.
    #[inline]
    fn choice(&self, key: &[u64]) -> Option<&Choice> {
        if key.is_empty() {
            return self.choices.first();
        }
        // A loop over words: keys are too short for a call to compare memory.
        let same = |words: &[u64]| words.iter().zip(key).all(|(a, b)| a == b);
        let index = self.words.chunks_exact(key.len()).position(same)?;
        self.choices.get(index)
    }

    fn forget(&mut self) {
        self.words.clear();
        self.choices.clear();
    }

    fn fill(&mut self, call: &Call<'_>, bound: &Bound) {
        let binder = &call.op.0.binder;
        self.forget();
        self.empty = bound.empty;
        for index in 0..binder.attr_count() {
            self.limits[index] = binder.limit(index, bound).unwrap_or(FREE);
            self.defaults[index] = binder
                .attr(call.op, index, NONE, self.limits[index])
                .unwrap_or(NONE);
        }
        for (index, attr) in bound.attrs().iter().enumerate() {
            if binder.shaping() & 1 << index != 0 {
                // SAFETY: extents follow from whole numbers alone.
                self.shaping[index] = unsafe { attr.data.i };
            }
        }
        for index in 0..binder.operand_count() {
            self.marks[index] = mark(call.tensor_at(index));
            // SAFETY: binding has written every operand up to the count.
            self.raw[index] = unsafe { bound.raw[index].assume_init() };
            self.views[index] = call.view(index).cloned();
            if let Some(view) = &self.views[index] {
                self.raw[index].shape = view.shape.as_ptr();
                self.raw[index].strides = view.strides.as_ptr();
            }
        }
    }
}

#[inline]
fn mark(tensor: Option<&Tensor>) -> Mark {
    tensor.map_or(Mark::ABSENT, |tensor| tensor.view.mark)
}

#[inline]
fn place(tensors: &[Option<&Tensor>]) -> usize {
    let mut hash = 0u64;
    for tensor in tensors {
        hash = (hash.rotate_left(5) ^ mark(*tensor).0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash >> 40) as usize % PLACES
}

#[cold]
pub(super) fn other_device(
    call: &Call<'_>,
    operand: usize,
    got: &Device,
    wanted: &Device,
) -> Error {
    bind_error(
        call.op,
        crate::BindProblem::OtherDevice {
            operand: call.op.schema().operands[operand].name.clone(),
            got: got.name().to_owned(),
            wanted: wanted.name().to_owned(),
        },
    )
    .into()
}

//! Where the rows of a call lie, and the room in which the rows of one expert lie side by side.
//!
//! Rows of one expert are scattered over tokens, and the bodies want one stride from row to row. An expert with one row is served
//! in place; of others the inputs are brought together and the outputs are written side by side and then moved to their places, which
//! reads and writes each once more: little beside the product.

use super::operands::{A, B, BIAS, EXPERTS, OUT};
use super::sorted::{Slot, Sorted};
use crate::pool::Pool;
use crate::simd::ElemType;
use crate::vectors::{elements, elements_mut};
use overt_sdk::host::Job;
use overt_sdk::{CallView, Error, Result, TensorView, WorkspaceNeed};
use std::ops::Range;

/// Alignment of the parts of the workspace: a line of the cache.
pub const LINE: u64 = 64;

/// Rows of an operand by token and slot.
#[derive(Clone, Copy)]
struct Rows<P> {
    at: P,
    ty: ElemType,
    /// From token to token, and from slot to slot.
    strides: [i64; 2],
}

impl<P> Rows<P> {
    fn offset(&self, slot: Slot) -> isize {
        let elements = slot.token as i64 * self.strides[0] + slot.slot as i64 * self.strides[1];
        elements as isize * self.ty.bytes() as isize
    }
}

/// The bias: one row for each expert.
#[derive(Clone, Copy)]
pub struct Bias {
    at: *const u8,
    pub ty: ElemType,
    strides: [i64; 2],
}

impl Bias {
    /// The first element of an expert's row; null where there is no bias.
    pub fn of(&self, expert: usize) -> *const u8 {
        if self.at.is_null() {
            return self.at;
        }
        let elements = expert as isize * self.strides[0] as isize;
        self.at.wrapping_offset(elements * self.ty.bytes() as isize)
    }

    pub fn stride(&self) -> i64 {
        self.strides[1]
    }
}

/// One call.
pub struct Placed {
    a: Rows<*const u8>,
    out: Rows<*mut u8>,
    pub bias: Bias,
    /// Rows of an expert's weight.
    pub n: usize,
    /// Columns of it.
    pub k: usize,
    pub sorted: Sorted,
    /// Outputs side by side, in the order of `sorted`.
    together: *mut u8,
    /// What the body keeps of inputs, in the same order, so many bytes each.
    kept: *mut u8,
    kept_bytes: usize,
}

// SAFETY: addresses of operands; the stream orders work on their memory, and items write disjoint parts.
unsafe impl Sync for Placed {}

fn slots(call: &CallView<'_>) -> Result<u64> {
    let chosen = call.operand(EXPERTS)?;
    Ok((chosen.dim(0)? * chosen.dim(1)?) as u64)
}

fn bytes_together(call: &CallView<'_>) -> Result<u64> {
    let out = call.operand(OUT)?;
    let row = out.dim(2)? as u64 * elements(&out, OUT)?.1.bytes() as u64;
    Ok((slots(call)? * row).next_multiple_of(LINE))
}

/// Room for outputs side by side, and for `kept` bytes of each row of inputs.
pub fn workspace(call: &CallView<'_>, kept: u64) -> Result<WorkspaceNeed> {
    Ok(WorkspaceNeed {
        bytes: bytes_together(call)? + slots(call)? * kept,
        alignment: LINE,
    })
}

impl Placed {
    /// The job's call; `kept` as it was given to [`workspace`].
    pub fn of(job: &Job<'_>, kept: u64) -> Result<Self> {
        let call = job.call();
        let (a, b, out) = (call.operand(A)?, call.operand(B)?, call.operand(OUT)?);
        let (a_at, a_type) = elements(&a, A)?;
        let (out_at, out_type) = elements_mut(&out, OUT)?;
        let bias = match call.optional(BIAS)? {
            Some(bias) => {
                let strides = [bias.stride(0)?, bias.stride(1)?];
                let (at, ty) = elements_anywhere(&bias)?;
                Bias { at, ty, strides }
            }
            None => Bias {
                at: std::ptr::null(),
                ty: ElemType::F32,
                strides: [0, 0],
            },
        };
        let need = workspace(&call, kept)?.bytes;
        let space = match call.workspace() {
            Some(space) if space.address().is_multiple_of(LINE) => {
                let room = space.allocation_bytes().saturating_sub(space.byte_offset());
                if room < need {
                    return Err(Error::launch(format!(
                        "the workspace has {room} bytes; wanted {need}"
                    )));
                }
                space.address() as usize as *mut u8
            }
            _ if need == 0 => std::ptr::null_mut(),
            _ => {
                return Err(Error::launch(format!(
                    "no workspace on a line of {LINE} bytes; wanted {need} bytes, as `kernel_workspace` states"
                )));
            }
        };
        Ok(Self {
            a: Rows {
                at: a_at,
                ty: a_type,
                strides: [a.stride(0)?, a.stride(1)?],
            },
            out: Rows {
                at: out_at,
                ty: out_type,
                strides: [out.stride(0)?, out.stride(1)?],
            },
            bias,
            n: b.dim(1)? as usize,
            k: b.dim(2)? as usize,
            sorted: Sorted::of(job)?,
            together: space,
            kept: space.wrapping_add(bytes_together(&call)? as usize),
            kept_bytes: kept as usize,
        })
    }

    /// The type of inputs.
    pub fn a_type(&self) -> ElemType {
        self.a.ty
    }

    /// The type of outputs.
    pub fn out_type(&self) -> ElemType {
        self.out.ty
    }

    /// A row of the input.
    pub fn a_row(&self, slot: Slot) -> *const u8 {
        self.a.at.wrapping_offset(self.a.offset(slot))
    }

    /// A row of the output.
    pub fn out_row(&self, slot: Slot) -> *mut u8 {
        self.out.at.wrapping_offset(self.out.offset(slot))
    }

    /// Where the body keeps what it has of the input row of this number among the sorted ones.
    pub fn kept(&self, number: usize) -> *mut u8 {
        self.kept.wrapping_add(number * self.kept_bytes)
    }

    /// Bytes of one row of the output.
    fn out_bytes(&self) -> usize {
        self.n * self.out.ty.bytes()
    }

    /// Where the output of the row of this number among the sorted ones lies until it is moved.
    pub fn together(&self, number: usize) -> *mut u8 {
        self.together.wrapping_add(number * self.out_bytes())
    }

    /// Writes zeros where there is no expert.
    pub fn clear(&self) {
        for &slot in &self.sorted.none {
            // SAFETY: a row of the output, which nothing else touches; zero bytes are zeros of every float type.
            unsafe { self.out_row(slot).write_bytes(0, self.out_bytes()) };
        }
    }

    /// Moves outputs that were written side by side to their places.
    pub fn scatter(&self, pool: &Pool) {
        let moved: Vec<(usize, Slot)> = self
            .sorted
            .experts()
            .filter(|(_, rows)| rows.len() > 1)
            .flat_map(|(_, rows)| rows.clone().zip(self.sorted.slots(rows)))
            .map(|(number, &slot)| (number, slot))
            .collect();
        pool.ranges(moved.len(), self.out_bytes() as u64, |range| {
            for &(number, slot) in &moved[range] {
                let from = self.together(number).cast_const();
                // SAFETY: a whole row that was written before, in the workspace, and a row of the output; each row is moved once.
                unsafe {
                    self.out_row(slot)
                        .copy_from_nonoverlapping(from, self.out_bytes())
                };
            }
        });
    }
}

/// Address and type of an operand of any strides.
fn elements_anywhere(view: &TensorView<'_>) -> Result<(*const u8, ElemType)> {
    use overt_sdk::dtypes::{BF16, F16, F32};
    let ty = match view.dtype() {
        F32 => ElemType::F32,
        F16 => ElemType::F16,
        BF16 => ElemType::Bf16,
        other => {
            return Err(Error::launch(format!(
                "operand {BIAS} is {}; wanted f32, f16 or bf16",
                overt_sdk::dtypes::name(other)
            )));
        }
    };
    crate::vectors::aligned(view, BIAS, ty.bytes() as u64)?;
    Ok((view.address() as usize as *const u8, ty))
}

/// A part of one expert's product.
pub struct Item {
    /// Which of the products.
    pub product: usize,
    pub m: Range<usize>,
    pub n: Range<usize>,
}

/// Cuts products of (rows, columns) into items of the grain that `grain` names for each.
pub fn items(
    products: impl Iterator<Item = (usize, usize)>,
    grain: impl Fn(usize) -> (usize, usize),
) -> Vec<Item> {
    let mut items = Vec::new();
    for (product, (m, n)) in products.enumerate() {
        let (tall, wide) = grain(product);
        for j in (0..n).step_by(wide.max(1)) {
            // Down first, so that neighbours share rows of the weight.
            for i in (0..m).step_by(tall.max(1)) {
                items.push(Item {
                    product,
                    m: i..m.min(i + tall),
                    n: j..n.min(j + wide),
                });
            }
        }
    }
    items
}

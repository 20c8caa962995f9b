//! Tokens drawn from rows of logits.
//!
//! A row is read once for the greatest element of each of its blocks. What `top_k` and `top_p` keep is mostly few elements, and they lie
//! in few blocks: those are looked through again, and nothing else is sorted ([`front`]). Where more is kept, a histogram finds
//! the element at which to stop ([`limit`]). Where all is kept, nothing is ordered at all.

mod front;
mod limit;
mod row;
mod weights;

pub use row::Choice;

use super::Rows;
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::{Isa, with_isa};
use core::cell::RefCell;
use core::marker::PhantomData;
use core::ops::Range;

/// Rows of `width` logits, how to choose from each, and a token for each.
#[derive(Clone, Copy)]
pub struct SampleArgs<'a> {
    pub x: Rows,
    pub width: usize,
    /// How row number t chooses.
    pub choice: &'a (dyn Fn(usize) -> Choice + Sync),
    pub out: *mut i32,
    pub out_stride: i64,
}

// SAFETY: addresses; whoever makes them vouches for the memory, and a body writes the rows of its own range alone.
unsafe impl Send for SampleArgs<'_> {}
// SAFETY: as above.
unsafe impl Sync for SampleArgs<'_> {}

/// Draws a token for each row of a range. Disjoint ranges may run at once.
///
/// # Safety
/// The machine has `isa`. The rows are readable, the tokens writable, all aligned to their elements.
pub unsafe fn sample(isa: Isa, args: &SampleArgs<'_>, rows: Range<usize>) {
    with_isa!(isa, s => sample_on(s, args, rows));
}

pub(super) fn sample_on<S: Simd>(s: S, args: &SampleArgs<'_>, rows: Range<usize>) {
    thread_local! {
        // Kept from call to call: memory of a vocabulary's size is fresh pages each time it is allocated, which takes longer than
        // the draw.
        static MEMORY: RefCell<row::Memory> = RefCell::default();
    }
    MEMORY.with_borrow_mut(|memory| {
        for t in rows {
            let choice = (args.choice)(t);
            let token = with_elem!(args.x.ty, X => s.run(Draw::<X> {
                x: args.x.row(t),
                width: args.width,
                choice,
                memory,
                elem: PhantomData,
            }));
            // SAFETY: the token is writable, by the contract of `sample`.
            unsafe {
                args.out
                    .offset(t as isize * args.out_stride as isize)
                    .write(token)
            };
        }
    });
}

struct Draw<'a, X> {
    x: *const X,
    width: usize,
    choice: Choice,
    memory: &'a mut row::Memory,
    elem: PhantomData<X>,
}

impl<X: Elem> Task for Draw<'_, X> {
    type Out = i32;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> i32 {
        // SAFETY: the row is readable, by the contract of `sample`.
        unsafe { row::draw(s, self.x, self.width, &self.choice, self.memory) }
    }
}

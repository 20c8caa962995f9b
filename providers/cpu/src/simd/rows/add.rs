//! Elementwise sum.

use super::{Rows, RowsMut};
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::{Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// `out = a + b`, rows of `width`. `out` has the type of `a` and may be its memory or that of `b`.
#[derive(Clone, Copy, Debug)]
pub struct AddArgs {
    pub a: Rows,
    pub b: Rows,
    pub out: RowsMut,
    pub width: usize,
}

/// Computes the rows of a range. Disjoint ranges may run at once.
///
/// # Safety
/// The machine has `isa`. The rows of all operands are readable and those of `out` writable, aligned to their elements; a row of
/// `out` that overlaps one of `a` or `b` is that very row.
pub unsafe fn add(isa: Isa, args: &AddArgs, rows: Range<usize>) {
    with_isa!(isa, s => add_on(s, args, rows));
}

pub(super) fn add_on<S: Simd>(s: S, args: &AddArgs, rows: Range<usize>) {
    with_elem!(args.a.ty, A => with_elem!(args.b.ty, B => s.run(Sum::<A, B> {
        args,
        rows,
        elems: PhantomData,
    })));
}

struct Sum<'a, A, B> {
    args: &'a AddArgs,
    rows: Range<usize>,
    elems: PhantomData<(A, B)>,
}

impl<A: Elem, B: Elem> Task for Sum<'_, A, B> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let width = self.args.width;
        for t in self.rows {
            let (a, b) = (self.args.a.row::<A>(t), self.args.b.row::<B>(t));
            let out = self.args.out.row::<A>(t);
            let mut at = 0;
            while at + S::LANES <= width {
                // SAFETY: the vector lies in the row, by the contract of `add`.
                unsafe {
                    let sum = s.add(A::load(s, a.add(at)), B::load(s, b.add(at)));
                    A::store(s, out.add(at), sum);
                }
                at += S::LANES;
            }
            if at < width {
                let head = s.head(width - at);
                // SAFETY: the head's elements end with the row.
                unsafe {
                    let sum = s.add(
                        A::load_head(s, a.add(at), head),
                        B::load_head(s, b.add(at), head),
                    );
                    A::store_head(s, out.add(at), sum, head);
                }
            }
        }
    }
}

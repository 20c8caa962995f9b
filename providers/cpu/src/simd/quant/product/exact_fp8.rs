//! fp8 weights: a byte for each column and element of k, and scales for stretches of k.

use super::exact::{Floats, SIDE_BY_SIDE};
use super::source::chunk_fp8;
use super::{PANELS, QuantArgs};
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::formats::Format;

/// A chunk of panels of fp8.
pub struct Panels8<'a> {
    pub args: &'a QuantArgs,
    /// First element of k.
    pub at: usize,
    /// Elements.
    pub count: usize,
    /// Room for `bytes` of each panel, where plain rows are packed.
    pub packed: *mut u8,
    /// See there.
    pub bytes: usize,
}

/// One element of k for each row of a panel, scaled. The scale holds the format's factor.
///
/// # Safety
/// The bytes are readable.
#[inline(always)]
unsafe fn value<S: Simd, const E4M3: bool>(s: S, p: *const u8, scale: S::V) -> S::V {
    // SAFETY: the caller's pointer.
    let raw = unsafe {
        if E4M3 {
            s.load_e4m3fn(p)
        } else {
            s.load_e5m2(p)
        }
    };
    s.mul(raw, scale)
}

/// The factors of panel `panel` for the stretch of k that holds element `k`: its scales, times 256 for e4m3fn, which the loads
/// leave out.
///
/// # Safety
/// The scales are readable.
#[inline(always)]
unsafe fn scale<S: Simd, const E4M3: bool>(s: S, args: &QuantArgs, panel: usize, k: usize) -> S::V {
    let factor = s.splat(if E4M3 { 256.0 } else { 1.0 });
    if args.b_scale.is_null() {
        return factor;
    }
    let mut scales = [0.0_f32; 16];
    let [down, across] = args.b_scale_strides.map(|stride| stride as isize);
    for (lane, scale) in scales.iter_mut().enumerate().take(S::LANES) {
        let row = panel * S::LANES + lane;
        if row < args.n {
            let at =
                (row / args.scale_rows) as isize * down + (k / args.scale_depth) as isize * across;
            // SAFETY: the row and k lie in the weight, so their scale exists.
            *scale = unsafe { args.b_scale.wrapping_offset(at).read() };
        }
    }
    // SAFETY: sixteen floats are the widest vector.
    s.mul(unsafe { s.load(scales.as_ptr()) }, factor)
}

/// Where the stretch of one scale that holds element `k` ends.
fn stretch_end(args: &QuantArgs, k: usize) -> usize {
    if args.b_scale.is_null() {
        return usize::MAX;
    }
    (k / args.scale_depth + 1).saturating_mul(args.scale_depth)
}

/// Adds the chunk to the accumulators of one row (of `SIDE_BY_SIDE` panels) or two (of `PANELS`).
///
/// # Safety
/// The weight and the rows hold the chunk; the accumulators are writable.
pub unsafe fn run_few<S: Simd>(
    s: S,
    panels: &Panels8<'_>,
    panel: impl Fn(usize) -> usize,
    rows: usize,
    floats: Floats,
    acc: *mut f32,
) {
    let body = |i: usize| {
        let buffer = panels.packed.wrapping_add(i * panels.bytes);
        // SAFETY: the same contract.
        unsafe {
            chunk_fp8(
                panels.args,
                S::LANES,
                panel(i),
                panels.at,
                panels.count,
                buffer,
            )
        }
    };
    macro_rules! task {
        ($e4m3:literal, $r:literal, $c:expr) => {
            s.run(Few::<$e4m3, $r, { $c }> {
                panels,
                numbers: core::array::from_fn(&panel),
                bodies: core::array::from_fn(body),
                rows: core::array::from_fn(|r| floats.row(r)),
                acc,
            })
        };
    }
    match (panels.args.b_format == Format::E4m3fn, rows) {
        (true, 1) => task!(true, 1, SIDE_BY_SIDE),
        (true, _) => task!(true, 2, PANELS),
        (false, 1) => task!(false, 1, SIDE_BY_SIDE),
        (false, _) => task!(false, 2, PANELS),
    }
}

struct Few<'a, const E4M3: bool, const R: usize, const C: usize> {
    panels: &'a Panels8<'a>,
    numbers: [usize; C],
    bodies: [*const u8; C],
    rows: [*const f32; R],
    acc: *mut f32,
}

impl<const E4M3: bool, const R: usize, const C: usize> Task for Few<'_, E4M3, R, C> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Panels8 {
            args, at, count, ..
        } = *self.panels;
        // SAFETY: the contract of `run_few`.
        unsafe {
            let place = |r: usize, c: usize| self.acc.add((r * C + c) * S::LANES);
            let mut acc = [[s.splat(0.0); C]; R];
            let mut k = 0;
            while k < count {
                let end = count.min(stretch_end(args, at + k) - at);
                let mut scales = [s.splat(0.0); C];
                for c in 0..C {
                    scales[c] = scale::<S, E4M3>(s, args, self.numbers[c], at + k);
                }
                while k < end {
                    let mut x = [s.splat(0.0); R];
                    for r in 0..R {
                        x[r] = s.splat(self.rows[r].add(k).read());
                    }
                    for c in 0..C {
                        let w = value::<S, E4M3>(s, self.bodies[c].add(k * S::LANES), scales[c]);
                        for r in 0..R {
                            acc[r][c] = s.fma(w, x[r], acc[r][c]);
                        }
                    }
                    k += 1;
                }
            }
            for r in 0..R {
                for c in 0..C {
                    let to = place(r, c);
                    s.store(to, s.add(s.load(to), acc[r][c]));
                }
            }
        }
    }
}

/// Decodes the chunk of a pair of panels to f32: element by element of k.
///
/// # Safety
/// The weight holds the chunk; `to` has room for `PANELS · S::LANES` floats an element.
pub unsafe fn decode<S: Simd>(
    s: S,
    panels: &Panels8<'_>,
    panel: impl Fn(usize) -> usize,
    to: *mut f32,
) {
    for i in 0..PANELS {
        // SAFETY: the same contract.
        let body = unsafe {
            chunk_fp8(
                panels.args,
                S::LANES,
                panel(i),
                panels.at,
                panels.count,
                panels.packed,
            )
        };
        let (panel, to) = (panel(i), to.wrapping_add(i * S::LANES));
        if panels.args.b_format == Format::E4m3fn {
            s.run(Decode::<true> {
                panels,
                panel,
                body,
                to,
            });
        } else {
            s.run(Decode::<false> {
                panels,
                panel,
                body,
                to,
            });
        }
    }
}

struct Decode<'a, const E4M3: bool> {
    panels: &'a Panels8<'a>,
    panel: usize,
    body: *const u8,
    to: *mut f32,
}

impl<const E4M3: bool> Task for Decode<'_, E4M3> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Panels8 {
            args, at, count, ..
        } = *self.panels;
        let mut k = 0;
        while k < count {
            let end = count.min(stretch_end(args, at + k) - at);
            // SAFETY: the contract of `decode`.
            let scales = unsafe { scale::<S, E4M3>(s, args, self.panel, at + k) };
            while k < end {
                // SAFETY: the contract of `decode`.
                unsafe {
                    let w = value::<S, E4M3>(s, self.body.add(k * S::LANES), scales);
                    s.store(self.to.add(k * PANELS * S::LANES), w);
                }
                k += 1;
            }
        }
    }
}

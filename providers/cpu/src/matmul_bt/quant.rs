//! What the kernels of quantised weights share: clauses, launch, the packed layout, and the way from a call to the bodies.

use super::operands::{A, B, OUT};
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::dtypes::{
    FP8_E4M3FN, FP8_E5M2, MXFP4, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0,
};
use overt_sdk::host::{Body, Launch};
use overt_sdk::{Result, abi::OvertDType};

/// The block formats, all of which the bodies take.
pub const BLOCKS: [OvertDType; 9] = [Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4];
/// The fp8 formats.
pub const FP8: [OvertDType; 2] = [FP8_E4M3FN, FP8_E5M2];

/// Names the layout of panels: the letters `ov`, then what the bytes depend on, the format's code and the rows of a panel.
pub const fn key(dtype: OvertDType, lanes: u64) -> u64 {
    0x6f76 << 32 | (dtype.code as u64) << 16 | lanes
}

/// Clauses besides the instructions, for weights of these formats in panels of `lanes` rows or plain.
pub fn needs(formats: &[OvertDType], lanes: u64) -> Vec<Clause> {
    let mut clauses = Vec::new();
    for operand in ["a", "out"] {
        clauses.push(
            fact(format!("{operand}.dtype"))
                .is_in([F32, F16, BF16])
                .source("what the bodies decode"),
        );
        clauses.push(
            fact(format!("{operand}.inner_contiguous"))
                .is(true)
                .source("vectors are loaded along a row"),
        );
    }
    clauses.push(
        fact("b.dtype")
            .is_in(formats.iter().copied())
            .source("what the bodies decode"),
    );
    clauses.push(
        fact("b.inner_contiguous")
            .is(true)
            .source("rows are packed as stretches of memory"),
    );
    let keys = formats.iter().map(|&dtype| key(dtype, lanes) as i64);
    clauses.push(
        fact("b.layout")
            .is_in(std::iter::once(0).chain(keys))
            .source("plain, or panels of as many rows as a vector has lanes"),
    );
    clauses
}

/// Enqueues the body over the output's columns.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let call = launch.call();
    let (rows, columns) = (call.operand(A)?.dim(0)?, call.operand(OUT)?.dim(1)?);
    debug_assert!(call.operand(B).is_ok());
    launch.run(body, [columns as u32, rows as u32, 1])
}

/// The functions of a kernel file, for its instruction set and, where the call's attribute does not say it all, its use of the
/// activations.
macro_rules! entries {
    ($set:ident) => {
        quant::entries!($set, None);
    };
    ($set:ident, fixed) => {
        quant::entries!($set, Some(crate::simd::quant::product::Activations::Fixed));
    };
    ($set:ident, $activations:expr) => {
        #[cfg(target_arch = "x86_64")]
        use crate::simd::quant::Set;

        #[cfg(target_arch = "x86_64")]
        fn workspace(call: &CallView<'_>) -> Result<WorkspaceNeed> {
            quant::workspace(call, Set::$set, $activations)
        }

        #[cfg(target_arch = "x86_64")]
        fn layout(
            operand: u32,
            weight: &TensorView<'_>,
            _: &CallView<'_>,
        ) -> Result<Option<WeightsLayout>> {
            quant::layout(Set::$set, operand, weight)
        }

        #[cfg(target_arch = "x86_64")]
        fn pack(job: &Job<'_>) -> Result<()> {
            quant::pack(job, Set::$set)
        }

        #[cfg(target_arch = "x86_64")]
        fn run(job: &Job<'_>) -> Result<()> {
            quant::run(job, Set::$set, $activations)
        }

        #[cfg(not(target_arch = "x86_64"))]
        fn workspace(_: &CallView<'_>) -> Result<WorkspaceNeed> {
            Ok(WorkspaceNeed::default())
        }

        #[cfg(not(target_arch = "x86_64"))]
        fn layout(_: u32, _: &TensorView<'_>, _: &CallView<'_>) -> Result<Option<WeightsLayout>> {
            Ok(None)
        }

        #[cfg(not(target_arch = "x86_64"))]
        fn pack(_: &Job<'_>) -> Result<()> {
            Err(overt_sdk::Error::unsupported(NO_X86))
        }

        #[cfg(not(target_arch = "x86_64"))]
        fn run(_: &Job<'_>) -> Result<()> {
            Err(overt_sdk::Error::unsupported(NO_X86))
        }
    };
}
pub(super) use entries;

#[cfg(target_arch = "x86_64")]
pub use x86::{layout, pack, run, workspace};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::operands::{A, B, B_SCALE, BIAS, OUT, ROUNDED, SCALE_DEPTH, SCALE_ROWS};
    use super::{BLOCKS, FP8, key};
    use crate::pool::Pool;
    use crate::simd::ElemType;
    use crate::simd::quant::Set;
    use crate::simd::quant::formats::Format;
    use crate::simd::quant::panel::{pack_panel, packed_bytes};
    use crate::simd::quant::product::{
        Activations, QuantArgs, grain, prepare, prepared_bytes, rows, scratch_len,
    };
    use crate::vectors::{aligned, elements, elements_mut, with_scratch};
    use overt_sdk::host::Job;
    use overt_sdk::{
        CallView, Error, Result, TensorView, WeightsLayout, WorkspaceNeed, abi::OvertDType, dtypes,
    };

    /// Alignment of prepared rows and of panels: a line of the cache.
    const LINE: u64 = 64;
    /// Multiply-adds that preparing an element of a compares to.
    const PREPARING: u64 = 4;

    fn format(dtype: OvertDType) -> Result<Format> {
        Ok(match dtype {
            dtypes::Q8_0 => Format::Q8_0,
            dtypes::Q4_0 => Format::Q4_0,
            dtypes::Q4_1 => Format::Q4_1,
            dtypes::Q5_0 => Format::Q5_0,
            dtypes::Q5_1 => Format::Q5_1,
            dtypes::Q4_K => Format::Q4K,
            dtypes::Q5_K => Format::Q5K,
            dtypes::Q6_K => Format::Q6K,
            dtypes::MXFP4 => Format::Mxfp4,
            dtypes::FP8_E4M3FN => Format::E4m3fn,
            dtypes::FP8_E5M2 => Format::E5m2,
            other => {
                return Err(Error::launch(format!(
                    "operand {B} is {}; wanted a block format or fp8",
                    dtypes::name(other)
                )));
            }
        })
    }

    /// Columns of the weight as memory holds them: (rows, columns).
    fn extents(weight: &TensorView<'_>) -> Result<(usize, usize)> {
        Ok((weight.dim(0)? as usize, weight.dim(1)? as usize))
    }

    /// The panels of a weight.
    pub fn layout(
        set: Set,
        operand: u32,
        weight: &TensorView<'_>,
    ) -> Result<Option<WeightsLayout>> {
        if operand as usize != B
            || !(BLOCKS.contains(&weight.dtype()) || FP8.contains(&weight.dtype()))
        {
            return Ok(None);
        }
        let (n, k) = extents(weight)?;
        let bytes = packed_bytes(format(weight.dtype())?, set.lanes(), n, k);
        Ok(Some(WeightsLayout {
            key: key(weight.dtype(), set.lanes() as u64),
            bytes: (bytes as u64).max(1),
            alignment: LINE,
        }))
    }

    /// Packs operand 0 of the job, a plain weight, into operand 1.
    pub fn pack(job: &Job<'_>, set: Set) -> Result<()> {
        let call = job.call();
        let (source, packed) = (call.operand(0)?, call.operand(1)?);
        let format = format(source.dtype())?;
        let (n, k) = extents(&source)?;
        let bytes = packed_bytes(format, set.lanes(), n, k) as u64;
        let room = packed
            .allocation_bytes()
            .saturating_sub(packed.byte_offset());
        if room < bytes {
            return Err(Error::launch(format!(
                "the packed weight has room for {room} bytes; wanted {bytes}"
            )));
        }
        if source.stride(1)? != 1 && k > 1 {
            return Err(Error::launch(format!(
                "the weight's last dimension has stride {}; wanted 1",
                source.stride(1)?
            )));
        }
        let (from, to) = (source.address() as usize, packed.address() as usize);
        let stride = format.bytes_for_stride(source.stride(0)?);
        let panel = set.lanes() * format.bytes_for(k);
        job.context::<Pool>()?
            .ranges(n.div_ceil(set.lanes()), panel as u64, |panels| {
                for i in panels {
                    let row = |lane: usize| {
                        let row = i * set.lanes() + lane;
                        match row < n {
                            true => (from as *const u8).wrapping_offset(row as isize * stride),
                            false => std::ptr::null(),
                        }
                    };
                    let to = (to as *mut u8).wrapping_add(i * panel);
                    // SAFETY: both tensors were resolved from live allocations and bounds-checked; rows are contiguous. Panels
                    // are disjoint parts of the packed memory. The stream orders other work on both.
                    unsafe { pack_panel(format, set.lanes(), row, k, to) };
                }
            });
        Ok(())
    }

    /// The product that a call describes, its activations used as `own` says or, without, as the call does. Addresses are those of
    /// the call, which before the launch may be none.
    fn product<'a>(call: &CallView<'a>, set: Set, own: Option<Activations>) -> Result<QuantArgs> {
        let (a, b, out) = (call.operand(A)?, call.operand(B)?, call.operand(OUT)?);
        let bias = call.optional(BIAS)?;
        let scale = call.optional(B_SCALE)?;
        let (a_at, a_type) = elements(&a, A)?;
        let (out_at, out_type) = elements_mut(&out, OUT)?;
        let (bias_at, bias_type) = match &bias {
            Some(bias) => elements(bias, BIAS)?,
            None => (std::ptr::null(), ElemType::F32),
        };
        let packed = match b.layout() {
            0 => false,
            layout if layout == key(b.dtype(), set.lanes() as u64) => true,
            other => {
                return Err(Error::launch(format!(
                    "operand {B} lies in layout {other:#x}; wanted the plain one or panels of {} rows",
                    set.lanes()
                )));
            }
        };
        let (n, k) = extents(&b)?;
        if let Some(scale) = &scale {
            aligned(scale, B_SCALE, 4)?;
        }
        Ok(QuantArgs {
            a: a_at,
            a_type,
            a_stride: a.stride(0)?,
            b: b.address() as usize as *const u8,
            b_format: format(b.dtype())?,
            b_stride: b.stride(0)?,
            packed,
            b_scale: scale.map_or(std::ptr::null(), |s| s.address() as usize as *const f32),
            b_scale_strides: scale
                .map_or(Ok([0, 0]), |s| Ok::<_, Error>([s.stride(0)?, s.stride(1)?]))?,
            scale_rows: call.attr_i64(SCALE_ROWS)?.max(1) as usize,
            scale_depth: call.attr_i64(SCALE_DEPTH)?.max(1) as usize,
            bias: bias_at,
            bias_type,
            bias_stride: bias.map_or(Ok(0), |bias| bias.stride(0))?,
            out: out_at,
            out_type,
            out_stride: out.stride(0)?,
            m: out.dim(0)? as usize,
            n,
            k,
            activations: match (own, call.attr_bool(ROUNDED)?) {
                (Some(own), _) => own,
                (None, true) => Activations::Int8,
                (None, false) => Activations::Exact,
            },
        })
    }

    /// Room for the prepared rows of a.
    pub fn workspace(
        call: &CallView<'_>,
        set: Set,
        own: Option<Activations>,
    ) -> Result<WorkspaceNeed> {
        Ok(WorkspaceNeed {
            bytes: prepared_bytes(set, &product(call, set, own)?) as u64,
            alignment: LINE,
        })
    }

    /// The job's product with the instructions of `set`.
    pub fn run(job: &Job<'_>, set: Set, own: Option<Activations>) -> Result<()> {
        if !set.is_available() {
            return Err(Error::unsupported(format!(
                "{set:?} code was chosen on a CPU or system without it"
            )));
        }
        let call = job.call();
        let args = product(&call, set, own)?;
        let bytes = prepared_bytes(set, &args);
        let prepared = match call.workspace() {
            Some(space) if space.address().is_multiple_of(LINE) => space,
            _ if bytes == 0 => return Ok(()),
            _ => {
                return Err(Error::launch(format!(
                    "no workspace on a line of {LINE} bytes; wanted {bytes} bytes, as `kernel_workspace` states"
                )));
            }
        };
        let room = prepared
            .allocation_bytes()
            .saturating_sub(prepared.byte_offset());
        if room < bytes as u64 {
            return Err(Error::launch(format!(
                "the workspace has {room} bytes; wanted {bytes}"
            )));
        }
        let prepared = prepared.address() as usize;
        let pool = job.context::<Pool>()?;
        pool.ranges(args.m, args.k as u64 * PREPARING, |m| {
            // SAFETY: `set` was found on this machine. Operands and workspace were resolved from live allocations, bounds-checked
            // and aligned; ranges are disjoint rows of the workspace, which is this stream's alone.
            unsafe { prepare(set, &args, prepared as *mut u8, m) };
        });
        let (tall, wide) = grain(set, &args, pool.threads());
        let (down, across) = (args.m.div_ceil(tall), args.n.div_ceil(wide));
        let steps = (tall.min(args.m) * wide.min(args.n)) as u64 * args.k as u64;
        let scratch = scratch_len(set, &args);
        pool.ranges(down * across, steps, |items| {
            with_scratch(scratch, |scratch| {
                for item in items {
                    // Down first, so that neighbours share rows of `b`.
                    let (i, j) = (item % down * tall, item / down * wide);
                    let (m, n) = (i..args.m.min(i + tall), j..args.n.min(j + wide));
                    // SAFETY: as above, and rows are contiguous by the guard. The rows of `a` have been prepared. Items are disjoint
                    // parts of the output, which overlaps no input by the op's schema. The stream orders other work on this
                    // memory.
                    unsafe { rows(set, &args, prepared as *const u8, m, n, scratch) };
                }
            });
        });
        Ok(())
    }
}

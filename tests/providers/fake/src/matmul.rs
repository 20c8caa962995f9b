//! Kernels of `matmul_bt.1`.
//!
//! | kernel | tier | guard |
//! |---|---|---|
//! | `odd` | tuned, highest | f16 `a`, and a callback: K is no multiple of 3 |
//! | `packed` | tuned | f32, K a multiple of 8; takes `b` transposed by itself, or plain |
//! | `split` | portable | M at least `knob.fake.rows`; workspace for `knob.fake.split` partial sums |
//! | `prepared` | reference | none; prepares, so a capture needs a plan |

use crate::code::{self, ANY};
use crate::context::Label;
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::host::{Body, Context, HostKernel, HostPlan, HostView, HostWeights, Job, Launch};
use overt_sdk::{CallView, DeviceView, Error, Result, TensorView, WeightsLayout, WorkspaceNeed};

/// Operand numbers behind `a`, `b` and the scales, which no kernel here handles.
const BIAS: usize = 3;
const OUT: usize = 4;

macro_rules! body {
    ($name:ident, $symbol:literal, $run:ident) => {
        static $name: Body = Body {
            symbol: $symbol,
            image: &ANY,
            run: $run,
        };
    };
}

body!(ODD, "fake_matmul_odd", plain);
body!(PACKED_PLAIN, "fake_matmul_packed_plain", plain);
body!(PACKED, "fake_matmul_packed", packed);
body!(PACK, "fake_matmul_pack", pack);
body!(SPLIT, "fake_matmul_split", split);
body!(PREPARED, "fake_matmul_prepared", plain);

overt_sdk::kernel! {
    id: "fake/matmul_bt/odd",
    op: &OP,
    tier: Tuned,
    priority: 30,
    doc: "asks a callback",
    handles: ["bias"],
    entries: [ODD.symbol],
    needs: [fact("a.dtype").is(F16)],
    guard: ("a rule that no clause can state", &["K", "knob.fake.odd_divisor"], odd_guard),
    knobs: ["fake.odd_divisor"],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &ODD)),
}

overt_sdk::kernel! {
    id: "fake/matmul_bt/packed",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "repacks its weight",
    handles: ["bias", "b.layout"],
    entries: [PACKED.symbol, PACKED_PLAIN.symbol],
    needs: [fact("a.dtype").is(F32), fact("b.dtype").is(F32), fact("K").multiple_of(8)],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    numeric_class: "fake.matmul",
    body: HostKernel::new(|launch: &mut Launch<'_>| {
        let body = if launch.call().operand(1)?.layout() == LAYOUT { &PACKED } else { &PACKED_PLAIN };
        launch_body(launch, body)
    })
    .weights(HostWeights { layout, pack: &PACK }),
}

overt_sdk::kernel! {
    id: "fake/matmul_bt/split",
    op: &OP,
    tier: Portable,
    doc: "partial sums in workspace",
    handles: ["bias"],
    entries: [SPLIT.symbol],
    needs: [fact("M").at_least(value_of("knob.fake.rows")).source("chosen by hand")],
    knobs: ["fake.split", "fake.rows"],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &SPLIT)).workspace(workspace),
}

overt_sdk::kernel! {
    id: "fake/matmul_bt/prepared",
    op: &OP,
    tier: Reference,
    doc: "prepares",
    handles: ["bias"],
    entries: [PREPARED.symbol],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &PREPARED)).prepare(prepare),
}

/// Key of the packed layout.
const LAYOUT: u64 = 0x0fa4e;

fn launch_body(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let rows = launch.call().operand(0)?.dim(0)?;
    code::launch(launch, body, &PREPARED, None, [rows as u32, 1, 1])
}

/// Counts how often it is asked for each K, in the record named `guard`.
fn odd_guard(_: &DeviceView<'_>, call: &CallView<'_>) -> Result<(), String> {
    let k = call
        .operand(0)
        .and_then(|a| a.dim(1))
        .map_err(|e| e.to_string())?;
    Label::find("guard").count(&format!("K={k}"));
    let divisor = call.knob_i64(0).map_err(|e| e.to_string())?;
    if k % divisor == 0 {
        return Err(format!("K is {k}, a multiple of {divisor}"));
    }
    Ok(())
}

fn prepare(context: Context<'_>, call: &CallView<'_>) -> Result<Option<HostPlan>> {
    context.get::<crate::context::Context>()?;
    let plan: HostPlan = Box::new(call.operand(0)?.dim(1)?);
    Ok(Some(plan))
}

fn workspace(call: &CallView<'_>) -> Result<WorkspaceNeed> {
    let (rows, columns) = (call.operand(0)?.dim(0)?, call.operand(1)?.dim(0)?);
    Ok(WorkspaceNeed {
        bytes: (rows * columns * call.knob_i64(0)? * 8) as u64,
        alignment: 64,
    })
}

fn layout(
    operand: u32,
    weight: &TensorView<'_>,
    _: &CallView<'_>,
) -> Result<Option<WeightsLayout>> {
    if operand != 1 {
        return Ok(None);
    }
    Ok(Some(WeightsLayout {
        key: LAYOUT,
        bytes: (weight.dim(0)? * weight.dim(1)? * 4) as u64,
        alignment: 64,
    }))
}

fn bias(view: &Option<HostView<'_>>, column: i64) -> f64 {
    view.as_ref()
        .map_or(0.0, |bias| bias.load(bias.at([column])))
}

fn plain(job: &Job<'_>) -> Result<()> {
    code::begin(job)?;
    if let Some(k) = job.plan::<i64>()
        && *k != job.view(0)?.shape()[1]
    {
        return Err(Error::internal("the plan was made for another problem"));
    }
    let (a, b, add, out) = (
        job.view(0)?,
        job.view(1)?,
        job.optional_view(BIAS)?,
        job.view(OUT)?,
    );
    for m in 0..out.shape()[0] {
        for n in 0..out.shape()[1] {
            let sum: f64 = (0..a.shape()[1])
                .map(|k| a.load(a.at([m, k])) * b.load(b.at([n, k])))
                .sum();
            out.store(out.at([m, n]), sum + bias(&add, n));
        }
    }
    Ok(())
}

/// `b` lies as [K, N], whatever its strides were.
fn packed(job: &Job<'_>) -> Result<()> {
    code::begin(job)?;
    let (a, b, add, out) = (
        job.view(0)?,
        job.view(1)?,
        job.optional_view(BIAS)?,
        job.view(OUT)?,
    );
    let columns = out.shape()[1];
    for m in 0..out.shape()[0] {
        for n in 0..columns {
            let sum: f64 = (0..a.shape()[1])
                .map(|k| a.load(a.at([m, k])) * b.load(k * columns + n))
                .sum();
            out.store(out.at([m, n]), sum + bias(&add, n));
        }
    }
    Ok(())
}

fn pack(job: &Job<'_>) -> Result<()> {
    let (source, target) = (job.view(0)?, job.view(1)?);
    let (columns, depth) = (source.shape()[0], source.shape()[1]);
    for k in 0..depth {
        for n in 0..columns {
            target.store(k * columns + n, source.load(source.at([n, k])));
        }
    }
    Ok(())
}

/// Every part of K is summed into its own stretch of the workspace, and the parts are added in order.
fn split(job: &Job<'_>) -> Result<()> {
    code::begin(job)?;
    let (a, b, add, out) = (
        job.view(0)?,
        job.view(1)?,
        job.optional_view(BIAS)?,
        job.view(OUT)?,
    );
    let (rows, columns, depth) = (out.shape()[0], out.shape()[1], a.shape()[1]);
    let parts = job.call().knob_i64(0)?;
    let room = job
        .call()
        .workspace()
        .ok_or_else(|| Error::invalid("no workspace was given"))?;
    let needed = (rows * columns * parts * 8) as u64;
    if room.allocation_bytes() < needed {
        return Err(Error::invalid(format!(
            "{} bytes of workspace; wanted {needed}",
            room.allocation_bytes()
        )));
    }
    let sums = room.address() as usize as *mut f64;
    for part in 0..parts {
        let range = part * depth / parts..(part + 1) * depth / parts;
        for m in 0..rows {
            for n in 0..columns {
                let sum: f64 = range
                    .clone()
                    .map(|k| a.load(a.at([m, k])) * b.load(b.at([n, k])))
                    .sum();
                // SAFETY: the workspace is 64-byte aligned host memory of `needed` bytes, for this stream alone.
                unsafe { *sums.add(((part * rows + m) * columns + n) as usize) = sum }
            }
        }
    }
    for m in 0..rows {
        for n in 0..columns {
            // SAFETY: as above; every sum was written.
            let sum: f64 = (0..parts)
                .map(|part| unsafe { *sums.add(((part * rows + m) * columns + n) as usize) })
                .sum();
            out.store(out.at([m, n]), sum + bias(&add, n));
        }
    }
    Ok(())
}

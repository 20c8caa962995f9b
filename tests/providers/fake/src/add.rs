//! Kernels of `add.1`.
//!
//! | kernel | tier | guard |
//! |---|---|---|
//! | `missing` | tuned | any `nb`; declared, not built |
//! | `sm90` | tuned | sm_90 or later, f32 |
//! | `aligned` | tuned | f32, contiguous, all operands at 16 bytes, `knob.fake.tuned` |
//! | `contiguous` | portable | contiguous |
//! | `narrow` | portable, lower | no operand reaches element 2^31 |
//! | `uncaptured` | portable, lowest | bf16 `out`; cannot be captured; works in place |
//! | `reference` | reference | none |

use crate::code::{self, ANY, STRAY};
use overt_kernels::ops::add::OP;
use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

macro_rules! body {
    ($name:ident, $symbol:literal) => {
        static $name: Body = Body {
            symbol: $symbol,
            image: &ANY,
            run,
        };
    };
}

body!(SM90, "fake_add_sm90");
body!(ALIGNED, "fake_add_aligned");
body!(CONTIGUOUS, "fake_add_contiguous");
body!(NARROW, "fake_add_narrow");
body!(UNCAPTURED, "fake_add_uncaptured");
body!(REFERENCE, "fake_add_reference");

static ALIGNED_STRAY: Body = Body {
    symbol: "fake_add_aligned",
    image: &STRAY,
    run,
};

fn each(clause: impl Fn(&'static str) -> Clause) -> Vec<Clause> {
    ["a", "b", "out"].into_iter().map(clause).collect()
}

overt_sdk::kernel! {
    id: "fake/add/missing",
    op: &OP,
    tier: Tuned,
    priority: 50,
    doc: "stands for a kernel whose compiler was not there",
    entries: ["fake_add_missing"],
    needs: [fact("device.arch").fits([ArchPattern::family("nb")])],
    not_built: "no compiler for nb was found",
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &SM90)),
}

overt_sdk::kernel! {
    id: "fake/add/sm90",
    op: &OP,
    tier: Tuned,
    priority: 30,
    doc: "for sm_90 and later",
    entries: [SM90.symbol],
    needs: [
        fact("device.arch").fits([ArchPattern::from(Arch::new("sm_90", "sm", 9, 0, 0))]),
        fact("a.dtype").is(F32),
    ],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    numeric_class: "fake.add",
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &SM90)),
}

overt_sdk::kernel! {
    id: "fake/add/aligned",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "16-byte loads",
    entries: [ALIGNED.symbol],
    needs: each(|operand| fact(format!("{operand}.align")).at_least(16).source("one load of four floats")),
    needs: each(|operand| fact(format!("{operand}.contiguous")).is(true)),
    needs: [fact("a.dtype").is(F32), fact("knob.fake.tuned").is(true)],
    knobs: ["fake.tuned"],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    numeric_class: "fake.add",
    body: HostKernel::new(|launch: &mut Launch<'_>| {
        let grid = rows(launch)?;
        code::launch(launch, &ALIGNED, &REFERENCE, Some(&ALIGNED_STRAY), grid)
    }),
}

overt_sdk::kernel! {
    id: "fake/add/contiguous",
    op: &OP,
    tier: Portable,
    priority: 20,
    doc: "rows without gaps",
    entries: [CONTIGUOUS.symbol],
    needs: each(|operand| fact(format!("{operand}.contiguous")).is(true)),
    flags: CAPTURE_SAFE | DETERMINISTIC,
    numeric_class: "fake.add",
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &CONTIGUOUS)),
}

overt_sdk::kernel! {
    id: "fake/add/narrow",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "32-bit offsets",
    entries: [NARROW.symbol],
    needs: each(|operand| {
        fact(format!("{operand}.max_offset")).below(1i64 << 31).source("offsets are computed in 32 bits")
    }),
    needs: [fact("out.dtype").is_not(BF16)],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    numeric_class: "fake.add",
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &NARROW)),
}

overt_sdk::kernel! {
    id: "fake/add/uncaptured",
    op: &OP,
    tier: Portable,
    priority: 0,
    doc: "cannot be captured",
    entries: [UNCAPTURED.symbol],
    needs: [fact("out.dtype").is(BF16)],
    flags: IN_PLACE | DETERMINISTIC,
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &UNCAPTURED)),
}

overt_sdk::kernel! {
    id: "fake/add/reference",
    op: &OP,
    tier: Reference,
    doc: "any strides and types",
    entries: [REFERENCE.symbol],
    flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
    numeric_class: "fake.add",
    body: HostKernel::new(|launch: &mut Launch<'_>| launch_body(launch, &REFERENCE)),
}

fn rows(launch: &Launch<'_>) -> Result<[u32; 3]> {
    Ok([launch.call().operand(0)?.dim(0)? as u32, 1, 1])
}

fn launch_body(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let grid = rows(launch)?;
    code::launch(launch, body, &REFERENCE, None, grid)
}

fn run(job: &Job<'_>) -> Result<()> {
    code::begin(job)?;
    let (a, b, out) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let (rows, width) = (out.shape()[0], out.shape()[1]);
    for t in 0..rows {
        for d in 0..width {
            let at = [t, d];
            out.store(out.at(at), a.load(a.at(at)) + b.load(b.at(at)));
        }
    }
    Ok(())
}

//! Kernels of `rms_norm.1` and `silu_and_mul.1`, which differ in the images that hold them.
//!
//! | kernel | tier | images |
//! |---|---|---|
//! | `fake/rms_norm/cdna` | tuned | gfx942 |
//! | `fake/rms_norm/hopper` | tuned | sm_90a, on 9.0 alone |
//! | `fake/rms_norm/ampere` | portable | sm_80, on 8.0 and later 8.x |
//! | `fake/rms_norm/unbuilt` | tuned, lower | gfx1100, which was not built |
//! | `fake/silu_and_mul/xnack` | tuned | gfx942 with xnack on |
//! | `fake/silu_and_mul/rdna` | portable | gfx1201 whatever its features |
//! | `fake/silu_and_mul/jit` | reference | code that the driver compiles, sm_70 or later |

use crate::code::{self, ANY};
use overt_kernels::ops::{rms_norm, silu_and_mul};
use overt_sdk::Result;
use overt_sdk::declare::{Image, ImageDecl};
use overt_sdk::host::{Body, HostKernel, HostView, Job, Launch};

macro_rules! image {
    ($name:ident, $id:literal, $digest:literal, $kind:ident, $pattern:expr $(, $why:literal)?) => {
        static $name: Image = Image {
            id: $id,
            digest: [$digest; 32],
        };
        overt_sdk::image!(
            ImageDecl::new($name.id, $name.digest, ImageKind::$kind, $pattern)$(.not_built($why))?
        );
    };
}

image!(
    GFX942,
    "norm.gfx942",
    2,
    Binary,
    ArchPattern::exact(Arch::new("gfx942", "gfx", 9, 4, 2))
);
image!(
    GFX1100,
    "norm.gfx1100",
    3,
    Binary,
    ArchPattern::exact(Arch::new("gfx1100", "gfx", 11, 0, 0)),
    "no compiler for gfx1100"
);
image!(
    GFX942_XNACK,
    "norm.gfx942.xnack",
    4,
    Binary,
    ArchPattern::exact(Arch::new("gfx942", "gfx", 9, 4, 2)).with("xnack")
);
image!(
    GFX1201,
    "norm.gfx1201",
    5,
    Binary,
    ArchPattern::exact(Arch::new("gfx1201", "gfx", 12, 0, 1))
);
image!(
    SM90A,
    "norm.sm_90a",
    6,
    Binary,
    ArchPattern::exact(Arch::new("sm_90a", "sm", 9, 0, 0))
);
image!(
    SM80,
    "norm.sm_80",
    7,
    Binary,
    ArchPattern::same_major(Arch::new("sm_80", "sm", 8, 0, 0))
);
image!(
    SM70,
    "norm.sm_70.source",
    8,
    Jit,
    ArchPattern::from(Arch::new("sm_70", "sm", 7, 0, 0))
);

macro_rules! kernel {
    ($id:literal, $op:expr, $tier:ident, $priority:literal, $image:ident, $symbol:literal, $body:ident, $run:ident) => {
        static $body: Body = Body {
            symbol: $symbol,
            image: &$image,
            run: $run,
        };
        overt_sdk::kernel! {
            id: $id,
            op: $op,
            tier: $tier,
            priority: $priority,
            doc: "one of many, told apart by its images",
            images: [$image.id],
            entries: [$symbol],
            flags: CAPTURE_SAFE | DETERMINISTIC,
            body: HostKernel::new(|launch: &mut Launch<'_>| code::launch(launch, &$body, &STRANGER, None, [1, 1, 1])),
        }
    };
}

static STRANGER: Body = Body {
    symbol: "fake_norm_stranger",
    image: &ANY,
    run: |_| Ok(()),
};

kernel!(
    "fake/rms_norm/cdna",
    &rms_norm::OP,
    Tuned,
    20,
    GFX942,
    "fake_rms_norm_cdna",
    CDNA,
    rms
);
kernel!(
    "fake/rms_norm/hopper",
    &rms_norm::OP,
    Tuned,
    10,
    SM90A,
    "fake_rms_norm_hopper",
    HOPPER,
    rms
);
kernel!(
    "fake/rms_norm/unbuilt",
    &rms_norm::OP,
    Tuned,
    5,
    GFX1100,
    "fake_rms_norm_unbuilt",
    UNBUILT,
    rms
);
kernel!(
    "fake/rms_norm/ampere",
    &rms_norm::OP,
    Portable,
    0,
    SM80,
    "fake_rms_norm_ampere",
    AMPERE,
    rms
);
kernel!(
    "fake/silu_and_mul/xnack",
    &silu_and_mul::OP,
    Tuned,
    0,
    GFX942_XNACK,
    "fake_silu_xnack",
    XNACK,
    silu
);
kernel!(
    "fake/silu_and_mul/rdna",
    &silu_and_mul::OP,
    Portable,
    0,
    GFX1201,
    "fake_silu_rdna",
    RDNA,
    silu
);
kernel!(
    "fake/silu_and_mul/jit",
    &silu_and_mul::OP,
    Reference,
    0,
    SM70,
    "fake_silu_jit",
    JIT,
    silu
);

fn rms(job: &Job<'_>) -> Result<()> {
    code::begin(job)?;
    let (x, weight, out) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let eps = job.call().attr_f64(0)?;
    let width = x.shape()[1];
    for t in 0..x.shape()[0] {
        let squares: f64 = (0..width).map(|d| x.load(x.at([t, d])).powi(2)).sum();
        let scale = 1.0 / (squares / width as f64 + eps).sqrt();
        for d in 0..width {
            out.store(
                out.at([t, d]),
                x.load(x.at([t, d])) * scale * weight.load(weight.at([d])),
            );
        }
    }
    Ok(())
}

fn silu(job: &Job<'_>) -> Result<()> {
    code::begin(job)?;
    let (x, out): (HostView<'_>, HostView<'_>) = (job.view(0)?, job.view(1)?);
    let width = out.shape()[1];
    for t in 0..out.shape()[0] {
        for d in 0..width {
            let (gate, up) = (x.load(x.at([t, d])), x.load(x.at([t, width + d])));
            out.store(out.at([t, d]), gate / (1.0 + (-gate).exp()) * up);
        }
    }
    Ok(())
}

//! The weighted sum, for AVX2.

use super::tuned;
use crate::images::{AVX2, NO_X86};
use overt_kernels::ops::moe_combine::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/moe_combine/avx2",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "sums in 8 lanes, four vectors side by side",
    handles: ["shared"],
    images: [AVX2.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx2").is(true).source("8-lane integer and float instructions"),
        fact("device.feature.fma").is(true).source("one rounding a multiply-add"),
        fact("device.feature.f16c").is(true).source("f16 is decoded in registers"),
    ],
    needs: tuned::needs(),
    numeric_class: "cpu.moe_combine.avx2",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_moe_combine_avx2",
    image: &AVX2,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    tuned::launch(launch, &BODY)
}

#[cfg(target_arch = "x86_64")]
fn run(job: &Job<'_>) -> Result<()> {
    tuned::run(job, crate::simd::Isa::Avx2)
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

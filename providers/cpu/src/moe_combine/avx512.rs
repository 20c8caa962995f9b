//! The weighted sum, for AVX-512.

use super::tuned;
use crate::images::{AVX512, NO_X86};
use overt_kernels::ops::moe_combine::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/moe_combine/avx512",
    op: &OP,
    tier: Tuned,
    priority: 30,
    doc: "sums in 16 lanes, four vectors side by side",
    handles: ["shared"],
    images: [AVX512.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx512f").is(true).source("16-lane float instructions"),
        fact("device.feature.avx512bw").is(true).source("bytes and 16-bit lanes"),
        fact("device.feature.avx512vl").is(true).source("masks on narrower vectors"),
        fact("device.feature.avx512dq").is(true).source("256-bit parts of a register"),
    ],
    needs: tuned::needs(),
    numeric_class: "cpu.moe_combine.avx512",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_moe_combine_avx512",
    image: &AVX512,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    tuned::launch(launch, &BODY)
}

#[cfg(target_arch = "x86_64")]
fn run(job: &Job<'_>) -> Result<()> {
    tuned::run(job, crate::simd::Isa::Avx512)
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

//! The probe in vectors, for AVX2.

use super::tuned;
use crate::images::{AVX2, NO_X86};
use overt_kernels::ops::arithmetic_probe::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/arithmetic_probe/avx2",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "eight chains of multiply-adds in registers",
    images: [AVX2.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx2").is(true).source("8-lane integer and float instructions"),
        fact("device.feature.fma").is(true).source("one instruction a multiply-add"),
        fact("device.feature.f16c").is(true).source("part of the image"),
    ],
    needs: tuned::needs([F32, I8], "these instructions have no bf16 products"),
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_arithmetic_probe_avx2",
    image: &AVX2,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    tuned::launch(launch, &BODY)
}

#[cfg(target_arch = "x86_64")]
fn run(job: &Job<'_>) -> Result<()> {
    tuned::run(job, tuned::Code::Plain(crate::simd::Isa::Avx2))
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

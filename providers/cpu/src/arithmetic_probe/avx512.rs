//! The probe in vectors, for AVX-512.

use super::tuned;
use crate::images::{AVX512, NO_X86};
use overt_kernels::ops::arithmetic_probe::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/arithmetic_probe/avx512",
    op: &OP,
    tier: Tuned,
    priority: 30,
    doc: "eight chains of multiply-adds in registers",
    images: [AVX512.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx512f").is(true).source("16-lane instructions"),
        fact("device.feature.avx512bw").is(true).source("16-lane instructions on bytes and words"),
        fact("device.feature.avx512vl").is(true).source("part of the image"),
        fact("device.feature.avx512dq").is(true).source("part of the image"),
    ],
    needs: tuned::needs([F32, I8], "these instructions have no bf16 products"),
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_arithmetic_probe_avx512",
    image: &AVX512,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    tuned::launch(launch, &BODY)
}

#[cfg(target_arch = "x86_64")]
fn run(job: &Job<'_>) -> Result<()> {
    tuned::run(job, tuned::Code::Plain(crate::simd::Isa::Avx512))
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

//! The probe in vectors, for AVX-512 VNNI.

use super::tuned;
use crate::images::{AVX512_VNNI, NO_X86};
use overt_kernels::ops::arithmetic_probe::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/arithmetic_probe/avx512_vnni",
    op: &OP,
    tier: Tuned,
    priority: 40,
    doc: "eight chains of four products of bytes an instruction",
    images: [AVX512_VNNI.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx512f").is(true).source("16-lane instructions"),
        fact("device.feature.avx512bw").is(true).source("16-lane instructions on bytes and words"),
        fact("device.feature.avx512vl").is(true).source("part of the image"),
        fact("device.feature.avx512dq").is(true).source("part of the image"),
        fact("device.feature.avx512vnni").is(true).source("four products of bytes at a time"),
    ],
    needs: tuned::needs([I8], "what the instruction multiplies"),
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_arithmetic_probe_avx512_vnni",
    image: &AVX512_VNNI,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    tuned::launch(launch, &BODY)
}

#[cfg(target_arch = "x86_64")]
fn run(job: &Job<'_>) -> Result<()> {
    tuned::run(job, tuned::Code::Vnni)
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

//! The product in register tiles, for AVX-512: for more rows, which the multiply-adds bound.

use super::{many, tuned};
use crate::images::{AVX512, NO_X86};
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/matmul_bt/avx512_many",
    op: &OP,
    tier: Tuned,
    priority: 35,
    doc: "register tiles of 14 by 32 f32 sums over operands laid out in blocks",
    handles: ["bias"],
    images: [AVX512.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx512f").is(true).source("16-lane float instructions"),
        fact("device.feature.avx512bw").is(true).source("16-bit lanes under a mask"),
        fact("device.feature.avx512vl").is(true).source("masks on narrower vectors"),
        fact("device.feature.avx512dq").is(true).source("256-bit parts of a register"),
    ],
    needs: tuned::needs(),
    needs: many::needs(),
    numeric_class: "cpu.matmul_bt.across",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_matmul_bt_avx512_many",
    image: &AVX512,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    tuned::launch(launch, &BODY)
}

#[cfg(target_arch = "x86_64")]
fn run(job: &Job<'_>) -> Result<()> {
    use crate::simd::{Isa, matmul::Code};
    tuned::run(job, Code::Across(Isa::Avx512))
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

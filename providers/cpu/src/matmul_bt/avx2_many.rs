//! The product in register tiles, for AVX2: for more rows, which the multiply-adds bound.

use super::{many, tuned};
use crate::images::{AVX2, NO_X86};
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/matmul_bt/avx2_many",
    op: &OP,
    tier: Tuned,
    priority: 25,
    doc: "register tiles of 6 by 16 f32 sums over operands laid out in blocks",
    handles: ["bias"],
    images: [AVX2.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx2").is(true).source("8-lane integer and float instructions"),
        fact("device.feature.fma").is(true).source("one rounding a multiply-add"),
        fact("device.feature.f16c").is(true).source("f16 is decoded in registers"),
    ],
    needs: tuned::needs(),
    needs: many::needs(),
    numeric_class: "cpu.matmul_bt.across",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_matmul_bt_avx2_many",
    image: &AVX2,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    tuned::launch(launch, &BODY)
}

#[cfg(target_arch = "x86_64")]
fn run(job: &Job<'_>) -> Result<()> {
    use crate::simd::{Isa, matmul::Code};
    tuned::run(job, Code::Across(Isa::Avx2))
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

//! The products of dense experts, for AVX2.

use super::dense;
use crate::images::{AVX2, NO_X86};
use overt_kernels::ops::moe_grouped_gemm::OP;
use overt_sdk::host::{Body, HostKernel, Job, Launch};
use overt_sdk::{CallView, Result, WorkspaceNeed};

overt_sdk::kernel! {
    id: "cpu/moe_grouped_gemm/avx2",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "the product's bodies for each expert's rows, f32 sums in 8 lanes",
    handles: ["bias", "scale_rows", "scale_depth"],
    images: [AVX2.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx2").is(true).source("8-lane integer and float instructions"),
        fact("device.feature.fma").is(true).source("one rounding a multiply-add"),
        fact("device.feature.f16c").is(true).source("f16 is decoded in registers"),
    ],
    needs: dense::needs(),
    numeric_class: "cpu.moe_grouped_gemm.avx2",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch).workspace(workspace),
}

static BODY: Body = Body {
    symbol: "cpu_moe_grouped_gemm_avx2",
    image: &AVX2,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    dense::launch(launch, &BODY)
}

#[cfg(target_arch = "x86_64")]
fn workspace(call: &CallView<'_>) -> Result<WorkspaceNeed> {
    dense::workspace(call)
}

#[cfg(not(target_arch = "x86_64"))]
fn workspace(_: &CallView<'_>) -> Result<WorkspaceNeed> {
    Ok(WorkspaceNeed::default())
}

#[cfg(target_arch = "x86_64")]
fn run(job: &Job<'_>) -> Result<()> {
    use crate::simd::{Isa, matmul::Code};
    dense::run(job, Code::Along(Isa::Avx2))
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

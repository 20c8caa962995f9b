//! The products of dense experts in register tiles, for AVX-512.

use super::dense;
use crate::images::{AVX512, NO_X86};
use overt_kernels::ops::moe_grouped_gemm::OP;
use overt_sdk::host::{Body, HostKernel, Job, Launch};
use overt_sdk::{CallView, Result, WorkspaceNeed};

overt_sdk::kernel! {
    id: "cpu/moe_grouped_gemm/avx512_many",
    op: &OP,
    tier: Tuned,
    priority: 35,
    doc: "the product's register tiles for each expert's rows",
    handles: ["bias", "scale_rows", "scale_depth"],
    images: [AVX512.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx512f").is(true).source("16-lane float instructions"),
        fact("device.feature.avx512bw").is(true).source("bytes and 16-bit lanes"),
        fact("device.feature.avx512vl").is(true).source("masks on narrower vectors"),
        fact("device.feature.avx512dq").is(true).source("256-bit parts of a register"),
    ],
    needs: dense::needs(),
    needs: dense::needs_many(),
    numeric_class: "cpu.moe_grouped_gemm.across",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch).workspace(workspace),
}

static BODY: Body = Body {
    symbol: "cpu_moe_grouped_gemm_avx512_many",
    image: &AVX512,
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
    dense::run(job, Code::Across(Isa::Avx512))
}

#[cfg(not(target_arch = "x86_64"))]
fn run(_: &Job<'_>) -> Result<()> {
    Err(overt_sdk::Error::unsupported(NO_X86))
}

//! The products of experts in fp8, for AVX2.

use super::dense::launch as enqueue;
use super::quant::{self, FP8};
use crate::images::{AVX2, NO_X86};
use overt_kernels::ops::moe_grouped_gemm::OP;
use overt_sdk::host::{Body, HostKernel, Job, Launch};
use overt_sdk::{CallView, Result, WorkspaceNeed};

overt_sdk::kernel! {
    id: "cpu/moe_grouped_gemm/fp8_avx2",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "weights decoded to f32 and scaled, in 8 lanes across columns",
    handles: ["bias", "b_scale", "scale_rows", "scale_depth"],
    images: [AVX2.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx2").is(true).source("8-lane integer and float instructions"),
        fact("device.feature.fma").is(true).source("one rounding a multiply-add"),
        fact("device.feature.f16c").is(true).source("f16 is decoded in registers"),
    ],
    needs: quant::needs(&FP8),
    numeric_class: "cpu.moe_grouped_gemm.fp8_avx2",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch).workspace(workspace),
}

static BODY: Body = Body {
    symbol: "cpu_moe_grouped_gemm_fp8_avx2",
    image: &AVX2,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    enqueue(launch, &BODY)
}

quant::entries!(Avx2);

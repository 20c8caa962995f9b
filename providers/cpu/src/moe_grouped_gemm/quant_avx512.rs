//! The products of experts in block formats, for AVX-512.
//!
//! Scales of the weight as an operand are not for block formats; without them their extents mean nothing, and any is honoured.

use super::dense::launch as enqueue;
use super::quant::{self, BLOCKS};
use crate::images::{AVX512, NO_X86};
use overt_kernels::ops::moe_grouped_gemm::OP;
use overt_sdk::host::{Body, HostKernel, Job, Launch};
use overt_sdk::{CallView, Result, WorkspaceNeed};

overt_sdk::kernel! {
    id: "cpu/moe_grouped_gemm/quant_avx512",
    op: &OP,
    tier: Tuned,
    priority: 30,
    doc: "weights decoded to f32 or multiplied as bytes in 16 lanes across columns",
    handles: ["bias", "scale_rows", "scale_depth", "int8_activations"],
    images: [AVX512.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx512f").is(true).source("16-lane float instructions"),
        fact("device.feature.avx512bw").is(true).source("bytes and 16-bit lanes"),
        fact("device.feature.avx512vl").is(true).source("masks on narrower vectors"),
        fact("device.feature.avx512dq").is(true).source("256-bit parts of a register"),
    ],
    needs: quant::needs(&BLOCKS),
    numeric_class: "cpu.moe_grouped_gemm.quant_avx512",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch).workspace(workspace),
}

static BODY: Body = Body {
    symbol: "cpu_moe_grouped_gemm_quant_avx512",
    image: &AVX512,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    enqueue(launch, &BODY)
}

quant::entries!(Avx512);

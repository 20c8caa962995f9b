//! The products of experts in block formats with activations rounded to 8 bits, for AVX-512 VNNI.
//!
//! Scales of the weight as an operand are not for block formats; without them their extents mean nothing, and any is honoured.

use super::dense::launch as enqueue;
use super::quant::{self, BLOCKS};
use crate::images::{AVX512_VNNI, NO_X86};
use overt_kernels::ops::moe_grouped_gemm::OP;
use overt_sdk::host::{Body, HostKernel, Job, Launch};
use overt_sdk::{CallView, Result, WorkspaceNeed};

overt_sdk::kernel! {
    id: "cpu/moe_grouped_gemm/quant_vnni",
    op: &OP,
    tier: Tuned,
    priority: 34,
    doc: "four products of bytes an instruction in 16 lanes across columns",
    handles: ["bias", "scale_rows", "scale_depth", "int8_activations"],
    images: [AVX512_VNNI.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx512f").is(true).source("16-lane float instructions"),
        fact("device.feature.avx512bw").is(true).source("bytes and 16-bit lanes"),
        fact("device.feature.avx512vl").is(true).source("masks on narrower vectors"),
        fact("device.feature.avx512dq").is(true).source("256-bit parts of a register"),
        fact("device.feature.avx512vnni").is(true).source("four products of bytes at a time"),
        fact("attr.int8_activations").is(true).source("products of integers"),
    ],
    needs: quant::needs(&BLOCKS),
    numeric_class: "cpu.moe_grouped_gemm.quant_vnni",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch).workspace(workspace),
}

static BODY: Body = Body {
    symbol: "cpu_moe_grouped_gemm_quant_vnni",
    image: &AVX512_VNNI,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    enqueue(launch, &BODY)
}

quant::entries!(Vnni);

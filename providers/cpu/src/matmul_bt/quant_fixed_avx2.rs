//! The product of few rows with block formats in AVX2, activations as they are, by integers.
//!
//! Scales of the weight as an operand are not for block formats; without them their extents mean nothing, and any is honoured.

use super::fixed;
use super::quant::{self, BLOCKS};
use crate::images::{AVX2, NO_X86};
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::host::{Body, HostKernel, HostWeights, Job, Launch};
use overt_sdk::{CallView, Result, TensorView, WeightsLayout, WorkspaceNeed};

overt_sdk::kernel! {
    id: "cpu/matmul_bt/quant_fixed_avx2",
    op: &OP,
    tier: Tuned,
    priority: 23,
    doc: "activations as three bytes each, integer products in 8 lanes across columns",
    handles: ["bias", "scale_rows", "scale_depth"],
    images: [AVX2.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx2").is(true).source("8-lane integer and float instructions"),
        fact("device.feature.fma").is(true).source("one rounding a multiply-add"),
        fact("device.feature.f16c").is(true).source("f16 is decoded in registers"),
    ],
    needs: quant::needs(&BLOCKS, 8),
    needs: fixed::needs(),
    numeric_class: "cpu.matmul_bt.quant_fixed_avx2",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch).workspace(workspace).weights(HostWeights { layout, pack: &PACK }),
}

static BODY: Body = Body {
    symbol: "cpu_matmul_bt_quant_fixed_avx2",
    image: &AVX2,
    run,
};

static PACK: Body = Body {
    symbol: "cpu_matmul_bt_quant_fixed_avx2_pack",
    image: &AVX2,
    run: pack,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    quant::launch(launch, &BODY)
}

quant::entries!(Avx2, fixed);

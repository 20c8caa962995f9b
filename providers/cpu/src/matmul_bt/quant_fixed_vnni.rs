//! The product of few rows with block formats in AVX-512 VNNI, activations as they are, by integers.
//!
//! Scales of the weight as an operand are not for block formats; without them their extents mean nothing, and any is honoured.

use super::fixed;
use super::quant::{self, BLOCKS};
use crate::images::{AVX512_VNNI, NO_X86};
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::host::{Body, HostKernel, HostWeights, Job, Launch};
use overt_sdk::{CallView, Result, TensorView, WeightsLayout, WorkspaceNeed};

overt_sdk::kernel! {
    id: "cpu/matmul_bt/quant_fixed_vnni",
    op: &OP,
    tier: Tuned,
    priority: 34,
    doc: "activations as three bytes each, four products an instruction in 16 lanes across columns",
    handles: ["bias", "scale_rows", "scale_depth"],
    images: [AVX512_VNNI.id],
    entries: [BODY.symbol],
    needs: [
        fact("device.feature.avx512f").is(true).source("16-lane float instructions"),
        fact("device.feature.avx512bw").is(true).source("bytes and 16-bit lanes"),
        fact("device.feature.avx512vl").is(true).source("masks on narrower vectors"),
        fact("device.feature.avx512dq").is(true).source("256-bit parts of a register"),
        fact("device.feature.avx512vnni").is(true).source("four products of bytes at a time"),
    ],
    needs: quant::needs(&BLOCKS, 16),
    needs: fixed::needs(),
    numeric_class: "cpu.matmul_bt.quant_fixed_vnni",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    not_built: NO_X86,
    body: HostKernel::new(launch).workspace(workspace).weights(HostWeights { layout, pack: &PACK }),
}

static BODY: Body = Body {
    symbol: "cpu_matmul_bt_quant_fixed_vnni",
    image: &AVX512_VNNI,
    run,
};

static PACK: Body = Body {
    symbol: "cpu_matmul_bt_quant_fixed_vnni_pack",
    image: &AVX512_VNNI,
    run: pack,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    quant::launch(launch, &BODY)
}

quant::entries!(Vnni, fixed);

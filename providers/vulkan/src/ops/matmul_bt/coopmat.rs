//! The product by matrix instructions, for many rows of f16 or bf16 on both sides.

use crate::kernel::{Dispatch, Problem, Shader, VulkanKernel, dtype_code, offsets};
use crate::shaders::{
    MATMUL_BT_COOPMAT_BF16, MATMUL_BT_COOPMAT_BF16_WIDE, MATMUL_BT_COOPMAT_F16,
    MATMUL_BT_COOPMAT_F16_WIDE,
};
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;

overt_sdk::knob! {
    id: "vulkan.matmul_bt.coopmat_rows",
    default: 24,
    doc: "rows of the activations from which products are left to matrix instructions, a tile of which has 128",
    range: 1..=1_000_000,
}

overt_sdk::knob! {
    id: "vulkan.matmul_bt.coopmat_strip",
    default: 16,
    doc: "rows of tiles that are gone through together, so that the tiles of weights they share stay in the cache",
    range: 1..=1024,
}

overt_sdk::knob! {
    id: "vulkan.matmul_bt.coopmat_wide",
    default: 256,
    doc: "tiles of 128 by 256 from which products are made in those rather than in 128 by 128, which are more and keep more of the device busy",
    range: 1..=1_000_000_000,
}

overt_sdk::kernel! {
    id: "vulkan/matmul_bt/coopmat_f16",
    op: &OP,
    tier: Tuned,
    priority: 40,
    doc: "f16 by f16: tiles of 128 by 128 or 256 sums in f32, by cooperative matrices of 16 by 16 by 16",
    handles: ["bias", "scale_rows", "scale_depth"],
    images: [MATMUL_BT_COOPMAT_F16.image.id, MATMUL_BT_COOPMAT_F16_WIDE.image.id],
    entries: [MATMUL_BT_COOPMAT_F16.symbol, MATMUL_BT_COOPMAT_F16_WIDE.symbol],
    needs: [
        fact("device.feature.coopmat").is(true).source("matrix instructions"),
        fact("device.coopmat.f16_f16_f32_f32.16x16x16").is(true).source("the shape of a matrix"),
        fact("a.dtype").is(F16).source("what the instruction multiplies"),
        fact("b.dtype").is(F16).source("what the instruction multiplies"),
    ],
    needs: needs(),
    knobs: ["vulkan.matmul_bt.coopmat_strip", "vulkan.matmul_bt.coopmat_wide"],
    numeric_class: "vulkan.matmul_bt.coopmat_f16",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &F16_BODY,
}

overt_sdk::kernel! {
    id: "vulkan/matmul_bt/coopmat_bf16",
    op: &OP,
    tier: Tuned,
    priority: 40,
    doc: "bf16 by bf16: tiles of 128 by 128 or 256 sums in f32, by cooperative matrices of 16 by 16 by 16",
    handles: ["bias", "scale_rows", "scale_depth"],
    images: [MATMUL_BT_COOPMAT_BF16.image.id, MATMUL_BT_COOPMAT_BF16_WIDE.image.id],
    entries: [MATMUL_BT_COOPMAT_BF16.symbol, MATMUL_BT_COOPMAT_BF16_WIDE.symbol],
    needs: [
        fact("device.feature.bf16_coopmat").is(true).source("matrix instructions for bf16"),
        fact("device.coopmat.bf16_bf16_f32_f32.16x16x16").is(true).source("the shape of a matrix"),
        fact("a.dtype").is(BF16).source("what the instruction multiplies"),
        fact("b.dtype").is(BF16).source("what the instruction multiplies"),
    ],
    needs: needs(),
    knobs: ["vulkan.matmul_bt.coopmat_strip", "vulkan.matmul_bt.coopmat_wide"],
    numeric_class: "vulkan.matmul_bt.coopmat_bf16",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BF16_BODY,
}

static F16_BODY: VulkanKernel = VulkanKernel::new(
    |problem| {
        plan(
            problem,
            [&MATMUL_BT_COOPMAT_F16, &MATMUL_BT_COOPMAT_F16_WIDE],
        )
    },
    &[&MATMUL_BT_COOPMAT_F16, &MATMUL_BT_COOPMAT_F16_WIDE],
);
static BF16_BODY: VulkanKernel = VulkanKernel::new(
    |problem| {
        plan(
            problem,
            [&MATMUL_BT_COOPMAT_BF16, &MATMUL_BT_COOPMAT_BF16_WIDE],
        )
    },
    &[&MATMUL_BT_COOPMAT_BF16, &MATMUL_BT_COOPMAT_BF16_WIDE],
);

/// Rows of a tile.
const TILE: i64 = 128;
/// Its columns, in the narrow and in the wide form.
const COLUMNS: [i64; 2] = [128, 256];
/// Invocations of a block: eight subgroups of 32.
const BLOCK: u32 = 256;
/// Tiles of both operands, twice or once, whose rows have five pieces of 16 bytes, and 256 sums of each subgroup.
const SHARED_BYTES: [u32; 2] = [
    2 * (128 + 128) * 5 * 16 + 8 * 256 * 4,
    (128 + 256) * 5 * 16 + 8 * 256 * 4,
];

fn needs() -> Vec<Clause> {
    let mut out = vec![
        fact("device.subgroup.size")
            .is(32)
            .source("eight subgroups make a block of 256"),
        fact("device.limit.shared_bytes")
            .at_least(i64::from(SHARED_BYTES[0]))
            .source("two tiles of each operand"),
        fact("M")
            .at_least(value_of("knob.vulkan.matmul_bt.coopmat_rows"))
            .source("a tile has 128 rows, whether or not they are there"),
        fact("K")
            .multiple_of(8)
            .source("memory is read in pieces of eight elements"),
        fact("out.align").at_least(4).source("shaders write words"),
        fact("bias.align").at_least(4).source("shaders read words"),
    ];
    for name in ["a", "b"] {
        out.push(
            fact(format!("{name}.align"))
                .at_least(16)
                .source("memory is read in pieces of 16 bytes"),
        );
        out.push(
            fact(format!("{name}.row_align"))
                .at_least(8)
                .source("each row begins on such a piece"),
        );
    }
    for name in ["a", "b", "out"] {
        out.push(
            fact(format!("{name}.max_offset"))
                .below(1_i64 << 31)
                .source("shaders count elements in 32 bits"),
        );
        out.push(
            fact(format!("{name}.inner_contiguous"))
                .is(true)
                .source("shaders step along a row by one"),
        );
    }
    out
}

fn plan(problem: &Problem<'_>, shaders: [&'static Shader; 2]) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (a, b, out) = (call.operand(0)?, call.operand(1)?, call.operand(4)?);
    let bias = call.optional(3)?;
    let (m, k, n) = (a.dim(0)?, a.dim(1)?, b.dim(0)?);
    if m * n == 0 {
        return Ok(Vec::new());
    }
    let (strip, wide) = (call.knob_i64(0)?.max(1), call.knob_i64(1)?);
    let tiles = |columns: i64| [(m + TILE - 1) / TILE, (n + columns - 1) / columns];
    let form = usize::from(tiles(COLUMNS[1]).iter().product::<i64>() >= wide);
    let [down, across] = tiles(COLUMNS[form]);
    let together = strip.min(down);
    // The last strip may be lower; its blocks are numbered as if it were not, and those beyond it end at once.
    let strips = (down + together - 1) / together;
    let dispatch = Dispatch::new(shaders[form], BLOCK)
        .constants(&[
            dtype_code(out.dtype())?,
            bias.map_or(Ok(0), |bias| dtype_code(bias.dtype()))?,
            u32::from(bias.is_some()),
        ])
        .shared(SHARED_BYTES[form])
        .operand(0)
        .operand(1)
        .operand(3)
        .operand(4)
        .u32(m as u32)
        .u32(n as u32)
        .u32(k as u32)
        .u32(offsets(&a)?[0] / 8)
        .u32(offsets(&b)?[0] / 8)
        .u32(offsets(&out)?[0])
        .u32(across as u32)
        .u32(together as u32)
        .blocks(strips * together * across, problem.limits.groups)?;
    Ok(vec![dispatch])
}

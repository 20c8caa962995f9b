//! One kernel for each op of a language model.

use crate::compute::compute;
use overt_kernels::ops;
use overt_sdk::declare::Image;
use overt_sdk::host::{Body, HostKernel, Launch};

/// Host code that belongs to no architecture.
static ANY: Image = Image {
    id: "oracle.any",
    digest: [7; 32],
};

/// The kernel of an op: its module, its id, and the attributes and operands that may be other than their default, which an oracle takes all.
macro_rules! kernel {
    ($op:ident, $id:literal, [$($handles:literal),*]) => {
        mod $op {
            use super::*;

            const HANDLES: &[&str] = &[$($handles),*];

            static BODY: Body = Body {
                symbol: concat!("oracle_", stringify!($op)),
                image: &ANY,
                run: |job| compute(job, &ops::$op::OP),
            };

            overt_sdk::kernel! {
                id: $id,
                op: &ops::$op::OP,
                tier: Reference,
                doc: "the oracle",
                handles: HANDLES.iter().copied(),
                entries: [BODY.symbol],
                flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
                body: HostKernel::new(|launch: &mut Launch<'_>| launch.run(&BODY, [1, 1, 1])),
            }
        }
    };
}

kernel!(add_rms_norm, "oracle/add_rms_norm/f64", ["weight_offset"]);
kernel!(embedding, "oracle/embedding/f64", ["scale"]);
kernel!(greedy_argmax, "oracle/greedy_argmax/f64", []);
kernel!(
    matmul_bt,
    "oracle/matmul_bt/f64",
    ["bias", "int8_activations"]
);
kernel!(
    paged_attention,
    "oracle/paged_attention/f64",
    ["causal", "window", "softcap", "sinks", "k_scale", "v_scale"]
);
kernel!(
    reshape_and_cache,
    "oracle/reshape_and_cache/f64",
    ["k_scale", "v_scale"]
);
kernel!(rms_norm, "oracle/rms_norm/f64", ["weight_offset"]);
kernel!(rope, "oracle/rope/f64", ["interleaved", "amplitude"]);
kernel!(sample, "oracle/sample/f64", []);
kernel!(silu_and_mul, "oracle/silu_and_mul/f64", []);

//! Ops of the provider's own: one with an oracle, one without.

use crate::code::{self, ANY};
use overt_sdk::CallView;
use overt_sdk::declare::OwnOp;
use overt_sdk::host::{Body, HostKernel, Launch};

/// `out = x · by`.
pub static SCALE: OwnOp = OwnOp {
    name: "fake:scale.1",
    schema: "fake:scale.1(x: f32[N]) -> out: f32[N]; by: f64",
    oracle: OwnOp::oracle(|call: &CallView<'_>| {
        let (x, out, by) = (call.operand(0)?, call.operand(1)?, call.attr_f64(0)?);
        let (from, to) = (x.as_ptr::<f64>()?, out.as_mut_ptr::<f64>()?);
        for i in 0..x.elements() as usize {
            // SAFETY: an oracle's operands are contiguous `f64` in host memory, as many as the shape says.
            unsafe { *to.add(i) = *from.add(i) * by }
        }
        Ok(())
    }),
};

/// `x` becomes its own double; nobody can say whether that is right.
pub static OPAQUE: OwnOp = OwnOp {
    name: "fake:opaque.1",
    schema: "fake:opaque.1(inout x: f32[N])",
    oracle: None,
};

static SCALE_BODY: Body = Body {
    symbol: "fake_scale",
    image: &ANY,
    run: |job| {
        code::begin(job)?;
        let (x, out, by) = (job.view(0)?, job.view(1)?, job.call().attr_f64(0)?);
        for i in 0..x.shape()[0] {
            out.store(out.at([i]), x.load(x.at([i])) * by);
        }
        Ok(())
    },
};

static OPAQUE_BODY: Body = Body {
    symbol: "fake_opaque",
    image: &ANY,
    run: |job| {
        code::begin(job)?;
        let x = job.view(0)?;
        for i in 0..x.shape()[0] {
            x.store(x.at([i]), x.load(x.at([i])) * 2.0);
        }
        Ok(())
    },
};

overt_sdk::kernel! {
    id: "fake/scale/plain",
    op: &SCALE,
    tier: Reference,
    doc: "any strides",
    entries: [SCALE_BODY.symbol],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(|launch: &mut Launch<'_>| code::launch(launch, &SCALE_BODY, &SCALE_BODY, None, [1, 1, 1])),
}

overt_sdk::kernel! {
    id: "fake/opaque/plain",
    op: &OPAQUE,
    tier: Reference,
    doc: "any strides",
    entries: [OPAQUE_BODY.symbol],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(|launch: &mut Launch<'_>| code::launch(launch, &OPAQUE_BODY, &OPAQUE_BODY, None, [1, 1, 1])),
}

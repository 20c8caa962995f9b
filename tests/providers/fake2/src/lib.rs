//! A second provider of made-up devices, with the same internals as the first: two providers of one process may not disturb each
//! other. It was also built, it says, for another schema of `rms_norm.1`.

#[path = "../../fake/src/arch.rs"]
mod arch;
#[path = "../../fake/src/context.rs"]
mod context;
#[path = "../../fake/src/device.rs"]
mod device;
#[path = "../../fake/src/observer.rs"]
mod observer;
#[path = "../../fake/src/provider.rs"]
mod provider;

use overt_sdk::Result;
use overt_sdk::declare::{Image, OpRef};
use overt_sdk::host::{Body, HostKernel, Job, Launch};

/// The provider's name.
pub const NAME: &str = "fake2";

overt_sdk::knob! {
    id: "fake2.devices",
    default: "sm_86",
    doc: "architectures of the devices, with commas",
    at_create: true,
}

overt_sdk::knob! {
    id: "fake2.label",
    default: "",
    doc: "names the record that this instance counts into",
    at_create: true,
}

overt_sdk::knob! {
    id: "fake2.misbehave",
    default: "",
    doc: "what goes wrong, with commas",
    at_create: true,
}

overt_sdk::knob! {
    id: "fake2.create_ms",
    default: 0,
    doc: "how long starting takes",
    range: 0..=60_000,
    at_create: true,
}

static ANY: Image = Image {
    id: "fake2.any",
    digest: [1; 32],
};

static ADD: Body = Body {
    // The same symbol as a kernel of the first provider, for another kernel.
    symbol: "fake_add_reference",
    image: &ANY,
    run: add,
};

overt_sdk::kernel! {
    id: "fake2/add/first",
    op: &overt_kernels::ops::add::OP,
    tier: Portable,
    priority: 100,
    doc: "contiguous rows",
    entries: [ADD.symbol],
    needs: [fact("a.contiguous").is(true), fact("b.contiguous").is(true), fact("out.contiguous").is(true)],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(|launch: &mut Launch<'_>| launch.run(&ADD, [1, 1, 1])),
}

overt_sdk::kernel! {
    id: "fake2/rms_norm/stale",
    op: OpRef::Named { name: "rms_norm.1", digest: 0x0123_4567_89ab_cdef },
    tier: Reference,
    doc: "was built for another schema",
    entries: [ADD.symbol],
    body: HostKernel::new(|launch: &mut Launch<'_>| launch.run(&ADD, [1, 1, 1])),
}

fn add(job: &Job<'_>) -> Result<()> {
    job.context::<context::Context>()?.entry("body");
    let (a, b, out) = (job.view(0)?, job.view(1)?, job.view(2)?);
    for t in 0..out.shape()[0] {
        for d in 0..out.shape()[1] {
            let at = [t, d];
            out.store(out.at(at), a.load(a.at(at)) + b.load(b.at(at)));
        }
    }
    Ok(())
}

overt_sdk::export_provider!(provider::Fake);

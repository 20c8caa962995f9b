//! A provider of made-up devices: architectures, misbehaviours and limits are what its knobs say, and its kernels compute on host
//! memory. Tests use it for everything that depends on *which* device or kernel there is.
//!
//! Which kernel of which op has which guard is told where the kernel is declared; each op's file begins with a table.

mod add;
mod arch;
mod attention;
mod code;
mod context;
mod device;
mod matmul;
mod norm;
mod observer;
mod provider;
mod scale;

/// The provider's name.
pub const NAME: &str = "fake";

overt_sdk::knob! {
    id: "fake.devices",
    default: "sm_86",
    doc: "architectures of the devices, with commas: sm_86, gfx1201:xnack-",
    at_create: true,
}

overt_sdk::knob! {
    id: "fake.label",
    default: "",
    doc: "names the record that this instance counts into, so that tests of one process do not see each other",
    at_create: true,
}

overt_sdk::knob! {
    id: "fake.misbehave",
    default: "",
    doc: "what goes wrong, with commas; see context.rs",
    at_create: true,
}

overt_sdk::knob! {
    id: "fake.create_ms",
    default: 0,
    doc: "how long starting takes",
    range: 0..=60_000,
    at_create: true,
}

overt_sdk::knob! {
    id: "fake.tuned",
    default: true,
    doc: "whether fake/add/aligned may be chosen",
}

overt_sdk::knob! {
    id: "fake.odd_divisor",
    default: 3,
    doc: "multiples of it are what fake/matmul_bt/odd refuses by its callback",
    range: 1..=4096,
}

overt_sdk::knob! {
    id: "fake.rows",
    default: 64,
    doc: "rows from which fake/matmul_bt/split is chosen",
    range: 1..=4096,
    defaults: [(
        ArchPattern::from(Arch::new("sm_90", "sm", 9, 0, 0)),
        Value::I64(16),
        "chosen by hand for the tests",
    )],
}

overt_sdk::knob! {
    id: "fake.split",
    default: 2,
    doc: "parts of K that fake/matmul_bt/split sums apart",
    range: 1..=8,
}

overt_sdk::export_provider!(provider::Fake);

//! What the device is.

mod features;
mod identity;
mod share;
mod system;

pub use features::Features;
pub use share::Share;

use crate::images::FAMILY;
use overt_sdk::{Arch, DeviceDesc, DeviceKind, FeatureState};

/// The description of one device's share of the CPU, with these features. But for its id and its threads all shares are alike.
pub fn describe(features: &Features, share: &Share) -> DeviceDesc {
    let level = features.level();
    let name = match level {
        0 | 1 => FAMILY.to_owned(),
        n => format!("{FAMILY}-v{n}"),
    };
    let mut arch = Arch::new(name, FAMILY, level, 0, 0);
    let identity = identity::read();
    let id = share.id(identity.id);
    let mut desc = DeviceDesc::new(id, identity.name, Arch::new("", "", 0, 0, 0));
    for (name, on) in features.all() {
        let state = if on {
            FeatureState::On
        } else {
            FeatureState::Off
        };
        arch = arch.feature(name, state);
        desc.facts
            .push((format!("feature.{name}").into(), on.into()));
    }
    desc.arch = arch;
    desc.kind = DeviceKind::Hardware;
    desc.host_addressable = true;
    desc.driver = concat!("overt cpu ", env!("CARGO_PKG_VERSION")).into();
    desc.memory_bytes = system::memory_bytes().unwrap_or(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    desc.facts.push(("cores".into(), (cores as i64).into()));
    desc.facts
        .push(("threads".into(), (share.threads as i64).into()));
    if let Some(bytes) = system::page_bytes() {
        desc.facts.push(("page_bytes".into(), bytes.into()));
    }
    for (name, bytes) in system::caches() {
        desc.facts
            .push((format!("cache.{name}_bytes").into(), bytes.into()));
    }
    desc
}

//! Architectures as data. Only the provider knows what its names mean, so it states family, version and features, and the
//! runtime compares those and never a name.

use crate::OvertStr;

/// One feature of an architecture and its state on a device, or the state that an image needs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertArchFeature {
    /// `sizeof(OvertArchFeature)` as the writer knows it.
    pub size: u32,
    /// On a device: [`OVERT_FEATURE_ON`], [`OVERT_FEATURE_OFF`] or [`OVERT_FEATURE_ANY`] for *not stated*. In a pattern: the
    /// state that is needed, `ANY` for none.
    pub state: u32,
    /// The name, for example `xnack` or `avx2`.
    pub name: OvertStr,
}

/// In a pattern: either state will do. On a device: the state is not known.
pub const OVERT_FEATURE_ANY: u32 = 0;
/// The feature is present and enabled.
pub const OVERT_FEATURE_ON: u32 = 1;
/// The feature is absent or disabled.
pub const OVERT_FEATURE_OFF: u32 = 2;

/// What a device is: `sm_90`, `gfx1201:xnack-`, `x86-64`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertArch {
    /// `sizeof(OvertArch)` as the writer knows it.
    pub size: u32,
    /// Number of `features`.
    pub feature_count: u32,
    /// The name as people write it. Shown, never compared.
    pub name: OvertStr,
    /// The family inside which versions compare: `sm`, `gfx`, `x86-64`.
    pub family: OvertStr,
    /// Major version: 9 of `sm_90`, 12 of `gfx1201`.
    pub major: u32,
    /// Minor version: 0 of `sm_90`, 0 of `gfx1201`.
    pub minor: u32,
    /// Stepping: 1 of `gfx1201`, 10 of `gfx90a`; 0 where the family has none.
    pub stepping: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Features and their states.
    pub features: *const OvertArchFeature,
}

/// A set of architectures: what an image runs on, or what a kernel declares.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertArchPattern {
    /// `sizeof(OvertArchPattern)` as the writer knows it.
    pub size: u32,
    /// One of the `OVERT_ARCH_…` rules.
    pub rule: u32,
    /// Where the rule starts from. Its features are the states needed; a feature that a device does not state fails a needed
    /// state, since unknown is not yes.
    pub arch: *const OvertArch,
}

/// This very version and stepping: `sm_90a` runs on 9.0 alone.
pub const OVERT_ARCH_EXACT: u32 = 1;
/// The same major version, from this minor up: `sm_80` runs on all of 8.x.
pub const OVERT_ARCH_SAME_MAJOR_FROM_MINOR: u32 = 2;
/// This version or any later one of the family: code that a driver compiles at load.
pub const OVERT_ARCH_FROM: u32 = 3;
/// Every version of the family.
pub const OVERT_ARCH_FAMILY: u32 = 4;

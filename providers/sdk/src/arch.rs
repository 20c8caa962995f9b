//! Architectures as data: what a device is, and which devices an image runs on.

use overt_abi::{
    OVERT_ARCH_EXACT, OVERT_ARCH_FAMILY, OVERT_ARCH_FROM, OVERT_ARCH_SAME_MAJOR_FROM_MINOR,
    OVERT_FEATURE_ANY, OVERT_FEATURE_OFF, OVERT_FEATURE_ON,
};
use std::borrow::Cow;

/// State of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureState {
    /// On a device: not stated. In a pattern: either will do.
    Any,
    /// Present and enabled.
    On,
    /// Absent or disabled.
    Off,
}

impl FeatureState {
    pub(crate) const fn raw(self) -> u32 {
        match self {
            Self::Any => OVERT_FEATURE_ANY,
            Self::On => OVERT_FEATURE_ON,
            Self::Off => OVERT_FEATURE_OFF,
        }
    }
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arch {
    /// As people write it; shown, never compared.
    pub name: Cow<'static, str>,
    /// The family inside which versions compare.
    pub family: Cow<'static, str>,
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// Stepping, 0 where the family has none.
    pub stepping: u32,
    /// Features and their states.
    pub features: Vec<(Cow<'static, str>, FeatureState)>,
}

impl Arch {
    /// An architecture without features.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        family: impl Into<Cow<'static, str>>,
        major: u32,
        minor: u32,
        stepping: u32,
    ) -> Self {
        Self {
            name: name.into(),
            family: family.into(),
            major,
            minor,
            stepping,
            features: Vec::new(),
        }
    }

    /// Adds a feature and its state.
    #[must_use]
    pub fn feature(mut self, name: impl Into<Cow<'static, str>>, state: FeatureState) -> Self {
        self.features.push((name.into(), state));
        self
    }
}

/// How far a pattern reaches from its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchRule {
    /// This very version and stepping.
    Exact,
    /// The same major version, from this minor up.
    SameMajorFromMinor,
    /// This version or any later one.
    From,
    /// Every version of the family.
    Family,
}

impl ArchRule {
    pub(crate) const fn raw(self) -> u32 {
        match self {
            Self::Exact => OVERT_ARCH_EXACT,
            Self::SameMajorFromMinor => OVERT_ARCH_SAME_MAJOR_FROM_MINOR,
            Self::From => OVERT_ARCH_FROM,
            Self::Family => OVERT_ARCH_FAMILY,
        }
    }
}

/// A set of architectures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchPattern {
    /// How far it reaches.
    pub rule: ArchRule,
    /// Where it starts from; its features are needed states.
    pub arch: Arch,
}

impl ArchPattern {
    /// Every version of a family.
    pub fn family(family: &'static str) -> Self {
        Self {
            rule: ArchRule::Family,
            arch: Arch::new(family, family, 0, 0, 0),
        }
    }

    /// Exactly `arch`.
    pub fn exact(arch: Arch) -> Self {
        Self {
            rule: ArchRule::Exact,
            arch,
        }
    }

    /// The major version of `arch`, from its minor version up.
    pub fn same_major(arch: Arch) -> Self {
        Self {
            rule: ArchRule::SameMajorFromMinor,
            arch,
        }
    }

    /// `arch` or any later version of its family.
    pub fn from(arch: Arch) -> Self {
        Self {
            rule: ArchRule::From,
            arch,
        }
    }

    /// Needs a feature to be enabled.
    #[must_use]
    pub fn with(mut self, feature: &'static str) -> Self {
        self.arch = self.arch.feature(feature, FeatureState::On);
        self
    }

    /// Needs a feature to be absent or disabled.
    #[must_use]
    pub fn without(mut self, feature: &'static str) -> Self {
        self.arch = self.arch.feature(feature, FeatureState::Off);
        self
    }
}

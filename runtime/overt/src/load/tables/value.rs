//! Values, architectures and patterns.
//!
//! Two sorts of failure are kept apart: a lie about memory refuses the provider (the outer error), while something that this
//! host does not know spoils only what contains it (the inner one, in words).

use super::read::{At, Reader};
use crate::load::decl::{Arch, ArchFeature, ArchPattern, ArchRule, FeatureState, Value};
use crate::load::fault::NegotiateError;
use overt_abi::*;

/// The outer error refuses the provider, the inner one the thing that holds the value.
pub(super) type Read<T> = Result<Result<T, String>, NegotiateError>;

impl Reader<'_> {
    /// A value.
    pub(super) fn typed(&self, value: OvertValue, at: &At<'_>) -> Read<Value> {
        let data = value.data;
        // SAFETY: the union is fully initialised (read from bytes), and for every member each pattern of bits is valid.
        let (i, f, s, dtype, arch, pattern) =
            unsafe { (data.i, data.f, data.s, data.dtype, data.arch, data.pattern) };
        Ok(Ok(match value.kind {
            OVERT_VALUE_NONE => Value::None,
            OVERT_VALUE_BOOL => match i {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => return Ok(Err(format!("a truth value is {other}; wanted 0 or 1"))),
            },
            OVERT_VALUE_I64 => Value::I64(i),
            OVERT_VALUE_F64 => Value::F64(f),
            OVERT_VALUE_STR => Value::Str(self.text(s, at)?),
            OVERT_VALUE_DTYPE => Value::DType(dtype),
            OVERT_VALUE_FACT => {
                let fact = self.text(s, at)?;
                if fact.is_empty() {
                    return Ok(Err("the name of the fact that is meant is empty".into()));
                }
                Value::Fact(fact)
            }
            OVERT_VALUE_ARCH => match self.arch(arch, at)? {
                Ok(arch) => Value::Arch(arch),
                Err(what) => return Ok(Err(what)),
            },
            OVERT_VALUE_ARCH_PATTERN => match self.pattern(pattern, at)? {
                Ok(pattern) => Value::Pattern(pattern),
                Err(what) => return Ok(Err(what)),
            },
            kind => {
                return Ok(Err(format!(
                    "a value is of kind {kind}, which this host does not know; known are 0 to 8"
                )));
            }
        }))
    }

    /// An architecture.
    pub(super) fn arch(&self, pointer: *const OvertArch, at: &At<'_>) -> Read<Arch> {
        let raw = self.one(pointer, at)?;
        let family = self.text(raw.family, &at.field("family"))?;
        if family.is_empty() {
            return Ok(Err(
                "an architecture has no family, so it could be compared with nothing".into(),
            ));
        }
        let features_at = at.field("features");
        let mut features: Vec<ArchFeature> = Vec::new();
        for (index, feature) in self
            .array(raw.features, raw.feature_count, &features_at)?
            .into_iter()
            .enumerate()
        {
            let at = features_at.element(index);
            let name = self.text(feature.name, &at.field("name"))?;
            let state = match feature.state {
                OVERT_FEATURE_ANY => FeatureState::Any,
                OVERT_FEATURE_ON => FeatureState::On,
                OVERT_FEATURE_OFF => FeatureState::Off,
                other => {
                    return Ok(Err(format!(
                        "feature `{name}` has state {other}; known are 0 (any), 1 (on), 2 (off)"
                    )));
                }
            };
            if features.iter().any(|f| f.name == name) {
                return Ok(Err(format!(
                    "feature `{name}` stands twice in one architecture"
                )));
            }
            features.push(ArchFeature { name, state });
        }
        Ok(Ok(Arch {
            name: self.text(raw.name, &at.field("name"))?,
            family,
            major: raw.major,
            minor: raw.minor,
            stepping: raw.stepping,
            features,
        }))
    }

    /// A set of architectures.
    pub(super) fn pattern(
        &self,
        pointer: *const OvertArchPattern,
        at: &At<'_>,
    ) -> Read<ArchPattern> {
        let raw = self.one(pointer, at)?;
        let rule = match raw.rule {
            OVERT_ARCH_EXACT => ArchRule::Exact,
            OVERT_ARCH_SAME_MAJOR_FROM_MINOR => ArchRule::SameMajorFromMinor,
            OVERT_ARCH_FROM => ArchRule::From,
            OVERT_ARCH_FAMILY => ArchRule::Family,
            other => {
                return Ok(Err(format!(
                    "its rule of compatibility is {other}, which this host does not know; known are 1 to 4"
                )));
            }
        };
        Ok(self
            .arch(raw.arch, &at.field("arch"))?
            .map(|arch| ArchPattern { rule, arch }))
    }
}

//! Owns the memory behind C structs, so that a table of pointers lives exactly as long as its owner.

use crate::arch::{Arch, ArchPattern};
use crate::text::borrowed;
use crate::value::Value;
use overt_abi::{
    OVERT_VALUE_ARCH, OVERT_VALUE_ARCH_PATTERN, OVERT_VALUE_BOOL, OVERT_VALUE_DTYPE,
    OVERT_VALUE_F64, OVERT_VALUE_FACT, OVERT_VALUE_I64, OVERT_VALUE_NONE, OVERT_VALUE_STR,
    OvertArch, OvertArchFeature, OvertArchPattern, OvertFact, OvertStr, OvertValue, OvertValueData,
};
use std::any::Any;

/// Everything given out lives until the arena is dropped. Boxes do not move when the arena does.
#[derive(Default)]
pub(crate) struct Arena {
    kept: Vec<Box<dyn Any>>,
}

// SAFETY: the arena only owns; nothing in it is reached through it, and what it holds is plain data.
unsafe impl Send for Arena {}
// SAFETY: as above; there is no method that reads what is kept.
unsafe impl Sync for Arena {}

impl Arena {
    /// Keeps a list and gives its first element's address, null when empty.
    pub(crate) fn list<T: 'static>(&mut self, items: Vec<T>) -> (*const T, u32) {
        if items.is_empty() {
            return (std::ptr::null(), 0);
        }
        let items = items.into_boxed_slice();
        let (data, count) = (items.as_ptr(), items.len() as u32);
        self.kept.push(Box::new(items));
        (data, count)
    }

    /// Keeps one value.
    pub(crate) fn one<T: 'static>(&mut self, item: T) -> *const T {
        self.list(vec![item]).0
    }

    /// Keeps text.
    pub(crate) fn text(&mut self, value: &str) -> OvertStr {
        let kept: Box<str> = value.into();
        let out = borrowed(&kept);
        self.kept.push(Box::new(kept));
        out
    }

    /// Keeps a list of texts.
    pub(crate) fn texts<S: AsRef<str>>(&mut self, values: &[S]) -> (*const OvertStr, u32) {
        let items = values.iter().map(|v| self.text(v.as_ref())).collect();
        self.list(items)
    }

    /// Keeps an architecture.
    pub(crate) fn arch(&mut self, arch: &Arch) -> OvertArch {
        let features = arch
            .features
            .iter()
            .map(|(name, state)| OvertArchFeature {
                size: size_of::<OvertArchFeature>() as u32,
                state: state.raw(),
                name: self.text(name),
            })
            .collect();
        let (features, feature_count) = self.list(features);
        OvertArch {
            size: size_of::<OvertArch>() as u32,
            feature_count,
            name: self.text(&arch.name),
            family: self.text(&arch.family),
            major: arch.major,
            minor: arch.minor,
            stepping: arch.stepping,
            reserved: 0,
            features,
        }
    }

    /// Keeps a set of architectures.
    pub(crate) fn pattern(&mut self, pattern: &ArchPattern) -> *const OvertArchPattern {
        let arch = self.arch(&pattern.arch);
        let arch = self.one(arch);
        self.one(OvertArchPattern {
            size: size_of::<OvertArchPattern>() as u32,
            rule: pattern.rule.raw(),
            arch,
        })
    }

    /// Keeps a value.
    pub(crate) fn value(&mut self, value: &Value) -> OvertValue {
        let (kind, data) = match value {
            Value::None => (OVERT_VALUE_NONE, OvertValueData { i: 0 }),
            Value::Bool(b) => (OVERT_VALUE_BOOL, OvertValueData { i: i64::from(*b) }),
            Value::I64(i) => (OVERT_VALUE_I64, OvertValueData { i: *i }),
            Value::F64(f) => (OVERT_VALUE_F64, OvertValueData { f: *f }),
            Value::Str(s) => (OVERT_VALUE_STR, OvertValueData { s: self.text(s) }),
            Value::DType(d) => (OVERT_VALUE_DTYPE, OvertValueData { dtype: *d }),
            Value::Fact(s) => (OVERT_VALUE_FACT, OvertValueData { s: self.text(s) }),
            Value::Arch(a) => {
                let arch = self.arch(a);
                let arch = self.one(arch);
                (OVERT_VALUE_ARCH, OvertValueData { arch })
            }
            Value::Pattern(p) => {
                let pattern = self.pattern(p);
                (OVERT_VALUE_ARCH_PATTERN, OvertValueData { pattern })
            }
        };
        OvertValue {
            kind,
            reserved: 0,
            data,
        }
    }

    /// Keeps a named value.
    pub(crate) fn fact(&mut self, name: &str, value: &Value) -> OvertFact {
        OvertFact {
            name: self.text(name),
            value: self.value(value),
        }
    }
}

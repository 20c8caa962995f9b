//! Knob settings: values that the host program gives, and the defaults behind them.

use crate::error::Error;
use crate::guard::admits;
use crate::load::decl::{Arch, KnobDecl, KnobKind, Value};

/// A value given to a knob.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) id: String,
    pub(crate) value: Value,
}

/// All values given.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnobSettings(pub(crate) Vec<Setting>);

impl KnobSettings {
    /// The value of a knob: as given, else the default for the architecture, else the default.
    pub(crate) fn value(&self, knob: &KnobDecl, arch: Option<&Arch>) -> Value {
        if let Some(setting) = self.0.iter().rev().find(|s| s.id == knob.id) {
            return setting.coerced(knob);
        }
        let by_arch = arch.and_then(|arch| knob.defaults.iter().find(|d| admits(&d.pattern, arch)));
        by_arch.map_or(&knob.default, |d| &d.value).clone()
    }
}

impl Setting {
    /// The value in the knob's type: text is read as a truth value or an integer where the knob is one.
    fn coerced(&self, knob: &KnobDecl) -> Value {
        match (knob.kind, &self.value) {
            (KnobKind::Bool, Value::Str(text)) => truth(text).map_or(Value::None, Value::Bool),
            (KnobKind::I64, Value::Str(text)) => {
                text.trim().parse().map_or(Value::None, Value::I64)
            }
            (KnobKind::Str, Value::I64(i)) => Value::Str(i.to_string()),
            (KnobKind::Str, Value::Bool(b)) => Value::Str(b.to_string()),
            _ => self.value.clone(),
        }
    }

    /// Checks type, range and choice. Nothing is clamped.
    pub(crate) fn check(&self, knob: &KnobDecl) -> Result<(), Error> {
        let wrong = |wanted: String| {
            Err(Error::KnobValue {
                name: knob.id.clone(),
                got: self.value.to_string(),
                wanted,
                doc: knob.doc.clone(),
            })
        };
        match (knob.kind, self.coerced(knob)) {
            (KnobKind::Bool, Value::Bool(_)) => Ok(()),
            (KnobKind::Bool, _) => wrong("on or off (true, yes, 1, false, no, 0)".into()),
            (KnobKind::I64, Value::I64(i)) => match knob.range {
                Some((min, max)) if !(min..=max).contains(&i) => {
                    wrong(format!("an integer in {min}..={max}"))
                }
                _ => Ok(()),
            },
            (KnobKind::I64, _) => wrong("an integer".into()),
            (KnobKind::Str, Value::Str(text)) => {
                if knob.choices.is_empty() || knob.choices.contains(&text) {
                    Ok(())
                } else {
                    wrong(format!("one of {}", knob.choices.join(", ")))
                }
            }
            (KnobKind::Str, _) => wrong("text".into()),
        }
    }
}

/// The one grammar of truth values in text.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

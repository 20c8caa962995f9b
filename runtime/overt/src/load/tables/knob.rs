//! Knobs. A knob that is not fully understood refuses the provider: without its value the kernels that read it would run
//! with another one than the user set.

use super::read::{At, Reader, unique};
use crate::load::decl::{KnobDecl, KnobDefault, KnobFormer, KnobKind, Value};
use crate::load::fault::NegotiateError;
use crate::load::names;
use overt_abi::*;

/// The table of knobs.
pub(super) fn knobs(
    reader: &Reader<'_>,
    raw: &OvertProvider,
) -> Result<Vec<KnobDecl>, NegotiateError> {
    let at = At::root("knobs");
    let mut knobs = Vec::new();
    for (index, raw) in reader
        .array(raw.knobs, raw.knob_count, &at)?
        .iter()
        .enumerate()
    {
        knobs.push(knob(reader, raw, &at.element(index))?);
    }
    unique("knobs", knobs.iter().map(|knob| knob.id.as_str()))?;
    Ok(knobs)
}

fn knob(reader: &Reader<'_>, raw: &OvertKnobDecl, at: &At<'_>) -> Result<KnobDecl, NegotiateError> {
    let id = reader.text(raw.id, &at.field("id"))?;
    if !names::is_knob(&id) {
        return Err(NegotiateError::Name {
            at: at.field("id").to_string(),
            found: id,
            wanted: names::KNOB_GRAMMAR.into(),
        });
    }
    let kind = match raw.kind {
        OVERT_VALUE_BOOL => KnobKind::Bool,
        OVERT_VALUE_I64 => KnobKind::I64,
        OVERT_VALUE_STR => KnobKind::Str,
        other => {
            return Err(wrong(
                &at.field("kind"),
                format!("knob `{id}` is of kind {other}; wanted 1 (bool), 2 (i64), 4 (str)"),
            ));
        }
    };
    let range = (raw.min != 0 || raw.max != 0).then_some((raw.min, raw.max));
    if let Some((min, max)) = range
        && (min > max || kind != KnobKind::I64)
    {
        return Err(wrong(
            at,
            format!(
                "knob `{id}` states the range {min}..={max}; wanted an ascending one, of an integer knob"
            ),
        ));
    }
    let choices = reader.texts(raw.choices, raw.choice_count, &at.field("choices"))?;
    let checked = |value: Value, at: &At<'_>| {
        let fits = match (&value, kind) {
            (Value::Bool(_), KnobKind::Bool) => true,
            (Value::I64(number), KnobKind::I64) => {
                range.is_none_or(|(min, max)| (min..=max).contains(number))
            }
            (Value::Str(text), KnobKind::Str) => choices.is_empty() || choices.contains(text),
            _ => false,
        };
        if fits {
            Ok(value)
        } else {
            Err(wrong(
                at,
                format!(
                    "knob `{id}` defaults to {value:?}, which its own type and range do not allow"
                ),
            ))
        }
    };
    let default_at = at.field("default_value");
    let default = match reader.typed(raw.default_value, &default_at)? {
        Ok(value) => checked(value, &default_at)?,
        Err(what) => return Err(wrong(&default_at, what)),
    };
    let defaults_at = at.field("defaults");
    let mut defaults = Vec::new();
    for (index, raw) in reader
        .array(raw.defaults, raw.default_count, &defaults_at)?
        .iter()
        .enumerate()
    {
        let at = defaults_at.element(index);
        let pattern = reader
            .pattern(raw.pattern, &at.field("pattern"))?
            .map_err(|what| wrong(&at, what))?;
        let value = reader
            .typed(raw.value, &at.field("value"))?
            .map_err(|what| wrong(&at, what))?;
        defaults.push(KnobDefault {
            pattern,
            value: checked(value, &at)?,
            source: reader.text(raw.source, &at.field("source"))?,
        });
    }
    let former_at = at.field("former");
    let mut former = Vec::new();
    for (index, raw) in reader
        .array(raw.former, raw.former_count, &former_at)?
        .iter()
        .enumerate()
    {
        let at = former_at.element(index);
        if raw.inverted > 1 || (raw.inverted == 1 && kind != KnobKind::Bool) {
            return Err(wrong(
                &at,
                format!(
                    "`inverted` is {}; wanted 0, or 1 for a bool knob",
                    raw.inverted
                ),
            ));
        }
        former.push(KnobFormer {
            name: reader.text(raw.name, &at.field("name"))?,
            inverted: raw.inverted == 1,
        });
    }
    Ok(KnobDecl {
        kind,
        doc: reader.text(raw.doc, &at.field("doc"))?,
        default,
        defaults,
        former,
        range,
        choices,
        at_create: raw.flags & OVERT_KNOB_AT_CREATE != 0,
        id,
    })
}

fn wrong(at: &At<'_>, what: String) -> NegotiateError {
    NegotiateError::Value {
        at: at.to_string(),
        what,
    }
}

//! Kernels and their clauses.

use super::read::{At, Reader, unique};
use crate::load::decl::{
    ClauseDecl, Cmp, GuardDecl, ImageDecl, KernelDecl, KernelFlags, OpDecl, Tier, Unusable, Value,
};
use crate::load::fault::NegotiateError;
use crate::load::names;
use overt_abi::*;

/// The table of kernels of the provider named `provider`.
pub(super) fn kernels(
    reader: &Reader<'_>,
    raw: &OvertProvider,
    provider: &str,
    ops: &[OpDecl],
    images: &[ImageDecl],
) -> Result<Vec<KernelDecl>, NegotiateError> {
    let at = At::root("kernels");
    let mut kernels = Vec::new();
    for (index, raw) in reader
        .array(raw.kernels, raw.kernel_count, &at)?
        .iter()
        .enumerate()
    {
        let at = at.element(index);
        let mut kernel = kernel(reader, raw, index as u32, &at)?;
        check_id(&kernel, provider, &at)?;
        if !ops.iter().any(|op| op.name == kernel.op) {
            kernel.unusable.push(Unusable::OpNotDeclared {
                op: kernel.op.clone(),
            });
        }
        for id in &kernel.images {
            if !images.iter().any(|image| image.id == *id) {
                kernel
                    .unusable
                    .push(Unusable::ImageNotDeclared { image: id.clone() });
            }
        }
        kernels.push(kernel);
    }
    unique("kernels", kernels.iter().map(|kernel| kernel.id.as_str()))?;
    Ok(kernels)
}

fn kernel(
    reader: &Reader<'_>,
    raw: &OvertKernelDecl,
    index: u32,
    at: &At<'_>,
) -> Result<KernelDecl, NegotiateError> {
    let mut unusable = Vec::new();
    let tier = match raw.tier {
        OVERT_TIER_TUNED => Tier::Tuned,
        OVERT_TIER_PORTABLE => Tier::Portable,
        OVERT_TIER_REFERENCE => Tier::Reference,
        found => {
            unusable.push(Unusable::Tier { found });
            Tier::Unknown
        }
    };
    if raw.required != 0 {
        unusable.push(Unusable::Required {
            found: raw.required,
        });
    }
    let not_built = reader.optional_text(raw.not_built, &at.field("not_built"))?;
    let entries = reader.texts(raw.entries, raw.entry_count, &at.field("entries"))?;
    if entries.is_empty() && not_built.is_none() {
        unusable.push(Unusable::NoEntries);
    }
    let guard = guard(reader, raw, at, &mut unusable)?;
    let clauses = clauses(reader, raw, at, &mut unusable)?;
    Ok(KernelDecl {
        index,
        id: reader.text(raw.id, &at.field("id"))?,
        op: reader.text(raw.op, &at.field("op"))?,
        tier,
        priority: raw.priority,
        flags: KernelFlags(raw.flags),
        handles: reader.texts(raw.handles, raw.handles_count, &at.field("handles"))?,
        clauses,
        images: reader.texts(raw.images, raw.image_count, &at.field("images"))?,
        entries,
        knobs: reader.texts(raw.knobs, raw.knob_count, &at.field("knobs"))?,
        numeric_class: reader.optional_text(raw.numeric_class, &at.field("numeric_class"))?,
        not_built,
        doc: reader.text(raw.doc, &at.field("doc"))?,
        guard,
        must_hold: reader.texts(raw.must_hold, raw.must_hold_count, &at.field("must_hold"))?,
        unusable,
    })
}

fn guard(
    reader: &Reader<'_>,
    raw: &OvertKernelDecl,
    at: &At<'_>,
    unusable: &mut Vec<Unusable>,
) -> Result<Option<GuardDecl>, NegotiateError> {
    let reads = reader.texts(
        raw.guard_reads,
        raw.guard_read_count,
        &at.field("guard_reads"),
    )?;
    let reason = reader.text(raw.guard_reason, &at.field("guard_reason"))?;
    let Some(call) = raw.guard else {
        return Ok(None);
    };
    if reason.is_empty() {
        unusable.push(Unusable::GuardWithoutReason);
    }
    Ok(Some(GuardDecl {
        call,
        reads,
        reason,
    }))
}

fn clauses(
    reader: &Reader<'_>,
    raw: &OvertKernelDecl,
    at: &At<'_>,
    unusable: &mut Vec<Unusable>,
) -> Result<Vec<ClauseDecl>, NegotiateError> {
    let at = at.field("clauses");
    let mut clauses = Vec::new();
    for (index, raw) in reader
        .array(raw.clauses, raw.clause_count, &at)?
        .iter()
        .enumerate()
    {
        let at = at.element(index);
        let fact = reader.text(raw.fact, &at.field("fact"))?;
        let source = reader.text(raw.source, &at.field("source"))?;
        let values_at = at.field("values");
        let mut values = Vec::new();
        let mut problem = fact.is_empty().then(|| "it names no fact".to_owned());
        for (number, value) in reader
            .atoms(raw.values, raw.value_count, &values_at)?
            .into_iter()
            .enumerate()
        {
            match reader.typed(value, &values_at.element(number))? {
                Ok(value) => values.push(value),
                Err(what) => problem = problem.or(Some(format!("value {number}: {what}"))),
            }
        }
        let Some(cmp) = comparison(raw.cmp) else {
            unusable.push(Unusable::Comparison {
                clause: index,
                fact,
                found: raw.cmp,
            });
            continue;
        };
        match problem.or_else(|| misfit(cmp, &values)) {
            Some(what) => unusable.push(Unusable::Clause {
                clause: index,
                fact,
                what,
            }),
            None => clauses.push(ClauseDecl {
                fact,
                cmp,
                values,
                source,
            }),
        }
    }
    Ok(clauses)
}

fn comparison(cmp: u32) -> Option<Cmp> {
    Some(match cmp {
        OVERT_CMP_IS => Cmp::Is,
        OVERT_CMP_IS_NOT => Cmp::IsNot,
        OVERT_CMP_IN => Cmp::In,
        OVERT_CMP_NOT_IN => Cmp::NotIn,
        OVERT_CMP_AT_LEAST => Cmp::AtLeast,
        OVERT_CMP_AT_MOST => Cmp::AtMost,
        OVERT_CMP_BELOW => Cmp::Below,
        OVERT_CMP_ABOVE => Cmp::Above,
        OVERT_CMP_MULTIPLE_OF => Cmp::MultipleOf,
        OVERT_CMP_ARCH => Cmp::Arch,
        _ => return None,
    })
}

/// What is wrong with the number or place of a clause's values.
fn misfit(cmp: Cmp, values: &[Value]) -> Option<String> {
    let several = matches!(cmp, Cmp::In | Cmp::NotIn | Cmp::Arch);
    if several && values.is_empty() {
        return Some(format!("{cmp:?} has no value; wanted at least one"));
    }
    if !several && values.len() != 1 {
        return Some(format!(
            "{cmp:?} has {} values; wanted exactly one",
            values.len()
        ));
    }
    if cmp == Cmp::MultipleOf && matches!(values, [Value::I64(..=0)]) {
        return Some("MultipleOf wants a positive integer".into());
    }
    let pattern = |value: &Value| matches!(value, Value::Pattern(_));
    match cmp {
        Cmp::Arch if !values.iter().all(pattern) => {
            Some("Arch compares with patterns of architectures only".into())
        }
        Cmp::Arch => None,
        _ if values.iter().any(pattern) => Some(format!(
            "a pattern of architectures stands under {cmp:?}; it may only under Arch"
        )),
        _ => None,
    }
}

/// `provider/op/name`, where an op of the provider's own may be written with or without its `provider:`.
fn check_id(kernel: &KernelDecl, provider: &str, at: &At<'_>) -> Result<(), NegotiateError> {
    let Some((op, _)) = names::op(&kernel.op) else {
        return Err(NegotiateError::Name {
            at: at.field("op").to_string(),
            found: kernel.op.clone(),
            wanted: names::OP_GRAMMAR.into(),
        });
    };
    let own = op.split_once(':').map_or(op, |(_, own)| own);
    let fits = |op: &str| {
        kernel
            .id
            .strip_prefix(provider)
            .and_then(|rest| rest.strip_prefix('/')?.strip_prefix(op)?.strip_prefix('/'))
            .is_some_and(names::is_kernel)
    };
    if fits(op) || fits(own) {
        return Ok(());
    }
    Err(NegotiateError::Name {
        at: at.field("id").to_string(),
        found: kernel.id.clone(),
        wanted: format!("`{provider}/{op}/` and a name of {}", names::KERNEL_GRAMMAR),
    })
}

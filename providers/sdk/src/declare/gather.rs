//! Gathers the registrations of one provider into the C table.

use super::{Declared, ImageDecl, KernelDecl, KnobDecl, OpRef, Registration};
use crate::arena::Arena;
use crate::edge::table::Api;
use crate::provider::Provider;
use crate::value::Value;
use crate::{Error, Result};
use overt_abi::*;
use parking_lot::Mutex;
use std::any::TypeId;
use std::collections::BTreeMap;

/// Everything that a provider declares, before it becomes a table. [`Provider::declare`] may add to it.
#[derive(Default)]
pub struct Declarations {
    /// Kernels.
    pub kernels: Vec<KernelDecl>,
    /// Images.
    pub images: Vec<ImageDecl>,
    /// Knobs.
    pub knobs: Vec<KnobDecl>,
}

/// The C table of one provider and the declarations behind it. Lives as long as the library.
pub(crate) struct Table {
    pub(crate) provider: OvertProvider,
    pub(crate) kernels: &'static [KernelDecl],
}

// SAFETY: the table is never written after it was made, and all it points to lives as long.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// The table of `P`, made at the first call.
pub(crate) fn table<P: Provider>() -> Result<&'static Table> {
    static TABLES: Mutex<Vec<(TypeId, &'static Table)>> = Mutex::new(Vec::new());
    let mut tables = TABLES.lock();
    if let Some((_, table)) = tables.iter().find(|(id, _)| *id == TypeId::of::<P>()) {
        return Ok(table);
    }
    let table = Box::leak(Box::new(build::<P>()?));
    tables.push((TypeId::of::<P>(), table));
    Ok(table)
}

/// Registrations whose kernels carry the provider's name, and the images and knobs that those name.
fn registered<P: Provider>() -> Result<Declarations> {
    let (mut all, mut images, mut knobs) = (Declarations::default(), Vec::new(), Vec::new());
    for registration in inventory::iter::<Registration> {
        match (registration.declare)() {
            Declared::Kernel(k) if k.id.split('/').next() == Some(P::NAME) => all.kernels.push(k),
            Declared::Kernel(_) => {}
            Declared::Image(i) => images.push((registration.file, i)),
            Declared::Knob(k) => knobs.push((registration.file, k)),
        }
    }
    P::declare(&mut all);
    for (_, image) in images {
        if all.kernels.iter().any(|k| k.images.contains(&image.id)) {
            all.images.push(image);
        }
    }
    for (_, knob) in knobs {
        let own = knob.id.split('.').next() == Some(P::NAME);
        if own || all.kernels.iter().any(|k| uses_knob(k, &knob.id)) {
            all.knobs.push(knob);
        }
    }
    // Registration order is the linker's; the table's order must not depend on it.
    all.kernels.sort_by(|a, b| a.id.cmp(&b.id));
    all.images.sort_by(|a, b| a.id.cmp(&b.id));
    all.knobs.sort_by(|a, b| a.id.cmp(&b.id));
    if let Some(w) = all.kernels.windows(2).find(|w| w[0].id == w[1].id) {
        return Err(Error::internal(format!(
            "kernel `{}` is declared twice: in {} and in {}",
            w[0].id, w[0].file, w[1].file
        )));
    }
    Ok(all)
}

fn uses_knob(kernel: &KernelDecl, id: &str) -> bool {
    let named = |fact: &str| fact.strip_prefix("knob.") == Some(id);
    kernel.knobs.iter().any(|k| k == id)
        || kernel.guard_reads.iter().any(|f| named(f))
        || kernel.clauses.iter().any(|c| {
            named(&c.fact)
                || c.values
                    .iter()
                    .any(|v| matches!(v, Value::Fact(f) if named(f)))
        })
}

fn build<P: Provider>() -> Result<Table> {
    let mut all = registered::<P>()?;
    for image in all.images.iter_mut().filter(|i| i.symbols.is_empty()) {
        image.symbols = all
            .kernels
            .iter()
            .filter(|k| k.images.contains(&image.id))
            .flat_map(|k| k.entries.iter().cloned())
            .collect();
        image.symbols.sort();
        image.symbols.dedup();
    }
    let mut arena = Arena::default();
    let ops: BTreeMap<&str, OpRef> = all.kernels.iter().map(|k| (k.op.name(), k.op)).collect();
    let ops = ops.values().map(|op| op_decl(&mut arena, op)).collect();
    let (ops, op_count) = arena.list(ops);
    let kernels = all
        .kernels
        .iter()
        .map(|k| kernel_decl(&mut arena, k))
        .collect();
    let (kernels, kernel_count) = arena.list(kernels);
    let images = all
        .images
        .iter()
        .map(|i| image_decl(&mut arena, i))
        .collect();
    let (images, image_count) = arena.list(images);
    let knobs = all.knobs.iter().map(|k| knob_decl(&mut arena, k)).collect();
    let (knobs, knob_count) = arena.list(knobs);
    let provider = OvertProvider {
        size: size_of::<OvertProvider>() as u32,
        required: 0,
        name: crate::text::text(P::NAME),
        version: crate::text::text(P::VERSION),
        ops,
        kernels,
        images,
        knobs,
        op_count,
        kernel_count,
        image_count,
        knob_count,
        api: Api::<P>::TABLE,
    };
    // The table lives as long as the library, so what it points to must as well.
    Box::leak(Box::new(arena));
    Ok(Table {
        provider,
        kernels: all.kernels.leak(),
    })
}

fn op_decl(arena: &mut Arena, op: &OpRef) -> OvertOpDecl {
    let (schema, oracle) = match op {
        OpRef::Own(own) => (own.schema, own.oracle),
        OpRef::Common(_) | OpRef::Named { .. } => ("", None),
    };
    OvertOpDecl {
        size: size_of::<OvertOpDecl>() as u32,
        reserved: 0,
        name: arena.text(op.name()),
        digest: op.digest(),
        schema: arena.text(schema),
        oracle,
    }
}

fn kernel_decl(arena: &mut Arena, k: &KernelDecl) -> OvertKernelDecl {
    let clauses = k
        .clauses
        .iter()
        .map(|c| {
            let values = c.values.iter().map(|v| arena.value(v)).collect();
            let (values, value_count) = arena.list(values);
            OvertClause {
                size: size_of::<OvertClause>() as u32,
                cmp: c.cmp,
                fact: arena.text(&c.fact),
                values,
                value_count,
                reserved: 0,
                source: arena.text(&c.source),
            }
        })
        .collect();
    let (clauses, clause_count) = arena.list(clauses);
    let (handles, handles_count) = arena.texts(&k.handles);
    let (images, image_count) = arena.texts(&k.images);
    let (entries, entry_count) = arena.texts(&k.entries);
    let (knobs, knob_count) = arena.texts(&k.knobs);
    let (guard_reads, guard_read_count) = arena.texts(&k.guard_reads);
    let (must_hold, must_hold_count) = arena.texts(&k.must_hold);
    OvertKernelDecl {
        size: size_of::<OvertKernelDecl>() as u32,
        tier: k.tier.raw(),
        id: arena.text(&k.id),
        op: arena.text(k.op.name()),
        priority: k.priority,
        flags: k.flags,
        required: 0,
        handles_count,
        handles,
        clauses,
        clause_count,
        image_count,
        images,
        entries,
        entry_count,
        knob_count,
        knobs,
        numeric_class: arena.text(&k.numeric_class),
        not_built: arena.text(&k.not_built),
        doc: arena.text(&k.doc),
        guard: k.guard,
        guard_reads,
        guard_read_count,
        must_hold_count,
        guard_reason: arena.text(&k.guard_reason),
        must_hold,
    }
}

fn image_decl(arena: &mut Arena, image: &ImageDecl) -> OvertImageDecl {
    let resources = image
        .resources
        .iter()
        .map(|r| {
            let members = [
                (OVERT_RESOURCE_REGISTERS, r.registers),
                (OVERT_RESOURCE_SCALAR_REGISTERS, r.scalar_registers),
                (OVERT_RESOURCE_SPILLS, r.spills),
                (OVERT_RESOURCE_SCRATCH, r.scratch_bytes),
                (OVERT_RESOURCE_SHARED, r.shared_bytes),
                (OVERT_RESOURCE_MAX_BLOCK, r.max_block),
            ];
            OvertResources {
                size: size_of::<OvertResources>() as u32,
                known: members
                    .iter()
                    .filter(|(_, v)| v.is_some())
                    .map(|(bit, _)| bit)
                    .sum(),
                symbol: arena.text(&r.symbol),
                registers: r.registers.unwrap_or(0),
                scalar_registers: r.scalar_registers.unwrap_or(0),
                spills: r.spills.unwrap_or(0),
                scratch_bytes: r.scratch_bytes.unwrap_or(0),
                shared_bytes: r.shared_bytes.unwrap_or(0),
                max_block: r.max_block.unwrap_or(0),
            }
        })
        .collect();
    let (resources, resource_count) = arena.list(resources);
    let (symbols, symbol_count) = arena.texts(&image.symbols);
    OvertImageDecl {
        size: size_of::<OvertImageDecl>() as u32,
        kind: image.kind.raw(),
        id: arena.text(&image.id),
        digest: image.digest,
        pattern: arena.pattern(&image.pattern),
        code_bytes: image.code_bytes,
        symbols,
        resources,
        symbol_count,
        resource_count,
        not_built: arena.text(&image.not_built),
    }
}

fn knob_decl(arena: &mut Arena, knob: &KnobDecl) -> OvertKnobDecl {
    let defaults = knob
        .defaults
        .iter()
        .map(|(pattern, value, source)| OvertKnobDefault {
            size: size_of::<OvertKnobDefault>() as u32,
            reserved: 0,
            pattern: arena.pattern(pattern),
            value: arena.value(value),
            source: arena.text(source),
        })
        .collect();
    let (defaults, default_count) = arena.list(defaults);
    let former = knob
        .former
        .iter()
        .map(|(name, inverted)| OvertKnobFormer {
            size: size_of::<OvertKnobFormer>() as u32,
            inverted: u32::from(*inverted),
            name: arena.text(name),
        })
        .collect();
    let (former, former_count) = arena.list(former);
    let (choices, choice_count) = arena.texts(&knob.choices);
    let default = arena.value(&knob.default);
    OvertKnobDecl {
        size: size_of::<OvertKnobDecl>() as u32,
        kind: default.kind,
        id: arena.text(&knob.id),
        doc: arena.text(&knob.doc),
        default_value: default,
        defaults,
        choices,
        former,
        default_count,
        choice_count,
        former_count,
        flags: if knob.at_create {
            OVERT_KNOB_AT_CREATE
        } else {
            0
        },
        min: knob.range.0,
        max: knob.range.1,
    }
}

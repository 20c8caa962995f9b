//! The provider's own struct, its ops and its entries.

use super::read::{At, Reader, unique};
use super::{image, kernel, knob};
use crate::load::decl::{BuildInfo, OpDecl, PanicMode, ProviderDecl};
use crate::load::fault::NegotiateError;
use crate::load::names;
use overt_abi::*;

/// Copies everything that a provider declares, and its entries with a missing tail as null.
pub(in crate::load) fn provider(
    reader: &Reader<'_>,
    pointer: *const OvertProvider,
    abi_version: u32,
    build: Option<BuildInfo>,
) -> Result<(ProviderDecl, OvertProviderApi), NegotiateError> {
    let raw = reader.one(pointer, &At::root("provider"))?;
    if raw.required != 0 {
        return Err(NegotiateError::Required {
            found: raw.required,
        });
    }
    let name_at = At::root("name");
    let name = reader.text(raw.name, &name_at)?;
    if !names::is_provider(&name) {
        return Err(NegotiateError::Name {
            at: "name".into(),
            found: name,
            wanted: names::PROVIDER_GRAMMAR.into(),
        });
    }
    let api = reader.one(raw.api, &At::root("api"))?;
    required_entries(&api)?;
    let ops = ops(reader, &raw, &name)?;
    let images = image::images(reader, &raw)?;
    let kernels = kernel::kernels(reader, &raw, &name, &ops, &images)?;
    let decl = ProviderDecl {
        abi_version,
        version: reader.text(raw.version, &At::root("version"))?,
        ops,
        kernels,
        images,
        knobs: knob::knobs(reader, &raw)?,
        build,
        name,
    };
    Ok((decl, api))
}

fn ops(
    reader: &Reader<'_>,
    raw: &OvertProvider,
    provider: &str,
) -> Result<Vec<OpDecl>, NegotiateError> {
    let table_at = At::root("ops");
    let mut ops = Vec::new();
    for (index, raw) in reader
        .array(raw.ops, raw.op_count, &table_at)?
        .iter()
        .enumerate()
    {
        let at = table_at.element(index);
        let name = reader.text(raw.name, &at.field("name"))?;
        let schema = reader.optional_text(raw.schema, &at.field("schema"))?;
        let wrong = |wanted: String| {
            Err(NegotiateError::Name {
                at: at.field("name").to_string(),
                found: name.clone(),
                wanted,
            })
        };
        let Some((base, _)) = names::op(&name) else {
            return wrong(names::OP_GRAMMAR.into());
        };
        match (base.split_once(':'), &schema) {
            // An op of another provider: its kernels may be implemented here, but its schema stays with its owner.
            (Some((owner, _)), Some(_)) if owner != provider => {
                return wrong(format!(
                    "`{provider}:` before the name, since a provider brings schemas of its own ops only"
                ));
            }
            (None, Some(_)) => {
                return wrong(format!(
                    "`{provider}:{base}` as name, since it brings a schema, and common ops have theirs"
                ));
            }
            _ => {}
        }
        ops.push(OpDecl {
            name,
            digest: raw.digest,
            schema,
            oracle: raw.oracle,
        });
    }
    unique("ops", ops.iter().map(|op| op.name.as_str()))?;
    Ok(ops)
}

/// Names all required entries that are null, those that another entry makes required included.
fn required_entries(api: &OvertProviderApi) -> Result<(), NegotiateError> {
    let mut entries = Vec::new();
    macro_rules! need {
        ($($name:ident)*) => { $(if api.$name.is_none() { entries.push(stringify!($name)); })* };
    }
    need!(
        provider_create provider_destroy device_count device_info device_open device_close kernel_open kernel_close launch
        memory_alloc memory_free memory_copy_in memory_copy_out_sync memory_copy memory_fill stream_create stream_destroy
        stream_flush stream_query stream_sync stream_wait_event event_create event_destroy event_record event_query
        event_sync event_elapsed
    );
    if api.kernel_prepare.is_some() {
        need!(kernel_release_plan);
    }
    if api.weights_layout.is_some() {
        need!(weights_pack);
    }
    if api.capture_begin.is_some() {
        need!(capture_end capture_abort graph_replay graph_destroy);
    }
    if entries.is_empty() {
        Ok(())
    } else {
        Err(NegotiateError::NullEntries { entries })
    }
}

/// Copies the build facts; `None` where they are not stated.
pub(in crate::load) fn build_info(
    reader: &Reader<'_>,
    pointer: *const OvertBuildInfo,
) -> Result<Option<BuildInfo>, NegotiateError> {
    if pointer.is_null() {
        return Ok(None);
    }
    let at = At::root("build");
    let raw = reader.one(pointer, &at)?;
    Ok(Some(BuildInfo {
        panic_mode: match raw.panic_mode {
            OVERT_PANIC_UNWIND => PanicMode::Unwind,
            OVERT_PANIC_ABORT => PanicMode::Abort,
            // A mode that is not known is as good as not stated: nothing depends on it but what is shown.
            _ => PanicMode::Unknown,
        },
        compiler: reader.text(raw.compiler, &at.field("compiler"))?,
        min_glibc: reader.text(raw.min_glibc, &at.field("min_glibc"))?,
        sanitizer: reader.text(raw.sanitizer, &at.field("sanitizer"))?,
        revision: reader.text(raw.revision, &at.field("revision"))?,
        target: reader.text(raw.target, &at.field("target"))?,
        profile: reader.text(raw.profile, &at.field("profile"))?,
    }))
}

//! Images and what their symbols use.

use super::read::{At, Reader, unique};
use crate::load::decl::{ImageDecl, ImageKind, Resources, Unusable};
use crate::load::fault::NegotiateError;
use overt_abi::*;

/// The table of images.
pub(super) fn images(
    reader: &Reader<'_>,
    raw: &OvertProvider,
) -> Result<Vec<ImageDecl>, NegotiateError> {
    let at = At::root("images");
    let mut images = Vec::new();
    for (index, raw) in reader
        .array(raw.images, raw.image_count, &at)?
        .iter()
        .enumerate()
    {
        images.push(image(reader, raw, &at.element(index))?);
    }
    unique("images", images.iter().map(|image| image.id.as_str()))?;
    Ok(images)
}

fn image(
    reader: &Reader<'_>,
    raw: &OvertImageDecl,
    at: &At<'_>,
) -> Result<ImageDecl, NegotiateError> {
    let id = reader.text(raw.id, &at.field("id"))?;
    if id.is_empty() {
        return Err(NegotiateError::Name {
            at: at.field("id").to_string(),
            found: id,
            wanted: "a name that is unique in the provider".into(),
        });
    }
    let mut unusable = Vec::new();
    let kind = match raw.kind {
        OVERT_IMAGE_BINARY => ImageKind::Binary,
        OVERT_IMAGE_JIT => ImageKind::Jit,
        OVERT_IMAGE_HOST => ImageKind::Host,
        found => {
            unusable.push(Unusable::ImageKind {
                image: id.clone(),
                found,
            });
            ImageKind::Unknown
        }
    };
    let pattern = match reader.pattern(raw.pattern, &at.field("pattern"))? {
        Ok(pattern) => Some(pattern),
        Err(what) => {
            unusable.push(Unusable::ImagePattern {
                image: id.clone(),
                what,
            });
            None
        }
    };
    let resources_at = at.field("resources");
    let resources = reader
        .array(raw.resources, raw.resource_count, &resources_at)?
        .iter()
        .enumerate()
        .map(|(index, raw)| resources(reader, raw, &resources_at.element(index)))
        .collect::<Result<_, _>>()?;
    Ok(ImageDecl {
        kind,
        digest: raw.digest,
        pattern,
        code_bytes: raw.code_bytes,
        symbols: reader.texts(raw.symbols, raw.symbol_count, &at.field("symbols"))?,
        resources,
        not_built: reader.optional_text(raw.not_built, &at.field("not_built"))?,
        id,
        unusable,
    })
}

fn resources(
    reader: &Reader<'_>,
    raw: &OvertResources,
    at: &At<'_>,
) -> Result<Resources, NegotiateError> {
    let known = |bit: u32, value: u32| (raw.known & bit != 0).then_some(value);
    Ok(Resources {
        symbol: reader.text(raw.symbol, &at.field("symbol"))?,
        registers: known(OVERT_RESOURCE_REGISTERS, raw.registers),
        scalar_registers: known(OVERT_RESOURCE_SCALAR_REGISTERS, raw.scalar_registers),
        spills: known(OVERT_RESOURCE_SPILLS, raw.spills),
        scratch_bytes: known(OVERT_RESOURCE_SCRATCH, raw.scratch_bytes),
        shared_bytes: known(OVERT_RESOURCE_SHARED, raw.shared_bytes),
        max_block: known(OVERT_RESOURCE_MAX_BLOCK, raw.max_block),
    })
}

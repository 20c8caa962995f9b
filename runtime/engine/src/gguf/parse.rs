//! From bytes to an [`Index`]: header, metadata, tensor descriptions, and the rules that hold between them.

use super::cursor::Cursor;
use super::error::{Fault, GgufError, GgufProblem, Place, shortened};
use super::index::{Index, KeyEntry, TensorEntry, sorted};
use super::kind::GgmlType;
use super::value::{ValueType, read};
use std::path::PathBuf;

/// Where the file does not say: the format's default.
pub(super) const DEFAULT_ALIGNMENT: u64 = 32;
/// The greatest alignment that is read: a large page. More serves nothing, and would only move the data behind the file's end.
pub(super) const MAX_ALIGNMENT: u64 = 2 << 20;
/// The format's limit on keys, in bytes.
pub(super) const MAX_KEY: u64 = 65_535;
/// The format's limit on tensor names, in bytes.
pub(super) const MAX_NAME: u64 = 64;
/// Where the alignment is kept.
pub(super) const ALIGNMENT_KEY: &str = "general.alignment";

/// The fewest bytes of a metadata entry: an empty key's length, a type, and one byte.
const LEAST_ENTRY: u64 = 8 + 4 + 1;
/// The fewest bytes of a tensor description: an empty name's length, one dimension, type and offset.
const LEAST_INFO: u64 = 8 + 4 + 8 + 4 + 8;

/// Reads everything but the tensors' data. Takes time and memory in proportion to the file's size at most, whatever it claims.
pub(super) fn parse(bytes: &[u8]) -> Result<Index, GgufError> {
    let mut cursor = Cursor::new(bytes, 0);
    let (version, tensors, keys) = header(&mut cursor).map_err(|f| f.within(Place::Header))?;
    let mut index = Index {
        file: PathBuf::new(),
        version,
        alignment: DEFAULT_ALIGNMENT,
        data: bytes.len(),
        keys: metadata(&mut cursor, keys)?,
        keys_by_name: Vec::new(),
        tensors: Vec::new(),
        tensors_by_name: Vec::new(),
    };
    let key = |n: usize| index.keys[n].key(bytes);
    index.keys_by_name = sorted(index.keys.len(), |a, b| key(a).cmp(key(b)));
    for pair in index.keys_by_name.windows(2) {
        let [first, second] = [pair[0], pair[1]].map(|n| &index.keys[n as usize]);
        if first.key(bytes) == second.key(bytes) {
            let first = first.at as u64;
            let fault = Fault::new(second.at, GgufProblem::DuplicateKey { first });
            return Err(fault.within(Place::Key(shown(second.key(bytes)))));
        }
    }
    index.alignment = alignment(bytes, &index)?;
    // The claim again, against what the metadata left.
    cursor
        .holds(tensors, "tensors", LEAST_INFO)
        .map_err(|f| f.within(Place::Header))?;
    let infos = cursor;
    let end = skip_infos(&mut cursor, tensors)?;
    // A file without tensors has no data section and need not be padded up to one.
    let data = end.next_multiple_of(index.alignment as usize);
    index.data = data.min(bytes.len());
    index.tensors = tensor_entries(infos, tensors, data, index.alignment)?;
    check_tensors(bytes, &mut index)?;
    Ok(index)
}

fn header(cursor: &mut Cursor<'_>) -> Result<(u32, u64, u64), Fault> {
    let start = *cursor;
    if start.left() == 0 {
        return start.fault(GgufProblem::Empty);
    }
    let got = cursor.array("the magic number")?;
    if got != *b"GGUF" {
        return start.fault(GgufProblem::Magic { got });
    }
    let versioned = *cursor;
    let version = cursor.u32("the version")?;
    match version {
        2 | 3 => {}
        // A small number in the other byte order has its low half empty.
        got if got & 0xffff == 0 && got != 0 => {
            let version = got.swap_bytes();
            return versioned.fault(GgufProblem::BigEndian { version });
        }
        got => return versioned.fault(GgufProblem::Version { got }),
    }
    let tensors = cursor.u64("the number of tensors")?;
    let keys = cursor.u64("the number of metadata entries")?;
    cursor.holds(keys, "metadata entries", LEAST_ENTRY)?;
    cursor.holds(tensors, "tensors", LEAST_INFO)?;
    Ok((version, tensors, keys))
}

fn metadata(cursor: &mut Cursor<'_>, count: u64) -> Result<Vec<KeyEntry>, GgufError> {
    // Fits: the count was held against the bytes that are left.
    let mut keys = Vec::with_capacity(count as usize);
    for number in 0..count {
        let at = cursor.at();
        let key = cursor.text("a key", MAX_KEY);
        let key = key.map_err(|f| f.within(Place::Entry(number)))?;
        let ty = value_of(cursor).map_err(|f| f.within(Place::Key(shortened(key))))?;
        let len = key.len() as u16;
        keys.push(KeyEntry { at, len, ty });
    }
    Ok(keys)
}

fn value_of(cursor: &mut Cursor<'_>) -> Result<ValueType, Fault> {
    let start = *cursor;
    let got = cursor.u32("a value's type")?;
    let Some(ty) = ValueType::from_code(got) else {
        return start.fault(GgufProblem::ValueType { got });
    };
    read(cursor, ty, 0)?;
    Ok(ty)
}

fn alignment(bytes: &[u8], index: &Index) -> Result<u64, GgufError> {
    let Some(entry) = index.key(bytes, ALIGNMENT_KEY) else {
        return Ok(DEFAULT_ALIGNMENT);
    };
    let place = || Place::Key(ALIGNMENT_KEY.to_owned());
    let at = entry.value_at();
    let value = read(&mut Cursor::new(bytes, at), entry.ty, 0).map_err(|f| f.within(place()))?;
    let most = MAX_ALIGNMENT;
    let problem = match value.integer().map(u64::try_from) {
        Some(Ok(got)) if got.is_power_of_two() && (8..=most).contains(&got) => return Ok(got),
        Some(Ok(got)) => GgufProblem::Alignment { got, most },
        _ => GgufProblem::WrongType {
            got: value.described(),
            wanted: "an unsigned integer",
        },
    };
    Err(Fault::new(at, problem).within(place()))
}

/// One tensor description as the file has it.
struct Info<'a> {
    at: usize,
    name: &'a str,
    rank: u8,
    kind: GgmlType,
    /// Bytes of its data.
    bytes: u64,
    /// From the data section's start.
    offset: u64,
}

/// Checks every description by itself. Gives where they end, which says where the data section begins.
fn skip_infos(cursor: &mut Cursor<'_>, count: u64) -> Result<usize, GgufError> {
    for number in 0..count {
        info(cursor, number)?;
    }
    Ok(cursor.at())
}

fn info<'a>(cursor: &mut Cursor<'a>, number: u64) -> Result<Info<'a>, GgufError> {
    let at = cursor.at();
    let name = cursor.text("a tensor's name", MAX_NAME);
    let name = name.map_err(|f| f.within(Place::Info(number)))?;
    let rest = described(cursor).map_err(|f| f.within(Place::Tensor(name.to_owned())))?;
    Ok(Info { at, name, ..rest })
}

fn described<'a>(cursor: &mut Cursor<'a>) -> Result<Info<'a>, Fault> {
    let start = *cursor;
    let rank = cursor.u32("the number of dimensions")?;
    if !(1..=4).contains(&rank) {
        return start.fault(GgufProblem::Rank { got: rank });
    }
    let mut dims = [1; 4];
    let sized = *cursor;
    for (dim, extent) in dims.iter_mut().enumerate().take(rank as usize) {
        let start = *cursor;
        *extent = cursor.u64("a dimension")?;
        if *extent == 0 {
            return start.fault(GgufProblem::Extent { dim });
        }
    }
    let typed = *cursor;
    let got = cursor.u32("the tensor's type")?;
    let Some(kind) = GgmlType::from_code(got) else {
        return typed.fault(GgufProblem::TensorType { got });
    };
    let elements = kind.block_elements();
    if !dims[0].is_multiple_of(elements) {
        return sized.fault(GgufProblem::Blocks {
            kind: kind.name(),
            elements,
            got: dims[0],
        });
    }
    let fits = |n: &u64| i64::try_from(*n).is_ok();
    let product = dims.iter().try_fold(1_u64, |n, dim| n.checked_mul(*dim));
    let bytes = product.filter(fits).and_then(|n| kind.bytes_for(n));
    let Some(bytes) = bytes.filter(fits) else {
        let dims = dims[..rank as usize].to_vec();
        return sized.fault(GgufProblem::Size { dims });
    };
    let offset = cursor.u64("the tensor's offset")?;
    Ok(Info {
        at: 0,
        name: "",
        rank: rank as u8,
        kind,
        bytes,
        offset,
    })
}

/// Places every tensor in the file. `data` is where the data section begins, and may lie behind the file's end.
fn tensor_entries(
    mut infos: Cursor<'_>,
    count: u64,
    data: usize,
    alignment: u64,
) -> Result<Vec<TensorEntry>, GgufError> {
    let section = (infos.at() as u64 + infos.left()).saturating_sub(data as u64);
    let mut tensors = Vec::with_capacity(count as usize);
    for number in 0..count {
        let info = info(&mut infos, number)?;
        let (offset, bytes) = (info.offset, info.bytes);
        let problem = if !offset.is_multiple_of(alignment) {
            GgufProblem::Unaligned {
                got: offset,
                alignment,
            }
        } else if offset.checked_add(bytes).is_none_or(|end| end > section) {
            GgufProblem::Outside {
                offset,
                bytes,
                section,
            }
        } else {
            // Both lie in the file, whose bytes are in memory.
            tensors.push(TensorEntry {
                at: info.at,
                start: data + offset as usize,
                bytes: bytes as usize,
                len: info.name.len() as u8,
                rank: info.rank,
                kind: info.kind,
            });
            continue;
        };
        let place = Place::Tensor(info.name.to_owned());
        return Err(Fault::new(info.at, problem).within(place));
    }
    Ok(tensors)
}

/// The rules between tensors: one name, and one place, for each.
fn check_tensors(bytes: &[u8], index: &mut Index) -> Result<(), GgufError> {
    let tensors = &index.tensors;
    let fault = |at: &TensorEntry, problem| {
        let place = Place::Tensor(shown(at.name(bytes)));
        Err(Fault::new(at.at, problem).within(place))
    };
    let by_place = sorted(tensors.len(), |a, b| {
        tensors[a].start.cmp(&tensors[b].start)
    });
    for pair in by_place.windows(2) {
        let [first, second] = [pair[0], pair[1]].map(|n| &tensors[n as usize]);
        let end = first.start + first.bytes;
        if end > second.start {
            let problem = GgufProblem::Overlap {
                start: second.start as u64,
                other: shown(first.name(bytes)),
                end: end as u64,
            };
            return fault(second, problem);
        }
    }
    let name = |n: usize| tensors[n].name(bytes);
    let by_name = sorted(tensors.len(), |a, b| name(a).cmp(name(b)));
    for pair in by_name.windows(2) {
        let [first, second] = [pair[0], pair[1]].map(|n| &tensors[n as usize]);
        if first.name(bytes) == second.name(bytes) {
            let first = first.at as u64;
            return fault(second, GgufProblem::DuplicateTensor { first });
        }
    }
    index.tensors_by_name = by_name;
    Ok(())
}

fn shown(name: &[u8]) -> String {
    shortened(&String::from_utf8_lossy(name))
}

//! The manifest beside a library: what can be known about a provider without running any of its code.
//!
//! It lets the loader exclude a library that cannot work here before opening it, holds the digest that the opened file must
//! have, and keeps the kernels of a provider that did not load visible to selection. `cargo xtask build-providers` writes it
//! from what the library itself answers; after loading, the two are compared.

use super::decl::{
    ArchPattern, Cmp, ImageKind, KernelDecl, PanicMode, ProviderDecl, Tier, Value, abi_version_text,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of the manifest's own format that this host reads and writes.
pub const MANIFEST_SCHEMA: u32 = 1;

/// Added to a library's whole file name: `libovert_cpu.so.overt.json`.
pub const MANIFEST_SUFFIX: &str = ".overt.json";

/// Larger files are not manifests.
const MOST_BYTES: u64 = 64 << 20;

/// A manifest. Unknown fields are ignored, except that every entry of `required` must be understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub schema: u32,
    /// Rules beyond this format that a reader must know. None is defined yet, so any entry refuses the library.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// The provider's name.
    pub provider: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the library's file, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// The ABI version it answers with, as `0.1`.
    pub abi: String,
    /// Target triple.
    pub target: String,
    /// Least glibc that its symbol versions need, as `2.34`; absent where it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_glibc: Option<String>,
    /// Instruction-set features that the library as a whole was compiled for. What single kernels need on top is their guards'
    /// business.
    #[serde(default)]
    pub cpu_features: Vec<String>,
    /// What a panic does.
    pub panic_mode: PanicMode,
    /// The sanitizer it was built with, empty for none.
    #[serde(default)]
    pub sanitizer: String,
    /// Revision of its sources, as the build states it, uncommitted changes included.
    #[serde(default)]
    pub revision: String,
    /// Compiler and version.
    #[serde(default)]
    pub compiler: String,
    /// Build profile.
    #[serde(default)]
    pub profile: String,
    /// Ops.
    pub ops: Vec<ManifestOp>,
    /// Kernels in the provider's order.
    pub kernels: Vec<ManifestKernel>,
    /// Images in the provider's order.
    pub images: Vec<ManifestImage>,
}

/// An op in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestOp {
    /// Name with version.
    pub name: String,
    /// Digest of the schema, 16 hexadecimal digits.
    pub digest: String,
}

/// A kernel in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestKernel {
    /// `provider/op/name`.
    pub id: String,
    /// Op with version.
    pub op: String,
    /// Tier.
    pub tier: Tier,
    /// Priority.
    pub priority: i32,
    /// Patterns of its images; one must fit the device. Empty: it needs no image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_patterns: Vec<ArchPattern>,
    /// The architecture clauses of its guard: each inner list is one clause, of which one pattern must fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arch_clauses: Vec<Vec<ArchPattern>>,
    /// Why it was not built, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_built: Option<String>,
    /// Its numeric class, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numeric_class: Option<String>,
}

impl ManifestKernel {
    /// What a manifest says of a kernel.
    pub fn of(kernel: &KernelDecl, provider: &ProviderDecl) -> ManifestKernel {
        let image_patterns = kernel
            .images
            .iter()
            .filter_map(|id| provider.image(id))
            .filter_map(|image| image.pattern.clone())
            .collect();
        let arch_clauses = kernel
            .clauses
            .iter()
            .filter(|clause| clause.cmp == Cmp::Arch && clause.fact == "device.arch")
            .map(|clause| {
                clause
                    .values
                    .iter()
                    .filter_map(|value| match value {
                        Value::Pattern(pattern) => Some(pattern.clone()),
                        _ => None,
                    })
                    .collect()
            })
            .collect();
        ManifestKernel {
            id: kernel.id.clone(),
            op: kernel.op.clone(),
            tier: kernel.tier,
            priority: kernel.priority,
            image_patterns,
            arch_clauses,
            not_built: kernel.not_built.clone(),
            numeric_class: kernel.numeric_class.clone(),
        }
    }
}

/// An image in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestImage {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: ImageKind,
    /// SHA-256, 64 hexadecimal digits.
    pub digest: String,
    /// What it runs on; absent where the rule is not known.
    pub pattern: Option<ArchPattern>,
    /// Why it was not built, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_built: Option<String>,
}

/// Facts about a library's file that only its builder knows.
#[derive(Clone, Debug)]
pub struct FileFacts {
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Target triple.
    pub target: String,
    /// Least glibc by its symbol versions.
    pub min_glibc: Option<String>,
    /// Compiled-in instruction-set features.
    pub cpu_features: Vec<String>,
}

impl Manifest {
    /// The manifest of a library that was loaded and answered `decl`.
    pub fn of(decl: &ProviderDecl, file: FileFacts) -> Manifest {
        let build = decl.build.as_ref();
        let text = |field: fn(&super::decl::BuildInfo) -> &String| {
            build.map(field).cloned().unwrap_or_default()
        };
        Manifest {
            schema: MANIFEST_SCHEMA,
            required: Vec::new(),
            provider: decl.name.clone(),
            version: decl.version.clone(),
            sha256: file.sha256,
            abi: abi_version_text(decl.abi_version),
            target: file.target,
            min_glibc: file.min_glibc,
            cpu_features: file.cpu_features,
            panic_mode: build.map_or(PanicMode::Unknown, |b| b.panic_mode),
            sanitizer: text(|b| &b.sanitizer),
            revision: text(|b| &b.revision),
            compiler: text(|b| &b.compiler),
            profile: text(|b| &b.profile),
            ops: declared_ops(decl),
            kernels: decl
                .kernels
                .iter()
                .map(|kernel| ManifestKernel::of(kernel, decl))
                .collect(),
            images: declared_images(decl),
        }
    }

    /// Where the manifest of a library lies.
    pub fn path_for(library: &Path) -> PathBuf {
        let mut name = library.as_os_str().to_owned();
        name.push(MANIFEST_SUFFIX);
        PathBuf::from(name)
    }

    /// Reads a manifest. The error of a missing file has [`ManifestError::is_missing`].
    pub fn read(path: &Path) -> Result<Manifest, ManifestError> {
        let io = |source: std::io::Error| ManifestError::Read {
            path: path.to_owned(),
            kind: source.kind(),
            words: source.to_string(),
        };
        let meta = std::fs::metadata(path).map_err(io)?;
        super::trust::file(path, &meta).map_err(|untrusted| ManifestError::Untrusted {
            path: path.to_owned(),
            reason: untrusted,
        })?;
        if meta.len() > MOST_BYTES {
            return Err(ManifestError::TooLarge {
                path: path.to_owned(),
                bytes: meta.len(),
                most: MOST_BYTES,
            });
        }
        let bytes = std::fs::read(path).map_err(io)?;
        let text = String::from_utf8(bytes).map_err(|e| ManifestError::Malformed {
            path: path.to_owned(),
            line: 1 + e.as_bytes()[..e.utf8_error().valid_up_to()]
                .iter()
                .filter(|b| **b == b'\n')
                .count(),
            column: 0,
            field: String::new(),
            words: "the text is not UTF-8".into(),
        })?;
        Manifest::parse(path, &text)
    }

    /// Parses a manifest's text; `path` is for messages.
    pub fn parse(path: &Path, text: &str) -> Result<Manifest, ManifestError> {
        // The version is read alone first: a later format may have changed anything else.
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
            #[serde(default)]
            required: Vec<String>,
        }
        let malformed = |e: serde_json::Error| ManifestError::Malformed {
            path: path.to_owned(),
            line: e.line(),
            column: e.column(),
            field: field_before(text, e.line(), e.column()),
            words: words_of(&e),
        };
        let head: Head = serde_json::from_str(text).map_err(malformed)?;
        if head.schema != MANIFEST_SCHEMA {
            return Err(ManifestError::Schema {
                path: path.to_owned(),
                found: head.schema,
                known: MANIFEST_SCHEMA,
            });
        }
        if let Some(name) = head.required.first() {
            return Err(ManifestError::Required {
                path: path.to_owned(),
                name: name.clone(),
            });
        }
        let manifest: Manifest = serde_json::from_str(text).map_err(malformed)?;
        manifest.check(path)?;
        Ok(manifest)
    }

    /// Rules on values that types do not hold.
    fn check(&self, path: &Path) -> Result<(), ManifestError> {
        let bad = |field: String, found: &str, wanted: &'static str| {
            Err(ManifestError::Value {
                path: path.to_owned(),
                field,
                found: found.to_owned(),
                wanted,
            })
        };
        const SHA: &str = "64 lower-case hexadecimal digits";
        if !is_hex(&self.sha256, 64) {
            return bad("sha256".into(), &self.sha256, SHA);
        }
        if super::names::version(&self.abi).is_none() {
            return bad("abi".into(), &self.abi, "`major.minor`");
        }
        if !super::names::is_provider(&self.provider) {
            return bad(
                "provider".into(),
                &self.provider,
                super::names::PROVIDER_GRAMMAR,
            );
        }
        if let Some(glibc) = self
            .min_glibc
            .as_deref()
            .filter(|text| super::platform::parse_glibc(text).is_none())
        {
            return bad("min_glibc".into(), glibc, "`major.minor`");
        }
        for (index, op) in self.ops.iter().enumerate() {
            if !is_hex(&op.digest, 16) {
                return bad(
                    format!("ops[{index}].digest"),
                    &op.digest,
                    "16 lower-case hexadecimal digits",
                );
            }
        }
        for (index, image) in self.images.iter().enumerate() {
            if !is_hex(&image.digest, 64) {
                return bad(format!("images[{index}].digest"), &image.digest, SHA);
            }
        }
        Ok(())
    }

    /// The manifest's text as it is written to a file.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_else(|e| {
            // No map with non-text keys and no failing Serialize exist in these types.
            unreachable!("a manifest is always serialisable: {e}")
        });
        text.push('\n');
        text
    }
}

pub(super) fn declared_ops(decl: &ProviderDecl) -> Vec<ManifestOp> {
    decl.ops
        .iter()
        .map(|op| ManifestOp {
            name: op.name.clone(),
            digest: format!("{:016x}", op.digest),
        })
        .collect()
}

pub(super) fn declared_images(decl: &ProviderDecl) -> Vec<ManifestImage> {
    decl.images
        .iter()
        .map(|image| ManifestImage {
            id: image.id.clone(),
            kind: image.kind,
            digest: hex(&image.digest),
            pattern: image.pattern.clone(),
            not_built: image.not_built.clone(),
        })
        .collect()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The last key that stands before a place in the text: the field that a type error is about.
fn field_before(text: &str, line: usize, column: usize) -> String {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let end = (start + column).min(text.len());
    let before = text.as_bytes().get(..end).unwrap_or_default();
    let before = String::from_utf8_lossy(before);
    let Some(colon) = before.rfind("\":") else {
        return String::new();
    };
    let name = &before[..colon];
    name.rfind('"')
        .map(|quote| name[quote + 1..].to_owned())
        .unwrap_or_default()
}

/// The parser's words without the place, which the error states by itself.
fn words_of(error: &serde_json::Error) -> String {
    let words = error.to_string();
    match words.rfind(" at line ") {
        Some(cut) => words[..cut].to_owned(),
        None => words,
    }
}

/// Why a manifest cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("manifest `{}`: {words}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What sort of failure.
        kind: std::io::ErrorKind,
        /// The system's words.
        words: String,
    },
    /// Somebody else could have written it.
    #[error("manifest `{}`: {reason}", path.display())]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: super::trust::Untrusted,
    },
    /// It is too large to be one.
    #[error("manifest `{}` has {bytes} bytes; at most {most} are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// Not JSON, or a field is missing or of the wrong type.
    #[error(
        "manifest `{}`, line {line}, column {column}{}: {words}; write it anew with `cargo xtask build-providers`",
        path.display(),
        if field.is_empty() { String::new() } else { format!(", at or after field `{field}`") }
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1; 0 if unknown.
        column: usize,
        /// The last field that stands before the place; empty if none does.
        field: String,
        /// What the parser says. It names a missing field.
        words: String,
    },
    /// A value is not allowed.
    #[error("manifest `{}`, field `{field}`: it is `{found}`; wanted {wanted}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The field.
        field: String,
        /// What it holds.
        found: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// Another version of the format.
    #[error("manifest `{}` is of schema {found}; this host reads schema {known}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The known version.
        known: u32,
    },
    /// A rule that this host does not know.
    #[error("manifest `{}` requires `{name}`, which this host does not know; a newer host may", path.display())]
    Required {
        /// The file.
        path: PathBuf,
        /// The rule.
        name: String,
    },
}

impl ManifestError {
    /// There is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            ManifestError::Read {
                kind: std::io::ErrorKind::NotFound,
                ..
            }
        )
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;

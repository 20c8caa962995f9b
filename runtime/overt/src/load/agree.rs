//! Holds a manifest against what its library answers. The manifest decided whether to open the library, and stands in for it
//! when it does not load, so the two must say the same.

use super::decl::{ProviderDecl, abi_version_text};
use super::manifest::{Manifest, ManifestKernel, declared_images, declared_ops};
use std::fmt::Debug;

/// One difference between a manifest and its library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// A single value differs.
    #[error("{field}: the manifest says {manifest}, the library {library}")]
    Field {
        /// Which.
        field: String,
        /// By the manifest.
        manifest: String,
        /// By the library.
        library: String,
    },
    /// The manifest claims what the library does not hold.
    #[error("the manifest claims {what} `{name}`, which the library does not hold")]
    Claimed {
        /// `image`, `kernel` or `op`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The library holds what the manifest does not name.
    #[error("the library holds {what} `{name}`, which the manifest does not name")]
    Unnamed {
        /// `image`, `kernel` or `op`.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

/// All differences, in a fixed order; empty when the two agree.
pub(super) fn disagreements(manifest: &Manifest, decl: &ProviderDecl) -> Vec<Disagreement> {
    let mut found = Vec::new();
    field(&mut found, "provider", &manifest.provider, &decl.name);
    field(&mut found, "version", &manifest.version, &decl.version);
    field(
        &mut found,
        "abi",
        &manifest.abi,
        &abi_version_text(decl.abi_version),
    );
    if let Some(build) = &decl.build {
        field(
            &mut found,
            "sanitizer",
            &manifest.sanitizer,
            &build.sanitizer,
        );
        field(
            &mut found,
            "panic_mode",
            &manifest.panic_mode,
            &build.panic_mode,
        );
    }
    table(&mut found, "op", &manifest.ops, &declared_ops(decl), |op| {
        &op.name
    });
    let kernels: Vec<ManifestKernel> = decl
        .kernels
        .iter()
        .map(|kernel| ManifestKernel::of(kernel, decl))
        .collect();
    table(
        &mut found,
        "kernel",
        &manifest.kernels,
        &kernels,
        |kernel| &kernel.id,
    );
    table(
        &mut found,
        "image",
        &manifest.images,
        &declared_images(decl),
        |image| &image.id,
    );
    found
}

fn field<T: PartialEq + Debug>(
    found: &mut Vec<Disagreement>,
    name: &str,
    manifest: &T,
    library: &T,
) {
    if manifest != library {
        found.push(Disagreement::Field {
            field: name.to_owned(),
            manifest: format!("{manifest:?}"),
            library: format!("{library:?}"),
        });
    }
}

fn table<T: PartialEq + Debug>(
    found: &mut Vec<Disagreement>,
    what: &'static str,
    manifest: &[T],
    library: &[T],
    name: impl Fn(&T) -> &String,
) {
    for claimed in manifest {
        match library.iter().find(|held| name(held) == name(claimed)) {
            None => found.push(Disagreement::Claimed {
                what,
                name: name(claimed).clone(),
            }),
            Some(held) => field(found, &format!("{what} `{}`", name(claimed)), claimed, held),
        }
    }
    for held in library {
        if !manifest.iter().any(|claimed| name(claimed) == name(held)) {
            found.push(Disagreement::Unnamed {
                what,
                name: name(held).clone(),
            });
        }
    }
}

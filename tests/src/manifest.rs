//! Manifests for libraries that a test puts somewhere.

use crate::hostile::set_mode;
use overt::load::{FileFacts, LoadRequest, Manifest, file_digest, load};
use std::path::{Path, PathBuf};

/// Copies a library into a folder and writes its manifest, after `change`, beside it.
pub fn beside(library: &Path, folder: &Path, change: impl FnOnce(&mut Manifest)) -> PathBuf {
    let name = library
        .file_name()
        .unwrap_or_else(|| panic!("{}", library.display()));
    let copy = folder.join(name);
    std::fs::copy(library, &copy).unwrap_or_else(|error| panic!("{}: {error}", copy.display()));
    set_mode(&copy, 0o755);
    write(&copy, change);
    copy
}

/// Writes the manifest of a library that lies where it shall.
pub fn write(library: &Path, change: impl FnOnce(&mut Manifest)) {
    let request = LoadRequest {
        asked: vec![library.to_owned()],
        ..LoadRequest::default()
    };
    let loaded = load(&request).unwrap_or_else(|error| panic!("{error}"));
    let mut manifest = Manifest::of(
        &loaded.providers[0].decl,
        FileFacts {
            sha256: file_digest(library).unwrap_or_else(|error| panic!("{error}")),
            target: format!(
                "{}-unknown-{}-gnu",
                std::env::consts::ARCH,
                std::env::consts::OS
            ),
            min_glibc: None,
            cpu_features: Vec::new(),
        },
    );
    change(&mut manifest);
    let path = Manifest::path_for(library);
    std::fs::write(&path, manifest.to_text()).unwrap_or_else(|error| panic!("{error}"));
    set_mode(&path, 0o644);
}

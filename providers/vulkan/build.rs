//! States how the provider is built, and lists the compiled shaders with their digests.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

fn main() {
    overt_sdk::build::emit(&[]);
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let folder = Path::new(&root).join("spirv");
    println!("cargo::rerun-if-changed=spirv");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "spv"))
        .collect();
    files.sort();
    let mut text = String::new();
    let mut all = String::new();
    for file in files {
        let name = file
            .file_stem()
            .and_then(|n| n.to_str())
            .expect("names of shaders are ASCII");
        let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let digest: Vec<u8> = Sha256::digest(&bytes).to_vec();
        let constant = name.to_uppercase().replace(['.', '-'], "_");
        writeln!(
            text,
            "/// Compiled from the shader of this name.\npub static {constant}: Shader = Shader {{ image: Image {{ id: {:?}, digest: {digest:?} }}, symbol: {name:?}, code: &Code(*include_bytes!({:?})) }};\novert_sdk::image!(image(&{constant}));",
            format!("spirv/{name}"),
            file.display().to_string(),
        )
        .expect("text can be written");
        write!(all, "&{constant}, ").expect("text can be written");
    }
    writeln!(
        text,
        "/// All of them.\npub static ALL: &[&Shader] = &[{all}];"
    )
    .expect("text can be written");
    let out = std::env::var("OUT_DIR").expect("cargo names the folder for what is generated");
    std::fs::write(Path::new(&out).join("shaders.rs"), text).expect("OUT_DIR can be written");
}

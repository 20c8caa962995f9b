//! The shaders as the compiler gets them: one text for each variant, includes put in. Shared with the compiling program, so that what CI
//! compares is what was compiled.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One module to compile.
pub struct Module {
    /// Its name, and that of its file.
    pub name: String,
    /// The file it is made from.
    pub source: PathBuf,
    /// The whole text.
    pub text: String,
}

impl Module {
    /// What identifies the text.
    pub fn digest(&self) -> String {
        let digest = Sha256::digest(self.text.as_bytes());
        digest.iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// Where shaders lie, under the root.
pub const SOURCES: &str = "kernels/device";
/// Where compiled ones lie, under the root.
pub const COMPILED: &str = "providers/vulkan/spirv";
/// The list of compiled modules with the digests of what they were compiled from.
pub const LIST: &str = "SOURCES";

/// All modules: each `<op>/<stem>.comp`, once for each of its lines `// variant NAME: A=1 B=2`, or once where it has none.
pub fn all(root: &Path) -> Result<Vec<Module>, String> {
    let folder = root.join(SOURCES);
    let mut modules = Vec::new();
    for op in listed(&folder)? {
        if !op.is_dir() {
            continue;
        }
        for file in listed(&op)? {
            if file.extension().is_some_and(|e| e == "comp") {
                module(&folder, &op, &file, &mut modules)?;
            }
        }
    }
    Ok(modules)
}

fn listed(folder: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    entries
        .map(|entry| entry.map(|e| e.path()).map_err(|e| e.to_string()))
        .collect()
}

fn module(folder: &Path, op: &Path, file: &Path, out: &mut Vec<Module>) -> Result<(), String> {
    let name = |path: &Path| {
        let name = path.file_stem().and_then(|n| n.to_str());
        name.map(str::to_owned)
            .ok_or_else(|| format!("{}: the name is not text", path.display()))
    };
    let (op, stem) = (name(op)?, name(file)?);
    let base = if op == stem {
        op
    } else {
        format!("{op}.{stem}")
    };
    let mut seen = BTreeSet::new();
    let text = expand(folder, file, &mut seen)?;
    let Some((version, rest)) = text
        .split_once('\n')
        .filter(|(v, _)| v.starts_with("#version"))
    else {
        return Err(format!(
            "{}: the first line states no version",
            file.display()
        ));
    };
    let variants: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("// variant "))
        .map(|line| line.split_once(':').unwrap_or((line, "")))
        .collect();
    let source = file.to_owned();
    if variants.is_empty() {
        out.push(Module {
            name: base,
            source,
            text,
        });
        return Ok(());
    }
    for (variant, defines) in variants {
        let defines: String = defines
            .split_whitespace()
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                format!("#define {key} {value}\n")
            })
            .collect();
        out.push(Module {
            name: format!("{base}.{}", variant.trim()),
            source: source.clone(),
            text: format!("{version}\n{defines}{rest}"),
        });
    }
    Ok(())
}

/// A file with its includes put in, each once.
fn expand(folder: &Path, file: &Path, seen: &mut BTreeSet<PathBuf>) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut out = String::new();
    for line in text.lines() {
        let Some(name) = line.trim().strip_prefix("#include \"") else {
            out += line;
            out.push('\n');
            continue;
        };
        let path = folder.join(name.trim_end_matches('"'));
        if seen.insert(path.clone()) {
            out += &expand(folder, &path, seen)?;
        }
    }
    Ok(out)
}

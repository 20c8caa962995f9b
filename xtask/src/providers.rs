//! `build-providers`: each provider that this machine can build, checked, into one folder, with its manifest.

use crate::{End, cargo, elf, sources, tools};
use anyhow::{Context, Result, bail};
use overt::load::decl::ProviderDecl;
use overt::load::{FileFacts, LoadRequest, Manifest, file_digest, load};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `build-providers`.
#[derive(clap::Args)]
pub struct Options {
    /// Where to put libraries and manifests; `overt-providers` in cargo's target folder if not given.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Cargo profile.
    #[arg(long, default_value = "release")]
    profile: String,
}

/// A provider of this repository.
struct Source {
    /// Its folder under `providers`, and its name.
    name: &'static str,
    /// Its package.
    package: &'static str,
    /// Programs that its build calls besides Rust.
    needs: &'static [tools::Tool],
}

/// All providers. A new one adds a line.
const PROVIDERS: &[Source] = &[
    Source {
        name: "cpu",
        package: "overt-provider-cpu",
        needs: &[],
    },
    Source {
        name: "vulkan",
        package: "overt-provider-vulkan",
        needs: &[],
    },
];

/// What became of one provider.
pub enum Built {
    /// It lies in the folder.
    Yes,
    /// This machine cannot build it, and why.
    No(String),
}

/// The command.
pub fn command(root: &Path, options: &Options) -> Result<End> {
    let built = build(root, options.out.as_deref(), &options.profile)?;
    Ok(
        if built.iter().any(|(_, built)| matches!(built, Built::Yes)) {
            End::Success
        } else {
            End::NothingExecuted
        },
    )
}

/// Where providers go if nothing else is said.
pub fn default_folder(root: &Path) -> Result<PathBuf> {
    Ok(cargo::metadata(root)?
        .target_directory
        .join(overt::load::PROVIDER_FOLDER))
}

/// Builds all that this machine can build, with one line for each. Fails when one that should build does not, or is not what
/// its sources say.
pub fn build(root: &Path, out: Option<&Path>, profile: &str) -> Result<Vec<(&'static str, Built)>> {
    let folder = match out {
        Some(out) => std::path::absolute(out)?,
        None => default_folder(root)?,
    };
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    // Two builds at once would mix one's library with the other's manifest. The lock ends with the file.
    let lock_path = folder.join(".lock");
    let lock = File::create(&lock_path).with_context(|| lock_path.display().to_string())?;
    lock.lock()
        .with_context(|| lock_path.display().to_string())?;
    let mut results = Vec::new();
    for source in PROVIDERS {
        let lacking: Vec<String> = source
            .needs
            .iter()
            .filter(|tool| !tools::present(tool.program))
            .map(|tool| {
                format!(
                    "no `{}` ({}; Debian package {})",
                    tool.program, tool.why, tool.package
                )
            })
            .collect();
        let built = if lacking.is_empty() {
            let summary = one(root, source, &folder, profile)
                .with_context(|| format!("provider `{}`", source.name))?;
            println!("built     {:<8} {summary}", source.name);
            Built::Yes
        } else {
            println!("not built {:<8} {}", source.name, lacking.join(", "));
            Built::No(lacking.join(", "))
        };
        results.push((source.name, built));
    }
    println!("providers lie in {}", folder.display());
    Ok(results)
}

fn one(root: &Path, source: &Source, folder: &Path, profile: &str) -> Result<String> {
    let built = cargo::build(root, source.package, "cdylib", profile)?;
    let facts = elf::read(&built)?;
    if facts.exported != [overt_query_symbol()] {
        bail!(
            "it exports {:?}; wanted `{}` alone, since any other symbol can clash with another provider's",
            facts.exported,
            overt_query_symbol()
        );
    }
    // Copied before it is loaded: cargo may replace its own file at any time, and this very file is what will be shipped.
    let name = built.file_name().context("a library has a file name")?;
    let library = folder.join(name);
    let staged = folder.join(format!(
        ".staged-{}-{}",
        std::process::id(),
        name.to_string_lossy()
    ));
    let staged = Staged(staged);
    std::fs::copy(&built, &staged.0)
        .with_context(|| format!("{} to {}", built.display(), staged.0.display()))?;
    let decl = declarations(&staged.0)?;
    if decl.name != source.name {
        bail!(
            "it calls itself `{}`; its folder is `providers/{}`",
            decl.name,
            source.name
        );
    }
    compare(&root.join("providers").join(source.name).join("src"), &decl)?;
    images(&decl)?;
    let manifest = Manifest::of(
        &decl,
        FileFacts {
            sha256: file_digest(&staged.0)?,
            target: env!("XTASK_TARGET").to_owned(),
            min_glibc: facts.min_glibc.clone(),
            cpu_features: cpu_features(),
        },
    );
    // The manifest of the former library does not fit the new one, so for a moment a reader may find two that disagree; it
    // then refuses the library by its digest. Nobody ever sees half a file.
    std::fs::rename(&staged.0, &library).with_context(|| library.display().to_string())?;
    write_atomically(&Manifest::path_for(&library), manifest.to_text().as_bytes())?;
    let not_built = decl
        .kernels
        .iter()
        .filter(|kernel| kernel.not_built.is_some())
        .count();
    let mut summary = format!(
        "{} {} kernels, {} images, glibc {} or newer, needs {}",
        decl.version,
        decl.kernels.len(),
        decl.images.len(),
        facts.min_glibc.as_deref().unwrap_or("any"),
        facts.needed.join(" "),
    );
    if not_built > 0 {
        summary.push_str(&format!(", {not_built} kernels declared and not built"));
    }
    Ok(summary)
}

/// A file that goes away unless it was renamed.
struct Staged(PathBuf);

impl Drop for Staged {
    fn drop(&mut self) {
        // It is gone after the rename, which is the good case.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn overt_query_symbol() -> &'static str {
    overt::load::QUERY_SYMBOL
}

/// Loads the library as the runtime does, and returns what it declares.
fn declarations(library: &Path) -> Result<ProviderDecl> {
    let request = LoadRequest {
        asked: vec![library.to_owned()],
        ..LoadRequest::default()
    };
    let loaded = load(&request)?;
    let provider = loaded
        .providers
        .first()
        .context("the loader reports success and no provider")?;
    Ok((*provider.decl).clone())
}

/// Kernels found in the sources and kernels that the query returns are the same, and every returned one is usable.
fn compare(folder: &Path, decl: &ProviderDecl) -> Result<()> {
    let declared = sources::kernels(folder)?;
    let mut differences = Vec::new();
    for (id, file) in &declared {
        if decl.kernel(id).is_none() {
            differences.push(format!(
                "`{id}` is declared in {} and not in the library: its registration was dropped",
                file.display()
            ));
        }
    }
    for kernel in &decl.kernels {
        if !declared.contains_key(&kernel.id) {
            differences.push(format!(
                "`{}` is in the library and no `kernel!` under {} declares it",
                kernel.id,
                folder.display()
            ));
        }
        for reason in &kernel.unusable {
            differences.push(format!("`{}` could never be chosen: {reason}", kernel.id));
        }
    }
    if differences.is_empty() {
        Ok(())
    } else {
        bail!("kernels differ:\n  {}", differences.join("\n  "))
    }
}

/// Images are what a loader can use, and each says what it is made of.
fn images(decl: &ProviderDecl) -> Result<()> {
    for image in &decl.images {
        if let Some(reason) = image.unusable.first() {
            bail!("image `{}` runs nowhere: {reason}", image.id);
        }
        if image.not_built.is_none() && image.digest == [0; 32] {
            bail!("image `{}` is built and states no digest", image.id);
        }
    }
    Ok(())
}

/// What the library as a whole is compiled for, by the compiler's own word (see `build.rs`).
fn cpu_features() -> Vec<String> {
    env!("XTASK_TARGET_FEATURES")
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut staged = path.as_os_str().to_owned();
    staged.push(format!(".{}", std::process::id()));
    let staged = Staged(staged.into());
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&staged.0)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&staged.0, path)
    };
    write().with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use overt::load::decl::{KernelDecl, KernelFlags, Tier, Unusable};

    fn kernel(id: &str) -> KernelDecl {
        KernelDecl {
            index: 0,
            id: id.into(),
            op: "add.1".into(),
            tier: Tier::Tuned,
            priority: 0,
            flags: KernelFlags::default(),
            handles: Vec::new(),
            clauses: Vec::new(),
            images: Vec::new(),
            entries: vec!["add".into()],
            knobs: Vec::new(),
            numeric_class: None,
            not_built: None,
            doc: String::new(),
            guard: None,
            must_hold: Vec::new(),
            unusable: Vec::new(),
        }
    }

    fn provider(kernels: Vec<KernelDecl>) -> ProviderDecl {
        ProviderDecl {
            abi_version: 1,
            name: "p".into(),
            version: "1".into(),
            ops: Vec::new(),
            kernels,
            images: Vec::new(),
            knobs: Vec::new(),
            build: None,
        }
    }

    #[test]
    fn a_dropped_registration_an_unknown_kernel_and_an_unusable_one_are_named() {
        let folder = std::env::temp_dir().join(format!("overt-xtask-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let source = "kernel! { id: \"p/add/a\", op: 1, tier: 1 } kernel! { id: \"p/add/b\", op: 1, tier: 1 }";
        std::fs::write(folder.join("add.rs"), source).unwrap();
        let same = compare(
            &folder,
            &provider(vec![kernel("p/add/a"), kernel("p/add/b")]),
        );
        let mut broken = kernel("p/add/a");
        broken.unusable.push(Unusable::NoEntries);
        let differs = compare(&folder, &provider(vec![broken, kernel("p/add/c")]));
        std::fs::remove_dir_all(&folder).unwrap();
        same.unwrap();
        let words = format!("{:#}", differs.unwrap_err());
        for part in [
            "`p/add/b` is declared in",
            "`p/add/c` is in the library and no",
            "`p/add/a` could never be chosen",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
    }
}

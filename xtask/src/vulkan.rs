//! Software drivers for Vulkan: found, or installed where this user may do that, so that the tests have devices on any machine.

use crate::tools;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The loader's own variable for the files that name drivers.
pub const DRIVERS_VARIABLE: &str = "VK_DRIVER_FILES";

/// Where drivers' files lie on a system.
const FOLDERS: [&str; 2] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];

/// Files that name drivers: lavapipe's, and SwiftShader's, a device that lacks much. Says what cannot be had.
pub fn drivers(target: &Path, install: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    match lavapipe(install) {
        Some(file) => found.push(file),
        None => println!(
            "lavapipe cannot be had (Debian packages mesa-vulkan-drivers, libvulkan1): its cases are skipped"
        ),
    }
    match swiftshader(target, install) {
        Ok(file) => found.push(file),
        Err(error) => println!("SwiftShader cannot be had, its cases are skipped: {error:#}"),
    }
    found
}

fn lavapipe(install: bool) -> Option<PathBuf> {
    let look = || {
        FOLDERS.iter().find_map(|folder| {
            let entries = std::fs::read_dir(folder).ok()?;
            entries.flatten().map(|entry| entry.path()).find(|path| {
                let name = path
                    .file_name()
                    .and_then(|n| n.to_str())
                    .unwrap_or_default();
                name.starts_with("lvp_icd") && name.ends_with(".json")
            })
        })
    };
    let complete = || {
        let layer = Path::new("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json");
        look().filter(|_| layer.exists())
    };
    if complete().is_none() && install {
        tools::install(&[
            "mesa-vulkan-drivers",
            "libvulkan1",
            "vulkan-validationlayers",
        ]);
    }
    look()
}

/// SwiftShader lies in the package of a browser, from which it is taken without installing the browser.
fn swiftshader(target: &Path, install: bool) -> Result<PathBuf> {
    let folder = target.join("swiftshader");
    let library = folder.join("libvk_swiftshader.so");
    let description = folder.join("swiftshader_icd.json");
    if !library.exists() {
        if !install {
            bail!("nothing is to be installed");
        }
        fetch(&folder, &library)?;
    }
    let text = serde_json::json!({
        "file_format_version": "1.0.0",
        "ICD": { "library_path": library, "api_version": "1.3.0" },
    });
    std::fs::write(&description, text.to_string())
        .with_context(|| description.display().to_string())?;
    Ok(description)
}

fn fetch(folder: &Path, library: &Path) -> Result<()> {
    let scratch = folder.join("package");
    std::fs::create_dir_all(&scratch)?;
    let run = |program: &str, arguments: &[&str]| -> Result<()> {
        let status = Command::new(program)
            .args(arguments)
            .current_dir(&scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("{program} cannot be started"))?;
        if !status.success() {
            bail!("{program} {}: {status}", arguments.join(" "));
        }
        Ok(())
    };
    println!("fetching SwiftShader out of Debian's chromium-common, 32 MB");
    if run("apt-get", &["download", "chromium-common"]).is_err() {
        tools::update();
        run("apt-get", &["download", "chromium-common"])?;
    }
    let package = std::fs::read_dir(&scratch)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "deb"))
        .context("apt-get left no package")?;
    run("dpkg-deb", &["-x", &package.to_string_lossy(), "unpacked"])?;
    let inside = scratch.join("unpacked/usr/lib/chromium/libvk_swiftshader.so");
    std::fs::rename(&inside, library).with_context(|| inside.display().to_string())?;
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

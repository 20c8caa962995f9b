//! Compiles the shaders of `kernels/device` to SPIR-V, into the Vulkan provider's folder: `overt-shaders ROOT [MODULE…]`.
//!
//! Names of modules restrict what is compiled; the list of sources is then brought up to date for those alone.

#[path = "../../src/shader_sources.rs"]
mod shader_sources;

use anyhow::{Context, Result, anyhow, bail};
use glslang::{
    Compiler, CompilerOptions, ShaderInput, ShaderMessage, ShaderSource, ShaderStage,
    SourceLanguage, SpirvVersion, Target, VulkanVersion,
};
use shader_sources::{COMPILED, LIST, Module};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(
        arguments
            .next()
            .context("the root of the repository is missing")?,
    );
    let wanted: Vec<String> = arguments.collect();
    let modules = shader_sources::all(&root).map_err(|e| anyhow!(e))?;
    let folder = root.join(COMPILED);
    std::fs::create_dir_all(&folder)?;
    let list = folder.join(LIST);
    let old = std::fs::read_to_string(&list).unwrap_or_default();
    let mut digests: BTreeMap<String, String> = old
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, digest)| (name.to_owned(), digest.to_owned()))
        .collect();
    digests.retain(|name, _| modules.iter().any(|module| module.name == *name));
    let compiler = Compiler::acquire().context("the compiler does not start")?;
    let mut failures = 0;
    for module in &modules {
        let chosen =
            |name: &String| module.name == *name || module.name.starts_with(&format!("{name}."));
        if !wanted.is_empty() && !wanted.iter().any(chosen) {
            continue;
        }
        match compile(compiler, module) {
            Ok(code) => {
                let bytes: Vec<u8> = code.iter().flat_map(|w| w.to_le_bytes()).collect();
                let path = folder.join(format!("{}.spv", module.name));
                std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
                digests.insert(module.name.clone(), module.digest());
            }
            Err(error) => {
                eprintln!("{} ({}): {error:#}", module.name, module.source.display());
                failures += 1;
            }
        }
    }
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        let stem = path
            .file_stem()
            .and_then(|s| s.to_str())
            .unwrap_or_default();
        if path.extension().is_some_and(|e| e == "spv") && !modules.iter().any(|m| m.name == stem) {
            std::fs::remove_file(&path)?;
        }
    }
    let text: String = digests
        .iter()
        .map(|(name, digest)| format!("{name} {digest}\n"))
        .collect();
    std::fs::write(&list, text)?;
    if failures > 0 {
        bail!("{failures} shaders do not compile");
    }
    println!("{} shaders in {}", digests.len(), folder.display());
    Ok(())
}

fn compile(compiler: &Compiler, module: &Module) -> Result<Vec<u32>> {
    let source = ShaderSource::try_from(module.text.clone()).map_err(|e| anyhow!("{e:?}"))?;
    let options = CompilerOptions {
        source_language: SourceLanguage::GLSL,
        target: Target::Vulkan {
            version: VulkanVersion::Vulkan1_2,
            spirv_version: SpirvVersion::SPIRV1_5,
        },
        version_profile: None,
        messages: ShaderMessage::DEFAULT,
    };
    let input = ShaderInput::new(&source, ShaderStage::Compute, &options, None, None)
        .map_err(|e| anyhow!("{e}"))?;
    let shader = compiler.create_shader(input).map_err(|e| anyhow!("{e}"))?;
    shader.compile().map_err(|e| anyhow!("{e}"))
}

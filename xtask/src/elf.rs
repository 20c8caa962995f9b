//! What a library's file itself shows.

use anyhow::{Context, Result, bail};
use object::read::elf::{ElfFile, FileHeader, SectionHeader, Sym};
use object::{Endianness, FileKind, elf};
use std::path::Path;

/// Facts read from an ELF file.
#[derive(Debug, PartialEq, Eq)]
pub struct ElfFacts {
    /// Defined symbols that other libraries can bind to, sorted.
    pub exported: Vec<String>,
    /// Least glibc, as `2.34`, by the versions of the symbols it binds to.
    pub min_glibc: Option<String>,
    /// Libraries it needs.
    pub needed: Vec<String>,
}

/// Reads them.
pub fn read(path: &Path) -> Result<ElfFacts> {
    let data = std::fs::read(path).with_context(|| path.display().to_string())?;
    let facts = match FileKind::parse(&*data)? {
        FileKind::Elf64 => facts(ElfFile::<elf::FileHeader64<Endianness>>::parse(&*data)?),
        FileKind::Elf32 => facts(ElfFile::<elf::FileHeader32<Endianness>>::parse(&*data)?),
        other => bail!("{} is {other:?}, not ELF", path.display()),
    };
    facts.with_context(|| path.display().to_string())
}

fn facts<Elf: FileHeader<Endian = Endianness>>(file: ElfFile<'_, Elf>) -> Result<ElfFacts> {
    let (endian, data) = (file.endian(), file.data());
    let sections = file.elf_section_table();
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    let mut exported = Vec::new();
    for symbol in symbols.iter() {
        let reachable = symbol.st_bind() != elf::STB_LOCAL
            && matches!(
                symbol.st_visibility(),
                elf::STV_DEFAULT | elf::STV_PROTECTED
            );
        if reachable && !symbol.is_undefined(endian) {
            exported.push(
                String::from_utf8_lossy(symbol.name(endian, symbols.strings())?).into_owned(),
            );
        }
    }
    exported.sort();

    let mut glibc: Option<(u32, u32)> = None;
    if let Some((mut needs, link)) = sections.gnu_verneed(endian, data)? {
        let strings = sections.strings(endian, data, link)?;
        while let Some((_, mut versions)) = needs.next()? {
            while let Some(version) = versions.next()? {
                let name = String::from_utf8_lossy(version.name(endian, strings)?).into_owned();
                let Some(number) = name.strip_prefix("GLIBC_") else {
                    continue;
                };
                match parse(number) {
                    Some(number) => glibc = glibc.max(Some(number)),
                    None => bail!("it binds to {name}, which no version of glibc promises to keep"),
                }
            }
        }
    }

    let mut needed = Vec::new();
    for section in sections.iter() {
        if let Some((entries, link)) = section.dynamic(endian, data)? {
            let strings = sections.strings(endian, data, link)?;
            needed = needed_libraries::<Elf>(entries, endian, strings)?;
        }
    }
    let min_glibc = glibc.map(|(major, minor)| format!("{major}.{minor}"));
    Ok(ElfFacts {
        exported,
        min_glibc,
        needed,
    })
}

fn needed_libraries<Elf: FileHeader<Endian = Endianness>>(
    entries: &[Elf::Dyn],
    endian: Endianness,
    strings: object::read::StringTable<'_>,
) -> Result<Vec<String>> {
    use object::read::elf::Dyn;
    let mut needed = Vec::new();
    for entry in entries {
        if entry.tag32(endian) == Some(elf::DT_NEEDED) {
            needed.push(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
        }
    }
    Ok(needed)
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn this_program_shows_its_needs() {
        let facts = read(&std::env::current_exe().unwrap()).unwrap();
        assert!(
            facts.needed.iter().any(|library| library == "libc.so.6"),
            "{facts:?}"
        );
        let least = facts.min_glibc.as_deref().and_then(parse).unwrap();
        assert!(overt::load::glibc_version().unwrap() >= least, "{facts:?}");
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(parse("2.4") < parse("2.34"));
        assert_eq!(parse("PRIVATE"), None);
    }
}

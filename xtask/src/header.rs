//! The C header of the ABI, generated from the Rust spelling of it.
//!
//! cbindgen turns types and constants into C. What it cannot know is added here: the rules (the crate's front matter) at
//! the top, the opaque handles, the export macro, the prototype of the one exported function, and two macros that make the
//! size rule easy to keep.

use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the header lies, from the root of the repository.
pub const PATH: &str = "abi/include/overt.h";

/// Source files that stay out: users of DLPack have its own header, and two definitions of one struct do not compile.
const EXCLUDED: [&str; 2] = ["lib.rs", "dlpack.rs"];

/// Order in which a reader meets the parts: what happens first stands first. Files that are not named come last.
const ORDER: [&str; 13] = [
    "query.rs",
    "status.rs",
    "atoms.rs",
    "arch.rs",
    "tensor.rs",
    "call.rs",
    "guard.rs",
    "kernel.rs",
    "op.rs",
    "device.rs",
    "receipt.rs",
    "provider.rs",
    "",
];

const AFTER_INCLUDES: &str = r#"
/**
 * Marks the one symbol that a provider exports; build everything else with `-fvisibility=hidden`.
 */
#if !defined(OVERT_EXPORT)
#if defined(_WIN32)
#define OVERT_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define OVERT_EXPORT __attribute__((visibility("default")))
#else
#define OVERT_EXPORT
#endif
#endif

/**
 * Whether the struct at `pointer`, of type `type`, is large enough to hold `field`. A field that it does not hold reads as
 * zero, and is not written.
 */
#define OVERT_HAS(pointer, type, field) \
  ((pointer)->size >= offsetof(type, field) + sizeof(((type *)0)->field))

/**
 * Element `index` of the array at `base`, whose elements are of a `type` that begins with its size. The size that the first
 * element states is the stride of the array: `base[index]` is wrong as soon as the other side's struct has grown.
 */
#define OVERT_AT(type, base, index) \
  ((const type *)(const void *)((const unsigned char *)(base) + (size_t)(index) * (base)->size))
"#;

const PROTOTYPE: &str = r#"
#ifdef __cplusplus
extern "C" {
#endif

/**
 * The function that a provider defines and exports, under the name `OVERT_QUERY_SYMBOL`. Its rules are those of
 * `OvertProviderQuery`.
 */
OVERT_EXPORT OvertStatus overt_provider_query(const OvertQueryRequest *request, OvertQueryResponse *response);

#ifdef __cplusplus
}
#endif
"#;

/// The header's text, made from `abi/src` under `root`.
///
/// # Errors
/// A source file that cannot be read or parsed, or a public type that would be missing from the header.
pub fn generate(root: &Path) -> Result<String> {
    let mut texts = Vec::new();
    for path in sources(root)? {
        texts.push(
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?,
        );
    }
    let mut names = Vec::new();
    let mut callbacks = Vec::new();
    let mut after_includes = AFTER_INCLUDES.to_owned();
    for item in texts.iter().flat_map(|text| items(text)) {
        match item.kind {
            Kind::Type => names.push(item.name.to_owned()),
            Kind::Callback(signature) => {
                names.push(item.name.to_owned());
                callbacks.push((
                    format!("Option<{}>", item.name),
                    format!("Option<{signature}>"),
                ));
            }
            Kind::Opaque => {
                write!(
                    after_includes,
                    "\n{}typedef struct {n} {n};\n",
                    comment(&item.doc),
                    n = item.name
                )?;
            }
            Kind::Text(value) => write!(
                after_includes,
                "\n{}#define {} {value}\n",
                comment(&item.doc),
                item.name
            )?,
        }
    }
    for text in &mut texts {
        for (alias, signature) in &callbacks {
            *text = text.replace(alias, signature);
        }
    }
    let scratch = Scratch::new()?;
    let mut builder = cbindgen::Builder::new();
    for (number, text) in texts.iter().enumerate() {
        let path = scratch.0.join(format!("{number:02}.rs"));
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        builder = builder.with_src(path);
    }
    let front = root.join("abi/src/lib.rs");
    let front =
        fs::read_to_string(&front).with_context(|| format!("reading {}", front.display()))?;

    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        header: Some(front_matter(&front)),
        after_includes: Some(after_includes),
        include_version: false,
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        cpp_compat: true,
        style: cbindgen::Style::Both,
        usize_is_size_t: true,
        documentation: true,
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        line_length: 120,
        tab_width: 2,
        ..cbindgen::Config::default()
    };
    // Types are reached through functions as a rule, and this crate has none: each is asked for by name.
    config.export.include.clone_from(&names);
    config.sort_by = cbindgen::SortKey::None;

    let mut bytes = Vec::new();
    builder
        .with_config(config)
        .generate()
        .context("cbindgen could not read abi/src")?
        .write(&mut bytes);
    let text = polish(&String::from_utf8(bytes).context("cbindgen wrote text that is not UTF-8")?);
    for name in &names {
        let found = [
            format!("}} {name};\n"),
            format!(" {name};\n"),
            format!("(*{name})("),
        ];
        ensure!(
            found.iter().any(|f| text.contains(f.as_str())),
            "{name} of abi/src is missing from the header"
        );
    }
    for name in texts
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.strip_prefix("pub const "))
    {
        let name = name.split(':').next().unwrap_or(name);
        ensure!(
            text.contains(&format!("#define {name} ")),
            "{name} of abi/src is missing from the header"
        );
    }
    Ok(text)
}

/// Writes the header into the tree.
///
/// # Errors
/// Those of [`generate`], and of the file system.
pub fn write(root: &Path) -> Result<()> {
    let path = root.join(PATH);
    let text = generate(root)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

/// Holds the header in the tree against the generated one.
///
/// # Errors
/// The first line that differs, and those of [`generate`].
pub fn check(root: &Path) -> Result<()> {
    let path = root.join(PATH);
    let have = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let want = generate(root)?;
    if have == want {
        return Ok(());
    }
    let line = have
        .lines()
        .zip(want.lines())
        .take_while(|(h, w)| h == w)
        .count();
    bail!(
        "{PATH} differs from what abi/src says, first at line {}: it has {:?}, wanted {:?}; run `cargo xtask docs --header`",
        line + 1,
        have.lines().nth(line).unwrap_or("no such line"),
        want.lines().nth(line).unwrap_or("no such line"),
    )
}

/// The ABI's source files, in reading order.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join("abi/src");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
            continue;
        };
        if name.ends_with(".rs") && !EXCLUDED.contains(&name) {
            let rank = ORDER.iter().position(|o| *o == name).unwrap_or(ORDER.len());
            found.push((rank, path));
        }
    }
    ensure!(!found.is_empty(), "no ABI sources in {}", folder.display());
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// A folder for the sources as cbindgen gets them, gone when dropped.
///
/// cbindgen reads files alone, and it takes `Option` of a named function type for an unknown generic struct, so it gets the
/// sources with those names written out.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "overt-header-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        // Not `create_dir_all`: a folder that is there already belongs to someone else.
        fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left behind in the temporary folder harms nobody, and there is nobody to tell.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A public item of a source file.
struct Item<'a> {
    name: &'a str,
    doc: Vec<&'a str>,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// A struct, union or alias, which cbindgen writes.
    Type,
    /// An alias of a function type, with that type.
    Callback(&'a str),
    /// A handle: declared forward, never defined.
    Opaque,
    /// A text constant with its literal. cbindgen writes numbers alone.
    Text(&'a str),
}

/// Public items of a source file in order. The sources are formatted by rustfmt, so an item starts its line.
fn items(text: &str) -> Vec<Item<'_>> {
    let mut found = Vec::new();
    let mut doc = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_end();
        if let Some(words) = line.strip_prefix("///") {
            doc.push(words.trim());
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let mut doc = std::mem::take(&mut doc);
        let opaque = doc.contains(&"cbindgen:no-export");
        let Some((word, rest)) = line
            .strip_prefix("pub ")
            .and_then(|rest| rest.split_once(' '))
        else {
            continue;
        };
        let name = &rest[..rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len())];
        // The whole item up to its `;`, which for an alias or a constant may stand some lines on.
        let value = text[start..]
            .split_once(';')
            .and_then(|(item, _)| item.split_once('='))
            .map(|(_, value)| value.trim());
        let kind = match (word, value) {
            ("struct", _) if opaque => Kind::Opaque,
            ("struct" | "union", _) => Kind::Type,
            ("type", Some(value)) if value.starts_with("unsafe extern") => Kind::Callback(value),
            ("type", _) => Kind::Type,
            ("const", Some(value)) if rest.contains(": &str") => Kind::Text(value),
            _ => continue,
        };
        if opaque {
            doc.retain(|line| !line.is_empty() && *line != "cbindgen:no-export");
        }
        found.push(Item { name, doc, kind });
    }
    found
}

/// A Doxygen comment of these lines.
fn comment(lines: &[&str]) -> String {
    let mut out = String::from("/**\n");
    for line in lines {
        out.push_str(format!(" * {line}").trim_end());
        out.push('\n');
    }
    out.push_str(" */\n");
    out
}

/// The crate's front matter as the header's first comment.
fn front_matter(lib: &str) -> String {
    let mut lines = vec!["@file overt.h", ""];
    lines.extend(
        lib.lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()),
    );
    lines.extend([
        "",
        "Generated from `abi/src` by `cargo xtask docs --header`; change it there.",
    ]);
    comment(&lines).trim_end().to_owned()
}

/// Turns what is Rust in comments into C, puts the prototype inside the include guard, and drops doubled blank lines.
fn polish(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    for line in text.lines() {
        let is_comment = line.trim_start().starts_with(['*', '/']);
        let line = if is_comment {
            unlink(line)
        } else {
            line.to_owned()
        };
        let line = line.trim_end();
        if line.is_empty() && blank {
            continue;
        }
        blank = line.is_empty();
        out.push_str(line);
        out.push('\n');
    }
    guard(&out)
}

/// Puts the include guard around everything but the opening comment, and the prototype at its end.
fn guard(text: &str) -> String {
    let split = text.find("*/\n").map_or(0, |at| at + 3);
    let (front, body) = text.split_at(split);
    format!(
        "{front}\n#ifndef OVERT_H\n#define OVERT_H\n\n{}\n{PROTOTYPE}\n#endif /* OVERT_H */\n",
        body.trim()
    )
}

/// ``[`crate::Name`]`` and ``[`Name::field`]`` become `` `Name` `` and `` `Name.field` ``: a C reader has no Rust paths.
fn unlink(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("[`") {
        let Some(end) = rest[start..].find("`]").map(|end| start + end) else {
            break;
        };
        out.push_str(&rest[..start]);
        let name = &rest[start + 2..end];
        let _ = write!(
            out,
            "`{}`",
            name.trim_start_matches("crate::").replace("::", ".")
        );
        rest = &rest[end + 2..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_in_the_tree_is_the_generated_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        check(&root).expect("abi/include/overt.h is up to date");
    }

    #[test]
    fn rust_links_become_c_names() {
        assert_eq!(
            unlink("* See [`crate::OvertCall`] and [`OvertCall::knobs`]."),
            "* See `OvertCall` and `OvertCall.knobs`."
        );
    }
}

//! `docs/ops.md`: the common ops, from their own declarations.

use anyhow::{Context, Result, bail};
use overt::dtype::Shown;
use overt::kernels::op::Rows;
use overt::kernels::ops;
use overt::kernels::schema::classes::CLASSES;
use std::fmt::Write;
use std::path::Path;

const FILE: &str = "docs/ops.md";

const HEAD: &str = "\
# The common ops

Generated from `kernels/src/ops` by `cargo xtask docs`; do not edit. What each one computes to the last rule stands in its folder's
`mod.rs`, beside the oracle that says so in numbers, and in the documentation of `overt-kernels`. `overt ops` shows these and
those that providers bring.

In a schema an operand with `?` may be left out. An attribute with a value as its default is one that a kernel must declare to handle, or it
is rejected at any other; one whose default is an expression over symbols is a bound that the host may tighten. `may_alias` allows an
output to be the very memory of an input.
";

/// Writes the page.
pub fn write(root: &Path) -> Result<()> {
    std::fs::write(root.join(FILE), text()?).with_context(|| FILE.to_owned())
}

/// Fails where the page is not what [`write()`] would make.
pub fn check(root: &Path) -> Result<()> {
    let now = std::fs::read_to_string(root.join(FILE)).with_context(|| FILE.to_owned())?;
    if now != text()? {
        bail!("{FILE} is not what the ops declare: run `cargo xtask docs`");
    }
    Ok(())
}

fn text() -> Result<String> {
    let mut t = HEAD.to_owned();
    t.push_str("\n## Classes of element types\n\n| Class | Types | For |\n|---|---|---|\n");
    for class in CLASSES {
        let types: Vec<String> = class.dtypes.iter().map(|d| Shown(*d).to_string()).collect();
        writeln!(
            t,
            "| `{}` | {} | {} |",
            class.name,
            types.join(", "),
            class.doc
        )?;
    }
    t.push_str("\n## Ops\n");
    for op in ops::ALL {
        let schema = op.parse().with_context(|| op.name.to_owned())?;
        let rows = match op.rows {
            Rows::Along(symbol) => format!("rows along `{symbol}`"),
            Rows::Requests => "the requests of a batch".to_owned(),
            Rows::Dependent => "none".to_owned(),
        };
        writeln!(
            t,
            "\n### `{}`\n\n{}. Independent parts: {rows}.\n\n```\n{schema}\n```",
            op.name,
            capital(op.doc),
        )?;
    }
    Ok(t)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

//! `docs`: everything that is generated from the sources and checked in.

use crate::{End, header, ops_page};
use anyhow::Result;
use std::path::Path;

/// Options of `docs`.
#[derive(clap::Args)]
pub struct Options {
    /// The C header of the ABI alone.
    #[arg(long)]
    header: bool,
    /// Change nothing; fail where the tree differs.
    #[arg(long)]
    check: bool,
}

/// One generated file.
struct Generated {
    name: &'static str,
    write: fn(&Path) -> Result<()>,
    check: fn(&Path) -> Result<()>,
}

const HEADER: Generated = Generated {
    name: "abi/include/overt.h",
    write: header::write,
    check: header::check,
};

const OPS: Generated = Generated {
    name: "docs/ops.md",
    write: ops_page::write,
    check: ops_page::check,
};

/// All generated files. A new one adds a line.
const ALL: &[Generated] = &[HEADER, OPS];

/// The command.
pub fn command(root: &Path, options: &Options) -> Result<End> {
    let chosen = if options.header { &[HEADER][..] } else { ALL };
    for generated in chosen {
        if options.check {
            (generated.check)(root)?;
            println!("up to date: {}", generated.name);
        } else {
            (generated.write)(root)?;
            println!("written:    {}", generated.name);
        }
    }
    Ok(End::Success)
}

/// Holds all generated files against the sources.
pub fn check(root: &Path) -> Result<()> {
    ALL.iter().try_for_each(|generated| (generated.check)(root))
}

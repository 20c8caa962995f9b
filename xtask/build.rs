//! Keeps the instruction-set features that this workspace is compiled for.
//!
//! xtask is built by the same cargo invocation, with the same flags and configuration files, as the providers that it builds
//! itself. So cargo's own word on the features, which it gives to build scripts alone, holds for them too.

fn main() {
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    println!("cargo::rustc-env=XTASK_TARGET_FEATURES={features}");
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=XTASK_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
}

//! A runtime from the options of the command line.

use crate::args::{Global, OnFallback};
use crate::exit::Failure;
use overt::{Error, Pin, Policy, Runtime};
use tracing_subscriber::EnvFilter;

/// Loads and starts providers, and sets the policy.
pub fn runtime(global: &Global) -> Result<Runtime, Failure> {
    let runtime = load(global)?;
    runtime.set_policy(policy(global, &runtime)?)?;
    Ok(runtime)
}

/// Loads and starts providers.
pub fn load(global: &Global) -> Result<Runtime, Error> {
    let mut builder = Runtime::builder()
        .search(!global.no_search)
        .checked(global.checked);
    for path in &global.providers {
        // The library takes absolute paths, since it never loads relative to where it happens to run; a user at a prompt means
        // this very folder.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        builder = builder.providers(path);
    }
    for (id, value) in &global.knob {
        builder = builder.knob(id, value);
    }
    builder.start()
}

fn policy(global: &Global, runtime: &Runtime) -> Result<Policy, Error> {
    let mut policy = Policy::on_fallback(match global.policy {
        OnFallback::Allow => overt::OnFallback::Allow,
        OnFallback::Warn => overt::OnFallback::Warn,
        OnFallback::Strict => overt::OnFallback::Error,
    })
    .host_fallback(global.host_fallback)
    .batch_invariant(global.batch_invariant);
    for kernel in &global.deny {
        policy = policy.deny(kernel);
    }
    for (op, kernel) in &global.pin {
        // A pin names its op with the version; at the prompt the newest is meant where none is given.
        policy.pins.push(Pin {
            op: runtime.op(op)?.name().to_owned(),
            device: None,
            kernel: kernel.clone(),
        });
    }
    Ok(policy)
}

/// Why there is no device, if there is none: no provider was found, or those that were found failed.
pub fn no_device(runtime: &Runtime) -> Option<String> {
    if !runtime.devices().is_empty() {
        return None;
    }
    let mut why = "there is no device".to_owned();
    let failed = runtime.failed_providers();
    let running = runtime.providers();
    if failed.is_empty() && running.is_empty() {
        why.push_str(": no provider was found");
    }
    for provider in running {
        why.push_str(&format!("; provider {} has none", provider.name));
        if !provider.words.is_empty() {
            why.push_str(&format!(": {}", provider.words));
        }
    }
    for provider in failed {
        why.push_str(&format!(
            "; provider {} did not load: {}",
            provider.label(),
            provider.reason
        ));
    }
    why.push_str(" (overt doctor shows every path)");
    Some(why)
}

/// Sends diagnostics of the library to standard error.
pub fn log(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    // A second subscriber in one process is a fault of this program alone, and no reason to stop.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(level))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .without_time()
        .try_init();
}

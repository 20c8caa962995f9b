//! Prints the layouts that `golden/` keeps. To accept a change, which before 1.0 raises 0.N:
//!
//! ```text
//! cargo run -p overt-abi --example golden overt > abi/golden/0.1.txt
//! cargo run -p overt-abi --example golden dlpack > abi/golden/dlpack.txt
//! ```

#[path = "../tests/layouts/mod.rs"]
mod layouts;

fn main() -> Result<(), String> {
    let list = match std::env::args().nth(1).as_deref() {
        Some("overt") => layouts::overt(),
        // In a file of its own, since it changes with DLPack and not with this ABI.
        Some("dlpack") => layouts::dlpack(),
        other => return Err(format!("give `overt` or `dlpack`, not {other:?}")),
    };
    print!("{}", layouts::text(&list));
    Ok(())
}

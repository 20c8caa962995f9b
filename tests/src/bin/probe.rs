//! A program for tests that need a process of their own.

use overt::Runtime;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    match command.as_str() {
        "report" => report(),
        other => {
            eprintln!("no command `{other}`; {} argument(s) follow", rest.len());
            std::process::exit(2);
        }
    }
}

/// Starts as a host program without settings does, and prints what was tried.
fn report() {
    match Runtime::builder().start() {
        Ok(runtime) => print!("{}", runtime.load_report()),
        Err(error) => println!("{error}"),
    }
}

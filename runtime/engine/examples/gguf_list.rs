//! Lists a GGUF file: `cargo run --release -p overt-engine --example gguf_list -- MODEL.gguf`

use overt_engine::gguf::{GgufFile, Value};
use std::io::{BufWriter, Write, stdout};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or("wanted the path of a GGUF file")?;
    let start = Instant::now();
    let file = GgufFile::open(path)?;
    let opened = start.elapsed();
    let gguf = file.contents();
    let mut out = BufWriter::new(stdout().lock());
    for (key, value) in gguf.metadata() {
        match value {
            Value::String(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let shown: String = text.chars().take(60).collect();
                writeln!(out, "{key} = {shown:?}")?;
            }
            Value::Array(array) => writeln!(out, "{key} = {array:?}")?,
            other => writeln!(out, "{key} = {other:?}")?,
        }
    }
    for info in gguf.tensors() {
        writeln!(out, "{info:?}")?;
    }
    writeln!(
        out,
        "{} bytes, version {}, {} keys, {} tensors, alignment {}; opened in {opened:.1?}",
        file.size(),
        gguf.version(),
        gguf.metadata_len(),
        gguf.tensors().len(),
        gguf.alignment(),
    )?;
    Ok(out.flush()?)
}

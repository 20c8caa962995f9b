//! The tokenizer of SmolLM2's own file against the ids that llama.cpp gives: over a thousand strings of many kinds. The file is not part of the project:
//! `cargo xtask run --model` and `cargo xtask test --long` fetch it, and without it the test is skipped, which it says.

use overt_engine::gguf::GgufFile;
use overt_engine::text::{SpecialText, SpecialTokens, Tokenizer};
use std::path::{Path, PathBuf};

/// The model's file: that of `OVERT_TEST_MODEL`, which must be there, else what was fetched.
fn model() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("OVERT_TEST_MODEL") {
        return Some(PathBuf::from(path));
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let fetched = target.join("models/SmolLM2-135M-Instruct.Q4_1.gguf");
    fetched.exists().then_some(fetched)
}

#[test]
fn ids_are_those_of_llama_cpp_on_more_than_a_thousand_strings() {
    let Some(path) = model() else {
        println!("skipped: the model is not there; `cargo xtask run --model` fetches it");
        return;
    };
    let file = GgufFile::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let tokenizer = Tokenizer::from_gguf(&file.contents()).unwrap();
    let lines = include_str!("../../runtime/engine/tests/files/text-smollm2.jsonl");
    let mut strings = 0;
    let mut special = 0;
    let mut lossless = 0;
    for line in lines.lines() {
        let parts: Vec<serde_json::Value> = serde_json::from_str(line).unwrap();
        let text = parts[0].as_str().unwrap();
        let ids = |part: &serde_json::Value| -> Vec<u32> {
            serde_json::from_value(part.clone()).unwrap()
        };
        let plain = ids(&parts[1]);
        let got = tokenizer.encode(text, SpecialTokens::AsText).unwrap();
        assert_eq!(got, plain, "{text:?}");
        let parsed = parts.get(2).map_or_else(|| plain.clone(), ids);
        let got = tokenizer.encode(text, SpecialTokens::Parse).unwrap();
        assert_eq!(got, parsed, "{text:?}, special tokens parsed");
        let back = tokenizer.decode(&plain, SpecialText::Show).unwrap();
        lossless += usize::from(back == text);
        strings += 1;
        special += usize::from(parts.len() > 2);
    }
    assert!(strings > 1000 && special > 10, "{strings}, {special}");
    // The vocabulary has no token for some bytes (control characters, parts of rare scripts), which llama.cpp drops too.
    assert!(lossless * 10 > strings * 9, "{lossless} of {strings}");
}

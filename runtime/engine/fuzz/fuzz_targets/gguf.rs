//! Arbitrary bytes as a GGUF file: read whole or refused, never a panic. With the seeds of the tests, from `runtime/engine`:
//!
//! `cargo +nightly fuzz run gguf fuzz/corpus/gguf tests/files/gguf -- -max_len=16384`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A refusal is a good answer; `exercise` panics where a promise of the reader does not hold.
    let _refused = overt_engine::gguf::exercise(bytes);
});

//! Small vocabularies of both kinds give the tokens that llama.cpp gives. `files/text_make.py` made the file, and says what is in it.

use overt_engine::text::{
    Decoder, SpecialText, SpecialTokens, TextError, TokenKind, Tokenizer, Vocabulary,
};
use proptest::prelude::*;
use serde_json::Value;
use std::sync::LazyLock;

static FILE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("files/text-tiny.json")).unwrap());

/// The vocabulary of a way: `gpt2/<pre-tokenizer>`, `llama/prefix` or `llama/plain`.
fn vocabulary(way: &str) -> Vocabulary {
    let (model, how) = way.split_once('/').unwrap();
    let file = &FILE[model];
    let list = |name: &str| file[name].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut vocabulary = Vocabulary {
        model: model.to_owned(),
        tokens: list("tokens")
            .iter()
            .map(|t| text(t).into_bytes())
            .collect(),
        types: list("types")
            .iter()
            .map(|t| t.as_i64().unwrap() as i32)
            .collect(),
        scores: list("scores")
            .iter()
            .map(|s| s.as_f64().unwrap() as f32)
            .collect(),
        merges: list("merges").iter().map(text).collect(),
        ..Vocabulary::default()
    };
    let id = |text: &str| {
        vocabulary
            .tokens
            .iter()
            .position(|t| t == text.as_bytes())
            .map(|id| id as u32)
    };
    if model == "gpt2" {
        (vocabulary.bos, vocabulary.eos) = (id("<|im_start|>"), id("<|im_end|>"));
        vocabulary.splitter = Some(how.to_owned());
        if how == "smollm" {
            (vocabulary.add_bos, vocabulary.add_eos) = (Some(true), Some(true));
        }
    } else {
        (vocabulary.bos, vocabulary.eos, vocabulary.unknown) = (Some(1), Some(2), Some(0));
        vocabulary.space_prefix = Some(how == "prefix");
        if how == "plain" {
            (vocabulary.add_bos, vocabulary.add_eos) = (Some(false), Some(true));
        }
    }
    vocabulary
}

fn tokenizer(way: &str) -> Tokenizer {
    Tokenizer::new(&vocabulary(way)).unwrap_or_else(|error| panic!("{way}: {error}"))
}

fn ways() -> Vec<String> {
    let ways = FILE["ways"].as_array().unwrap();
    ways.iter()
        .map(|way| way.as_str().unwrap().to_owned())
        .collect()
}

fn ids(list: &Value) -> Vec<u32> {
    let list = list.as_array().unwrap();
    list.iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

#[test]
fn every_string_gives_the_reference_tokens_in_every_way() {
    let ways: Vec<(String, Tokenizer)> = ways()
        .into_iter()
        .map(|way| (way.clone(), tokenizer(&way)))
        .collect();
    let cases = FILE["cases"].as_array().unwrap();
    let mut compared = 0;
    for case in cases {
        let text = case[0].as_str().unwrap();
        for group in case[1].as_array().unwrap() {
            let wanted = ids(&group[1]);
            for place in ids(&group[0]) {
                let (way, tokenizer) = &ways[place as usize / 2];
                let special = match place % 2 {
                    0 => SpecialTokens::AsText,
                    _ => SpecialTokens::Parse,
                };
                let got = tokenizer.encode(text, special).unwrap();
                assert_eq!(got, wanted, "{way}, {special:?}: {text:?}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, cases.len() * ways.len() * 2);
    assert!(cases.len() >= 300, "{}", cases.len());
}

#[test]
fn the_ways_differ_on_these_strings() {
    // Otherwise equality would say nothing about how text is split.
    for (place, way) in ways().iter().enumerate() {
        for (other, name) in ways().iter().enumerate().skip(place + 1) {
            let differ = FILE["cases"].as_array().unwrap().iter().filter(|case| {
                let group = |wanted: usize| {
                    let groups = case[1].as_array().unwrap();
                    groups
                        .iter()
                        .position(|g| ids(&g[0]).contains(&(2 * wanted as u32)))
                };
                group(place) != group(other)
            });
            assert!(differ.count() > 3, "{way} and {name}");
        }
    }
}

#[test]
fn beginning_and_end_tokens_are_as_the_file_says() {
    for way in ways() {
        let got = tokenizer(&way)
            .encode_whole("the", SpecialTokens::AsText)
            .unwrap();
        assert_eq!(got, ids(&FILE["ends"][&way]), "{way}");
    }
}

#[test]
fn a_prompt_has_one_beginning_token_whether_or_not_the_template_wrote_it() {
    let tokenizer = tokenizer("gpt2/smollm");
    let bos = tokenizer.bos().unwrap();
    let plain = tokenizer.encode_prompt("the").unwrap();
    let written = tokenizer.encode_prompt("<|im_start|>the").unwrap();
    assert_eq!(plain, written);
    assert_eq!(plain.iter().filter(|token| **token == bos).count(), 1);
}

#[test]
fn every_token_stands_for_the_reference_bytes() {
    for (way, model) in [("gpt2/smollm", "gpt2"), ("llama/prefix", "llama")] {
        let tokenizer = tokenizer(way);
        let shown = FILE["shown"][model].as_array().unwrap();
        assert_eq!(shown.len(), tokenizer.count());
        for (token, wanted) in (0..).zip(shown) {
            let got: String = tokenizer
                .bytes(token)
                .unwrap()
                .iter()
                .map(|b| char::from(*b))
                .collect();
            assert_eq!(got, wanted.as_str().unwrap(), "{way}, token {token}");
        }
    }
}

#[test]
fn text_comes_back_from_its_tokens() {
    for way in ["gpt2/qwen2", "llama/prefix", "llama/plain"] {
        let tokenizer = tokenizer(way);
        for text in [
            "the thing's 12",
            " two  spaces",
            "é漢😀\n\n",
            "<|im_end|> the",
            "",
        ] {
            let tokens = tokenizer.encode(text, SpecialTokens::Parse).unwrap();
            // The tiny byte-level vocabulary has no token for the first byte of some characters beyond the BMP; these are not among them.
            assert_eq!(
                tokenizer.decode(&tokens, SpecialText::Show).unwrap(),
                text,
                "{way}"
            );
        }
    }
}

#[test]
fn special_tokens_are_hidden_or_shown() {
    let tokenizer = tokenizer("gpt2/smollm");
    let tokens = tokenizer
        .encode("the<|im_end|><tool>", SpecialTokens::Parse)
        .unwrap();
    assert_eq!(
        tokenizer.decode(&tokens, SpecialText::Hide).unwrap(),
        "the<tool>"
    );
    assert_eq!(
        tokenizer.decode(&tokens, SpecialText::Show).unwrap(),
        "the<|im_end|><tool>"
    );
    let end = tokenizer.eos().unwrap();
    assert_eq!(tokenizer.kind(end).unwrap(), TokenKind::Control);
    assert!(tokenizer.ends_answer(end).unwrap());
    assert!(!tokenizer.ends_answer(tokens[0]).unwrap());
}

#[test]
fn a_character_is_given_when_it_is_whole() {
    let tokenizer = tokenizer("llama/plain");
    // 😀 by its bytes, of which the tiny vocabulary has a token each.
    let byte = |byte: u8| 3 + u32::from(byte);
    let mut decoder = Decoder::new(&tokenizer, SpecialText::Hide);
    for part in [0xF0, 0x9F, 0x98] {
        assert_eq!(decoder.push(byte(part)).unwrap(), "");
    }
    // A hidden token in between parts nothing.
    assert_eq!(decoder.push(2).unwrap(), "");
    assert_eq!(decoder.push(byte(0x80)).unwrap(), "😀");
    assert_eq!(decoder.push(byte(0xC3)).unwrap(), "");
    assert_eq!(decoder.push(byte(b'a')).unwrap(), "\u{FFFD}a");
    assert_eq!(decoder.push(byte(0xE6)).unwrap(), "");
    let error = decoder.push(99_999).unwrap_err();
    assert_eq!(
        error,
        TextError::NoToken {
            got: 99_999,
            count: tokenizer.count()
        }
    );
    assert_eq!(decoder.finish(), "\u{FFFD}");
}

#[test]
fn a_space_is_taken_away_at_the_start_only() {
    let tokenizer = tokenizer("llama/prefix");
    let the = tokenizer.encode("the", SpecialTokens::AsText).unwrap();
    let mut start = Decoder::from_start(&tokenizer, SpecialText::Hide);
    assert_eq!(start.push(the[0]).unwrap(), "the");
    assert_eq!(start.push(the[0]).unwrap(), " the");
    assert_eq!(
        Decoder::new(&tokenizer, SpecialText::Hide)
            .push(the[0])
            .unwrap(),
        " the"
    );
}

#[test]
fn encoding_long_texts_takes_no_more_than_their_length() {
    // Runs that make a matcher go back, a chain of merges, and one long word: quadratic time would be minutes.
    for way in ways() {
        let tokenizer = tokenizer(&way);
        for unit in [
            " ",
            "a",
            "\n",
            " \n",
            "1",
            "<|im_end|",
            "ab",
            "\u{301}",
            "'",
        ] {
            let text = unit.repeat(200_000 / unit.len());
            let tokens = tokenizer.encode(&text, SpecialTokens::Parse).unwrap();
            assert!(!tokens.is_empty(), "{way} {unit:?}");
        }
    }
}

proptest! {
    #[test]
    fn text_by_pieces_is_the_text_of_all_bytes(tokens in prop::collection::vec(3_u32..424, 0..40)) {
        let tokenizer = tokenizer("llama/plain");
        let mut decoder = Decoder::new(&tokenizer, SpecialText::Show);
        let (mut text, mut bytes) = (String::new(), Vec::new());
        for token in &tokens {
            text.push_str(&decoder.push(*token).unwrap());
            bytes.extend_from_slice(tokenizer.bytes(*token).unwrap());
        }
        text.push_str(&decoder.finish());
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_comes_back(text in "\\PC{0,40}") {
        let tokenizer = tokenizer("llama/prefix");
        let tokens = tokenizer.encode(&text, SpecialTokens::AsText).unwrap();
        prop_assert_eq!(tokenizer.decode(&tokens, SpecialText::Show).unwrap(), text);
    }
}

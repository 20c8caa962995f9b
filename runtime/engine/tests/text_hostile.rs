//! Vocabularies that are wrong are refused with the place of the fault, and none makes building or encoding panic or hang.

use overt_engine::gguf::{Gguf, GgufWriter};
use overt_engine::text::{SpecialText, SpecialTokens, TextError, Tokenizer, Vocabulary};
use proptest::prelude::*;

fn pairs() -> Vocabulary {
    Vocabulary {
        model: "gpt2".into(),
        splitter: Some("smollm".into()),
        tokens: ["<s>", "a", "b", "ab"]
            .map(|t| t.as_bytes().to_vec())
            .to_vec(),
        types: vec![3, 1, 1, 1],
        merges: vec!["a b".into()],
        bos: Some(0),
        ..Vocabulary::default()
    }
}

fn scored() -> Vocabulary {
    Vocabulary {
        model: "llama".into(),
        tokens: ["<unk>", "a", "b", "ab"]
            .map(|t| t.as_bytes().to_vec())
            .to_vec(),
        types: vec![2, 1, 1, 1],
        scores: vec![0.0, -1.0, -2.0, -0.5],
        unknown: Some(0),
        add_bos: Some(false),
        ..Vocabulary::default()
    }
}

fn refused(vocabulary: Vocabulary, change: impl FnOnce(&mut Vocabulary)) -> TextError {
    let mut changed = vocabulary.clone();
    Tokenizer::new(&vocabulary).unwrap();
    change(&mut changed);
    Tokenizer::new(&changed).unwrap_err()
}

#[test]
fn each_fault_is_named() {
    let error = refused(pairs(), |v| v.model = "bert".into());
    assert!(matches!(&error, TextError::UnknownModel { name, .. } if name == "bert"));
    assert!(error.to_string().contains("gpt2, llama"), "{error}");
    let error = refused(pairs(), |v| v.splitter = Some("tekken".into()));
    assert!(matches!(&error, TextError::UnknownSplitter { name, .. } if name == "tekken"));
    let error = refused(pairs(), |v| v.tokens.clear());
    assert!(matches!(error, TextError::TokenCount { count: 0, .. }));
    let error = refused(pairs(), |v| v.types.truncate(3));
    assert!(matches!(
        error,
        TextError::Length {
            got: 3,
            wanted: 4,
            ..
        }
    ));
    let error = refused(scored(), |v| v.scores.push(0.0));
    assert!(matches!(
        error,
        TextError::Length {
            got: 5,
            wanted: 4,
            ..
        }
    ));
    let error = refused(scored(), |v| v.scores[2] = f32::NAN);
    assert_eq!(error, TextError::Score { token: 2 });
    let error = refused(pairs(), |v| v.types[1] = 7);
    assert_eq!(error, TextError::TokenType { token: 1, got: 7 });
    let error = refused(scored(), |v| v.types[1] = 6);
    assert!(matches!(error, TextError::ByteToken { token: 1, .. }));
    let error = refused(scored(), |v| v.unknown = None);
    assert_eq!(error, TextError::NoByte { byte: 0 });
    for vocabulary in [pairs(), scored()] {
        let error = refused(vocabulary, |v| v.tokens[3] = b"b".to_vec());
        assert!(
            matches!(
                error,
                TextError::Twice {
                    first: 2,
                    second: 3,
                    ..
                }
            ),
            "{error}"
        );
    }
    let error = refused(pairs(), |v| v.eot = Some(4));
    assert!(matches!(
        error,
        TextError::SpecialId {
            got: 4,
            count: 4,
            ..
        }
    ));
    let error = refused(pairs(), |v| v.add_eos = Some(true));
    assert!(matches!(error, TextError::NoSpecialId { .. }));
    let error = refused(scored(), |v| v.add_bos = None);
    assert!(
        matches!(error, TextError::NoSpecialId { .. }),
        "llama files begin each text with a token"
    );
}

#[test]
fn merges_of_what_is_no_token_are_refused() {
    for (merge, missing) in [
        ("a c", "c"),
        ("ab a", "aba"),
        ("zz a", "zz"),
        ("ab ab", "abab"),
    ] {
        let error = refused(pairs(), |v| v.merges.push(merge.into()));
        let TextError::MergePiece {
            number: 1,
            missing: got,
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(got, missing);
    }
    for merge in ["", "ab", "a ", " ", " a"] {
        let error = refused(pairs(), |v| v.merges.push(merge.into()));
        assert!(
            matches!(error, TextError::Merge { number: 1, .. }),
            "{merge:?}: {error}"
        );
    }
}

#[test]
fn texts_of_the_file_are_escaped_and_cut() {
    let error = refused(pairs(), |v| {
        v.model = format!("\u{1b}[31m{}", "x".repeat(100_000))
    });
    let shown = error.to_string();
    assert!(shown.len() < 300 && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn too_many_special_tokens_are_refused() {
    let error = refused(pairs(), |v| {
        v.tokens
            .extend((0..20_000).map(|n| format!("<{n}>").into_bytes()));
        v.types.resize(v.tokens.len(), 3);
    });
    assert!(matches!(
        error,
        TextError::TooManySpecial { count: 20_001, .. }
    ));
}

#[test]
fn tokens_that_are_no_utf8_are_shown_and_never_made() {
    let mut vocabulary = pairs();
    vocabulary.tokens.push(vec![0xFF, 0xFE]);
    vocabulary.types.push(3);
    let tokenizer = Tokenizer::new(&vocabulary).unwrap();
    assert_eq!(
        tokenizer
            .encode("ab\u{FFFD}", SpecialTokens::Parse)
            .unwrap(),
        [3]
    );
    assert_eq!(
        tokenizer.decode(&[4], SpecialText::Show).unwrap(),
        "\u{FFFD}\u{FFFD}"
    );
}

#[test]
fn special_tokens_that_nest_do_not_slow_down() {
    // Each is the beginning of the next, and the text is full of all of them.
    let mut vocabulary = scored();
    for len in 3..1_500 {
        vocabulary.tokens.push("a".repeat(len).into_bytes());
        vocabulary.types.push(4);
        vocabulary.scores.push(0.0);
    }
    vocabulary.space_prefix = Some(false);
    let tokenizer = Tokenizer::new(&vocabulary).unwrap();
    let text = "a".repeat(100_000) + "b";
    let tokens = tokenizer.encode(&text, SpecialTokens::Parse).unwrap();
    let bytes: usize = tokens
        .iter()
        .map(|token| tokenizer.bytes(*token).unwrap().len())
        .sum();
    assert_eq!(bytes, text.len());
}

#[test]
fn pieces_that_nest_do_not_slow_down() {
    let mut vocabulary = scored();
    for len in 2..1_500 {
        vocabulary.tokens.push("a".repeat(len).into_bytes());
        vocabulary.types.push(1);
        vocabulary.scores.push(len as f32);
    }
    vocabulary.space_prefix = Some(false);
    let tokenizer = Tokenizer::new(&vocabulary).unwrap();
    let text = "a".repeat(50_000);
    let tokens = tokenizer.encode(&text, SpecialTokens::AsText).unwrap();
    assert_eq!(tokenizer.decode(&tokens, SpecialText::Show).unwrap(), text);
}

#[test]
fn a_vocabulary_is_read_from_a_file() {
    let mut writer = GgufWriter::new();
    let wanted = Vocabulary {
        eos: Some(2),
        add_eos: Some(true),
        space_prefix: Some(false),
        ..scored()
    };
    let texts: Vec<&str> = wanted
        .tokens
        .iter()
        .map(|t| str::from_utf8(t).unwrap())
        .collect();
    writer.set("tokenizer.ggml.model", "llama").unwrap();
    writer.set("tokenizer.ggml.tokens", &texts[..]).unwrap();
    writer
        .set("tokenizer.ggml.token_type", &wanted.types[..])
        .unwrap();
    writer
        .set("tokenizer.ggml.scores", &wanted.scores[..])
        .unwrap();
    writer
        .set("tokenizer.ggml.unknown_token_id", 0_u32)
        .unwrap();
    writer.set("tokenizer.ggml.eos_token_id", 2_u32).unwrap();
    writer.set("tokenizer.ggml.add_bos_token", false).unwrap();
    writer.set("tokenizer.ggml.add_eos_token", true).unwrap();
    writer
        .set("tokenizer.ggml.add_space_prefix", false)
        .unwrap();
    let bytes = writer.clone().finish();
    assert_eq!(
        Vocabulary::from_gguf(&Gguf::parse(&bytes).unwrap()).unwrap(),
        wanted
    );

    // A key of another type is no missing key.
    writer.set("tokenizer.ggml.merges", 1_u32).unwrap();
    let bytes = writer.finish();
    let error = Vocabulary::from_gguf(&Gguf::parse(&bytes).unwrap()).unwrap_err();
    assert!(
        error.to_string().contains("tokenizer.ggml.merges"),
        "{error}"
    );
    let empty = GgufWriter::new().finish();
    let error = Tokenizer::from_gguf(&Gguf::parse(&empty).unwrap()).unwrap_err();
    assert!(error.to_string().contains("tokenizer.ggml."), "{error}");
}

fn any_vocabulary() -> impl Strategy<Value = Vocabulary> {
    let text = prop_oneof![
        "[abĠ<>|]{0,4}".prop_map(String::into_bytes),
        "<0x[0-9A-F]{2}>".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    let id = || prop::option::of(0_u32..12);
    (
        prop::sample::select(vec!["gpt2", "llama"]),
        prop::sample::select(vec!["default", "gpt-2", "qwen2", "llama-bpe", "smollm"]),
        prop::collection::vec((text, 0_i32..7, any::<f32>()), 0..12),
        prop::collection::vec("[abĠ]{1,3} ?[abĠ]{0,3}", 0..4),
        (id(), id(), id()),
        prop::option::of(any::<bool>()),
    )
        .prop_map(
            |(model, splitter, tokens, merges, (bos, eos, unknown), flag)| Vocabulary {
                model: model.into(),
                splitter: Some(splitter.into()),
                types: tokens.iter().map(|(_, kind, _)| *kind).collect(),
                scores: tokens.iter().map(|(.., score)| *score).collect(),
                tokens: tokens.into_iter().map(|(text, ..)| text).collect(),
                merges,
                bos,
                eos,
                unknown,
                add_bos: flag,
                add_eos: flag,
                space_prefix: flag,
                ..Vocabulary::default()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_vocabulary_panics(vocabulary in any_vocabulary(), text in "[ab <>|\u{301}\u{10348}0x\n1]{0,24}") {
        if let Ok(tokenizer) = Tokenizer::new(&vocabulary) {
            for special in [SpecialTokens::Parse, SpecialTokens::AsText] {
                let tokens = tokenizer.encode_whole(&text, special).unwrap();
                prop_assert!(tokens.iter().all(|token| (*token as usize) < tokenizer.count()));
                tokenizer.decode(&tokens, SpecialText::Show).unwrap();
            }
        }
    }
}

//! Sequences of one engine: how they end, what a cancelled one leaves, and what their draws follow from.

use overt_engine::{Engine, EngineError, Finish, Options, Request, Sampling, SequenceId};
use overt_tests::start;
use std::path::{Path, PathBuf};

const CONTEXT: usize = 24;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files/models/qwen3-tied.gguf")
}

fn engine(sequences: usize) -> Engine {
    let runtime = start::cpu().start().unwrap();
    let options = Options {
        context: CONTEXT,
        sequences,
        chunk: 5,
        page: 4,
        ..Options::default()
    };
    Engine::load(&runtime, &file(), &options).unwrap()
}

fn request(prompt: &[u32], tokens: usize, sampling: Sampling) -> Request {
    Request {
        prompt: prompt.to_vec(),
        tokens,
        sampling,
        stop: Vec::new(),
    }
}

fn greedy(prompt: &[u32], tokens: usize) -> Request {
    request(prompt, tokens, Sampling::default())
}

/// Steps until the sequence ends; its tokens, and how it ended. One that does not end within a few hundred steps waits for ever.
#[track_caller]
fn finish(engine: &mut Engine, id: SequenceId) -> (Vec<u32>, Finish) {
    let mut tokens = Vec::new();
    for _ in 0..400 {
        for produced in engine.step().unwrap() {
            if produced.sequence != id {
                continue;
            }
            tokens.push(produced.token);
            if let Some(finish) = produced.finish {
                return (tokens, finish);
            }
        }
    }
    panic!("{id:?} does not end; it has {tokens:?}")
}

#[test]
fn a_cancelled_sequence_gives_back_its_pages_wherever_it_was() {
    let last: Vec<u32> = (40..60).collect();
    let mut fresh = engine(2);
    let id = fresh.add(greedy(&last, CONTEXT - last.len())).unwrap();
    let wanted = finish(&mut fresh, id).0;

    let mut engine = engine(2);
    let prompt: Vec<u32> = (0..11).collect();
    // Each takes every page of its part of the cache, so one that kept any would keep the next from beginning.
    let whole = || greedy(&prompt, CONTEXT);
    for round in 0..12 {
        let ids = [0; 3].map(|_| engine.add(whole()).unwrap());
        // In the first chunk of a prompt, in the middle of it, between prompt and token, and far along.
        for _ in 0..round {
            engine.step().unwrap();
        }
        // The third waits, and never began.
        for id in ids {
            assert!(engine.cancel(id), "round {round}: {id:?}");
            assert!(!engine.cancel(id), "round {round}: {id:?}");
            assert!(!engine.choose(id, 1).unwrap());
        }
        assert!(!engine.is_busy());
        assert!(engine.step().unwrap().is_empty());
    }
    // What they left in the cache is not seen by those that get their pages.
    let ids = [0; 2].map(|_| engine.add(greedy(&last, CONTEXT - last.len())).unwrap());
    let (got, end) = finish(&mut engine, ids[0]);
    assert_eq!((got, end), (wanted, Finish::Length));
}

#[test]
fn one_that_waits_begins_when_another_is_cancelled() {
    let mut engine = engine(1);
    let prompt = [5, 6, 7];
    let first = engine.add(greedy(&prompt, 20)).unwrap();
    let second = engine.add(greedy(&prompt, 4)).unwrap();
    for _ in 0..6 {
        let produced = engine.step().unwrap();
        assert!(produced.iter().all(|one| one.sequence == first));
    }
    assert!(engine.cancel(first));
    assert_eq!(finish(&mut engine, second).0.len(), 4);
    assert!(!engine.cancel(second), "it has ended");
    assert!(!engine.is_busy());
}

#[test]
fn a_sequence_ends_where_the_context_does() {
    let mut engine = engine(2);
    assert_eq!(engine.context(), CONTEXT);
    for (length, asked, got) in [
        (1, 100, CONTEXT - 1),
        (20, 100, 4),
        (20, 4, 4),
        (20, 3, 3),
        (CONTEXT - 1, 100, 1),
        (3, 0, 1),
    ] {
        let prompt = vec![9; length];
        let id = engine.add(greedy(&prompt, asked)).unwrap();
        let (tokens, end) = finish(&mut engine, id);
        assert_eq!((tokens.len(), end), (got, Finish::Length), "{length}");
    }
    for length in [0, CONTEXT, CONTEXT + 1, 1000] {
        match engine.add(greedy(&vec![9; length], 1)) {
            Err(EngineError::Prompt { got, wanted }) => {
                assert_eq!(got, length);
                assert!(wanted.contains("1 to 23"), "{wanted}");
            }
            other => panic!("{length}: {other:?}"),
        }
    }
    match engine.add(greedy(&[1, 2, 128], 1)) {
        Err(EngineError::Token {
            token: 128,
            at: 2,
            vocabulary: 128,
        }) => {}
        other => panic!("{other:?}"),
    }
    assert!(!engine.is_busy(), "a refused request is not there");
}

#[test]
fn a_stop_token_ends_it_and_a_chosen_token_goes_on_in_its_place() {
    let mut engine = engine(2);
    let prompt = [3, 1, 4];
    let id = engine.add(greedy(&prompt, 12)).unwrap();
    let (tokens, _) = finish(&mut engine, id);
    let stop = tokens[5];
    let before = tokens.iter().position(|t| *t == stop).unwrap();
    let stopped = engine.add(Request {
        stop: vec![stop],
        ..greedy(&prompt, 12)
    });
    let (short, end) = finish(&mut engine, stopped.unwrap());
    assert_eq!((&short[..], end), (&tokens[..=before], Finish::Stop));

    // The second token is replaced: what follows is what follows a prompt that ends so.
    let mut longer = prompt.to_vec();
    let other = (tokens[1] + 1) % 128;
    longer.extend([tokens[0], other]);
    let id = engine.add(greedy(&longer, 6)).unwrap();
    let wanted = finish(&mut engine, id).0;
    let id = engine.add(greedy(&prompt, 8)).unwrap();
    assert!(!engine.choose(id, 1).unwrap(), "nothing was produced yet");
    let mut got = Vec::new();
    // Bounded, since one that never gets its pages is busy for ever.
    for _ in 0..40 {
        for produced in engine.step().unwrap() {
            got.push(produced.token);
            if got.len() == 2 {
                assert!(engine.choose(id, other).unwrap());
                match engine.choose(id, 128) {
                    Err(EngineError::Token { token: 128, .. }) => {}
                    answer => panic!("{answer:?}"),
                }
            }
        }
    }
    assert!(!engine.is_busy());
    assert_eq!(got[2..], wanted[..]);
}

#[test]
fn draws_follow_from_the_seed_alone() {
    let sampling = |seed| Sampling {
        temperature: 2.0,
        top_p: 0.95,
        seed,
        ..Sampling::default()
    };
    let prompt = [10, 20, 30, 40, 50, 60, 70];
    let draw = |engine: &mut Engine, seed: i64| {
        let id = engine.add(request(&prompt, 16, sampling(seed))).unwrap();
        finish(engine, id).0
    };
    let mut engine = engine(4);
    let first = draw(&mut engine, 11);
    assert_eq!(first, draw(&mut engine, 11), "again in the same engine");
    assert_eq!(first, draw(&mut self::engine(1), 11), "in another engine");
    // Beside greedy ones and others that draw; they end before it, with it and behind it.
    for (tokens, seed) in [(3, 5), (16, 6), (20, 7)] {
        engine
            .add(request(&[1, 2], tokens, sampling(seed)))
            .unwrap();
    }
    assert_eq!(first, draw(&mut engine, 11), "beside others");
    let others: Vec<Vec<u32>> = (12..18).map(|seed| draw(&mut engine, seed)).collect();
    assert!(others.iter().all(|other| *other != first));
    // One candidate is no draw.
    let id = engine.add(greedy(&prompt, 16)).unwrap();
    let likeliest = finish(&mut engine, id).0;
    let only = Sampling {
        top_k: 1,
        ..sampling(3)
    };
    let id = engine.add(request(&prompt, 16, only)).unwrap();
    assert_eq!(finish(&mut engine, id).0, likeliest);
    assert_ne!(first, likeliest);
}

#[test]
fn ways_of_drawing_that_cannot_be_are_named() {
    let mut engine = engine(1);
    let good = Sampling {
        temperature: 1.0,
        ..Sampling::default()
    };
    for (option, bad) in [
        (
            "temperature",
            Sampling {
                temperature: -1.0,
                ..good
            },
        ),
        (
            "temperature",
            Sampling {
                temperature: f32::NAN,
                ..good
            },
        ),
        (
            "temperature",
            Sampling {
                temperature: f32::INFINITY,
                ..good
            },
        ),
        ("top_k", Sampling { top_k: -1, ..good }),
        ("top_p", Sampling { top_p: 0.0, ..good }),
        (
            "top_p",
            Sampling {
                top_p: f32::NAN,
                ..good
            },
        ),
        ("min_p", Sampling { min_p: 1.5, ..good }),
    ] {
        match engine.add(request(&[1], 1, bad)) {
            Err(EngineError::Option { option: named, .. }) => assert_eq!(named, option),
            other => panic!("{option}: {other:?}"),
        }
    }
    assert!(!engine.is_busy());
}

//! The body of the fuzz target, over its seeds and over seeded mutations of them.

mod gguf_support;

use gguf_support::{reference, small};
use overt_engine::gguf::exercise;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

const MUTATIONS: usize = 20_000;

#[test]
fn the_seeds_are_read_whole() {
    let seen = exercise(&reference()).unwrap();
    // By hand: 51 entries, 36 elements of arrays, 2 + 4 of the nested one; 34 tensor types.
    assert_eq!((seen.values, seen.tensors), (51 + 36 + 2 + 4, 34));
    assert!(seen.bytes > 4000 && seen.sum > 0, "{seen:?}");
    let seen = exercise(&small()).unwrap();
    assert_eq!(seen.tensors, 3);
}

#[test]
fn mutated_files_are_read_or_refused() {
    let seeds = [small(), reference()];
    let mut rng = ChaCha8Rng::seed_from_u64(0x6775_6667);
    let mut read = 0;
    let mut kinds = HashSet::new();
    for round in 0..MUTATIONS {
        let mut file = seeds[round % seeds.len()].clone();
        for _ in 0..rng.random_range(1..=4) {
            mutate(&mut file, &mut rng);
        }
        match exercise(&file) {
            Ok(_) => read += 1,
            Err(error) => {
                let shown = format!("{:?}", error.problem);
                let kind = shown.split([' ', '{']).next().unwrap_or_default();
                kinds.insert(kind.to_owned());
            }
        }
    }
    // A mutation that always broke the first bytes, or never anything, would pass without these.
    assert!(
        read > MUTATIONS / 20,
        "{read} of {MUTATIONS} were still readable"
    );
    assert!(
        read < MUTATIONS * 9 / 10,
        "{read} of {MUTATIONS} were still readable"
    );
    for kind in [
        "Truncated",
        "Magic",
        "Version",
        "Count",
        "Length",
        "NotUtf8",
        "ValueType",
        "Bool",
        "DuplicateKey",
        "Alignment",
        "Rank",
        "Extent",
        "Size",
        "TensorType",
        "Blocks",
        "Unaligned",
        "Outside",
        "Overlap",
    ] {
        assert!(kinds.contains(kind), "no mutation led to {kind}: {kinds:?}");
    }
}

/// Numbers at which checks go wrong.
const EDGES: [u64; 12] = [
    0,
    1,
    2,
    31,
    64,
    255,
    65_536,
    u32::MAX as u64,
    1 << 32,
    1 << 63,
    i64::MAX as u64,
    u64::MAX,
];

fn mutate(file: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    if file.is_empty() {
        return;
    }
    let at = rng.random_range(0..file.len());
    let put = |file: &mut Vec<u8>, bytes: &[u8]| {
        let end = (at + bytes.len()).min(file.len());
        file[at..end].copy_from_slice(&bytes[..end - at]);
    };
    match rng.random_range(0..8) {
        0 => file[at] ^= 1 << rng.random_range(0..8),
        1 => file[at] = rng.random(),
        2 => put(file, &EDGES[rng.random_range(0..EDGES.len())].to_le_bytes()),
        3 => put(
            file,
            &(EDGES[rng.random_range(0..EDGES.len())] as u32).to_le_bytes(),
        ),
        4 => put(file, &(rng.random_range(0..48_u32)).to_le_bytes()),
        5 if rng.random_bool(0.2) => file.truncate(at),
        6 => {
            // A piece of the file at another place: keys and names twice, descriptions moved.
            let len = rng.random_range(1..=64).min(file.len() - at);
            let piece = file[at..at + len].to_vec();
            let to = rng.random_range(0..=file.len() - len);
            file[to..to + len].copy_from_slice(&piece);
        }
        7 if rng.random_bool(0.2) => {
            let len = rng.random_range(1..=16).min(file.len() - at);
            file.drain(at..at + len);
        }
        _ => file[at] = file[at].wrapping_add(1),
    }
}

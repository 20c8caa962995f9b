//! What parsing allocates: at most a small multiple of the file's own size, whatever the file claims. Alone in its program, since it
//! counts every allocation.

mod gguf_support;

use gguf_support::{Raw, reference, small};
use overt_engine::gguf::{Gguf, MAX_NESTING, ValueType};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator with its arguments unchanged; the counting beside it touches no memory
// but two atomics. `realloc` and `alloc_zeroed` are the trait's own, which call these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above; `at` came from `alloc` of the same allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Parses, and gives whether it was read and the most that was allocated at once for it.
fn peak(bytes: &[u8]) -> (bool, usize) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let read = Gguf::parse(bytes).is_ok();
    (read, PEAK.load(Ordering::Relaxed) - before)
}

/// The densest file of keys: each as short as different keys can be.
fn many_keys(claimed: u64, written: u32) -> Vec<u8> {
    (0..written)
        .fold(Raw::header(0, claimed), |raw, n| {
            let key: String = [12, 6, 0]
                .map(|s| char::from(48 + (n >> s & 63) as u8))
                .iter()
                .collect();
            raw.key(&key, ValueType::U8).bytes(&[0])
        })
        .0
}

fn many_tensors(claimed: u64, written: u32) -> Vec<u8> {
    let infos = (0..written).fold(Raw::header(claimed, 0), |raw, n| {
        raw.info(&format!("{n:x}"), &[1], 24, u64::from(n) * 32)
    });
    infos.pad(32).zeros(32 * written as usize).0
}

fn arrays(element: ValueType, claimed: u64, zeros: usize) -> Vec<u8> {
    let start = Raw::header(0, 1).key("k", ValueType::Array);
    start.array(element, claimed).zeros(zeros).0
}

/// As many empty arrays and strings as fit, at the greatest depth.
fn nested(zeros: usize) -> Vec<u8> {
    let start = Raw::header(0, 1).key("k", ValueType::Array);
    let outer = (2..MAX_NESTING).fold(start, |raw, _| raw.array(ValueType::Array, 1));
    outer
        .array(ValueType::Array, zeros as u64 / 12)
        .zeros(zeros)
        .0
}

#[test]
fn parsing_allocates_a_small_multiple_of_the_files_size_at_most() {
    // That the counting counts: a vector of known size.
    let before = NOW.load(Ordering::Relaxed);
    let known = std::hint::black_box(vec![1_u8; 1 << 20]);
    assert!(NOW.load(Ordering::Relaxed) - before >= 1 << 20);
    drop(known);

    let mut files: Vec<(&str, bool, Vec<u8>)> = vec![
        ("the reference file", true, reference()),
        ("a small file", true, small()),
        ("250,000 keys", true, many_keys(250_000, 250_000)),
        (
            "keys, one more than there are",
            false,
            many_keys(250_001, 250_000),
        ),
        ("50,000 tensors", true, many_tensors(50_000, 50_000)),
        (
            "tensors, more than there are",
            false,
            many_tensors(90_000, 50_000),
        ),
        ("a million nested arrays", true, nested(12_000_000)),
        (
            "a million empty strings",
            true,
            arrays(ValueType::String, 1_000_000, 8_000_000),
        ),
        (
            "8 million bytes in an array",
            true,
            arrays(ValueType::U8, 8_000_000, 8_000_000),
        ),
        ("keys that are long and alike", false, {
            let key = "k".repeat(60_000);
            let two = |raw: Raw| raw.key(&key, ValueType::U8).bytes(&[0]);
            two(two(Raw::header(0, 2))).0
        }),
    ];
    for claim in [
        10_000,
        100_000,
        1_000_000,
        1_000_000_000,
        1 << 40,
        1 << 63,
        u64::MAX,
    ] {
        files.push((
            "claimed tensors",
            false,
            Raw::header(claim, 0).zeros(100_000).0,
        ));
        files.push((
            "claimed keys",
            false,
            Raw::header(0, claim).zeros(100_000).0,
        ));
        // The smaller claims are honest ones for arrays of small elements.
        for element in ValueType::ALL.iter().filter(|_| claim > 100_000) {
            files.push(("a claimed array", false, arrays(*element, claim, 100_000)));
        }
    }
    // Claims that the bytes could just hold, and that fail at the first item.
    files.push((
        "keys to the brim",
        false,
        Raw::header(0, 100_000 / 13).bytes(&[255; 100_000]).0,
    ));
    files.push((
        "tensors to the brim",
        false,
        Raw::header(100_000 / 32, 0).bytes(&[255; 100_000]).0,
    ));
    for (what, wanted, file) in files {
        let (read, peak) = peak(&file);
        assert_eq!(read, wanted, "{what}");
        let bound = 2 * file.len() + (64 << 10);
        assert!(
            peak <= bound,
            "{what}: {peak} bytes for a file of {}",
            file.len()
        );
    }
}

//! Files as the system has them: what is no file, what is mapped, and what is released.

mod gguf_support;

use gguf_support::small;
use overt_engine::gguf::{Gguf, GgufFile, GgufProblem, GgufWriter, Place};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::path::Path;
use tempfile::tempdir;

#[track_caller]
fn refused(path: &Path, words: &[&str]) -> GgufProblem {
    let error = GgufFile::open(path).unwrap_err();
    let message = error.to_string();
    assert_eq!(error.file, path);
    for word in words.iter().chain([&&*path.display().to_string()]) {
        assert!(message.contains(word), "{message} lacks {word}");
    }
    *error.problem
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    refused(&at("missing"), &["cannot be opened", "No such file"]);
    refused(folder.path(), &["a directory", "regular file"]);
    refused(Path::new("/dev/zero"), &["a device"]);
    // Without a writer, a blocking open would never return.
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    refused(&at("pipe"), &["a pipe"]);
    std::fs::write(at("empty"), b"").unwrap();
    assert_eq!(refused(&at("empty"), &["empty"]), GgufProblem::Empty);
    std::fs::write(at("text"), b"hello, world").unwrap();
    refused(&at("text"), &["header", "68 65 6c 6c"]);
}

#[test]
fn a_mapped_file_holds_what_its_bytes_hold() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("small.gguf");
    let bytes = small();
    std::fs::write(&path, &bytes).unwrap();
    let file = GgufFile::open(&path).unwrap();
    assert_eq!((file.path(), file.size()), (&*path, bytes.len() as u64));
    let (mapped, read) = (file.contents(), Gguf::parse(&bytes).unwrap());
    assert!(mapped.metadata().eq(read.metadata()));
    assert_eq!(mapped.metadata_len(), 10);
    assert!(mapped.tensors().eq(read.tensors()));
    let error = mapped.u32("general.architecture").unwrap_err();
    assert_eq!(
        (&*error.file, error.place),
        (&*path, Place::Key("general.architecture".into()))
    );
}

/// Kilobytes of the mapping that holds `address` which count as memory of this process.
fn resident(address: usize) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut inside = false;
    for line in maps.lines() {
        if let Some((range, _)) = line.split_once(' ')
            && let Some((from, to)) = range.split_once('-')
            && let (Ok(from), Ok(to)) = (
                usize::from_str_radix(from, 16),
                usize::from_str_radix(to, 16),
            )
        {
            inside = (from..to).contains(&address);
        }
        if inside && let Some(rest) = line.strip_prefix("Rss:") {
            return rest.trim().trim_end_matches("kB").trim().parse().unwrap();
        }
    }
    panic!("no mapping at {address:#x}");
}

#[test]
fn released_tensors_stop_counting_as_memory_and_can_be_read_again() {
    const ELEMENTS: usize = 1 << 20;
    let values: Vec<f32> = (0..ELEMENTS).map(|n| n as f32).collect();
    let mut writer = GgufWriter::new();
    writer.tensor_f32("small", &[3], &[1.0, 2.0, 3.0]).unwrap();
    writer
        .tensor_f32("large", &[ELEMENTS as u64], &values)
        .unwrap();
    writer.tensor_f32("last", &[5], &[4.0; 5]).unwrap();
    let folder = tempdir().unwrap();
    let path = folder.path().join("large.gguf");
    writer.save(&path).unwrap();
    drop(writer);

    let file = GgufFile::open(&path).unwrap();
    let gguf = file.contents();
    let large = gguf.tensor("large").unwrap();
    let address = large.bytes().as_ptr() as usize;
    let sum = |bytes: &[u8]| bytes.iter().map(|b| u64::from(*b)).sum::<u64>();
    let before = sum(large.bytes());
    let touched = resident(address);
    assert!(touched >= 4096, "{touched} kB after reading 4096 kB");

    file.release(large.range()).unwrap();
    let left = resident(address);
    // The pages at both ends, which the neighbours share.
    assert!(left <= 64, "{left} kB after release");
    assert_eq!(
        sum(large.bytes()),
        before,
        "a slice that lives on reads the same"
    );
    assert_eq!(
        gguf.tensor("last").unwrap().bytes()[..4],
        4.0_f32.to_le_bytes()
    );

    // Ranges that hold no whole page, that end behind the file, or that are none, release what they can.
    let small = gguf.tensor("small").unwrap();
    file.release(small.range()).unwrap();
    file.release(file.size() - 10..file.size()).unwrap();
    file.release(u64::MAX - 4..u64::MAX).unwrap();
    file.release(0..0).unwrap();
    #[allow(clippy::reversed_empty_ranges, reason = "what a caller can get wrong")]
    file.release(100_000..5).unwrap();
    file.release(0..u64::MAX).unwrap();
    assert_eq!(resident(address), 0, "the whole file");
    assert_eq!(small.bytes()[..4], 1.0_f32.to_le_bytes());
}

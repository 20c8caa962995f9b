//! What the system says of memory and caches. What it does not say is left out, never guessed.

use std::fs;

/// Memory of the machine in bytes.
pub fn memory_bytes() -> Option<u64> {
    let file = fs::read_to_string("/proc/meminfo").ok()?;
    let line = file.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Size of a page in bytes, from the auxiliary vector.
pub fn page_bytes() -> Option<i64> {
    const AT_PAGESZ: usize = 6;
    const WORD: usize = size_of::<usize>();
    let vector = fs::read("/proc/self/auxv").ok()?;
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    vector
        .chunks_exact(2 * WORD)
        .find(|pair| word(&pair[..WORD]) == Some(AT_PAGESZ))
        .and_then(|pair| word(&pair[WORD..]))
        .and_then(|bytes| i64::try_from(bytes).ok())
}

/// Sizes of the first core's caches: `l1d`, `l2`, `l3`, in bytes.
pub fn caches() -> Vec<(String, i64)> {
    let mut found = Vec::new();
    for index in 0..8 {
        let read = |what: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
            Some(fs::read_to_string(path).ok()?.trim().to_owned())
        };
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size"))
        else {
            continue;
        };
        let name = match kind.as_str() {
            "Data" => format!("l{level}d"),
            "Instruction" => format!("l{level}i"),
            _ => format!("l{level}"),
        };
        let bytes = match size.strip_suffix('K') {
            Some(kib) => kib.parse::<i64>().ok().and_then(|k| k.checked_mul(1024)),
            None => size.parse().ok(),
        };
        if let Some(bytes) = bytes {
            found.push((name, bytes));
        }
    }
    found
}

//! What a launch really did.

use crate::text::text;
use overt_abi::{OvertReceipt, OvertStr};
use parking_lot::Mutex;

/// One launch, as the backend enqueued it. A backend makes it from what it hands to the device, never from the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    launches: u32,
    entry: &'static str,
    image_digest: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    more: Vec<&'static str>,
}

impl Receipt {
    /// Nothing was enqueued.
    pub const fn empty() -> Self {
        Self {
            launches: 0,
            entry: "",
            image_digest: 0,
            grid: [0; 3],
            block: [0; 3],
            shared_bytes: 0,
            more: Vec::new(),
        }
    }

    /// Counts one device launch: the symbol, the first eight bytes of the image's digest, grid in blocks, block in threads,
    /// shared memory of a block in bytes. The first one is described in full; of the others the symbol is kept, where it is
    /// new. Allocates for a second symbol only.
    pub fn add(
        &mut self,
        symbol: &'static str,
        image_digest: u64,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
    ) {
        if self.launches == 0 {
            self.entry = symbol;
            self.image_digest = image_digest;
            self.grid = grid;
            self.block = block;
            self.shared_bytes = shared_bytes;
        } else if symbol != self.entry && !self.more.contains(&symbol) {
            self.more.push(symbol);
        }
        self.launches += 1;
    }

    /// Device launches.
    pub fn launches(&self) -> u32 {
        self.launches
    }

    /// The first launch's symbol.
    pub fn entry(&self) -> &'static str {
        self.entry
    }

    /// Writes the host's struct, all but its size.
    pub(crate) fn store(&self, out: &mut OvertReceipt) {
        let more = static_texts(&self.more);
        *out = OvertReceipt {
            size: out.size,
            launches: self.launches,
            entry: text(self.entry),
            image_digest: self.image_digest,
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared_bytes,
            more_count: more.len() as u32,
            more: if more.is_empty() {
                std::ptr::null()
            } else {
                more.as_ptr()
            },
        };
    }
}

struct Texts(&'static [OvertStr]);

// SAFETY: static text, never written.
unsafe impl Send for Texts {}

/// A static list of these symbols. There are as many lists as combinations that kernels launch, so they are kept for ever.
fn static_texts(symbols: &[&'static str]) -> &'static [OvertStr] {
    static LISTS: Mutex<Vec<(Vec<&'static str>, Texts)>> = Mutex::new(Vec::new());
    if symbols.is_empty() {
        return &[];
    }
    let mut lists = LISTS.lock();
    if let Some((_, texts)) = lists.iter().find(|(known, _)| known == symbols) {
        return texts.0;
    }
    let texts: Vec<OvertStr> = symbols.iter().map(|s| text(s)).collect();
    let texts: &'static [OvertStr] = texts.leak();
    lists.push((symbols.to_vec(), Texts(texts)));
    texts
}

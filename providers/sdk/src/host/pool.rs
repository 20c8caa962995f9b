//! Tensors smaller than a large page share some: chunks of them, cut by an allocator that knows offsets alone.

use super::large_pages::{Mapping, PAGE};
use offset_allocator::{Allocation, Allocator};
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// Bytes of a chunk.
const CHUNK: usize = 16 * PAGE;

/// Bytes that are counted as one: every piece begins at a multiple of it.
const UNIT: usize = 256;

/// Bytes below which a piece is not worth its place in a chunk, and above which it has pages of its own.
pub(super) const LEAST: usize = 16 << 10;
/// As above.
pub(super) const MOST: usize = 4 * PAGE;

/// The chunks of one device.
#[derive(Default)]
pub(super) struct Pool {
    chunks: Mutex<Vec<Arc<Chunk>>>,
}

struct Chunk {
    memory: Mapping,
    cuts: Mutex<Cuts>,
}

struct Cuts {
    allocator: Allocator,
    live: usize,
    /// Bytes from the beginning that were ever given out; behind them all is zero still.
    touched: usize,
}

/// A piece of a chunk; given back when dropped.
pub(super) struct Piece {
    chunk: Arc<Chunk>,
    pool: Weak<Pool>,
    cut: Allocation,
    base: *mut u8,
}

// SAFETY: the piece only owns memory; who may touch it when is its holder's affair.
unsafe impl Send for Piece {}
// SAFETY: as above.
unsafe impl Sync for Piece {}

impl Pool {
    /// A zeroed piece of `bytes`, at a multiple of `alignment`; `None` when there is no memory.
    pub(super) fn cut(self: &Arc<Self>, bytes: usize, alignment: usize) -> Option<Piece> {
        let room = if alignment > UNIT {
            bytes.checked_add(alignment)?
        } else {
            bytes
        };
        if room > CHUNK {
            return None;
        }
        let mut chunks = self.chunks.lock();
        let old = chunks
            .iter()
            .find_map(|chunk| Some((chunk.clone(), chunk.cut(room)?)));
        let (chunk, (cut, dirty)) = match old {
            Some(found) => found,
            None => {
                let chunk = Arc::new(Chunk::new()?);
                let cut = chunk.cut(room)?;
                chunks.push(chunk.clone());
                (chunk, cut)
            }
        };
        drop(chunks);
        // SAFETY: the cut lies in the chunk.
        let start = unsafe { chunk.memory.base().add(cut.offset as usize * UNIT) };
        // SAFETY: the first bytes of the cut, which nobody else has.
        unsafe { start.write_bytes(0, dirty) };
        let gap = start.align_offset(alignment.max(1));
        Some(Piece {
            // SAFETY: the gap is below the alignment, for which there is room.
            base: unsafe { start.add(gap) },
            chunk,
            pool: Arc::downgrade(self),
            cut,
        })
    }
}

impl Chunk {
    fn new() -> Option<Chunk> {
        Some(Chunk {
            memory: Mapping::new(CHUNK, PAGE)?,
            cuts: Mutex::new(Cuts {
                // A piece has at least LEAST bytes, and each may leave a gap beside it.
                allocator: Allocator::with_max_allocs(
                    (CHUNK / UNIT) as u32,
                    (2 * CHUNK / LEAST) as u32,
                ),
                live: 0,
                touched: 0,
            }),
        })
    }

    /// A cut of `bytes`, and how many of its first bytes were given out before.
    fn cut(&self, bytes: usize) -> Option<(Allocation, usize)> {
        let mut cuts = self.cuts.lock();
        let units = bytes.div_ceil(UNIT);
        let cut = cuts.allocator.allocate(units as u32)?;
        cuts.live += 1;
        let start = cut.offset as usize * UNIT;
        let end = start + units * UNIT;
        let dirty = cuts.touched.clamp(start, end) - start;
        cuts.touched = cuts.touched.max(end);
        Some((cut, dirty))
    }
}

impl Piece {
    /// Its beginning.
    pub(super) fn base(&self) -> *mut u8 {
        self.base
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let pool = self.pool.upgrade();
        // Held while the chunk is looked at, so that nothing is cut from one that is about to go.
        let mut chunks = pool.as_ref().map(|pool| pool.chunks.lock());
        let mut cuts = self.chunk.cuts.lock();
        cuts.allocator.free(self.cut);
        cuts.live -= 1;
        let empty = cuts.live == 0;
        drop(cuts);
        // One that is empty is kept for what comes next; a second goes back to the system.
        if let (true, Some(chunks)) = (empty, chunks.as_mut()) {
            let spare = |chunk: &Arc<Chunk>| chunk.cuts.lock().live == 0;
            if chunks.iter().filter(|chunk| spare(chunk)).count() > 1 {
                chunks.retain(|chunk| !Arc::ptr_eq(chunk, &self.chunk));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(
        clippy::mut_from_ref,
        reason = "a piece is a pointer; each test holds its own"
    )]
    fn bytes(piece: &Piece, count: usize) -> &mut [u8] {
        // SAFETY: the piece has as many bytes, and the test holds it alone.
        unsafe { std::slice::from_raw_parts_mut(piece.base(), count) }
    }

    #[test]
    fn pieces_are_apart_aligned_and_zero_when_used_again() {
        let pool = Arc::new(Pool::default());
        for round in 0..3 {
            let pieces: Vec<Piece> = (0..40)
                .map(|i| {
                    let count = LEAST + i * 7001;
                    let alignment = 1 << (i % 17);
                    let piece = pool.cut(count, alignment).unwrap();
                    assert!(piece.base().addr().is_multiple_of(alignment));
                    let held = bytes(&piece, count);
                    assert!(held.iter().all(|b| *b == 0), "round {round}, piece {i}");
                    held.fill(i as u8 + 1);
                    piece
                })
                .collect();
            for (i, piece) in pieces.iter().enumerate() {
                let held = bytes(piece, LEAST + i * 7001);
                assert!(held.iter().all(|b| *b == i as u8 + 1));
            }
        }
    }

    #[test]
    fn chunks_are_added_as_needed_and_given_back_but_one() {
        let pool = Arc::new(Pool::default());
        let pieces: Vec<Piece> = (0..10).map(|_| pool.cut(MOST, 64).unwrap()).collect();
        assert!(pool.chunks.lock().len() >= 10 * MOST / CHUNK);
        drop(pieces);
        assert_eq!(pool.chunks.lock().len(), 1);
        assert!(pool.cut(CHUNK + 1, 64).is_none());
    }

    #[test]
    fn a_piece_outlives_its_pool() {
        let pool = Arc::new(Pool::default());
        let piece = pool.cut(LEAST, 64).unwrap();
        drop(pool);
        bytes(&piece, LEAST).fill(7);
    }

    #[test]
    fn threads_cut_and_give_back_at_once() {
        let pool = Arc::new(Pool::default());
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let pool = &pool;
                scope.spawn(move || {
                    for i in 0..200 {
                        let count = LEAST + i * 1009;
                        let piece = pool.cut(count, 256).unwrap();
                        let held = bytes(&piece, count);
                        assert!(held.iter().all(|b| *b == 0));
                        held.fill(thread + 1);
                        assert!(held.iter().all(|b| *b == thread + 1));
                    }
                });
            }
        });
    }
}

//! Copies between devices of one instance. A path is used only after a write through it was read back.

use super::command::{Bytes, Command};
use super::device::HostDevice;
use super::stream::HostStream;
use crate::Result;
use crate::device::PeerAccess;
use overt_abi::{OVERT_PEER_DIRECT, OVERT_PEER_PROVEN};

/// What the probe writes: no byte equal to its neighbour, none zero.
const PATTERN: [u8; 64] = {
    let mut p = [0; 64];
    let mut i = 0;
    while i < 64 {
        p[i] = (i as u8).wrapping_mul(37) | 1;
        i += 1;
    }
    p
};

impl HostDevice {
    pub(crate) fn probe(&self, peer: &Self) -> Result<PeerAccess> {
        let known = {
            let peers = self.shared.peers.lock();
            peers.iter().find(|(id, _)| *id == peer.shared.id).cloned()
        };
        if let Some((_, access)) = known {
            return Ok(access);
        }
        let source = peer.shared.memory.alloc(PATTERN.len() as u64, 0)?;
        let target = self.shared.memory.alloc(PATTERN.len() as u64, 0)?;
        let mut back = [0; PATTERN.len()];
        // SAFETY: two fresh allocations of the pattern's length, known to nobody else.
        unsafe {
            let source = source.address as usize as *mut u8;
            let target = target.address as usize as *mut u8;
            source.copy_from_nonoverlapping(PATTERN.as_ptr(), PATTERN.len());
            (self.shared.peer_copy)(target, source, PATTERN.len());
            back.as_mut_ptr()
                .copy_from_nonoverlapping(target, PATTERN.len());
        }
        peer.shared.memory.free(source.handle);
        self.shared.memory.free(target.handle);
        let access = if back == PATTERN {
            PeerAccess {
                bits: OVERT_PEER_DIRECT | OVERT_PEER_PROVEN,
                reason: "".into(),
            }
        } else {
            let wrong = back.iter().zip(&PATTERN).filter(|(a, b)| a != b).count();
            PeerAccess {
                bits: OVERT_PEER_DIRECT,
                reason: format!(
                    "the peer path was probed with {} bytes and {wrong} of them did not arrive; copies are staged through host memory",
                    PATTERN.len()
                )
                .into(),
            }
        };
        self.shared
            .peers
            .lock()
            .push((peer.shared.id, access.clone()));
        Ok(access)
    }

    pub(crate) fn enqueue_peer(
        &self,
        stream: &HostStream,
        target: Bytes,
        peer: &Self,
        source: Bytes,
    ) -> Result<()> {
        let proven = self.probe(peer)?.bits & OVERT_PEER_PROVEN != 0;
        let path = proven.then_some(self.shared.peer_copy);
        stream.submit(Command::Copy(source, target, Some(path.unwrap_or(staged))));
        Ok(())
    }
}

/// Copies by way of a buffer of the host's.
///
/// # Safety
/// As [`super::PeerCopy`].
unsafe fn staged(target: *mut u8, source: *const u8, len: usize) {
    let mut buffer = vec![0u8; len];
    // SAFETY: the caller vouches for both stretches; the buffer has their length.
    unsafe {
        buffer.as_mut_ptr().copy_from_nonoverlapping(source, len);
        target.copy_from_nonoverlapping(buffer.as_ptr(), len);
    }
}

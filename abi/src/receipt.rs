//! What a launch really did.

use crate::OvertStr;

/// Filled by `launch`, from what it enqueued and not from what it was asked. The host zeroes all but `size` first. It is filled on
/// an error too: when the second of two device launches fails, `launches` is 1, the outputs are undefined, and the host counts
/// the call as enqueued and failed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertReceipt {
    /// `sizeof(OvertReceipt)` as the host knows it. A provider writes no byte beyond it.
    pub size: u32,
    /// Device launches enqueued. 0 says that nothing ran, which is right for empty work alone.
    pub launches: u32,
    /// The symbol of the first launch, one of the kernel's `entries`. Lives as long as the kernel is open.
    pub entry: OvertStr,
    /// The first eight bytes (as memory holds them) of the digest of the image that holds `entry`.
    pub image_digest: u64,
    /// Grid of the first launch, in blocks; where the backend has none, the number of independent pieces of work.
    pub grid: [u32; 3],
    /// Block of the first launch, in threads.
    pub block: [u32; 3],
    /// Dynamic and static shared memory of one block, in bytes.
    pub shared_bytes: u32,
    /// Number of `more`.
    pub more_count: u32,
    /// Symbols of the further launches, where they differ from `entry`. Lives as long as the kernel is open.
    pub more: *const OvertStr,
}

/// What a replay really did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertReplayReceipt {
    /// `sizeof(OvertReplayReceipt)` as the host knows it.
    pub size: u32,
    /// Device launches that this replay enqueued: the sum over the captured ones.
    pub launches: u32,
}

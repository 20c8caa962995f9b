//! Receipts that are not what was expected.

use super::stream::Stream;
use crate::count::Witness;
use crate::error::{Error, GuardLie};
use crate::select::Ready;
use overt_abi::{OVERT_E_CAPTURE, OVERT_E_PREPARE_FIRST, OvertReceipt, OvertStr};

/// A receipt before the launch.
pub(super) const EMPTY: OvertReceipt = OvertReceipt {
    size: size_of::<OvertReceipt>() as u32,
    launches: 0,
    entry: OvertStr {
        data: std::ptr::null(),
        len: 0,
    },
    image_digest: 0,
    grid: [0; 3],
    block: [0; 3],
    shared_bytes: 0,
    more_count: 0,
    more: std::ptr::null(),
};

/// What a launch said that it did, in owned form.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Receipt {
    /// Device launches.
    pub launches: u32,
    /// Symbol of the first.
    pub entry: String,
    /// First eight bytes of the digest of the image that holds it, as memory holds them.
    pub image_digest: u64,
    /// Grid of the first, in blocks or pieces of work.
    pub grid: [u32; 3],
    /// Block of the first, in threads.
    pub block: [u32; 3],
    /// Shared memory of a block, bytes.
    pub shared_bytes: u32,
}

impl Receipt {
    pub(super) fn of(raw: &OvertReceipt) -> Receipt {
        Receipt {
            launches: raw.launches,
            entry: if raw.entry.data.is_null() {
                String::new()
            } else {
                text(raw.entry)
            },
            image_digest: raw.image_digest,
            grid: raw.grid,
            block: raw.block,
            shared_bytes: raw.shared_bytes,
        }
    }
}

/// Looks closer at a receipt that the fast test did not pass. An error is a guard lie, counted for the kernel that was selected;
/// what really ran is counted for the kernel that declares its symbol.
#[cold]
#[inline(never)]
pub(super) fn verify(
    stream: &Stream,
    ready: &Ready,
    receipt: &OvertReceipt,
    witness: Option<&Witness>,
) -> Result<(), Error> {
    let said = if receipt.launches == 0 {
        Some((
            "that nothing was launched for non-empty work".to_owned(),
            None,
        ))
    } else if !ready.declares(receipt.entry) {
        let symbol = text(receipt.entry);
        Some((
            format!("that `{symbol}` was launched, which it does not declare"),
            Some(symbol),
        ))
    } else if !ready.holds_image(receipt.image_digest) {
        Some((
            format!(
                "that image {:016x} was launched, which holds no kernel of this id for this device",
                receipt.image_digest
            ),
            None,
        ))
    } else {
        undeclared(ready, receipt).map(|symbol| {
            (
                format!("that `{symbol}` was launched as well, which it does not declare"),
                Some(symbol),
            )
        })
    };
    let Some((said, symbol)) = said else {
        return Ok(());
    };
    stream.shard.cells(ready.slot).lied();
    if let Some(witness) = witness {
        witness.note(&ready.kernel.decl.id, None, |c| c.lies += 1);
    }
    let snapshot = stream.runtime.0.snapshot();
    let mut owner = Vec::new();
    if let Some(symbol) = symbol {
        for kernel in snapshot
            .kernels
            .iter()
            .filter(|k| k.provider == ready.kernel.provider)
        {
            if kernel.decl.entries.contains(&symbol) {
                owner.push(kernel.decl.id.clone());
                if let Ok(slot) = stream.runtime.0.slot(kernel, &stream.device) {
                    let cells = stream.shard.cells(slot);
                    if stream.capturing.get() {
                        cells.captured();
                    } else {
                        cells.enqueued(receipt.launches);
                    }
                }
                if let Some(witness) = witness {
                    stream.note(witness, &kernel.decl.id, receipt.launches);
                }
            }
        }
    }
    Err(Error::GuardLie(Box::new(GuardLie {
        kernel: ready.kernel.decl.id.clone(),
        device: stream.device.name().to_owned(),
        said,
        owner,
    })))
}

/// A launch that the provider refused.
#[cold]
#[inline(never)]
pub(super) fn refused(
    stream: &Stream,
    ready: &Ready,
    status: i32,
    words: String,
    receipt: &OvertReceipt,
    witness: Option<&Witness>,
) -> Error {
    let kernel = ready.kernel.decl.id.clone();
    if receipt.launches > 0 && !stream.capturing.get() {
        let cells = stream.shard.cells(ready.slot);
        cells.enqueued(receipt.launches);
        cells.failed();
        if let Some(witness) = witness {
            witness.note(&kernel, None, |c| {
                c.enqueued += 1;
                c.launches += u64::from(receipt.launches);
                c.failed += 1;
            });
        }
    }
    if stream.capturing.get() {
        match status {
            OVERT_E_PREPARE_FIRST => return Error::PrepareFirst { kernel },
            OVERT_E_CAPTURE => {
                return Error::Capture {
                    what: format!("{kernel} cannot be captured: {words}"),
                };
            }
            _ => {}
        }
    }
    Error::Launch {
        kernel,
        device: stream.device.name().to_owned(),
        status,
        words,
        enqueued: receipt.launches,
    }
}

/// The first of the further symbols that the kernel does not declare.
fn undeclared(ready: &Ready, receipt: &OvertReceipt) -> Option<String> {
    if receipt.more.is_null() {
        return (receipt.more_count > 0).then(|| "(null)".to_owned());
    }
    // SAFETY: the provider vouches for `more_count` symbols as long as the kernel is open.
    let more = unsafe { std::slice::from_raw_parts(receipt.more, receipt.more_count as usize) };
    more.iter()
        .find(|symbol| !ready.declares(**symbol))
        .map(|symbol| text(*symbol))
}

fn text(symbol: OvertStr) -> String {
    if symbol.data.is_null() {
        return "(null)".into();
    }
    // SAFETY: the provider vouches for the text as long as the kernel is open.
    let bytes = unsafe { std::slice::from_raw_parts(symbol.data, (symbol.len as usize).min(4096)) };
    String::from_utf8_lossy(bytes).into_owned()
}

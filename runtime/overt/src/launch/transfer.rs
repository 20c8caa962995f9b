//! Bytes in, out and across.

use super::stream::Stream;
use crate::error::Error;
use crate::ffi::Words;
use crate::memory::Tensor;
use crate::registry::{Device, entry};
use overt_abi::{OVERT_OK, OVERT_PEER_PROVEN};

impl Stream {
    /// Enqueues a copy of `bytes` to the tensor's memory, from its first element on. `bytes` may be reused at once. It covers the
    /// tensor's whole span, gaps of a strided one included.
    pub fn write(&self, tensor: &Tensor, bytes: &[u8]) -> Result<(), Error> {
        writable(tensor, "copy into")?;
        self.put(tensor, bytes)
    }

    /// [`Stream::write`] of a tensor that may be read-only to everybody else.
    pub(super) fn put(&self, tensor: &Tensor, bytes: &[u8]) -> Result<(), Error> {
        self.refuse_while_capturing("copy from the host")?;
        self.mine(tensor)?;
        same_size(tensor, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let instance = self.device.instance();
        let copy = entry(
            instance.api().memory_copy_in,
            &instance.provider.decl,
            "memory_copy_in",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        self.progress.enqueue();
        // SAFETY: the range was checked when the tensor was made; the source is valid for the call, after which it is not read.
        let status = unsafe {
            copy(
                self.raw.as_ptr(),
                tensor.allocation.handle(),
                tensor.view.byte_offset,
                bytes.as_ptr().cast(),
                bytes.len() as u64,
                &sink,
            )
        };
        self.device.check("memory_copy_in", status, &mut words)
    }

    /// Copies the tensor's span to `bytes` after all work enqueued before; **waits** for it. A failure of that work is reported, and
    /// counted, as by [`Stream::sync`].
    pub fn read(&self, tensor: &Tensor, bytes: &mut [u8]) -> Result<(), Error> {
        self.refuse_while_capturing("copy to the host")?;
        self.mine(tensor)?;
        same_size(tensor, bytes.len())?;
        // The synchronise settles counters and witnesses; the copy then waits for nothing.
        self.sync()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let instance = self.device.instance();
        let copy = entry(
            instance.api().memory_copy_out_sync,
            &instance.provider.decl,
            "memory_copy_out_sync",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: the range was checked when the tensor was made; the target is valid and exclusive for the call, which ends when
        // the bytes are there.
        let status = unsafe {
            copy(
                self.raw.as_ptr(),
                tensor.allocation.handle(),
                tensor.view.byte_offset,
                bytes.as_mut_ptr().cast(),
                bytes.len() as u64,
                &sink,
            )
        };
        self.device
            .check("memory_copy_out_sync", status, &mut words)
    }

    /// The tensor's span as bytes; waits as [`Stream::read`] does.
    pub fn read_vec(&self, tensor: &Tensor) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; usize::try_from(tensor.view.span_bytes).unwrap_or(usize::MAX)];
        self.read(tensor, &mut bytes)?;
        Ok(bytes)
    }

    /// Enqueues filling the tensor's span with one byte.
    pub fn fill(&self, tensor: &Tensor, value: u8) -> Result<(), Error> {
        writable(tensor, "fill")?;
        self.mine(tensor)?;
        if tensor.view.span_bytes == 0 {
            return Ok(());
        }
        let instance = self.device.instance();
        let fill = entry(
            instance.api().memory_fill,
            &instance.provider.decl,
            "memory_fill",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        self.touch(&[tensor]);
        // SAFETY: the range was checked when the tensor was made; a capture keeps the memory, else retiring waits for `progress`.
        let status = unsafe {
            fill(
                self.raw.as_ptr(),
                tensor.allocation.handle(),
                tensor.view.byte_offset,
                value,
                tensor.view.span_bytes,
                &sink,
            )
        };
        self.device.check("memory_fill", status, &mut words)
    }

    /// Enqueues a copy of one tensor's span to another's of the same size. On one device, or between devices of one provider, where
    /// it goes over the proven peer path or is staged by the provider; work on the source must be complete or waited for by an
    /// event.
    pub fn copy(&self, target: &Tensor, source: &Tensor) -> Result<(), Error> {
        writable(target, "copy into")?;
        self.mine(target)?;
        within(source)?;
        let bytes = source.view.span_bytes;
        if bytes != target.view.span_bytes {
            return Err(Error::DataSize {
                tensor: target.view.span_bytes,
                data: bytes,
            });
        }
        if bytes == 0 {
            return Ok(());
        }
        let instance = self.device.instance();
        let mut words = Words::default();
        let sink = words.sink();
        let (t, s) = (&target.allocation, &source.allocation);
        if source.device().same(&self.device) {
            if target
                .starts(source)
                .is_some_and(|(to, from)| to.abs_diff(from) < bytes)
            {
                return Err(Error::Capture {
                    what: "source and target of a copy overlap: copy through a third tensor".into(),
                });
            }
            let copy = entry(
                instance.api().memory_copy,
                &instance.provider.decl,
                "memory_copy",
            )?;
            self.touch(&[target, source]);
            // SAFETY: both ranges were checked when the tensors were made, and do not overlap; memory is kept as in `fill`.
            let status = unsafe {
                copy(
                    self.raw.as_ptr(),
                    t.handle(),
                    target.view.byte_offset,
                    s.handle(),
                    source.view.byte_offset,
                    bytes,
                    &sink,
                )
            };
            return self.device.check("memory_copy", status, &mut words);
        }
        if !std::sync::Arc::ptr_eq(source.device().instance(), instance) {
            return Err(Error::WrongDevice {
                what: "tensor",
                got: source.device().name().to_owned(),
                wanted: self.device.name().to_owned(),
            });
        }
        self.refuse_while_capturing("copy between devices")?;
        let copy = entry(
            instance.api().memory_copy_peer,
            &instance.provider.decl,
            "memory_copy_peer",
        )?;
        let source_device = source.device().raw()?;
        self.touch(&[target]);
        // SAFETY: as above; both devices are open and of one instance, whose retired memory waits for every stream of it.
        let status = unsafe {
            copy(
                self.raw.as_ptr(),
                t.handle(),
                target.view.byte_offset,
                source_device,
                s.handle(),
                source.view.byte_offset,
                bytes,
                &sink,
            )
        };
        self.device.check("memory_copy_peer", status, &mut words)
    }

    /// Notes that work enqueued next uses these tensors.
    fn touch(&self, tensors: &[&Tensor]) {
        if self.capturing.get() {
            tensors.iter().for_each(|t| self.keep(t.allocation.clone()));
        } else {
            self.progress.enqueue();
        }
    }

    fn mine(&self, tensor: &Tensor) -> Result<(), Error> {
        if tensor.device().same(&self.device) {
            return within(tensor);
        }
        Err(Error::WrongDevice {
            what: "tensor",
            got: tensor.device().name().to_owned(),
            wanted: self.device.name().to_owned(),
        })
    }
}

fn writable(tensor: &Tensor, what: &'static str) -> Result<(), Error> {
    if tensor.view.read_only {
        return Err(Error::ReadOnly { what });
    }
    Ok(())
}

/// A packed weight has the shape of the plain one and a size of its own, so its span may reach beyond its memory.
fn within(tensor: &Tensor) -> Result<(), Error> {
    let (needed, offset) = (tensor.view.span_bytes, tensor.view.byte_offset);
    let available = tensor.place.bytes;
    if offset.checked_add(needed).is_none_or(|end| end > available) {
        return Err(crate::memory::ViewError::OutOfBounds {
            needed,
            offset,
            available,
        }
        .into());
    }
    Ok(())
}

fn same_size(tensor: &Tensor, bytes: usize) -> Result<(), Error> {
    if tensor.view.span_bytes == bytes as u64 {
        return Ok(());
    }
    Err(Error::DataSize {
        tensor: tensor.view.span_bytes,
        data: bytes as u64,
    })
}

/// How one device reaches another's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAccess {
    /// The direct path was written and read back, and the bytes were right. Otherwise copies are staged through the host.
    pub proven: bool,
    /// The driver says that the path exists.
    pub claimed: bool,
    /// What the provider said, in particular why a claimed path was not proven.
    pub words: String,
}

impl Device {
    /// Probes the path to a peer of the same provider. May take long.
    pub fn peer_access(&self, peer: &Device) -> Result<PeerAccess, Error> {
        let instance = self.instance();
        if !std::sync::Arc::ptr_eq(instance, peer.instance()) {
            return Err(Error::WrongDevice {
                what: "peer",
                got: peer.name().to_owned(),
                wanted: self.name().to_owned(),
            });
        }
        let ask = entry(
            instance.api().peer_access,
            &instance.provider.decl,
            "peer_access",
        )?;
        let (device, other) = (self.raw()?, peer.raw()?);
        let mut words = Words::default();
        let sink = words.sink();
        let mut access = 0;
        // SAFETY: both devices are open and of one instance; out-pointer and sink are valid for the call.
        let status = unsafe { ask(device, other, &mut access, &sink) };
        if status != OVERT_OK {
            self.check("peer_access", status, &mut words)?;
        }
        Ok(PeerAccess {
            proven: access & OVERT_PEER_PROVEN != 0,
            claimed: access & overt_abi::OVERT_PEER_DIRECT != 0,
            words: words.take(),
        })
    }
}

//! Devices: what a backend implements.

use crate::arch::Arch;
use crate::call::{CallView, TensorView};
use crate::declare::KernelDecl;
use crate::receipt::Receipt;
use crate::value::Value;
use crate::{Error, Result};
use overt_abi::{
    OVERT_DEVICE_HARDWARE, OVERT_DEVICE_INTERPRETED, OVERT_DEVICE_SOFTWARE, OVERT_DEVICE_UNKNOWN,
    OvertImport,
};
use std::borrow::Cow;

/// What a device is, as its driver states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// The driver does not say.
    Unknown,
    /// A real device.
    Hardware,
    /// A driver that computes on the CPU.
    Software,
    /// An interpreter of another device's machine code.
    Interpreted,
}

impl DeviceKind {
    pub(crate) const fn raw(self) -> u32 {
        match self {
            Self::Unknown => OVERT_DEVICE_UNKNOWN,
            Self::Hardware => OVERT_DEVICE_HARDWARE,
            Self::Software => OVERT_DEVICE_SOFTWARE,
            Self::Interpreted => OVERT_DEVICE_INTERPRETED,
        }
    }
}

/// The description of a device.
#[derive(Clone, Debug)]
pub struct DeviceDesc {
    /// Stable id: `uuid:…`, `pci:…`, `cpuid:…`. Devices are joined by it, never by index.
    pub id: Cow<'static, str>,
    /// The marketing name.
    pub name: Cow<'static, str>,
    /// Driver and version.
    pub driver: Cow<'static, str>,
    /// PCI address, empty if unknown.
    pub pci: Cow<'static, str>,
    /// What it is.
    pub kind: DeviceKind,
    /// Every allocation has a host address equal to its address, and the device can address any host memory by an import.
    pub host_addressable: bool,
    /// Its architecture.
    pub arch: Arch,
    /// Features and limits, which guards test as `device.<name>`.
    pub facts: Vec<(Cow<'static, str>, Value)>,
    /// Memory in bytes, 0 if unknown.
    pub memory_bytes: u64,
}

impl DeviceDesc {
    /// A device of unknown kind without facts.
    pub fn new(
        id: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        arch: Arch,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            driver: "".into(),
            pci: "".into(),
            kind: DeviceKind::Unknown,
            host_addressable: false,
            arch,
            facts: Vec::new(),
            memory_bytes: 0,
        }
    }
}

/// Memory that a device gave out or took in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Names it; never 0.
    pub handle: u64,
    /// Device address, 0 where the backend has none.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// A power of two that divides the address.
    pub alignment: u64,
    /// Where the host may read and write it while no work on it is pending; 0: it may not.
    pub host_address: u64,
}

/// Workspace that a call needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceNeed {
    /// Bytes, 0 for none.
    pub bytes: u64,
    /// Alignment, 0 for the device's own.
    pub alignment: u64,
}

/// A packed layout of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightsLayout {
    /// Names the layout and everything the bytes depend on; never 0.
    pub key: u64,
    /// Bytes of the packed weight.
    pub bytes: u64,
    /// Alignment, 0 for the device's own.
    pub alignment: u64,
}

/// What is known of the path to a peer's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerAccess {
    /// `OVERT_PEER_…` bits.
    pub bits: u32,
    /// Why a path that the driver promises is not used; empty otherwise.
    pub reason: Cow<'static, str>,
}

fn cannot<T>(what: &'static str) -> Result<T> {
    Err(Error::unsupported(what))
}

/// A device of a backend. The edge turns each method into one entry of the ABI, catches its panics and words its errors.
///
/// Threads: any, as the ABI states for each entry; a stream is used by one thread at a time. Objects are dropped in the
/// reverse order of making them, streams and graphs before the device. A method whose constant (`CAPTURE`, `PEER`, …) is
/// `false` is never called: the entry is then null in the table.
pub trait Device: Send + Sync + Sized + 'static {
    /// A kernel made ready.
    type Kernel: Send + Sync + 'static;
    /// A problem made ready.
    type Plan: Send + Sync + 'static;
    /// A queue of work. Dropping it blocks until its work is done.
    type Stream: Send + Sync + 'static;
    /// A point in a stream.
    type Event: Send + Sync + 'static;
    /// A captured sequence.
    type Graph: Send + Sync + 'static;

    /// `prepare` exists.
    const PREPARE: bool = false;
    /// `workspace` exists.
    const WORKSPACE: bool = false;
    /// `weights_layout` and `weights_pack` exist.
    const WEIGHTS: bool = false;
    /// `import` exists.
    const IMPORT: bool = false;
    /// `copy_out` exists.
    const COPY_OUT: bool = false;
    /// `peer_access` and `copy_peer` exist.
    const PEER: bool = false;
    /// `import_stream` exists.
    const STREAM_IMPORT: bool = false;
    /// Capture and replay exist.
    const CAPTURE: bool = false;

    /// The one-time set-up of a kernel. After a failure it may be tried again. May block, compile and allocate.
    fn open_kernel(&self, decl: &'static KernelDecl) -> Result<Self::Kernel>;
    /// Readies a problem; `None` is a valid answer. Never called while capturing.
    fn prepare(&self, _: &Self::Kernel, _: &CallView<'_>) -> Result<Option<Self::Plan>> {
        cannot("no kernel of this provider prepares")
    }
    /// Workspace of a call. Pure.
    fn workspace(&self, _: &Self::Kernel, _: &CallView<'_>) -> Result<WorkspaceNeed> {
        cannot("no kernel of this provider needs workspace")
    }
    /// The packed layout of operand `operand`, or `None`: it takes the plain one. Pure. `knobs` is a call that holds the
    /// kernel's knobs and nothing else.
    fn weights_layout(
        &self,
        _kernel: &Self::Kernel,
        _operand: u32,
        _weight: &TensorView<'_>,
        _knobs: &CallView<'_>,
    ) -> Result<Option<WeightsLayout>> {
        Ok(None)
    }
    /// Enqueues the repacking of a weight, counting what was enqueued in the receipt. `call` holds the source as operand 0, the packed
    /// memory as operand 1, and the kernel's knobs.
    fn weights_pack(
        &self,
        _kernel: &Self::Kernel,
        _stream: &Self::Stream,
        _operand: u32,
        _call: &CallView<'_>,
        _receipt: &mut Receipt,
    ) -> Result<()> {
        cannot("no kernel of this provider repacks")
    }
    /// Enqueues a call and counts in the receipt what was enqueued, device launch by device launch, so that it is right on an
    /// error too.
    fn launch(
        &self,
        kernel: &Self::Kernel,
        stream: &Self::Stream,
        call: &CallView<'_>,
        plan: Option<&Self::Plan>,
        receipt: &mut Receipt,
    ) -> Result<()>;

    /// Allocates at least one byte; alignment 0 is the device's own, at least 64. `host_visible`: with a host address, or
    /// refused as unsupported.
    fn alloc(&self, bytes: u64, alignment: u64, host_visible: bool) -> Result<Allocation>;
    /// Frees or releases; an unknown handle is ignored, since the entry cannot fail.
    fn free(&self, handle: u64);
    /// Takes in memory of the host's.
    fn import(&self, _: &OvertImport) -> Result<Allocation> {
        cannot("memory cannot be imported")
    }
    /// Enqueues a copy from host memory, which may be reused when this returns.
    fn copy_in(&self, stream: &Self::Stream, handle: u64, offset: u64, source: &[u8])
    -> Result<()>;
    /// Enqueues a copy to `bytes` of host memory.
    ///
    /// # Safety
    /// The target stays valid for writes until the stream has passed the copy.
    unsafe fn copy_out(
        &self,
        _stream: &Self::Stream,
        _handle: u64,
        _offset: u64,
        _target: *mut u8,
        _bytes: u64,
    ) -> Result<()> {
        cannot("asynchronous copies to the host are not possible")
    }
    /// Copies to host memory and waits; reports a failure of earlier work as `OVERT_E_ASYNC`.
    ///
    /// # Safety
    /// The target is valid for writes of `bytes`.
    unsafe fn copy_out_sync(
        &self,
        stream: &Self::Stream,
        handle: u64,
        offset: u64,
        target: *mut u8,
        bytes: u64,
    ) -> Result<()>;
    /// Enqueues a copy between allocations of this device, `(handle, byte offset)` each.
    fn copy(
        &self,
        stream: &Self::Stream,
        target: (u64, u64),
        source: (u64, u64),
        bytes: u64,
    ) -> Result<()>;
    /// Enqueues filling with one byte.
    fn fill(
        &self,
        stream: &Self::Stream,
        handle: u64,
        offset: u64,
        value: u8,
        bytes: u64,
    ) -> Result<()>;
    /// Probes the path to a peer by a write and a read back.
    fn peer_access(&self, _peer: &Self) -> Result<PeerAccess> {
        cannot("peers cannot be asked")
    }
    /// Enqueues a copy from a peer's allocation.
    fn copy_peer(
        &self,
        _stream: &Self::Stream,
        _target: (u64, u64),
        _source_device: &Self,
        _source: (u64, u64),
        _bytes: u64,
    ) -> Result<()> {
        cannot("peers cannot be copied from")
    }

    /// Makes a stream.
    fn stream(&self) -> Result<Self::Stream>;
    /// Takes in a native stream; a null one is the driver's default stream, which cannot capture.
    fn import_stream(&self, _: &OvertImport) -> Result<Self::Stream> {
        cannot("streams cannot be imported")
    }
    /// Hands enqueued work to the device.
    fn flush(&self, stream: &Self::Stream) -> Result<()>;
    /// Whether all work is done; its failure if it failed. Flushes.
    fn query(&self, stream: &Self::Stream) -> Result<bool>;
    /// Waits; reports the first failure once.
    fn sync(&self, stream: &Self::Stream) -> Result<()>;
    /// Later work waits for the event.
    fn wait_event(&self, stream: &Self::Stream, event: &Self::Event) -> Result<()>;

    /// Makes an event, not recorded.
    fn event(&self) -> Result<Self::Event>;
    /// Enqueues it and flushes; again moves it.
    fn record(&self, event: &Self::Event, stream: &Self::Stream) -> Result<()>;
    /// Whether it is passed; `OVERT_E_INVALID` when never recorded.
    fn event_query(&self, event: &Self::Event) -> Result<bool>;
    /// Waits until it is passed.
    fn event_sync(&self, event: &Self::Event) -> Result<()>;
    /// Device time between two passed events in nanoseconds; `None` while one is pending.
    fn elapsed(&self, start: &Self::Event, end: &Self::Event) -> Result<Option<f64>>;

    /// From here on launches, copies within the device and fills are recorded and not run; anything else on the stream is refused
    /// with `OVERT_E_CAPTURE`.
    fn capture_begin(&self, _: &Self::Stream) -> Result<()> {
        cannot("streams cannot capture")
    }
    /// Ends recording and makes a graph.
    fn capture_end(&self, _: &Self::Stream) -> Result<Self::Graph> {
        cannot("streams cannot capture")
    }
    /// Ends recording and forgets it.
    fn capture_abort(&self, _: &Self::Stream) {}
    /// Enqueues a graph; answers its device launches.
    fn replay(&self, _: &Self::Graph, _: &Self::Stream) -> Result<u32> {
        cannot("streams cannot capture")
    }
}

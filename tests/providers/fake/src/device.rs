//! A device of host memory in which every entry is counted and can be told to panic.

use crate::context::Context;
use overt_sdk::abi::OvertImport;
use overt_sdk::declare::KernelDecl;
use overt_sdk::host::{HostDevice, HostEvent, HostGraph, HostKernel, HostPlan, HostStream};
use overt_sdk::{
    Allocation, CallView, Device, Error, PeerAccess, Receipt, Result, TensorView, WeightsLayout,
    WorkspaceNeed,
};

/// The device.
pub struct FakeDevice {
    host: HostDevice,
    context: Context,
}

impl FakeDevice {
    pub fn new(context: Context) -> FakeDevice {
        FakeDevice {
            host: HostDevice::new(context.clone(), &context.label.recorder),
            context,
        }
    }

    fn shown(&self, mut allocation: Allocation) -> Allocation {
        if self.context.has("no_host_address") {
            allocation.host_address = 0;
        }
        if self.context.has("no_address") {
            (allocation.address, allocation.host_address) = (0, 0);
        }
        allocation
    }
}

/// A method that counts and does what the device of host memory does.
macro_rules! pass {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)?;)*) => {
        $(fn $name(&self, $($arg: $ty),*) $(-> $out)? {
            self.context.entry(stringify!($name));
            self.host.$name($($arg),*)
        })*
    };
}

impl Device for FakeDevice {
    type Kernel = (HostKernel, &'static KernelDecl);
    type Plan = HostPlan;
    type Stream = HostStream;
    type Event = HostEvent;
    type Graph = HostGraph;

    const PREPARE: bool = true;
    const WORKSPACE: bool = true;
    const WEIGHTS: bool = true;
    const IMPORT: bool = true;
    const COPY_OUT: bool = true;
    const PEER: bool = true;
    const STREAM_IMPORT: bool = true;
    const CAPTURE: bool = true;

    fn open_kernel(&self, decl: &'static KernelDecl) -> Result<Self::Kernel> {
        self.context.entry("open_kernel");
        let before =
            self.context
                .label
                .count(&format!("open {} {}", self.context.device, decl.id()));
        if before == 0 && self.context.has("open_once") {
            return Err(Error::internal("the first set-up fails"));
        }
        self.host.open_kernel(decl)
    }

    fn alloc(&self, bytes: u64, alignment: u64, host_visible: bool) -> Result<Allocation> {
        self.context.entry("alloc");
        Ok(self.shown(self.host.alloc(bytes, alignment, host_visible)?))
    }

    fn import(&self, import: &OvertImport) -> Result<Allocation> {
        self.context.entry("import");
        Ok(self.shown(self.host.import(import)?))
    }

    fn weights_pack(
        &self,
        kernel: &Self::Kernel,
        stream: &HostStream,
        operand: u32,
        call: &CallView<'_>,
        receipt: &mut Receipt,
    ) -> Result<()> {
        self.context.entry("weights_pack");
        self.host
            .weights_pack(kernel, stream, operand, call, receipt)
    }

    fn launch(
        &self,
        kernel: &Self::Kernel,
        stream: &HostStream,
        call: &CallView<'_>,
        plan: Option<&HostPlan>,
        receipt: &mut Receipt,
    ) -> Result<()> {
        self.context.entry("launch");
        self.host.launch(kernel, stream, call, plan, receipt)
    }

    unsafe fn copy_out(
        &self,
        stream: &HostStream,
        handle: u64,
        offset: u64,
        target: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        self.context.entry("copy_out");
        // SAFETY: the caller's promise, passed on.
        unsafe { self.host.copy_out(stream, handle, offset, target, bytes) }
    }

    unsafe fn copy_out_sync(
        &self,
        stream: &HostStream,
        handle: u64,
        offset: u64,
        target: *mut u8,
        bytes: u64,
    ) -> Result<()> {
        self.context.entry("copy_out_sync");
        // SAFETY: the caller's promise, passed on.
        unsafe {
            self.host
                .copy_out_sync(stream, handle, offset, target, bytes)
        }
    }

    fn peer_access(&self, peer: &Self) -> Result<PeerAccess> {
        self.context.entry("peer_access");
        self.host.peer_access(&peer.host)
    }

    fn copy_peer(
        &self,
        stream: &HostStream,
        target: (u64, u64),
        source_device: &Self,
        source: (u64, u64),
        bytes: u64,
    ) -> Result<()> {
        self.context.entry("copy_peer");
        if self.context.has("no_peer") {
            return Err(Error::unsupported("there is no way between these devices"));
        }
        self.host
            .copy_peer(stream, target, &source_device.host, source, bytes)
    }

    pass! {
        fn prepare(kernel: &Self::Kernel, call: &CallView<'_>) -> Result<Option<HostPlan>>;
        fn workspace(kernel: &Self::Kernel, call: &CallView<'_>) -> Result<WorkspaceNeed>;
        fn weights_layout(kernel: &Self::Kernel, operand: u32, weight: &TensorView<'_>, knobs: &CallView<'_>)
            -> Result<Option<WeightsLayout>>;
        fn free(handle: u64);
        fn copy_in(stream: &HostStream, handle: u64, offset: u64, source: &[u8]) -> Result<()>;
        fn copy(stream: &HostStream, target: (u64, u64), source: (u64, u64), bytes: u64) -> Result<()>;
        fn fill(stream: &HostStream, handle: u64, offset: u64, value: u8, bytes: u64) -> Result<()>;
        fn stream() -> Result<HostStream>;
        fn import_stream(import: &OvertImport) -> Result<HostStream>;
        fn flush(stream: &HostStream) -> Result<()>;
        fn query(stream: &HostStream) -> Result<bool>;
        fn sync(stream: &HostStream) -> Result<()>;
        fn wait_event(stream: &HostStream, event: &HostEvent) -> Result<()>;
        fn event() -> Result<HostEvent>;
        fn record(event: &HostEvent, stream: &HostStream) -> Result<()>;
        fn event_query(event: &HostEvent) -> Result<bool>;
        fn event_sync(event: &HostEvent) -> Result<()>;
        fn elapsed(start: &HostEvent, end: &HostEvent) -> Result<Option<f64>>;
        fn capture_begin(stream: &HostStream) -> Result<()>;
        fn capture_end(stream: &HostStream) -> Result<HostGraph>;
        fn capture_abort(stream: &HostStream);
        fn replay(graph: &HostGraph, stream: &HostStream) -> Result<u32>;
    }
}

//! The provider's declarations and entries.

use crate::{
    OvertAllocation, OvertCall, OvertDeviceInfo, OvertImageDecl, OvertImport, OvertKernelDecl,
    OvertKnobDecl, OvertOpDecl, OvertReceipt, OvertReplayReceipt, OvertSink, OvertStatus, OvertStr,
    OvertTensor, OvertValue, OvertWeightsLayout, OvertWorkspaceNeed,
};
use core::ffi::c_void;

/// A running provider, made by `provider_create`.
///
/// cbindgen:no-export
#[repr(C)]
pub struct OvertInstance {
    _opaque: [u8; 0],
}
/// An opened device.
///
/// cbindgen:no-export
#[repr(C)]
pub struct OvertDevice {
    _opaque: [u8; 0],
}
/// A kernel made ready on one device.
///
/// cbindgen:no-export
#[repr(C)]
pub struct OvertKernel {
    _opaque: [u8; 0],
}
/// A queue of work on one device, in order.
///
/// cbindgen:no-export
#[repr(C)]
pub struct OvertStream {
    _opaque: [u8; 0],
}
/// A point in a stream.
///
/// cbindgen:no-export
#[repr(C)]
pub struct OvertEvent {
    _opaque: [u8; 0],
}
/// A captured sequence of work.
///
/// cbindgen:no-export
#[repr(C)]
pub struct OvertGraph {
    _opaque: [u8; 0],
}

/// Everything that a provider declares. Static: it and all it points to live as long as the library, and never change.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertProvider {
    /// `sizeof(OvertProvider)` as the provider knows it.
    pub size: u32,
    /// Flags that the host must understand, or refuse the provider. None is defined yet.
    pub required: u32,
    /// The provider's name, the first part of its kernels' ids and of its devices' names: `[a-z][a-z0-9_]*`.
    pub name: OvertStr,
    /// Its version.
    pub version: OvertStr,
    /// Ops it implements or brings.
    pub ops: *const OvertOpDecl,
    /// Kernels. Their index here is their number in `kernel_open`.
    pub kernels: *const OvertKernelDecl,
    /// Images.
    pub images: *const OvertImageDecl,
    /// Knobs.
    pub knobs: *const OvertKnobDecl,
    /// Number of `ops`.
    pub op_count: u32,
    /// Number of `kernels`.
    pub kernel_count: u32,
    /// Number of `images`.
    pub image_count: u32,
    /// Number of `knobs`.
    pub knob_count: u32,
    /// The entries.
    pub api: *const OvertProviderApi,
}

/// What the host offers an instance. Lives until `provider_destroy` returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertHost {
    /// `sizeof(OvertHost)` as the host knows it.
    pub size: u32,
    /// The negotiated ABI version.
    pub abi_version: u32,
    /// Passed back to `log` untouched.
    pub context: *mut c_void,
    /// Takes one message. Levels: 1 error, 2 warning, 3 information, 4 detail. Threads: any. Does not call back into the
    /// provider. May be null.
    pub log: Option<unsafe extern "C" fn(context: *mut c_void, level: u32, text: OvertStr)>,
}

/// The value of a knob that the provider declared with `OVERT_KNOB_AT_CREATE`. The host passes all of them, defaults filled in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertOption {
    /// `sizeof(OvertOption)` as the host knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// The knob's id.
    pub key: OvertStr,
    /// Its value, of the knob's type and inside its range.
    pub value: OvertValue,
}

/// The entries of a provider.
///
/// *Required* entries may not be null. An *optional* one that is null means `OVERT_E_UNSUPPORTED`.
///
/// Unless stated otherwise an entry may be called from any thread, does not wait for the device, may allocate host memory,
/// and calls back nothing but the sink (and, if it likes, the host's log). Objects of different streams may be used from
/// different threads at once: a device, a kernel and a plan are shared by many threads on different streams, and a plan is only
/// read during `launch`. One stream, event or graph is used by one thread at a time, with a happens-before edge when the thread
/// changes. The host opens and closes one kernel or device from one thread at a time. Every out-parameter is written on `OVERT_OK` and untouched otherwise. Closing
/// and destroying entries take null and do nothing; the host closes objects in the reverse order of opening them: plans,
/// graphs, events and streams before kernels, kernels and memory before devices, devices before the instance.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertProviderApi {
    /// `sizeof(OvertProviderApi)` as the provider knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,

    /// Required. Starts the provider: finds drivers and devices. A provider without its driver or without devices succeeds,
    /// lists no device and writes to the sink what it looked for and where. May block on files and drivers. Several instances
    /// may live at once, and a thousand one after another.
    pub provider_create: Option<
        unsafe extern "C" fn(
            host: *const OvertHost,
            options: *const OvertOption,
            option_count: u32,
            instance: *mut *mut OvertInstance,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Ends it, threads included. May block until pending work is done.
    pub provider_destroy: Option<unsafe extern "C" fn(instance: *mut OvertInstance)>,
    /// Required. Number of devices; fixed for the life of the instance.
    pub device_count: Option<
        unsafe extern "C" fn(
            instance: *mut OvertInstance,
            count: *mut u32,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Describes a device. What `info` points to lives as long as the instance.
    pub device_info: Option<
        unsafe extern "C" fn(
            instance: *mut OvertInstance,
            index: u32,
            info: *mut *const OvertDeviceInfo,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Opens a device: contexts, pools. May block on the driver. The host opens a device once an instance. `import` is null,
    /// or an `OVERT_IMPORT_CONTEXT` to work in; a provider that has no contexts answers `OVERT_E_UNSUPPORTED` to that.
    pub device_open: Option<
        unsafe extern "C" fn(
            instance: *mut OvertInstance,
            index: u32,
            import: *const OvertImport,
            device: *mut *mut OvertDevice,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Closes it. May block until pending work is done.
    pub device_close: Option<unsafe extern "C" fn(device: *mut OvertDevice)>,

    /// Required. The one-time set-up of a kernel on a device: loads its image, finds its functions. The host calls it once for
    /// a kernel and device, from one thread; after a failure it may be called again. May block, compile and allocate. Never
    /// called while a stream of the device captures on the calling thread.
    pub kernel_open: Option<
        unsafe extern "C" fn(
            device: *mut OvertDevice,
            kernel_index: u32,
            kernel: *mut *mut OvertKernel,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Undoes `kernel_open`. No work of the kernel is pending.
    pub kernel_close: Option<unsafe extern "C" fn(kernel: *mut OvertKernel)>,
    /// Optional. Readies a problem: compiles a specialisation, asks a library's heuristic. May block, compile and tune; never
    /// called while capturing. The plan depends on shapes, strides, dtypes and attributes of the call, not on its memory. A
    /// null plan is a valid answer.
    pub kernel_prepare: Option<
        unsafe extern "C" fn(
            kernel: *mut OvertKernel,
            call: *const OvertCall,
            plan: *mut *mut c_void,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required with `kernel_prepare`. Releases a plan. No launch that used it is pending.
    pub kernel_release_plan:
        Option<unsafe extern "C" fn(kernel: *mut OvertKernel, plan: *mut c_void)>,
    /// Optional; null means that no kernel needs workspace. States the workspace of a call. Pure. Allocates nothing.
    pub kernel_workspace: Option<
        unsafe extern "C" fn(
            kernel: *mut OvertKernel,
            call: *const OvertCall,
            need: *mut OvertWorkspaceNeed,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Optional. The packed layout that the kernel wants for operand number `operand` when it is a weight like `weight`.
    /// `OVERT_E_UNSUPPORTED`: it takes the plain layout. Pure. Allocates nothing. `knobs` are the kernel's, as in a call.
    pub weights_layout: Option<
        unsafe extern "C" fn(
            kernel: *mut OvertKernel,
            operand: u32,
            weight: *const OvertTensor,
            knobs: *const OvertValue,
            knob_count: u32,
            layout: *mut OvertWeightsLayout,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required with `weights_layout`. Enqueues the repacking of `source` into `packed`, whose handle, offset and size are the
    /// host's and whose `layout` is the key. Both live until the stream has passed it. The host holds a lock for the weight,
    /// so one repacking of one weight runs at a time. The receipt names what was launched; its symbols need
    /// not be among the kernel's `entries`.
    pub weights_pack: Option<
        unsafe extern "C" fn(
            kernel: *mut OvertKernel,
            stream: *mut OvertStream,
            operand: u32,
            source: *const OvertTensor,
            packed: *const OvertTensor,
            knobs: *const OvertValue,
            knob_count: u32,
            receipt: *mut OvertReceipt,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Enqueues the call on the stream and fills the receipt from what it enqueued. Does not wait for the device
    /// (unless the kernel says `OVERT_KERNEL_HOST_SYNC`). Operands, workspace and packed weights live until the stream has
    /// passed the launch, or as long as the graph that captured it. On an error the receipt says how many device launches had been
    /// enqueued before it: normally none.
    pub launch: Option<
        unsafe extern "C" fn(
            kernel: *mut OvertKernel,
            stream: *mut OvertStream,
            call: *const OvertCall,
            receipt: *mut OvertReceipt,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,

    /// Required. Allocates `bytes` (at least 1) aligned to `alignment` (a power of two; 0: the device's own, at least 64). `flags`
    /// are `OVERT_MEMORY_…`, all of them required.
    pub memory_alloc: Option<
        unsafe extern "C" fn(
            device: *mut OvertDevice,
            bytes: u64,
            alignment: u64,
            flags: u32,
            allocation: *mut OvertAllocation,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Frees an allocation or releases an import. No work on it is pending; the host sees to that.
    pub memory_free: Option<unsafe extern "C" fn(device: *mut OvertDevice, handle: u64)>,
    /// Optional. Takes in memory that the host or an engine owns.
    pub memory_import: Option<
        unsafe extern "C" fn(
            device: *mut OvertDevice,
            import: *const OvertImport,
            allocation: *mut OvertAllocation,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Enqueues a copy from host memory. `source` may be reused as soon as the entry returns, so the provider stages
    /// what it cannot copy at once; it may block for the staging of large copies, never for earlier work of the stream.
    pub memory_copy_in: Option<
        unsafe extern "C" fn(
            stream: *mut OvertStream,
            handle: u64,
            byte_offset: u64,
            source: *const c_void,
            bytes: u64,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Optional. Enqueues a copy to host memory that stays valid until the stream has passed it.
    pub memory_copy_out: Option<
        unsafe extern "C" fn(
            stream: *mut OvertStream,
            handle: u64,
            byte_offset: u64,
            target: *mut c_void,
            bytes: u64,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Copies to host memory after all work before it on the stream; **blocks** until the bytes are there. Flushes what
    /// is pending, and reports its failure as `OVERT_E_ASYNC`. Never called while capturing.
    pub memory_copy_out_sync: Option<
        unsafe extern "C" fn(
            stream: *mut OvertStream,
            handle: u64,
            byte_offset: u64,
            target: *mut c_void,
            bytes: u64,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Enqueues a copy between two allocations of the stream's device. The ranges do not overlap.
    pub memory_copy: Option<
        unsafe extern "C" fn(
            stream: *mut OvertStream,
            target: u64,
            target_offset: u64,
            source: u64,
            source_offset: u64,
            bytes: u64,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Enqueues filling with one byte.
    pub memory_fill: Option<
        unsafe extern "C" fn(
            stream: *mut OvertStream,
            handle: u64,
            byte_offset: u64,
            value: u8,
            bytes: u64,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Optional. Whether `device` can address the memory of `peer`, a device of the same instance, as `OVERT_PEER_…` bits. Probes
    /// by a write and a read back, so it may block. When the driver says yes and the probe says no, the sink gets the reason.
    pub peer_access: Option<
        unsafe extern "C" fn(
            device: *mut OvertDevice,
            peer: *mut OvertDevice,
            access: *mut u32,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Optional. Enqueues on the target device's stream a copy from an allocation of `source_device`. Directly where the path is
    /// proven, else staged through host memory by the provider. Work on the source is complete or ordered before by an event.
    pub memory_copy_peer: Option<
        unsafe extern "C" fn(
            stream: *mut OvertStream,
            target: u64,
            target_offset: u64,
            source_device: *mut OvertDevice,
            source: u64,
            source_offset: u64,
            bytes: u64,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,

    /// Required. Makes a stream.
    pub stream_create: Option<
        unsafe extern "C" fn(
            device: *mut OvertDevice,
            stream: *mut *mut OvertStream,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Optional. Takes in a native stream. A null one becomes the driver's own default stream, on which capture is refused.
    pub stream_import: Option<
        unsafe extern "C" fn(
            device: *mut OvertDevice,
            import: *const OvertImport,
            stream: *mut *mut OvertStream,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Destroys a stream. **Blocks** until its pending work is done; an imported native stream itself is left alone.
    pub stream_destroy: Option<unsafe extern "C" fn(stream: *mut OvertStream)>,
    /// Required. Hands what was enqueued to the device without waiting.
    pub stream_flush: Option<
        unsafe extern "C" fn(stream: *mut OvertStream, sink: *const OvertSink) -> OvertStatus,
    >,
    /// Required. `OVERT_OK` when all work is done, `OVERT_E_NOT_READY` when not, or the failure of that work, which stays to be
    /// reported by `stream_sync`. Flushes.
    pub stream_query: Option<
        unsafe extern "C" fn(stream: *mut OvertStream, sink: *const OvertSink) -> OvertStatus,
    >,
    /// Required. **Blocks** until all work is done and reports its first failure once; after that the stream works again, unless
    /// the device is lost.
    pub stream_sync: Option<
        unsafe extern "C" fn(stream: *mut OvertStream, sink: *const OvertSink) -> OvertStatus,
    >,
    /// Required. Later work of the stream waits, on the device, for the event. The event may belong to another stream or, where
    /// the provider can, another device of the instance.
    pub stream_wait_event: Option<
        unsafe extern "C" fn(
            stream: *mut OvertStream,
            event: *mut OvertEvent,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,

    /// Required. Makes an event, not recorded.
    pub event_create: Option<
        unsafe extern "C" fn(
            device: *mut OvertDevice,
            event: *mut *mut OvertEvent,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. Destroys it.
    pub event_destroy: Option<unsafe extern "C" fn(event: *mut OvertEvent)>,
    /// Required. Enqueues the event and flushes, so that whoever waits for it need not touch this stream; recording it again
    /// moves it. One thread an event at a time.
    pub event_record: Option<
        unsafe extern "C" fn(
            event: *mut OvertEvent,
            stream: *mut OvertStream,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required. `OVERT_OK` when passed, `OVERT_E_NOT_READY` when not, `OVERT_E_INVALID` when never recorded (as in every
    /// entry that waits for or measures it).
    pub event_query:
        Option<unsafe extern "C" fn(event: *mut OvertEvent, sink: *const OvertSink) -> OvertStatus>,
    /// Required. **Blocks** until it is passed.
    pub event_sync:
        Option<unsafe extern "C" fn(event: *mut OvertEvent, sink: *const OvertSink) -> OvertStatus>,
    /// Required. Device time between two passed events in nanoseconds. `OVERT_E_NOT_READY` while one is pending.
    pub event_elapsed: Option<
        unsafe extern "C" fn(
            start: *mut OvertEvent,
            end: *mut OvertEvent,
            nanoseconds: *mut f64,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,

    /// Optional. From here on `launch`, `memory_copy` and `memory_fill` on the stream are recorded and not run. Every other entry
    /// that takes this stream, but for `capture_end` and `capture_abort`, answers `OVERT_E_CAPTURE` and leaves the capture valid; so
    /// does a launch that cannot be recorded. `OVERT_E_CAPTURE` on a stream that cannot capture.
    pub capture_begin: Option<
        unsafe extern "C" fn(stream: *mut OvertStream, sink: *const OvertSink) -> OvertStatus,
    >,
    /// Required with `capture_begin`. Ends recording and makes a graph ready to replay. May block and allocate. On an error the
    /// capture has ended too, and is forgotten.
    pub capture_end: Option<
        unsafe extern "C" fn(
            stream: *mut OvertStream,
            graph: *mut *mut OvertGraph,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required with `capture_begin`. Ends recording and forgets it.
    pub capture_abort: Option<unsafe extern "C" fn(stream: *mut OvertStream)>,
    /// Required with `capture_begin`. Enqueues the whole graph on a stream of its device and fills the receipt. One graph is replayed
    /// on one stream at a time, since its workspace is one.
    pub graph_replay: Option<
        unsafe extern "C" fn(
            graph: *mut OvertGraph,
            stream: *mut OvertStream,
            receipt: *mut OvertReplayReceipt,
            sink: *const OvertSink,
        ) -> OvertStatus,
    >,
    /// Required with `capture_begin`. Destroys a graph. No replay is pending.
    pub graph_destroy: Option<unsafe extern "C" fn(graph: *mut OvertGraph)>,

    /// Optional. An extension by name, or null. Both sides know what the name stands for; see `docs/abi.md`.
    pub extension:
        Option<unsafe extern "C" fn(instance: *mut OvertInstance, name: OvertStr) -> *const c_void>,
}

/// Extension `overt.command_recorder`: an observer independent of receipts, for tests. The provider records a command at the
/// moment its queue executes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertCommandRecorder {
    /// `sizeof(OvertCommandRecorder)` as the provider knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Starts recording on every stream of the instance, forgetting what was recorded.
    pub start: Option<unsafe extern "C" fn(instance: *mut OvertInstance) -> OvertStatus>,
    /// Stops recording and hands over each executed command in order of execution.
    pub stop: Option<
        unsafe extern "C" fn(
            instance: *mut OvertInstance,
            context: *mut c_void,
            each: Option<unsafe extern "C" fn(context: *mut c_void, symbol: OvertStr)>,
        ) -> OvertStatus,
    >,
}

/// Name of the extension [`OvertCommandRecorder`].
pub const OVERT_EXTENSION_COMMAND_RECORDER: &str = "overt.command_recorder";

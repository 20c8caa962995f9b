//! Entries of capture and replay.

use super::{ObjectBox, check_out, entry, reference, sized, void, write};
use crate::device::Device;
use overt_abi::*;

type StreamBox<D> = ObjectBox<D, <D as Device>::Stream>;
type GraphBox<D> = ObjectBox<D, <D as Device>::Graph>;

pub(crate) unsafe extern "C" fn begin<D: Device>(
    stream: *mut OvertStream,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let stream: &StreamBox<D> = unsafe { reference(stream, "stream") }?;
        stream.shared.device.capture_begin(&stream.object)
    })
}

pub(crate) unsafe extern "C" fn end<D: Device>(
    stream: *mut OvertStream,
    graph: *mut *mut OvertGraph,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        check_out(graph, "graph")?;
        // SAFETY: objects.
        let stream: &StreamBox<D> = unsafe { reference(stream, "stream") }?;
        let made: Box<GraphBox<D>> = Box::new(ObjectBox {
            object: stream.shared.device.capture_end(&stream.object)?,
            shared: stream.shared.clone(),
        });
        // SAFETY: outs.
        unsafe { write(graph, "graph", Box::into_raw(made).cast()) }
    })
}

pub(crate) unsafe extern "C" fn abort<D: Device>(stream: *mut OvertStream) {
    // SAFETY: objects.
    let Ok(stream) = (unsafe { reference::<StreamBox<D>, _>(stream, "stream") }) else {
        return;
    };
    void("capture_abort", Some(stream.shared.host), || {
        stream.shared.device.capture_abort(&stream.object);
    });
}

pub(crate) unsafe extern "C" fn replay<D: Device>(
    graph: *mut OvertGraph,
    stream: *mut OvertStream,
    receipt: *mut OvertReplayReceipt,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects, outs (whose size was checked).
        unsafe {
            sized(receipt, "receipt")?;
            let graph: &GraphBox<D> = reference(graph, "graph")?;
            let stream: &StreamBox<D> = reference(stream, "stream")?;
            let device = &stream.shared.device;
            (*receipt).launches = device.replay(&graph.object, &stream.object)?;
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn destroy<D: Device>(graph: *mut OvertGraph) {
    if graph.is_null() {
        return;
    }
    // SAFETY: objects; handed over.
    let boxed = unsafe { Box::from_raw(graph.cast::<GraphBox<D>>()) };
    let host = boxed.shared.host;
    void("graph_destroy", Some(host), || drop(boxed));
}

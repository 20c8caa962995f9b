//! Entries of streams.

use super::{DeviceBox, ObjectBox, check_out, entry, reference, sized, void, write};
use crate::device::Device;
use crate::{Error, Result};
use overt_abi::*;

type StreamBox<D> = ObjectBox<D, <D as Device>::Stream>;
type EventBox<D> = ObjectBox<D, <D as Device>::Event>;

/// # Safety
/// outs.
unsafe fn give<D: Device>(
    device: &DeviceBox<D>,
    object: D::Stream,
    stream: *mut *mut OvertStream,
) -> Result<()> {
    let made: Box<StreamBox<D>> = Box::new(ObjectBox {
        object,
        shared: device.shared.clone(),
    });
    // SAFETY: outs.
    unsafe { write(stream, "stream", Box::into_raw(made).cast()) }
}

pub(crate) unsafe extern "C" fn create<D: Device>(
    device: *mut OvertDevice,
    stream: *mut *mut OvertStream,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        check_out(stream, "stream")?;
        // SAFETY: objects, outs.
        unsafe {
            let device: &DeviceBox<D> = reference(device, "device")?;
            give(device, device.shared.device.stream()?, stream)
        }
    })
}

pub(crate) unsafe extern "C" fn import<D: Device>(
    device: *mut OvertDevice,
    import: *const OvertImport,
    stream: *mut *mut OvertStream,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        check_out(stream, "stream")?;
        // SAFETY: objects, arguments, outs.
        unsafe {
            sized(import, "import")?;
            let device: &DeviceBox<D> = reference(device, "device")?;
            let import: &OvertImport = reference(import, "import")?;
            if import.kind != OVERT_IMPORT_STREAM {
                return Err(Error::invalid(format!(
                    "import kind {} is not a stream",
                    import.kind
                )));
            }
            give(device, device.shared.device.import_stream(import)?, stream)
        }
    })
}

pub(crate) unsafe extern "C" fn destroy<D: Device>(stream: *mut OvertStream) {
    if stream.is_null() {
        return;
    }
    // SAFETY: objects; handed over.
    let boxed = unsafe { Box::from_raw(stream.cast::<StreamBox<D>>()) };
    let host = boxed.shared.host;
    void("stream_destroy", Some(host), || drop(boxed));
}

pub(crate) unsafe extern "C" fn flush<D: Device>(
    stream: *mut OvertStream,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let stream: &StreamBox<D> = unsafe { reference(stream, "stream") }?;
        stream.shared.device.flush(&stream.object)
    })
}

/// A truth as the status that a query answers with.
pub(crate) fn ready(done: bool) -> Result<()> {
    if done {
        Ok(())
    } else {
        Err(Error::not_ready())
    }
}

pub(crate) unsafe extern "C" fn query<D: Device>(
    stream: *mut OvertStream,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let stream: &StreamBox<D> = unsafe { reference(stream, "stream") }?;
        ready(stream.shared.device.query(&stream.object)?)
    })
}

pub(crate) unsafe extern "C" fn sync<D: Device>(
    stream: *mut OvertStream,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let stream: &StreamBox<D> = unsafe { reference(stream, "stream") }?;
        stream.shared.device.sync(&stream.object)
    })
}

pub(crate) unsafe extern "C" fn wait_event<D: Device>(
    stream: *mut OvertStream,
    event: *mut OvertEvent,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let (stream, event): (&StreamBox<D>, &EventBox<D>) =
            unsafe { (reference(stream, "stream")?, reference(event, "event")?) };
        let device = &stream.shared.device;
        device.wait_event(&stream.object, &event.object)
    })
}

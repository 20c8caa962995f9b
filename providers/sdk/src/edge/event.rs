//! Entries of events.

use super::stream::ready;
use super::{DeviceBox, ObjectBox, check_out, entry, reference, void, write};
use crate::Error;
use crate::device::Device;
use overt_abi::*;

type StreamBox<D> = ObjectBox<D, <D as Device>::Stream>;
type EventBox<D> = ObjectBox<D, <D as Device>::Event>;

pub(crate) unsafe extern "C" fn create<D: Device>(
    device: *mut OvertDevice,
    event: *mut *mut OvertEvent,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        check_out(event, "event")?;
        // SAFETY: objects.
        let device: &DeviceBox<D> = unsafe { reference(device, "device") }?;
        let made: Box<EventBox<D>> = Box::new(ObjectBox {
            object: device.shared.device.event()?,
            shared: device.shared.clone(),
        });
        // SAFETY: outs.
        unsafe { write(event, "event", Box::into_raw(made).cast()) }
    })
}

pub(crate) unsafe extern "C" fn destroy<D: Device>(event: *mut OvertEvent) {
    if event.is_null() {
        return;
    }
    // SAFETY: objects; handed over.
    let boxed = unsafe { Box::from_raw(event.cast::<EventBox<D>>()) };
    let host = boxed.shared.host;
    void("event_destroy", Some(host), || drop(boxed));
}

pub(crate) unsafe extern "C" fn record<D: Device>(
    event: *mut OvertEvent,
    stream: *mut OvertStream,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let (event, stream): (&EventBox<D>, &StreamBox<D>) =
            unsafe { (reference(event, "event")?, reference(stream, "stream")?) };
        stream.shared.device.record(&event.object, &stream.object)
    })
}

pub(crate) unsafe extern "C" fn query<D: Device>(
    event: *mut OvertEvent,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let event: &EventBox<D> = unsafe { reference(event, "event") }?;
        ready(event.shared.device.event_query(&event.object)?)
    })
}

pub(crate) unsafe extern "C" fn sync<D: Device>(
    event: *mut OvertEvent,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let event: &EventBox<D> = unsafe { reference(event, "event") }?;
        event.shared.device.event_sync(&event.object)
    })
}

pub(crate) unsafe extern "C" fn elapsed<D: Device>(
    start: *mut OvertEvent,
    end: *mut OvertEvent,
    nanoseconds: *mut f64,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects, outs.
        unsafe {
            let start: &EventBox<D> = reference(start, "start")?;
            let end: &EventBox<D> = reference(end, "end")?;
            let device = &start.shared.device;
            let time = device
                .elapsed(&start.object, &end.object)?
                .ok_or_else(Error::not_ready)?;
            write(nanoseconds, "nanoseconds", time)
        }
    })
}

//! Events: points in streams.

use super::stream::Stream;
use crate::error::Error;
use crate::ffi::Words;
use crate::registry::{Device, entry};
use overt_abi::{OVERT_E_NOT_READY, OVERT_OK, OvertEvent};
use std::ptr::NonNull;
use std::time::Duration;

/// A point in a stream, to wait for and to measure from. `Send`, not `Sync`.
pub struct Event {
    device: Device,
    raw: NonNull<OvertEvent>,
}

// SAFETY: the ABI lets an event move between threads with a happens-before edge.
unsafe impl Send for Event {}

impl Event {
    /// An event that was not recorded yet.
    pub fn new(device: &Device) -> Result<Event, Error> {
        let instance = device.instance();
        let create = entry(
            instance.api().event_create,
            &instance.provider.decl,
            "event_create",
        )?;
        let raw_device = device.raw()?;
        let mut words = Words::default();
        let sink = words.sink();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device is open; out-pointer and sink are valid for the call.
        let status = unsafe { create(raw_device, &mut raw, &sink) };
        device.check("event_create", status, &mut words)?;
        let raw = NonNull::new(raw).ok_or_else(|| {
            Error::provider(
                device.provider(),
                "event_create",
                OVERT_OK,
                "it returned no event".into(),
            )
        })?;
        Ok(Event {
            device: device.clone(),
            raw,
        })
    }

    /// Puts the event behind all work enqueued so far, and flushes. Recording again moves it.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] on a stream of another device; streams of other devices of the provider may wait for it.
    pub fn record(&mut self, stream: &Stream) -> Result<(), Error> {
        stream.refuse_while_capturing("record an event")?;
        let instance = stream.device().instance();
        let record = entry(
            instance.api().event_record,
            &instance.provider.decl,
            "event_record",
        )?;
        if !self.device.same(stream.device()) {
            return Err(self.wrong_device(stream));
        }
        let mut words = Words::default();
        let sink = words.sink();
        stream.progress.enqueue();
        // SAFETY: event and stream are open, of one instance, and used by this thread alone.
        let status = unsafe { record(self.raw.as_ptr(), stream.raw.as_ptr(), &sink) };
        self.device.check("event_record", status, &mut words)
    }

    /// Whether the stream has passed it.
    pub fn is_passed(&self) -> Result<bool, Error> {
        let instance = self.device.instance();
        let query = entry(
            instance.api().event_query,
            &instance.provider.decl,
            "event_query",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: the event is open and used by this thread alone.
        match unsafe { query(self.raw.as_ptr(), &sink) } {
            OVERT_E_NOT_READY => Ok(false),
            status => self
                .device
                .check("event_query", status, &mut words)
                .map(|()| true),
        }
    }

    /// Waits until the stream has passed it.
    pub fn sync(&self) -> Result<(), Error> {
        let instance = self.device.instance();
        let sync = entry(
            instance.api().event_sync,
            &instance.provider.decl,
            "event_sync",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        // SAFETY: as above.
        let status = unsafe { sync(self.raw.as_ptr(), &sink) };
        self.device.check("event_sync", status, &mut words)
    }

    /// Device time from `start` to this event; both must have been passed.
    pub fn since(&self, start: &Event) -> Result<Duration, Error> {
        let instance = self.device.instance();
        let elapsed = entry(
            instance.api().event_elapsed,
            &instance.provider.decl,
            "event_elapsed",
        )?;
        if !self.device.same(&start.device) {
            return Err(Error::WrongDevice {
                what: "event",
                got: start.device.name().to_owned(),
                wanted: self.device.name().to_owned(),
            });
        }
        let mut words = Words::default();
        let sink = words.sink();
        let mut nanoseconds = 0.0;
        // SAFETY: both events are open and of one device; out-pointer and sink are valid for the call.
        let status = unsafe {
            elapsed(
                start.raw.as_ptr(),
                self.raw.as_ptr(),
                &mut nanoseconds,
                &sink,
            )
        };
        self.device.check("event_elapsed", status, &mut words)?;
        Ok(Duration::from_nanos(if nanoseconds.is_finite() {
            nanoseconds.max(0.0).round() as u64
        } else {
            0
        }))
    }

    fn same_instance(&self, stream: &Stream) -> Result<(), Error> {
        if std::sync::Arc::ptr_eq(self.device.instance(), stream.device().instance()) {
            return Ok(());
        }
        Err(self.wrong_device(stream))
    }

    fn wrong_device(&self, stream: &Stream) -> Error {
        Error::WrongDevice {
            what: "event",
            got: self.device.name().to_owned(),
            wanted: stream.device().name().to_owned(),
        }
    }
}

impl Stream {
    /// Later work of this stream waits, on the device, for the event.
    pub fn wait_for(&self, event: &Event) -> Result<(), Error> {
        self.refuse_while_capturing("wait for an event")?;
        let instance = self.device.instance();
        let wait = entry(
            instance.api().stream_wait_event,
            &instance.provider.decl,
            "stream_wait_event",
        )?;
        event.same_instance(self)?;
        let mut words = Words::default();
        let sink = words.sink();
        self.progress.enqueue();
        // SAFETY: stream and event are open, of one instance, and used by this thread alone.
        let status = unsafe { wait(self.raw.as_ptr(), event.raw.as_ptr(), &sink) };
        self.device.check("stream_wait_event", status, &mut words)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let raw = self.raw.as_ptr() as usize;
        let device = self.device.clone();
        // A stream may still have to pass it.
        self.device.instance().retired.retire(Box::new(move || {
            if let Some(destroy) = device.instance().api().event_destroy {
                // SAFETY: the event is the provider's own, destroyed once, and no stream has it pending.
                unsafe { destroy(std::ptr::with_exposed_provenance_mut(raw)) };
            }
        }));
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Event")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

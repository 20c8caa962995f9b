//! The entry `extension` and the recorder of executed commands.

use super::instance::InstanceBox;
use super::{entry, panic, reference};
use crate::Error;
use crate::provider::Provider;
use crate::text::{self, borrowed};
use overt_abi::*;
use std::ffi::c_void;
use std::marker::PhantomData;

struct RecorderTable<P>(PhantomData<P>);

impl<P: Provider> RecorderTable<P> {
    const TABLE: &'static OvertCommandRecorder = &OvertCommandRecorder {
        size: size_of::<OvertCommandRecorder>() as u32,
        reserved: 0,
        start: Some(start::<P>),
        stop: Some(stop::<P>),
    };
}

pub(crate) unsafe extern "C" fn extension<P: Provider>(
    instance: *mut OvertInstance,
    name: OvertStr,
) -> *const c_void {
    panic::catch(|| {
        // SAFETY: objects, arguments.
        let (instance, name): (&InstanceBox<P>, _) = unsafe {
            (
                reference(instance, "instance").ok()?,
                text::read(name, "extension name").ok()?,
            )
        };
        if name == OVERT_EXTENSION_COMMAND_RECORDER && instance.provider.recorder().is_some() {
            return Some(std::ptr::from_ref(RecorderTable::<P>::TABLE).cast());
        }
        Some(instance.provider.extension(name))
    })
    .ok()
    .flatten()
    .unwrap_or(std::ptr::null())
}

unsafe extern "C" fn start<P: Provider>(instance: *mut OvertInstance) -> OvertStatus {
    entry(std::ptr::null(), || {
        // SAFETY: objects.
        let instance: &InstanceBox<P> = unsafe { reference(instance, "instance") }?;
        instance
            .provider
            .recorder()
            .ok_or_else(|| Error::unsupported("this provider records no commands"))?
            .start();
        Ok(())
    })
}

unsafe extern "C" fn stop<P: Provider>(
    instance: *mut OvertInstance,
    context: *mut c_void,
    each: Option<unsafe extern "C" fn(context: *mut c_void, symbol: OvertStr)>,
) -> OvertStatus {
    entry(std::ptr::null(), || {
        // SAFETY: objects.
        let instance: &InstanceBox<P> = unsafe { reference(instance, "instance") }?;
        let recorder = instance
            .provider
            .recorder()
            .ok_or_else(|| Error::unsupported("this provider records no commands"))?;
        for symbol in recorder.stop() {
            if let Some(each) = each {
                // SAFETY: the host's function with the host's context.
                unsafe { each(context, borrowed(symbol)) }
            }
        }
        Ok(())
    })
}

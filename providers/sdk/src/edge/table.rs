//! The table of entries.

use super::{capture, event, extension, instance, kernel, memory, stream};
use crate::device::Device;
use crate::provider::Provider;
use overt_abi::OvertProviderApi;
use std::marker::PhantomData;

pub(crate) struct Api<P>(PhantomData<P>);

/// An optional entry is null where the device type does not have it.
macro_rules! only {
    ($has:expr, $entry:expr) => {
        if $has { Some($entry) } else { None }
    };
}

impl<P: Provider> Api<P> {
    pub(crate) const TABLE: &'static OvertProviderApi = &OvertProviderApi {
        size: size_of::<OvertProviderApi>() as u32,
        reserved: 0,
        provider_create: Some(instance::create::<P>),
        provider_destroy: Some(instance::destroy::<P>),
        device_count: Some(instance::device_count::<P>),
        device_info: Some(instance::device_info::<P>),
        device_open: Some(instance::device_open::<P>),
        device_close: Some(instance::device_close::<P>),
        kernel_open: Some(kernel::open::<P::Device>),
        kernel_close: Some(kernel::close::<P::Device>),
        kernel_prepare: only!(P::Device::PREPARE, kernel::prepare::<P::Device>),
        kernel_release_plan: only!(P::Device::PREPARE, kernel::release_plan::<P::Device>),
        kernel_workspace: only!(P::Device::WORKSPACE, kernel::workspace::<P::Device>),
        weights_layout: only!(P::Device::WEIGHTS, kernel::weights_layout::<P::Device>),
        weights_pack: only!(P::Device::WEIGHTS, kernel::weights_pack::<P::Device>),
        launch: Some(kernel::launch::<P::Device>),
        memory_alloc: Some(memory::alloc::<P::Device>),
        memory_free: Some(memory::free::<P::Device>),
        memory_import: only!(P::Device::IMPORT, memory::import::<P::Device>),
        memory_copy_in: Some(memory::copy_in::<P::Device>),
        memory_copy_out: only!(P::Device::COPY_OUT, memory::copy_out::<P::Device>),
        memory_copy_out_sync: Some(memory::copy_out_sync::<P::Device>),
        memory_copy: Some(memory::copy::<P::Device>),
        memory_fill: Some(memory::fill::<P::Device>),
        peer_access: only!(P::Device::PEER, memory::peer_access::<P::Device>),
        memory_copy_peer: only!(P::Device::PEER, memory::copy_peer::<P::Device>),
        stream_create: Some(stream::create::<P::Device>),
        stream_import: only!(P::Device::STREAM_IMPORT, stream::import::<P::Device>),
        stream_destroy: Some(stream::destroy::<P::Device>),
        stream_flush: Some(stream::flush::<P::Device>),
        stream_query: Some(stream::query::<P::Device>),
        stream_sync: Some(stream::sync::<P::Device>),
        stream_wait_event: Some(stream::wait_event::<P::Device>),
        event_create: Some(event::create::<P::Device>),
        event_destroy: Some(event::destroy::<P::Device>),
        event_record: Some(event::record::<P::Device>),
        event_query: Some(event::query::<P::Device>),
        event_sync: Some(event::sync::<P::Device>),
        event_elapsed: Some(event::elapsed::<P::Device>),
        capture_begin: only!(P::Device::CAPTURE, capture::begin::<P::Device>),
        capture_end: only!(P::Device::CAPTURE, capture::end::<P::Device>),
        capture_abort: only!(P::Device::CAPTURE, capture::abort::<P::Device>),
        graph_replay: only!(P::Device::CAPTURE, capture::replay::<P::Device>),
        graph_destroy: only!(P::Device::CAPTURE, capture::destroy::<P::Device>),
        extension: Some(extension::extension::<P>),
    };
}

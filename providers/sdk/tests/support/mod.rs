//! A host in miniature: it calls the table's entries directly, as the runtime would through a loaded library.
#![allow(dead_code)]

use overt_sdk::abi::*;
use overt_sdk::{BuildFacts, Provider};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub static BUILD: BuildFacts = BuildFacts::new(Some("rustc"), None, None, None, Some("dev"), true);

/// Collects a sink's words.
/// The text lives behind a raw pointer, since the sink holds one too.
pub struct Words {
    pub sink: OvertSink,
}

unsafe extern "C" fn collect(context: *mut c_void, text: OvertStr) {
    // SAFETY: the context is the string behind the sink, and the text lives during the call.
    unsafe {
        let bytes = std::slice::from_raw_parts(text.data, text.len as usize);
        (*context.cast::<String>()).push_str(std::str::from_utf8(bytes).unwrap());
    }
}

impl Words {
    pub fn new() -> Self {
        Self {
            sink: OvertSink {
                size: size_of::<OvertSink>() as u32,
                reserved: 0,
                context: Box::into_raw(Box::<String>::default()).cast(),
                write: Some(collect),
            },
        }
    }

    pub fn take(&mut self) -> String {
        // SAFETY: the string that the sink writes to; no entry is running.
        unsafe { std::mem::take(&mut *self.sink.context.cast::<String>()) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: made by `new`, dropped once.
        drop(unsafe { Box::from_raw(self.sink.context.cast::<String>()) });
    }
}

pub fn str_of(text: OvertStr) -> String {
    if text.len == 0 {
        return String::new();
    }
    // SAFETY: text of a table or of a live object.
    unsafe {
        String::from_utf8(std::slice::from_raw_parts(text.data, text.len as usize).to_vec())
            .unwrap()
    }
}

pub fn abi_str(text: &str) -> OvertStr {
    OvertStr {
        data: text.as_ptr(),
        len: text.len() as u64,
    }
}

pub fn request(words: &Words, min: u32, max: u32) -> OvertQueryRequest {
    OvertQueryRequest {
        size: size_of::<OvertQueryRequest>() as u32,
        abi_min: min,
        abi_max: max,
        reserved: 0,
        host: abi_str("test"),
        sink: &raw const words.sink,
    }
}

pub fn response() -> OvertQueryResponse {
    OvertQueryResponse {
        size: size_of::<OvertQueryResponse>() as u32,
        abi_version: 0,
        build: null(),
        provider: null(),
    }
}

pub fn table<P: Provider>() -> &'static OvertProvider {
    let mut words = Words::new();
    let request = request(&words, OVERT_ABI_VERSION, OVERT_ABI_VERSION);
    let mut response = response();
    // SAFETY: both structs are whole.
    let status = unsafe { overt_sdk::query::<P>(&request, &mut response, &BUILD) };
    assert_eq!(status, OVERT_OK, "{}", words.take());
    // SAFETY: the table lives as long as the program.
    unsafe { &*response.provider }
}

/// An outcome of an entry: its status and words.
pub type Outcome = Result<(), (OvertStatus, String)>;

/// An instance with its first devices opened.
pub struct Session {
    pub provider: &'static OvertProvider,
    pub api: &'static OvertProviderApi,
    pub instance: *mut OvertInstance,
    pub devices: Vec<*mut OvertDevice>,
    host: Box<OvertHost>,
}

/// Calls an entry of a session: `call!(session, stream_sync(stream))`.
#[macro_export]
macro_rules! call {
    ($session:expr, $entry:ident($($arg:expr),* $(,)?)) => {{
        let mut words = $crate::support::Words::new();
        let entry = $session.api.$entry.expect(stringify!($entry));
        #[allow(
            clippy::macro_metavars_in_unsafe,
            reason = "arguments are plain values; every use is a test of this very entry"
        )]
        // SAFETY: the test passes what the entry asks for, or on purpose what it must refuse.
        let status = unsafe { entry($($arg,)* &raw const words.sink) };
        match status {
            overt_sdk::abi::OVERT_OK => Ok(()),
            status => Err((status, words.take())),
        }
    }};
}

impl Session {
    pub fn new<P: Provider>() -> Self {
        Self::with::<P>(&[]).unwrap()
    }

    pub fn with<P: Provider>(
        options: &[(&str, OvertValue)],
    ) -> Result<Self, (OvertStatus, String)> {
        let provider = table::<P>();
        // SAFETY: static.
        let api = unsafe { &*provider.api };
        let host = Box::new(OvertHost {
            size: size_of::<OvertHost>() as u32,
            abi_version: OVERT_ABI_VERSION,
            context: null_mut(),
            log: None,
        });
        let options: Vec<OvertOption> = options
            .iter()
            .map(|(key, value)| OvertOption {
                size: size_of::<OvertOption>() as u32,
                reserved: 0,
                key: abi_str(key),
                value: *value,
            })
            .collect();
        let mut session = Self {
            provider,
            api,
            instance: null_mut(),
            devices: Vec::new(),
            host,
        };
        let mut instance = null_mut();
        let host: *const OvertHost = &raw const *session.host;
        call!(
            session,
            provider_create(host, options.as_ptr(), options.len() as u32, &mut instance)
        )?;
        session.instance = instance;
        let mut count = 0;
        call!(session, device_count(instance, &mut count))?;
        for index in 0..count {
            let mut device = null_mut();
            call!(session, device_open(instance, index, null(), &mut device))?;
            session.devices.push(device);
        }
        Ok(session)
    }

    pub fn stream(&self) -> *mut OvertStream {
        self.stream_on(0)
    }

    pub fn stream_on(&self, device: usize) -> *mut OvertStream {
        let mut stream = null_mut();
        call!(self, stream_create(self.devices[device], &mut stream)).unwrap();
        stream
    }

    pub fn event(&self) -> *mut OvertEvent {
        let mut event = null_mut();
        call!(self, event_create(self.devices[0], &mut event)).unwrap();
        event
    }

    pub fn alloc(&self, device: usize, bytes: u64) -> OvertAllocation {
        let mut allocation = empty_allocation();
        call!(
            self,
            memory_alloc(self.devices[device], bytes, 0, 0, &mut allocation)
        )
        .unwrap();
        allocation
    }

    pub fn kernel(&self, id: &str) -> *mut OvertKernel {
        let index = (0..self.provider.kernel_count)
            // SAFETY: inside the table.
            .find(|i| str_of(unsafe { (*self.provider.kernels.add(*i as usize)).id }) == id)
            .unwrap_or_else(|| panic!("no kernel {id}"));
        let mut kernel = null_mut();
        call!(self, kernel_open(self.devices[0], index, &mut kernel)).unwrap();
        kernel
    }

    pub fn launch(
        &self,
        kernel: *mut OvertKernel,
        stream: *mut OvertStream,
        call: &Call,
    ) -> Result<OvertReceipt, (OvertStatus, String)> {
        let mut receipt = empty_receipt();
        let raw = call.raw();
        call!(self, launch(kernel, stream, &raw, &mut receipt)).map(|()| receipt)
    }

    pub fn read(&self, stream: *mut OvertStream, handle: u64, count: usize) -> Vec<f32> {
        let mut out = vec![0f32; count];
        call!(
            self,
            memory_copy_out_sync(stream, handle, 0, out.as_mut_ptr().cast(), 4 * count as u64)
        )
        .unwrap();
        out
    }

    pub fn write(&self, stream: *mut OvertStream, handle: u64, values: &[f32]) {
        call!(
            self,
            memory_copy_in(
                stream,
                handle,
                0,
                values.as_ptr().cast(),
                4 * values.len() as u64
            )
        )
        .unwrap();
    }

    pub fn recorder(&self) -> &OvertCommandRecorder {
        // SAFETY: a live instance; the extension is a static table.
        unsafe {
            let found = self.api.extension.unwrap()(
                self.instance,
                abi_str(OVERT_EXTENSION_COMMAND_RECORDER),
            );
            found.cast::<OvertCommandRecorder>().as_ref().unwrap()
        }
    }

    pub fn record_start(&self) {
        // SAFETY: a live instance.
        let status = unsafe { self.recorder().start.unwrap()(self.instance) };
        assert_eq!(status, OVERT_OK);
    }

    pub fn record_stop(&self) -> Vec<String> {
        unsafe extern "C" fn each(context: *mut c_void, symbol: OvertStr) {
            // SAFETY: the context is the list below.
            unsafe { (*context.cast::<Vec<String>>()).push(str_of(symbol)) }
        }
        let mut list: Vec<String> = Vec::new();
        // SAFETY: a live instance, and a context of the type that `each` expects.
        let status = unsafe {
            self.recorder().stop.unwrap()(self.instance, (&raw mut list).cast(), Some(each))
        };
        assert_eq!(status, OVERT_OK);
        list
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: tests destroy streams and events themselves, or leak them on purpose with the device's shared state.
        unsafe {
            for device in self.devices.drain(..) {
                self.api.device_close.unwrap()(device);
            }
            self.api.provider_destroy.unwrap()(self.instance);
        }
    }
}

pub fn empty_allocation() -> OvertAllocation {
    OvertAllocation {
        size: size_of::<OvertAllocation>() as u32,
        reserved: 0,
        handle: 0,
        address: 0,
        bytes: 0,
        alignment: 0,
        host_address: 0,
    }
}

pub fn empty_receipt() -> OvertReceipt {
    OvertReceipt {
        size: size_of::<OvertReceipt>() as u32,
        launches: 0,
        entry: abi_str(""),
        image_digest: 0,
        grid: [0; 3],
        block: [0; 3],
        shared_bytes: 0,
        more_count: 0,
        more: null(),
    }
}

pub fn i64_value(i: i64) -> OvertValue {
    OvertValue {
        kind: OVERT_VALUE_I64,
        reserved: 0,
        data: OvertValueData { i },
    }
}

pub fn str_value(s: &'static str) -> OvertValue {
    OvertValue {
        kind: OVERT_VALUE_STR,
        reserved: 0,
        data: OvertValueData { s: abi_str(s) },
    }
}

/// A call of contiguous vectors of f32.
pub struct Call {
    shapes: Vec<&'static [i64; 1]>,
    operands: Vec<OvertTensor>,
    pub attrs: Vec<OvertValue>,
    pub plan: *mut c_void,
}

static ONE: [i64; 1] = [1];

impl Call {
    pub fn new(operands: &[(OvertAllocation, i64)]) -> Self {
        // A test's few shapes may stay for ever.
        let shapes: Vec<&'static [i64; 1]> = operands
            .iter()
            .map(|(_, n)| &*Box::leak(Box::new([*n])))
            .collect();
        let operands = operands
            .iter()
            .zip(&shapes)
            .map(|((a, _), shape)| OvertTensor {
                size: size_of::<OvertTensor>() as u32,
                flags: 0,
                dtype: overt_sdk::dtypes::F32,
                rank: 1,
                handle: a.handle,
                byte_offset: 0,
                address: a.address,
                allocation_bytes: a.bytes,
                alignment: 4,
                layout: 0,
                shape: shape.as_ptr(),
                strides: ONE.as_ptr(),
            })
            .collect();
        Self {
            shapes,
            operands,
            attrs: Vec::new(),
            plan: null_mut(),
        }
    }

    pub fn with(mut self, attrs: &[OvertValue]) -> Self {
        self.attrs = attrs.to_vec();
        self
    }

    pub fn raw(&self) -> OvertCall {
        assert_eq!(self.shapes.len(), self.operands.len());
        OvertCall {
            size: size_of::<OvertCall>() as u32,
            flags: 0,
            operand_count: self.operands.len() as u32,
            attr_count: self.attrs.len() as u32,
            operands: self.operands.as_ptr(),
            attrs: self.attrs.as_ptr(),
            knobs: null(),
            knob_count: 0,
            reserved: 0,
            workspace: null(),
            plan: self.plan,
        }
    }
}

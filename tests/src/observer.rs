//! Observers of a fake provider that know nothing of receipts: its record of calls, and the recorder of executed commands.
//!
//! An observer is an instance of its own, made through the ABI as a second host of the process would. It shares its *label* with
//! the instance under test, and so its records.

use overt_abi::*;
use std::ffi::c_void;
use std::path::Path;

/// What the fake provider's extension `overt.test.observer` is.
#[repr(C)]
struct Extension {
    size: u32,
    reserved: u32,
    context: *const c_void,
    count: unsafe extern "C" fn(context: *const c_void, key: OvertStr) -> u64,
}

/// An observer of one label.
pub struct Observer {
    api: OvertProviderApi,
    instance: *mut OvertInstance,
    extension: *const Extension,
    recorder: *const OvertCommandRecorder,
}

// SAFETY: the extensions may be called from any thread; the instance is ended by its owner alone.
unsafe impl Send for Observer {}
// SAFETY: as above.
unsafe impl Sync for Observer {}

fn text(text: &str) -> OvertStr {
    OvertStr {
        data: text.as_ptr(),
        len: text.len() as u64,
    }
}

unsafe extern "C" fn say(_: *mut c_void, words: OvertStr) {
    // SAFETY: the provider vouches for its words during the call.
    let words = unsafe { std::slice::from_raw_parts(words.data, words.len as usize) };
    println!("observer: {}", String::from_utf8_lossy(words));
}

impl Observer {
    /// Observes what instances of a fake provider with this label do.
    pub fn new(library: &Path, provider: &str, label: &str) -> Observer {
        let sink = OvertSink {
            size: size_of::<OvertSink>() as u32,
            reserved: 0,
            context: std::ptr::null_mut(),
            write: Some(say),
        };
        let request = OvertQueryRequest {
            size: size_of::<OvertQueryRequest>() as u32,
            abi_min: OVERT_ABI_VERSION,
            abi_max: OVERT_ABI_VERSION,
            reserved: 0,
            host: text("tests"),
            sink: &sink,
        };
        let mut response = OvertQueryResponse {
            size: size_of::<OvertQueryResponse>() as u32,
            abi_version: 0,
            build: std::ptr::null(),
            provider: std::ptr::null(),
        };
        // SAFETY: the library is a provider built for these tests; its query has this type, and it is never unloaded.
        let api = unsafe {
            let loaded = std::mem::ManuallyDrop::new(
                libloading::Library::new(library)
                    .unwrap_or_else(|e| panic!("{}: {e}", library.display())),
            );
            let query = loaded
                .get::<OvertProviderQuery>(OVERT_QUERY_SYMBOL)
                .unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(query(&request, &mut response), OVERT_OK);
            *(*response.provider).api
        };
        let host = OvertHost {
            size: size_of::<OvertHost>() as u32,
            abi_version: OVERT_ABI_VERSION,
            context: std::ptr::null_mut(),
            log: None,
        };
        // An instance keeps the host's struct until it ends.
        let host: &'static OvertHost = Box::leak(Box::new(host));
        let key = format!("{provider}.label");
        let option = OvertOption {
            size: size_of::<OvertOption>() as u32,
            reserved: 0,
            key: text(&key),
            value: OvertValue {
                kind: OVERT_VALUE_STR,
                reserved: 0,
                data: OvertValueData { s: text(label) },
            },
        };
        let mut instance = std::ptr::null_mut();
        // SAFETY: all entries are there by the query's answer, and every pointer is valid for its call.
        unsafe {
            let create = api
                .provider_create
                .unwrap_or_else(|| unreachable!("a required entry"));
            assert_eq!(create(host, &option, 1, &mut instance, &sink), OVERT_OK);
            let extension = api
                .extension
                .unwrap_or_else(|| unreachable!("the fakes have it"));
            Observer {
                api,
                instance,
                extension: extension(instance, text("overt.test.observer")).cast(),
                recorder: extension(instance, text(OVERT_EXTENSION_COMMAND_RECORDER)).cast(),
            }
        }
    }

    /// How often something happened: an entry's name, or a key that the fake's sources name.
    pub fn count(&self, key: &str) -> u64 {
        // SAFETY: the extension lives as long as the library; the key lives during the call.
        unsafe { ((*self.extension).count)((*self.extension).context, text(key)) }
    }

    /// Records from here on.
    pub fn start(&self) {
        // SAFETY: the recorder is of this instance.
        unsafe {
            let start = (*self.recorder)
                .start
                .unwrap_or_else(|| unreachable!("the recorder has it"));
            assert_eq!(start(self.instance), OVERT_OK);
        }
    }

    /// Symbols of all bodies that were executed since, in order.
    pub fn stop(&self) -> Vec<String> {
        unsafe extern "C" fn each(context: *mut c_void, symbol: OvertStr) {
            // SAFETY: the context is the list below, which nobody else uses during the call.
            let list = unsafe { &mut *context.cast::<Vec<String>>() };
            // SAFETY: the provider vouches for the symbol.
            let symbol = unsafe { std::slice::from_raw_parts(symbol.data, symbol.len as usize) };
            list.push(String::from_utf8_lossy(symbol).into_owned());
        }
        let mut list: Vec<String> = Vec::new();
        // SAFETY: the recorder is of this instance; the list lives during the call.
        unsafe {
            let stop = (*self.recorder)
                .stop
                .unwrap_or_else(|| unreachable!("the recorder has it"));
            assert_eq!(
                stop(
                    self.instance,
                    std::ptr::from_mut(&mut list).cast(),
                    Some(each)
                ),
                OVERT_OK
            );
        }
        list
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        if let Some(destroy) = self.api.provider_destroy {
            // SAFETY: the instance is this observer's own, and ends once.
            unsafe { destroy(self.instance) }
        }
    }
}

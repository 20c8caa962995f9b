//! What tests ask an instance beside the contract, as an extension named `overt.test.observer`.

use crate::context::Label;
use overt_sdk::abi::OvertStr;
use std::ffi::c_void;
use std::sync::Arc;

/// The extension. The test crate has the same struct.
#[repr(C)]
pub struct Observer {
    size: u32,
    reserved: u32,
    context: *const c_void,
    /// How often something happened.
    count: unsafe extern "C" fn(context: *const c_void, key: OvertStr) -> u64,
}

/// Name of the extension.
pub const EXTENSION: &str = "overt.test.observer";

/// Makes the extension of a label. Leaked: a test asks a few times in its life.
pub fn of(label: &Arc<Label>) -> *const c_void {
    let observer = Observer {
        size: size_of::<Observer>() as u32,
        reserved: 0,
        context: Arc::into_raw(label.clone()).cast(),
        count,
    };
    std::ptr::from_ref(Box::leak(Box::new(observer))).cast()
}

unsafe extern "C" fn count(context: *const c_void, key: OvertStr) -> u64 {
    if context.is_null() || key.data.is_null() {
        return 0;
    }
    // SAFETY: the context is a label that `of` leaked.
    let label = unsafe { &*context.cast::<Label>() };
    // SAFETY: the caller vouches for the text during the call.
    let key = unsafe { std::slice::from_raw_parts(key.data, key.len as usize) };
    std::str::from_utf8(key).map_or(0, |key| label.get(key))
}

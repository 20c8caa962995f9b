//! No panic and no null crosses the line.

#[path = "support/fake.rs"]
mod fake;
mod support;

use fake::{Fake, IN_CREATE, IN_OPEN, PANIC_IN};
use overt_sdk::abi::*;
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering;
use support::*;

#[test]
fn panics_in_create_and_open_become_a_status_with_their_words() {
    PANIC_IN.store(IN_CREATE, Ordering::SeqCst);
    let (status, words) = Session::with::<Fake>(&[]).err().unwrap();
    assert_eq!(status, OVERT_E_PANIC);
    assert!(words.contains("a panic in create"), "{words}");
    PANIC_IN.store(IN_OPEN, Ordering::SeqCst);
    let (status, words) = Session::with::<Fake>(&[]).err().unwrap();
    assert_eq!(status, OVERT_E_PANIC);
    assert!(words.contains("a panic in open"), "{words}");
    PANIC_IN.store(0, Ordering::SeqCst);
    the_rest();
}

/// In one test with the panics above, since those are switched for the whole process.
fn the_rest() {
    options_are_typed_and_unknown_ones_refused();
    null_is_refused_everywhere();
    a_context_is_refused();
}

fn options_are_typed_and_unknown_ones_refused() {
    let s = Session::with::<Fake>(&[("fake.devices", i64_value(3))]).unwrap();
    assert_eq!(s.devices.len(), 3);
    let (status, words) = Session::with::<Fake>(&[("fake.devises", i64_value(3))])
        .err()
        .unwrap();
    assert_eq!(status, OVERT_E_INVALID);
    assert!(
        words.contains("`fake.devises`") && words.contains("fake.devices"),
        "{words}"
    );
    let (status, words) = Session::with::<Fake>(&[("fake.devices", str_value("x"))])
        .err()
        .unwrap();
    assert_eq!(status, OVERT_E_INVALID);
    assert!(words.contains("integer"), "{words}");
}

fn a_context_is_refused() {
    let s = Session::new::<Fake>();
    let import = OvertImport {
        size: size_of::<OvertImport>() as u32,
        kind: OVERT_IMPORT_CONTEXT,
        native: 1,
        bytes: 0,
    };
    let mut device = null_mut();
    assert_eq!(
        call!(s, device_open(s.instance, 0, &import, &mut device))
            .unwrap_err()
            .0,
        OVERT_E_UNSUPPORTED
    );
    assert_eq!(
        call!(s, device_open(s.instance, 9, null(), &mut device))
            .unwrap_err()
            .0,
        OVERT_E_INVALID
    );
}

fn null_is_refused_everywhere() {
    let s = Session::new::<Fake>();
    let (device, stream) = (s.devices[0], s.stream());
    let kernel = s.kernel("fake/shift/plain");
    let (n, nm) = (null::<OvertCall>(), null_mut::<OvertStream>());
    let mut receipt = empty_receipt();
    let mut allocation = empty_allocation();
    let mut count = 0;
    let mut ns = 0.0;
    let mut device_out = null_mut();
    for (what, outcome) in [
        ("count", call!(s, device_count(null_mut(), &mut count))),
        ("count out", call!(s, device_count(s.instance, null_mut()))),
        ("info", call!(s, device_info(s.instance, 0, null_mut()))),
        (
            "open",
            call!(s, device_open(null_mut(), 0, null(), &mut device_out)),
        ),
        (
            "open out",
            call!(s, device_open(s.instance, 0, null(), null_mut())),
        ),
        ("kernel", call!(s, kernel_open(device, 0, null_mut()))),
        (
            "kernel number",
            call!(s, kernel_open(device, 999, &mut null_mut())),
        ),
        (
            "launch call",
            call!(s, launch(kernel, stream, n, &mut receipt)),
        ),
        (
            "launch kernel",
            call!(s, launch(null_mut(), stream, n, &mut receipt)),
        ),
        (
            "launch stream",
            call!(s, launch(kernel, nm, n, &mut receipt)),
        ),
        (
            "launch receipt",
            call!(s, launch(kernel, stream, n, null_mut())),
        ),
        (
            "prepare",
            call!(s, kernel_prepare(kernel, n, &mut null_mut())),
        ),
        (
            "workspace",
            call!(s, kernel_workspace(kernel, n, null_mut())),
        ),
        (
            "alloc",
            call!(s, memory_alloc(null_mut(), 1, 0, 0, &mut allocation)),
        ),
        (
            "alloc out",
            call!(s, memory_alloc(device, 1, 0, 0, null_mut())),
        ),
        (
            "import",
            call!(s, memory_import(device, null(), &mut allocation)),
        ),
        ("copy in", call!(s, memory_copy_in(stream, 1, 0, null(), 4))),
        (
            "copy out",
            call!(s, memory_copy_out(stream, 1, 0, null_mut(), 4)),
        ),
        (
            "copy out sync",
            call!(s, memory_copy_out_sync(nm, 1, 0, null_mut(), 0)),
        ),
        ("copy", call!(s, memory_copy(nm, 1, 0, 1, 0, 4))),
        ("fill", call!(s, memory_fill(nm, 1, 0, 0, 4))),
        (
            "peer",
            call!(s, peer_access(device, null_mut(), &mut count)),
        ),
        (
            "copy peer",
            call!(s, memory_copy_peer(stream, 1, 0, null_mut(), 1, 0, 4)),
        ),
        ("stream", call!(s, stream_create(device, null_mut()))),
        (
            "stream import",
            call!(s, stream_import(device, null(), &mut null_mut())),
        ),
        ("flush", call!(s, stream_flush(nm))),
        ("query", call!(s, stream_query(nm))),
        ("sync", call!(s, stream_sync(nm))),
        ("wait", call!(s, stream_wait_event(stream, null_mut()))),
        ("event", call!(s, event_create(device, null_mut()))),
        ("record", call!(s, event_record(null_mut(), stream))),
        ("event query", call!(s, event_query(null_mut()))),
        ("event sync", call!(s, event_sync(null_mut()))),
        (
            "elapsed",
            call!(s, event_elapsed(null_mut(), null_mut(), &mut ns)),
        ),
        ("capture", call!(s, capture_begin(nm))),
        ("capture end", call!(s, capture_end(stream, null_mut()))),
        (
            "replay",
            call!(s, graph_replay(null_mut(), stream, null_mut())),
        ),
    ] {
        let (status, words) = outcome.expect_err(what);
        assert_eq!(status, OVERT_E_INVALID, "{what}");
        assert!(!words.is_empty(), "{what}");
    }
    // SAFETY: null is what is tested.
    unsafe {
        s.api.provider_destroy.unwrap()(null_mut());
        s.api.device_close.unwrap()(null_mut());
        s.api.kernel_close.unwrap()(null_mut());
        s.api.kernel_release_plan.unwrap()(kernel, null_mut());
        s.api.memory_free.unwrap()(null_mut(), 1);
        s.api.stream_destroy.unwrap()(null_mut());
        s.api.event_destroy.unwrap()(null_mut());
        s.api.capture_abort.unwrap()(null_mut());
        s.api.graph_destroy.unwrap()(null_mut());
        assert!(s.api.extension.unwrap()(null_mut(), abi_str("x")).is_null());
        assert!(s.api.extension.unwrap()(s.instance, abi_str("no.such")).is_null());
    }
    receipt.size = 3;
    assert_eq!(
        call!(s, launch(kernel, stream, n, &mut receipt))
            .unwrap_err()
            .0,
        OVERT_E_ABI
    );
    let mut call = Call::new(&[]).raw();
    call.size = 8;
    let mut receipt = empty_receipt();
    assert_eq!(
        call!(s, launch(kernel, stream, &call, &mut receipt))
            .unwrap_err()
            .0,
        OVERT_E_ABI
    );
}

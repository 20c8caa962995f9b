//! The host backend through the ABI: memory, streams, failures, capture, peers, and receipts against the recorder.

#[path = "support/fake.rs"]
mod fake;
mod support;

use fake::Fake;
use overt_sdk::abi::*;
use std::ptr::{null, null_mut};
use std::time::Duration;
use support::*;

fn shift(x: OvertAllocation, n: i64, by: i64) -> Call {
    Call::new(&[(x, n)]).with(&[i64_value(by)])
}

#[test]
fn a_launch_runs_and_its_receipt_is_that_of_the_body() {
    let s = Session::new::<Fake>();
    let (stream, kernel) = (s.stream(), s.kernel("fake/shift/plain"));
    let x = s.alloc(0, 16);
    s.write(stream, x.handle, &[1.0, 2.0, 3.0, 4.0]);
    s.record_start();
    let receipt = s.launch(kernel, stream, &shift(x, 4, 10)).unwrap();
    assert_eq!(
        (receipt.launches, str_of(receipt.entry)),
        (1, "fake_shift".into())
    );
    assert_eq!(receipt.image_digest, fake::IMAGE.short_digest());
    assert_eq!(s.read(stream, x.handle, 4), [11.0, 12.0, 13.0, 14.0]);
    assert_eq!(s.record_stop(), ["fake_shift"]);
}

#[test]
fn a_launch_that_takes_another_path_is_seen_in_receipt_and_record() {
    let s = Session::new::<Fake>();
    let (stream, kernel) = (s.stream(), s.kernel("fake/shift/liar"));
    let x = s.alloc(0, 64);
    s.record_start();
    let receipt = s.launch(kernel, stream, &shift(x, 16, 1)).unwrap();
    assert_eq!(
        (receipt.launches, str_of(receipt.entry)),
        (2, "fake_other".into())
    );
    assert_eq!(receipt.grid, [2, 3, 4]);
    assert_eq!(receipt.more_count, 1);
    // SAFETY: `more` has the counted texts.
    assert_eq!(str_of(unsafe { *receipt.more }), "fake_shift");
    call!(s, stream_sync(stream)).unwrap();
    assert_eq!(s.record_stop(), ["fake_other", "fake_shift"]);
}

#[test]
fn launches_return_before_their_bodies_run() {
    let s = Session::new::<Fake>();
    let (stream, sleeps) = (s.stream(), s.kernel("fake/shift/sleeps"));
    let x = s.alloc(0, 4);
    s.launch(sleeps, stream, &shift(x, 1, 100)).unwrap();
    assert_eq!(
        call!(s, stream_query(stream)),
        Err((OVERT_E_NOT_READY, String::new()))
    );
    call!(s, stream_sync(stream)).unwrap();
    call!(s, stream_query(stream)).unwrap();
}

#[test]
fn a_failed_body_is_reported_once_by_name_and_later_work_is_skipped() {
    let s = Session::new::<Fake>();
    let (stream, fails, plain) = (
        s.stream(),
        s.kernel("fake/shift/fails"),
        s.kernel("fake/shift/plain"),
    );
    let x = s.alloc(0, 4);
    for (mode, words) in [
        (0, "`fake_fail` failed: the input was bad"),
        (1, "`fake_fail` panicked: a panic in a body"),
    ] {
        s.write(stream, x.handle, &[1.0]);
        s.record_start();
        s.launch(fails, stream, &shift(x, 1, mode)).unwrap();
        s.launch(plain, stream, &shift(x, 1, 5)).unwrap();
        let (status, said) = call!(s, stream_sync(stream)).unwrap_err();
        assert_eq!(status, OVERT_E_ASYNC);
        assert!(said.starts_with(words), "{said}");
        assert!(said.contains("1 later command"), "{said}");
        assert_eq!(s.record_stop(), ["fake_fail"]);
        call!(s, stream_sync(stream)).unwrap();
        s.launch(plain, stream, &shift(x, 1, 5)).unwrap();
        assert_eq!(s.read(stream, x.handle, 1), [6.0], "the worker survived");
    }
}

#[test]
fn a_query_shows_a_failure_and_leaves_it_to_sync() {
    let s = Session::new::<Fake>();
    let (stream, fails) = (s.stream(), s.kernel("fake/shift/fails"));
    let event = s.event();
    let x = s.alloc(0, 4);
    s.launch(fails, stream, &shift(x, 1, 0)).unwrap();
    call!(s, event_record(event, stream)).unwrap();
    assert_eq!(call!(s, event_sync(event)).unwrap_err().0, OVERT_E_ASYNC);
    while call!(s, stream_query(stream)).is_err_and(|e| e.0 == OVERT_E_NOT_READY) {
        std::thread::yield_now();
    }
    assert_eq!(call!(s, stream_query(stream)).unwrap_err().0, OVERT_E_ASYNC);
    assert_eq!(call!(s, stream_sync(stream)).unwrap_err().0, OVERT_E_ASYNC);
    call!(s, stream_sync(stream)).unwrap();
}

#[test]
fn a_launch_that_fails_or_panics_enqueues_nothing() {
    let s = Session::new::<Fake>();
    let (stream, kernel) = (s.stream(), s.kernel("fake/shift/refuses"));
    let x = s.alloc(0, 4);
    s.write(stream, x.handle, &[1.0]);
    s.record_start();
    let (status, words) = s.launch(kernel, stream, &shift(x, 1, 0)).unwrap_err();
    assert_eq!(status, OVERT_E_PANIC);
    assert!(
        words.contains("a panic in a launch") && words.contains("fake.rs:"),
        "{words}"
    );
    let (status, words) = s.launch(kernel, stream, &shift(x, 1, 1)).unwrap_err();
    assert_eq!((status, words.as_str()), (OVERT_E_LAUNCH, "not today"));
    let mut receipt = empty_receipt();
    let (call, kernel_again) = (shift(x, 1, 1), kernel);
    let raw = call.raw();
    let _ = call!(s, launch(kernel_again, stream, &raw, &mut receipt));
    assert_eq!(receipt.launches, 0);
    // What the failed launches staged does not ride along with the next one.
    let plain = s.kernel("fake/shift/plain");
    s.launch(plain, stream, &shift(x, 1, 1)).unwrap();
    assert_eq!(s.read(stream, x.handle, 1), [2.0]);
    assert_eq!(s.record_stop(), ["fake_shift"]);
}

#[test]
fn stale_unknown_and_overrun_handles_are_errors() {
    let s = Session::new::<Fake>();
    let (stream, plain) = (s.stream(), s.kernel("fake/shift/plain"));
    let x = s.alloc(0, 16);
    let old = x;
    // SAFETY: a live device and its allocation.
    unsafe { s.api.memory_free.unwrap()(s.devices[0], x.handle) };
    let x = s.alloc(0, 16);
    assert_ne!(
        old.handle, x.handle,
        "the slot is used again under another handle"
    );
    for handle in [old.handle, 0, u64::MAX, x.handle + 7] {
        let stale = OvertAllocation { handle, ..x };
        let (status, words) = s.launch(plain, stream, &shift(stale, 4, 1)).unwrap_err();
        assert_eq!(status, OVERT_E_INVALID);
        assert!(
            words.contains("operand 0") && words.contains("is not an allocation"),
            "{words}"
        );
        let mut byte = 0u8;
        let target = (&raw mut byte).cast();
        assert_eq!(
            call!(s, memory_copy_out_sync(stream, handle, 0, target, 1))
                .unwrap_err()
                .0,
            OVERT_E_INVALID
        );
    }
    assert_eq!(
        s.launch(plain, stream, &shift(x, 5, 1)).unwrap_err().0,
        OVERT_E_INVALID
    );
    for (offset, bytes) in [(16, 1), (u64::MAX, 1), (0, 17), (8, u64::MAX)] {
        assert_ne!(
            call!(s, memory_fill(stream, x.handle, offset, 0, bytes)),
            Ok(()),
            "{offset} {bytes}"
        );
    }
    // SAFETY: freeing what is not there does nothing.
    unsafe { s.api.memory_free.unwrap()(s.devices[0], old.handle) };
}

#[test]
fn allocations_are_aligned_and_refusals_are_typed() {
    let s = Session::new::<Fake>();
    for alignment in [0, 1, 64, 4096] {
        let mut a = empty_allocation();
        call!(
            s,
            memory_alloc(
                s.devices[0],
                100,
                alignment,
                OVERT_MEMORY_HOST_VISIBLE,
                &mut a
            )
        )
        .unwrap();
        assert_eq!(a.address % alignment.max(64), 0);
        assert_eq!((a.host_address, a.bytes), (a.address, 100));
    }
    let mut a = empty_allocation();
    for (bytes, alignment, flags, wanted) in [
        (0, 0, 0, OVERT_E_INVALID),
        (1, 3, 0, OVERT_E_INVALID),
        (u64::MAX, 0, 0, OVERT_E_OUT_OF_MEMORY),
        (1 << 62, 0, 0, OVERT_E_OUT_OF_MEMORY),
        (1, 1 << 63, 0, OVERT_E_OUT_OF_MEMORY),
        (1, 0, 2, OVERT_E_UNSUPPORTED),
    ] {
        let (status, _) = call!(
            s,
            memory_alloc(s.devices[0], bytes, alignment, flags, &mut a)
        )
        .unwrap_err();
        assert_eq!(status, wanted, "{bytes} {alignment} {flags}");
        assert_eq!(a.handle, 0, "an out-parameter is untouched on an error");
    }
}

#[test]
fn imported_host_memory_is_used_in_place() {
    let s = Session::new::<Fake>();
    let (stream, plain) = (s.stream(), s.kernel("fake/shift/plain"));
    let mut mine = [1.0f32, 2.0];
    let import = OvertImport {
        size: size_of::<OvertImport>() as u32,
        kind: OVERT_IMPORT_HOST_POINTER,
        native: mine.as_mut_ptr() as usize as u64,
        bytes: 8,
    };
    let mut a = empty_allocation();
    call!(s, memory_import(s.devices[0], &import, &mut a)).unwrap();
    s.launch(plain, stream, &shift(a, 2, 1)).unwrap();
    call!(s, stream_sync(stream)).unwrap();
    // SAFETY: written behind the compiler's back through the import.
    let seen = unsafe { std::ptr::read_volatile(&raw const mine) };
    assert_eq!(seen, [2.0, 3.0]);
    let bad = OvertImport {
        native: 0,
        ..import
    };
    assert_eq!(
        call!(s, memory_import(s.devices[0], &bad, &mut a))
            .unwrap_err()
            .0,
        OVERT_E_INVALID
    );
}

#[test]
fn copies_in_are_staged_and_copies_out_wait_their_turn() {
    let s = Session::new::<Fake>();
    let (stream, sleeps) = (s.stream(), s.kernel("fake/shift/sleeps"));
    let (x, y) = (s.alloc(0, 8), s.alloc(0, 8));
    s.launch(sleeps, stream, &shift(x, 1, 50)).unwrap();
    let mut source = vec![3.0f32, 4.0];
    s.write(stream, x.handle, &source);
    source.fill(9.0);
    call!(s, memory_copy(stream, y.handle, 4, x.handle, 0, 4)).unwrap();
    call!(s, memory_fill(stream, y.handle, 0, 0, 4)).unwrap();
    let mut out = [7.0f32; 2];
    call!(
        s,
        memory_copy_out(stream, y.handle, 0, out.as_mut_ptr().cast(), 8)
    )
    .unwrap();
    call!(s, stream_sync(stream)).unwrap();
    // SAFETY: written by the stream's worker.
    let seen = unsafe { std::ptr::read_volatile(&raw const out) };
    assert_eq!(seen, [0.0, 3.0]);
}

#[test]
fn ten_replays_of_one_captured_launch_run_it_ten_times() {
    let s = Session::new::<Fake>();
    let (stream, plain) = (s.stream(), s.kernel("fake/shift/plain"));
    let x = s.alloc(0, 4);
    s.write(stream, x.handle, &[0.0]);
    call!(s, capture_begin(stream)).unwrap();
    s.record_start();
    let receipt = s.launch(plain, stream, &shift(x, 1, 3)).unwrap();
    assert_eq!(receipt.launches, 1);
    // Everything that a capture cannot hold is refused and leaves it valid.
    let event = s.event();
    for refused in [
        call!(s, stream_sync(stream)),
        call!(s, stream_query(stream)),
        call!(s, stream_flush(stream)),
        call!(s, event_record(event, stream)),
        call!(s, stream_wait_event(stream, event)),
        call!(
            s,
            memory_copy_in(stream, x.handle, 0, (&raw const receipt).cast(), 4)
        ),
        call!(s, capture_begin(stream)),
        s.launch(s.kernel("fake/shift/sleeps"), stream, &shift(x, 1, 1))
            .map(|_| ()),
    ] {
        assert_eq!(refused.unwrap_err().0, OVERT_E_CAPTURE);
    }
    let mut graph = null_mut();
    call!(s, capture_end(stream, &mut graph)).unwrap();
    assert_eq!(s.read(stream, x.handle, 1), [0.0], "recorded, not run");
    for _ in 0..10 {
        let mut replay = OvertReplayReceipt {
            size: size_of::<OvertReplayReceipt>() as u32,
            launches: 0,
        };
        call!(s, graph_replay(graph, stream, &mut replay)).unwrap();
        assert_eq!(replay.launches, 1);
    }
    assert_eq!(s.read(stream, x.handle, 1), [30.0]);
    assert_eq!(s.record_stop(), vec!["fake_shift"; 10]);
    // SAFETY: no replay is pending.
    unsafe { s.api.graph_destroy.unwrap()(graph) };
}

#[test]
fn an_aborted_capture_is_forgotten() {
    let s = Session::new::<Fake>();
    let (stream, plain) = (s.stream(), s.kernel("fake/shift/plain"));
    let x = s.alloc(0, 4);
    call!(s, capture_begin(stream)).unwrap();
    s.launch(plain, stream, &shift(x, 1, 3)).unwrap();
    // SAFETY: a live stream.
    unsafe { s.api.capture_abort.unwrap()(stream) };
    assert_eq!(s.read(stream, x.handle, 1), [0.0]);
    let mut graph = null_mut();
    assert_eq!(
        call!(s, capture_end(stream, &mut graph)).unwrap_err().0,
        OVERT_E_CAPTURE
    );
}

#[test]
fn an_unprepared_launch_in_a_capture_says_prepare_first() {
    let s = Session::new::<Fake>();
    let (stream, kernel) = (s.stream(), s.kernel("fake/shift/prepared"));
    let x = s.alloc(0, 4);
    let mut call = shift(x, 1, 3);
    call!(s, capture_begin(stream)).unwrap();
    let (status, words) = s.launch(kernel, stream, &call).unwrap_err();
    assert_eq!(status, OVERT_E_PREPARE_FIRST);
    assert!(words.contains("prepare first"), "{words}");
    let raw = call.raw();
    let mut plan = null_mut();
    call!(s, kernel_prepare(kernel, &raw, &mut plan)).unwrap();
    call.plan = plan;
    s.launch(kernel, stream, &call).unwrap();
    let mut graph = null_mut();
    call!(s, capture_end(stream, &mut graph)).unwrap();
    // SAFETY: nothing is pending.
    unsafe {
        s.api.graph_destroy.unwrap()(graph);
        s.api.kernel_release_plan.unwrap()(kernel, plan);
    }
}

#[test]
fn events_pass_in_order_and_measure_time() {
    let s = Session::new::<Fake>();
    let (stream, sleeps) = (s.stream(), s.kernel("fake/shift/sleeps"));
    let x = s.alloc(0, 4);
    let (start, end) = (s.event(), s.event());
    assert_eq!(call!(s, event_query(start)).unwrap_err().0, OVERT_E_INVALID);
    assert_eq!(
        call!(s, stream_wait_event(stream, start)).unwrap_err().0,
        OVERT_E_INVALID
    );
    call!(s, event_record(start, stream)).unwrap();
    s.launch(sleeps, stream, &shift(x, 1, 30)).unwrap();
    call!(s, event_record(end, stream)).unwrap();
    let mut ns = 0.0;
    if let Err((status, _)) = call!(s, event_query(end)) {
        assert_eq!(status, OVERT_E_NOT_READY);
    }
    call!(s, event_sync(end)).unwrap();
    call!(s, event_query(start)).unwrap();
    call!(s, event_elapsed(start, end, &mut ns)).unwrap();
    assert!(ns >= Duration::from_millis(30).as_nanos() as f64, "{ns}");
}

#[test]
fn a_stream_waits_for_another_stream_s_event() {
    let s = Session::new::<Fake>();
    let (a, b) = (s.stream(), s.stream());
    let (plain, sleeps) = (s.kernel("fake/shift/plain"), s.kernel("fake/shift/sleeps"));
    let x = s.alloc(0, 4);
    let event = s.event();
    s.record_start();
    s.launch(sleeps, a, &shift(x, 1, 50)).unwrap();
    call!(s, event_record(event, a)).unwrap();
    call!(s, stream_wait_event(b, event)).unwrap();
    s.launch(plain, b, &shift(x, 1, 1)).unwrap();
    call!(s, stream_sync(b)).unwrap();
    // `b` could only finish after `a` had reached the event, and nothing flushed `a` but the event.
    assert_eq!(s.record_stop(), ["fake_sleep", "fake_shift"]);
    // Without the wait the streams do not know of each other.
    s.record_start();
    s.launch(sleeps, a, &shift(x, 1, 200)).unwrap();
    call!(s, stream_flush(a)).unwrap();
    s.launch(plain, b, &shift(x, 1, 1)).unwrap();
    call!(s, stream_sync(b)).unwrap();
    assert_eq!(call!(s, stream_query(a)).unwrap_err().0, OVERT_E_NOT_READY);
}

#[test]
fn streams_of_two_threads_keep_their_own_order_and_lose_nothing() {
    const EACH: usize = 500;
    let s = Session::new::<Fake>();
    let plain = s.kernel("fake/shift/plain");
    let streams: Vec<_> = (0..4).map(|_| (s.stream(), s.alloc(0, 4))).collect();
    struct Lent<'a>(
        &'a Session,
        *mut OvertKernel,
        *mut OvertStream,
        OvertAllocation,
    );
    // SAFETY: each stream is used by one thread.
    unsafe impl Send for Lent<'_> {}
    std::thread::scope(|scope| {
        for (stream, x) in &streams {
            let lent = Lent(&s, plain, *stream, *x);
            scope.spawn(move || {
                let lent = lent;
                let Lent(s, plain, stream, x) = lent;
                for _ in 0..EACH {
                    s.launch(plain, stream, &shift(x, 1, 1)).unwrap();
                }
            });
        }
    });
    for (stream, x) in &streams {
        assert_eq!(s.read(*stream, x.handle, 1), [EACH as f32]);
        // SAFETY: nothing uses it any more.
        unsafe { s.api.stream_destroy.unwrap()(*stream) };
    }
}

#[test]
fn the_imported_null_stream_is_the_default_queue_and_cannot_capture() {
    let s = Session::new::<Fake>();
    let mut import = OvertImport {
        size: size_of::<OvertImport>() as u32,
        kind: OVERT_IMPORT_STREAM,
        native: 0,
        bytes: 0,
    };
    let mut stream = null_mut();
    call!(s, stream_import(s.devices[0], &import, &mut stream)).unwrap();
    assert_eq!(
        call!(s, capture_begin(stream)).unwrap_err().0,
        OVERT_E_CAPTURE
    );
    let x = s.alloc(0, 4);
    s.launch(s.kernel("fake/shift/plain"), stream, &shift(x, 1, 2))
        .unwrap();
    assert_eq!(s.read(stream, x.handle, 1), [2.0]);
    import.native = 8;
    assert_eq!(
        call!(s, stream_import(s.devices[0], &import, &mut stream))
            .unwrap_err()
            .0,
        OVERT_E_INVALID
    );
}

#[test]
fn a_peer_path_is_used_when_its_probe_arrives_and_staged_otherwise() {
    let s = Session::new::<Fake>();
    let mut access = 0;
    let mut words = Words::new();
    // SAFETY: live devices.
    let status = unsafe {
        s.api.peer_access.unwrap()(
            s.devices[0],
            s.devices[1],
            &mut access,
            &raw const words.sink,
        )
    };
    assert_eq!(
        (status, access),
        (OVERT_OK, OVERT_PEER_DIRECT | OVERT_PEER_PROVEN)
    );
    assert_eq!(words.take(), "");
    // SAFETY: as above.
    let status = unsafe {
        s.api.peer_access.unwrap()(
            s.devices[1],
            s.devices[0],
            &mut access,
            &raw const words.sink,
        )
    };
    assert_eq!((status, access), (OVERT_OK, OVERT_PEER_DIRECT));
    assert!(words.take().contains("staged"));
    for (to, from) in [(0, 1), (1, 0)] {
        let (source, target) = (s.alloc(from, 8), s.alloc(to, 8));
        let (there, here) = (s.stream_on(from), s.stream_on(to));
        s.write(there, source.handle, &[5.0, 6.0]);
        call!(s, stream_sync(there)).unwrap();
        call!(
            s,
            memory_copy_peer(here, target.handle, 0, s.devices[from], source.handle, 0, 8)
        )
        .unwrap();
        assert_eq!(
            s.read(here, target.handle, 2),
            [5.0, 6.0],
            "{to} from {from}"
        );
    }
}

#[test]
fn a_guard_callback_says_no_with_its_reason() {
    let s = Session::new::<Fake>();
    // SAFETY: inside the table; number 3 is `prepared`.
    let guard = unsafe { (*s.provider.kernels.add(3)).guard }.unwrap();
    let mut info = null();
    call!(s, device_info(s.instance, 0, &mut info)).unwrap();
    for (n, wanted) in [(12, OVERT_OK), (13, OVERT_E_REJECTED)] {
        let mut words = Words::new();
        let call = shift(s.alloc(0, 64), n, 0);
        let raw = call.raw();
        // SAFETY: a whole call and a live description.
        assert_eq!(unsafe { guard(info, &raw, &raw const words.sink) }, wanted);
        assert_eq!(words.take(), if n == 13 { "N is 13" } else { "" });
    }
}

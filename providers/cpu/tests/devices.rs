//! The CPU as several devices, at the entries of the ABI.

#[path = "../../sdk/tests/support/mod.rs"]
mod support;

use overt_cpu::Cpu;
use overt_sdk::abi::*;
use std::collections::BTreeSet;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};
use support::*;

fn session(devices: i64, threads: i64) -> Session {
    Session::with::<Cpu>(&[
        ("cpu.devices", i64_value(devices)),
        ("cpu.threads", i64_value(threads)),
    ])
    .unwrap()
}

fn info(s: &Session, index: u32) -> &OvertDeviceInfo {
    let mut info = null();
    call!(s, device_info(s.instance, index, &mut info)).unwrap();
    // SAFETY: a description lives as long as its instance.
    unsafe { &*info }
}

/// Name and bits of each fact; every fact of this provider is a truth value or an integer.
fn facts(s: &Session, index: u32) -> Vec<(String, i64)> {
    let info = info(s, index);
    // SAFETY: a live description.
    unsafe {
        std::slice::from_raw_parts(info.facts, info.fact_count as usize)
            .iter()
            .map(|f| (str_of(f.name), f.value.data.i))
            .collect()
    }
}

fn threads(s: &Session, index: u32) -> i64 {
    let facts = facts(s, index);
    facts.iter().find(|(n, _)| n == "threads").unwrap().1
}

#[test]
fn devices_differ_in_their_id_and_threads_alone() {
    let alone = session(1, 7);
    let s = session(3, 7);
    assert_eq!((alone.devices.len(), s.devices.len()), (1, 3));
    assert_eq!([0, 1, 2].map(|i| threads(&s, i)), [3, 2, 2]);
    assert_eq!(threads(&alone, 0), 7);
    assert_eq!(str_of(info(&s, 0).id), str_of(info(&alone, 0).id));
    let ids: BTreeSet<String> = (0..3).map(|i| str_of(info(&s, i).id)).collect();
    assert_eq!(ids.len(), 3);
    let rest = |s: &Session, i| {
        let facts = facts(s, i);
        let same: Vec<_> = facts.into_iter().filter(|(n, _)| n != "threads").collect();
        let info = info(s, i);
        (same, str_of(info.name), info.memory_bytes, info.flags)
    };
    for i in 0..3 {
        assert_eq!(rest(&s, i), rest(&alone, 0));
        assert_ne!(info(&s, i).flags & OVERT_DEVICE_FLAG_PEER, 0);
    }
}

#[test]
fn there_are_as_many_as_asked_for_within_the_range() {
    for bad in [0, 65, -3] {
        let (status, words) = Session::with::<Cpu>(&[("cpu.devices", i64_value(bad))])
            .err()
            .unwrap();
        assert_eq!(status, OVERT_E_INVALID);
        assert!(
            words.contains("cpu.devices") && words.contains(&bad.to_string()),
            "{words}"
        );
    }
    let s = session(64, 2);
    assert_eq!(s.devices.len(), 64);
    assert!((0..64).all(|i| threads(&s, i) == 1));
    let mut device = null_mut();
    let (status, words) = call!(s, device_open(s.instance, 64, null(), &mut device)).unwrap_err();
    assert_eq!(status, OVERT_E_INVALID);
    assert!(words.contains("64"), "{words}");
}

#[test]
fn threads_of_pools_are_as_many_as_stated_and_end_with_their_device() {
    // By name, which a thread gives itself only once it runs. Other tests have fewer helpers than are looked for here.
    let helpers = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
            .filter(|name| name.starts_with("overt-cpu-"))
            .count()
    };
    let within_a_minute = |holds: &dyn Fn(usize) -> bool| {
        let start = Instant::now();
        while !holds(helpers()) {
            assert!(start.elapsed().as_secs() < 60, "{} helpers", helpers());
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    // The thread that executes a stream is one of its device's, so each pool has one helper less.
    let s = session(3, 203);
    within_a_minute(&|count| (200..220).contains(&count));
    drop(s);
    within_a_minute(&|count| count < 20);
}

#[test]
fn memory_is_each_devices_own() {
    let s = session(2, 2);
    let (there, here) = (s.stream_on(0), s.stream_on(1));
    let a = s.alloc(0, 8);
    s.write(there, a.handle, &[5.0, 6.0]);
    call!(s, stream_sync(there)).unwrap();
    // Device 1 has none yet, and device 0's is none of its own, whatever the handle's number.
    let mut read = [0f32; 2];
    let mut refuse = |handle| {
        let (status, words) = call!(
            s,
            memory_copy_out_sync(here, handle, 0, read.as_mut_ptr().cast(), 8)
        )
        .unwrap_err();
        assert_eq!(status, OVERT_E_INVALID);
        assert!(
            words.contains("not an allocation of this device"),
            "{words}"
        );
    };
    refuse(a.handle);
    // Nor is it when device 1 has as many allocations as device 0 and more.
    let own: Vec<_> = (0..4).map(|_| s.alloc(1, 8)).collect();
    refuse(a.handle);
    for b in &own {
        assert_ne!(b.handle, a.handle);
    }
    // By way of the peer's entry it can be had.
    let b = own[0].handle;
    call!(
        s,
        memory_copy_peer(here, b, 0, s.devices[0], a.handle, 0, 8)
    )
    .unwrap();
    assert_eq!(s.read(here, b, 2), [5.0, 6.0]);
    let (status, words) = call!(
        s,
        memory_copy_peer(here, b, 0, s.devices[0], own[1].handle, 0, 8)
    )
    .unwrap_err();
    assert_eq!(status, OVERT_E_INVALID);
    assert!(words.contains("source of copy_peer"), "{words}");
    // Freeing on the wrong device frees nothing.
    // SAFETY: live devices; the handle is not in use.
    unsafe { s.api.memory_free.unwrap()(s.devices[1], a.handle) };
    assert_eq!(s.read(there, a.handle, 2), [5.0, 6.0]);
    for stream in [there, here] {
        // SAFETY: nothing uses it any more.
        unsafe { s.api.stream_destroy.unwrap()(stream) };
    }
}

#[test]
fn devices_open_and_close_in_any_order() {
    let s = session(4, 4);
    let mut again = Vec::new();
    for index in [3, 0, 2, 1] {
        let mut device = null_mut();
        call!(s, device_open(s.instance, index, null(), &mut device)).unwrap();
        again.push(device);
    }
    for index in [2, 0, 3, 1] {
        // SAFETY: opened above, closed once.
        unsafe { s.api.device_close.unwrap()(again[index]) };
    }
    let stream = s.stream_on(3);
    let a = s.alloc(3, 4);
    s.write(stream, a.handle, &[2.5]);
    assert_eq!(s.read(stream, a.handle, 1), [2.5]);
    // SAFETY: nothing uses it any more.
    unsafe { s.api.stream_destroy.unwrap()(stream) };
}

//! Scenario 4 and promise 5: guards are evaluated for each device, in any order and from any thread.

use overt::kernels::dtype::F32;
use overt::{Runtime, Witness};
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::{Uploaded, verified};
use overt_tests::start::Fake;
use std::sync::Barrier;

/// The kernel that serves an aligned f32 sum on an architecture.
const SERVED: [(&str, &str); 5] = [
    ("sm_86", "fake/add/aligned"),
    ("sm_120", "fake/add/sm90"),
    ("sm_90", "fake/add/sm90"),
    ("sm_89", "fake/add/aligned"),
    ("gfx1201", "fake/add/aligned"),
];

fn run(runtime: &Runtime, device: &str) -> String {
    verified(
        runtime,
        &runtime.device(device).unwrap(),
        problems::add(4, 8, F32),
    )
    .0
}

#[test]
fn either_device_first_gets_its_own_kernel() {
    case!("fake", [Gcc], || {
        for order in [["fake:0", "fake:1"], ["fake:1", "fake:0"]] {
            let started = Fake::of("sm_86,sm_120").start();
            for _ in 0..3 {
                for device in order {
                    let wanted = if device == "fake:0" {
                        "fake/add/aligned"
                    } else {
                        "fake/add/sm90"
                    };
                    assert_eq!(run(&started.runtime, device), wanted, "{order:?}");
                }
            }
        }
    });
}

#[test]
fn every_permutation_of_five_devices_gives_each_its_own() {
    case!("fake", [Gcc], || {
        for shift in 0..SERVED.len() {
            let mut devices = SERVED;
            devices.rotate_left(shift);
            let names: Vec<&str> = devices.iter().map(|d| d.0).collect();
            let started = Fake::of(&names.join(",")).start();
            for (index, (arch, wanted)) in devices.iter().enumerate().rev() {
                assert_eq!(
                    run(&started.runtime, &format!("fake:{index}")),
                    *wanted,
                    "{arch}"
                );
            }
        }
    });
}

#[test]
fn two_threads_at_once_get_the_kernels_of_their_devices() {
    case!("fake", [Gcc], || {
        for _ in 0..20 {
            let started = Fake::of("sm_86,sm_120").start();
            let barrier = Barrier::new(2);
            std::thread::scope(|scope| {
                for (device, wanted) in
                    [("fake:0", "fake/add/aligned"), ("fake:1", "fake/add/sm90")]
                {
                    let (runtime, barrier) = (&started.runtime, &barrier);
                    scope.spawn(move || {
                        let stream = runtime.stream(&runtime.device(device).unwrap()).unwrap();
                        let uploaded = Uploaded::new(&stream, problems::add(4, 8, F32)).unwrap();
                        let witness = Witness::new();
                        barrier.wait();
                        for _ in 0..50 {
                            stream
                                .dispatch(&uploaded.call().witnessed(&witness))
                                .unwrap();
                        }
                        uploaded.check(&stream).unwrap();
                        witness.assert_only(wanted, 50).unwrap();
                    });
                }
            });
            for entry in started.runtime.counts() {
                let wanted = if entry.device == "fake:0" {
                    "fake/add/aligned"
                } else {
                    "fake/add/sm90"
                };
                assert_eq!(
                    (entry.kernel.as_str(), entry.counts.completed),
                    (wanted, 50)
                );
            }
        }
    });
}

#[test]
fn a_threshold_of_one_device_is_not_used_on_another() {
    case!("fake", [Gcc], || {
        // `fake.rows` is 64, and 16 from sm_90 on.
        let started = Fake::of("sm_86,sm_120").start();
        for (rows, first, second) in [
            (15, "prepared", "prepared"),
            (16, "prepared", "split"),
            (63, "prepared", "split"),
            (64, "split", "split"),
        ] {
            for (device, wanted) in [("fake:0", first), ("fake:1", second)] {
                let host = problems::matmul(rows, 2, 5, F32);
                let (kernel, _) = verified(&started.runtime, &started.device(device), host);
                assert_eq!(
                    kernel,
                    format!("fake/matmul_bt/{wanted}"),
                    "{rows} rows on {device}"
                );
            }
        }
        // A value that was set holds on both.
        started.runtime.set_knob("fake.rows", "20").unwrap();
        for device in ["fake:0", "fake:1"] {
            let (kernel, _) = verified(
                &started.runtime,
                &started.device(device),
                problems::matmul(20, 2, 5, F32),
            );
            assert_eq!(kernel, "fake/matmul_bt/split");
        }
    });
}

#[test]
fn an_explanation_for_a_device_speaks_of_that_device() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_120").start();
        let problem = problems::problem(&started.runtime, &problems::add(4, 8, F32));
        let text = |device: &str| {
            started
                .runtime
                .explain(&problem, &started.device(device))
                .unwrap()
                .to_string()
        };
        assert!(
            text("fake:0").contains("device.arch is sm_86; needs sm_90+"),
            "{}",
            text("fake:0")
        );
        assert!(
            !text("fake:1").contains("needs sm_90+"),
            "{}",
            text("fake:1")
        );
    });
}

//! Scenario 17: a kernel is set up once on each device, however many threads ask, and a failed set-up is not taken for done.

use overt::Error;
use overt::kernels::dtype::F32;
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::Uploaded;
use overt_tests::start::{Fake, Started};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

/// Eight threads, four a device, dispatch at once. Returns how many got an error.
fn rush(started: &Started) -> u32 {
    let (barrier, failed) = (Barrier::new(8), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (barrier, failed) = (&barrier, &failed);
            scope.spawn(move || {
                let device = started.device(&format!("fake:{}", thread % 2));
                let stream = started.runtime.stream(&device).unwrap();
                let uploaded = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
                barrier.wait();
                match stream.dispatch(&uploaded.call()) {
                    Ok(_) => uploaded.check(&stream).unwrap(),
                    Err(error) => {
                        assert!(
                            matches!(
                                error,
                                Error::Provider {
                                    entry: "kernel_open",
                                    ..
                                }
                            ),
                            "{error}"
                        );
                        assert!(
                            error.to_string().contains("the first set-up fails"),
                            "{error}"
                        );
                        failed.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    failed.into_inner()
}

#[test]
fn two_devices_and_eight_threads_set_a_kernel_up_once_on_each() {
    case!("fake", [Gcc], || {
        for _ in 0..20 {
            let started = Fake::of("sm_86,sm_86").start();
            assert_eq!(rush(&started), 0);
            for device in 0..2 {
                assert_eq!(
                    started
                        .observer
                        .count(&format!("open {device} fake/add/aligned")),
                    1
                );
            }
            assert_eq!(started.observer.count("open_kernel"), 2);
            assert_eq!(
                started.observer.count("open"),
                2,
                "each device is opened once"
            );
        }
    });
}

#[test]
fn a_failed_set_up_is_tried_again_and_then_done_once() {
    case!("fake", [Gcc], || {
        for _ in 0..20 {
            let started = Fake::of("sm_86,sm_86").misbehaving("open_once").start();
            assert_eq!(rush(&started), 2, "the first on each device");
            for device in 0..2 {
                assert_eq!(
                    started
                        .observer
                        .count(&format!("open {device} fake/add/aligned")),
                    2
                );
            }
            assert_eq!(rush(&started), 0);
            assert_eq!(started.observer.count("open_kernel"), 4);
            let counts = started.runtime.counts_of("fake/add/aligned");
            assert_eq!((counts.enqueued, counts.completed), (14, 14));
        }
    });
}

#[test]
fn a_new_generation_does_not_set_up_again() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let uploaded = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        for split in 1..=5 {
            stream.dispatch(&uploaded.call()).unwrap();
            started
                .runtime
                .set_knob("fake.split", &split.to_string())
                .unwrap();
        }
        stream.sync().unwrap();
        assert_eq!(started.observer.count("open_kernel"), 1);
    });
}

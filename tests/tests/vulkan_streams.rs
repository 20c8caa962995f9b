//! Memory, order, events and captures on Vulkan devices that run asynchronously.

use overt::kernels::dtype::{BF16, F32, U8};
use overt::{Allocation, Error, Event, MemoryKind, Stream, Tensor, Witness};
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::Uploaded;
use overt_tests::vulkan::{self, LAVAPIPE, SWIFTSHADER};

fn stream(name: &str) -> Stream {
    let runtime = vulkan::runtime();
    let device = vulkan::device(&runtime, name);
    runtime.stream(&device).unwrap()
}

fn bytes(stream: &Stream, count: i64) -> Tensor {
    Tensor::empty(stream.device(), U8, &[count]).unwrap()
}

#[test]
fn fills_and_copies_of_any_bytes_leave_their_neighbours_alone() {
    case!("vulkan", [Lavapipe], || {
        let stream = stream(LAVAPIPE);
        let (whole, other) = (bytes(&stream, 64), bytes(&stream, 64));
        for start in 0..9 {
            for count in 0..=12 {
                let mut want = vec![0xee_u8; 64];
                stream.fill(&whole, 0xee).unwrap();
                let part = whole.slice(0, start, count).unwrap();
                stream.fill(&part, 0x5a).unwrap();
                want[start as usize..(start + count) as usize].fill(0x5a);
                assert_eq!(stream.read_vec(&whole).unwrap(), want, "{start} {count}");

                let written: Vec<u8> = (1..=count as u8).collect();
                stream.write(&part, &written).unwrap();
                want[start as usize..(start + count) as usize].copy_from_slice(&written);
                assert_eq!(stream.read_vec(&whole).unwrap(), want, "{start} {count}");

                stream.fill(&other, 0x11).unwrap();
                let target = other.slice(0, 20 + start, count).unwrap();
                stream.copy(&target, &part).unwrap();
                let mut want = vec![0x11_u8; 64];
                want[20 + start as usize..(20 + start + count) as usize].copy_from_slice(&written);
                assert_eq!(stream.read_vec(&other).unwrap(), want, "{start} {count}");
            }
        }
    });
}

#[test]
fn what_is_enqueued_runs_in_order_and_a_read_leaves_nothing_unflushed() {
    case!("vulkan", [Lavapipe], || {
        let stream = stream(LAVAPIPE);
        let large = bytes(&stream, 3 << 20);
        // More than a batch holds, so that it is handed over in the middle.
        for turn in 0..500_u32 {
            let part = large.slice(0, i64::from(turn % 7), 1 << 20).unwrap();
            stream.fill(&part, turn as u8).unwrap();
        }
        // 494 began at 4, 495 at 5, 496 at 6, 497 at 0, 498 at 1, 499 at 2.
        let got = stream.read_vec(&large).unwrap();
        assert_eq!(&got[..8], [241, 242, 243, 243, 243, 243, 243, 243]);
        // A write behind pending work waits for its turn.
        stream.fill(&large, 1).unwrap();
        stream.write(&large, &vec![2; 3 << 20]).unwrap();
        stream.fill(&large.slice(0, 0, 4).unwrap(), 3).unwrap();
        let got = stream.read_vec(&large).unwrap();
        assert_eq!(&got[..6], [3, 3, 3, 3, 2, 2]);
        assert!(got[4..].iter().all(|byte| *byte == 2));
    });
}

#[test]
fn an_event_is_passed_behind_its_work_and_measures_the_device() {
    case!("vulkan", [Lavapipe], || {
        let stream = stream(LAVAPIPE);
        let sum = Uploaded::new(&stream, problems::add(512, 4096, F32)).unwrap();
        let mut start = Event::new(stream.device()).unwrap();
        let mut end = Event::new(stream.device()).unwrap();
        assert!(end.since(&start).is_err(), "never recorded");
        start.record(&stream).unwrap();
        for _ in 0..4 {
            stream.dispatch(&sum.call()).unwrap();
        }
        end.record(&stream).unwrap();
        end.sync().unwrap();
        assert!(end.is_passed().unwrap() && start.is_passed().unwrap());
        let first = end.since(&start).unwrap();
        assert!(first.as_nanos() > 0);
        // Recorded again, it moves.
        end.record(&stream).unwrap();
        end.sync().unwrap();
        assert!(end.since(&start).unwrap() >= first);
    });
}

#[test]
fn a_stream_waits_for_the_event_of_another() {
    case!("vulkan", [Lavapipe], || {
        let runtime = vulkan::runtime();
        let device = vulkan::device(&runtime, LAVAPIPE);
        let (first, second) = (
            runtime.stream(&device).unwrap(),
            runtime.stream(&device).unwrap(),
        );
        let shared = bytes(&first, 8 << 20);
        for turn in 1..=20_u8 {
            first.fill(&shared, turn).unwrap();
            let mut event = Event::new(&device).unwrap();
            event.record(&first).unwrap();
            second.wait_for(&event).unwrap();
            let copy = bytes(&second, 8 << 20);
            second.copy(&copy, &shared).unwrap();
            let mut event = Event::new(&device).unwrap();
            event.record(&second).unwrap();
            first.wait_for(&event).unwrap();
            let got = second.read_vec(&copy).unwrap();
            assert!(got.iter().all(|byte| *byte == turn), "{turn}");
        }
    });
}

#[test]
fn ten_replays_of_one_captured_launch_are_counted_and_right() {
    case!("vulkan", [Lavapipe], || {
        let stream = stream(LAVAPIPE);
        let sum = Uploaded::new(&stream, problems::add(5, 33, BF16)).unwrap();
        let plan = stream.runtime().plan(&sum.call(), stream.device()).unwrap();
        let kernel = plan.kernel().to_owned();
        let capture = stream.capture().unwrap();
        for refused in [
            stream.sync(),
            stream.flush(),
            stream.write(sum.tensors[2].as_ref().unwrap(), &[0; 330]),
        ] {
            assert!(matches!(refused, Err(Error::Capture { .. })), "{refused:?}");
        }
        plan.launch(&stream).unwrap();
        let graph = capture.end().unwrap();
        let before = stream.runtime().counts_of(&kernel);
        assert_eq!((before.captured, before.replayed), (1, 0));
        for _ in 0..10 {
            graph.replay(&stream).unwrap();
        }
        stream.sync().unwrap();
        let counts = stream.runtime().counts_of(&kernel);
        assert_eq!(
            (counts.captured, counts.replayed, counts.completed),
            (1, 10, 10)
        );
        sum.check(&stream).unwrap();
        // A second stream plays it too, and dropping it while it is pending is safe.
        let other = stream.runtime().stream(stream.device()).unwrap();
        graph.replay(&other).unwrap();
        other.sync().unwrap();
        graph.replay(&stream).unwrap();
        drop(graph);
        stream.sync().unwrap();
    });
}

#[test]
fn memory_beyond_what_the_device_gives_is_refused_and_nothing_is_lost() {
    case!("vulkan", [Lavapipe], || {
        let stream = stream(LAVAPIPE);
        let kept = bytes(&stream, 16);
        stream.fill(&kept, 9).unwrap();
        for size in [1_u64 << 40, 1 << 62, u64::MAX - 1] {
            let error = Allocation::new(stream.device(), size, 0, MemoryKind::Device)
                .err()
                .unwrap();
            assert!(error.to_string().contains("bytes"), "{size}: {error}");
        }
        assert_eq!(stream.read_vec(&kept).unwrap(), [9; 16]);
    });
}

#[test]
fn memory_that_the_host_sees_is_written_by_the_device() {
    case!("vulkan", [Lavapipe], || {
        let stream = stream(LAVAPIPE);
        let memory = Allocation::new(stream.device(), 64, 0, MemoryKind::HostVisible).unwrap();
        let address = memory.host_address().unwrap();
        let view = overt::View::contiguous(U8, &[64]).unwrap();
        let tensor = Tensor::over(memory, view, 0).unwrap();
        stream.fill(&tensor, 0x77).unwrap();
        stream.sync().unwrap();
        // SAFETY: 64 bytes that the device has written, and nothing is pending.
        let seen = unsafe { std::slice::from_raw_parts(address as *const u8, 64) };
        assert_eq!(seen, [0x77; 64]);
    });
}

#[test]
fn two_devices_of_two_drivers_work_at_once_from_two_threads() {
    case!("vulkan", [Lavapipe, SwiftShader], || {
        let runtime = vulkan::runtime();
        let witness = Witness::new();
        std::thread::scope(|scope| {
            for (turn, name) in [LAVAPIPE, SWIFTSHADER, LAVAPIPE, SWIFTSHADER]
                .into_iter()
                .enumerate()
            {
                let (runtime, witness) = (&runtime, &witness);
                scope.spawn(move || {
                    let device = vulkan::device(runtime, name);
                    let stream = runtime.stream(&device).unwrap();
                    let sum = Uploaded::new(&stream, problems::add(3 + turn as i64, 65, BF16));
                    let sum = sum.unwrap();
                    for _ in 0..25 {
                        let launched = stream.dispatch(&sum.call().witnessed(witness)).unwrap();
                        assert_eq!(launched.kernel(runtime), "vulkan/add/portable");
                    }
                    sum.check(&stream).unwrap();
                });
            }
        });
        witness.assert_only("vulkan/add/portable", 100).unwrap();
        // Facts are each device's own.
        for (name, narrow) in [(LAVAPIPE, true), (SWIFTSHADER, false)] {
            let device = vulkan::device(&runtime, name);
            let facts = &device.info().facts;
            let fact = facts.iter().find(|f| f.name == "feature.fp16").unwrap();
            assert_eq!(fact.value, overt::Value::Bool(narrow), "{name}");
        }
    });
}

//! Several devices of one provider, held on the CPU provider: each is served by its own threads and counted by itself, memory goes
//! between them in an order that events make, and what belongs to one is refused on another, in both names.

use overt::kernels::dtype::{F32, I32};
use overt::kernels::host::HostCall;
use overt::kernels::op::Op;
use overt::kernels::ops;
use overt::{
    Allocation, BindProblem, Call, Device, Error, Event, MemoryKind, Runtime, Stream, Tensor, View,
};
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::{Uploaded, verified};
use overt_tests::start;

fn devices(count: u32) -> Runtime {
    let builder = start::cpu()
        .knob("cpu.devices", count.to_string())
        .knob("cpu.threads", "2");
    builder.start().unwrap_or_else(|error| panic!("{error}"))
}

/// A runtime of two devices, and a stream on each.
fn two() -> (Runtime, [Stream; 2]) {
    let runtime = devices(2);
    let streams = ["cpu:0", "cpu:1"].map(|name| {
        let device = runtime.device(name).unwrap();
        runtime.stream(&device).unwrap()
    });
    (runtime, streams)
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let each = bytes.chunks_exact(4);
    each.map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

fn ones(stream: &Stream, width: i64, value: f32) -> Tensor {
    let tensor = Tensor::empty(stream.device(), F32, &[1, width]).unwrap();
    stream
        .write(&tensor, &bytes(&vec![value; width as usize]))
        .unwrap();
    tensor
}

/// Three problems of an op with something in every output, from all over its geometries.
fn not_empty(op: &'static Op) -> Vec<HostCall> {
    let geometries = (op.geometries)();
    let full = |host: &HostCall| {
        let outputs = host.outputs();
        let mut tensors = outputs.iter().filter_map(|o| host.operands[*o].as_ref());
        tensors.all(|tensor| tensor.shape.iter().product::<i64>() > 0)
    };
    (0..3)
        .filter_map(|third| {
            geometries[third * geometries.len() / 3..]
                .iter()
                .map(|geometry| problems::filled(op, geometry, 7))
                .find(full)
        })
        .collect()
}

/// Holds that something was refused because it is of device `got` where `wanted` was.
#[track_caller]
fn wrong_device<T>(result: Result<T, Error>, got: &str, wanted: &str) {
    let error = match result {
        Ok(_) => panic!("it was taken"),
        Err(error) => error,
    };
    let (is, was) = match &error {
        Error::WrongDevice { got, wanted, .. } => (got, wanted),
        Error::Bind(broken) => match &*broken.problem {
            BindProblem::OtherDevice { got, wanted, .. } => (got, wanted),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!((is.as_str(), was.as_str()), (got, wanted), "{error}");
}

#[test]
fn one_device_is_what_there_is_unless_more_are_asked_for() {
    case!("cpu", [], || {
        let plain = start::cpu().start().unwrap();
        let names = |runtime: &Runtime| -> Vec<String> {
            let all = runtime.devices();
            all.iter().map(|d| d.name().to_owned()).collect()
        };
        assert_eq!(names(&plain), ["cpu:0"]);
        let three = devices(3);
        assert_eq!(names(&three), ["cpu:0", "cpu:1", "cpu:2"]);
        assert_eq!(three.device("cpu").unwrap().name(), "cpu:0");
        let id = |runtime: &Runtime, name: &str| runtime.device(name).unwrap().info().id.clone();
        assert_eq!(id(&three, "cpu:0"), id(&plain, "cpu:0"));
        assert_ne!(id(&three, "cpu:0"), id(&three, "cpu:1"));
        assert_ne!(id(&three, "cpu:1"), id(&three, "cpu:2"));
        for bad in ["0", "65", "-1"] {
            let error = start::cpu().knob("cpu.devices", bad).start().err().unwrap();
            let words = error.to_string();
            assert!(
                words.contains("cpu.devices") && words.contains("64"),
                "{words}"
            );
        }
        match plain.device("cpu:1") {
            Err(Error::UnknownDevice { name, known, .. }) => {
                assert_eq!((name.as_str(), known), ("cpu:1", vec!["cpu:0".to_owned()]));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn every_device_serves_every_op_with_the_same_kernel_and_the_same_bits() {
    case!("cpu", [], || {
        let (runtime, streams) = two();
        let mut compared = 0;
        for op in ops::ALL {
            for host in not_empty(op) {
                let results = streams.each_ref().map(|stream| {
                    let uploaded = Uploaded::new(stream, host.clone()).unwrap();
                    let launched = stream.dispatch(&uploaded.call()).unwrap();
                    let outputs: Vec<Vec<u8>> = host
                        .outputs()
                        .into_iter()
                        .map(|o| {
                            let name = &host.schema.operands[o].name;
                            uploaded.read(stream, name).bytes
                        })
                        .collect();
                    (launched.kernel(&runtime), outputs)
                });
                // What a probe measures is a time, and no result.
                if !op.name.contains("probe") {
                    assert!(results[0] == results[1], "{}", op.name);
                    compared += 1;
                }
            }
        }
        assert!(compared > 30, "{compared}");
    });
}

#[test]
fn counts_are_those_of_the_device_that_ran() {
    case!("cpu", [], || {
        let (runtime, streams) = two();
        let of = |device: &str| -> u64 {
            let counts = runtime.counts();
            let mine = counts.iter().filter(|c| c.device == device);
            mine.map(|c| c.counts.completed).sum()
        };
        for (runs, stream) in [(3, &streams[0]), (5, &streams[1])] {
            let sum = Uploaded::new(stream, problems::add(2, 8, F32)).unwrap();
            for _ in 0..runs {
                stream.dispatch(&sum.call()).unwrap();
            }
            stream.sync().unwrap();
            sum.check(stream).unwrap();
        }
        assert_eq!((of("cpu:0"), of("cpu:1")), (3, 5));
    });
}

#[test]
fn devices_work_at_once_and_each_is_right() {
    case!("cpu", [], || {
        let runtime = devices(3);
        std::thread::scope(|scope| {
            for number in 0..3 {
                let runtime = &runtime;
                scope.spawn(move || {
                    let device = runtime.device(&format!("cpu:{number}")).unwrap();
                    for _ in 0..10 {
                        verified(runtime, &device, problems::matmul(9, 70 + number, 65, F32));
                        verified(runtime, &device, problems::add(33, 64, F32));
                    }
                });
            }
        });
    });
}

#[test]
fn the_peer_path_is_proven_both_ways_and_to_oneself() {
    case!("cpu", [], || {
        let (_runtime, [a, b]) = two();
        for (to, from) in [(&a, &b), (&b, &a)] {
            let access = to.device().peer_access(from.device()).unwrap();
            assert!(access.claimed && access.proven, "{access:?}");
        }
    });
}

#[test]
fn a_chain_over_two_devices_ordered_by_events_alone_loses_no_step() {
    case!("cpu", [], || {
        let (runtime, streams) = two();
        let op = runtime.op("add").unwrap();
        let width = 2000;
        let rows = streams.each_ref().map(|s| {
            [0.0, 1.0]
                .map(|v| ones(s, width, v))
                .into_iter()
                .collect::<Vec<_>>()
        });
        let mut events = streams.each_ref().map(|s| Event::new(s.device()).unwrap());
        let rounds = 300;
        for round in 0..2 * rounds {
            let (here, there) = (round % 2, 1 - round % 2);
            let (stream, [value, one]) = (&streams[here], rows[here].as_slice()) else {
                unreachable!()
            };
            if round > 0 {
                // The other device has finished with its own copy before this one reads it, and the other way round: its next
                // write comes after an event that lies behind this copy.
                stream.wait_for(&events[there]).unwrap();
                stream.copy(value, &rows[there][0]).unwrap();
            }
            let call = Call::new(&op)
                .operand("a", value)
                .unwrap()
                .operand("b", one)
                .unwrap()
                .operand("out", value)
                .unwrap();
            stream.dispatch(&call).unwrap();
            events[here].record(stream).unwrap();
        }
        let last = floats(&streams[1].read_vec(&rows[1][0]).unwrap());
        assert!(last.iter().all(|v| *v == 2.0 * rounds as f32), "{last:?}");
        streams[0].sync().unwrap();
    });
}

#[test]
fn what_a_copy_reads_outlives_its_last_owner() {
    case!("cpu", [], || {
        let (_runtime, [a, b]) = two();
        let elements = 1 << 16;
        let target = Tensor::empty(b.device(), I32, &[elements]).unwrap();
        for round in 0..20u8 {
            let source = Tensor::empty(a.device(), I32, &[elements]).unwrap();
            a.fill(&source, round).unwrap();
            let mut filled = Event::new(a.device()).unwrap();
            filled.record(&a).unwrap();
            b.wait_for(&filled).unwrap();
            b.copy(&target, &source).unwrap();
            drop((source, filled));
            // Whoever allocates now must not be given the memory that the copy still reads.
            let other = Tensor::empty(a.device(), I32, &[elements]).unwrap();
            a.fill(&other, 0xee).unwrap();
            let got = b.read_vec(&target).unwrap();
            assert!(got.iter().all(|byte| *byte == round), "round {round}");
        }
        a.sync().unwrap();
    });
}

#[test]
fn a_copy_of_another_size_or_into_read_only_memory_is_refused() {
    case!("cpu", [], || {
        let (_runtime, [a, b]) = two();
        let (source, short) = (ones(&a, 8, 1.0), ones(&b, 4, 2.0));
        assert!(matches!(
            b.copy(&short, &source),
            Err(Error::DataSize {
                tensor: 16,
                data: 32
            })
        ));
        let fixed = ones(&b, 8, 3.0).read_only();
        assert!(matches!(
            b.copy(&fixed, &source),
            Err(Error::ReadOnly { .. })
        ));
        assert_eq!(floats(&b.read_vec(&short).unwrap()), [2.0; 4]);
        assert_eq!(floats(&b.read_vec(&fixed).unwrap()), [3.0; 8]);
    });
}

#[test]
fn memory_of_one_device_is_refused_on_another_and_nothing_runs() {
    case!("cpu", [], || {
        let (runtime, [a, b]) = two();
        let sum = Uploaded::new(&a, problems::add(2, 8, F32)).unwrap();
        let x = sum.tensors[0].as_ref().unwrap();
        let size = x.view().span_bytes() as usize;
        wrong_device(b.dispatch(&sum.call()), "cpu:0", "cpu:1");
        wrong_device(b.write(x, &vec![0; size]), "cpu:0", "cpu:1");
        wrong_device(b.read_vec(x), "cpu:0", "cpu:1");
        wrong_device(b.fill(x, 0), "cpu:0", "cpu:1");
        // A copy is the target device's.
        let there = Tensor::empty(b.device(), F32, &[2, 8]).unwrap();
        wrong_device(a.copy(&there, x), "cpu:1", "cpu:0");
        wrong_device(runtime.plan(&sum.call(), b.device()), "cpu:0", "cpu:1");
        let plan = runtime.plan(&sum.call(), a.device()).unwrap();
        wrong_device(plan.launch(&b), "cpu:0", "cpu:1");
        // One operand among several is enough.
        let mut mixed = sum.call();
        mixed.set(1, Some(&there));
        wrong_device(a.dispatch(&mixed), "cpu:1", "cpu:0");
        assert!(runtime.counts().iter().all(|c| c.counts.launches == 0));
        // All of it was refused before anything changed.
        a.dispatch(&sum.call()).unwrap();
        sum.check(&a).unwrap();
    });
}

#[test]
fn a_graph_is_of_one_device_and_says_what_it_cannot_hold() {
    case!("cpu", [], || {
        let (_runtime, [a, b]) = two();
        let sum = Uploaded::new(&a, problems::add(2, 8, F32)).unwrap();
        let out = sum.tensors[2].as_ref().unwrap();
        let theirs = Tensor::empty(b.device(), F32, &[2, 8]).unwrap();
        let mut event = Event::new(b.device()).unwrap();
        wrong_device(event.record(&a), "cpu:1", "cpu:0");
        event.record(&b).unwrap();
        let capture = a.capture().unwrap();
        for refused in [a.copy(out, &theirs), a.wait_for(&event), event.record(&a)] {
            assert!(matches!(refused, Err(Error::Capture { .. })), "{refused:?}");
        }
        let mut mixed = sum.call();
        mixed.set(1, Some(&theirs));
        wrong_device(a.dispatch(&mixed), "cpu:1", "cpu:0");
        // The capture is still good.
        a.dispatch(&sum.call()).unwrap();
        let graph = capture.end().unwrap();
        assert_eq!(graph.len(), 1);
        wrong_device(graph.replay(&b), "cpu:0", "cpu:1");
        graph.replay(&a).unwrap();
        sum.check(&a).unwrap();
    });
}

#[test]
fn a_replay_for_operands_of_another_device_is_refused() {
    case!("cpu", [], || {
        let (runtime, [a, b]) = two();
        let op = runtime.op("add").unwrap();
        // The first memory of each device, cut alike at places of the very same alignment: but for the device they are equal.
        let operands = |stream: &Stream| -> [Tensor; 3] {
            let memory = Allocation::new(stream.device(), 4096, 4096, MemoryKind::Device).unwrap();
            [256, 768, 1280].map(|at| {
                let view = View::contiguous(F32, &[1, 8]).unwrap();
                let tensor = Tensor::over(memory.clone(), view, at).unwrap();
                stream.write(&tensor, &bytes(&[at as f32; 8])).unwrap();
                tensor
            })
        };
        let call = |[x, y, out]: &[Tensor; 3], run: &dyn Fn(&Call<'_>)| {
            let call = Call::new(&op).operand("a", x).unwrap();
            run(&call.operand("b", y).unwrap().operand("out", out).unwrap());
        };
        let (here, there) = (operands(&a), operands(&b));
        call(&here, &|call| {
            assert_eq!(a.dispatch(call).unwrap().launches, 1)
        });
        let capture = a.capture().unwrap();
        call(&here, &|call| assert!(!a.dispatch(call).unwrap().fallback));
        let graph = capture.end().unwrap();
        call(&here, &|call| graph.replay_for(&a, &[call]).unwrap());
        call(&there, &|call| {
            let refused = graph.replay_for(&a, &[call]);
            assert!(matches!(refused, Err(Error::Crossed { .. })), "{refused:?}");
        });
        assert_eq!(floats(&a.read_vec(&here[2]).unwrap()), [1024.0; 8]);
        assert_eq!(floats(&b.read_vec(&there[2]).unwrap()), [1280.0; 8]);
    });
}

#[test]
fn host_memory_is_taken_in_by_each_device_for_itself() {
    case!("cpu", [], || {
        let (_runtime, [a, b]) = two();
        let mut memory = vec![1.0f32; 64];
        let import = |device: &Device| -> Tensor {
            // SAFETY: the memory outlives both tensors and their work, and is not touched by the test meanwhile.
            let allocation =
                unsafe { Allocation::import_host(device, memory.as_ptr().cast(), 256) };
            let view = View::contiguous(F32, &[64]).unwrap();
            Tensor::over(allocation.unwrap(), view, 0).unwrap()
        };
        let (here, there) = (import(a.device()), import(b.device()));
        wrong_device(b.fill(&here, 0), "cpu:0", "cpu:1");
        wrong_device(a.read_vec(&there), "cpu:1", "cpu:0");
        a.fill(&here, 0).unwrap();
        let mut filled = Event::new(a.device()).unwrap();
        filled.record(&a).unwrap();
        b.wait_for(&filled).unwrap();
        let own = Tensor::empty(b.device(), F32, &[64]).unwrap();
        b.copy(&own, &there).unwrap();
        assert_eq!(floats(&b.read_vec(&own).unwrap()), [0.0; 64]);
        a.sync().unwrap();
        drop((here, there));
        memory[0] = 5.0;
        assert_eq!(memory[..2], [5.0, 0.0]);
    });
}

#[test]
fn memory_is_counted_and_visible_where_it_was_allocated() {
    case!("cpu", [], || {
        let (runtime, [a, b]) = two();
        for stream in [&a, &b] {
            let made = Allocation::new(stream.device(), 100, 128, MemoryKind::HostVisible).unwrap();
            assert_eq!(made.device().name(), stream.device().name());
            assert_eq!(made.host_address(), Some(made.address()));
            assert!(made.bytes() >= 100 && made.address().is_multiple_of(128));
        }
        let reported = |name: &str| runtime.device(name).unwrap().info().memory_bytes;
        assert_eq!(reported("cpu:0"), reported("cpu:1"));
    });
}

#[test]
fn times_are_of_one_device() {
    case!("cpu", [], || {
        let (_runtime, [a, b]) = two();
        let mut events = [&a, &b].map(|s| Event::new(s.device()).unwrap());
        for (event, stream) in events.iter_mut().zip([&a, &b]) {
            event.record(stream).unwrap();
            event.sync().unwrap();
        }
        wrong_device(events[1].since(&events[0]), "cpu:0", "cpu:1");
    });
}

#[test]
fn an_event_behind_a_failure_lets_the_other_device_go_on_and_the_failure_stays_where_it_is() {
    case!("cpu", [], || {
        let (_runtime, [a, b]) = two();
        // A row of the table that there is not.
        let mut host = not_empty(&ops::embedding::OP).remove(0);
        let ids = host.schema.operand("ids").unwrap();
        let tensor = host.operands[ids].as_mut().unwrap();
        let first = vec![0; tensor.shape.len()];
        tensor.set_i64(&first, 1 << 30).unwrap();
        let bad = Uploaded::new(&a, host).unwrap();
        a.dispatch(&bad.call()).unwrap();
        let mut event = Event::new(a.device()).unwrap();
        event.record(&a).unwrap();
        b.wait_for(&event).unwrap();
        let sum = Uploaded::new(&b, problems::add(2, 8, F32)).unwrap();
        b.dispatch(&sum.call()).unwrap();
        sum.check(&b).unwrap();
        match a.sync() {
            Err(Error::Async {
                device, launches, ..
            }) => assert_eq!((device.as_str(), launches.len()), ("cpu:0", 1)),
            other => panic!("{other:?}"),
        }
        a.sync().unwrap();
    });
}

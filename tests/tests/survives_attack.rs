//! What an adversary found, or looked for: misuse of the library that must end in a typed error or in right numbers, never in other
//! memory, other kernels or another order of freeing.

use overt::kernels::dtype::{BF16, F16, F32, Q8_0};
use overt::kernels::host::HostTensor;
use overt::kernels::schema::AttrValue;
use overt::{
    Allocation, Call, Error, MemoryKind, Policy, Stream, Tensor, View, ViewError, Witness,
};
use overt_tests::case;
use overt_tests::problems::{self, Attention};
use overt_tests::run::Uploaded;
use overt_tests::start::Fake;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rows with gaps.
fn spread(mut host: overt::kernels::host::HostCall, stride: i64) -> overt::kernels::host::HostCall {
    for operand in host.operands.iter_mut().flatten() {
        let mut values = operand.to_f64().unwrap().into_iter();
        let mut wide =
            HostTensor::with_strides(operand.dtype, &operand.shape.clone(), &[stride, 1]).unwrap();
        wide.fill_with(|| values.next().unwrap_or_default())
            .unwrap();
        *operand = wide;
    }
    host
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn floats(stream: &Stream, tensor: &Tensor) -> Vec<f32> {
    stream
        .read_vec(tensor)
        .unwrap()
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

#[test]
fn an_op_of_another_runtime_is_refused_by_name() {
    case!("fake", [Gcc], || {
        let (one, two) = (Fake::of("sm_86").start(), Fake::of("sm_86").start());
        let stream = two.runtime.stream(&two.device("fake")).unwrap();
        let here = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        stream.dispatch(&here.call()).unwrap();
        let foreign = one.runtime.op("add.1").unwrap();
        let mut call = Call::new(&foreign);
        for (index, tensor) in here.tensors.iter().enumerate() {
            call.set(index, tensor.as_ref());
        }
        let refused = |error: Error| {
            assert!(
                matches!(&error, Error::ForeignOp { op } if op == "add.1"),
                "{error}"
            );
        };
        refused(stream.dispatch(&call).unwrap_err());
        refused(two.runtime.plan(&call, stream.device()).unwrap_err());
        refused(
            two.runtime
                .explain_call(&call, stream.device())
                .unwrap_err(),
        );
        stream.dispatch(&here.call()).unwrap();
        here.check(&stream).unwrap();
    });
}

#[test]
fn a_number_is_not_taken_for_an_attribute_of_another_type() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let op = started.runtime.op("rms_norm.1").unwrap();
        let thrown = catch_unwind(AssertUnwindSafe(|| Call::new(&op).set_i64(0, 1)));
        assert!(thrown.is_err(), "eps is a float");
    });
}

#[test]
fn a_part_of_a_tensor_starts_where_it_says_or_is_refused() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let device = started.device("fake");
        let blocks = Tensor::empty(&device, Q8_0, &[2, 128]).unwrap();
        let inside = blocks.slice(1, 16, 32).unwrap_err();
        assert!(
            matches!(inside, Error::View(ViewError::Blocks { block: 32, .. })),
            "{inside}"
        );
        let second = blocks.slice(1, 32, 32).unwrap();
        assert_eq!(second.view().byte_offset(), 34);
        // An empty tensor has empty parts everywhere.
        let empty = Tensor::empty(&device, F32, &[0, 1 << 20]).unwrap();
        assert_eq!(empty.slice(1, 1 << 19, 7).unwrap().shape(), [0, 7]);
        assert_eq!(empty.slice(0, 0, 0).unwrap().view().span_bytes(), 0);
        let point = Tensor::empty(&device, F32, &[]).unwrap();
        assert_eq!(point.view().span_bytes(), 4);
        point.slice(0, 0, 1).unwrap_err();
        let deep = Tensor::empty(&device, F32, &[1, 2, 1, 2, 1, 2, 1, 2]).unwrap();
        assert_eq!(deep.slice(7, 1, 1).unwrap().view().byte_offset(), 4);
        View::contiguous(F32, &[1; 9]).unwrap_err();
    });
}

#[test]
fn nothing_writes_to_a_read_only_tensor() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let open = Tensor::empty(stream.device(), F32, &[4]).unwrap();
        stream.write(&open, &bytes(&[1.0, 2.0, 3.0, 4.0])).unwrap();
        let shut = open.clone().read_only();
        let other = Tensor::empty(stream.device(), F32, &[4]).unwrap();
        for refused in [
            stream.write(&shut, &[0; 16]),
            stream.fill(&shut, 0),
            stream.copy(&shut, &other),
            stream.write(&shut.slice(0, 1, 2).unwrap(), &[0; 8]),
        ] {
            assert!(
                matches!(refused, Err(Error::ReadOnly { .. })),
                "{refused:?}"
            );
        }
        assert_eq!(floats(&stream, &shut), [1.0, 2.0, 3.0, 4.0]);
    });
}

#[test]
fn copies_between_imports_of_one_memory_may_not_overlap() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let device = started.device("fake");
        let stream = started.runtime.stream(&device).unwrap();
        let mut memory = vec![0u64; 16];
        let at = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: the memory outlives everything here, and the stream is synchronised before it ends.
        let import = |offset: usize, bytes| unsafe {
            Allocation::import_host(&device, at.add(offset), bytes).unwrap()
        };
        let view = || View::contiguous(F32, &[8]).unwrap();
        let (low, high) = (
            Tensor::over(import(0, 64), view(), 0).unwrap(),
            Tensor::over(import(16, 64), view(), 0).unwrap(),
        );
        let refused = stream.copy(&low, &high).unwrap_err();
        assert!(refused.to_string().contains("overlap"), "{refused}");
        stream.sync().unwrap();
    });
}

#[test]
fn two_views_of_one_weight_are_two_packed_weights() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let mut whole = Uploaded::new(&stream, problems::matmul(3, 64, 16, F32)).unwrap();
        let mut part = Uploaded::new(&stream, problems::matmul(3, 2, 16, F32)).unwrap();
        // The first two rows, packed first: a copy of those is not one of the whole.
        let plain = whole.tensors[1].clone().unwrap();
        part.tensors[1] = Some(plain.slice(0, 0, 2).unwrap());
        let small = stream.pack_weight(&part.call(), "b").unwrap();
        let large = stream.pack_weight(&whole.call(), "b").unwrap();
        assert!(large.allocation().bytes() >= 64 * 16 * 4);
        assert!(!std::sync::Arc::ptr_eq(
            small.allocation(),
            large.allocation()
        ));
        whole.tensors[1] = Some(large.clone());
        stream.dispatch(&whole.call()).unwrap();
        whole.check(&stream).unwrap();
        // What is packed stays as it is, and no part of it is taken.
        let again = stream.pack_weight(&whole.call(), "b").unwrap();
        assert!(std::sync::Arc::ptr_eq(
            again.allocation(),
            large.allocation()
        ));
        let refused = large.slice(0, 0, 2).unwrap_err();
        assert!(
            matches!(refused, Error::View(ViewError::Packed)),
            "{refused}"
        );
    });
}

#[test]
fn a_plan_made_apart_is_not_put_in_place() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        let mut plan = started.runtime.plan(&sum.call(), stream.device()).unwrap();
        let a = sum.tensors[0].clone().unwrap();
        let refused = plan.set("out", &a).unwrap_err();
        assert!(
            matches!(&refused, Error::Crossed { what, .. } if what.contains("in place")),
            "{refused}"
        );
        // How many more zeros an address ends with than any guard asks for is luck, and decides nothing.
        let pool = Allocation::new(stream.device(), 8192, 4096, MemoryKind::Device).unwrap();
        let at = |offset: u64| {
            Tensor::over(
                pool.clone(),
                View::contiguous(F32, &[2, 8]).unwrap(),
                offset,
            )
            .unwrap()
        };
        plan.set("out", &at(0)).unwrap();
        plan.set("out", &at(4096 + 64)).unwrap();
        let refused = plan.set("out", &at(4096 + 8)).unwrap_err();
        assert!(
            matches!(refused, Error::View(ViewError::Misaligned { .. })),
            "{refused}"
        );
        plan.set("out", sum.tensors[2].as_ref().unwrap()).unwrap();
        // The plan is as it was.
        plan.launch(&stream).unwrap();
        sum.check(&stream).unwrap();
    });
}

#[test]
fn a_plan_of_a_kernel_that_cannot_be_captured_is_refused_while_capturing() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let sum = Uploaded::new(&stream, spread(problems::add(3, 8, BF16), 11)).unwrap();
        let plan = started.runtime.plan(&sum.call(), stream.device()).unwrap();
        assert_eq!(plan.kernel(), "fake/add/uncaptured");
        let capture = stream.capture().unwrap();
        let refused = plan.launch(&stream).unwrap_err();
        assert!(
            matches!(&refused, Error::Capture { what } if what.contains("fake/add/uncaptured")),
            "{refused}"
        );
        stream.dispatch(&sum.call()).unwrap();
        capture.end().unwrap().replay(&stream).unwrap();
        sum.check(&stream).unwrap();
    });
}

#[test]
fn a_graph_keeps_the_plans_that_it_captured() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let product = Uploaded::new(&stream, problems::matmul(2, 2, 5, F32)).unwrap();
        let plan = started
            .runtime
            .plan(&product.call(), stream.device())
            .unwrap();
        assert_eq!(plan.kernel(), "fake/matmul_bt/prepared");
        let capture = stream.capture().unwrap();
        plan.launch(&stream).unwrap();
        let graph = capture.end().unwrap();
        drop(plan);
        for _ in 0..3 {
            stream
                .fill(product.tensors[problems::PRODUCT].as_ref().unwrap(), 0)
                .unwrap();
            graph.replay(&stream).unwrap();
            product.check(&stream).unwrap();
        }
    });
}

#[test]
fn a_capture_with_a_guard_lie_in_it_has_no_graph() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").misbehaving("lie_symbol").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        let capture = stream.capture().unwrap();
        let lie = stream.dispatch(&sum.call()).unwrap_err();
        assert!(matches!(lie, Error::GuardLie(_)), "{lie}");
        let refused = capture.end().unwrap_err();
        assert!(
            matches!(&refused, Error::Capture { what } if what.contains("fake/add/aligned")),
            "{refused}"
        );
        // The stream captures no more and works on.
        stream.sync().unwrap();
        drop(stream.capture().unwrap());
        stream.sync().unwrap();
    });
}

#[test]
fn captures_that_are_empty_abandoned_or_forgotten() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_86").start();
        let stream = started.runtime.stream(&started.device("fake:0")).unwrap();
        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        let empty = stream.capture().unwrap().end().unwrap();
        assert!(empty.is_empty());
        empty.replay(&stream).unwrap();
        // Abandoned: nothing of it runs.
        let capture = stream.capture().unwrap();
        stream.dispatch(&sum.call()).unwrap();
        drop(capture);
        stream.sync().unwrap();
        assert_eq!(started.runtime.counts_of("fake/add/aligned").launches, 0);
        // Forgotten, and the stream dropped while it captures.
        let doomed = started.runtime.stream(stream.device()).unwrap();
        std::mem::forget(doomed.capture().unwrap());
        doomed.dispatch(&sum.call()).unwrap();
        drop(doomed);
        // Replayed on another stream of the device, and refused on another device.
        let capture = stream.capture().unwrap();
        stream.dispatch(&sum.call()).unwrap();
        let graph = capture.end().unwrap();
        let other = started.runtime.stream(stream.device()).unwrap();
        let elsewhere = started.runtime.stream(&started.device("fake:1")).unwrap();
        drop(stream);
        graph.replay(&other).unwrap();
        sum.check(&other).unwrap();
        assert!(matches!(
            graph.replay(&elsewhere),
            Err(Error::WrongDevice { .. })
        ));
    });
}

#[test]
fn everything_may_be_dropped_in_any_order_with_work_pending() {
    case!("fake", [Gcc], || {
        for order in 0..6 {
            let started = Fake::of("sm_86").start();
            let frees = {
                let runtime = started.runtime.clone();
                let device = started.device("fake");
                let stream = runtime.stream(&device).unwrap();
                let side = runtime.stream(&device).unwrap();
                let product = Uploaded::new(&stream, problems::matmul(64, 8, 16, F32)).unwrap();
                let plan = runtime.plan(&product.call(), &device).unwrap();
                let capture = stream.capture().unwrap();
                plan.launch(&stream).unwrap();
                let graph = capture.end().unwrap();
                let mut event = overt::Event::new(&device).unwrap();
                event.record(&stream).unwrap();
                side.wait_for(&event).unwrap();
                graph.replay(&side).unwrap();
                plan.launch(&stream).unwrap();
                let before = started.observer.count("free");
                let mut parts: Vec<Box<dyn std::any::Any>> = vec![
                    Box::new(runtime),
                    Box::new(device),
                    Box::new(product),
                    Box::new(plan),
                    Box::new(graph),
                    Box::new(event),
                ];
                parts.rotate_left(order);
                drop(parts);
                assert_eq!(
                    started.observer.count("free"),
                    before,
                    "memory was freed while two streams had work on it"
                );
                stream.sync().unwrap();
                assert_eq!(
                    started.observer.count("free"),
                    before,
                    "one of two streams has passed it"
                );
                drop(side);
                drop(stream);
                started.observer.count("free") - before
            };
            assert!(frees >= 3, "{frees} of the operands were freed");
            assert_eq!(
                started.observer.count("alloc"),
                started.observer.count("free")
            );
        }
    });
}

/// What a dispatch of known views must look at anew.
#[test]
fn remembered_views_hide_nothing_that_a_later_call_does_wrong() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_90,sm_90").start();
        let stream = started.runtime.stream(&started.device("fake:0")).unwrap();
        let attention = Attention::default();
        let right = Uploaded::new(&stream, attention.filled()).unwrap();
        for _ in 0..3 {
            stream.dispatch(&right.call()).unwrap();
        }
        right.check(&stream).unwrap();
        let names = |name: &str| right.host.schema.operand(name).unwrap();
        let (query, out, k_cache) = (names("query"), names("out"), names("k_cache"));
        // Aliasing that only a later call has.
        let mut aliased = right.call();
        aliased.set(out, right.tensors[query].as_ref());
        assert!(matches!(stream.dispatch(&aliased), Err(Error::Bind(_))));
        // A bound that goes out of bounds, both ways, and comes back.
        let bound = right.host.schema.attr("max_seq_len").unwrap();
        for wrong in [-1, i64::MIN, i64::MAX, 1 << 40] {
            let mut call = right.call();
            call.set_i64(bound, wrong);
            let refused = stream.dispatch(&call).unwrap_err();
            assert!(refused.to_string().contains("max_seq_len"), "{refused}");
        }
        // An attribute that is required and no longer given.
        let mut bare = Call::new(&right.op);
        for (index, tensor) in right.tensors.iter().enumerate() {
            bare.set(index, tensor.as_ref());
        }
        let refused = stream.dispatch(&bare).unwrap_err();
        assert!(refused.to_string().contains("scale"), "{refused}");
        // Read-only now.
        let shut = right.tensors[out].clone().unwrap().read_only();
        let mut call = right.call();
        call.set(out, Some(&shut));
        assert!(matches!(stream.dispatch(&call), Err(Error::Bind(_))));
        // The same shapes on another device.
        let elsewhere = started.runtime.stream(&started.device("fake:1")).unwrap();
        let there = Uploaded::new(&elsewhere, attention.filled()).unwrap();
        let mut call = right.call();
        call.set(k_cache, there.tensors[k_cache].as_ref());
        let refused = stream.dispatch(&call).unwrap_err();
        assert!(refused.to_string().contains("k_cache"), "{refused}");
        // More attribute values than are remembered, each a class of its own or not, with right numbers all along.
        let soft = Uploaded::new(
            &stream,
            attention
                .clone()
                .attr("softcap", AttrValue::F64(3.0))
                .filled(),
        )
        .unwrap();
        for round in 0..200i64 {
            stream.dispatch(&soft.call()).unwrap();
            let mut call = soft.call();
            call.set_attr(
                soft.host.schema.attr("softcap").unwrap(),
                0.5 + round as f64,
            )
            .unwrap();
            stream.dispatch(&call).unwrap();
            call.set_i64(soft.host.schema.attr("window").unwrap(), round % 7);
            stream.dispatch(&call).unwrap();
            if round % 50 == 0 {
                stream.dispatch(&soft.call()).unwrap();
                soft.check(&stream).unwrap();
            }
        }
        // An optional operand that comes and goes.
        let sunk = Uploaded::new(
            &stream,
            Attention {
                sinks: true,
                ..attention
            }
            .filled(),
        )
        .unwrap();
        for _ in 0..3 {
            stream.dispatch(&sunk.call()).unwrap();
            sunk.check(&stream).unwrap();
            stream.dispatch(&right.call()).unwrap();
            right.check(&stream).unwrap();
        }
    });
}

/// Same shapes at other addresses, in place and apart, aligned and not: the kernel follows, and so do the numbers.
#[test]
fn remembered_views_follow_their_memory() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let op = started.runtime.op("add.1").unwrap();
        let pool = Allocation::new(stream.device(), 4096, 256, MemoryKind::Device).unwrap();
        let at = |offset: u64| {
            Tensor::over(
                pool.clone(),
                View::contiguous(F32, &[2, 4]).unwrap(),
                offset,
            )
            .unwrap()
        };
        let places: Vec<Tensor> = [0, 256, 512, 772, 1028, 1284].map(at).into();
        let mut state = 0x1234_5678u32;
        let mut next = |n: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % n
        };
        for round in 0..400 {
            if round == 200 {
                started.runtime.set_knob("fake.tuned", "false").unwrap();
            }
            let (a, b, out) = (next(6), next(6), next(6));
            for (index, place) in places.iter().enumerate() {
                stream
                    .write(place, &bytes(&[index as f32 + 1.0; 8]))
                    .unwrap();
            }
            let mut call = Call::new(&op);
            call.set(0, Some(&places[a]));
            call.set(1, Some(&places[b]));
            call.set(2, Some(&places[out]));
            let in_place = a == out || b == out;
            match stream.dispatch(&call) {
                Ok(launched) => {
                    let want = (a + b + 2) as f32;
                    assert_eq!(floats(&stream, &places[out]), [want; 8]);
                    let aligned = [a, b, out].iter().all(|p| *p < 3);
                    if !in_place {
                        assert_eq!(
                            launched.kernel(&started.runtime) == "fake/add/aligned",
                            aligned && round < 200
                        );
                    }
                }
                Err(error) => assert!(in_place, "{error}"),
            }
        }
    });
}

#[test]
fn dispatch_replay_and_moves_between_threads_while_the_registry_changes() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_90").start();
        let (runtime, over) = (&started.runtime, &AtomicBool::new(false));
        let changes = &AtomicU64::new(0);
        let launched: u64 = std::thread::scope(|scope| {
            let changer = scope.spawn(move || {
                let mut loaded = false;
                let mut round = 0u64;
                while !over.load(Ordering::Relaxed) {
                    round += 1;
                    let policy = if round.is_multiple_of(2) {
                        Policy::default()
                    } else {
                        Policy::default().deny("fake/add/aligned")
                    };
                    runtime.set_policy(policy).unwrap();
                    runtime
                        .set_knob(
                            "fake.tuned",
                            if round.is_multiple_of(3) {
                                "false"
                            } else {
                                "true"
                            },
                        )
                        .unwrap();
                    if round == 5 && !loaded {
                        runtime.load_provider(overt_tests::built::fake2()).unwrap();
                        loaded = true;
                    }
                    changes.store(round, Ordering::Relaxed);
                    std::thread::yield_now();
                }
                round
            });
            let workers: Vec<_> = ["fake:0", "fake:1"]
                .map(|name| {
                    let device = runtime.device(name).unwrap();
                    scope.spawn(move || {
                        let mut stream = runtime.stream(&device).unwrap();
                        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
                        let mut step = overt::Step::new();
                        let mut launches = 0;
                        // So long that both sides have met, however the threads are scheduled; the end of the range is for a changer that died.
                        for round in 0..1_000_000u64 {
                            if round >= 300 && changes.load(Ordering::Relaxed) >= 50 {
                                break;
                            }
                            let witness = Witness::new();
                            let call = sum.call().witnessed(&witness);
                            launches += u64::from(stream.dispatch(&call).unwrap().launches);
                            stream.sync().unwrap();
                            step.run(&stream, &[&sum.call()]).unwrap();
                            launches += 1;
                            if let Ok(plan) = runtime.plan(&sum.call(), &device)
                                && let Ok(ran) = plan.launch(&stream)
                            {
                                launches += u64::from(ran.launches);
                            }
                            if round % 20 == 0 {
                                sum.check(&stream).unwrap();
                                // To another thread and back, with work pending.
                                stream.dispatch(&sum.call()).unwrap();
                                launches += 1;
                                stream = std::thread::spawn(move || {
                                    stream.flush().unwrap();
                                    stream
                                })
                                .join()
                                .unwrap();
                            }
                        }
                        stream.sync().unwrap();
                        launches
                    })
                })
                .into();
            let ended: Vec<_> = workers.into_iter().map(|w| w.join()).collect();
            // Before anything is unwrapped, so that a failure does not leave the changer running for ever.
            over.store(true, Ordering::Relaxed);
            let sum = ended.into_iter().map(Result::unwrap).sum();
            assert!(changer.join().unwrap() >= 50);
            sum
        });
        let counted: u64 = runtime.counts().iter().map(|c| c.counts.launches).sum();
        assert_eq!(counted, launched, "every launch is counted, and none twice");
        assert_eq!(
            runtime
                .counts()
                .iter()
                .map(|c| c.counts.failed)
                .sum::<u64>(),
            0
        );
    });
}

#[test]
fn a_witness_over_streams_vouches_only_when_all_have_passed() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_86").start();
        let streams = ["fake:0", "fake:0", "fake:1"]
            .map(|name| started.runtime.stream(&started.device(name)).unwrap());
        let sums = streams
            .each_ref()
            .map(|stream| Uploaded::new(stream, problems::add(2, 8, F32)).unwrap());
        let witness = Witness::new();
        for (stream, sum) in streams.iter().zip(&sums) {
            stream.dispatch(&sum.call().witnessed(&witness)).unwrap();
        }
        for stream in &streams {
            witness.assert_only("fake/add/aligned", 3).unwrap_err();
            stream.sync().unwrap();
        }
        witness.assert_only("fake/add/aligned", 3).unwrap();
        // A stream that is dropped waits, and tells.
        streams[2]
            .dispatch(&sums[2].call().witnessed(&witness))
            .unwrap();
        drop(streams);
        witness.assert_only("fake/add/aligned", 4).unwrap();
    });
}

#[test]
fn more_memory_than_there_is_and_extents_that_wrap_are_errors() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let device = started.device("fake");
        for shape in [
            &[i64::MAX / 8][..],
            &[1 << 31, 1 << 31],
            &[i64::MAX],
            &[1 << 62, 4],
        ] {
            for dtype in [F32, F16, Q8_0] {
                Tensor::empty(&device, dtype, shape).unwrap_err();
            }
        }
        Allocation::new(&device, u64::MAX, 1 << 63, MemoryKind::Device).unwrap_err();
        Allocation::new(&device, 16, 3, MemoryKind::Device).unwrap_err();
        let memory = Allocation::new(&device, 64, 0, MemoryKind::Device).unwrap();
        let still = View::strided(F32, &[1 << 40], &[0]).unwrap();
        let broadcast = Tensor::over(memory.clone(), still, 0).unwrap();
        assert_eq!(broadcast.view().span_bytes(), 4);
        for offset in [61, 64, u64::MAX, u64::MAX - 3] {
            Tensor::over(memory.clone(), View::contiguous(F32, &[1]).unwrap(), offset).unwrap_err();
        }
    });
}

#[test]
fn checked_mode_looks_at_what_a_plan_is_given_too() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").with(|b| b.checked(true)).start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let attention = Uploaded::new(&stream, Attention::default().filled()).unwrap();
        let plan = started
            .runtime
            .plan(&attention.call(), stream.device())
            .unwrap();
        plan.launch(&stream).unwrap();
        attention.check(&stream).unwrap();
        let lengths = attention.host.schema.operand("seq_lens").unwrap();
        stream
            .fill(attention.tensors[lengths].as_ref().unwrap(), 0x7f)
            .unwrap();
        let refused = plan.launch(&stream).unwrap_err();
        assert!(matches!(refused, Error::Content { .. }), "{refused}");
    });
}

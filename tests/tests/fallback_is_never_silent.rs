//! Scenario 1 and promise 1: a selection names the kernel and every other candidate with all its failing clauses; another device
//! serves a call only where the policy allows it, and says so; *not built* and *not loaded* are fallbacks of their own.

use overt::kernels::dtype::{BF16, F16, F32};
use overt::kernels::schema::AttrValue;
use overt::{DType, Error, FallbackRule, OnFallback, Policy, Reason, ReasonCause, Tier};
use overt_tests::case;
use overt_tests::problems::{self, Attention};
use overt_tests::run::{Uploaded, verified};
use overt_tests::start::{self, Fake, Started};

/// Cache types that no kernel of the fake takes and the CPU provider does.
const FOREIGN_CACHES: [(DType, &str); 2] = [(F32, "f32"), (BF16, "bf16")];

fn attention(cache: DType) -> Attention {
    Attention {
        dtypes: (F32, cache, F32),
        ..Attention::default()
    }
}

/// Counters of every kernel and device, which an error must leave alone.
fn counters(started: &Started) -> u64 {
    started
        .runtime
        .counts()
        .iter()
        .map(|c| c.counts.enqueued + c.counts.launches + c.counts.selected)
        .sum()
}

#[test]
fn by_default_no_other_device_serves_and_every_kernel_says_why() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_120").and_cpu().start();
        for (cache, name) in FOREIGN_CACHES {
            for device in ["fake:0", "fake:1"] {
                let stream = started.runtime.stream(&started.device(device)).unwrap();
                let uploaded = Uploaded::new(&stream, attention(cache).filled()).unwrap();
                let before = counters(&started);
                started.observer.start();
                let error = stream.dispatch(&uploaded.call()).unwrap_err();
                stream.sync().unwrap();
                assert_eq!(started.observer.stop(), Vec::<String>::new());
                assert_eq!(counters(&started), before, "nothing was counted");
                let Error::NoKernel(selection) = &error else {
                    panic!("{error}")
                };
                assert_eq!(selection.chosen, None);
                let text = error.to_string();
                for part in [
                    "fake/paged_attention/narrow".to_owned(),
                    "fake/paged_attention/wide".to_owned(),
                    "fake/paged_attention/soft".to_owned(),
                    format!("k_cache.dtype is {name}; needs f16"),
                    format!("v_cache.dtype is {name}; needs f16"),
                    format!("k_cache.dtype is {name}; needs one of f16, q8_0"),
                ] {
                    assert!(text.contains(&part), "`{part}` is missing from\n{text}");
                }
            }
        }
    });
}

#[test]
fn where_the_policy_allows_it_the_host_serves_and_the_result_says_so() {
    case!("fake", [Gcc], || {
        let policy = Policy::default().host_fallback(true);
        // With a host address, without one, and on a device that has no addresses at all: shared, copied, copied by handle.
        for memory in ["", "no_host_address", "no_address"] {
            let started = Fake::of("sm_86")
                .and_cpu()
                .misbehaving(memory)
                .policy(policy.clone())
                .start();
            for (round, (cache, name)) in FOREIGN_CACHES.into_iter().enumerate() {
                let host = attention(cache).filled();
                let device = started.device("fake:0");
                let selection = started
                    .runtime
                    .explain(&problems::problem(&started.runtime, &host), &device)
                    .unwrap();
                let (kernel, launched) = verified(&started.runtime, &device, host);
                assert!(
                    launched.host_fallback && launched.fallback,
                    "{memory}: {launched:?}"
                );
                assert!(kernel.starts_with("cpu/paged_attention/"), "{kernel}");
                let counts = started.runtime.counts_of(&kernel);
                assert_eq!(
                    (counts.host_fallbacks, counts.completed),
                    (round as u64 + 1, round as u64 + 1)
                );
                // The explanation says the same before anything ran.
                let text = selection.to_string();
                assert_eq!(selection.served_by.as_deref(), Some("cpu:0"), "{text}");
                assert_eq!(
                    selection.chosen.as_ref().map(|c| c.kernel.as_str()),
                    Some(kernel.as_str()),
                    "{text}"
                );
                for part in [
                    "HOST FALLBACK",
                    "cpu:0",
                    "fake/paged_attention/narrow",
                    &format!("k_cache.dtype is {name}; needs one of f16, q8_0"),
                ] {
                    assert!(text.contains(part), "`{part}` is missing from\n{text}");
                }
            }
            for kernel in ["narrow", "wide", "soft"] {
                assert!(
                    started
                        .runtime
                        .counts_of(&format!("fake/paged_attention/{kernel}"))
                        .is_zero()
                );
            }
        }
    });
}

#[test]
fn a_device_that_can_serve_is_not_passed_over_for_the_host() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86")
            .and_cpu()
            .policy(Policy::default().host_fallback(true))
            .start();
        let (kernel, launched) = verified(
            &started.runtime,
            &started.device("fake:0"),
            attention(F16).filled(),
        );
        assert_eq!(kernel, "fake/paged_attention/narrow");
        assert!(!launched.host_fallback);
    });
}

#[test]
fn every_failing_clause_of_every_candidate_is_named_with_what_would_help() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let host = Attention {
            widths: (112, 112),
            ..attention(BF16)
        }
        .attr("softcap", AttrValue::F64(50.0))
        .filled();
        let selection = started
            .runtime
            .explain(
                &problems::problem(&started.runtime, &host),
                &started.device("fake"),
            )
            .unwrap();
        let soft = selection
            .rejected
            .iter()
            .find(|r| r.kernel.ends_with("/soft"))
            .unwrap();
        let reasons: Vec<String> = soft.reasons.iter().map(ToString::to_string).collect();
        assert_eq!(reasons.len(), 4, "{reasons:?}");
        for part in [
            "k_cache.dtype is bf16",
            "v_cache.dtype is bf16",
            "device.arch is sm_86; needs sm_90+",
            "D is 112; needs one of 64, 128",
        ] {
            assert!(
                reasons.iter().any(|reason| reason.contains(part)),
                "{part}: {reasons:?}"
            );
        }
        // Nobody can change the device, so nothing is promised there; the others say what they would run with.
        assert_eq!(soft.would_run_with(), None);
        let wide = selection
            .rejected
            .iter()
            .find(|r| r.kernel.ends_with("/wide"))
            .unwrap();
        assert_eq!(
            wide.would_run_with().as_deref(),
            Some("k_cache.dtype = f16, v_cache.dtype = f16 and softcap = 0")
        );
        assert!(
            wide.reasons
                .iter()
                .any(|r| matches!(r, Reason::Attribute { attr, .. } if attr == "softcap"))
        );
    });
}

#[test]
fn a_head_of_112_with_a_softcap_names_every_rejected_kernel_of_the_cpu() {
    case!("cpu", [], || {
        let runtime = start::cpu().knob("cpu.features", "none").start().unwrap();
        let host = Attention {
            widths: (112, 112),
            ..attention(F32)
        }
        .attr("softcap", AttrValue::F64(50.0))
        .filled();
        let device = runtime.device("cpu").unwrap();
        let selection = runtime
            .explain(&problems::problem(&runtime, &host), &device)
            .unwrap();
        let candidates = runtime.candidates(&runtime.op("paged_attention").unwrap(), &device);
        assert_eq!(selection.rejected.len() + 1, candidates.len());
        assert!(candidates.len() >= 3);
        let text = selection.to_string();
        for rejected in &selection.rejected {
            assert!(!rejected.reasons.is_empty(), "{text}");
            assert!(text.contains(&rejected.kernel), "{text}");
        }
        assert!(
            text.contains("device.feature.avx2 is false; needs true"),
            "{text}"
        );
    });
}

#[test]
fn a_strict_policy_refuses_with_the_reasons_and_nothing_runs() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").policy(Policy::strict()).start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        // Rows of an odd length: only the reference is left.
        let mut host = problems::add(3, 8, BF16);
        for operand in host.operands.iter_mut().flatten() {
            operand.strides = vec![11, 1];
            operand.bytes.resize((2 * 11 + 8) * 2, 0);
        }
        let uploaded = Uploaded::new(&stream, host).unwrap();
        let error = stream.dispatch(&uploaded.call()).unwrap_err();
        let Error::FallbackRefused(selection) = &error else {
            panic!("{error}")
        };
        assert_eq!(
            selection.chosen.as_ref().unwrap().kernel,
            "fake/add/uncaptured"
        );
        assert!(selection.fallback.is_some());
        assert!(
            error
                .to_string()
                .contains("a.contiguous is false; needs true"),
            "{error}"
        );
        assert_eq!(counters(&started), 0);
        // The same under a policy that allows it, and one that allows it on this device alone.
        for policy in [
            Policy::on_fallback(OnFallback::Allow),
            Policy::strict().rule(FallbackRule {
                device: Some("fake:0".into()),
                tier: None,
                action: OnFallback::Allow,
            }),
            Policy::strict().rule(FallbackRule {
                device: None,
                tier: Some(Tier::Portable),
                action: OnFallback::Allow,
            }),
        ] {
            started.runtime.set_policy(policy).unwrap();
            assert!(stream.dispatch(&uploaded.call()).unwrap().fallback);
        }
        started
            .runtime
            .set_policy(Policy::strict().rule(FallbackRule {
                device: None,
                tier: Some(Tier::Reference),
                action: OnFallback::Allow,
            }))
            .unwrap();
        assert!(matches!(
            stream.dispatch(&uploaded.call()),
            Err(Error::FallbackRefused(_))
        ));
    });
}

#[test]
fn a_kernel_that_was_not_built_is_a_fallback_that_no_exception_covers() {
    case!("fake", [Gcc], || {
        let started = Fake::of("nb").start();
        let host = || problems::add(2, 8, F32);
        let device = started.device("fake");
        let problem = problems::problem(&started.runtime, &host());
        let selection = started.runtime.explain(&problem, &device).unwrap();
        let missing = selection
            .rejected
            .iter()
            .find(|r| r.kernel == "fake/add/missing")
            .unwrap();
        assert!(missing.declares_arch);
        assert!(
            missing
                .reasons
                .iter()
                .any(|r| r.to_string() == "not built: no compiler for nb was found"),
            "{selection}"
        );
        // `aligned` is of the same tier, so nothing was lost; where only portable ones are left, the missing one is the cause.
        assert_eq!(selection.fallback, None, "{selection}");
        started.runtime.set_knob("fake.tuned", "off").unwrap();
        let selection = started.runtime.explain(&problem, &device).unwrap();
        assert_eq!(
            selection.fallback.as_ref().map(|f| f.cause()),
            Some(ReasonCause::NotBuilt),
            "{selection}"
        );
        let lenient_but_strict = Policy::strict().rule(FallbackRule {
            device: None,
            tier: Some(Tier::Portable),
            action: OnFallback::Allow,
        });
        started.runtime.set_policy(lenient_but_strict).unwrap();
        let stream = started.runtime.stream(&device).unwrap();
        let uploaded = Uploaded::new(&stream, host()).unwrap();
        let error = stream.dispatch(&uploaded.call()).unwrap_err();
        assert!(matches!(error, Error::FallbackRefused(_)), "{error}");
        assert!(
            error.to_string().contains("no compiler for nb was found"),
            "{error}"
        );
    });
}

#[test]
fn a_knob_that_turns_a_kernel_off_is_the_cause_of_the_fallback() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let device = started.device("fake");
        let problem = problems::problem(&started.runtime, &problems::add(2, 8, F32));
        assert_eq!(
            started
                .runtime
                .explain(&problem, &device)
                .unwrap()
                .chosen
                .unwrap()
                .kernel,
            "fake/add/aligned"
        );
        for off in ["off", "false", "no", "0"] {
            started.runtime.set_knob("fake.tuned", off).unwrap();
            let selection = started.runtime.explain(&problem, &device).unwrap();
            assert_eq!(
                selection.chosen.as_ref().unwrap().kernel,
                "fake/add/contiguous"
            );
            let aligned = selection
                .rejected
                .iter()
                .find(|r| r.kernel == "fake/add/aligned")
                .unwrap();
            assert_eq!(
                aligned.would_run_with().as_deref(),
                Some("knob.fake.tuned = true")
            );
            let causes = selection.fallback.unwrap().causes;
            assert!(
                causes.contains(&("fake/add/aligned".to_owned(), ReasonCause::Knob)),
                "{causes:?}"
            );
            started.runtime.set_knob("fake.tuned", "on").unwrap();
        }
    });
}

#[test]
fn pins_and_denials_bend_the_choice_and_say_so() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86")
            .policy(Policy::on_fallback(OnFallback::Allow))
            .start();
        let device = started.device("fake");
        started
            .runtime
            .set_policy(Policy::on_fallback(OnFallback::Allow).pin("add.1", "fake/add/narrow"))
            .unwrap();
        assert_eq!(
            verified(&started.runtime, &device, problems::add(2, 8, F32)).0,
            "fake/add/narrow"
        );
        // A pin whose guard fails is an error with that guard.
        let stream = started.runtime.stream(&device).unwrap();
        let uploaded = Uploaded::new(&stream, problems::add(2, 8, BF16)).unwrap();
        let error = stream.dispatch(&uploaded.call()).unwrap_err().to_string();
        assert!(
            error.contains("out.dtype is bf16; needs anything but bf16"),
            "{error}"
        );
        // A denial is stronger than a pin.
        started
            .runtime
            .set_policy(
                Policy::on_fallback(OnFallback::Allow)
                    .pin("add.1", "fake/add/narrow")
                    .deny("fake/add/narrow"),
            )
            .unwrap();
        let error = stream
            .dispatch(
                &Uploaded::new(&stream, problems::add(2, 8, F32))
                    .unwrap()
                    .call(),
            )
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("denied by policy: deny fake/add/narrow"),
            "{error}"
        );
        let error = started
            .runtime
            .set_policy(Policy::default().deny("fake/add/aligend"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("fake/add/aligend") && error.contains("did you mean `fake/add/aligned`"),
            "{error}"
        );
    });
}

#[test]
fn a_provider_that_does_not_start_leaves_its_kernels_as_rejected_candidates() {
    case!("fake", [Gcc], || {
        // Found in a folder with its manifest, beside a good one, and failing to start.
        let scratch = overt_tests::hostile::Scratch::new("not-started");
        let library =
            overt_tests::manifest::beside(overt_tests::built::fake(), scratch.path(), |_| {});
        assert!(library.is_file());
        let runtime = overt::Runtime::builder()
            .search(false)
            .providers(scratch.path())
            .providers(overt_tests::built::cpu())
            .knob("fake.misbehave", "fail_create")
            .start()
            .unwrap();
        let host = problems::add(2, 8, F32);
        let selection = runtime
            .explain(
                &problems::problem(&runtime, &host),
                &runtime.device("cpu").unwrap(),
            )
            .unwrap();
        let text = selection.to_string();
        let rejected: Vec<_> = selection
            .rejected
            .iter()
            .filter(|r| r.kernel.starts_with("fake/add/"))
            .collect();
        assert_eq!(rejected.len(), 7, "{text}");
        for one in rejected {
            assert!(
                one.reasons.iter().any(|r| r
                    .to_string()
                    .contains("libfake.so.1 was not found in /nowhere")),
                "{text}"
            );
        }
        let error = runtime.device("fake:0").unwrap_err().to_string();
        assert!(error.contains("libfake.so.1"), "{error}");
    });
}

//! Loading of providers that are wrong in one way each. They are built by gcc from one C file; see
//! `tests/providers/hostile_c/hostile.c` for the defects.

use super::super::decl::{Tier, Unusable, abi_version_text};
use super::super::fault::NegotiateError;
use super::super::filter::Unfit;
use super::super::manifest::{FileFacts, hex};
use super::super::open::OpenError;
use super::super::trust::Untrusted;
use super::*;

// One helper for these tests and for the integration tests; it depends on the standard library alone.
#[path = "../../../../tests/src/hostile.rs"]
#[allow(dead_code)]
mod hostile;
use hostile::{Hostile, Scratch, set_mode};

fn ask(path: &Path) -> Result<Load, LoadError> {
    load(&LoadRequest {
        asked: vec![path.to_owned()],
        ..LoadRequest::default()
    })
}

/// Builds the provider, asks for it by path and returns what it loaded as.
fn loaded(provider: Hostile) -> LoadedProvider {
    let scratch = Scratch::new("loaded");
    let path = provider.build(scratch.path(), "hostile").unwrap();
    let mut load = ask(&path).unwrap();
    assert_eq!(load.providers.len(), 1);
    load.providers.remove(0)
}

/// Builds the provider, asks for it by path and returns why it did not load. A good one beside it must load all the same.
fn refused(provider: Hostile) -> Reason {
    let scratch = Scratch::new("refused");
    let path = provider.build(scratch.path(), "hostile").unwrap();
    let good = Hostile::new()
        .text("NAME", "good")
        .build(scratch.path(), "good")
        .unwrap();
    let error = load(&LoadRequest {
        asked: vec![path.clone(), good],
        ..LoadRequest::default()
    })
    .unwrap_err();
    assert!(
        error
            .report
            .tried
            .iter()
            .any(|t| matches!(&t.outcome, Outcome::Loaded { provider, .. } if provider == "good")),
        "the others still load:\n{}",
        error.report
    );
    let failures: Vec<_> = error.failures().collect();
    assert_eq!(failures.len(), 1, "{}", error.report);
    assert_eq!(failures[0].0, &path);
    failures[0].1.clone()
}

fn negotiation(provider: Hostile) -> NegotiateError {
    match refused(provider) {
        Reason::Negotiate(error) => error,
        other => panic!("another reason: {other}"),
    }
}

/// Writes the manifest that belongs to a library, after `change`.
fn write_manifest(
    library: &Path,
    decl: &ProviderDecl,
    change: impl FnOnce(&mut Manifest),
) -> PathBuf {
    let mut manifest = Manifest::of(
        decl,
        FileFacts {
            sha256: open::file_digest(library).unwrap(),
            target: format!(
                "{}-unknown-{}-gnu",
                std::env::consts::ARCH,
                std::env::consts::OS
            ),
            min_glibc: Some("2.2".into()),
            cpu_features: Vec::new(),
        },
    );
    change(&mut manifest);
    let path = Manifest::path_for(library);
    std::fs::write(&path, manifest.to_text()).unwrap();
    set_mode(&path, 0o644);
    path
}

fn only(load: &Load) -> &Reason {
    assert!(load.providers.is_empty(), "{}", load.report);
    assert_eq!(load.failed.len(), 1, "{}", load.report);
    &load.failed[0].reason
}

#[test]
fn a_correct_provider_loads_with_all_that_it_declares() {
    let provider = loaded(
        Hostile::new()
            .text("IMAGE_DECLARED", "code")
            .text("IMAGE_NAMED", "code")
            .number("KNOB_DEFAULT", 4),
    );
    let decl = &provider.decl;
    assert_eq!(
        (decl.name.as_str(), decl.version.as_str(), decl.abi_version),
        ("hostile", "1.0", HOST_ABI_MAX)
    );
    assert_eq!(decl.kernels.len(), 2);
    let first = &decl.kernels[0];
    assert_eq!(
        (first.id.as_str(), first.op.as_str(), first.tier),
        ("hostile/add/first", "add.1", Tier::Portable)
    );
    assert_eq!(first.clauses.len(), 1);
    assert_eq!(first.clauses[0].source, "a test");
    assert!(
        decl.kernels.iter().all(|kernel| kernel.unusable.is_empty()),
        "{:?}",
        decl.kernels
    );
    assert_eq!(decl.images[0].digest[0], 7);
    assert_eq!(decl.knobs[0].range, Some((1, 8)));
    assert!(provider.api.launch.is_some() && provider.api.capture_begin.is_none());
    assert!(provider.manifest.is_none());
    assert_eq!(hex(provider.library.digest()).len(), 64);
}

#[test]
fn a_wrong_version_is_refused_with_both_versions() {
    for version in [0u32, HOST_ABI_MAX + 1, 1 << 16, u32::MAX] {
        let error = negotiation(Hostile::new().number("ANSWER_VERSION", format!("{version}u")));
        assert!(
            matches!(error, NegotiateError::Version { found, .. } if found == version),
            "{error}"
        );
        let words = error.to_string();
        assert!(
            words.contains(&abi_version_text(version))
                && words.contains(&abi_version_text(HOST_ABI_MAX)),
            "{words}"
        );
    }
}

#[test]
fn a_refusal_carries_the_providers_words_even_broken_or_wild_ones() {
    let error = negotiation(Hostile::new().with("REFUSE"));
    let NegotiateError::Refused { words, speaks, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(words, "driver 3 is too old \u{fffd}");
    assert_eq!(*speaks, overt_abi::OVERT_ABI_VERSION + 4);
    if cfg!(target_os = "linux") {
        let error = negotiation(Hostile::new().with("REFUSE").with("REFUSE_WORDS_WILD"));
        assert!(
            matches!(&error, NegotiateError::Refused { words, .. } if words.is_empty()),
            "{error}"
        );
    }
}

#[test]
fn wrong_sizes_are_refused_with_both_sizes() {
    for (which, at) in [
        ("PROVIDER_SIZE", "provider"),
        ("API_SIZE", "api"),
        ("KERNEL_SIZE", "kernels[0]"),
        ("CLAUSE_SIZE", "kernels[0].clauses[0]"),
        ("BUILD_SIZE", "build"),
    ] {
        for size in ["0", "8", "16"] {
            let error = negotiation(Hostile::new().number(which, size));
            assert!(
                matches!(&error, NegotiateError::Size { at: place, found, .. } if place == at && found.to_string() == size),
                "{which}={size}: {error}"
            );
        }
        let error = negotiation(Hostile::new().number(which, "0xfffffff8u"));
        assert!(
            matches!(&error, NegotiateError::SizeImplausible { .. }),
            "{which}: {error}"
        );
    }
    let error = negotiation(Hostile::new().number("RESPONSE_SIZE", 8));
    assert!(
        matches!(
            error,
            NegotiateError::Size {
                found: 8,
                first: 24,
                ..
            }
        ),
        "{error}"
    );
    assert!(matches!(
        negotiation(Hostile::new().with("WRITE_BEYOND")),
        NegotiateError::WroteBeyond { .. }
    ));
}

#[test]
fn a_newer_providers_longer_structs_are_read_by_their_own_stride() {
    let provider = loaded(Hostile::new().with("NEWER"));
    let ids: Vec<&str> = provider
        .decl
        .kernels
        .iter()
        .map(|kernel| kernel.id.as_str())
        .collect();
    assert_eq!(ids, ["hostile/add/first", "hostile/add/second"]);
}

#[test]
fn null_tables_and_entries_are_refused_by_name() {
    for (defect, at) in [
        ("NULL_PROVIDER", "response.provider"),
        ("NULL_API", "api"),
        ("NULL_KERNELS", "kernels"),
        ("NULL_OPS", "ops"),
        ("NULL_CLAUSES", "kernels[0].clauses"),
    ] {
        let error = negotiation(Hostile::new().with(defect));
        assert!(
            matches!(&error, NegotiateError::Null { at: place, .. } if place == at),
            "{defect}: {error}"
        );
    }
    let error = negotiation(
        Hostile::new()
            .text("IMAGE_DECLARED", "code")
            .with("NULL_ARCH"),
    );
    assert!(
        matches!(&error, NegotiateError::Null { at, .. } if at == "images[0].pattern.arch"),
        "{error}"
    );
    let error = negotiation(Hostile::new().with("NULL_ENTRY"));
    assert_eq!(
        error,
        NegotiateError::NullEntries {
            entries: vec!["launch"]
        }
    );
    let error = negotiation(Hostile::new().with("NULL_CAPTURE_END"));
    let entries = vec![
        "capture_end",
        "capture_abort",
        "graph_replay",
        "graph_destroy",
    ];
    assert_eq!(error, NegotiateError::NullEntries { entries });
}

#[test]
#[cfg(target_os = "linux")]
fn wild_pointers_and_garbage_counts_do_not_crash() {
    for address in ["8", "4096", "0xdeadbeef0000", "0xfffffffffffff000"] {
        let error = negotiation(Hostile::new().number("KERNELS_AT", address));
        assert!(
            matches!(&error, NegotiateError::Unreadable { .. }),
            "{address}: {error}"
        );
    }
    let error = negotiation(Hostile::new().number("KERNELS_AT", 4099));
    assert!(
        matches!(&error, NegotiateError::Misaligned { .. }),
        "{error}"
    );
    let error = negotiation(Hostile::new().number("KERNEL_COUNT", "0xffffffffu"));
    assert!(matches!(&error, NegotiateError::Count { .. }), "{error}");
    // A count that is believable and too large walks off the table's end.
    let error = negotiation(Hostile::new().number("KERNEL_COUNT", "1000000u"));
    assert!(!error.to_string().is_empty());
    let error = negotiation(Hostile::new().number("KERNEL_NAME_LEN", "0xffffffffffffull"));
    assert!(matches!(&error, NegotiateError::Count { .. }), "{error}");
}

#[test]
fn names_are_held_to_their_grammar() {
    let error = negotiation(Hostile::new().with("NAME_NOT_UTF8"));
    assert!(
        matches!(&error, NegotiateError::Utf8 { at, valid: 4, .. } if at == "name"),
        "{error}"
    );
    for name in ["", "Upper", "a/b", "1st"] {
        let error = negotiation(Hostile::new().text("NAME", name));
        assert!(
            matches!(&error, NegotiateError::Name { at, .. } if at == "name"),
            "{name}: {error}"
        );
    }
    for id in [
        "other/add/first",
        "hostile/mul/first",
        "hostile/add/",
        "hostile/add",
        "hostile/add/a b",
    ] {
        let error = negotiation(Hostile::new().text("KERNEL_ID", id));
        assert!(
            matches!(&error, NegotiateError::Name { at, .. } if at == "kernels[0].id"),
            "{id}: {error}"
        );
        assert!(error.to_string().contains("hostile/add/"), "{error}");
    }
    let error = negotiation(Hostile::new().with("DUPLICATE_ID"));
    assert!(
        matches!(
            &error,
            NegotiateError::Duplicate {
                first: 0,
                second: 1,
                ..
            }
        ),
        "{error}"
    );
    let error = negotiation(Hostile::new().number("KNOB_DEFAULT", 9));
    assert!(
        matches!(&error, NegotiateError::Value { at, .. } if at == "knobs[0].default_value"),
        "{error}"
    );
}

#[test]
fn required_flags_that_are_not_known_refuse() {
    let error = negotiation(Hostile::new().number("PROVIDER_REQUIRED", 6));
    assert_eq!(error, NegotiateError::Required { found: 6 });
}

#[test]
fn what_is_not_understood_about_one_kernel_leaves_the_others() {
    type Wanted = fn(&Unusable) -> bool;
    let cases: [(Hostile, Wanted); 9] = [
        (Hostile::new().number("CLAUSE_CMP", 77), |u| {
            matches!(u, Unusable::Comparison { found: 77, .. })
        }),
        (
            Hostile::new().number("CLAUSE_KIND", 55),
            |u| matches!(u, Unusable::Clause { what, .. } if what.contains("55")),
        ),
        (Hostile::new().number("CLAUSE_VALUES", 2), |u| {
            matches!(u, Unusable::Clause { .. })
        }),
        (Hostile::new().number("CLAUSE_VALUES", 0), |u| {
            matches!(u, Unusable::Clause { .. })
        }),
        (Hostile::new().number("KERNEL_TIER", 9), |u| {
            matches!(u, Unusable::Tier { found: 9 })
        }),
        (Hostile::new().number("KERNEL_REQUIRED", 4), |u| {
            matches!(u, Unusable::Required { found: 4 })
        }),
        (Hostile::new().with("NO_ENTRIES"), |u| {
            matches!(u, Unusable::NoEntries)
        }),
        (
            Hostile::new().text("IMAGE_NAMED", "ghost"),
            |u| matches!(u, Unusable::ImageNotDeclared { image } if image == "ghost"),
        ),
        (
            Hostile::new()
                .text("KERNEL_OP", "mul.1")
                .text("KERNEL_ID", "hostile/mul/first"),
            |u| matches!(u, Unusable::OpNotDeclared { op } if op == "mul.1"),
        ),
    ];
    for (hostile, wanted) in cases {
        let provider = loaded(hostile.clone());
        let [first, second] = &provider.decl.kernels[..] else {
            panic!("{hostile:?}")
        };
        assert!(
            first.unusable.iter().any(wanted),
            "{hostile:?}: {:?}",
            first.unusable
        );
        assert!(
            second.unusable.is_empty(),
            "{hostile:?}: {:?}",
            second.unusable
        );
    }
}

#[test]
fn an_image_of_an_unknown_rule_runs_nowhere() {
    let provider = loaded(
        Hostile::new()
            .text("IMAGE_DECLARED", "code")
            .number("IMAGE_RULE", 99),
    );
    assert!(provider.decl.images[0].pattern.is_none());
    assert!(matches!(
        provider.decl.images[0].unusable[..],
        [Unusable::ImagePattern { .. }]
    ));
}

#[test]
fn a_library_that_is_no_provider_is_refused_with_the_symbol() {
    let error = negotiation(Hostile::new().with("NO_SYMBOL"));
    assert!(
        error.to_string().contains("overt_provider_query"),
        "{error}"
    );
    let scratch = Scratch::new("text");
    let path = scratch.path().join("libtext.so");
    std::fs::write(&path, "no library").unwrap();
    set_mode(&path, 0o644);
    let error = ask(&path).unwrap_err();
    assert!(
        matches!(
            error.failures().next(),
            Some((_, Reason::Open(OpenError::Loader { .. })))
        ),
        "{error}"
    );
    assert!(error.to_string().contains("libtext.so"), "{error}");
}

#[test]
fn a_missing_library_is_named_with_the_loaders_words_and_the_paths() {
    let needs = || Hostile::new().needing_missing("absentone");
    let reason = refused(needs());
    let Reason::Open(OpenError::Loader {
        words,
        missing: Some(missing),
    }) = &reason
    else {
        panic!("{reason:?}")
    };
    assert_eq!(missing.name, "libabsentone.so.3");
    assert!(words.contains("cannot open shared object file"), "{words}");
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    assert!(!missing.folders.is_empty());

    // Asked for, it fails the start and names every path; merely found, it is recorded and the start goes on.
    let scratch = Scratch::new("missing");
    let path = needs().build(scratch.path(), "needy").unwrap();
    let error = ask(&path).unwrap_err().to_string();
    assert!(
        error.contains("libabsentone.so.3") && error.contains(&path.display().to_string()),
        "{error}"
    );
    let decl = loaded(Hostile::new()).decl;
    write_manifest(&path, &decl, |_| {});
    let load = ask(scratch.path()).unwrap();
    let failed = &load.failed[0];
    assert!(
        matches!(failed.reason, Reason::Open(OpenError::Loader { .. })),
        "{}",
        failed.reason
    );
    assert_eq!(failed.label(), "hostile");
    let kernels: Vec<&str> = failed
        .kernels
        .iter()
        .map(|kernel| kernel.id.as_str())
        .collect();
    assert_eq!(kernels, ["hostile/add/first", "hostile/add/second"]);
}

#[test]
fn a_needed_instruction_set_that_is_not_enabled_keeps_the_library_closed() {
    let scratch = Scratch::new("features");
    let marker = scratch.path().join("was-opened");
    let decl = loaded(Hostile::new()).decl;
    let path = Hostile::new()
        .text("MARKER", &marker)
        .build(scratch.path(), "wide")
        .unwrap();
    // First that the marker works: without the need the library is opened and its constructor runs.
    let proof = scratch.folder("proof");
    let opened = proof.join("libwide.so");
    std::fs::copy(&path, &opened).unwrap();
    write_manifest(&opened, &decl, |_| {});
    assert_eq!(ask(&proof).unwrap().providers.len(), 1);
    assert!(marker.exists());
    std::fs::remove_file(&marker).unwrap();

    write_manifest(&path, &decl, |manifest| {
        manifest.cpu_features = vec!["avx1024".into()]
    });
    let load = ask(scratch.path()).unwrap();
    let reason = only(&load);
    assert!(
        matches!(reason, Reason::Unfit(Unfit::CpuFeatures { .. })),
        "{reason}"
    );
    assert!(reason.to_string().contains("avx1024"), "{reason}");
    assert!(!marker.exists(), "the library was opened");
}

#[test]
fn a_manifest_excludes_before_opening() {
    let scratch = Scratch::new("excluded");
    let marker = scratch.path().join("was-opened");
    let decl = loaded(Hostile::new()).decl;
    let path = Hostile::new()
        .text("MARKER", &marker)
        .build(scratch.path(), "far")
        .unwrap();
    let check = |change: fn(&mut Manifest), wanted: fn(&Reason) -> bool| {
        write_manifest(&path, &decl, change);
        let load = ask(scratch.path()).unwrap();
        let reason = only(&load);
        assert!(wanted(reason), "{reason}");
        assert_eq!(load.failed[0].kernels.len(), 2);
        assert!(!marker.exists(), "{reason}");
    };
    check(
        |m| m.abi = "7.3".into(),
        |r| r.to_string().contains("7.3") && matches!(r, Reason::Unfit(Unfit::Abi { .. })),
    );
    check(
        |m| m.target = "s390x-unknown-linux-gnu".into(),
        |r| matches!(r, Reason::Unfit(Unfit::Target { .. })),
    );
    check(
        |m| m.min_glibc = Some("99.0".into()),
        |r| matches!(r, Reason::Unfit(Unfit::Glibc { .. })),
    );
    check(
        |m| m.sanitizer = "thread".into(),
        |r| matches!(r, Reason::Unfit(Unfit::Sanitizer { .. })),
    );
    check(
        |m| m.sha256 = "0".repeat(64),
        |r| matches!(r, Reason::Open(OpenError::Digest { .. })),
    );
}

#[test]
fn a_manifest_that_lies_is_refused_with_every_difference() {
    let scratch = Scratch::new("lies");
    let path = Hostile::new()
        .text("IMAGE_DECLARED", "code")
        .build(scratch.path(), "liar")
        .unwrap();
    let decl = ask(&path).unwrap().providers.remove(0).decl;
    write_manifest(&path, &decl, |_| {});
    assert_eq!(
        ask(scratch.path()).unwrap().providers.len(),
        1,
        "an honest manifest loads"
    );
    write_manifest(&path, &decl, |manifest| {
        let mut image = manifest.images[0].clone();
        image.id = "code.gfx1201".into();
        manifest.images.push(image);
        manifest.kernels.pop();
        manifest.kernels[0].priority = 99;
    });
    let load = ask(scratch.path()).unwrap();
    let words = only(&load).to_string();
    for part in [
        "claims image `code.gfx1201`",
        "kernel `hostile/add/second`",
        "priority: 99",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

#[test]
fn build_facts_that_do_not_fit_refuse() {
    let reason = refused(Hostile::new().text("BUILD_SANITIZER", "address"));
    assert!(
        matches!(reason, Reason::Unfit(Unfit::Sanitizer { .. })),
        "{reason}"
    );
    let reason = refused(Hostile::new().text("BUILD_GLIBC", "99.1"));
    assert!(
        matches!(reason, Reason::Unfit(Unfit::Glibc { .. })),
        "{reason}"
    );
    let reason = refused(Hostile::new().text("BUILD_TARGET", "s390x-ibm-linux"));
    assert!(
        matches!(reason, Reason::Unfit(Unfit::Target { .. })),
        "{reason}"
    );
}

#[test]
fn a_library_without_manifest_loads_only_when_asked_for_by_path() {
    let scratch = Scratch::new("bare");
    let marker = scratch.path().join("was-opened");
    let path = Hostile::new()
        .text("MARKER", &marker)
        .build(scratch.path(), "bare")
        .unwrap();
    let load = ask(scratch.path()).unwrap();
    assert!(
        matches!(only(&load), Reason::NoManifest { .. }),
        "{}",
        load.report
    );
    assert!(!marker.exists());
    let load = ask(&path).unwrap();
    assert!(
        matches!(
            load.report.tried[0].outcome,
            Outcome::Loaded {
                unmanifested: true,
                ..
            }
        ),
        "{}",
        load.report
    );
    assert!(marker.exists());
}

#[test]
fn a_manifest_without_its_library_keeps_the_kernels_visible() {
    let scratch = Scratch::new("gone");
    let path = Hostile::new().build(scratch.path(), "gone").unwrap();
    let decl = ask(&path).unwrap().providers.remove(0).decl;
    write_manifest(&path, &decl, |_| {});
    std::fs::remove_file(&path).unwrap();
    let load = ask(scratch.path()).unwrap();
    assert_eq!(only(&load), &Reason::Missing);
    assert_eq!(load.failed[0].kernels.len(), 2);
}

#[test]
fn unsafe_places_are_refused_with_the_reason() {
    let scratch = Scratch::new("places");
    let open_folder = scratch.folder("open");
    let marker = scratch.path().join("was-opened");
    let inside = Hostile::new()
        .text("MARKER", &marker)
        .build(&open_folder, "inside")
        .unwrap();
    set_mode(&open_folder, 0o777);
    let reason = |path: &Path| ask(path).unwrap_err().failures().next().unwrap().1.clone();
    let world =
        |reason: &Reason| matches!(reason, Reason::Untrusted(Untrusted::WorldWritable { .. }));
    assert!(world(&reason(&inside)) && world(&reason(&open_folder)));
    // An ancestor counts as well, and so does the file itself.
    let deeper = open_folder.join("deeper");
    std::fs::create_dir(&deeper).unwrap();
    set_mode(&deeper, 0o755);
    assert!(world(&reason(&deeper)));
    set_mode(&open_folder, 0o1777);
    let found = reason(&inside);
    assert!(
        matches!(found, Reason::Untrusted(Untrusted::SharedFolder { .. })),
        "{found}"
    );
    set_mode(&open_folder, 0o755);
    set_mode(&inside, 0o777);
    assert!(world(&reason(&inside)));
    assert!(!marker.exists());
    set_mode(&inside, 0o755);
    assert!(ask(&inside).is_ok());

    for path in ["libx.so", "./libx.so", "."] {
        let found = reason(Path::new(path));
        assert!(
            matches!(found, Reason::Untrusted(Untrusted::Relative { .. })),
            "{path}: {found}"
        );
    }
    let found = reason(&scratch.path().join("none"));
    assert_eq!(found, Reason::Missing);
}

#[test]
fn elements_of_the_environments_list_are_refused_one_by_one_and_the_start_goes_on() {
    let scratch = Scratch::new("list");
    let good = scratch.folder("good");
    let path = Hostile::new().build(&good, "good").unwrap();
    let decl = ask(&path).unwrap().providers.remove(0).decl;
    write_manifest(&path, &decl, |_| {});
    let list = format!(
        ":relative:{}:{}",
        scratch.path().join("absent").display(),
        good.display()
    );
    let mut surroundings = Surroundings {
        provider_path: Some(list.into()),
        ..Surroundings::none()
    };
    let request = LoadRequest {
        search: true,
        surroundings: surroundings.clone(),
        ..LoadRequest::default()
    };
    let load = super::load(&request).unwrap();
    assert_eq!(load.providers.len(), 1, "{}", load.report);
    let outcomes: Vec<&Outcome> = load
        .report
        .tried
        .iter()
        .map(|tried| &tried.outcome)
        .collect();
    assert!(
        matches!(
            outcomes[0],
            Outcome::Refused(Reason::Untrusted(Untrusted::Empty))
        ),
        "{}",
        load.report
    );
    assert!(
        matches!(
            outcomes[1],
            Outcome::Refused(Reason::Untrusted(Untrusted::Relative { .. }))
        ),
        "{}",
        load.report
    );
    assert!(matches!(outcomes[2], Outcome::Missing), "{}", load.report);
    assert!(
        matches!(outcomes[3], Outcome::Listed { candidates: 1 }),
        "{}",
        load.report
    );

    surroundings.privileged = Some("a test".into());
    let load = super::load(&LoadRequest {
        search: true,
        surroundings,
        ..LoadRequest::default()
    })
    .unwrap();
    assert!(load.providers.is_empty());
    assert_eq!(load.report.tried.len(), 4);
    for tried in &load.report.tried {
        assert!(
            matches!(tried.outcome, Outcome::Refused(Reason::Privileged { .. })),
            "{tried}"
        );
    }
}

#[test]
fn one_file_by_two_paths_is_one_load() {
    let scratch = Scratch::new("twice");
    let path = Hostile::new().build(scratch.path(), "one").unwrap();
    let link = scratch.path().join("liblink.so");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let hard = scratch.path().join("libhard.so");
    std::fs::hard_link(&path, &hard).unwrap();
    let asked = vec![path.clone(), link, hard, path.clone()];
    let load = super::load(&LoadRequest {
        asked,
        ..LoadRequest::default()
    })
    .unwrap();
    assert_eq!(load.providers.len(), 1, "{}", load.report);
    let duplicates = load
        .report
        .tried
        .iter()
        .filter(|t| matches!(&t.outcome, Outcome::Duplicate { of } if *of == path));
    assert_eq!(duplicates.count(), 3, "{}", load.report);
}

#[test]
fn a_second_provider_of_one_name_is_refused_with_the_first_ones_path() {
    let scratch = Scratch::new("name");
    let first = Hostile::new()
        .text("VERSION", "1")
        .build(scratch.path(), "first")
        .unwrap();
    let second = Hostile::new()
        .text("VERSION", "2")
        .build(scratch.path(), "second")
        .unwrap();
    let error = super::load(&LoadRequest {
        asked: vec![first.clone(), second],
        ..LoadRequest::default()
    })
    .unwrap_err();
    let (_, reason) = error.failures().next().unwrap();
    assert_eq!(
        reason,
        &Reason::NameTaken {
            name: "hostile".into(),
            from: first
        }
    );
}

#[test]
fn equal_internal_symbols_do_not_clash() {
    let scratch = Scratch::new("symbols");
    let build = |name: &str| {
        Hostile::new()
            .text("NAME", name)
            .text("INTERNAL", format!("{name}'s own"))
            .build(scratch.path(), name)
            .unwrap()
    };
    let asked = vec![build("left"), build("right")];
    let load = super::load(&LoadRequest {
        asked,
        ..LoadRequest::default()
    })
    .unwrap();
    let versions: Vec<&str> = load
        .providers
        .iter()
        .map(|provider| provider.decl.version.as_str())
        .collect();
    assert_eq!(versions, ["left's own", "right's own"]);
}

#[test]
fn many_starts_from_many_threads_open_the_library_once() {
    let scratch = Scratch::new("often");
    let marker = scratch.path().join("was-opened");
    let path = Hostile::new()
        .text("MARKER", &marker)
        .number("SLOW_MS", 20)
        .build(scratch.path(), "often")
        .unwrap();
    let libraries: Vec<Arc<Library>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| ask(&path).unwrap().providers.remove(0).library))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(
        libraries
            .windows(2)
            .all(|pair| Arc::ptr_eq(&pair[0], &pair[1]))
    );
    assert!(
        libraries[0].took() >= std::time::Duration::from_millis(20),
        "a slow query shows in the time"
    );
    // The constructor has run already; were the library opened anew, the marker would come back.
    std::fs::remove_file(&marker).unwrap();
    for _ in 0..1000 {
        assert!(Arc::ptr_eq(
            &libraries[0],
            &ask(&path).unwrap().providers[0].library
        ));
    }
    assert!(!marker.exists());
}

#[test]
fn a_library_written_over_after_loading_is_refused() {
    let scratch = Scratch::new("changed");
    let path = Hostile::new().build(scratch.path(), "changed").unwrap();
    ask(&path).unwrap();
    // Growing the file leaves the mapped pages as they are.
    use std::io::Write;
    std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(b"more")
        .unwrap();
    let error = ask(&path).unwrap_err();
    assert_eq!(
        error.failures().next().unwrap().1,
        &Reason::Open(OpenError::Changed)
    );
}

#[test]
fn a_failed_load_is_not_kept() {
    let scratch = Scratch::new("retry");
    let path = Hostile::new()
        .needing_missing("absenttwo")
        .argument("-Wl,-rpath")
        .argument(&format!("-Wl,{}", scratch.path().display()))
        .build(scratch.path(), "retry")
        .unwrap();
    assert!(ask(&path).is_err());
    hostile::build_elsewhere(scratch.path(), "absenttwo").unwrap();
    assert_eq!(ask(&path).unwrap().providers.len(), 1);
}

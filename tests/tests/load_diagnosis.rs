//! Scenario 10: a provider that does not load is diagnosed: paths tried, the loader's words, the missing library. Asked for, it is an
//! error of the start; found, it is recorded.

use overt::kernels::dtype::F32;
use overt::{Error, Runtime};
use overt_tests::hostile::{Hostile, Scratch, build_elsewhere};
use overt_tests::{case, manifest, problems};

/// A provider that needs a library which is not there, with the manifest of its build.
fn needing(scratch: &Scratch, folder: &std::path::Path, name: &str) -> std::path::PathBuf {
    let library = Hostile::new()
        .needing_missing(name)
        .build(folder, "needing")
        .unwrap();
    // Its twin that needs nothing says what it declares.
    let twin = Hostile::new().build(scratch.path(), "twin").unwrap();
    manifest::write(&twin, |_| {});
    let text = std::fs::read_to_string(overt::load::Manifest::path_for(&twin)).unwrap();
    let mut read = overt::load::Manifest::parse(&twin, &text).unwrap();
    read.sha256 = overt::load::file_digest(&library).unwrap();
    std::fs::write(overt::load::Manifest::path_for(&library), read.to_text()).unwrap();
    library
}

#[test]
fn asked_for_it_is_an_error_of_the_start_with_paths_words_and_library() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("asked");
        let folder = scratch.folder("asked");
        let library = needing(&scratch, &folder, "overt_asked_for");
        let error = Runtime::builder()
            .search(false)
            .providers(&library)
            .start()
            .unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Load(_)), "{text}");
        for part in [
            library.to_str().unwrap(),
            "libovert_asked_for.so.3",
            "cannot open shared object file",
            "tried 1 path",
        ] {
            assert!(text.contains(part), "`{part}` is missing from: {text}");
        }
    });
}

#[test]
fn found_it_is_recorded_and_its_kernels_stay_visible_as_rejected() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("found");
        let folder = scratch.folder("found");
        let library = needing(&scratch, &folder, "overt_found");
        let runtime = Runtime::builder()
            .search(false)
            .providers(overt_tests::built::minimal())
            .providers(&folder)
            .start()
            .unwrap();
        let report = runtime.load_report().to_string();
        for part in [
            library.to_str().unwrap(),
            "libovert_found.so.3",
            "loaded without manifest: provider `minimal`",
        ] {
            assert!(report.contains(part), "`{part}` is missing from: {report}");
        }
        let problem = problems::problem(&runtime, &problems::add(2, 4, F32));
        let text = runtime
            .explain(&problem, &runtime.device("minimal").unwrap())
            .unwrap()
            .to_string();
        for part in [
            "not hostile/add/first",
            "provider hostile did not load",
            "libovert_found.so.3",
        ] {
            assert!(text.contains(part), "`{part}` is missing from: {text}");
        }
        let error = runtime.device("hostile:0").unwrap_err().to_string();
        assert!(
            error.contains("no device `hostile:0`") && error.contains("libovert_found.so.3"),
            "{error}"
        );
    });
}

#[test]
fn once_the_library_is_there_the_same_process_loads_it() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("later");
        let folder = scratch.folder("later");
        let library = needing(&scratch, &folder, "overt_later");
        let start = || {
            Runtime::builder()
                .search(false)
                .providers(&folder)
                .start()
                .unwrap()
        };
        assert!(start().providers().is_empty());
        // What it needs is installed where its run path would find it; a preloaded one is found by its name.
        let elsewhere = build_elsewhere(scratch.path(), "overt_later").unwrap();
        // SAFETY: the library has one function and no constructor.
        let kept = unsafe {
            libloading::os::unix::Library::open(
                Some(&elsewhere),
                libloading::os::unix::RTLD_NOW | libloading::os::unix::RTLD_GLOBAL,
            )
        };
        let _kept = std::mem::ManuallyDrop::new(kept.unwrap());
        assert_eq!(
            start().providers().len(),
            1,
            "{}: {}",
            library.display(),
            start().load_report()
        );
    });
}

#[test]
fn folders_and_libraries_that_are_not_there_are_named() {
    case!("hostile", [], || {
        for path in [
            "/nonexistent/overt/providers",
            "/nonexistent/libovert_none.so",
        ] {
            let error = Runtime::builder()
                .search(false)
                .providers(path)
                .start()
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(path) && error.contains("there is no such file or folder"),
                "{error}"
            );
        }
        let runtime = Runtime::builder().search(false).start().unwrap();
        assert!(runtime.devices().is_empty());
        let error = runtime.device("cpu").unwrap_err().to_string();
        assert!(error.contains("no device `cpu`; there is none"), "{error}");
    });
}

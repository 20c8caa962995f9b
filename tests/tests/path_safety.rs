//! Scenario 18: providers are loaded from places that nobody else can change, and every refusal is recorded.

use overt_tests::built;
use overt_tests::case;
use overt_tests::hostile::{Hostile, Scratch, set_mode};
use overt_tests::manifest;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with one good provider.
fn good(scratch: &Scratch, name: &str) -> PathBuf {
    let folder = scratch.folder(name);
    let library = Hostile::new()
        .text("NAME", "good")
        .build(&folder, "good")
        .unwrap();
    manifest::write(&library, |_| {});
    folder
}

/// What a host program without settings says of a search list, started in a folder.
fn report(program: &Path, list: &str, folder: &Path) -> String {
    let output = Command::new(program)
        .arg("report")
        .current_dir(folder)
        .env(overt::load::PROVIDER_PATH_VARIABLE, list)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn probe() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_overt-probe"))
}

#[test]
fn a_safe_folder_of_the_environment_is_used() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("safe");
        let folder = good(&scratch, "safe");
        let text = report(probe(), folder.to_str().unwrap(), Path::new("/"));
        assert!(text.contains("loaded: provider `good`"), "{text}");
    });
}

#[test]
fn the_current_folder_empty_elements_and_relative_paths_are_refused_one_by_one() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("current");
        let folder = good(&scratch, "current");
        for (list, words) in [
            (":/nonexistent", "an empty element in a list of paths"),
            (
                "/nonexistent::/nonexistent2",
                "an empty element in a list of paths",
            ),
            ("/nonexistent:", "an empty element in a list of paths"),
            (".", "is relative"),
            ("./libgood.so", "is relative"),
            ("libgood.so", "is relative"),
            ("../current", "is relative"),
            ("/tmp/../tmp", "is relative"),
        ] {
            let text = report(probe(), list, &folder);
            assert!(text.contains(words), "{list}: {text}");
            assert!(!text.contains("loaded: provider"), "{list}: {text}");
        }
        // Nothing is taken from the current folder by itself.
        assert!(!report(probe(), "", &folder).contains("good"));
    });
}

#[test]
fn what_everybody_may_write_is_refused_and_named() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("writable");
        for (what, spoil) in [
            (
                "folder",
                Box::new(|folder: &Path| set_mode(folder, 0o777)) as Box<dyn Fn(&Path)>,
            ),
            (
                "library",
                Box::new(|folder: &Path| set_mode(&folder.join("libgood.so"), 0o666)),
            ),
            (
                "manifest",
                Box::new(|folder: &Path| set_mode(&folder.join("libgood.so.overt.json"), 0o666)),
            ),
        ] {
            let folder = good(&scratch, what);
            spoil(&folder);
            let text = report(probe(), folder.to_str().unwrap(), Path::new("/"));
            assert!(text.contains("writable by every user"), "{what}: {text}");
            assert!(!text.contains("loaded: provider"), "{what}: {text}");
        }
        // A folder above it counts as much.
        let above = scratch.folder("above");
        let folder = scratch.folder("above/inner");
        let library = Hostile::new().build(&folder, "good").unwrap();
        manifest::write(&library, |_| {});
        set_mode(&above, 0o777);
        let text = report(probe(), folder.to_str().unwrap(), Path::new("/"));
        assert!(
            text.contains("writable by every user") && text.contains(above.to_str().unwrap()),
            "{text}"
        );
    });
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    case!("hostile", [Gcc, Root], || {
        let scratch = Scratch::new("owner");
        let folder = good(&scratch, "owner");
        std::os::unix::fs::chown(folder.join("libgood.so"), Some(65_534), None).unwrap();
        let text = report(probe(), folder.to_str().unwrap(), Path::new("/"));
        assert!(
            text.contains("belongs to user 65534") && !text.contains("loaded: provider"),
            "{text}"
        );
    });
}

#[test]
fn a_privileged_process_uses_no_path_of_the_environment() {
    case!("hostile", [Gcc, Root, SetUserId], || {
        let scratch = Scratch::new("privileged");
        let folder = good(&scratch, "privileged");
        // Root's own copy with the set-user-ID bit, run by nobody: the caller chose the environment, and the rights are root's.
        let program = scratch.path().join("probe");
        std::fs::copy(probe(), &program).unwrap();
        for (mode, words) in [
            (
                0o4755,
                "paths from the environment are not used in a privileged process",
            ),
            (0o755, "loaded: provider `good`"),
        ] {
            set_mode(&program, mode);
            let output = Command::new("setpriv")
                .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
                .arg(&program)
                .arg("report")
                .current_dir("/")
                .env(overt::load::PROVIDER_PATH_VARIABLE, &folder)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains(words), "{mode:o}: {output:?}");
        }
        assert!(built::minimal().is_file());
    });
}

//! What goes wrong around Vulkan: no loader, a driver that does not load, files of compiled pipelines that are cut, damaged or another's. Each is
//! named, nothing crashes, and what can be rebuilt is.

use overt::kernels::dtype::F32;
use overt_tests::built;
use overt_tests::case;
use overt_tests::hostile::Scratch;
use overt_tests::problems;
use overt_tests::run::verified;
use overt_tests::start;
use overt_tests::vulkan::{self, LAVAPIPE};
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_loader_that_was_asked_for_and_is_not_there_is_named() {
    case!("vulkan", [], || {
        for (file, words) in [
            ("/nowhere/libvulkan.so.1", "/nowhere/libvulkan.so.1"),
            // A library, but no loader.
            ("libm.so.6", "libm.so.6"),
        ] {
            let error = start::vulkan()
                .knob("vulkan.loader", file)
                .start()
                .err()
                .unwrap();
            assert!(error.to_string().contains(words), "{error}");
        }
    });
}

/// The `overt` program with the Vulkan and the CPU provider and one file of a driver.
fn devices(driver: &Path) -> (bool, String) {
    let output = Command::new(built::program())
        .args(["--no-search", "--providers"])
        .arg(built::vulkan())
        .arg("--providers")
        .arg(built::cpu())
        .arg("doctor")
        .env_remove("OVERT_PROVIDER_PATH")
        .env("VK_DRIVER_FILES", driver)
        .env_remove("VK_ICD_FILENAMES")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
fn a_driver_that_does_not_load_leaves_the_others_and_is_named() {
    case!("vulkan", [Lavapipe], || {
        let scratch = Scratch::new("drivers");
        let missing = r#"{"file_format_version":"1.0.0","ICD":{"library_path":"/nowhere/libdriver.so","api_version":"1.3.0"}}"#;
        // A library that is no driver.
        let wrong = r#"{"file_format_version":"1.0.0","ICD":{"library_path":"libm.so.6","api_version":"1.3.0"}}"#;
        for (name, text, words) in [
            ("missing", missing, "/nowhere/libdriver.so"),
            ("wrong", wrong, "driver"),
            ("garbage", "{\"file_format", "driver"),
            ("empty", "", "driver"),
        ] {
            let file = scratch.path().join(format!("{name}.json"));
            std::fs::write(&file, text).unwrap();
            let (success, said) = devices(&file);
            assert!(success, "{name}: {said}");
            let line = |provider: &str| {
                let mut lines = said.lines().filter(|l| l.trim().starts_with(provider));
                lines.next().unwrap_or_default().to_owned()
            };
            assert!(line("cpu ").contains(" 1 devices"), "{name}: {said}");
            assert!(line("vulkan ").contains(" 0 devices"), "{name}: {said}");
            assert!(said.contains(words), "{name}: {said}");
        }
        let (success, said) = devices(&scratch.path().join("there is none.json"));
        assert!(success && said.contains("1 devices"), "{said}");
    });
}

/// Runs one kernel with pipelines kept in a folder, and answers the file that is there then.
fn kept(folder: &Path) -> PathBuf {
    let runtime = start::vulkan()
        .knob("vulkan.pipeline_cache", folder.to_str().unwrap())
        .start()
        .unwrap();
    let device = vulkan::device(&runtime, LAVAPIPE);
    let (kernel, _) = verified(&runtime, &device, problems::add(3, 40, F32));
    assert_eq!(kernel, "vulkan/add/portable");
    drop(device);
    drop(runtime);
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

const MAGIC: &[u8] = b"overt pipelines\n";

#[test]
fn kept_pipelines_that_are_cut_damaged_or_anothers_are_made_anew() {
    case!("vulkan", [Lavapipe], || {
        let scratch = Scratch::new("pipelines");
        let folder = scratch.folder("kept");
        let file = kept(&folder);
        let whole = std::fs::read(&file).unwrap();
        assert!(whole.starts_with(MAGIC));
        assert!(whole.len() > 88, "the driver's own data follows");
        // With what was kept, it runs, and nothing new is written.
        let written = std::fs::metadata(&file).unwrap().modified().unwrap();
        kept(&folder);
        let flipped = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            bytes
        };
        let mut longer = whole.clone();
        longer.extend([0; 100]);
        let last = whole.len() - 1;
        for (name, bytes) in [
            ("empty", Vec::new()),
            ("short", whole[..40].to_vec()),
            ("head alone", whole[..88].to_vec()),
            ("cut", whole[..last].to_vec()),
            ("longer", longer),
            ("no magic", flipped(3)),
            ("another key", flipped(20)),
            ("another digest", flipped(60)),
            ("another length", flipped(81)),
            ("damaged", flipped(last)),
            ("garbage", vec![0xa5; 5000]),
        ] {
            std::fs::write(&file, &bytes).unwrap();
            assert_eq!(kept(&folder), file, "{name}");
            let again = std::fs::read(&file).unwrap();
            assert!(again.starts_with(MAGIC), "{name}");
            assert_eq!(again[16..48], whole[16..48], "{name}");
            assert_ne!(again, bytes, "{name}");
        }
        assert!(std::fs::metadata(&file).unwrap().modified().unwrap() >= written);
        // A folder where the file should be, and a folder that cannot be made: it runs without.
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        kept(&folder);
        let runtime = start::vulkan()
            .knob("vulkan.pipeline_cache", "/proc/nowhere/at/all")
            .start()
            .unwrap();
        let device = vulkan::device(&runtime, LAVAPIPE);
        verified(&runtime, &device, problems::add(3, 40, F32));
    });
}

#[test]
fn two_that_keep_pipelines_at_once_leave_a_whole_file() {
    case!("vulkan", [Lavapipe], || {
        let scratch = Scratch::new("pipelines2");
        let folder = scratch.folder("kept");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let runtime = start::vulkan()
                            .knob("vulkan.pipeline_cache", folder.to_str().unwrap())
                            .start()
                            .unwrap();
                        let device = vulkan::device(&runtime, LAVAPIPE);
                        verified(&runtime, &device, problems::add(3, 40, F32));
                    }
                });
            }
        });
        let file = kept(&folder);
        assert!(std::fs::read(file).unwrap().starts_with(MAGIC));
    });
}

#[test]
fn an_unknown_feature_is_refused_with_the_known_ones() {
    case!("vulkan", [Lavapipe], || {
        let error = start::vulkan()
            .knob("vulkan.features", "fp16,fp17")
            .start()
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("fp17") && error.contains("storage16"),
            "{error}"
        );
        let runtime = start::vulkan()
            .knob("vulkan.features", "none")
            .start()
            .unwrap();
        let device = vulkan::device(&runtime, LAVAPIPE);
        let facts = &device.info().facts;
        let on = |f: &&overt::load::FactDecl| f.value == overt::Value::Bool(true);
        let features: Vec<_> = facts
            .iter()
            .filter(|f| f.name.starts_with("feature."))
            .filter(on)
            .collect();
        assert!(features.is_empty(), "{features:?}");
        verified(&runtime, &device, problems::add(3, 40, F32));
    });
}

//! Receipts of the Vulkan provider against an observer that stands between the loader and the driver, and what becomes of a device that is lost or
//! has no memory left.
//!
//! The observer is a layer, which the loader reads from the environment; so each test runs itself again as a program of its own.

use overt::kernels::dtype::{BF16, F32};
use overt::{Error, Stream, Tensor};
use overt_tests::built;
use overt_tests::case;
use overt_tests::hostile::Scratch;
use overt_tests::problems;
use overt_tests::run::Uploaded;
use overt_tests::vulkan::{self, LAVAPIPE};
use std::path::Path;
use std::process::Command;

/// Set in the program that is observed: where it leaves what its receipts said.
const INSIDE: &str = "OVERT_TEST_OBSERVED";

/// Runs a test of this file again, under the observer, and answers what the observer noted.
fn observed(test: &str, fail: &str) -> (String, String) {
    let scratch = Scratch::new("observer");
    let manifest = serde_json::json!({
        "file_format_version": "1.1.2",
        "layer": {
            "name": "VK_LAYER_OVERT_observer",
            "type": "GLOBAL",
            "library_path": built::vkobserver(),
            "api_version": "1.3.0",
            "implementation_version": "1",
            "description": "notes what is executed",
        },
    });
    std::fs::write(scratch.path().join("observer.json"), manifest.to_string()).unwrap();
    let (log, said) = (scratch.path().join("log"), scratch.path().join("said"));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, &said)
        .env("VK_LAYER_PATH", scratch.path())
        .env("VK_INSTANCE_LAYERS", "VK_LAYER_OVERT_observer")
        .env("OVERT_VKOBSERVER_LOG", &log)
        .env("OVERT_VKOBSERVER_FAIL", fail)
        .env_remove("OVERT_LEDGER_DIR")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    (read(&log), read(&said))
}

fn stream() -> Stream {
    let runtime = vulkan::runtime();
    let device = vulkan::device(&runtime, LAVAPIPE);
    runtime.stream(&device).unwrap()
}

/// Whether an error names the loss.
fn lost(error: &Error) -> bool {
    error.to_string().contains("device lost")
}

/// A line as the observer writes it, from the receipt of the last launch.
fn line(stream: &Stream) -> String {
    let receipt = stream.last_receipt();
    assert_eq!(receipt.launches, 1);
    let [x, y, z] = receipt.grid;
    format!("{:016x} {x} {y} {z}\n", receipt.image_digest)
}

#[test]
fn receipts_say_what_was_handed_to_the_queue() {
    case!("vulkan", [Lavapipe], || {
        let Some(said) = std::env::var_os(INSIDE) else {
            let (log, said) = observed("receipts_say_what_was_handed_to_the_queue", "");
            assert_eq!(log, said);
            assert!(log.lines().count() >= 14, "{log}");
            return;
        };
        let stream = stream();
        let mut lines = String::new();
        for rows in [1, 3, 700] {
            let sum = Uploaded::new(&stream, problems::add(rows, 33, BF16)).unwrap();
            stream.dispatch(&sum.call()).unwrap();
            lines += &line(&stream);
            let norm = Uploaded::new(&stream, problems::rms_norm(rows, 64)).unwrap();
            stream.dispatch(&norm.call()).unwrap();
            lines += &line(&stream);
            norm.check(&stream).unwrap();
        }
        // Nothing to do is no launch.
        let empty = Uploaded::new(&stream, problems::add(0, 33, BF16)).unwrap();
        assert_eq!(stream.dispatch(&empty.call()).unwrap().launches, 0);
        // What is captured runs when it is replayed, each time.
        let sum = Uploaded::new(&stream, problems::add(5, 33, F32)).unwrap();
        let plan = stream.runtime().plan(&sum.call(), stream.device()).unwrap();
        plan.launch(&stream).unwrap();
        let one = line(&stream);
        lines += &one;
        let capture = stream.capture().unwrap();
        plan.launch(&stream).unwrap();
        let graph = capture.end().unwrap();
        for _ in 0..7 {
            graph.replay(&stream).unwrap();
            lines += &one;
        }
        sum.check(&stream).unwrap();
        std::fs::write(said, lines).unwrap();
    });
}

#[test]
fn a_lost_device_is_named_and_stays_lost_and_another_runtime_goes_on() {
    case!("vulkan", [Lavapipe], || {
        let Some(said) = std::env::var_os(INSIDE) else {
            let test = "a_lost_device_is_named_and_stays_lost_and_another_runtime_goes_on";
            let (_, said) = observed(test, "submit:4");
            assert_eq!(said, "lost");
            return;
        };
        let stream = stream();
        let sum = Uploaded::new(&stream, problems::add(3, 40, F32)).unwrap();
        let mut first = None;
        for turn in 1..=8 {
            stream.dispatch(&sum.call()).unwrap();
            if let Err(error) = stream.sync() {
                first = Some((turn, error));
                break;
            }
        }
        let (turn, error) = first.expect("the fourth submission fails");
        assert!(turn <= 4, "{turn}");
        assert!(lost(&error), "{error}");
        // Everything after it says so too, and nothing hangs.
        let tensor = sum.tensors[0].as_ref().unwrap();
        for (call, again) in [
            ("sync", stream.sync().err()),
            ("dispatch", stream.dispatch(&sum.call()).err()),
            ("read_vec", stream.read_vec(tensor).err()),
            ("fill", stream.fill(tensor, 1).err()),
            ("flush", stream.flush().err()),
            ("empty", Tensor::empty(stream.device(), F32, &[40]).err()),
        ] {
            assert!(again.as_ref().is_some_and(lost), "{call}: {again:?}");
        }
        // Another opening of the same device works, beside the lost one and after it. The loader forgets the observer, and so its count, with the
        // last opening; therefore one stays.
        let beside = self::stream();
        goes_on(&beside);
        drop((sum, stream));
        goes_on(&self::stream());
        goes_on(&beside);
        std::fs::write(said, "lost").unwrap();
    });
}

/// Uses a device for longer than the lost one lived.
fn goes_on(stream: &Stream) {
    let sum = Uploaded::new(stream, problems::add(3, 40, F32)).unwrap();
    for _ in 0..6 {
        stream.dispatch(&sum.call()).unwrap();
        stream.sync().unwrap();
    }
    sum.check(stream).unwrap();
}

/// Large enough that each has memory for itself.
const LARGE: i64 = 12 << 20;

/// Makes four large tensors, each filled with its number, and answers the numbers of those for which there was memory.
fn four(stream: &Stream) -> Vec<u8> {
    let mut kept = Vec::new();
    for turn in 0..4_u8 {
        match Tensor::empty(stream.device(), F32, &[LARGE]) {
            Ok(tensor) => {
                stream.fill(&tensor, turn).unwrap();
                kept.push((turn, tensor));
            }
            Err(error) => assert!(error.is_out_of_memory(), "{error}"),
        }
    }
    for (turn, tensor) in &kept {
        let got = stream.read_vec(tensor).unwrap();
        assert!(got.iter().all(|byte| byte == turn));
    }
    kept.into_iter().map(|(turn, _)| turn).collect()
}

#[test]
fn memory_that_runs_out_is_an_error_and_the_next_allocation_works() {
    case!("vulkan", [Lavapipe], || {
        let Some(said) = std::env::var_os(INSIDE) else {
            let test = "memory_that_runs_out_is_an_error_and_the_next_allocation_works";
            // The first allocation is the provider's own. The runtime asks a second time, once it has given back what nobody needs.
            for (fail, kept) in [
                ("allocate:4", "[0, 1, 2, 3]"),
                ("allocate:4-5", "[0, 1, 3]"),
                ("allocate_host:4", "[0, 1, 2, 3]"),
                ("allocate_host:4-5", "[0, 1, 3]"),
            ] {
                let (_, said) = observed(test, fail);
                assert_eq!(said, kept, "{fail}");
            }
            return;
        };
        std::fs::write(said, format!("{:?}", four(&stream()))).unwrap();
    });
}

#[test]
fn an_upload_without_memory_is_an_error_and_changes_nothing() {
    case!("vulkan", [Lavapipe], || {
        let Some(said) = std::env::var_os(INSIDE) else {
            let test = "an_upload_without_memory_is_an_error_and_changes_nothing";
            // The provider's own, the tensor, then what the upload waits in, for which two types of memory are tried.
            let (_, said) = observed(test, "allocate:3-4");
            assert_eq!(said, "once");
            return;
        };
        let stream = stream();
        let tensor = Tensor::empty(stream.device(), F32, &[LARGE]).unwrap();
        let bytes = vec![7; LARGE as usize * 4];
        // Something before it, so that the bytes cannot go to their place at once.
        stream.fill(&tensor, 3).unwrap();
        let error = stream.write(&tensor, &bytes).unwrap_err();
        assert!(error.is_out_of_memory(), "{error}");
        let got = stream.read_vec(&tensor).unwrap();
        assert!(got.iter().all(|byte| *byte == 3));
        stream.fill(&tensor, 4).unwrap();
        stream.write(&tensor, &bytes).unwrap();
        assert!(stream.read_vec(&tensor).unwrap() == bytes);
        std::fs::write(said, "once").unwrap();
    });
}

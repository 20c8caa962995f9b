//! Scenario 5: a kernel runs where one of its images does, and nowhere else; the reason names the device and the images.

use overt::kernels::host::HostCall;
use overt::{Error, ReasonCause};
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::{Uploaded, verified};
use overt_tests::start::Fake;

/// Device, problem, and the kernel that serves it or the reason that must be given.
type Fit = (
    &'static str,
    fn() -> HostCall,
    Result<&'static str, &'static [&'static str]>,
);

fn norm() -> HostCall {
    problems::rms_norm(2, 16)
}

fn silu() -> HostCall {
    problems::silu_and_mul(2, 16)
}

const FITS: &[Fit] = &[
    ("gfx942", norm, Ok("fake/rms_norm/cdna")),
    ("gfx942:xnack-", norm, Ok("fake/rms_norm/cdna")),
    ("gfx942:sramecc+:xnack-", norm, Ok("fake/rms_norm/cdna")),
    (
        "gfx1201",
        norm,
        Err(&[
            "no image for gfx1201; has gfx942",
            "no image for gfx1201; has sm_90a",
            "no image for gfx1201; has sm_80..",
        ]),
    ),
    ("gfx940", norm, Err(&["no image for gfx940; has gfx942"])),
    ("gfx90a", norm, Err(&["no image for gfx90a; has gfx942"])),
    ("gfx1201", silu, Ok("fake/silu_and_mul/rdna")),
    ("gfx1201:xnack-", silu, Ok("fake/silu_and_mul/rdna")),
    (
        "gfx12010",
        silu,
        Err(&[
            "no image for gfx12010; has gfx1201",
            "no image for gfx12010; has gfx942:xnack+",
        ]),
    ),
    ("gfx1200", silu, Err(&["no image for gfx1200; has gfx1201"])),
    ("gfx942:xnack+", silu, Ok("fake/silu_and_mul/xnack")),
    (
        "gfx942:xnack-",
        silu,
        Err(&["no image for gfx942:xnack-; has gfx942:xnack+"]),
    ),
    (
        "gfx942",
        silu,
        Err(&["no image for gfx942; has gfx942:xnack+"]),
    ),
    ("sm_90a", norm, Ok("fake/rms_norm/hopper")),
    ("sm_90", norm, Ok("fake/rms_norm/hopper")),
    (
        "sm_100",
        norm,
        Err(&[
            "no image for sm_100; has sm_90a",
            "no image for sm_100; has sm_80..",
        ]),
    ),
    ("sm_80", norm, Ok("fake/rms_norm/ampere")),
    ("sm_89", norm, Ok("fake/rms_norm/ampere")),
    ("sm_75", norm, Err(&["no image for sm_75; has sm_80.."])),
    ("sm_75", silu, Ok("fake/silu_and_mul/jit")),
    ("sm_120", silu, Ok("fake/silu_and_mul/jit")),
    ("sm_61", silu, Err(&["no image for sm_61; has sm_70+"])),
];

#[test]
fn a_kernel_runs_where_an_image_of_it_does_and_nowhere_else() {
    case!("fake", [Gcc], || {
        for (arch, host, wanted) in FITS {
            let started = Fake::of(arch).start();
            let device = started.device("fake");
            match wanted {
                Ok(kernel) => assert_eq!(
                    verified(&started.runtime, &device, host()).0,
                    *kernel,
                    "{arch}"
                ),
                Err(parts) => {
                    let stream = started.runtime.stream(&device).unwrap();
                    let uploaded = Uploaded::new(&stream, host()).unwrap();
                    let error = stream.dispatch(&uploaded.call()).unwrap_err();
                    assert!(matches!(error, Error::NoKernel(_)), "{arch}: {error}");
                    for part in *parts {
                        assert!(
                            error.to_string().contains(part),
                            "{arch}: `{part}` is missing from\n{error}"
                        );
                    }
                    for entry in ["launch", "open_kernel", "prepare", "body"] {
                        assert_eq!(
                            started.observer.count(entry),
                            0,
                            "{arch}: {entry} was called"
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn an_image_that_was_not_built_is_told_apart_from_one_that_does_not_fit() {
    case!("fake", [Gcc], || {
        let started = Fake::of("gfx1100").start();
        let problem = problems::problem(&started.runtime, &norm());
        let selection = started
            .runtime
            .explain(&problem, &started.device("fake"))
            .unwrap();
        let of = |kernel: &str| {
            selection
                .rejected
                .iter()
                .find(|r| r.kernel == kernel)
                .unwrap()
        };
        let unbuilt = of("fake/rms_norm/unbuilt");
        assert!(unbuilt.declares_arch);
        assert_eq!(unbuilt.reasons[0].cause(), ReasonCause::NotBuilt);
        assert!(
            unbuilt.reasons[0]
                .to_string()
                .contains("no compiler for gfx1100"),
            "{selection}"
        );
        assert!(!of("fake/rms_norm/cdna").declares_arch);
        assert_eq!(
            of("fake/rms_norm/cdna").reasons[0].cause(),
            ReasonCause::Image
        );
    });
}

#[test]
fn a_manifest_that_claims_an_image_the_file_does_not_hold_is_refused() {
    case!("fake", [Gcc], || {
        use overt_tests::manifest::beside;
        type Change = fn(&mut overt::load::Manifest);
        let lies: [(&str, Change); 4] = [
            ("norm.gfx1201.more", |m| {
                let mut image = m
                    .images
                    .iter()
                    .find(|i| i.id == "norm.gfx1201")
                    .cloned()
                    .unwrap();
                image.id = "norm.gfx1201.more".into();
                m.images.push(image);
            }),
            ("norm.gfx942", |m| {
                m.images.retain(|i| i.id != "norm.gfx942")
            }),
            ("norm.sm_80", |m| {
                m.images
                    .iter_mut()
                    .find(|i| i.id == "norm.sm_80")
                    .unwrap()
                    .digest = "ab".repeat(32)
            }),
            ("norm.gfx1100", |m| {
                m.images
                    .iter_mut()
                    .find(|i| i.id == "norm.gfx1100")
                    .unwrap()
                    .not_built = None
            }),
        ];
        for (named, change) in lies {
            let scratch = overt_tests::hostile::Scratch::new("lying");
            let library = beside(overt_tests::built::fake(), scratch.path(), change);
            let error = overt::Runtime::builder()
                .search(false)
                .providers(&library)
                .start()
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("its manifest lies") && error.contains(named),
                "{named}: {error}"
            );
        }
        let scratch = overt_tests::hostile::Scratch::new("honest");
        let library = beside(overt_tests::built::fake(), scratch.path(), |_| {});
        overt::Runtime::builder()
            .search(false)
            .providers(&library)
            .start()
            .unwrap();
    });
}

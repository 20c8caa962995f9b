//! Promise 8: bad input gets a typed error that names the operand, fact or file, and nothing has run.

use overt::kernels::dtype::{F16, F32, F64, I32, Q8_0};
use overt::{
    Allocation, BindError, BindProblem, Call, Error, MemoryKind, Op, Stream, Tensor, View,
    ViewError,
};
use overt_tests::case;
use overt_tests::start::{Fake, Started};

struct Bench {
    started: Started,
    stream: Stream,
    add: Op,
}

fn bench() -> Bench {
    let started = Fake::of("sm_86,sm_86").start();
    let stream = started.runtime.stream(&started.device("fake:0")).unwrap();
    let add = started.runtime.op("add").unwrap();
    Bench {
        started,
        stream,
        add,
    }
}

impl Bench {
    fn tensor(&self, dtype: overt::DType, shape: &[i64]) -> Tensor {
        Tensor::empty(self.stream.device(), dtype, shape).unwrap()
    }

    /// The error of a sum of these, from dispatch, plan and explanation alike.
    fn refused(&self, a: &Tensor, b: &Tensor, out: &Tensor) -> BindProblem {
        let call = Call::new(&self.add)
            .operand("a", a)
            .unwrap()
            .operand("b", b)
            .unwrap()
            .operand("out", out)
            .unwrap();
        let of = |error: Error| match error {
            Error::Bind(BindError { op, problem }) => {
                assert_eq!(op, "add.1");
                *problem
            }
            other => panic!("{other}"),
        };
        let dispatched = of(self.stream.dispatch(&call).unwrap_err());
        let planned = of(self
            .started
            .runtime
            .plan(&call, self.stream.device())
            .unwrap_err());
        assert_eq!(dispatched, planned);
        dispatched
    }
}

/// Whatever the case did, no entry that enqueues work was reached.
impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.started.observer.count("launch"), 0);
            assert!(
                self.started
                    .runtime
                    .counts()
                    .iter()
                    .all(|c| c.counts.enqueued == 0)
            );
        }
    }
}

#[test]
fn ranks_dtypes_and_symbols() {
    case!("fake", [Gcc], || {
        let bench = bench();
        let (good, out) = (bench.tensor(F32, &[2, 8]), bench.tensor(F32, &[2, 8]));
        let flat = bench.tensor(F32, &[16]);
        let text = bench.refused(&good, &flat, &out).to_string();
        assert_eq!(text, "operand `b` has rank 1; wanted 2: [T,D]");
        for (dtype, name) in [(F64, "f64"), (I32, "i32"), (Q8_0, "q8_0")] {
            let wrong = bench.tensor(dtype, &[2, 32]);
            let text = bench.refused(&wrong, &good, &out).to_string();
            assert_eq!(
                text,
                format!("operand `a` has dtype {name}; wanted one of f32, f16, bf16")
            );
        }
        let half = bench.tensor(F16, &[2, 8]);
        let text = bench.refused(&good, &good, &half).to_string();
        assert_eq!(text, "operand `out` has dtype f16; wanted f32 like `a`");
        for (shape, dimension) in [([3, 8], 0), ([2, 9], 1)] {
            let text = bench
                .refused(&good, &bench.tensor(F32, &shape), &out)
                .to_string();
            assert!(
                text.starts_with(&format!(
                    "operand `b` dimension {dimension} is {}",
                    shape[dimension]
                )),
                "{text}"
            );
            assert!(text.contains("of `a`"), "{text}");
        }
    });
}

#[test]
fn missing_and_unknown_operands_attributes_ops_and_devices() {
    case!("fake", [Gcc], || {
        let bench = bench();
        let x = bench.tensor(F32, &[2, 8]);
        let error = bench
            .stream
            .dispatch(&Call::new(&bench.add).operand("a", &x).unwrap())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "add.1: operand `b` is missing; it is float[T,D]"
        );
        let error = Call::new(&bench.add)
            .operand("ouT", &x)
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no operand `ouT`")
                && error.contains("did you mean `out`")
                && error.contains("`a`, `b`, `out`"),
            "{error}"
        );
        let norm = bench.started.runtime.op("rms_norm").unwrap();
        let w = bench.tensor(F32, &[8]);
        let error = Call::new(&norm)
            .attr("esp", 1.0)
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no attribute `esp`") && error.contains("did you mean `eps`"),
            "{error}"
        );
        for (error, words) in [
            (
                Call::new(&norm).attr("eps", true).map(|_| ()),
                "attribute `eps` is the truth value true; wanted a number",
            ),
            (
                Call::new(&norm).attr("eps", "small").map(|_| ()),
                "attribute `eps` is the text \"small\"; wanted a number",
            ),
            (
                Call::new(&norm).attr("eps", f64::NAN).map(|_| ()),
                "attribute `eps` is NaN; wanted a finite number",
            ),
            (
                Call::new(&norm).attr("eps", f64::INFINITY).map(|_| ()),
                "attribute `eps` is inf; wanted a finite number",
            ),
        ] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let call = Call::new(&norm)
            .operand("x", &x)
            .unwrap()
            .operand("weight", &w)
            .unwrap()
            .operand("out", &x)
            .unwrap();
        let error = bench.stream.dispatch(&call).unwrap_err().to_string();
        assert_eq!(
            error,
            "rms_norm.1: attribute `eps` is missing; it has no default"
        );
        let error = bench
            .started
            .runtime
            .op("rms_nrom")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no op `rms_nrom`") && error.contains("did you mean `rms_norm.1`"),
            "{error}"
        );
        let error = bench
            .started
            .runtime
            .device("fake:7")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no device `fake:7`") && error.contains("`fake:0`, `fake:1`"),
            "{error}"
        );
        let error = bench
            .started
            .runtime
            .set_knob("fake.rwos", "3")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("fake.rwos") && error.contains("did you mean `fake.rows`"),
            "{error}"
        );
        for (value, words) in [
            ("0", "an integer in 1..=4096"),
            ("4097", "an integer in 1..=4096"),
            ("many", "an integer"),
        ] {
            let error = bench
                .started
                .runtime
                .set_knob("fake.rows", value)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("fake.rows") && error.contains(words),
                "{error}"
            );
        }
    });
}

#[test]
fn shapes_that_wrap_and_views_that_do_not_fit() {
    case!("fake", [Gcc], || {
        let bench = bench();
        for shape in [
            &[1i64 << 32, 1 << 32][..],
            &[i64::MAX, 2],
            &[1 << 62, 1, 8],
            &[0, 1 << 40, 1 << 40],
            &[i64::MAX],
        ] {
            let error = View::contiguous(F32, shape).unwrap_err();
            assert!(
                matches!(error, ViewError::Overflow { .. }),
                "{shape:?}: {error}"
            );
            assert!(Tensor::empty(bench.stream.device(), F32, shape).is_err());
        }
        for (shape, strides) in [
            ([2, 2], [i64::MAX, 1]),
            ([i64::MAX, 1], [2, 1]),
            ([3, 3], [i64::MAX / 2, i64::MAX / 2]),
        ] {
            assert!(
                matches!(
                    View::strided(F32, &shape, &strides),
                    Err(ViewError::Overflow { .. })
                ),
                "{shape:?} {strides:?}"
            );
        }
        assert!(matches!(
            View::contiguous(F32, &[-1, 2]),
            Err(ViewError::Negative {
                what: "extent",
                dimension: 0,
                value: -1
            })
        ));
        assert!(matches!(
            View::strided(F32, &[2, 2], &[2, -1]),
            Err(ViewError::Negative {
                what: "stride",
                dimension: 1,
                value: -1
            })
        ));
        assert!(matches!(
            View::strided(F32, &[2, 2], &[1]),
            Err(ViewError::StrideCount {
                strides: 1,
                rank: 2
            })
        ));
        assert!(matches!(
            View::contiguous(F32, &[1; 9]),
            Err(ViewError::Rank { rank: 9 })
        ));
        assert!(matches!(
            View::contiguous(Q8_0, &[2, 33]),
            Err(ViewError::Blocks { .. })
        ));
        let allocation = Allocation::new(bench.stream.device(), 64, 0, MemoryKind::Device).unwrap();
        for (shape, strides, offset) in [
            ([2, 8], [8, 1], 4),
            ([2, 8], [9, 1], 0),
            ([3, 8], [8, 1], 0),
            ([1, 1], [1, 1], u64::MAX - 1),
        ] {
            let view = View::strided(F32, &shape, &strides).unwrap();
            let error = Tensor::over(allocation.clone(), view, offset).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::View(ViewError::OutOfBounds { available: 64, .. })
                ),
                "{error}"
            );
        }
        // A hole in the middle of an empty view reaches nothing, so it fits.
        Tensor::over(
            allocation.clone(),
            View::contiguous(F32, &[0, 1 << 30]).unwrap(),
            64,
        )
        .unwrap();
        let tensor = bench.tensor(F32, &[4, 8]);
        for (dimension, start, len) in [(0, 3, 2), (0, -1, 1), (1, 0, 9), (0, i64::MAX, 2)] {
            assert!(matches!(
                tensor.slice(dimension, start, len),
                Err(Error::View(ViewError::Slice { .. }))
            ));
        }
    });
}

#[test]
fn null_and_misaligned_memory() {
    case!("fake", [Gcc], || {
        let bench = bench();
        let device = bench.stream.device();
        // SAFETY: nothing is taken in, which is what is tested.
        let null = unsafe {
            [
                Allocation::import_host(device, std::ptr::null(), 64),
                Allocation::import_device(device, 0, 64),
            ]
        };
        for error in null {
            let error = error.unwrap_err();
            assert!(error.to_string().contains("memory_import"), "{error}");
        }
        let bytes = [0u8; 64];
        // SAFETY: the bytes outlive the allocation, and nothing runs on them.
        let allocation =
            unsafe { Allocation::import_host(device, bytes.as_ptr().wrapping_add(1), 63) }.unwrap();
        let odd = Tensor::over(allocation, View::contiguous(F32, &[4]).unwrap(), 0);
        // An allocator may put the array anywhere, so one of the two is odd.
        if bytes.as_ptr().addr().is_multiple_of(4) {
            assert!(matches!(
                odd,
                Err(Error::View(ViewError::Misaligned {
                    alignment: 1,
                    needed: 4,
                    ..
                }))
            ));
        }
        let x = bench.tensor(F32, &[2, 8]);
        assert!(matches!(
            bench.stream.write(&x, &[0; 63]),
            Err(Error::DataSize {
                tensor: 64,
                data: 63
            })
        ));
        assert!(matches!(
            bench.stream.read(&x, &mut [0; 65]),
            Err(Error::DataSize {
                tensor: 64,
                data: 65
            })
        ));
    });
}

#[test]
fn overlap_read_only_and_shared_elements() {
    case!("fake", [Gcc], || {
        let bench = bench();
        let rows = bench.tensor(F32, &[5, 8]);
        let part = |start| rows.slice(0, start, 2).unwrap();
        let (x, y) = (bench.tensor(F32, &[2, 8]), bench.tensor(F32, &[2, 8]));
        let text = bench.refused(&part(0), &x, &part(1)).to_string();
        assert!(
            text.starts_with("operand `out` is written and shares memory with `a`"),
            "{text}"
        );
        let text = bench.refused(&x, &part(2), &part(1)).to_string();
        assert!(
            text.starts_with("operand `out` is written and shares memory with `b`")
                && text.contains("exactly the same elements as `a`, `b`"),
            "{text}"
        );
        assert_eq!(
            bench.refused(&x, &y, &x.clone().read_only()),
            BindProblem::ReadOnly {
                operand: "out".into()
            }
        );
        let repeated = Tensor::over(
            x.allocation().clone(),
            View::strided(F32, &[2, 8], &[0, 1]).unwrap(),
            0,
        )
        .unwrap();
        let text = bench.refused(&y, &y, &repeated).to_string();
        assert!(
            text.contains("operand `out` is written, and its stride 0 in dimension 0"),
            "{text}"
        );
        let woven = Tensor::over(
            rows.allocation().clone(),
            View::strided(F32, &[2, 8], &[4, 1]).unwrap(),
            0,
        )
        .unwrap();
        assert!(matches!(
            bench.refused(&x, &y, &woven),
            BindProblem::SharedElements { .. }
        ));
        // Two imports of one stretch of memory overlap too.
        let mut bytes = vec![0u8; 1024];
        let at = bytes
            .as_mut_ptr()
            .wrapping_add(bytes.as_ptr().align_offset(64));
        // SAFETY: the bytes outlive both, and nothing runs on them.
        let imports = unsafe {
            [0, 4].map(|by| {
                Allocation::import_host(bench.stream.device(), at.wrapping_add(by), 512).unwrap()
            })
        };
        let [a, out] = imports.map(|allocation| {
            Tensor::over(allocation, View::contiguous(F32, &[2, 8]).unwrap(), 0).unwrap()
        });
        assert!(matches!(
            bench.refused(&a, &y, &out),
            BindProblem::Overlap { .. }
        ));
    });
}

#[test]
fn operands_plans_and_streams_of_other_devices() {
    case!("fake", [Gcc], || {
        let bench = bench();
        let there = bench.started.device("fake:1");
        let (x, y) = (
            bench.tensor(F32, &[2, 8]),
            Tensor::empty(&there, F32, &[2, 8]).unwrap(),
        );
        let out = bench.tensor(F32, &[2, 8]);
        let text = bench.refused(&x, &y, &out).to_string();
        assert_eq!(
            text,
            "operand `b` is on fake:1; the call is for fake:0: copy it there first"
        );
        let call = Call::new(&bench.add)
            .operand("a", &x)
            .unwrap()
            .operand("b", &x)
            .unwrap()
            .operand("out", &out)
            .unwrap();
        let plan = bench
            .started
            .runtime
            .plan(&call, bench.stream.device())
            .unwrap();
        let other = bench.started.runtime.stream(&there).unwrap();
        let error = plan.launch(&other).unwrap_err().to_string();
        assert!(
            error.contains("this plan belongs to fake:0, and the stream is on fake:1"),
            "{error}"
        );
        assert!(matches!(
            other.write(&x, &[0; 64]),
            Err(Error::WrongDevice { what: "tensor", .. })
        ));
    });
}

#[test]
fn bounds_of_lengths() {
    case!("fake", [Gcc], || {
        let bench = bench();
        let host = overt_tests::problems::Attention::default().filled();
        let uploaded = overt_tests::run::Uploaded::new(&bench.stream, host).unwrap();
        for (attr, value) in [
            ("max_query_len", 5),
            ("max_query_len", -1),
            ("max_seq_len", 17),
            ("max_seq_len", i64::MIN),
        ] {
            let error = bench
                .stream
                .dispatch(&uploaded.call().attr(attr, value).unwrap())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(&format!(
                    "attribute `{attr}` is {value}; it bounds a length"
                )),
                "{error}"
            );
        }
    });
}

#[test]
fn a_malformed_manifest_names_file_and_line() {
    case!("fake", [Gcc], || {
        let scratch = overt_tests::hostile::Scratch::new("malformed");
        let library =
            overt_tests::manifest::beside(overt_tests::built::fake(), scratch.path(), |_| {});
        let path = overt::load::Manifest::path_for(&library);
        let good = std::fs::read_to_string(&path).unwrap();
        for (from, to) in [
            ("\"schema\": 1,", "\"schema\": 1"),
            ("\"kernels\": [", "\"kernels\": 7, \"x\": ["),
            ("\"provider\": \"fake\",", "\"provider\": 3,"),
        ] {
            std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
            let error = overt::Runtime::builder()
                .search(false)
                .providers(&library)
                .start()
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(path.to_str().unwrap()) && error.contains("line "),
                "{to}: {error}"
            );
        }
    });
}

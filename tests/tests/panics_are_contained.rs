//! A panic in any entry of a provider is an error with its words; the process and every other instance go on.

use overt::kernels::dtype::F32;
use overt::{Allocation, Error, Event, Graph, Plan, Runtime, Stream, Tensor};
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::{Uploaded, verified};
use overt_tests::start::{Fake, Started};

struct Bench {
    runtime: Runtime,
    stream: Stream,
}

impl Bench {
    fn sum(&self) -> Result<Uploaded, Error> {
        Uploaded::new(&self.stream, problems::add(2, 8, F32))
    }

    fn product(&self, k: i64) -> Result<Uploaded, Error> {
        Uploaded::new(&self.stream, problems::matmul(2, 2, k, F32))
    }

    fn dispatch(&self) -> Result<(), Error> {
        self.stream.dispatch(&self.sum()?.call()).map(drop)
    }

    fn plan(&self, k: i64) -> Result<Plan, Error> {
        self.runtime
            .plan(&self.product(k)?.call(), self.stream.device())
    }

    fn capture(&self) -> Result<Graph, Error> {
        let sum = self.sum()?;
        let capture = self.stream.capture()?;
        self.stream.dispatch(&sum.call())?;
        capture.end()
    }

    fn recorded(&self) -> Result<Event, Error> {
        let mut event = Event::new(self.stream.device())?;
        event.record(&self.stream)?;
        Ok(event)
    }
}

type Use = fn(&Bench) -> Result<(), Error>;

/// What reaches each entry.
const USES: &[(&str, Use)] = &[
    ("alloc", |b| {
        Tensor::empty(b.stream.device(), F32, &[2]).map(drop)
    }),
    ("import", |b| {
        let bytes = [0u8; 64];
        // SAFETY: the bytes outlive the import, and nothing runs on them.
        unsafe { Allocation::import_host(b.stream.device(), bytes.as_ptr(), 64) }.map(drop)
    }),
    ("open_kernel", Bench::dispatch),
    ("launch", Bench::dispatch),
    ("workspace", Bench::dispatch),
    ("prepare", |b| b.plan(5).map(drop)),
    ("weights_layout", |b| {
        b.stream.pack_weight(&b.product(8)?.call(), "b").map(drop)
    }),
    ("weights_pack", |b| {
        b.stream.pack_weight(&b.product(8)?.call(), "b").map(drop)
    }),
    ("body", |b| b.dispatch().and_then(|()| b.stream.sync())),
    ("copy_in", |b| {
        b.stream
            .write(&Tensor::empty(b.stream.device(), F32, &[2])?, &[0; 8])
    }),
    ("copy_out_sync", |b| {
        b.stream
            .read_vec(&Tensor::empty(b.stream.device(), F32, &[2])?)
            .map(drop)
    }),
    ("copy", |b| {
        let device = b.stream.device();
        b.stream.copy(
            &Tensor::empty(device, F32, &[2])?,
            &Tensor::empty(device, F32, &[2])?,
        )
    }),
    ("fill", |b| {
        b.stream
            .fill(&Tensor::empty(b.stream.device(), F32, &[2])?, 1)
    }),
    ("flush", |b| b.stream.flush()),
    ("query", |b| b.stream.is_done().map(drop)),
    ("sync", |b| b.stream.sync()),
    ("event", |b| Event::new(b.stream.device()).map(drop)),
    ("record", |b| b.recorded().map(drop)),
    ("event_query", |b| b.recorded()?.is_passed().map(drop)),
    ("event_sync", |b| b.recorded()?.sync()),
    ("wait_event", |b| b.stream.wait_for(&b.recorded()?)),
    ("elapsed", |b| {
        let (start, end) = (b.recorded()?, b.recorded()?);
        b.stream.sync()?;
        end.since(&start).map(drop)
    }),
    ("capture_begin", |b| b.capture().map(drop)),
    ("capture_end", |b| b.capture().map(drop)),
    ("replay", |b| b.capture()?.replay(&b.stream)),
    ("peer_access", |b| {
        b.stream
            .device()
            .peer_access(&b.runtime.device("fake:1")?)
            .map(drop)
    }),
    ("copy_peer", |b| {
        let there = Tensor::empty(&b.runtime.device("fake:1")?, F32, &[2])?;
        b.stream
            .copy(&Tensor::empty(b.stream.device(), F32, &[2])?, &there)
    }),
    ("import_stream", |b| {
        // SAFETY: the null stream is the device's own.
        unsafe { Stream::import(&b.runtime, b.stream.device(), 0) }.map(drop)
    }),
];

fn works(good: &Started) {
    let device = good.device("fake");
    verified(&good.runtime, &device, problems::add(2, 8, F32));
}

#[test]
fn a_panic_in_any_entry_is_an_error_with_its_words() {
    case!("fake", [Gcc], || {
        let good = Fake::of("sm_86").start();
        for (entry, reach) in USES {
            let started = Fake::of("sm_86,sm_86")
                .misbehaving(&format!("panic:{entry}"))
                .start();
            let stream = started.runtime.stream(&started.device("fake:0")).unwrap();
            let bench = Bench {
                runtime: started.runtime.clone(),
                stream,
            };
            let error = reach(&bench).expect_err(entry).to_string();
            assert!(
                error.contains(&format!("told to panic in {entry}")),
                "{entry}: {error}"
            );
            assert!(
                error.contains("panicked") || *entry == "body",
                "{entry}: {error}"
            );
            assert!(
                started.observer.count(entry) >= 1,
                "{entry} was never reached"
            );
            drop(bench);
            works(&good);
        }
    });
}

#[test]
fn a_panic_while_starting_is_an_error_of_the_start_or_of_the_first_use() {
    case!("fake", [Gcc], || {
        for entry in ["create", "devices"] {
            let error = Fake::of("sm_86")
                .misbehaving(&format!("panic:{entry}"))
                .refuse()
                .to_string();
            assert!(
                error.contains(&format!("told to panic in {entry}")),
                "{entry}: {error}"
            );
        }
        for entry in ["open", "stream"] {
            let started = Fake::of("sm_86")
                .misbehaving(&format!("panic:{entry}"))
                .start();
            let error = started
                .runtime
                .stream(&started.device("fake"))
                .map(drop)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(&format!("told to panic in {entry}")),
                "{entry}: {error}"
            );
        }
        works(&Fake::of("sm_86").start());
    });
}

#[test]
fn a_panic_in_an_entry_that_cannot_fail_ends_nothing() {
    case!("fake", [Gcc], || {
        for entry in ["free", "capture_abort"] {
            let started = Fake::of("sm_86")
                .misbehaving(&format!("panic:{entry}"))
                .start();
            let stream = started.runtime.stream(&started.device("fake")).unwrap();
            let bench = Bench {
                runtime: started.runtime.clone(),
                stream,
            };
            drop(bench.sum().unwrap());
            drop(bench.stream.capture().unwrap());
            bench.stream.sync().ok();
            assert!(
                started.observer.count(entry) >= 1,
                "{entry} was never reached"
            );
            drop(bench);
        }
        works(&Fake::of("sm_86").start());
    });
}

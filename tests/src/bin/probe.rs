//! A program for tests that need a process of their own.

use overt::kernels::dtype::F32;
use overt::{Runtime, Stream};
use overt_tests::hooks::{HookCounts, Hooks};
use overt_tests::problems::{self, Attention};
use overt_tests::run::Uploaded;
use std::collections::BTreeMap;
use std::hint::black_box;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    match command.as_str() {
        "report" => report(),
        "start" => drop(start(&rest, "")?),
        "hot" => hot(&rest)?,
        "environment" => environment(&rest)?,
        "leave" => std::mem::forget(pending(&rest)?),
        "exit" => {
            let _kept = pending(&rest)?;
            std::process::exit(0)
        }
        other => return Err(format!("no command `{other}`").into()),
    }
    Ok(())
}

/// Starts as a host program without settings does, and prints what was tried.
fn report() {
    match Runtime::builder().start() {
        Ok(runtime) => print!("{}", runtime.load_report()),
        Err(error) => println!("{error}"),
    }
}

fn start(providers: &[String], misbehave: &str) -> Result<Runtime, Failure> {
    let mut builder = Runtime::builder().search(false);
    for provider in providers {
        builder = builder.providers(provider);
    }
    if providers.iter().any(|p| p.ends_with("libovert_fake.so")) {
        builder = builder
            .knob("fake.misbehave", misbehave)
            .knob("fake.devices", "sm_86,sm_120");
    }
    Ok(builder.start()?)
}

/// A stream with much work enqueued, and all that it needs.
fn pending(providers: &[String]) -> Result<(Runtime, Stream, Uploaded), Failure> {
    let runtime = start(providers, "")?;
    let stream = runtime.stream(&runtime.devices()[0])?;
    let sum = Uploaded::new(&stream, problems::add(64, 64, F32))?;
    for _ in 0..200 {
        stream.dispatch(&sum.call())?;
    }
    stream.flush()?;
    Ok((runtime, stream, sum))
}

/// How many launches are counted together; the stream is synchronised between.
const ROUND: usize = 64;

/// Warms up, then counts what one round asks of the C library.
fn counted(hooks: &Hooks, stream: &Stream, launch: impl Fn(usize)) -> Result<HookCounts, Failure> {
    // Deeper than what is counted: a job is made anew where more are pending than ever before, and how many are depends on how
    // soon the worker wakes.
    for _ in 0..8 {
        (0..4 * ROUND).for_each(&launch);
        stream.sync()?;
    }
    let counts = hooks.count(|| (0..ROUND).for_each(&launch));
    stream.sync()?;
    Ok(counts)
}

fn hot(providers: &[String]) -> Result<(), Failure> {
    let hooks = Hooks::find()?;
    let mut all = BTreeMap::new();
    let control = hooks.count(|| {
        drop(black_box(vec![1u8; black_box(100)]));
        black_box(std::env::var_os("HOME"));
        drop(black_box(std::fs::File::open("/proc/self/stat")));
        lock_once();
    });
    all.insert("control".to_owned(), control);
    for provider in providers {
        let runtime = start(std::slice::from_ref(provider), "")?;
        let device = runtime.devices()[0].clone();
        let name = device.provider().to_owned();
        let stream = runtime.stream(&device)?;
        let sum = Uploaded::new(&stream, problems::add(2, 8, F32))?;
        let call = sum.call();
        let first = hooks.count(|| {
            black_box(stream.dispatch(&call).is_ok());
        });
        all.insert(format!("{name} first dispatch"), first);
        let dispatched = counted(&hooks, &stream, |_| {
            assert!(stream.dispatch(&call).is_ok());
        })?;
        all.insert(format!("{name} dispatch"), dispatched);
        let plan = runtime.plan(&call, &device)?;
        let launched = counted(&hooks, &stream, |_| {
            assert!(plan.launch(&stream).is_ok());
        })?;
        all.insert(format!("{name} plan"), launched);
        if name == "fake" {
            let attention = Attention {
                lengths: vec![80, 70],
                ..Attention::default()
            };
            let attention = Uploaded::new(&stream, attention.filled())?;
            let bound = attention
                .host
                .schema
                .attr("max_seq_len")
                .ok_or("no bound")?;
            let changing = counted(&hooks, &stream, |round| {
                let mut call = attention.call();
                call.set_i64(bound, 80 - (round % 8) as i64 % 4);
                assert!(stream.dispatch(&call).is_ok());
            })?;
            all.insert("fake attention of changing lengths".to_owned(), changing);
        }
    }
    println!("{}", serde_json::to_string(&all)?);
    Ok(())
}

/// Takes a lock of the C library, so that the hooks have one to see.
fn lock_once() {
    let this = libloading::os::unix::Library::this();
    // SAFETY: the function is the C library's and takes a mutex, which on Linux is all zero when fresh and smaller than this one; it
    // is nobody else's.
    unsafe {
        let lock = this.get::<unsafe extern "C" fn(*mut [u64; 8]) -> i32>("pthread_mutex_lock");
        if let Ok(lock) = lock {
            let mut mutex = [0u64; 8];
            black_box(lock(&mut mutex));
        }
    }
}

/// Runs every call that a provider serves on each of its devices, and prints every variable that anybody read.
fn environment(arguments: &[String]) -> Result<(), Failure> {
    let (misbehave, providers) = arguments
        .split_first()
        .ok_or("misbehaviour and providers")?;
    let hooks = Hooks::find()?;
    let runtime = start(providers, misbehave)?;
    let mut executed = 0;
    for device in runtime.devices() {
        let stream = runtime.stream(&device)?;
        for common in overt::kernels::ops::ALL {
            let schema = std::sync::Arc::new(common.parse()?);
            for geometry in (common.geometries)().into_iter().step_by(7).take(6) {
                let mut host = overt::kernels::host::HostCall::from_geometry(&schema, &geometry)?;
                (common.fill)(&mut host, 3);
                if host
                    .operands
                    .iter()
                    .flatten()
                    .map(|t| t.bytes.len())
                    .sum::<usize>()
                    > 4 << 20
                {
                    continue;
                }
                let uploaded = Uploaded::new(&stream, host)?;
                if stream.dispatch(&uploaded.call()).is_ok() {
                    executed += 1;
                }
                // A failure is one of those that were asked for.
                let _ = stream.sync();
            }
        }
    }
    println!("executed {executed}");
    // So that a hook which sees nothing shows.
    black_box(std::env::var_os("OVERT_PROBE"));
    drop(runtime);
    for line in hooks.environment() {
        println!("read {line}");
    }
    Ok(())
}

//! What the host adds to a launch: plans, cached dispatch, selection without a cache, and start-up.
//!
//! The provider's kernels do nothing, so that the figures are the host's. Each is the median over many batches of the time of one
//! operation in a batch; the provider's own work is measured beside it, by calling its launch entry through the same pointer.
//! Allocations are counted by the program's allocator. `cargo xtask bench dispatch`.

use overt::{Call, Problem, Runtime, Stream, Tensor, View, dtype};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

struct Counting;
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: forwards to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const BATCHES: usize = 201;

struct Figure {
    median: f64,
    least: f64,
    allocations: u64,
}

/// Median and least nanoseconds of one call of `work`, over batches of `batch` calls.
fn measure(batch: u32, mut work: impl FnMut(u32)) -> Figure {
    (0..batch).for_each(&mut work);
    let mut times = Vec::with_capacity(BATCHES);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..BATCHES {
        let start = Instant::now();
        (0..batch).for_each(&mut work);
        times.push(start.elapsed().as_nanos() as f64 / f64::from(batch));
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    times.sort_by(f64::total_cmp);
    Figure {
        median: times[BATCHES / 2],
        least: times[0],
        allocations,
    }
}

fn compile(folder: &Path, kernels: usize) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = folder.join(format!("libnoop_{kernels}.so"));
    let digest = |name: &str| {
        let op = overt_kernels::ops::find(name).expect("a common op");
        format!("0x{:016x}ull", overt_kernels::schema::digest(op.schema))
    };
    let status = Command::new("gcc")
        .args(["-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden"])
        .arg(format!("-DKERNELS={kernels}"))
        .arg(format!("-DADD_DIGEST={}", digest("add.1")))
        .arg(format!(
            "-DATTENTION_DIGEST={}",
            digest("paged_attention.1")
        ))
        .arg("-I")
        .arg(sources.join("../../abi/include"))
        .arg(sources.join("benches/noop_provider.c"))
        .arg("-o")
        .arg(&library)
        .status()
        .expect("gcc is needed to build the provider that does nothing");
    assert!(status.success(), "gcc failed");
    library
}

struct Attention {
    tensors: Vec<Tensor>,
}

const NAMES: [&str; 8] = [
    "query",
    "k_cache",
    "v_cache",
    "block_table",
    "seq_lens",
    "query_start",
    "sinks",
    "out",
];

impl Attention {
    fn new(runtime: &Runtime) -> Attention {
        let device = runtime.device("noop").expect("the device");
        let tensor = |dtype, shape: &[i64]| Tensor::empty(&device, dtype, shape).expect("memory");
        let tensors = vec![
            tensor(dtype::BF16, &[8, 32, 128]),
            tensor(dtype::BF16, &[64, 16, 8, 128]),
            tensor(dtype::BF16, &[64, 16, 8, 128]),
            tensor(dtype::I32, &[8, 512]),
            tensor(dtype::I32, &[8]),
            tensor(dtype::I32, &[9]),
            tensor(dtype::F32, &[32]),
            tensor(dtype::BF16, &[8, 32, 128]),
        ];
        Attention { tensors }
    }

    fn call<'a>(&'a self, op: &'a overt::Op) -> Call<'a> {
        let mut call = Call::new(op);
        for (name, tensor) in NAMES.iter().zip(&self.tensors) {
            call = call.operand(name, tensor).expect("an operand");
        }
        call.attr("scale", 0.088)
            .expect("an attribute")
            .attr("max_query_len", 1)
            .expect("an attribute")
    }
}

fn runtime(library: &Path) -> Runtime {
    Runtime::builder()
        .search(false)
        .providers(library)
        .policy(overt::Policy::on_fallback(overt::OnFallback::Allow))
        .start()
        .expect("the provider that does nothing")
}

fn dispatch_attention(stream: &Stream, op: &overt::Op, attention: &Attention) -> Figure {
    let base = attention.call(op);
    let attr = op.schema().attr("max_seq_len").expect("a bound");
    let numbers: Vec<usize> = NAMES
        .iter()
        .map(|n| op.schema().operand(n).expect("an operand"))
        .collect();
    let mut call = base;
    measure(2_000, |i| {
        // A decode step: every operand is given anew, and the length grows.
        let call = black_box(&mut call);
        for (number, tensor) in numbers.iter().zip(&attention.tensors) {
            call.set(*number, Some(tensor));
        }
        call.set_i64(attr, i64::from(100 + i % 4000));
        black_box(stream.dispatch(call).expect("a launch").launches);
    })
}

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("noop");
    std::fs::create_dir_all(&folder).expect("a folder");
    let small = compile(&folder, 20);
    let large = compile(&folder, 10_000);

    let rt = runtime(&small);
    let device = rt.device("noop").expect("the device");
    let stream = rt.stream(&device).expect("a stream");
    let add = rt.op("add.1").expect("an op");
    let make = || Tensor::empty(&device, dtype::F32, &[4, 64]).expect("memory");
    let (a, b, out) = (make(), make(), make());
    let call = Call::new(&add)
        .operand("a", &a)
        .and_then(|c| c.operand("b", &b))
        .and_then(|c| c.operand("out", &out));
    let call = call.expect("operands");
    let plan = rt.plan(&call, &device).expect("a plan");

    let bare = overt::bench_support::bare_launch(&plan, &stream);
    let own = measure(10_000, |_| bare());
    let planned = measure(10_000, |_| {
        black_box(plan.launch(&stream).expect("a launch").launches);
    });
    let mut again = Call::new(&add);
    let cached = measure(10_000, |_| {
        let call = black_box(&mut again);
        call.set(0, Some(&a));
        call.set(1, Some(&b));
        call.set(2, Some(&out));
        black_box(stream.dispatch(call).expect("a launch").launches);
    });

    let op = rt.op("paged_attention.1").expect("an op");
    let attention = Attention::new(&rt);
    let dispatched = dispatch_attention(&stream, &op, &attention);
    let base = attention.call(&op);
    let uncached = measure(1_000, |_| {
        black_box(overt::bench_support::select_uncached(&rt, &base, &device));
    });
    let problem = Problem::of(&base);
    let explained = measure(100, |_| {
        black_box(rt.explain(&problem, &device).expect("a selection"));
    });

    let many = runtime(&large);
    let many_device = many.device("noop").expect("the device");
    let many_stream = many.stream(&many_device).expect("a stream");
    let many_op = many.op("paged_attention.1").expect("an op");
    let many_attention = Attention::new(&many);
    let of_many = dispatch_attention(&many_stream, &many_op, &many_attention);

    let view = measure(10_000, |_| {
        black_box(View::contiguous(dtype::BF16, black_box(&[8, 32, 128])).expect("a view"));
    });

    println!(
        "{:<58} {:>9} {:>9} {:>7}   bound",
        "", "median ns", "least ns", "allocs"
    );
    let row = |name: &str, figure: &Figure, bound: &str| {
        println!(
            "{name:<58} {:>9.1} {:>9.1} {:>7}   {bound}",
            figure.median, figure.least, figure.allocations
        );
    };
    row(
        "the provider's own work (launch entry through a pointer)",
        &own,
        "",
    );
    row(
        "launch of a plan, counted, receipt checked",
        &planned,
        "8 over the provider's own",
    );
    println!(
        "{:<58} {:>9.1} {:>9.1}",
        "  over the provider's own work",
        planned.median - own.median,
        planned.least - own.least
    );
    row("cached dispatch, add.1, three operands", &cached, "40");
    row(
        "cached dispatch, paged_attention.1, 8 operands, 20 kernels",
        &dispatched,
        "150",
    );
    row(
        "cached dispatch, the same with 10,000 kernels",
        &of_many,
        "unchanged",
    );
    row(
        "uncached selection over 20 candidates (bind included)",
        &uncached,
        "2000",
    );
    row(
        "explanation with all reasons, 20 candidates",
        &explained,
        "",
    );
    row("making a view of three dimensions", &view, "");

    if let Some(cpu) = std::env::var_os(overt::load::PROVIDER_PATH_VARIABLE) {
        let mut times: Vec<f64> = (0..21)
            .map(|_| {
                let start = Instant::now();
                let runtime = Runtime::builder()
                    .search(false)
                    .providers(&cpu)
                    .start()
                    .expect("the CPU provider");
                black_box(runtime.device("cpu").expect("cpu:0"));
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        println!(
            "{:<58} {:>9.2} ms first   bound 20 ms",
            "start with the CPU provider (read, hashed, opened)", times[0]
        );
        times.sort_by(f64::total_cmp);
        println!(
            "{:<58} {:>9.2} ms median",
            "  again in the same process", times[10]
        );
    }
}

//! The CPU provider's kernels beside what the machine can do, and beside oneDNN and ggml where they are at hand.
//!
//! `cargo xtask bench cpu`, which fetches the two into a folder of its own. What the machine can do is measured again before
//! each section. Each call goes through the runtime, from dispatch to the end of a synchronise; a weight or cache has copies
//! that take turns, more than the caches hold; ours and the peers' take turns too. Stated are the median, and half the distance
//! from the first to the last tenth.

mod cases;
mod ggml;
mod onednn;
mod ours;
mod table;
mod timing;

use cases::{Attention, Product, Rowwise};
use ggml::Ggml;
use onednn::OneDnn;
use ours::{Ours, filled, op, shaped};
use overt::kernels::dtype::{self, BF16, F16, F32};
use overt::kernels::host::HostCall;
use overt::kernels::op::Geometry;
use overt::kernels::schema::AttrValue;
use overt::measure::{Arithmetic, Rates};
use overt::{DType, Device, OnFallback, Policy, Runtime};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use table::{Row, Section};
use timing::in_turns;

/// Where `xtask` has put the peers' libraries, and where the page goes.
const PEERS: &str = "OVERT_BENCH_PEERS";
const PAGE: &str = "OVERT_BENCH_PAGE";
/// Part of the names of what is to be timed, to time less.
const ONLY: &str = "OVERT_BENCH_ONLY";

/// Time for the turns of one call and its peers.
const PATIENCE: Duration = Duration::from_millis(700);

struct Bench {
    runtime: Runtime,
    device: Device,
    rates: Rates,
    onednn: Result<OneDnn, String>,
    ggml: Result<Ggml, String>,
    only: String,
    head: Vec<String>,
    sections: Vec<Section>,
}

fn name(ty: DType) -> String {
    dtype::Shown(ty).to_string()
}

/// What to say of a peer whose results are not ours but for roundings and formats of activations.
fn unlike(peer: &str, ours: &Ours, theirs: &[f32]) -> Option<String> {
    let ours = floats(&ours.output());
    let mean = |squares: f32| (squares / ours.len().max(1) as f32).sqrt();
    let size = mean(ours.iter().map(|x| x * x).sum());
    let off = mean(
        ours.iter()
            .zip(theirs)
            .map(|(a, b)| (a - b) * (a - b))
            .sum(),
    );
    let share = off / size;
    (share.is_nan() || share > 0.05)
        .then(|| format!("{peer}'s results are {:.0} % off", share * 100.0))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|w| f32::from_ne_bytes(*w)).collect()
}

impl Bench {
    /// Begins a section, unless nothing of it is asked for.
    fn section(&mut self, title: &str, names: &[String]) {
        if !names.iter().any(|name| name.contains(&self.only)) {
            return;
        }
        println!("\n{title}");
        if let Ok(stream) = self.runtime.stream(&self.device) {
            self.rates = Rates::measure(&stream).expect("rates");
        }
        let rates = table::rates(&self.rates);
        println!("{rates}");
        let title = format!("{title}\n\nMeasured just before: {rates}.");
        self.sections.push(Section {
            title,
            rows: Vec::new(),
        });
    }

    /// Times one thing under its name, unless it is not asked for.
    fn time(&mut self, what: String, timed: impl FnOnce(&Bench) -> Result<Row, String>) {
        if !what.contains(&self.only) {
            return;
        }
        let row = timed(self).map_err(|reason| (what.clone(), reason));
        let row = row.map(|row| Row { what, ..row });
        table::show(&row);
        if let Some(section) = self.sections.last_mut() {
            section.rows.push(row);
        }
    }

    fn row(&self, ours: &Ours, times: timing::Times, sort: Arithmetic) -> Row {
        let work = op(&ours.host.schema.name).map(|op| (op.work)(&ours.host));
        let share = work.and_then(|work| self.rates.share(work, sort, times.median));
        Row {
            what: String::new(),
            kernel: ours.kernel.trim_start_matches("cpu/").to_owned(),
            times,
            share: share.ok(),
            peers: Vec::new(),
            note: if ours.packed {
                "weights repacked".into()
            } else {
                String::new()
            },
        }
    }

    fn product(&self, case: Product) -> Result<Row, String> {
        let Product {
            weight,
            rows,
            layer: [n, k],
            int8,
        } = case;
        // Block formats and 8-bit floats are multiplied with f32 activations.
        let plain = [F32, F16, BF16].contains(&weight);
        let ty = if plain { weight } else { F32 };
        let geometry = |n: i64| {
            Geometry::named("product")
                .symbols(&[("M", rows), ("N", n), ("K", k)])
                .dtypes(&[("a", ty), ("b", weight), ("out", ty)])
                .attr("int8_activations", AttrValue::Bool(int8))
        };
        let op = op("matmul_bt.1")?;
        // Some rows have contents of their own, and the others repeat them.
        let some = filled(op, &geometry(n.min(64)))?;
        let mut host = shaped(op, &geometry(n))?;
        copy(&some, &mut host, "a", "b")?;
        let ours = Ours::new(&self.runtime, &self.device, host, Some("b"))?;
        ours.run(0);
        let dims = [rows, n, k];
        let operands = (ours.bytes("a"), ours.bytes("b"));
        let mut names = Vec::new();
        let mut runs: Vec<Box<dyn FnMut(usize)>> = vec![Box::new(|turn| ours.run(turn))];
        let mut refused = Vec::new();
        let mut notes = Vec::new();
        if plain && let Ok(dnn) = &self.onednn {
            for pack in [false, true] {
                let peer = if pack {
                    "oneDNN, weights repacked"
                } else {
                    "oneDNN"
                };
                match dnn.product(ty, dims, operands, ours.copies(), pack) {
                    Ok(product) => {
                        product.run(0);
                        if ty == F32 {
                            notes.extend(unlike(peer, &ours, &floats(product.output())));
                        }
                        names.push(peer);
                        runs.push(Box::new(move |turn| product.run(turn)));
                    }
                    Err(reason) => refused.push((peer, reason)),
                }
            }
        }
        let against =
            cases::GGML.contains(&weight) || weight == dtype::MXFP4 || weight == dtype::Q6_K;
        if against && let Ok(ggml) = &self.ggml {
            match ggml.products(weight, dims, operands, ours.copies()) {
                Ok((mut graphs, own)) => {
                    graphs[0].run();
                    let theirs = graphs[0].output((rows * n) as usize).to_vec();
                    notes.extend(unlike("ggml", &ours, &theirs));
                    names.push(if own {
                        "ggml, weights repacked"
                    } else {
                        "ggml"
                    });
                    runs.push(Box::new(move |turn| {
                        let count = graphs.len();
                        graphs[turn % count].run();
                    }));
                }
                Err(reason) => refused.push(("ggml", reason)),
            }
        }
        let times = in_turns(PATIENCE, &mut runs);
        drop(runs);
        let sort = Arithmetic::of(&ours.host);
        let mut row = self.row(&ours, times[0], sort);
        notes.extend(Some(row.note).filter(|note| !note.is_empty()));
        row.note = notes.join("; ");
        let peers = names.iter().zip(&times[1..]);
        row.peers = peers
            .map(|(name, times)| ((*name).to_owned(), Ok(*times)))
            .collect();
        row.peers.extend(
            refused
                .into_iter()
                .map(|(name, reason)| (name.to_owned(), Err(reason))),
        );
        Ok(row)
    }

    fn attention(&self, case: Attention) -> Result<Row, String> {
        let Attention {
            heads: [hq, hkv, d, dv],
            cache,
            tokens,
            keys,
            batch,
        } = case;
        const PAGE: i64 = 16;
        let ty = if cache == BF16 { BF16 } else { F32 };
        let pages = keys / PAGE;
        let geometry = Geometry::named("attention")
            .symbols(&[
                ("T", tokens * batch),
                ("Hq", hq),
                ("Hkv", hkv),
                ("D", d),
                ("Dv", dv),
            ])
            .symbols(&[
                ("N", pages * batch),
                ("P", PAGE),
                ("R", batch),
                ("M", pages),
            ])
            .dtypes(&[
                ("query", ty),
                ("k_cache", cache),
                ("v_cache", cache),
                ("out", ty),
            ])
            .attr("scale", AttrValue::F64(1.0 / (d as f64).sqrt()))
            .attr("max_query_len", AttrValue::I64(tokens))
            .attr("max_seq_len", AttrValue::I64(keys))
            .lengths("query_lens", &vec![tokens; batch as usize])
            .lengths("seq_lens", &vec![keys; batch as usize]);
        let op = op("paged_attention.1")?;
        let mut host = shaped(op, &geometry)?;
        // Rows of products' weights serve as rows of the caches, a few in turn by the key's number.
        const ROWS: i64 = 61;
        let rows = |width: i64, ty: DType| -> Result<Vec<Vec<u8>>, String> {
            let geometry = Geometry::named("rows")
                .symbols(&[("M", 1), ("N", ROWS), ("K", width)])
                .dtypes(&[("a", F32), ("b", ty), ("out", F32)]);
            let call = filled(ours::op("matmul_bt.1")?, &geometry)?;
            let b = &call.operand("b").ok_or("no weight")?.bytes;
            Ok(b.chunks(b.len() / ROWS as usize)
                .map(<[u8]>::to_vec)
                .collect())
        };
        let (k_rows, v_rows, q_row) = (rows(d, cache)?, rows(dv, cache)?, rows(d, ty)?.remove(0));
        // Pages lie scattered, each used once, by a step that has no factor in common with their number.
        let total = pages * batch;
        let step = (1..)
            .map(|i| 2 * i + 77)
            .find(|s| gcd(*s, total) == 1)
            .unwrap_or(1);
        for (name, rows) in [("k_cache", &k_rows), ("v_cache", &v_rows)] {
            let bytes = &mut host.operand_mut(name).ok_or("an operand is missing")?.bytes;
            let size = rows[0].len();
            for i in 0..total {
                for slot in 0..PAGE {
                    let row = &rows[((i % pages * PAGE + slot) % ROWS) as usize];
                    let first = ((i * step % total * PAGE + slot) * hkv) as usize * size;
                    for to in bytes[first..first + hkv as usize * size].chunks_mut(size) {
                        to.copy_from_slice(row);
                    }
                }
            }
        }
        let query = host.operand_mut("query").ok_or("an operand is missing")?;
        query.bytes = q_row.repeat(query.bytes.len() / q_row.len());
        let mut integers = |name: &str, value: &dyn Fn(i64) -> i64| -> Result<(), String> {
            let operand = host.operand_mut(name).ok_or("an operand is missing")?;
            let count = operand.len() as i64;
            operand.bytes = (0..count)
                .flat_map(|i| (value(i) as i32).to_ne_bytes())
                .collect();
            Ok(())
        };
        integers("query_start", &|i| i * tokens)?;
        integers("seq_lens", &|_| keys)?;
        integers("block_table", &|i| i * step % total)?;
        let ours = Ours::new(&self.runtime, &self.device, host, Some("k_cache"))?;
        ours.run(0);
        let mut runs: Vec<Box<dyn FnMut(usize)>> = vec![Box::new(|turn| ours.run(turn))];
        let mut refused = None;
        let mut note = None;
        if ty == F32
            && ggml::code(cache).is_some()
            && let Ok(ggml) = &self.ggml
        {
            let rows = (&q_row[..], &k_rows[..], &v_rows[..]);
            match ggml.attention(cache, [hq, hkv, d, dv], tokens, keys, batch, rows, 2) {
                Ok(mut graphs) => {
                    graphs[0].run();
                    let theirs = graphs[0]
                        .output((tokens * hq * dv * batch) as usize)
                        .to_vec();
                    note = unlike("ggml", &ours, &theirs);
                    runs.push(Box::new(move |turn| {
                        let count = graphs.len();
                        graphs[turn % count].run();
                    }));
                }
                Err(reason) => refused = Some(reason),
            }
        }
        let times = in_turns(PATIENCE, &mut runs);
        drop(runs);
        let mut row = self.row(&ours, times[0], Arithmetic::F32);
        row.note = [note, Some(row.note)]
            .into_iter()
            .flatten()
            .filter(|n| !n.is_empty())
            .collect::<Vec<_>>()
            .join("; ");
        row.peers = times[1..]
            .iter()
            .map(|times| ("ggml".to_owned(), Ok(*times)))
            .collect();
        row.peers
            .extend(refused.map(|reason| ("ggml".to_owned(), Err(reason))));
        Ok(row)
    }

    fn rowwise(&self, (name, symbols, dtypes): Rowwise) -> Result<Row, String> {
        let mut geometry = Geometry::named("rows").symbols(symbols).dtypes(dtypes);
        if name.contains("rms_norm") {
            geometry = geometry.attr("eps", AttrValue::F64(1e-6));
        }
        let host = filled(op(name)?, &geometry)?;
        let ours = Ours::new(&self.runtime, &self.device, host, None)?;
        let mut runs: Vec<Box<dyn FnMut(usize)>> = vec![Box::new(|turn| ours.run(turn))];
        let times = in_turns(PATIENCE / 2, &mut runs);
        drop(runs);
        Ok(self.row(&ours, times[0], Arithmetic::F32))
    }

    fn products(&mut self, title: &str, cases: Vec<Product>) {
        let named = |case: &Product| {
            let [n, k] = case.layer;
            let int8 = if case.int8 { ", int8 activations" } else { "" };
            let rows = if case.rows == 1 {
                "1 row".to_owned()
            } else {
                format!("{} rows", case.rows)
            };
            format!("{rows}, {n}×{k}, {}{int8}", name(case.weight))
        };
        let names: Vec<String> = cases.iter().map(named).collect();
        self.section(title, &names);
        for (case, name) in cases.into_iter().zip(names) {
            self.time(name, |bench| bench.product(case));
        }
    }

    fn attentions(&mut self, title: &str, cases: Vec<Attention>) {
        let named = |case: &Attention| {
            let [hq, hkv, d, dv] = case.heads;
            let width = if d == dv {
                d.to_string()
            } else {
                format!("{d}/{dv}")
            };
            let Attention {
                batch,
                tokens,
                keys,
                cache,
                ..
            } = *case;
            let cache = name(cache);
            format!("{batch}×{tokens} of {keys} keys, {hq}/{hkv} heads of {width}, {cache}")
        };
        let names: Vec<String> = cases.iter().map(named).collect();
        self.section(title, &names);
        for (case, name) in cases.into_iter().zip(names) {
            self.time(name, |bench| bench.attention(case));
        }
    }

    fn rows(&mut self, title: &str, cases: &[Rowwise]) {
        let named = |case: &Rowwise| {
            let sizes: Vec<String> = case.1.iter().map(|(n, v)| format!("{n} {v}")).collect();
            format!("{} {}, {}", case.0, sizes.join(" "), name(case.2[0].1))
        };
        let names: Vec<String> = cases.iter().map(named).collect();
        self.section(title, &names);
        for (case, name) in cases.iter().zip(names) {
            self.time(name, |bench| bench.rowwise(*case));
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Copies one operand, and fills another with repetitions of the few rows that `from` has of it.
fn copy(from: &HostCall, to: &mut HostCall, whole: &str, repeated: &str) -> Result<(), String> {
    let source = |name: &str| {
        from.operand(name)
            .map(|t| t.bytes.clone())
            .ok_or("an operand")
    };
    let (whole_bytes, some) = (source(whole)?, source(repeated)?);
    to.operand_mut(whole).ok_or("an operand is missing")?.bytes = whole_bytes;
    let target = to.operand_mut(repeated).ok_or("an operand is missing")?;
    let len = target.bytes.len();
    target.bytes = some.iter().copied().cycle().take(len).collect();
    Ok(())
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name"));
    model.map_or("unknown".into(), |m| {
        m.trim_start_matches([' ', '\t', ':']).to_owned()
    })
}

fn main() {
    let begun = Instant::now();
    let folder = std::env::var_os(overt::load::PROVIDER_PATH_VARIABLE)
        .expect("the folder of the providers: cargo xtask bench cpu");
    let runtime = Runtime::builder()
        .search(false)
        .providers(PathBuf::from(folder))
        .policy(Policy::on_fallback(OnFallback::Allow))
        .start()
        .expect("the CPU provider");
    let device = runtime.device("cpu").expect("the CPU");
    let stream = runtime.stream(&device).expect("a stream");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let peers = std::env::var_os(PEERS).map(PathBuf::from);
    let at = |part: &str| match &peers {
        Some(folder) => Ok(folder.join(part)),
        None => Err(format!("{PEERS} is not set")),
    };
    let onednn = at("onednn").and_then(|folder| OneDnn::load(&folder));
    let ggml = at("ggml").and_then(|folder| Ggml::load(&folder, threads));
    let said = |name: &str, found: Result<&String, &String>| match found {
        Ok(version) => format!("{name} {version}"),
        Err(reason) => format!("{name} is left out: {reason}"),
    };
    let head = vec![
        format!("{}, {threads} threads", processor()),
        said("oneDNN", onednn.as_ref().map(|d| &d.version)),
        said("ggml", ggml.as_ref().map(|g| &g.version)),
    ];
    for line in &head {
        println!("{line}");
    }
    let rates = Rates::measure(&stream).expect("rates");
    let only = std::env::var(ONLY).unwrap_or_default();
    let sections = Vec::new();
    let mut bench = Bench {
        runtime,
        device,
        rates,
        onednn,
        ggml,
        only,
        head,
        sections,
    };

    let all = &cases::WEIGHTS;
    let against = [
        F32,
        BF16,
        F16,
        dtype::Q8_0,
        dtype::Q4_0,
        dtype::Q4_1,
        dtype::Q4_K,
    ];
    let two = [cases::LAYERS[1], cases::LAYERS[3]];
    bench.products(
        "Products, one row",
        cases::products(&[1], &cases::LAYERS, all),
    );
    bench.products(
        "Products, few rows",
        cases::products(&[4, 16], &two[1..], all),
    );
    bench.products(
        "Products, many rows",
        cases::products(&[64, 512], &two, &against),
    );
    bench.attentions("Attention, decode", cases::decodes());
    bench.attentions("Attention, prefill", cases::prefills());
    bench.rows("Row by row", &cases::ROWWISE);
    bench
        .head
        .push(format!("took {:.0} s", begun.elapsed().as_secs_f64()));
    let timed = bench
        .sections
        .iter()
        .flat_map(|s| &s.rows)
        .filter(|r| r.is_ok())
        .count();
    println!(
        "\ntimed {timed} calls in {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    if let Some(page) = std::env::var_os(PAGE) {
        std::fs::write(&page, table::page(&bench.head, &bench.sections)).expect("the page");
        println!("written to {}", PathBuf::from(page).display());
    }
    assert!(timed > 0, "nothing was timed");
}

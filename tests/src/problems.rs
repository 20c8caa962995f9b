//! Problems that tests ask again and again.

use overt::kernels::dtype::{F16, F32};
use overt::kernels::host::{HostCall, HostTensor};
use overt::kernels::op::{Geometry, Op};
use overt::kernels::ops;
use overt::kernels::schema::AttrValue;
use overt::{DType, Problem, Runtime, View};
use std::sync::Arc;

/// A call on host memory with seeded contents.
pub fn filled(op: &'static Op, geometry: &Geometry, seed: u64) -> HostCall {
    let schema = Arc::new(op.parse().unwrap_or_else(|error| panic!("{error}")));
    let mut call = HostCall::from_geometry(&schema, geometry)
        .unwrap_or_else(|error| panic!("{}: {error}", geometry.name));
    (op.fill)(&mut call, seed);
    call
}

fn geometry(symbols: &[(&str, i64)], dtypes: &[(&str, DType)]) -> Geometry {
    Geometry {
        name: format!("{symbols:?}"),
        symbols: symbols.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        dtypes: dtypes.iter().map(|(n, d)| ((*n).to_owned(), *d)).collect(),
        ..Geometry::default()
    }
}

/// `add.1` on rows × width.
pub fn add(rows: i64, width: i64, dtype: DType) -> HostCall {
    filled(
        &ops::add::OP,
        &geometry(&[("T", rows), ("D", width)], &[("a", dtype), ("b", dtype)]),
        7,
    )
}

/// Number of the output of [`matmul`] among its operands.
pub const PRODUCT: usize = 4;

/// `matmul_bt.1`.
pub fn matmul(m: i64, n: i64, k: i64, dtype: DType) -> HostCall {
    filled(
        &ops::matmul_bt::OP,
        &geometry(
            &[("M", m), ("N", n), ("K", k)],
            &[("a", dtype), ("b", dtype), ("out", dtype)],
        ),
        11,
    )
}

/// `rms_norm.1`.
pub fn rms_norm(rows: i64, width: i64) -> HostCall {
    let mut geometry = geometry(&[("T", rows), ("D", width)], &[("x", F32), ("weight", F32)]);
    geometry.attrs.push(("eps".into(), AttrValue::F64(1e-5)));
    filled(&ops::rms_norm::OP, &geometry, 13)
}

/// `silu_and_mul.1`, whose output is half as wide as `width`.
pub fn silu_and_mul(rows: i64, width: i64) -> HostCall {
    filled(
        &ops::silu_and_mul::OP,
        &geometry(&[("T", rows), ("D2", width)], &[("x", F32)]),
        17,
    )
}

/// Attention of a small model.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Lengths of the queries, one a request.
    pub queries: Vec<i64>,
    /// Lengths of the sequences, queries included.
    pub lengths: Vec<i64>,
    /// Query heads and KV heads.
    pub heads: (i64, i64),
    /// Widths of keys and of values.
    pub widths: (i64, i64),
    /// Tokens of a page.
    pub page: i64,
    /// Element types of the query, of the caches and of the output.
    pub dtypes: (DType, DType, DType),
    /// Attributes.
    pub attrs: Vec<(String, AttrValue)>,
    /// Sinks are given.
    pub sinks: bool,
}

impl Default for Attention {
    fn default() -> Attention {
        Attention {
            queries: vec![3, 1],
            lengths: vec![9, 5],
            heads: (4, 2),
            widths: (64, 64),
            page: 4,
            dtypes: (F32, F16, F32),
            attrs: Vec::new(),
            sinks: false,
        }
    }
}

impl Attention {
    /// Sets an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: AttrValue) -> Attention {
        self.attrs.push((name.into(), value));
        self
    }

    /// The call, filled.
    pub fn filled(&self) -> HostCall {
        let most = self.lengths.iter().max().copied().unwrap_or(0);
        let pages = (most + self.page - 1) / self.page;
        let requests = self.lengths.len() as i64;
        let mut geometry = geometry(
            &[
                ("T", self.queries.iter().sum()),
                ("Hq", self.heads.0),
                ("Hkv", self.heads.1),
                ("D", self.widths.0),
                ("Dv", self.widths.1),
                ("P", self.page),
                ("R", requests),
                ("M", pages + 1),
                ("N", (pages + 1) * requests + 1),
            ],
            &[
                ("query", self.dtypes.0),
                ("k_cache", self.dtypes.1),
                ("v_cache", self.dtypes.1),
                ("out", self.dtypes.2),
            ],
        );
        geometry.attrs.clone_from(&self.attrs);
        if !self.attrs.iter().any(|(name, _)| name == "scale") {
            geometry.attrs.push(("scale".into(), AttrValue::F64(0.125)));
        }
        if self.sinks {
            geometry.present.push("sinks".into());
        }
        geometry.lengths = vec![
            ("query_lens".into(), self.queries.clone()),
            ("seq_lens".into(), self.lengths.clone()),
        ];
        filled(&ops::paged_attention::OP, &geometry, 19)
    }
}

/// The problem of a call, without memory.
pub fn problem(runtime: &Runtime, host: &HostCall) -> Problem {
    let op = runtime
        .op(&host.schema.name)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut problem = Problem::new(&op);
    for (declared, operand) in host.schema.operands.iter().zip(&host.operands) {
        if let Some(operand) = operand {
            problem = problem
                .operand(&declared.name, view(operand))
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }
    for (declared, value) in host.schema.attrs.iter().zip(&host.attrs) {
        problem = problem
            .attr(&declared.name, crate::run::attr(value))
            .unwrap_or_else(|error| panic!("{error}"));
    }
    problem
}

/// How a host tensor lies.
pub fn view(tensor: &HostTensor) -> View {
    View::strided(tensor.dtype, &tensor.shape, &tensor.strides)
        .unwrap_or_else(|error| panic!("{error}"))
}

//! A call taken apart, and what every kernel of attention asks of it.
//!
//! A cache may be larger than 32 bits reach, so its strides are bytes of 64 bits, and shaders add them to addresses. They do not change
//! from step to step, so they are constants that the shader is compiled with.

use crate::kernel::{clauses, dtype_code, offsets};
use overt_abi::OvertDType;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::{CallView, Error, Result, TensorView};

pub const QUERY: usize = 0;
pub const K_CACHE: usize = 1;
pub const V_CACHE: usize = 2;
pub const BLOCK_TABLE: usize = 3;
pub const SEQ_LENS: usize = 4;
pub const QUERY_START: usize = 5;
pub const SINKS: usize = 6;
pub const OUT: usize = 7;

/// Clauses on the operands but the caches' types and the widths.
pub fn needs() -> Vec<Clause> {
    let mut needs = clauses(&[
        "query",
        "block_table",
        "seq_lens",
        "query_start",
        "sinks",
        "out",
    ]);
    for cache in ["k_cache", "v_cache"] {
        needs.push(
            fact(format!("{cache}.align"))
                .at_least(4)
                .source("shaders read words"),
        );
        needs.push(
            fact(format!("{cache}.inner_contiguous"))
                .is(true)
                .source("shaders step along a head by one"),
        );
    }
    needs
}

/// Shapes, strides and attributes of a call.
pub struct Call {
    pub rows: i64,
    pub heads: i64,
    pub requests: i64,
    pub width: u32,
    pub value_width: u32,
    pub page: u32,
    pub cache_heads: i64,
    pub ratio: u32,
    pub types: Types,
    pub k_strides: [u32; 6],
    pub v_strides: [u32; 6],
    /// From row to row, from head to head.
    pub query: [u32; 2],
    pub to: [u32; 2],
    /// From request to request, from page to page of one.
    pub table: [u32; 2],
    /// The scale of logits times that of keys.
    pub scale: f64,
    pub value_scale: f64,
    pub softcap: f64,
    pub causal: bool,
    /// 0 for none. One beyond any sequence is cut to 31 bits, which no sequence exceeds.
    pub window: i32,
    /// A bound of the lengths.
    pub longest: i64,
}

/// Element types.
pub struct Types {
    pub query: OvertDType,
    pub keys: OvertDType,
    pub values: OvertDType,
    pub out: OvertDType,
}

impl Types {
    /// As shaders number them.
    pub fn codes(&self) -> Result<[u32; 4]> {
        Ok([
            dtype_code(self.query)?,
            dtype_code(self.keys)?,
            dtype_code(self.values)?,
            dtype_code(self.out)?,
        ])
    }
}

impl Call {
    /// `None` for a call without output.
    pub fn of(call: &CallView<'_>) -> Result<Option<Call>> {
        let (query, keys, values) = (
            call.operand(QUERY)?,
            call.operand(K_CACHE)?,
            call.operand(V_CACHE)?,
        );
        let (table, out) = (call.operand(BLOCK_TABLE)?, call.operand(OUT)?);
        if out.elements() == 0 {
            return Ok(None);
        }
        let count = |what: &str, n: i64| {
            u32::try_from(n).map_err(|_| Error::unsupported(format!("{what} of {n}")))
        };
        let (q, o, t) = (offsets(&query)?, offsets(&out)?, offsets(&table)?);
        let cache_heads = keys.dim(2)?;
        Ok(Some(Call {
            rows: query.dim(0)?,
            heads: query.dim(1)?,
            requests: table.dim(0)?,
            width: count("heads", query.dim(2)?)?,
            value_width: count("values", out.dim(2)?)?,
            // A cache without pages has no keys either.
            page: count("pages", keys.dim(1)?)?.max(1),
            cache_heads,
            ratio: count("groups", query.dim(1)?.div_euclid(cache_heads.max(1)))?,
            types: Types {
                query: query.dtype(),
                keys: keys.dtype(),
                values: values.dtype(),
                out: out.dtype(),
            },
            k_strides: byte_strides(&keys)?,
            v_strides: byte_strides(&values)?,
            query: [q[0], q[1]],
            to: [o[0], o[1]],
            table: [t[0], t[1]],
            scale: call.attr_f64(0)? * call.attr_f64(6)?,
            value_scale: call.attr_f64(7)?,
            softcap: call.attr_f64(3)?,
            causal: call.attr_bool(1)?,
            window: call.attr_i64(2)?.clamp(0, i64::from(i32::MAX)) as i32,
            longest: call.attr_i64(5)?,
        }))
    }
}

/// Elements of a block of a cache's type, 1 where they stand alone, and its bytes.
pub fn unit(dtype: OvertDType) -> Result<(i64, i64)> {
    if let Some(bytes) = overt_sdk::dtypes::element_bytes(dtype) {
        return Ok((1, bytes as i64));
    }
    let blocks = [(Q8_0, 34), (Q4_0, 18), (Q5_0, 22), (Q5_1, 24)];
    let found = blocks.iter().find(|(known, _)| *known == dtype);
    found
        .map(|(_, bytes)| (32, *bytes))
        .ok_or_else(|| Error::unsupported(format!("a cache of {}", overt_sdk::dtypes::name(dtype))))
}

/// Strides of pages, keys and heads in bytes, each as its low and its high word.
fn byte_strides(cache: &TensorView<'_>) -> Result<[u32; 6]> {
    let (elements, bytes) = unit(cache.dtype())?;
    let mut words = [0; 6];
    for dim in 0..3 {
        // A dimension that is never stepped along may have any stride.
        let stride = match cache.dim(dim)? {
            0 | 1 => 0,
            _ => cache.stride(dim)?,
        };
        let offset = stride
            .div_euclid(elements)
            .checked_mul(bytes)
            .and_then(|offset| u64::try_from(offset).ok())
            .ok_or_else(|| Error::unsupported(format!("a stride of {stride} elements")))?;
        words[2 * dim] = offset as u32;
        words[2 * dim + 1] = (offset >> 32) as u32;
    }
    Ok(words)
}

//! Parts of a batch, whose rows must not depend on the rest of it.

use super::walk::rows_of;
use overt_kernels::host::{HostCall, HostError, HostTensor};
use overt_kernels::op::Rows;
use overt_kernels::ops;
use overt_kernels::schema::{AttrDefault, AttrValue, Expr};

/// A call made of some rows of another.
pub(super) struct Part {
    pub(super) host: HostCall,
    /// Which rows (dimension 0 of the outputs) of the whole it has, in order.
    pub(super) rows: Vec<i64>,
    /// What it is, in words.
    pub(super) what: String,
}

/// Parts of a call: one row or request by itself, and a part that leaves some out. None for calls of one row and for ops whose
/// rows depend on each other.
pub(super) fn parts(whole: &HostCall, seed: u64) -> Result<Vec<Part>, HostError> {
    let rule = ops::find(&whole.schema.name).map_or(Rows::Dependent, |op| op.rows);
    match rule {
        Rows::Dependent => Ok(Vec::new()),
        Rows::Along(symbol) => {
            let count = whole.symbol(symbol).unwrap_or(0);
            if count < 2 {
                return Ok(Vec::new());
            }
            let one = (seed % count as u64) as i64;
            let every_other: Vec<i64> = (0..count).filter(|r| r % 2 == count % 2).collect();
            [vec![one], every_other]
                .into_iter()
                .filter(|rows| !rows.is_empty())
                .map(|rows| rows_part(whole, symbol, rows))
                .collect()
        }
        Rows::Requests => requests_parts(whole, seed),
    }
}

fn rows_part(whole: &HostCall, symbol: &str, rows: Vec<i64>) -> Result<Part, HostError> {
    let schema = &whole.schema;
    let number = schema.symbol(symbol);
    let operands = whole
        .operands
        .iter()
        .zip(&schema.operands)
        .map(|(tensor, declared)| {
            let sliced =
                matches!(declared.dims.first(), Some(Expr::Symbol(s)) if Some(*s) == number);
            tensor
                .as_ref()
                .map(|t| {
                    if sliced {
                        rows_of(t, &rows)
                    } else {
                        Ok(t.clone())
                    }
                })
                .transpose()
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Part {
        host: HostCall::bind(schema, operands, &given(whole))?,
        what: format!("rows {rows:?}"),
        rows,
    })
}

/// The attributes of a call that are no bounds: what a part of it takes over.
fn given(whole: &HostCall) -> Vec<(String, AttrValue)> {
    whole
        .schema
        .attrs
        .iter()
        .zip(&whole.attrs)
        .filter(|(attr, _)| !matches!(attr.default, AttrDefault::Bound(_)))
        .map(|(attr, value)| (attr.name.clone(), value.clone()))
        .collect()
}

struct Request {
    number: i64,
    first: i64,
    rows: i64,
    len: i64,
}

fn requests_parts(whole: &HostCall, seed: u64) -> Result<Vec<Part>, HostError> {
    let (Some(starts), Some(lens)) = (whole.operand("query_start"), whole.operand("seq_lens"))
    else {
        return Ok(Vec::new());
    };
    let requests = (0..lens.len() as i64)
        .map(|number| {
            let first = starts.get_i64(&[number])?;
            Ok(Request {
                number,
                first,
                rows: starts.get_i64(&[number + 1])? - first,
                len: lens.get_i64(&[number])?,
            })
        })
        .collect::<Result<Vec<_>, HostError>>()?;
    let busy: Vec<&Request> = requests.iter().filter(|r| r.rows > 0).collect();
    if requests.len() < 2 || busy.is_empty() {
        return Ok(Vec::new());
    }
    let one = busy[(seed % busy.len() as u64) as usize];
    let mut parts = vec![vec![one]];
    if busy.len() < requests.len() {
        // Without the empty ones, which must leave the others as they are.
        parts.push(busy);
    } else if busy.len() > 2 {
        parts.push(
            busy.into_iter()
                .filter(|r| r.number != one.number)
                .collect(),
        );
    }
    parts
        .into_iter()
        .map(|part| requests_part(whole, &part))
        .collect()
}

fn requests_part(whole: &HostCall, requests: &[&Request]) -> Result<Part, HostError> {
    let schema = &whole.schema;
    let numbers: Vec<i64> = requests.iter().map(|r| r.number).collect();
    let rows: Vec<i64> = requests
        .iter()
        .flat_map(|r| r.first..r.first + r.rows)
        .collect();
    let operands = whole
        .operands
        .iter()
        .zip(&schema.operands)
        .map(|(tensor, declared)| {
            let Some(tensor) = tensor else {
                return Ok(None);
            };
            Ok(Some(match declared.name.as_str() {
                "query" | "out" => rows_of(tensor, &rows)?,
                "block_table" | "seq_lens" => rows_of(tensor, &numbers)?,
                "query_start" => starts(tensor, requests)?,
                _ => tensor.clone(),
            }))
        })
        .collect::<Result<Vec<_>, HostError>>()?;
    let mut attrs = given(whole);
    let longest = |of: fn(&Request) -> i64| requests.iter().map(|r| of(r)).max().unwrap_or(0);
    for (name, value) in [
        ("max_query_len", longest(|r| r.rows)),
        ("max_seq_len", longest(|r| r.len)),
    ] {
        attrs.push((name.to_owned(), AttrValue::I64(value)));
    }
    Ok(Part {
        host: HostCall::bind(schema, operands, &attrs)?,
        rows,
        what: format!("requests {numbers:?}"),
    })
}

fn starts(whole: &HostTensor, requests: &[&Request]) -> Result<HostTensor, HostError> {
    let mut out = HostTensor::contiguous(whole.dtype, &[requests.len() as i64 + 1])?;
    let mut start = 0;
    out.set_i64(&[0], 0)?;
    for (i, request) in requests.iter().enumerate() {
        start += request.rows;
        out.set_i64(&[i as i64 + 1], start)?;
    }
    Ok(out)
}

/// Whether the rows of a part have the bits of the same rows of the whole. Both are given without gaps.
pub(super) fn rows_equal(whole: &HostTensor, all: &[u8], some: &[u8], rows: &[i64]) -> bool {
    let row = all.len() / whole.shape[0].max(1) as usize;
    some.len() == rows.len() * row
        && rows.iter().enumerate().all(|(to, from)| {
            let from = *from as usize * row;
            some[to * row..(to + 1) * row] == all[from..from + row]
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use overt_kernels::ops::{ALL, paged_attention};
    use std::sync::Arc;

    #[test]
    fn parts_of_every_op_with_independent_rows_bind() {
        for op in ALL.iter().filter(|op| op.rows != Rows::Dependent) {
            let name = op.name;
            let schema = Arc::new(op.parse().unwrap());
            let mut made = 0;
            for geometry in (op.geometries)() {
                let mut host = HostCall::from_geometry(&schema, &geometry).unwrap();
                (op.fill)(&mut host, 1);
                for part in parts(&host, 5).unwrap() {
                    (op.check_contents)(&part.host).unwrap();
                    assert!(!part.rows.is_empty(), "{name} {}", geometry.name);
                    made += 1;
                }
            }
            assert!(made > 0, "{name} has no geometry with several rows");
        }
    }

    #[test]
    fn one_bit_of_one_row_is_a_difference_and_other_rows_are_none_of_it() {
        let whole = HostTensor::contiguous(overt_kernels::dtype::F16, &[4, 3]).unwrap();
        let all: Vec<u8> = (0..24).collect();
        let rows = [3, 1];
        let mut some = [&all[18..24], &all[6..12]].concat();
        assert!(rows_equal(&whole, &all, &some, &rows));
        some[11] ^= 1;
        assert!(!rows_equal(&whole, &all, &some, &rows));
        assert!(!rows_equal(&whole, &all, &some[..6], &rows));
    }

    #[test]
    fn an_empty_request_is_left_out_and_the_others_keep_their_rows() {
        let op = &paged_attention::OP;
        let schema = Arc::new(op.parse().unwrap());
        let geometry = (op.geometries)()
            .into_iter()
            .find(|g| g.name.ends_with("_q7.0.5_s23.9.5"))
            .expect("the mixed batch");
        let mut host = HostCall::from_geometry(&schema, &geometry).unwrap();
        (op.fill)(&mut host, 1);
        let parts = parts(&host, 0).unwrap();
        assert_eq!(parts[1].what, "requests [0, 2]");
        assert_eq!(parts[1].rows, (0..12).collect::<Vec<_>>());
    }
}

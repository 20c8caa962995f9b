//! Rules on contents.

use super::problem::requests;
use crate::host::HostCall;
use crate::op::ContentError;
use crate::ops::support::{View, f64_attr, i64_attr, symbol};

pub(super) fn check(call: &HostCall) -> Result<(), ContentError> {
    attrs(call)?;
    starts(call)?;
    lengths(call)?;
    table(call)
}

fn fault(operand: &str, index: &[i64], what: String, wanted: String) -> Result<(), ContentError> {
    Err(ContentError {
        operand: operand.to_owned(),
        index: index.to_vec(),
        what,
        wanted,
    })
}

fn attrs(call: &HostCall) -> Result<(), ContentError> {
    let window = i64_attr(call, "window");
    if window < 0 {
        return fault(
            "window",
            &[],
            format!("the attribute is {window}"),
            "0 for none, or more".to_owned(),
        );
    }
    let softcap = f64_attr(call, "softcap");
    if !softcap.is_finite() || softcap < 0.0 {
        return fault(
            "softcap",
            &[],
            format!("the attribute is {softcap}"),
            "0 for none, or more".to_owned(),
        );
    }
    for name in ["scale", "k_scale", "v_scale"] {
        let scale = f64_attr(call, name);
        if !scale.is_finite() {
            return fault(
                name,
                &[],
                format!("the attribute is {scale}"),
                "a finite number".to_owned(),
            );
        }
    }
    Ok(())
}

fn starts(call: &HostCall) -> Result<(), ContentError> {
    let start = View::of(call, "query_start");
    let (requests, rows) = (symbol(call, "R"), symbol(call, "T"));
    let first = start.integer(&[0]);
    if first != 0 {
        return fault(
            "query_start",
            &[0],
            format!("begins with {first}"),
            "0".to_owned(),
        );
    }
    for r in 0..requests {
        let (here, next) = (start.integer(&[r]), start.integer(&[r + 1]));
        if next < here {
            return fault(
                "query_start",
                &[r + 1],
                format!("falls from {here} to {next}"),
                format!("at least {here}"),
            );
        }
    }
    let last = start.integer(&[requests]);
    if last != rows {
        let what = format!("ends with {last}");
        return fault(
            "query_start",
            &[requests],
            what,
            format!("{rows}, the number of query rows"),
        );
    }
    Ok(())
}

fn lengths(call: &HostCall) -> Result<(), ContentError> {
    let room = symbol(call, "M").saturating_mul(symbol(call, "P"));
    let (max_query, max_seq) = (
        i64_attr(call, "max_query_len"),
        i64_attr(call, "max_seq_len"),
    );
    for (r, request) in requests(call).iter().enumerate() {
        let index = [r as i64];
        let (q_len, seq_len) = (request.q_len, request.seq_len);
        if seq_len < 0 || seq_len > room {
            let wanted = format!("0 to {room}, what the block table has room for");
            return fault("seq_lens", &index, format!("length {seq_len}"), wanted);
        }
        if seq_len > max_seq {
            let wanted = format!("at most {max_seq}, which `max_seq_len` promises");
            return fault("seq_lens", &index, format!("length {seq_len}"), wanted);
        }
        if q_len > max_query {
            let wanted = format!("at most {max_query}, which `max_query_len` promises");
            return fault(
                "query_start",
                &[index[0] + 1],
                format!("{q_len} query rows of request {r}"),
                wanted,
            );
        }
        if q_len > seq_len {
            let what = format!("length {seq_len} for {q_len} query rows");
            return fault(
                "seq_lens",
                &index,
                what,
                format!("at least {q_len}, since it counts the new tokens"),
            );
        }
    }
    Ok(())
}

fn table(call: &HostCall) -> Result<(), ContentError> {
    let table = View::of(call, "block_table");
    let (pages, page) = (symbol(call, "N"), symbol(call, "P"));
    for (r, request) in requests(call).iter().enumerate() {
        // A length above 0 has passed the test against M·P, so the page is not 0 then.
        let used = if request.seq_len == 0 {
            0
        } else {
            (request.seq_len - 1) / page + 1
        };
        for j in 0..used {
            let entry = table.integer(&[r as i64, j]);
            if entry < 0 || entry >= pages {
                let what = format!(
                    "page {entry}, inside the {} keys of request {r}",
                    request.seq_len
                );
                return fault(
                    "block_table",
                    &[r as i64, j],
                    what,
                    format!("a page of the cache, 0 to {}", pages - 1),
                );
            }
        }
    }
    Ok(())
}

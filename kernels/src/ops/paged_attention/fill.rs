//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::{Random, Walk, f64_attr, fill_uniform, symbol};
use crate::schema::{AttrDefault, AttrValue};

/// Standard deviation of logits without a softcap: large enough that a wrong scale or a lost key shows.
const LOGIT_SPREAD: f64 = 2.0;

/// What stands in table entries that nothing may read.
const GARBAGE: [i64; 2] = [-7, i32::MAX as i64];

/// Lengths come from the parameters `query_lens` and `seq_lens`, one number a request each. Without them the query rows are
/// shared out evenly, and every sequence is as long as the bound `max_seq_len`, the table and the cache allow. A bound that is
/// at its default is then set to the greatest length, as a host that knows the lengths would.
///
/// Pages are handed out in scattered order, each once while they last. All of the caches that no sequence uses is NaN, and table
/// entries behind a sequence's end are no pages.
pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let (query_lens, seq_lens) = lengths(call);
    let mut start = 0;
    set_integers(call, "query_start", &[0]);
    for (r, q_len) in query_lens.iter().enumerate() {
        start += q_len;
        let row = [r as i64 + 1];
        set_integer(call, "query_start", &row, start);
    }
    set_integers(call, "seq_lens", &seq_lens);
    tighten(
        call,
        "max_query_len",
        query_lens.iter().copied().max().unwrap_or(0),
    );
    tighten(
        call,
        "max_seq_len",
        seq_lens.iter().copied().max().unwrap_or(0),
    );
    let pages = table(call, &seq_lens, seed);
    cache(call, "k_cache", &pages, seed);
    cache(call, "v_cache", &pages, seed);
    queries(call, seed);
    sinks(call, &seq_lens, seed);
}

fn lengths(call: &HostCall) -> (Vec<i64>, Vec<i64>) {
    let requests = symbol(call, "R");
    let rows = symbol(call, "T");
    let query_lens = match call.lengths_of("query_lens") {
        Some(lens) => lens.to_vec(),
        None => (0..requests)
            .map(|r| rows / requests + i64::from(r < rows % requests))
            .collect(),
    };
    let seq_lens = match call.lengths_of("seq_lens") {
        Some(lens) => lens.to_vec(),
        None => {
            let bound = match call.attr("max_seq_len") {
                Some(AttrValue::I64(bound)) => *bound,
                _ => i64::MAX,
            };
            let page = symbol(call, "P");
            let room = if symbol(call, "N") == 0 {
                0
            } else {
                symbol(call, "M").saturating_mul(page)
            };
            vec![bound.min(room); requests as usize]
        }
    };
    assert_eq!(
        query_lens.len() as i64,
        requests,
        "`query_lens` has one number for each of the R requests"
    );
    assert_eq!(
        seq_lens.len() as i64,
        requests,
        "`seq_lens` has one number for each of the R requests"
    );
    (query_lens, seq_lens)
}

fn set_integer(call: &mut HostCall, name: &str, index: &[i64], value: i64) {
    if let Some(tensor) = call.operand_mut(name) {
        tensor
            .set_i64(index, value)
            .unwrap_or_else(|e| panic!("operand `{name}`: {e}"));
    }
}

fn set_integers(call: &mut HostCall, name: &str, values: &[i64]) {
    for (i, value) in values.iter().enumerate() {
        set_integer(call, name, &[i as i64], *value);
    }
}

/// Lowers a bound that still has the value that the shapes give.
fn tighten(call: &mut HostCall, name: &str, value: i64) {
    let schema = call.schema.clone();
    let Some(number) = schema.attr(name) else {
        return;
    };
    if let AttrDefault::Bound(expr) = &schema.attrs[number].default
        && let Ok(most) = expr.eval(&call.symbols, false)
        && call.attrs[number] == AttrValue::I64(most)
    {
        call.attrs[number] = AttrValue::I64(value.min(most));
    }
}

/// Used positions of one page of the cache.
struct Used {
    page: i64,
    positions: i64,
}

/// Writes the block table and returns what of the cache is used.
fn table(call: &mut HostCall, seq_lens: &[i64], seed: u64) -> Vec<Used> {
    let (pages, page, columns) = (symbol(call, "N"), symbol(call, "P"), symbol(call, "M"));
    let mut random = Random::new(seed, 100);
    let mut walk = (pages > 0).then(|| Walk::new(&mut random, pages as u64));
    let mut used = Vec::new();
    for (r, &seq_len) in seq_lens.iter().enumerate() {
        for j in 0..columns {
            let positions = (seq_len - j * page).clamp(0, page);
            let entry = match &mut walk {
                Some(walk) if positions > 0 => {
                    let entry = walk.take() as i64;
                    used.push(Used {
                        page: entry,
                        positions,
                    });
                    entry
                }
                _ => GARBAGE[random.below(2) as usize],
            };
            set_integer(call, "block_table", &[r as i64, j], entry);
        }
    }
    used
}

/// NaN everywhere, then numbers where a sequence has a key.
fn cache(call: &mut HostCall, name: &str, used: &[Used], seed: u64) {
    let stream = call.schema.operand(name).map_or(0, |n| n as u64);
    let mut random = Random::new(seed, stream);
    let Some(tensor) = call.operand_mut(name) else {
        return;
    };
    tensor.bytes.fill(0xff);
    let (heads, width) = (tensor.shape[2], tensor.shape[3]);
    let mut row = vec![0.0; width as usize];
    for Used { page, positions } in used {
        for position in 0..*positions {
            for head in 0..heads {
                row.fill_with(|| random.signed());
                tensor
                    .set_row(&[*page, position, head], &row)
                    .unwrap_or_else(|e| panic!("operand `{name}`: {e}"));
            }
        }
    }
}

/// Queries of such a size that logits spread enough for a wrong scale, mask or softcap to show. Keys are uniform in [-1, 1), so
/// a logit has the standard deviation `scale · k_scale · amplitude · sqrt(D) / 3`.
fn queries(call: &mut HostCall, seed: u64) {
    let (scale, softcap) = (f64_attr(call, "scale"), f64_attr(call, "softcap"));
    let wanted = LOGIT_SPREAD.max(softcap / 2.0);
    let scale = scale * f64_attr(call, "k_scale");
    let per_unit = scale.abs() * (symbol(call, "D").max(1) as f64).sqrt() / 3.0;
    let amplitude = (wanted / per_unit).clamp(2f64.powi(-10), 2f64.powi(10));
    fill_uniform(call, "query", seed, 0.0, amplitude);
}

/// Sinks near the logarithm of a typical softmax's sum, so that they take a fair share of the weight.
fn sinks(call: &mut HostCall, seq_lens: &[i64], seed: u64) {
    let mean = seq_lens.iter().sum::<i64>() as f64 / seq_lens.len().max(1) as f64;
    fill_uniform(call, "sinks", seed, (1.0 + mean).ln(), 2.0);
}

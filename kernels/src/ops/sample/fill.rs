//! Seeded contents whose answers no rounding decides.

use super::distribution::{Drawn, Parameters, draw, order};
use super::philox::uniform;
use crate::host::HostCall;
use crate::ops::support::{Random, View, symbol};

const TEMPERATURES: [f64; 5] = [1.0, 0.0, 0.75, 2.0, 0.125];
/// The last keeps more than there are.
const TOP_K: [i64; 7] = [0, 40, 1, -3, 5, 1000, i32::MAX as i64];
const TOP_P: [f64; 6] = [1.0, 0.875, 0.5, 0.0, 2.0, 0.96875];
const MIN_P: [f64; 4] = [0.0, 0.0625, 1.0, 0.0];

/// What every boundary is apart from what decides at it: f32 sums of a vocabulary are off by less than 2^-20.
const MARGIN: f64 = 1e-4;
/// Draws and bounds that are tried for it.
const TRIES: u64 = 200;

/// Kinds of rows: few likely tokens in a long tail, as a model gives; all equal; many −∞; few different numbers; NaN here and there;
/// nearly flat; some +∞; NaN alone or −∞ alone.
const KINDS: u64 = 8;

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    fill_logits(call, seed);
    let (tokens, width) = (symbol(call, "T"), symbol(call, "V") as usize);
    let mut row = vec![0.0; width];
    for t in 0..tokens {
        // Lists of lengths without common factors go round at different paces, so that combinations differ from row to row.
        let at = seed + t as u64 + width as u64;
        let of = |n: usize| (at % n as u64) as usize;
        let mut parameters = Parameters {
            temperature: TEMPERATURES[of(TEMPERATURES.len())],
            top_k: TOP_K[of(TOP_K.len())],
            top_p: TOP_P[(at / 2 % TOP_P.len() as u64) as usize],
            min_p: MIN_P[(at / 3 % MIN_P.len() as u64) as usize],
            uniform: 0.0,
        };
        View::of(call, "logits").row(&[t], &mut row);
        let order = order(&row);
        keep_apart(&row, &order, &mut parameters);
        let (key, counter) = choose_draw(&row, &order, &mut parameters, seed, t);
        for (name, value) in [
            ("temperature", parameters.temperature),
            ("top_p", parameters.top_p),
            ("min_p", parameters.min_p),
        ] {
            set(call, name, |operand| operand.set_f64(&[t], value));
        }
        for (name, value) in [
            ("top_k", parameters.top_k),
            ("seed", key),
            ("draw", counter),
        ] {
            set(call, name, |operand| operand.set_i64(&[t], value));
        }
    }
}

fn set(
    call: &mut HostCall,
    name: &str,
    store: impl FnOnce(&mut crate::host::HostTensor) -> Result<(), crate::host::HostError>,
) {
    if let Some(operand) = call.operand_mut(name) {
        store(operand).unwrap_or_else(|e| panic!("operand `{name}`: {e}"));
    }
}

fn fill_logits(call: &mut HostCall, seed: u64) {
    let width = call.symbol("V").unwrap_or(1).max(1) as u64;
    let mut random = Random::new(seed, 0);
    let mut flat = 0u64;
    if let Some(logits) = call.operand_mut("logits") {
        logits
            .fill_with(|| {
                let row = flat / width;
                flat += 1;
                let value = random.signed();
                let likely = random.below(width.div_ceil(40)) == 0;
                let peaked = if likely {
                    6.0 + 3.0 * value
                } else {
                    -9.0 + 4.0 * value
                };
                match row.wrapping_add(seed).wrapping_add(width) % KINDS {
                    1 => 1.5,
                    2 if value > -0.6 => f64::NEG_INFINITY,
                    3 => (peaked / 2.0).round() * 2.0,
                    4 if value > 0.5 => f64::NAN,
                    // Of many nearly equal ones the boundaries lie too dense for f32 sums.
                    5 if width <= 1000 => 0.25 * value,
                    6 if value > 1.0 - 4.0 / width as f64 => f64::INFINITY,
                    7 if row.is_multiple_of(3) => f64::NAN,
                    7 if row % 3 == 1 => f64::NEG_INFINITY,
                    _ => peaked,
                }
            })
            .unwrap_or_else(|e| panic!("operand `logits`: {e}"));
    }
}

/// Moves `top_p` and `min_p` until both lie apart from every sum and ratio. Both stay multiples of 2^-13, which f32 holds.
fn keep_apart(row: &[f64], order: &[usize], parameters: &mut Parameters) {
    let (top_p, min_p) = (parameters.top_p, parameters.min_p);
    let margin = |p: &Parameters| draw(row, order, p).kept_margin;
    let mut best = (margin(parameters), *parameters);
    for step in 1..TRIES {
        if best.0 >= MARGIN {
            break;
        }
        let shift = step as f64 / 8192.0;
        let mut moved = *parameters;
        if top_p > 0.0 && top_p < 1.0 {
            moved.top_p = if step.is_multiple_of(2) {
                top_p - shift
            } else {
                (top_p + shift).min(0.999_023_437_5)
            };
        }
        if min_p > 0.0 && min_p < 1.0 {
            moved.min_p = min_p + shift;
        }
        let here = margin(&moved);
        if here > best.0 {
            best = (here, moved);
        }
    }
    *parameters = best.1;
}

/// The seed and the draw, of several tried, whose number lies apart from the boundaries between tokens.
fn choose_draw(
    row: &[f64],
    order: &[usize],
    parameters: &mut Parameters,
    seed: u64,
    t: i64,
) -> (i64, i64) {
    let mut random = Random::new(seed, 100 + t as u64);
    // Both words of key and counter are in use.
    let key = random.below(u64::MAX) as i64;
    let first = random.below(1 << 40) as i64;
    let mut best: Option<(f64, i64, f64)> = None;
    for step in 0..TRIES as i64 {
        parameters.uniform = uniform(key, first + step);
        let Drawn { draw_margin, .. } = draw(row, order, parameters);
        if best.is_none_or(|b| draw_margin > b.0) {
            best = Some((draw_margin, first + step, parameters.uniform));
        }
        if draw_margin >= MARGIN {
            break;
        }
    }
    let (_, counter, number) = best.expect("at least one was tried");
    parameters.uniform = number;
    (key, counter)
}

#[cfg(test)]
mod tests {
    use super::super::oracle::parameters;
    use super::*;
    use std::sync::Arc;

    /// What an f32 kernel can be off by in the place of a boundary, in all geometries. Rows of equal elements have their
    /// boundaries at whole numbers, which f32 adds exactly.
    #[test]
    fn no_answer_hangs_on_rounding() {
        let op = &super::super::OP;
        let schema = Arc::new(op.parse().unwrap());
        let mut drawn = 0;
        for (seed, geometry) in (op.geometries)().iter().enumerate() {
            let mut call = HostCall::from_geometry(&schema, geometry).unwrap();
            fill(&mut call, seed as u64);
            let width = symbol(&call, "V") as usize;
            let mut row = vec![0.0; width];
            for t in 0..symbol(&call, "T") {
                View::of(&call, "logits").row(&[t], &mut row);
                let order = order(&row);
                let got = draw(&row, &order, &parameters(&call, t));
                let flat = order.first() == order.last()
                    || !order.is_empty() && row[order[0]] == row[order[order.len() - 1]];
                let least = if flat { 1e-6 } else { 2e-5 };
                assert!(
                    got.kept_margin >= least && got.draw_margin >= least,
                    "{} row {t}: {got:?}",
                    geometry.name
                );
                drawn += usize::from(got.draw_margin.is_finite());
            }
        }
        assert!(drawn > 200, "only {drawn} rows draw");
    }
}

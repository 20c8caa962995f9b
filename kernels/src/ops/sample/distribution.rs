//! What one row's token is drawn from, and how near a decision comes to falling otherwise.

/// The parameters of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub temperature: f64,
    pub top_k: i64,
    pub top_p: f64,
    pub min_p: f64,
    /// In 0..1.
    pub uniform: f64,
}

/// A drawn token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    /// Its index, -1 for none.
    pub token: i64,
    /// The least distance, as a share of a sum, at which another boundary than a tie would have changed what is kept by `top_p`
    /// or by `min_p`.
    pub kept_margin: f64,
    /// The least distance, as a share of the kept sum, of the draw from another token.
    pub draw_margin: f64,
}

impl Drawn {
    fn sure(token: i64) -> Self {
        Drawn {
            token,
            kept_margin: f64::INFINITY,
            draw_margin: f64::INFINITY,
        }
    }
}

/// Elements that are numbers, in descending order, equal ones by index.
pub(super) fn order(row: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).filter(|&i| !row[i].is_nan()).collect();
    order.sort_by(|&a, &b| {
        row[b]
            .partial_cmp(&row[a])
            .expect("numbers")
            .then(a.cmp(&b))
    });
    order
}

/// Draws from a row, whose order is given.
pub(super) fn draw(row: &[f64], order: &[usize], parameters: &Parameters) -> Drawn {
    let Some(&best) = order.first() else {
        return Drawn::sure(-1);
    };
    let greatest = row[best];
    if parameters.temperature == 0.0 || greatest == f64::NEG_INFINITY {
        return Drawn::sure(best as i64);
    }
    let weight = |i: usize| {
        if row[i] == greatest {
            1.0
        } else {
            ((row[i] - greatest) / parameters.temperature).exp()
        }
    };
    let count = match parameters.top_k {
        k if k > 0 => order.len().min(k as usize),
        _ => order.len(),
    };
    let mut kept: Vec<(usize, f64)> = order[..count].iter().map(|&i| (i, weight(i))).collect();
    let mut kept_margin = f64::INFINITY;
    if parameters.top_p < 1.0 {
        let total: f64 = kept.iter().map(|k| k.1).sum();
        let wanted = parameters.top_p * total;
        let (mut sum, mut n) = (0.0, 0);
        loop {
            let before = sum;
            sum += kept[n].1;
            n += 1;
            if sum >= wanted || n == kept.len() {
                kept_margin = (sum - wanted).abs() / total;
                if n > 1 {
                    kept_margin = kept_margin.min((wanted - before).abs() / total);
                }
                break;
            }
        }
        kept.truncate(n);
    }
    if parameters.min_p > 0.0 {
        for (_, weight) in &kept {
            // Of elements equal to the greatest the ratio is 1 in any arithmetic.
            if *weight != 1.0 && *weight > 0.0 {
                kept_margin = kept_margin.min((weight / parameters.min_p).ln().abs());
            }
        }
        kept.retain(|k| k.1 >= parameters.min_p);
    }
    kept.sort_by_key(|k| k.0);
    let sum: f64 = kept.iter().map(|k| k.1).sum();
    let wanted = parameters.uniform * sum;
    let (mut cumulative, mut last) = (0.0, best);
    for (i, weight) in kept {
        let before = cumulative;
        cumulative += weight;
        if weight > 0.0 {
            last = i;
        }
        if cumulative > wanted {
            // Before the first weight there is nothing that another rounding could draw.
            let below = if before == 0.0 {
                f64::INFINITY
            } else {
                wanted - before
            };
            return Drawn {
                token: i as i64,
                kept_margin,
                draw_margin: below.min(cumulative - wanted) / sum,
            };
        }
    }
    // The product with u below 1 can round up to the sum itself.
    Drawn {
        token: last as i64,
        kept_margin,
        draw_margin: 0.0,
    }
}

//! Combinations of factors in which every pair of levels of every two factors occurs together.
//!
//! Faults that need two conditions at once (a tail *and* a bias, a window *and* a page of 1) are met without the product of
//! all factors.

/// Rows of levels, one for each factor, such that for any two factors every pair of their levels stands in some row. `levels`
/// holds the number of levels of each factor, at least 1. The same input gives the same rows.
pub fn pairwise(levels: &[usize]) -> Vec<Vec<usize>> {
    let mut open = Pairs::new(levels);
    let mut rows = Vec::new();
    while let Some((f, g, a, b)) = open.first() {
        let mut row: Vec<Option<usize>> = vec![None; levels.len()];
        row[f] = Some(a);
        row[g] = Some(b);
        // Each further factor takes the level that closes most open pairs with what is chosen; ties go round, so that no
        // level is favoured in all rows.
        for factor in 0..levels.len() {
            if row[factor].is_some() {
                continue;
            }
            let gain = |level: usize| {
                row.iter()
                    .enumerate()
                    .filter(|&(other, chosen)| {
                        chosen.is_some_and(|c| open.is_open(factor, level, other, c))
                    })
                    .count()
            };
            let start = rows.len() + factor;
            let best = (0..levels[factor])
                .map(|i| (start + i) % levels[factor])
                .max_by_key(|&level| {
                    (
                        gain(level),
                        usize::MAX
                            - (level + levels[factor] - start % levels[factor]) % levels[factor],
                    )
                });
            row[factor] = best;
        }
        let row: Vec<usize> = row.into_iter().map(|level| level.unwrap_or(0)).collect();
        open.close(&row);
        rows.push(row);
    }
    if rows.is_empty() && !levels.is_empty() {
        rows.extend((0..levels[0]).map(|level| vec![level]));
    }
    rows
}

/// Which pairs of levels have not occurred yet.
struct Pairs {
    levels: Vec<usize>,
    open: Vec<bool>,
    total: usize,
    start: Vec<usize>,
}

impl Pairs {
    fn new(levels: &[usize]) -> Self {
        let start: Vec<usize> = levels
            .iter()
            .scan(0, |sum, n| {
                let here = *sum;
                *sum += n;
                Some(here)
            })
            .collect();
        let total: usize = levels.iter().sum();
        let mut pairs = Pairs {
            levels: levels.to_vec(),
            open: vec![false; total * total],
            total,
            start,
        };
        for f in 0..levels.len() {
            for g in f + 1..levels.len() {
                for a in 0..levels[f] {
                    for b in 0..levels[g] {
                        let at = pairs.at(f, a, g, b);
                        pairs.open[at] = true;
                    }
                }
            }
        }
        pairs
    }

    fn at(&self, f: usize, a: usize, g: usize, b: usize) -> usize {
        let (x, y) = (self.start[f] + a, self.start[g] + b);
        x.min(y) * self.total + x.max(y)
    }

    fn is_open(&self, f: usize, a: usize, g: usize, b: usize) -> bool {
        f != g && self.open[self.at(f, a, g, b)]
    }

    fn first(&self) -> Option<(usize, usize, usize, usize)> {
        let at = self.open.iter().position(|&open| open)?;
        let owner = |x: usize| {
            let factor = (0..self.levels.len())
                .rfind(|&f| self.start[f] <= x && self.levels[f] > 0)
                .unwrap_or(0);
            (factor, x - self.start[factor])
        };
        let ((f, a), (g, b)) = (owner(at / self.total), owner(at % self.total));
        Some((f, g, a, b))
    }

    fn close(&mut self, row: &[usize]) {
        for f in 0..row.len() {
            for g in f + 1..row.len() {
                let at = self.at(f, row[f], g, row[g]);
                self.open[at] = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::pairwise;

    #[test]
    fn every_pair_of_levels_occurs() {
        for levels in [
            vec![3, 3, 2, 4],
            vec![9, 7, 5, 4, 3, 2, 2, 7],
            vec![2, 2],
            vec![1, 5, 1],
        ] {
            let rows = pairwise(&levels);
            for f in 0..levels.len() {
                for g in f + 1..levels.len() {
                    for a in 0..levels[f] {
                        for b in 0..levels[g] {
                            assert!(
                                rows.iter().any(|r| r[f] == a && r[g] == b),
                                "{levels:?}: {f}={a} with {g}={b}"
                            );
                        }
                    }
                }
            }
            let product: usize = levels.iter().product();
            assert!(rows.len() <= product, "{levels:?}: {} rows", rows.len());
        }
    }
}

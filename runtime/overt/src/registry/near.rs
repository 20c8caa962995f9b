//! Near names, for errors about unknown ones.

/// Up to three of `known` that resemble `name`, the nearest first.
pub(crate) fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|candidate| {
            let distance = distance(name, candidate);
            let related = distance * 3 <= name.len().max(candidate.len())
                || (name.len() > 2 && candidate.contains(name));
            related.then_some((distance, candidate))
        })
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked
        .into_iter()
        .take(3)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Edit distance over bytes: insertions, deletions, replacements and swaps of neighbours count one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                best = best.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_find_theirs_and_unrelated_ones_find_none() {
        let known = ["rms_norm.1", "matmul_bt.1", "paged_attention.1", "add.1"];
        assert_eq!(near("rms_nrom.1", known), ["rms_norm.1"]);
        assert_eq!(near("attention", known), ["paged_attention.1"]);
        assert_eq!(near("convolution", known), Vec::<String>::new());
    }
}

//! How alike two texts are: the Ratcliff/Obershelp ratio that fuzzy edits and name suggestions share.

use similar::{ChangeTag, TextDiff};
use std::collections::HashMap;
use std::time::Duration;

/// Longer texts are compared by lines, and a longer line by its ends: the full measure is quadratic.
const FULL_LIMIT: usize = 2_000;

/// Twice the matching characters over all characters, 0.0 to 1.0; 1.0 for two empty texts.
pub fn ratio(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    if a.len().max(b.len()) > FULL_LIMIT && a.contains('\n') && b.contains('\n') {
        return line_ratio(a, b);
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let total = a.len() + b.len();
    let matching = if a.len().max(b.len()) > FULL_LIMIT { common_ends(&a, &b) } else { matching(&a, &b) };
    2.0 * matching as f64 / total as f64
}

/// The same measure with whole lines as what matches, each weighing its bytes.
fn line_ratio(a: &str, b: &str) -> f64 {
    let diff = TextDiff::configure().timeout(Duration::from_millis(200)).diff_lines(a, b);
    let equal = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Equal);
    let matching: usize = equal.map(|change| change.value().len()).sum();
    2.0 * matching as f64 / (a.len() + b.len()) as f64
}

/// Whether [`ratio`] reaches `threshold`, with cheap upper bounds first.
pub fn at_least(a: &str, b: &str, threshold: f64) -> bool {
    if a == b {
        return true;
    }
    let (la, lb) = (a.chars().count(), b.chars().count());
    let bound = |matching: usize| 2.0 * matching as f64 / (la + lb) as f64 >= threshold;
    bound(la.min(lb)) && bound(shared_characters(a, b)) && ratio(a, b) >= threshold
}

/// The names most like `word`, best first, at most `limit`, none below `cutoff`.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>, cutoff: f64, limit: usize) -> Vec<&'a str> {
    let mut scored: Vec<(f64, &str)> =
        names.into_iter().map(|name| (ratio(name, word), name)).filter(|(score, _)| *score >= cutoff).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.into_iter().take(limit).map(|(_, name)| name).collect()
}

/// Characters that both texts have, order aside.
fn shared_characters(a: &str, b: &str) -> usize {
    let mut counts: HashMap<char, i32> = HashMap::new();
    for c in b.chars() {
        *counts.entry(c).or_default() += 1;
    }
    a.chars()
        .filter(|c| {
            counts.get_mut(c).is_some_and(|n| {
                *n -= 1;
                *n >= 0
            })
        })
        .count()
}

fn common_ends(a: &[char], b: &[char]) -> usize {
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let suffix = a[prefix..].iter().rev().zip(b[prefix..].iter().rev()).take_while(|(x, y)| x == y).count();
    prefix + suffix
}

/// Characters in the longest common block, plus those in the blocks left and right of it, and so on.
fn matching(a: &[char], b: &[char]) -> usize {
    let mut positions: HashMap<char, Vec<usize>> = HashMap::new();
    for (j, c) in b.iter().enumerate() {
        positions.entry(*c).or_default().push(j);
    }
    let mut total = 0;
    let mut open = vec![(0, a.len(), 0, b.len())];
    let (mut row, mut next) = (vec![0usize; b.len() + 1], vec![0usize; b.len() + 1]);
    while let Some((alo, ahi, blo, bhi)) = open.pop() {
        let (i, j, size) = longest(a, &positions, (alo, ahi, blo, bhi), &mut row, &mut next);
        if size == 0 {
            continue;
        }
        total += size;
        if alo < i && blo < j {
            open.push((alo, i, blo, j));
        }
        if i + size < ahi && j + size < bhi {
            open.push((i + size, ahi, j + size, bhi));
        }
    }
    total
}

/// The longest common block, the earliest of equals. `row[j + 1]` is the length of the block that ends at `b[j]`.
fn longest(
    a: &[char],
    positions: &HashMap<char, Vec<usize>>,
    (alo, ahi, blo, bhi): (usize, usize, usize, usize),
    row: &mut Vec<usize>,
    next: &mut Vec<usize>,
) -> (usize, usize, usize) {
    let mut best = (alo, blo, 0);
    row.fill(0);
    next.fill(0);
    let none = Vec::new();
    let mut touched: &Vec<usize> = &none;
    for (i, c) in a.iter().enumerate().take(ahi).skip(alo) {
        let here = positions.get(c).unwrap_or(&none);
        for &j in here.iter().filter(|j| (blo..bhi).contains(*j)) {
            let size = if j > blo { row[j] + 1 } else { 1 };
            next[j + 1] = size;
            if size > best.2 {
                best = (i + 1 - size, j + 1 - size, size);
            }
        }
        for &j in touched {
            row[j + 1] = 0;
        }
        std::mem::swap(row, next);
        touched = here;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_counts_blocks_in_order() {
        for (a, b, want) in [
            ("", "", 1.0),
            ("abcd", "bcde", 0.75),
            ("x=1;y=2", "x=1; y=2", 14.0 / 15.0),
            ("abc", "xyz", 0.0),
            ("a\nb\nc", "a\nB\nc", 0.8),
            ("line 3 value 21", "line 4 value 28", 26.0 / 30.0),
        ] {
            assert!((ratio(a, b) - want).abs() < 1e-9, "{a:?} {b:?}: {}", ratio(a, b));
        }
    }

    #[test]
    fn long_texts_are_measured_by_lines() {
        let text = |changed: usize| {
            (0..500).map(|i| format!("line {}\n", if i < changed { i + 1_000 } else { i })).collect::<String>()
        };
        assert!(ratio(&text(0), &text(50)) > 0.85);
        assert!(ratio(&text(0), &text(400)) < 0.30);
        assert_eq!(ratio(&"x".repeat(9_000), &format!("{}y", "x".repeat(9_000))), 18_000.0 / 18_001.0);
    }

    #[test]
    fn at_least_agrees_with_ratio() {
        let words = ["alpha beta", "alpha bet", "beta alpha", "gamma", "", "alpha"];
        for a in words {
            for b in words {
                assert_eq!(at_least(a, b, 0.7), ratio(a, b) >= 0.7, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn nearest_is_best_first() {
        assert_eq!(nearest("serch_files", ["read_file", "search_files"], 0.7, 1), ["search_files"]);
        assert!(nearest("zzz", ["read_file"], 0.7, 3).is_empty());
    }
}

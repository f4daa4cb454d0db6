//! Line diffs of files, as the user and the model read them.

use super::encoding::Encoding;
use crate::protocol::FileDiff;
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Bytes of one file's diff that are kept.
const DIFF_BYTES: usize = 256 * 1024;
/// Files over this get no diff.
const DIFF_INPUT: usize = 8 * 1024 * 1024;
/// From so many lines on both sides together, the places that differ are looked for first.
const MANY_LINES: usize = 10_000;
/// Equal lines, one after another, that end a place that differs.
const SAME: usize = 8;
/// Lines that such a place has at most on each side, and pairs of lines compared to find the ends of all.
const REACH: usize = 200;
const MAX_PAIRS: usize = 4_000_000;
/// Lines around a change.
const AROUND: usize = 3;
const LIMIT: Duration = Duration::from_millis(500);

/// The diff of one file; no text when either side is binary or too large.
pub fn file_diff(shown: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> FileDiff {
    let none = FileDiff { path: shown.to_owned(), ..FileDiff::default() };
    // The side that is new is written as the other was.
    let encoding = Encoding::of(before.or(after).unwrap_or_default());
    let (Some(old), Some(new)) = (text(before, encoding), text(after, encoding)) else { return none };
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let ops = changes(&old, &new);
    let (mut added, mut removed) = (0, 0);
    for (tag, old, new) in ops.iter().map(DiffOp::as_tag_tuple) {
        if tag != DiffTag::Equal {
            added += new.len() as u32;
            removed += old.len() as u32;
        }
    }
    let header = |side: Option<&[u8]>, prefix: &str| side.map_or("/dev/null".into(), |_| format!("{prefix}/{shown}"));
    let hunks = unified(ops, &old, &new);
    if hunks.is_empty() {
        return FileDiff { added, removed, ..none };
    }
    let unified = format!("--- {}\n+++ {}\n{hunks}", header(before, "a"), header(after, "b"));
    FileDiff { added, removed, unified: cut_lines(unified, DIFF_BYTES), ..none }
}

/// Text with `\n` line ends; a side that is not there is empty.
fn text(bytes: Option<&[u8]>, encoding: Encoding) -> Option<Cow<'_, str>> {
    let bytes = bytes.unwrap_or_default();
    // What is UTF-8 for certain is read as that: the other side may have been converted.
    let is_utf8 = std::str::from_utf8(bytes).is_ok_and(|text| !text.is_ascii());
    let encoding = if is_utf8 { Encoding::Utf8 } else { encoding };
    let text = if bytes.len() <= DIFF_INPUT { encoding.show(bytes) } else { None }?;
    Some(if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { text })
}

/// What to do to the old lines to get the new ones.
fn changes(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let backends = (old.len() + new.len() > MANY_LINES).then(|| backends(old, new)).flatten();
    // In a large file without places the whole is compared, which takes time.
    let backends = backends.unwrap_or_else(|| vec![(0..old.len(), 0..new.len())]);
    let deadline = Instant::now() + LIMIT;
    let mut ops: Vec<DiffOp> = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for (old_place, new_place) in backends {
        push(&mut ops, DiffOp::Equal { old_index: old_at, new_index: new_at, len: old_place.start - old_at });
        let (from_old, from_new) = (old_place.start, new_place.start);
        (old_at, new_at) = (old_place.end, new_place.end);
        let inside =
            capture_diff_slices_deadline(Algorithm::Histogram, &old[old_place], &new[new_place], Some(deadline));
        for op in inside {
            let (tag, old, new) = op.as_tag_tuple();
            let (old_index, new_index) = (old.start + from_old, new.start + from_new);
            push(
                &mut ops,
                match tag {
                    DiffTag::Equal => DiffOp::Equal { old_index, new_index, len: old.len() },
                    DiffTag::Delete => DiffOp::Delete { old_index, old_len: old.len(), new_index },
                    DiffTag::Insert => DiffOp::Insert { old_index, new_index, new_len: new.len() },
                    DiffTag::Replace => {
                        DiffOp::Replace { old_index, old_len: old.len(), new_index, new_len: new.len() }
                    }
                },
            );
        }
    }
    push(&mut ops, DiffOp::Equal { old_index: old_at, new_index: new_at, len: old.len() - old_at });
    ops
}

/// Adds an operation; equal lines that follow equal lines are one.
fn push(ops: &mut Vec<DiffOp>, op: DiffOp) {
    match (ops.last_mut(), &op) {
        (_, DiffOp::Equal { len: 0, .. }) => {}
        (Some(DiffOp::Equal { len, .. }), DiffOp::Equal { len: more, .. }) => *len += more,
        _ => ops.push(op),
    }
}

/// The places where the sides differ; all between is equal. `None` when that cannot be said by looking a little ahead.
fn backends(old: &[&str], new: &[&str]) -> Option<Vec<(Range<usize>, Range<usize>)>> {
    let (mut i, mut j, mut pairs, mut found) = (0, 0, 0, Vec::new());
    loop {
        let same = old[i..].iter().zip(&new[j..]).take_while(|(a, b)| a == b).count();
        (i, j) = (i + same, j + same);
        if i == old.len() && j == new.len() {
            return Some(found);
        }
        let (a, b) = meet(&old[i..], &new[j..], &mut pairs)?;
        found.push((i..i + a, j..j + b));
        (i, j) = (i + a, j + b);
    }
}

/// The fewest lines to pass on both sides until they go on alike, or end.
fn meet(old: &[&str], new: &[&str], pairs: &mut usize) -> Option<(usize, usize)> {
    for passed in 1..=2 * REACH {
        for a in passed.saturating_sub(REACH)..=passed.min(REACH) {
            let (Some(old), Some(new)) = (old.get(a..), new.get(passed - a..)) else { continue };
            *pairs += 1;
            let rest = old.len().max(new.len()).min(SAME);
            if old.get(..rest).is_some_and(|next| Some(next) == new.get(..rest)) {
                return Some((a, passed - a));
            }
        }
        if *pairs > MAX_PAIRS {
            return None;
        }
    }
    None
}

/// Hunks in the unified format.
fn unified(ops: Vec<DiffOp>, old: &[&str], new: &[&str]) -> String {
    let mut out = String::new();
    for group in group_diff_ops(ops, AROUND) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (old_range, new_range) =
            (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "@@ -{} +{} @@", place(&old_range), place(&new_range));
        for (tag, old_range, new_range) in group.iter().map(DiffOp::as_tag_tuple) {
            if tag == DiffTag::Equal {
                lines(&mut out, ' ', &old[old_range]);
            } else {
                lines(&mut out, '-', &old[old_range]);
                lines(&mut out, '+', &new[new_range]);
            }
        }
    }
    out
}

/// `12`, `12,3`, and `11,0` for nothing after line 11.
fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        len => format!("{},{len}", range.start + 1),
    }
}

fn lines(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// At most `limit` bytes, cut after a line, with a note of what is missing.
pub fn cut_lines(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let cut = text.as_bytes()[..limit].iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1);
    let left = text.as_bytes()[cut..].iter().filter(|b| **b == b'\n').count();
    format!("{}… {left} more lines\n", &text[..cut])
}

#[cfg(test)]
mod tests {
    use super::*;
    use similar::TextDiff;

    #[test]
    fn diffs_count_and_show() {
        let diff = file_diff("f", Some(b"a\nb\n"), Some(b"a\nc\nd\n"));
        assert_eq!((diff.added, diff.removed), (2, 1));
        assert!(diff.unified.starts_with("--- a/f\n+++ b/f\n@@ "), "{}", diff.unified);
        assert!(file_diff("f", None, Some(b"a\n")).unified.starts_with("--- /dev/null\n"));
        assert_eq!(file_diff("f", Some(b"\0"), Some(b"a")).unified, "");
        assert_eq!(cut_lines("ab\ncd\nef\n".into(), 7), "ab\ncd\n… 1 more lines\n");
    }

    /// What the diff says, done to the old lines.
    fn applied(ops: &[DiffOp], old: &[&str], new: &[&str]) -> String {
        let mut out = String::new();
        for (tag, old_range, new_range) in ops.iter().map(DiffOp::as_tag_tuple) {
            match tag {
                DiffTag::Equal => out.push_str(&old[old_range].concat()),
                DiffTag::Delete => {}
                DiffTag::Insert | DiffTag::Replace => out.push_str(&new[new_range].concat()),
            }
        }
        out
    }

    proptest::proptest! {
        /// The format is that of the library, and places that were looked for apart lead to the same text.
        #[test]
        fn any_two_texts(
            old in proptest::collection::vec("[ab]\n", 0..30),
            new in proptest::collection::vec("[abc]\n", 0..30),
            common in 0usize..40,
            end in "c?",
        ) {
            let common: String = (0..common).map(|n| format!("{n}\n")).collect();
            let old = format!("{}{common}{}", old.concat(), new.concat());
            let new = format!("{}{common}{end}", new.concat());
            let diff = TextDiff::configure().algorithm(Algorithm::Histogram).diff_lines(&old, &new);
            let want = diff.unified_diff().context_radius(3).header("a/f", "b/f").to_string();
            proptest::prop_assert_eq!(file_diff("f", Some(old.as_bytes()), Some(new.as_bytes())).unified, want);
            let (old, lines): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
            for (a, b) in [(&old, &lines), (&lines, &old)] {
                let Some(backends) = backends(a, b) else { continue };
                let (mut i, mut j) = (0, 0);
                for (left, right) in backends.into_iter().chain([(a.len()..a.len(), b.len()..b.len())]) {
                    proptest::prop_assert_eq!(&a[i..left.start], &b[j..right.start]);
                    (i, j) = (left.end, right.end);
                }
            }
        }
    }

    #[test]
    fn a_large_file_is_compared_where_it_differs() {
        let old: Vec<String> = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let mut new = old.clone();
        new[15_000] = "other\n".into();
        new.drain(9_000..9_004);
        new.insert(3, "more\n".into());
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
        assert_eq!(
            backends(&old, &new),
            Some(vec![(3..3, 3..4), (9_000..9_004, 9_001..9_001), (15_000..15_001, 14_997..14_998)])
        );
        assert_eq!(applied(&changes(&old, &new), &old, &new), new.concat());
        let diff = file_diff("f", Some(old.concat().as_bytes()), Some(new.concat().as_bytes()));
        assert_eq!((diff.added, diff.removed, diff.unified.matches("@@ -").count()), (2, 5, 3));
        // A text that is another one is compared as a whole.
        let other: Vec<String> = (0..600).map(|n| format!("{n}\n")).collect();
        let other: Vec<&str> = other.iter().map(String::as_str).collect();
        assert_eq!(backends(&old, &other), None);
        assert_eq!(applied(&changes(&old, &other), &old, &other), other.concat());
    }
}

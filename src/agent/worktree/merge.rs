//! Lines of two sides: what differs, as hunks, and what of it is put into a third side. Pure.

use crate::protocol::{Swap, TreeHunk};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline};
use std::time::{Duration, Instant};

/// Lines that go, from and to, and those that come in their place.
type Change<'a> = ((usize, usize), &'a [&'a [u8]]);

/// Equal lines around a hunk.
const AROUND: usize = 3;
/// How long two files are compared before the result may be longer than it need be.
const LIMIT: Duration = Duration::from_secs(2);

/// The lines of a file, with their ends.
pub fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// What to replace in the old lines to get the new ones, in order.
pub fn swaps(old: &[&[u8]], new: &[&[u8]]) -> Vec<Swap> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let ops = capture_diff_slices_deadline(Algorithm::Histogram, old, new, Some(Instant::now() + LIMIT));
    let differs = ops.iter().map(DiffOp::as_tag_tuple).filter(|(tag, ..)| *tag != DiffTag::Equal);
    let swap = |(_, old, new): (DiffTag, std::ops::Range<usize>, std::ops::Range<usize>)| Swap {
        old: (old.start + head, old.end + head),
        new: (new.start + head, new.end + head),
    };
    // Those that touch are one: nothing stands between them.
    let mut all: Vec<Swap> = Vec::new();
    for next in differs.map(swap) {
        match all.last_mut().filter(|last| last.old.1 == next.old.0 && last.new.1 == next.new.0) {
            Some(last) => (last.old.1, last.new.1) = (next.old.1, next.new.1),
            None => all.push(next),
        }
    }
    all
}

/// The hunks of two sides, as a unified diff has them; at most so many lines are shown, and how many are not.
pub fn hunks(old: &[&[u8]], new: &[&[u8]], most: usize) -> (Vec<TreeHunk>, usize) {
    let mut groups: Vec<Vec<Swap>> = Vec::new();
    for swap in swaps(old, new) {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| swap.old.0 - last.old.1 <= 2 * AROUND) => group.push(swap),
            _ => groups.push(vec![swap]),
        }
    }
    let (mut left, mut hidden) = (most, 0);
    let hunks = groups.into_iter().map(|swaps| {
        let mut hunk = hunk(swaps, old, new);
        hidden += hunk.lines.len().saturating_sub(left);
        hunk.lines.truncate(left);
        left -= hunk.lines.len();
        hunk
    });
    (hunks.collect(), hidden)
}

fn hunk(swaps: Vec<Swap>, old: &[&[u8]], new: &[&[u8]]) -> TreeHunk {
    let (Some(first), Some(last)) = (swaps.first().copied(), swaps.last().copied()) else { return TreeHunk::default() };
    let before = first.old.0.min(first.new.0).min(AROUND);
    let (from, to) = (first.old.0 - before, (last.old.1 + AROUND).min(old.len()));
    let mut lines = Vec::new();
    let mut at = from;
    for swap in &swaps {
        show(&mut lines, ' ', &old[at..swap.old.0]);
        show(&mut lines, '-', &old[swap.old.0..swap.old.1]);
        show(&mut lines, '+', &new[swap.new.0..swap.new.1]);
        at = swap.old.1;
    }
    show(&mut lines, ' ', &old[at..to]);
    TreeHunk { old: from + 1, new: first.new.0 - before + 1, swaps, lines, here: false }
}

fn show(out: &mut Vec<String>, sign: char, lines: &[&[u8]]) {
    for line in lines {
        let text = String::from_utf8_lossy(line);
        out.push(format!("{sign}{}", text.trim_end_matches(['\n', '\r'])));
        if !line.ends_with(b"\n") {
            out.push("\\ No newline at end of file".into());
        }
    }
}

/// What two sides made of a base does not go together, at this line of the base, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict(pub usize);

/// Puts changes that were made to a base into what stands there now. Changes that are there already are left.
///
/// # Errors
/// The same lines, or lines next to them, were changed in another way. Or the changes are none of these sides.
pub fn merge(base: &[u8], now: &[u8], new: &[u8], take: &[Swap]) -> Result<Vec<u8>, Conflict> {
    let (base, now, new) = (lines(base), lines(now), lines(new));
    let fits = |swap: &Swap| {
        swap.old.0 <= swap.old.1 && swap.old.1 <= base.len() && swap.new.0 <= swap.new.1 && swap.new.1 <= new.len()
    };
    let ordered = take.windows(2).all(|pair| pair[0].old.1 <= pair[1].old.0);
    if !ordered || !take.iter().all(fits) {
        return Err(Conflict(1));
    }
    let theirs = swaps(&base, &now);
    let mut all: Vec<Change<'_>> = theirs.iter().map(|swap| (swap.old, &now[swap.new.0..swap.new.1])).collect();
    for swap in take {
        let wanted = &new[swap.new.0..swap.new.1];
        let touching = theirs.iter().find(|there| there.old.0 <= swap.old.1 && swap.old.0 <= there.old.1);
        match touching {
            Some(there) if there.old == swap.old && &now[there.new.0..there.new.1] == wanted => {}
            Some(_) => return Err(Conflict(swap.old.0 + 1)),
            None => all.push((swap.old, wanted)),
        }
    }
    all.sort_by_key(|(old, _)| *old);
    let mut out = Vec::new();
    let mut at = 0;
    for ((from, to), lines) in all {
        out.extend(base[at..from].iter().chain(lines).flat_map(|line| line.iter().copied()));
        at = to;
    }
    out.extend(base[at..].iter().flat_map(|line| line.iter().copied()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(old: &str, new: &str) -> Vec<Swap> {
        swaps(&lines(old.as_bytes()), &lines(new.as_bytes()))
    }

    fn merged(base: &str, now: &str, new: &str, take: &[Swap]) -> Result<String, Conflict> {
        merge(base.as_bytes(), now.as_bytes(), new.as_bytes(), take).map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn what_is_taken_goes_into_what_stands_there() {
        let base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\nten\n";
        let take = all(base, new);
        assert_eq!(take.len(), 2);
        for (now, take, want) in [
            (base, &take[..], Ok(new)),
            (base, &take[..1], Ok("1\ntwo\n3\n4\n5\n6\n7\n8\n9\n")),
            (base, &take[1..], Ok("1\n2\n3\n4\n5\n6\n7\n8\nnine\nten\n")),
            // Changed elsewhere in the file: both stay.
            ("0\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n", &take[..], Ok("0\n1\ntwo\n3\n4\nfive\n6\n7\n8\nnine\nten\n")),
            // It is there already.
            ("1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", &take[..1], Ok("1\ntwo\n3\n4\n5\n6\n7\n8\n9\n")),
            // The same line, or one next to it.
            ("1\nzwei\n3\n4\n5\n6\n7\n8\n9\n", &take[..1], Err(Conflict(2))),
            ("1\n2\ndrei\n4\n5\n6\n7\n8\n9\n", &take[..1], Err(Conflict(2))),
            ("", &take[1..], Err(Conflict(9))),
        ] {
            assert_eq!(merged(base, now, new, take), want.map(str::to_owned), "{now:?}");
        }
        // An order about other files is none.
        assert!(merged("1\n", "1\n", "2\n", &take).is_err());
        assert!(merged(base, base, new, &[take[1], take[0]]).is_err());
    }

    #[test]
    fn hunks_stand_apart_and_are_bounded() {
        let old: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n5\n", "\nfive\n").replace("\n9\n", "\nnine\n").replace("\n30\n", "\n30\nmore\n");
        let (hunks, hidden) = hunks(&lines(old.as_bytes()), &lines(new.as_bytes()), 100);
        let about: Vec<_> = hunks.iter().map(|hunk| (hunk.old, hunk.new, hunk.swaps.len(), hunk.lines.len())).collect();
        assert_eq!((about, hidden), (vec![(2, 2, 2, 13), (28, 28, 1, 7)], 0));
        assert_eq!(hunks[1].lines, [" 28", " 29", " 30", "+more", " 31", " 32", " 33"]);
        let (cut, hidden) = super::hunks(&lines(old.as_bytes()), &lines(new.as_bytes()), 15);
        assert_eq!((cut[1].lines.len(), hidden), (2, 5));
        let (ends, _) = super::hunks(&lines(b"a"), &lines(b"a\n"), 9);
        assert_eq!(ends[0].lines, ["-a", "\\ No newline at end of file", "+a"]);
    }

    proptest! {
        #[test]
        fn all_of_it_makes_the_new_side(old in "[abc\n]{0,40}", new in "[abc\n]{0,40}") {
            let take = all(&old, &new);
            prop_assert_eq!(merged(&old, &old, &new, &take), Ok(new.clone()));
            let (hunks, _) = hunks(&lines(old.as_bytes()), &lines(new.as_bytes()), 1000);
            let of_hunks: Vec<Swap> = hunks.into_iter().flat_map(|hunk| hunk.swaps).collect();
            prop_assert_eq!(of_hunks, take);
        }
    }
}

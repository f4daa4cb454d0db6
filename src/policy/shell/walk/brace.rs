//! Brace expansion, and the operations of `${name…}` that text alone decides.

use super::resolve::{MAX_OPTIONS, UNKNOWN};
use crate::policy::glob;
use crate::policy::shell::read::ast::Part;

/// Words of a brace expansion.
const MAX_BRACES: usize = 64;
/// Braces of one word.
const MAX_OPEN: usize = 24;
/// Characters of a word whose braces are expanded.
const MAX_BRACE_WORD: usize = 4096;

/// `${name…}` for the operations that text alone decides.
pub(in crate::policy::shell) fn compute(value: &str, how: &str) -> String {
    let unknown = || UNKNOWN.to_string();
    if let (Some(first), ":0:1") = (value.chars().next().filter(|c| *c != UNKNOWN), how) {
        return first.to_string();
    }
    if value.contains(UNKNOWN) || how.contains(UNKNOWN) || value.len() > 4096 {
        return unknown();
    }
    let chars: Vec<char> = value.chars().collect();
    if let Some(rest) = how.strip_prefix(':') {
        let mut numbers = rest.split(':').map(|n| n.trim().parse::<i64>());
        let (Some(Ok(from)), len) = (numbers.next(), numbers.next()) else { return unknown() };
        let total = chars.len() as i64;
        let start = if from < 0 { (total + from).max(0) } else { from.min(total) };
        let end = match len {
            None => total,
            Some(Ok(n)) if n < 0 => (total + n).max(start),
            Some(Ok(n)) => (start + n).min(total),
            Some(Err(_)) => return unknown(),
        };
        return chars[start as usize..end as usize].iter().collect();
    }
    let slice = |range: std::ops::Range<usize>| chars[range].iter().collect::<String>();
    let cut = |pattern: &str, longest: bool, prefix: bool| -> String {
        let n = chars.len();
        let mut sizes: Vec<usize> = (0..=n).collect();
        if longest {
            sizes.reverse();
        }
        for size in sizes {
            let (gone, kept) = if prefix { (0..size, size..n) } else { (n - size..n, 0..n - size) };
            if glob::matches(pattern, &slice(gone)) {
                return slice(kept);
            }
        }
        value.to_owned()
    };
    if value.len() > 256 && how.starts_with(['#', '%']) && glob::is_pattern(how) {
        return unknown();
    }
    for (prefix, longest, front) in [("##", true, true), ("#", false, true), ("%%", true, false), ("%", false, false)] {
        if let Some(pattern) = how.strip_prefix(prefix) {
            return cut(pattern, longest, front);
        }
    }
    if let Some(rest) = how.strip_prefix('/') {
        let (all, rest) = rest.strip_prefix('/').map_or((false, rest), |r| (true, r));
        let (from, to) = rest.split_once('/').unwrap_or((rest, ""));
        if from.is_empty() || value.len() > 256 && glob::is_pattern(from) {
            return unknown();
        }
        if glob::is_pattern(from) {
            return replaced(&chars, from, to, all);
        }
        return if all { value.replace(from, to) } else { value.replacen(from, to, 1) };
    }
    match how {
        "^^" => value.to_uppercase(),
        ",," => value.to_lowercase(),
        "^" => chars.first().map(|c| c.to_uppercase().chain(chars[1..].iter().copied()).collect()).unwrap_or_default(),
        "," => chars.first().map(|c| c.to_lowercase().chain(chars[1..].iter().copied()).collect()).unwrap_or_default(),
        _ => unknown(),
    }
}

/// `${name/pattern/text}`: at each place the longest match.
fn replaced(chars: &[char], pattern: &str, to: &str, all: bool) -> String {
    let (mut out, mut at, mut done) = (String::new(), 0, false);
    while at < chars.len() {
        let longest = (at + 1..=chars.len())
            .rev()
            .filter(|_| all || !done)
            .find(|end| glob::matches(pattern, &chars[at..*end].iter().collect::<String>()));
        match longest {
            Some(end) => {
                out.push_str(to);
                (at, done) = (end, true);
            }
            None => {
                out.push(chars[at]);
                at += 1;
            }
        }
    }
    out
}

#[derive(Clone)]
enum Atom {
    Char(char),
    Part(Part),
}

/// The words that braces make of a word; `None` past the bounds.
pub(in crate::policy::shell) fn braces(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    let mut atoms = Vec::new();
    for part in parts {
        match part {
            Part::Plain(text) => atoms.extend(text.chars().map(Atom::Char)),
            other => atoms.push(Atom::Part(other.clone())),
        }
    }
    let opened = atoms.iter().filter(|atom| matches!(atom, Atom::Char('{'))).count();
    if atoms.len() > MAX_BRACE_WORD || opened > MAX_OPEN {
        return None;
    }
    let mut all = Vec::new();
    expand_atoms(&atoms, 0, &mut all)?;
    Some(all.into_iter().map(join).collect())
}

fn join(atoms: Vec<Atom>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for atom in atoms {
        match (atom, parts.last_mut()) {
            (Atom::Char(c), Some(Part::Plain(text))) => text.push(c),
            (Atom::Char(c), _) => parts.push(Part::Plain(c.to_string())),
            (Atom::Part(part), _) => parts.push(part),
        }
    }
    parts
}

fn expand_atoms(atoms: &[Atom], from: usize, out: &mut Vec<Vec<Atom>>) -> Option<()> {
    let is = |i: usize, c: char| matches!(atoms.get(i), Some(Atom::Char(x)) if *x == c);
    let mut tries = 0;
    for open in (from..atoms.len()).filter(|i| is(*i, '{')) {
        tries += 1;
        if tries > 32 {
            return None;
        }
        let (mut depth, mut commas, mut close) = (0usize, vec![open], None);
        for i in open..atoms.len() {
            if is(i, '{') {
                depth += 1;
            } else if is(i, '}') {
                depth -= 1;
                if depth == 0 {
                    close = Some(i);
                    break;
                }
            } else if is(i, ',') && depth == 1 {
                commas.push(i);
            }
        }
        let Some(close) = close else { continue };
        let inner: Option<String> =
            atoms[open + 1..close].iter().map(|a| if let Atom::Char(c) = a { Some(*c) } else { None }).collect();
        let alternatives: Vec<Vec<Atom>> = if commas.len() > 1 {
            commas.push(close);
            commas.windows(2).map(|w| atoms[w[0] + 1..w[1]].to_vec()).collect()
        } else if let Some(values) = inner.as_deref().and_then(sequence) {
            values.iter().map(|v| v.chars().map(Atom::Char).collect()).collect()
        } else {
            continue;
        };
        for alternative in alternatives {
            if out.len() >= MAX_BRACES {
                return None;
            }
            let mut next = atoms[..open].to_vec();
            next.extend(alternative);
            next.extend_from_slice(&atoms[close + 1..]);
            expand_atoms(&next, open, out)?;
        }
        return Some(());
    }
    if out.len() >= MAX_BRACES {
        return None;
    }
    out.push(atoms.to_vec());
    Some(())
}

/// The values of `1..3` or `a..c`; a long one is one unknown.
fn sequence(text: &str) -> Option<Vec<String>> {
    let (from, to) = text.split_once("..")?;
    let to = to.split("..").next()?;
    if let (Ok(a), Ok(b)) = (from.parse::<i64>(), to.parse::<i64>()) {
        if a.abs_diff(b) >= MAX_OPTIONS as u64 {
            return Some(vec![UNKNOWN.to_string()]);
        }
        return Some((a.min(b)..=a.max(b)).map(|n| n.to_string()).collect());
    }
    let (mut a, mut b) = (from.chars(), to.chars());
    match (a.next(), a.next(), b.next(), b.next()) {
        (Some(a), None, Some(b), None) if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
            let (a, b) = (a.min(b), a.max(b));
            Some((a..=b).map(String::from).collect())
        }
        _ => None,
    }
}

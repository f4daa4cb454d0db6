//! Find-and-replace that forgives what models get wrong: indentation, spacing, escapes, typography, a line or two.
//!
//! The strategies run in order and the first that finds anything decides; more than one place is an error unless all
//! are wanted. Two of the nine that other programs list, *indentation flexible* and *trimmed boundary*, find nothing
//! that *line trimmed* has not found before them, so they are not here. All text has `\n` line ends.

use super::lines::{Lines, indent};
use super::unicode::{self, Plain};
use crate::tools::similarity;
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

/// A block whose first and last line stand in more places is not looked for: they are no anchors.
const MAX_ANCHORED: usize = 50;
/// Lines of the file times lines wanted up to which every pair is compared.
const MAX_PAIRS: usize = 1_000_000;

/// How a place was found, in the order of trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    Exact,
    /// Lines equal but for the whitespace around them.
    LineTrimmed,
    /// Runs of spaces and tabs count as one space.
    WhitespaceNormalized,
    /// `\n`, `\t` and `\r` were written as two characters.
    EscapeNormalized,
    /// Typographic quotes, dashes and dots count as plain ones.
    UnicodeNormalized,
    /// First and last line equal, the middle similar.
    BlockAnchor,
    /// Half of the lines similar.
    ContextAware,
}

impl Strategy {
    const ALL: [Strategy; 7] = [
        Strategy::Exact,
        Strategy::LineTrimmed,
        Strategy::WhitespaceNormalized,
        Strategy::EscapeNormalized,
        Strategy::UnicodeNormalized,
        Strategy::BlockAnchor,
        Strategy::ContextAware,
    ];

    /// The name for results and logs.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Exact => "exact",
            Strategy::LineTrimmed => "line_trimmed",
            Strategy::WhitespaceNormalized => "whitespace_normalized",
            Strategy::EscapeNormalized => "escape_normalized",
            Strategy::UnicodeNormalized => "unicode_normalized",
            Strategy::BlockAnchor => "block_anchor",
            Strategy::ContextAware => "context_aware",
        }
    }

    /// The places may differ from what was asked for by more than spelling.
    fn guesses(self) -> bool {
        matches!(self, Strategy::BlockAnchor | Strategy::ContextAware)
    }

    fn find(self, content: &str, old: &str) -> Vec<Range<usize>> {
        match self {
            Strategy::Exact => exact(content, old),
            Strategy::LineTrimmed => line_trimmed(content, old),
            Strategy::WhitespaceNormalized => whitespace_normalized(content, old),
            Strategy::EscapeNormalized => match unescape(old) {
                Cow::Borrowed(_) => Vec::new(),
                Cow::Owned(old) => exact(content, &old),
            },
            Strategy::UnicodeNormalized => unicode_normalized(content, old),
            Strategy::BlockAnchor => block_anchor(content, old),
            Strategy::ContextAware => context_aware(content, old),
        }
    }
}

/// Places in a text, left to right; those of the line strategies may overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub strategy: Strategy,
    pub places: Vec<Range<usize>>,
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FuzzyError {
    #[error("old_string is empty; to write a whole file use write_file")]
    Empty,
    #[error("old_string and new_string are the same; nothing would change")]
    Same,
    #[error("old_string was not found in the file")]
    NotFound,
    #[error("found {0} matches for old_string; add surrounding lines to make it unique, or set replace_all=true")]
    Ambiguous(usize),
    #[error("found {0} places only similar to old_string; replace_all needs the exact text")]
    OnlySimilar(usize),
    #[error(
        "old_string and new_string contain {0} but the file has no backslash there; read the file again and pass the text without escaping it"
    )]
    EscapeDrift(&'static str),
}

/// A text after replacement.
#[derive(Clone, Debug, PartialEq)]
pub struct Replaced {
    pub text: String,
    pub count: usize,
    pub strategy: Strategy,
}

/// Replaces `old` by `new`: one place, or every one with `all`.
pub fn replace(content: &str, old: &str, new: &str, all: bool) -> Result<Replaced, FuzzyError> {
    if old.is_empty() {
        return Err(FuzzyError::Empty);
    }
    if old == new {
        return Err(FuzzyError::Same);
    }
    let mut found = find(content, old, |_| true).ok_or(FuzzyError::NotFound)?;
    match found.places.len() {
        1 => {}
        n if !all => return Err(FuzzyError::Ambiguous(n)),
        n if found.strategy.guesses() => return Err(FuzzyError::OnlySimilar(n)),
        _ => {
            let mut free = 0;
            found.places.retain(|place| {
                let keep = place.start >= free;
                free = if keep { place.end } else { free };
                keep
            });
        }
    }
    let text = apply(content, &found, old, new)?;
    Ok(Replaced { text, count: found.places.len(), strategy: found.strategy })
}

/// The places of the first strategy that finds any that `accept` takes.
pub fn find(content: &str, old: &str, accept: impl Fn(&Range<usize>) -> bool) -> Option<Found> {
    Strategy::ALL.into_iter().find_map(|strategy| {
        let mut places = strategy.find(content, old);
        places.retain(|place| accept(place));
        (!places.is_empty()).then_some(Found { strategy, places })
    })
}

/// `content` with `new` in all places, fitted to what stands there.
pub fn apply(content: &str, found: &Found, old: &str, new: &str) -> Result<String, FuzzyError> {
    check_escapes(content, found, old, new)?;
    let mut out = String::with_capacity(content.len() + new.len());
    let mut done = 0;
    for place in &found.places {
        out.push_str(&content[done..place.start]);
        out.push_str(&fitted(&content[place.clone()], found.strategy, old, new));
        done = place.end;
    }
    out.push_str(&content[done..]);
    Ok(out)
}

/// # Errors
/// When quotes are escaped in what was asked for, and not in the file.
pub fn check_escapes(content: &str, found: &Found, old: &str, new: &str) -> Result<(), FuzzyError> {
    if found.strategy != Strategy::Exact {
        for escape in ["\\'", "\\\""] {
            let drifted = old.contains(escape) && new.contains(escape);
            if drifted && !found.places.iter().any(|place| content[place.clone()].contains(escape)) {
                return Err(FuzzyError::EscapeDrift(escape));
            }
        }
    }
    Ok(())
}

fn fitted<'a>(region: &str, strategy: Strategy, old: &str, new: &'a str) -> Cow<'a, str> {
    let tabs = |new: &'a str| if region.contains('\t') { leading_tabs(new) } else { Cow::Borrowed(new) };
    match strategy {
        Strategy::Exact => tabs(new),
        Strategy::EscapeNormalized => unescape(new),
        Strategy::UnicodeNormalized => Cow::Owned(unicode::keep_typography(region, &reindent(region, old, &tabs(new)))),
        _ => Cow::Owned(reindent(region, old, &tabs(new))),
    }
}

fn exact(content: &str, old: &str) -> Vec<Range<usize>> {
    if old.is_empty() {
        return content.match_indices("").map(|(at, _)| at..at).collect();
    }
    memmem::find_iter(content.as_bytes(), old).map(|at| at..at + old.len()).collect()
}

fn line_trimmed(content: &str, old: &str) -> Vec<Range<usize>> {
    let lines = Lines::new(content);
    let wanted: Vec<&str> = old.split('\n').map(str::trim).collect();
    let fits = |first: &usize| {
        first + wanted.len() <= lines.len()
            && wanted.iter().enumerate().all(|(i, want)| lines.get(first + i).trim() == *want)
    };
    // Only where the longest of the lines stands can all of them stand.
    let longest = wanted.iter().enumerate().max_by_key(|(_, line)| line.len()).filter(|(_, line)| !line.is_empty());
    let mut firsts: Vec<usize> = match longest {
        Some((at, line)) => memmem::find_iter(content.as_bytes(), line)
            .filter_map(|place| lines.number_at(place).checked_sub(at))
            .filter(fits)
            .collect(),
        None => (0..lines.len()).filter(fits).collect(),
    };
    firsts.dedup();
    firsts.into_iter().map(|first| lines.range(first, wanted.len())).collect()
}

fn whitespace_normalized(content: &str, old: &str) -> Vec<Range<usize>> {
    let (flat, origin) = collapse(content);
    let (old, _) = collapse(old);
    exact(&flat, &old).into_iter().map(|place| origin[place.start]..origin[place.end]).collect()
}

/// Runs of spaces and tabs as one space, and for each byte where it (or its run) begins in the original.
fn collapse(text: &str) -> (String, Vec<usize>) {
    let (mut flat, mut origin) = (String::with_capacity(text.len()), Vec::with_capacity(text.len() + 1));
    let mut in_run = false;
    for (at, c) in text.char_indices() {
        let blank = c == ' ' || c == '\t';
        if blank && in_run {
            continue;
        }
        in_run = blank;
        flat.push(if blank { ' ' } else { c });
        origin.resize(flat.len(), at);
    }
    origin.push(text.len());
    (flat, origin)
}

fn unicode_normalized(content: &str, old: &str) -> Vec<Range<usize>> {
    if unicode::is_plain(content) && unicode::is_plain(old) {
        return Vec::new();
    }
    let (content, old) = (Plain::new(content), Plain::new(old));
    let mut places = exact(&content.text, &old.text);
    if places.is_empty() {
        places = line_trimmed(&content.text, &old.text);
    }
    places.into_iter().map(|place| content.original(place)).collect()
}

fn block_anchor(content: &str, old: &str) -> Vec<Range<usize>> {
    let (plain, old) = (Plain::new(content), Plain::new(old));
    let (lines, original) = (Lines::new(&plain.text), Lines::new(content));
    let wanted: Vec<&str> = old.text.split('\n').collect();
    let [first, middle @ .., last] = wanted.as_slice() else { return Vec::new() };
    if lines.len() < wanted.len() {
        return Vec::new();
    }
    let (first, last, middle) = (first.trim(), last.trim(), middle.join("\n"));
    let anchored: Vec<usize> = (0..=lines.len() - wanted.len())
        .filter(|at| lines.get(*at).trim() == first && lines.get(at + wanted.len() - 1).trim() == last)
        .collect();
    if anchored.len() > MAX_ANCHORED {
        return Vec::new();
    }
    // A single candidate may differ more than one of several.
    let threshold = if anchored.len() == 1 { 0.50 } else { 0.70 };
    anchored
        .into_iter()
        .filter(|at| {
            wanted.len() == 2
                || similarity::ratio(&plain.text[lines.range(at + 1, wanted.len() - 2)], &middle) >= threshold
        })
        .map(|at| original.range(at, wanted.len()))
        .collect()
}

fn context_aware(content: &str, old: &str) -> Vec<Range<usize>> {
    const ALIKE: f64 = 0.80;
    let lines = Lines::new(content);
    let wanted: Vec<&str> = old.split('\n').map(str::trim).collect();
    if lines.len() < wanted.len() || lines.len() * wanted.len() > MAX_PAIRS {
        return Vec::new();
    }
    let trimmed: Vec<&str> = lines.iter().map(str::trim).collect();
    let needed = wanted.len().div_ceil(2);
    // hits[first] counts the similar lines of the window that begins there.
    let mut hits = vec![0usize; lines.len() - wanted.len() + 1];
    for (i, want) in wanted.iter().enumerate() {
        for (first, hit) in hits.iter_mut().enumerate() {
            // Too few lines are left to reach half: no need to look.
            if *hit + wanted.len() - i >= needed && similarity::at_least(trimmed[first + i], want, ALIKE) {
                *hit += 1;
            }
        }
    }
    let windows = hits.iter().enumerate().filter(|(_, hit)| **hit >= needed);
    windows.map(|(first, _)| lines.range(first, wanted.len())).collect()
}

fn unescape(text: &str) -> Cow<'_, str> {
    if ["\\n", "\\t", "\\r"].iter().any(|escape| text.contains(escape)) {
        Cow::Owned(text.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r"))
    } else {
        Cow::Borrowed(text)
    }
}

/// `\t` written as two characters where a line's indentation is; elsewhere it may be meant, as in a string literal.
pub(super) fn leading_tabs(text: &str) -> Cow<'_, str> {
    if !text.lines().any(|line| line.trim_start().starts_with("\\t")) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        loop {
            let blank = indent(rest.trim_end_matches('\n'));
            out.push_str(blank);
            rest = &rest[blank.len()..];
            let Some(after) = rest.strip_prefix("\\t") else { break };
            out.push('\t');
            rest = after;
        }
        out.push_str(rest);
    }
    Cow::Owned(out)
}

/// Shifts the lines of `new` by the difference between the indentation of `old` and that of the file.
fn reindent(region: &str, old: &str, new: &str) -> String {
    let base = |text: &str| text.lines().find(|line| !line.trim().is_empty()).map(|line| indent(line).to_owned());
    let (Some(have), Some(asked)) = (base(region), base(old)) else { return new.to_owned() };
    if have == asked {
        return new.to_owned();
    }
    let shifted = new.split('\n').map(|line| {
        let own = indent(line);
        if line.trim().is_empty() {
            Cow::Borrowed(line)
        } else if let Some(rest) = line.strip_prefix(asked.as_str()) {
            Cow::Owned(format!("{have}{rest}"))
        } else {
            // Indented less than the first line of `old`: as much less than the file's.
            let less = asked.chars().count().saturating_sub(own.chars().count());
            let kept: String = have.chars().take(have.chars().count().saturating_sub(less)).collect();
            Cow::Owned(format!("{kept}{}", &line[own.len()..]))
        }
    });
    shifted.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const CASES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/patch.jsonl"));

    #[test]
    fn cases() {
        for row in CASES.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let text = |key: &str| row[key].as_str().unwrap_or_default();
            let file = crate::tools::file::text::Text::decode(text("content").as_bytes()).unwrap();
            let (old, new) = (text("old").replace("\r\n", "\n"), text("new").replace("\r\n", "\n"));
            let got = replace(&file.text, &old, &new, row["replace_all"].as_bool().unwrap());
            match (text("expect"), got) {
                ("applied", Ok(got)) => {
                    assert_eq!(String::from_utf8(file.encode(&got.text).unwrap()).unwrap(), text("result"), "{row}");
                    assert_eq!(
                        (got.strategy.name(), got.count as u64),
                        (text("strategy"), row["count"].as_u64().unwrap()),
                        "{row}"
                    );
                }
                ("error", Err(FuzzyError::Ambiguous(n))) => {
                    assert!(text("error").starts_with(&format!("Found {n} matches")), "{n} {row}");
                }
                ("error", Err(_)) => {}
                (_, got) => panic!("{got:?} {row}"),
            }
        }
    }

    #[test]
    fn more_than_the_cases() {
        for (content, old, new, want) in [
            // written with two-character escapes: so is the replacement
            ("a\nb\n", "a\\nb", "a\\nc", Ok("a\nc\n")),
            // an escape inside a literal is meant
            ("\tfoo(\"a\");\n", "\tfoo(\"a\");", "\tfoo(\"a\\t\");", Ok("\tfoo(\"a\\t\");\n")),
            ("\tfoo();\n", "\tfoo();", "\\tfoo();\n\\t\\tbar();", Ok("\tfoo();\n\t\tbar();\n")),
            // a shallower line stays shallower by as much
            (
                "        if a:\n            b\n        c\n",
                "    if a:\n        b",
                "    if a:\nx",
                Ok("        if a:\n    x\n        c\n"),
            ),
            ("x\n", "x", "x", Err(FuzzyError::Same)),
            ("x\n", "", "x", Err(FuzzyError::Empty)),
        ] {
            assert_eq!(replace(content, old, new, false).map(|r| r.text), want.map(str::to_owned), "{old:?}");
        }
    }

    proptest::proptest! {
        /// Whatever comes, no panic; and an exact single place is replaced exactly.
        #[test]
        fn any_input_is_answered(
            content in "(a|b|é|“|…|—| |\t|\n|\\\\n){0,24}",
            old in "(a|b|é|\"|\\.\\.\\.|--| |\t|\n|\\\\n){0,6}",
            new in "(a|”|é| |\t|\n){0,6}",
            all: bool,
        ) {
            let got = replace(&content, &old, &new, all);
            if !old.is_empty() && old != new && content.matches(&old).count() == 1 {
                proptest::prop_assert_eq!(got.unwrap().text, content.replacen(&old, &new, 1));
            }
        }
    }

    #[test]
    fn replacing_all_never_guesses() {
        let content = "value = compute(a1)\nother\nvalue = compute(a2)\n";
        assert_eq!(replace(content, "value = compute(a9)", "x", true), Err(FuzzyError::OnlySimilar(2)));
        assert_eq!(replace("a\na\na\n", "  a\n  a", "b", true).unwrap().count, 1);
    }
}

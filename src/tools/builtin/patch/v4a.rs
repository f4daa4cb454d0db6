//! The V4A patch format: several files, hunks found by their text instead of line numbers.

use super::fit;
use super::fuzzy::{self, Found, FuzzyError};
use super::lines::{Lines, indent};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// What a patch does to one file. Paths are as written.
#[derive(Clone, Debug, PartialEq)]
pub enum FileOp {
    Add {
        path: String,
        text: String,
    },
    Update {
        path: String,
        hunks: Vec<Hunk>,
        /// `*** Move to:` after the header.
        to: Option<String>,
    },
    Delete {
        path: String,
    },
    Move {
        path: String,
        to: String,
    },
}

/// Lines that stand together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hunk {
    /// What stands after `@@`: lines to look for first, outermost first.
    pub hints: Vec<String>,
    pub lines: Vec<Line>,
    /// `*** End of File` follows: its place is the end.
    pub at_end: bool,
}

/// A line of a hunk, without its prefix.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    Context(String),
    Remove(String),
    Add(String),
    /// Empty and without a prefix: a blank context line, or only a gap in the patch.
    Gap,
}

impl Hunk {
    /// Adds or removes something.
    pub fn changes(&self) -> bool {
        self.lines.iter().any(|line| matches!(line, Line::Add(_) | Line::Remove(_)))
    }

    /// What must stand in the file.
    pub fn old_lines(&self, gaps: bool) -> Vec<&str> {
        self.pick(gaps, |line| matches!(line, Line::Remove(_)))
    }

    /// What will stand there.
    fn new_lines(&self, gaps: bool) -> Vec<&str> {
        self.pick(gaps, |line| matches!(line, Line::Add(_)))
    }

    /// Context, gaps where they count, and what `wanted` takes.
    fn pick(&self, gaps: bool, wanted: fn(&Line) -> bool) -> Vec<&str> {
        let texts = self.lines.iter().filter_map(|line| match line {
            Line::Context(text) => Some(text.as_str()),
            Line::Gap => gaps.then_some(""),
            Line::Remove(text) | Line::Add(text) => wanted(line).then_some(text.as_str()),
        });
        texts.collect()
    }

    fn name(&self) -> String {
        self.hints.last().map_or_else(|| "no hint".to_owned(), |hint| format!("@@ {hint}"))
    }
}

/// `*** Update File: PATH` and the like, with or without the blanks.
static HEADER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\*\*\*\s*(Update|Add|Delete|Move)\s+(File|to)\s*:\s*(.+?)\s*$").ok());
/// `@@ HINT @@`, `@@ HINT` and `@@ -1,2 +3,4 @@ HINT`.
static HUNK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^@@\s*(?:-\d+(?:,\d+)? \+\d+(?:,\d+)?\s*@@)?\s*(.*?)\s*(?:@@)?\s*$").ok());

/// Reads a patch; the markers around it may be missing. The error says what is wrong.
pub fn parse(patch: &str) -> Result<Vec<FileOp>, String> {
    let (Some(header), Some(hunk_line)) = (HEADER.as_ref(), HUNK.as_ref()) else {
        return Err("could not build the patch parser".into());
    };
    let mut ops = Vec::new();
    for line in inside(patch, header) {
        // Nothing can stand before the first header: blanks before it mean nothing.
        if let Some(found) = header.captures(if ops.is_empty() { line.trim_start() } else { line }) {
            header_line(&mut ops, &found[1], &found[2], &found[3])?;
        } else if is_marker(line, "End of File") {
            if let Some(FileOp::Update { hunks, .. }) = ops.last_mut()
                && let Some(hunk) = hunks.last_mut()
            {
                hunk.at_end = true;
            }
        } else if let (Some(found), true) = (hunk_line.captures(line), line.starts_with("@@")) {
            hunk_header(ops.last_mut(), &found[1]);
        } else {
            body_line(ops.last_mut(), line)?;
        }
    }
    for op in &mut ops {
        finish(op)?;
    }
    if ops.is_empty() {
        return Err("no file operation found; begin with `*** Update File: PATH`, `*** Add File:`, `*** Delete File:` or `*** Move File: A -> B`".into());
    }
    Ok(ops)
}

fn is_marker(line: &str, word: &str) -> bool {
    line.strip_prefix("***").is_some_and(|rest| rest.trim() == word)
}

/// The lines between the markers, which may have blanks around them; when all of a patch is indented, without that.
fn inside<'p>(patch: &'p str, header: &Regex) -> Vec<&'p str> {
    let lines: Vec<&str> = patch.lines().collect();
    let first_header = lines.iter().position(|line| header.is_match(line.trim_start())).unwrap_or(lines.len());
    let begin = lines[..first_header].iter().position(|line| is_marker(line.trim(), "Begin Patch"));
    let start = begin.map_or(0, |at| at + 1);
    let last = lines.iter().rposition(|line| !line.trim().is_empty() && !line.trim_start().starts_with("```"));
    let end = lines.iter().rposition(|line| is_marker(line, "End Patch"));
    // With blanks before it, it could be a context line anywhere else.
    let end = end.or(last.filter(|at| is_marker(lines[*at].trim(), "End Patch")));
    let end = end.filter(|at| *at >= start).unwrap_or(lines.len());
    let pad = begin.map_or("", |at| indent(lines[at]));
    let is_padded = |line: &&str| line.trim().is_empty() || line.starts_with(pad);
    let pad = if lines[start..end].iter().all(is_padded) { pad } else { "" };
    lines[start..end].iter().map(|line| line.strip_prefix(pad).unwrap_or(line)).collect()
}

fn header_line(ops: &mut Vec<FileOp>, verb: &str, noun: &str, rest: &str) -> Result<(), String> {
    let path = rest.to_owned();
    ops.push(match (verb, noun) {
        ("Update", "File") => FileOp::Update { path, hunks: Vec::new(), to: None },
        ("Add", "File") => FileOp::Add { path, text: String::new() },
        ("Delete", "File") => FileOp::Delete { path },
        ("Move", "File") => {
            let (from, to) = rest.split_once("->").ok_or(format!("`*** Move File: {rest}` needs `A -> B`"))?;
            FileOp::Move { path: from.trim().to_owned(), to: to.trim().to_owned() }
        }
        ("Move", "to") => {
            let Some(FileOp::Update { to, .. }) = ops.last_mut() else {
                return Err("`*** Move to:` must follow `*** Update File:`".into());
            };
            *to = Some(path);
            return Ok(());
        }
        _ => return Err(format!("unknown header `*** {verb} {noun}:`")),
    });
    Ok(())
}

fn hunk_header(op: Option<&mut FileOp>, hint: &str) {
    let Some(FileOp::Update { hunks, .. }) = op else { return };
    // Headers one after the other narrow the place down: class, then method.
    if hunks.last().is_none_or(|hunk| !hunk.lines.is_empty()) {
        hunks.push(Hunk::default());
    }
    if let (Some(hunk), false) = (hunks.last_mut(), hint.is_empty()) {
        hunk.hints.push(hint.to_owned());
    }
}

fn body_line(op: Option<&mut FileOp>, line: &str) -> Result<(), String> {
    match op {
        Some(FileOp::Add { text, .. }) => {
            if let Some(added) = line.strip_prefix('+') {
                text.push_str(added);
                text.push('\n');
            }
            Ok(())
        }
        Some(FileOp::Update { hunks, .. }) => {
            if hunks.is_empty() {
                if line.trim().is_empty() {
                    return Ok(());
                }
                hunks.push(Hunk::default());
            }
            let parsed = match line.split_at_checked(1) {
                None => Line::Gap,
                Some(("+", rest)) => Line::Add(rest.to_owned()),
                Some(("-", rest)) => Line::Remove(rest.to_owned()),
                Some((" ", rest)) => Line::Context(rest.to_owned()),
                Some(("\\", _)) => return Ok(()),
                Some(_) => Line::Context(line.to_owned()),
            };
            if let Some(hunk) = hunks.last_mut() {
                hunk.lines.push(parsed);
            }
            Ok(())
        }
        _ if line.trim().is_empty() || line.starts_with("```") => Ok(()),
        Some(FileOp::Delete { path } | FileOp::Move { path, .. }) => {
            Err(format!("`{path}`: this operation takes no lines, but `{line}` follows"))
        }
        None => Ok(()),
    }
}

fn finish(op: &mut FileOp) -> Result<(), String> {
    match op {
        FileOp::Update { path, hunks, to } => {
            for hunk in hunks.iter_mut() {
                while hunk.lines.last() == Some(&Line::Gap) {
                    hunk.lines.pop();
                }
                let gaps = hunk.lines.iter().take_while(|line| **line == Line::Gap).count();
                hunk.lines.drain(..gaps);
            }
            hunks.retain(|hunk| !hunk.lines.is_empty());
            if hunks.is_empty() && to.is_none() {
                return Err(format!("UPDATE `{path}`: no hunks found"));
            }
        }
        FileOp::Add { .. } | FileOp::Delete { .. } | FileOp::Move { .. } => {}
    }
    Ok(())
}

/// `text` after all hunks. The error names the hunk.
pub fn apply_hunks(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let mut text = text.to_owned();
    for (i, hunk) in hunks.iter().enumerate().filter(|(_, hunk)| hunk.changes()) {
        text = apply_hunk(&text, hunk).map_err(|why| format!("hunk {} ({}) {why}", i + 1, hunk.name()))?;
    }
    Ok(text)
}

fn apply_hunk(text: &str, hunk: &Hunk) -> Result<String, String> {
    if hunk.old_lines(true).is_empty() {
        return insert(text, hunk);
    }
    let gapped = hunk.lines.contains(&Line::Gap);
    let found = place(text, hunk, true)
        .map(|found| (found, true))
        .or_else(|why| if gapped { place(text, hunk, false).map(|found| (found, false)) } else { Err(why) });
    let (mut found, gaps) = found.map_err(|why| match why {
        FuzzyError::Ambiguous(n) => format!("matches {n} places; add context lines or an `@@ line above @@`"),
        why => format!("not found: {why}"),
    })?;
    let place = found.places.first_mut().ok_or_else(|| format!("not found: {}", FuzzyError::NotFound))?;
    let (old, new) = (hunk.old_lines(gaps).join("\n"), hunk.new_lines(gaps));
    let written = fit::fitted(&text[place.clone()], hunk, gaps);
    if new.is_empty() {
        // Whole lines go, so one of the line breaks around them goes too.
        if place.end < text.len() {
            place.end += 1;
        } else if place.start > 0 {
            place.start -= 1;
        }
    }
    match written {
        Some(written) => {
            fuzzy::check_escapes(text, &found, &old, &new.join("\n")).map_err(|why| why.to_string())?;
            let place = &found.places[0];
            Ok(format!("{}{written}{}", &text[..place.start], &text[place.end..]))
        }
        // The patch spells line breaks as two characters: there are no lines to follow.
        None => fuzzy::apply(text, &found, &old, &new.join("\n")).map_err(|why| why.to_string()),
    }
}

/// The one place of a hunk: in the whole text, or near its hint.
fn place(text: &str, hunk: &Hunk, gaps: bool) -> Result<Found, FuzzyError> {
    let old = hunk.old_lines(gaps).join("\n");
    let whole = |place: &Range<usize>| {
        let bytes = text.as_bytes();
        let ends = if hunk.at_end {
            matches!(&bytes[place.end..], b"" | b"\n")
        } else {
            place.end == bytes.len() || bytes[place.end] == b'\n'
        };
        ends && (place.start == 0 || bytes[place.start - 1] == b'\n')
    };
    let everywhere = match fuzzy::find(text, &old, whole) {
        Some(found) if found.places.len() == 1 => return Ok(found),
        Some(found) => FuzzyError::Ambiguous(found.places.len()),
        None => FuzzyError::NotFound,
    };
    let Some(at) = hint_position(text, &hunk.hints) else { return Err(everywhere) };
    let window = window(text, at);
    let near = |place: &Range<usize>| whole(&(place.start + window.start..place.end + window.start));
    let mut found = fuzzy::find(&text[window.clone()], &old, near).ok_or(everywhere)?;
    for place in &mut found.places {
        *place = place.start + window.start..place.end + window.start;
    }
    if found.places.len() > 1 {
        // The hint is the line that the hunk stands under.
        found.places.retain(|place| place.start >= at);
        found.places.truncate(1);
    }
    if found.places.is_empty() { Err(FuzzyError::NotFound) } else { Ok(found) }
}

/// Where the innermost hint begins; `None` when one is missing or the place is not certain.
fn hint_position(text: &str, hints: &[String]) -> Option<usize> {
    let (last, outer) = hints.split_last()?;
    let mut from = 0;
    for hint in outer {
        from += text[from..].find(hint.as_str())?;
    }
    let mut places = text[from..].match_indices(last.as_str());
    let first = places.next()?.0 + from;
    (!outer.is_empty() || places.next().is_none()).then_some(first)
}

/// 500 bytes before and 2,000 after, widened to whole lines.
fn window(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = bytes[..at.saturating_sub(500)].iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1);
    let from = (at + 2_000).min(bytes.len());
    let end = bytes[from..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |more| from + more);
    start..end
}

/// A hunk that only adds goes below its hint, or to the end.
fn insert(text: &str, hunk: &Hunk) -> Result<String, String> {
    let added = hunk.new_lines(false).join("\n");
    let Some(hint) = hunk.hints.last().filter(|_| !hunk.at_end) else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{added}\n"));
    };
    let lines = Lines::new(text);
    let whole: Vec<usize> = (0..lines.len()).filter(|i| lines.get(*i).trim() == hint.trim()).collect();
    let places = if whole.len() == 1 {
        whole
    } else {
        text.match_indices(hint.as_str()).map(|(at, _)| lines.number_at(at)).collect()
    };
    match places.as_slice() {
        [] => Err(format!("only adds lines, and its hint `{hint}` is not in the file")),
        [line] => {
            let end = lines.range(*line, 1).end;
            Ok(format!("{}\n{added}{}", &text[..end], &text[end..]))
        }
        _ => Err(format!("only adds lines, and its hint `{hint}` is ambiguous ({} occurrences)", places.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(text: &str, patch: &str) -> Result<String, String> {
        let ops = parse(&format!("*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch"))?;
        let FileOp::Update { hunks, .. } = &ops[0] else { panic!("{ops:?}") };
        apply_hunks(text, hunks)
    }

    #[test]
    fn hunks() {
        for (text, patch, want) in [
            ("a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n"),
            // a removed line leaves no blank line
            ("a\nb\nc\n", "-b", "a\nc\n"),
            ("a\nb", "-b", "a"),
            // whole lines only
            ("x = 10\nx = 1\n", "-x = 1\n+y = 1", "x = 10\ny = 1\n"),
            // an empty line without prefix is a blank context line, or nothing
            ("a\n\nb\n", "@@\n a\n\n-b\n+B", "a\n\nB\n"),
            ("a\nb\n", "@@\n a\n\n-b\n+B", "a\nB\n"),
            // the hint decides between equal places
            ("fn a\n  x\nfn b\n  x\n", "@@ fn b @@\n-  x\n+  y", "fn a\n  x\nfn b\n  y\n"),
            (
                "class A\n def f\n  x\nclass B\n def f\n  x\n",
                "@@ class B\n@@ def f\n-  x\n+  y",
                "class A\n def f\n  x\nclass B\n def f\n  y\n",
            ),
            // additions
            ("a\nb\n", "@@ a @@\n+n", "a\nn\nb\n"),
            ("a", "@@\n+n", "a\nn\n"),
            ("a\n", "@@ -1,1 +1,2 @@\n a\n+n\n*** End of File", "a\nn\n"),
            // the end of the file decides between equal places
            ("a\nb\na\n", "@@\n-a\n+n\n*** End of File", "a\nb\nn\n"),
            ("a\nb\n", "@@ a\n+n\n*** End of File", "a\nb\nn\n"),
            // context is only looked for: the file's own bytes stay
            ("a \n\tb\nc\t\nd\n", "@@\n a\n-    b\n+    B\n c\n d", "a \n\tB\nc\t\nd\n"),
            ("if a:\n\tx\n\t\ty\n", "@@\n if a:\n     x\n-        y\n+        z", "if a:\n\tx\n\t\tz\n"),
            ("f(a,  b)\nx\n", "@@\n f(a, b)\n-x\n+y", "f(a,  b)\ny\n"),
            ("say “hi”\nx\n", "@@\n say \"hi\"\n-x\n+y", "say “hi”\ny\n"),
            // a right line stays where the removed one was indented too little
            ("def f():\n    x = 1\n", "@@\n def f():\n-x = 1\n+    x = 2", "def f():\n    x = 2\n"),
            ("def f():\n    x = 1\n", "@@\n def f():\n-x = 1\n+x = 2", "def f():\n    x = 2\n"),
            ("def f():\n    x = 1\n", "-x = 1\n+if x:\n+    y", "def f():\n    if x:\n        y\n"),
        ] {
            assert_eq!(update(text, patch).as_deref(), Ok(want), "{patch:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_patch_is_answered(
            text in "(a|é|“| |\n){0,24}",
            patch in "(\\+|-| |@@|a|é|\"|\n){0,24}",
        ) {
            let _ = update(&text, &patch);
            let _ = parse(&patch);
        }
    }

    /// What becomes of a line of a generated edit.
    #[derive(Clone, Copy, Debug)]
    enum Edit {
        Keep,
        Drop,
        Replace,
        Follow,
    }

    fn edit() -> impl proptest::strategy::Strategy<Value = Edit> {
        use proptest::prelude::*;
        prop_oneof![6 => Just(Edit::Keep), 1 => Just(Edit::Drop), 1 => Just(Edit::Replace), 1 => Just(Edit::Follow)]
    }

    /// The patch that makes these edits, with `context` lines around each, and what comes of it.
    fn written(lines: &[String], edits: &[Edit], context: usize) -> (String, String) {
        let is_near = |at: usize| {
            let from = at.saturating_sub(context);
            edits[from..(at + context + 1).min(edits.len())].iter().any(|edit| !matches!(edit, Edit::Keep))
        };
        let (mut patch, mut after, mut open) = (String::new(), String::new(), false);
        for (at, (line, edit)) in lines.iter().zip(edits).enumerate() {
            let near = is_near(at);
            if near && !open {
                patch.push_str("@@\n");
            }
            open = near;
            let new = format!("new {at}");
            let (shown, kept) = match edit {
                Edit::Keep if !near => (String::new(), format!("{line}\n")),
                Edit::Keep => (format!(" {line}\n"), format!("{line}\n")),
                Edit::Drop => (format!("-{line}\n"), String::new()),
                Edit::Replace => (format!("-{line}\n+{new}\n"), format!("{new}\n")),
                Edit::Follow => (format!(" {line}\n+{new}\n"), format!("{line}\n{new}\n")),
            };
            patch.push_str(&shown);
            after.push_str(&kept);
        }
        (patch, after)
    }

    proptest::proptest! {
        /// A patch that is written as the format says does what it says, wherever its hunks stand.
        #[test]
        fn any_edit_is_applied(
            words in proptest::collection::vec("( {0,8})[a-zé{}(;*+-]{0,12}", 1..60),
            edits in proptest::collection::vec(edit(), 60),
            context in 1usize..4,
        ) {
            // Each line stands once, so that every hunk has one place.
            let lines: Vec<String> = words.iter().enumerate().map(|(at, word)| format!("{word}<{at}>")).collect();
            let edits = &edits[..lines.len()];
            let (patch, after) = written(&lines, edits, context);
            let before = format!("{}\n", lines.join("\n"));
            if !patch.is_empty() {
                let got = update(&before, patch.trim_end_matches('\n'));
                // All lines gone leave an empty file.
                proptest::prop_assert_eq!(got.as_deref(), Ok(after.as_str()), "{}", patch);
            }
        }
    }

    #[test]
    fn what_cannot_be_placed_is_an_error() {
        for (text, patch, word) in [
            ("x = 10\n", "-zzz\n+y", "not found"),
            ("a\nb\n", "-a\n+n\n*** End of File", "not found"),
            ("a\na\n", "-a\n+b", "2 places"),
            ("a\n", "@@ q @@\n+n", "not in the file"),
        ] {
            let error = update(text, patch).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        assert!(parse("hello").is_err());
        assert!(parse("*** Move File: a").is_err());
        assert!(parse("*** Delete File: a\n-x").is_err());
    }

    #[test]
    fn a_padded_patch_is_read() {
        let want = vec![FileOp::Add { path: "n".into(), text: " x\n".into() }];
        for patch in [
            "  *** Begin Patch  \n*** Add File: n\n+ x\n  *** End Patch",
            "```\n *** Begin Patch\n *** Add File: n\n+ x\n*** End Patch\n```",
            "    *** Begin Patch\n    *** Add File: n\n    + x\n    *** End Patch\n",
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+ x\n*** End Patch\nEOF",
        ] {
            assert_eq!(parse(patch).as_ref(), Ok(&want), "{patch}");
        }
        // a context line that looks like a marker is one of the file
        let kept = "*** Update File: f\n@@\n *** Begin Patch\n-a\n+b\n *** End Patch\n c\n*** End Patch";
        let ops = parse(kept).unwrap();
        let [FileOp::Update { hunks, .. }] = ops.as_slice() else { panic!("{ops:?}") };
        assert_eq!(hunks[0].lines.len(), 5);
    }

    #[test]
    fn markers_and_blanks_are_optional() {
        let ops = parse("***Update File:a b.txt\n*** Move to: c.txt\n***Add File: n\n+1\n+\n+2\n*** Move File: a -> b")
            .unwrap();
        assert_eq!(ops[0], FileOp::Update { path: "a b.txt".into(), hunks: vec![], to: Some("c.txt".into()) });
        assert_eq!(ops[1], FileOp::Add { path: "n".into(), text: "1\n\n2\n".into() });
        assert_eq!(ops[2], FileOp::Move { path: "a".into(), to: "b".into() });
    }
}

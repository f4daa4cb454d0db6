//! Unified diffs to rows: line numbers in a gutter, grounds for added and removed, the changed words set off.

use super::highlight::Highlighter;
use super::wrap::{GOES_ON, Row, Wrap, wrap_into};
use super::{Ground, Line, Role, Span};
use similar::{ChangeTag, TextDiff};

/// Lines shown before a diff folds.
pub const FOLDED_LINES: usize = 80;
/// Lines longer than this get no words set off.
const LONGEST_REFINED: usize = 1_000;
/// Lines with less in common than this were rewritten: every word would be set off.
const LEAST_ALIKE: f32 = 0.4;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Context,
    Added,
    Removed,
    /// Between hunks.
    Skip,
}

struct Entry<'a> {
    kind: Kind,
    number: usize,
    text: &'a str,
}

/// The rows of a unified diff. `language` is a token for the highlighter (empty: plain); at most `most` lines are shown.
pub fn render(unified: &str, language: &str, width: usize, most: usize, code: &mut Highlighter) -> Vec<Row> {
    let entries = parse(unified);
    let shown = entries.len().min(most);
    let gutter = entries.iter().map(|entry| entry.number).max().unwrap_or(0).to_string().len().max(2);
    let marks = emphasis(&entries[..shown]);
    let mut coloured = colours(&entries[..shown], language, code);
    let mut rows = Vec::with_capacity(shown + 1);
    for (index, entry) in entries[..shown].iter().enumerate() {
        let (sign, ground, role, strong) = match entry.kind {
            Kind::Context => (" ", Ground::Raised, Role::Text, Role::Text),
            Kind::Added => ("+", Ground::Added, Role::Added, Role::AddedStrong),
            Kind::Removed => ("-", Ground::Removed, Role::Removed, Role::RemovedStrong),
            Kind::Skip => {
                let spans = vec![Span::new(format!("{:>gutter$} ", "⋯"), Role::LineNumber)];
                rows.push(Row::ornament(Line { spans, ground: Ground::Raised }));
                continue;
            }
        };
        let number = Span::new(format!("{:>gutter$} ", entry.number), Role::LineNumber);
        let first = [number, Span::new(format!("{sign} "), role)];
        let rest = [Span::new(format!("{}{GOES_ON}", " ".repeat(gutter + 1)), Role::LineNumber)];
        let base = coloured.get_mut(index).map(std::mem::take).filter(|spans| !spans.is_empty());
        let base = base.unwrap_or_else(|| vec![Span::new(entry.text, role)]);
        let spans = set_off(base, marks.get(index).map_or(&[], Vec::as_slice), strong);
        wrap_into(
            &mut rows,
            &spans,
            ground,
            &Wrap { width, first: &first, rest: &rest, verbatim: true, ..Wrap::default() },
        );
    }
    if entries.len() > shown {
        let more = format!("… {} more lines", entries.len() - shown);
        rows.push(Row::ornament(Line { spans: vec![Span::new(more, Role::Dim)], ground: Ground::Raised }));
    }
    rows
}

fn parse(unified: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    let (mut old, mut new) = (0, 0);
    let (mut old_left, mut new_left) = (0usize, 0usize);
    for line in unified.lines() {
        if old_left == 0 && new_left == 0 {
            if let Some((starts, lengths)) = hunk(line) {
                (old, new) = starts;
                (old_left, new_left) = lengths;
                if !entries.is_empty() {
                    entries.push(Entry { kind: Kind::Skip, number: 0, text: "" });
                }
            }
            continue;
        }
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        let (kind, number) = match sign {
            "+" => (Kind::Added, new),
            "-" => (Kind::Removed, old),
            "\\" => continue,
            _ => (Kind::Context, new),
        };
        if kind != Kind::Added {
            (old, old_left) = (old + 1, old_left.saturating_sub(1));
        }
        if kind != Kind::Removed {
            (new, new_left) = (new + 1, new_left.saturating_sub(1));
        }
        entries.push(Entry { kind, number, text });
    }
    entries
}

/// Starts and lengths of `@@ -1,2 +3,4 @@`.
fn hunk(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let side = |text: &str| {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse::<usize>().ok()?, length.parse::<usize>().ok()?))
    };
    let ((old_start, old_length), (new_start, new_length)) = (side(old)?, side(new)?);
    Some(((old_start, new_start), (old_length, new_length)))
}

/// Byte ranges that changed inside changed lines, an entry a line.
fn emphasis(entries: &[Entry<'_>]) -> Vec<Vec<std::ops::Range<usize>>> {
    let mut marks = vec![Vec::new(); entries.len()];
    let mut at = 0;
    while at < entries.len() {
        let run = |from: usize, kind: Kind| entries[from..].iter().take_while(|entry| entry.kind == kind).count();
        let removed = run(at, Kind::Removed);
        let added = run(at + removed, Kind::Added);
        // Lines pair up only when their numbers agree; else it is anyone's guess which became which.
        if removed > 0 && removed == added {
            for pair in at..at + removed {
                let (old, new) = refine(entries[pair].text, entries[pair + removed].text);
                marks[pair] = old;
                marks[pair + removed] = new;
            }
        }
        at += (removed + added).max(1);
    }
    marks
}

type Ranges = Vec<std::ops::Range<usize>>;

fn refine(old: &str, new: &str) -> (Ranges, Ranges) {
    if old.len() > LONGEST_REFINED || new.len() > LONGEST_REFINED {
        return (Vec::new(), Vec::new());
    }
    let diff = TextDiff::from_unicode_words(old, new);
    if diff.ratio() < LEAST_ALIKE {
        return (Vec::new(), Vec::new());
    }
    let (mut removed, mut added): (Ranges, Ranges) = (Vec::new(), Vec::new());
    let (mut old_at, mut new_at) = (0, 0);
    let extend = |ranges: &mut Ranges, from: usize, to: usize| match ranges.last_mut() {
        Some(last) if last.end == from => last.end = to,
        _ => ranges.push(from..to),
    };
    for change in diff.iter_all_changes() {
        let length = change.value().len();
        match change.tag() {
            ChangeTag::Equal => {
                old_at += length;
                new_at += length;
            }
            ChangeTag::Delete => {
                extend(&mut removed, old_at, old_at + length);
                old_at += length;
            }
            ChangeTag::Insert => {
                extend(&mut added, new_at, new_at + length);
                new_at += length;
            }
        }
    }
    (removed, added)
}

/// Highlighted spans of each line: the new side as one text, the old side as another.
fn colours(entries: &[Entry<'_>], language: &str, code: &mut Highlighter) -> Vec<Vec<Span>> {
    let mut out = vec![Vec::new(); entries.len()];
    if language.is_empty() {
        return out;
    }
    for skipped in [Kind::Removed, Kind::Added] {
        let side: Vec<usize> = (0..entries.len())
            .filter(|index| entries[*index].kind != skipped && entries[*index].kind != Kind::Skip)
            .collect();
        let text: String = side.iter().flat_map(|index| [entries[*index].text, "\n"]).collect();
        for (index, spans) in side.into_iter().zip(code.lines(language, &text)) {
            out[index] = spans.clone();
        }
    }
    out
}

/// Splits spans so that the marked bytes get the role `strong`.
fn set_off(spans: Vec<Span>, marks: &[std::ops::Range<usize>], strong: Role) -> Vec<Span> {
    if marks.is_empty() {
        return spans;
    }
    let mut out = Vec::with_capacity(spans.len() + marks.len() * 2);
    let mut at = 0;
    for span in spans {
        let end = at + span.text.len();
        let mut from = at;
        for mark in marks {
            let (start, stop) = (mark.start.clamp(from, end), mark.end.clamp(from, end));
            if start >= stop {
                continue;
            }
            for (range, role) in [(from..start, span.role), (start..stop, strong)] {
                if let Some(text) = span.text.get(range.start - at..range.end - at).filter(|text| !text.is_empty()) {
                    out.push(Span::new(text, role));
                }
            }
            from = stop;
        }
        if let Some(text) = span.text.get(from - at..).filter(|text| !text.is_empty()) {
            out.push(Span::new(text, span.role));
        }
        at = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/x.rs\n+++ b/x.rs\n@@ -40,3 +40,3 @@\n fn a() {\n-    self.tx.send(job).ok();\n+    self.tx.send(job).await?;\n }\n@@ -90 +90,2 @@\n x\n+y\n\\ No newline at end of file\n";

    fn shown(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.line.text()).collect()
    }

    #[test]
    fn gutter_grounds_and_words() {
        let rows = render(DIFF, "", 60, FOLDED_LINES, &mut Highlighter::default());
        assert_eq!(
            shown(&rows),
            [
                "40   fn a() {",
                "41 -     self.tx.send(job).ok();",
                "41 +     self.tx.send(job).await?;",
                "42   }",
                " ⋯ ",
                "90   x",
                "91 + y"
            ]
        );
        assert_eq!(rows[1].line.ground, Ground::Removed);
        assert_eq!(rows[2].line.ground, Ground::Added);
        assert!(rows[2].line.spans.iter().any(|span| span.role == Role::AddedStrong && span.text.contains("await")));
        assert!(rows[2].line.spans.iter().any(|span| span.role == Role::Added && span.text.contains("self.tx")));
    }

    #[test]
    fn long_diffs_fold() {
        let body: String = (0..200).map(|line| format!("+line {line}\n")).collect();
        let diff = format!("@@ -0,0 +1,200 @@\n{body}");
        let rows = render(&diff, "", 60, FOLDED_LINES, &mut Highlighter::default());
        assert_eq!(rows.len(), 81);
        assert_eq!(rows[80].line.text(), "… 120 more lines");
    }

    #[test]
    fn code_is_coloured_under_the_marks() {
        crate::text::highlight::load();
        let rows = render(DIFF, "rs", 60, FOLDED_LINES, &mut Highlighter::default());
        let keyword = Role::Syntax(crate::text::Syntax::Keyword);
        assert!(rows[0].line.spans.iter().any(|span| span.role == keyword && span.text == "fn"));
        assert!(rows[2].line.spans.iter().any(|span| span.role == Role::AddedStrong));
    }

    #[test]
    fn nonsense_is_empty() {
        assert!(render("not a diff\n-x\n+y", "", 20, 80, &mut Highlighter::default()).is_empty());
    }
}

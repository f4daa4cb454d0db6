//! Names that a program set in columns for a very wide terminal, as `ls` does, set again for a narrower one.

use super::width::grapheme_width;
use super::{Line, Role, Span};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Cells of a line that nobody but a program with a very wide terminal fills.
const VERY_WIDE: usize = 700;
/// Names that make a list.
const LEAST: usize = 4;
/// Cells between two columns.
const GAP: usize = 2;
/// Columns between tab stops of a terminal.
const TAB: usize = 8;

/// A row of the names of a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Names {
    pub line: Line,
    /// Bytes of the text of the line that the row stands for, up to the next one.
    pub source: Range<usize>,
}

/// The rows of the line at `at`, if it is a list of names that is too wide for this many cells; they keep its order. A
/// table whose rows are too wide is none: its lines belong together, and are no wider than what is in them.
pub fn names(lines: &[Line], at: usize, cells: usize) -> Option<Vec<Names>> {
    let line = lines.get(at)?;
    let wide = drawn(line);
    let is_wide = |line: Option<&Line>| line.is_some_and(|line| drawn(line) > cells);
    let alone = !is_wide(at.checked_sub(1).and_then(|at| lines.get(at))) && !is_wide(lines.get(at + 1));
    if wide <= cells || !(alone || wide >= VERY_WIDE) {
        return None;
    }
    let all = split(line);
    let fits = |name: &Name| name.cells + GAP <= cells;
    if all.len() < LEAST || !all.iter().all(fits) {
        return None;
    }
    let columns = columns(&all, cells);
    let rows = all.chunks(columns.len()).map(|row| set(row, &columns));
    let mut rows: Vec<Names> = rows.collect();
    let ends: Vec<usize> = rows.iter().skip(1).map(|row| row.source.start).chain([line.text().len()]).collect();
    rows.iter_mut().zip(ends).for_each(|(row, end)| row.source.end = end);
    Some(rows)
}

/// Cells that a line took on the terminal it was written for.
fn drawn(line: &Line) -> usize {
    let stops = |cells: usize, glyph: &str| match glyph {
        "\t" => cells + TAB - cells % TAB,
        _ => cells + grapheme_width(glyph),
    };
    if line.spans.iter().any(|span| span.text.contains('\t')) {
        line.spans.iter().flat_map(|span| span.text.graphemes(true)).fold(0, stops)
    } else {
        line.width()
    }
}

/// One of the names, with its colours.
#[derive(Default)]
struct Name {
    spans: Vec<Span>,
    cells: usize,
    source: Range<usize>,
}

/// The names of a line: what two blanks or a tab set apart.
fn split(line: &Line) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let (mut at, mut gap) = (0, GAP);
    for span in &line.spans {
        for glyph in span.text.graphemes(true) {
            let here = at;
            at += glyph.len();
            match glyph {
                " " => gap += 1,
                "\t" => gap += GAP,
                _ => {
                    if gap >= GAP {
                        names.push(Name { source: here..at, ..Name::default() });
                    }
                    if let Some(name) = names.last_mut() {
                        // A single blank is part of a name.
                        if gap == 1 {
                            name.push(" ", span);
                        }
                        name.push(glyph, span);
                        name.source.end = at;
                    }
                    gap = 0;
                }
            }
        }
    }
    names
}

impl Name {
    fn push(&mut self, glyph: &str, of: &Span) {
        self.cells += grapheme_width(glyph);
        match self.spans.last_mut().filter(|last| last.role == of.role && last.link == of.link) {
            Some(last) => last.text.push_str(glyph),
            None => self.spans.push(Span { text: glyph.to_owned(), ..of.clone() }),
        }
    }
}

/// The widths of as many columns as fit, gaps included.
fn columns(all: &[Name], cells: usize) -> Vec<usize> {
    let widths = |count: usize| {
        let mut widths = vec![0; count];
        for (index, name) in all.iter().enumerate() {
            widths[index % count] = widths[index % count].max(name.cells + GAP);
        }
        widths
    };
    let most = (cells / (GAP + 1)).clamp(1, all.len());
    let fitting = (1..=most).rev().map(widths).find(|widths| widths.iter().sum::<usize>() <= cells);
    fitting.unwrap_or_else(|| vec![cells])
}

/// A row. It ends with the gap, so that it and the next are two names when they are copied as one line.
fn set(row: &[Name], columns: &[usize]) -> Names {
    let mut line = Line::default();
    for (name, cells) in row.iter().zip(columns) {
        line.spans.extend(name.spans.iter().cloned());
        line.spans.push(Span::new(" ".repeat(cells.saturating_sub(name.cells)), Role::Text));
    }
    let start = row.first().map_or(0, |name| name.source.start);
    Names { line, source: start..start }
}

#[cfg(test)]
mod tests {
    use super::super::width::width;
    use super::*;

    fn rows(text: &str, at: usize, cells: usize) -> Option<Vec<String>> {
        let lines: Vec<Line> = text.lines().map(|line| Line::plain(line, Role::Text)).collect();
        let rows = names(&lines, at, cells)?;
        // What is copied is the line as it was.
        let text = lines[at].text();
        let copied: String = rows.iter().map(|row| &text[row.source.clone()]).collect();
        assert_eq!(copied, text);
        assert!(rows.iter().all(|row| width(&row.line.text()) <= cells));
        Some(rows.iter().map(|row| row.line.text().trim_end().to_owned()).collect())
    }

    #[test]
    fn names_are_set_in_columns_that_fit() {
        let line = "a.rs  Cargo.toml\t日本.txt  two words  lib.rs  main.rs";
        assert_eq!(
            rows(line, 0, 30).unwrap(),
            ["a.rs      Cargo.toml", "日本.txt  two words", "lib.rs    main.rs"].map(str::to_owned)
        );
        assert_eq!(rows(line, 0, 14).unwrap().len(), 6);
        assert_eq!(rows(line, 0, 11), None, "a name does not fit");
        assert_eq!(rows(line, 0, 80), None, "it fits as it is");
        assert_eq!(rows("only three   words that are  not short", 0, 20), None);
    }

    #[test]
    fn tables_and_text_are_left_alone() {
        let table =
            "NAME      IMAGE     COMMAND   CREATED    STATUS\nweb       nginx     sh        2 days     Up 2 days";
        assert_eq!((rows(table, 0, 30), rows(table, 1, 30)), (None, None));
        let prose = "a long line of prose with single blanks between all of its many words";
        assert_eq!(rows(prose, 0, 30), None);
        // What fills a terminal of a thousand columns is a list, on as many lines as it takes.
        let names: String = (0..80).map(|n| format!("name-{n:03}  ")).collect();
        let wide = format!("{names}\n{names}");
        assert_eq!(rows(&wide, 1, 31).map(|rows| rows.len()), Some(27));
    }
}

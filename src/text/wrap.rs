//! Wrapping of styled lines into rows of a width, by grapheme and cell. Each row knows what it shows of its line, so that
//! copying gives the text back without the breaks and ornaments of the screen.

use super::width::grapheme_width;
use super::{Ground, Line, Span};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Before a row that goes on with the line of code above: it breaks anywhere, also within a word.
pub const GOES_ON: &str = "↪ ";

/// Columns between tab stops in code.
const CODE_TAB: usize = 4;
/// The same on a terminal.
const TERMINAL_TAB: usize = 8;

/// One row on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub line: Line,
    /// Bytes of the text of its line that the row shows.
    pub source: Range<usize>,
    /// Columns at the start that are ornament (indent, bullet, gutter): not copied.
    pub lead: u16,
    pub joint: Joint,
    /// The text of the row as it was, where tabs or control characters had to be drawn otherwise: what copying gives.
    pub raw: Option<Box<str>>,
}

/// How a row continues the one above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joint {
    /// Begins a line.
    #[default]
    Line,
    /// Goes on with the line above, after this many spaces that the break swallowed.
    Soft(u16),
    /// Drawn only: a rule, a label. Never copied.
    Ornament,
}

impl Row {
    /// An empty row that separates.
    pub fn blank() -> Self {
        Self::default()
    }

    /// A row that is only drawn.
    pub fn ornament(line: Line) -> Self {
        Self { line, joint: Joint::Ornament, ..Self::default() }
    }
}

/// How to wrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrap<'a> {
    /// Cells of a row, prefixes included.
    pub width: usize,
    /// Before the first row.
    pub first: &'a [Span],
    /// Before all others: the hanging indent.
    pub rest: &'a [Span],
    /// Keeps every space and breaks anywhere: code.
    pub verbatim: bool,
    /// Tabs as a terminal has them: the program that wrote them counted on that.
    pub terminal_tabs: bool,
}

/// Wraps a line to a width, without prefixes, at words.
pub fn wrap(line: &Line, width: usize) -> Vec<Row> {
    let mut rows = Vec::with_capacity(1);
    wrap_into(&mut rows, &line.spans, line.ground, &Wrap { width, ..Wrap::default() });
    rows
}

/// Wraps spans and appends the rows. An empty line gives one row with its prefix.
pub fn wrap_into(rows: &mut Vec<Row>, spans: &[Span], ground: Ground, how: &Wrap<'_>) {
    let ascii = spans.iter().all(|span| span.text.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
    let length: usize = spans.iter().map(|span| span.text.len()).sum();
    let first_lead = spans_width(how.first);
    if ascii && first_lead + length <= how.width {
        let mut all = Vec::with_capacity(how.first.len() + spans.len());
        all.extend_from_slice(how.first);
        all.extend(spans.iter().filter(|span| !span.text.is_empty()).cloned());
        rows.push(Row {
            line: Line { spans: all, ground },
            source: 0..length,
            lead: clamp(first_lead),
            joint: Joint::Line,
            raw: None,
        });
        return;
    }
    let mut text = String::with_capacity(length);
    for span in spans {
        text.push_str(&span.text);
    }
    let rest_lead = spans_width(how.rest);
    let tab = if how.terminal_tabs { TERMINAL_TAB } else { CODE_TAB };
    let mut joint = Joint::Line;
    let mut is_first = true;
    breaks(
        &text,
        (how.width.saturating_sub(first_lead), how.width.saturating_sub(rest_lead)),
        tab,
        how.verbatim,
        |part, gap| {
            let (prefix, lead) = if is_first { (how.first, first_lead) } else { (how.rest, rest_lead) };
            let mut out = Vec::with_capacity(prefix.len() + 4);
            out.extend_from_slice(prefix);
            slice_into(&mut out, spans, part.clone(), tab);
            let raw = text.get(part.clone()).filter(|text| text.contains(char::is_control)).map(Box::from);
            rows.push(Row { line: Line { spans: out, ground }, source: part, lead: clamp(lead), joint, raw });
            joint = Joint::Soft(clamp(gap));
            is_first = false;
        },
    );
}

/// Calls `emit(bytes of the row, spaces dropped after it)` for each row of `text`.
fn breaks(
    text: &str,
    (first, rest): (usize, usize),
    tab: usize,
    verbatim: bool,
    mut emit: impl FnMut(Range<usize>, usize),
) {
    // A column narrower than a wide character would never end.
    let (mut room, rest) = (first.max(1), rest.max(1));
    let (mut start, mut column) = (0, 0);
    // Where the row may end and the next may begin, and the column of the latter.
    let mut candidate: Option<(usize, usize, usize)> = None;
    let mut space_from: Option<usize> = None;
    for (at, grapheme) in Pieces::new(text) {
        let space = !verbatim && (grapheme == " " || grapheme == "\t");
        let wide_at = |column: usize| if grapheme == "\t" { tab - column % tab } else { grapheme_width(grapheme) };
        let mut wide = wide_at(column);
        if space {
            // An indent wider than the row is broken like a word.
            if space_from == Some(start) && column + wide > room {
                emit(start..at, 0);
                (start, column, room, space_from) = (at, 0, rest, Some(at));
                wide = wide_at(column);
            }
            let from = *space_from.get_or_insert(at);
            column += wide;
            if from > start {
                candidate = Some((from, at + grapheme.len(), column));
            }
            continue;
        }
        space_from = None;
        if wide == 2 && at > start && !verbatim && candidate.is_none_or(|(_, next, _)| next < at) {
            candidate = Some((at, at, column));
        }
        if column + wide > room && at > start {
            let (end, next, next_column) = match candidate {
                Some(found) if !verbatim => found,
                _ => (at, at, column),
            };
            emit(start..end, next - end);
            start = next;
            column -= next_column;
            room = rest;
            candidate = None;
            // A word longer than a row that starts after the break is broken where it ends.
            if column + wide > room && at > start {
                emit(start..at, 0);
                (start, column) = (at, 0);
            }
            // A tab reaches another stop from the beginning of its row.
            wide = wide_at(column);
        }
        column += wide;
        if wide == 2 && !verbatim {
            candidate = Some((at + grapheme.len(), at + grapheme.len(), column));
        }
    }
    let end = match space_from {
        Some(from) if from > start => from,
        _ => text.len(),
    };
    emit(start..end, text.len() - end);
}

/// Graphemes with their offsets; bytes when the text is ASCII.
enum Pieces<'a> {
    Ascii(&'a str, usize),
    Full(unicode_segmentation::GraphemeIndices<'a>),
}

impl<'a> Pieces<'a> {
    fn new(text: &'a str) -> Self {
        if text.is_ascii() { Self::Ascii(text, 0) } else { Self::Full(text.grapheme_indices(true)) }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Ascii(text, at) => {
                let piece = text.get(*at..*at + 1)?;
                *at += 1;
                Some((*at - 1, piece))
            }
            Self::Full(graphemes) => graphemes.next(),
        }
    }
}

/// Appends the part of `spans` that covers the bytes `part` of their joined text: tabs become spaces, other control
/// characters go.
fn slice_into(out: &mut Vec<Span>, spans: &[Span], part: Range<usize>, tab: usize) {
    let mut at = 0;
    let mut column = 0;
    for span in spans {
        let (from, to) = (at, at + span.text.len());
        at = to;
        if to <= part.start || span.text.is_empty() {
            continue;
        }
        if from >= part.end {
            break;
        }
        let piece = &span.text[part.start.max(from) - from..part.end.min(to) - from];
        let text = clean(piece, &mut column, tab);
        out.push(Span { text, role: span.role, link: span.link.clone() });
    }
}

fn clean(piece: &str, column: &mut usize, tab: usize) -> String {
    if piece.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        *column += piece.len();
        return piece.to_owned();
    }
    let mut text = String::with_capacity(piece.len());
    for grapheme in piece.graphemes(true) {
        if grapheme == "\t" {
            let wide = tab - *column % tab;
            text.extend(std::iter::repeat_n(' ', wide));
            *column += wide;
        } else if !grapheme.contains(char::is_control) {
            text.push_str(grapheme);
            *column += grapheme_width(grapheme);
        }
    }
    text
}

/// Cells that spans take.
pub fn spans_width(spans: &[Span]) -> usize {
    spans.iter().map(|span| super::width::width(&span.text)).sum()
}

/// Bytes that rows hold, roughly, for bounded caches.
pub fn weight(rows: &[Row]) -> usize {
    let spans = |row: &Row| row.line.spans.iter().map(|span| span.text.capacity() + size_of::<Span>()).sum::<usize>();
    rows.iter().map(|row| size_of::<Row>() + spans(row)).sum()
}

fn clamp(cells: usize) -> u16 {
    u16::try_from(cells).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Role;
    use crate::text::width::width;
    use proptest::prelude::*;

    fn texts(text: &str, width: usize) -> Vec<String> {
        wrap(&Line::plain(text, Role::Text), width).iter().map(|row| row.line.text()).collect()
    }

    #[test]
    fn breaks_at_words_then_inside_them() {
        let table: &[(&str, usize, &[&str])] = &[
            ("", 10, &[""]),
            ("hello world", 11, &["hello world"]),
            ("hello world", 10, &["hello", "world"]),
            ("hello   world", 7, &["hello", "world"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("ab abcdefghij", 4, &["ab", "abcd", "efgh", "ij"]),
            ("日本語テキスト", 5, &["日本", "語テ", "キス", "ト"]),
            ("go 日本語", 5, &["go 日", "本語"]),
            ("a\tb", 10, &["a   b"]),
            ("  indented text", 10, &["  indented", "text"]),
            ("👩‍👩‍👧👩‍👩‍👧", 2, &["👩‍👩‍👧", "👩‍👩‍👧"]),
        ];
        for (text, width, expected) in table {
            assert_eq!(&texts(text, *width), expected, "{text:?} at {width}");
        }
    }

    #[test]
    fn tabs_of_output_fill_no_row_beyond_its_width() {
        for columns in 5..24 {
            let mut rows = Vec::new();
            let how = Wrap { width: columns, first: &[], rest: &[], verbatim: true, ..Wrap::default() };
            let text = "cpp-12\tx86_64-linux-gnu-python3.11\t\tab\tcde";
            wrap_into(&mut rows, &[Span::new(text, Role::Text)], Ground::Base, &how);
            let shown: Vec<String> = rows.iter().map(|row| row.line.text()).collect();
            assert!(shown.iter().all(|row| width(row) <= columns), "{columns}: {shown:?}");
        }
    }

    #[test]
    fn prefixes_hang() {
        let mut rows = Vec::new();
        let how = Wrap {
            width: 8,
            first: &[Span::new("• ", Role::Bullet)],
            rest: &[Span::new("  ", Role::Text)],
            verbatim: false,
            ..Wrap::default()
        };
        wrap_into(&mut rows, &[Span::new("one two three", Role::Text)], Ground::Base, &how);
        let shown: Vec<_> = rows.iter().map(|row| row.line.text()).collect();
        assert_eq!(shown, ["• one", "  two", "  three"]);
        assert_eq!(rows[1].joint, Joint::Soft(1));
        assert_eq!(rows[2].source, 8..13);
    }

    #[test]
    fn code_keeps_every_space() {
        let mut rows = Vec::new();
        let how = Wrap { width: 4, verbatim: true, ..Wrap::default() };
        wrap_into(&mut rows, &[Span::new("a  bc  d", Role::Text)], Ground::Base, &how);
        assert_eq!(rows.iter().map(|row| row.line.text()).collect::<Vec<_>>(), ["a  b", "c  d"]);
        assert_eq!(rows[1].joint, Joint::Soft(0));
    }

    #[test]
    fn an_indent_wider_than_the_row_is_broken() {
        assert_eq!(texts("   ", 2), ["  ", " "]);
        assert_eq!(texts("   ab", 2), ["  ", " a", "b"]);
    }

    proptest! {
        #[test]
        fn rows_fit_and_nothing_is_lost(text in "[ a-z日本\u{1f4bb}é]{0,60}", cells in 2usize..30) {
            let rows = wrap(&Line::plain(text.clone(), Role::Text), cells);
            let mut back = String::new();
            for row in &rows {
                let shown = row.line.text();
                prop_assert!(width(&shown) <= cells, "{shown:?}");
                if let Joint::Soft(gap) = row.joint {
                    back.extend(std::iter::repeat_n(' ', usize::from(gap)));
                }
                prop_assert_eq!(&shown, &text[row.source.clone()]);
                back.push_str(&shown);
            }
            prop_assert_eq!(back.trim_end(), text.trim_end());
        }
    }
}

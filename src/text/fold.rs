//! A wide terminal's rows on a narrower one: folded as a terminal wraps, with rules and bars made shorter.

use super::columns::names;
use super::width::{grapheme_width, width};
use super::{Line, Role, Snapshot, Span};
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// Equal glyphs in a row that count as a rule, a bar or a gap.
const RUN: usize = 16;
/// What stays of such a run at least.
const SHORTEST: usize = 3;

/// The rows of `wide` on `columns` × `rows` cells: the last ones, when there are more. `cursor` is where the next byte
/// goes (column, row), which the snapshot does not say of a hidden cursor; the second value is the same afterwards.
pub fn fold(wide: Snapshot, cursor: (u16, u16), columns: u16, rows: u16) -> (Snapshot, (u16, u16)) {
    let (columns, rows) = (columns.max(1), usize::from(rows.max(1)));
    let text = wide.rows.iter().rposition(|line| !line.spans.is_empty()).unwrap_or(0);
    let last = text.max(usize::from(cursor.1));
    let mut folded: Vec<(Line, bool)> = Vec::with_capacity(rows);
    let mut at = (0, 0);
    let lines = &wide.rows[..wide.rows.len().min(last + 1)];
    for (index, line) in lines.iter().enumerate() {
        let goes_on = wide.wrapped.get(index).copied().unwrap_or(false);
        // The row of the cursor may still be written.
        if let Some(names) =
            names(lines, index, usize::from(columns)).filter(|_| index != usize::from(cursor.1) && !goes_on)
        {
            let count = names.len();
            folded.extend(names.into_iter().enumerate().map(|(n, row)| (row.line, n + 1 < count)));
            continue;
        }
        let line = line.clone();
        let line = if goes_on { line } else { shorten(line, usize::from(wide.columns), usize::from(columns)) };
        let pieces = split(line, usize::from(columns));
        if index == usize::from(cursor.1) {
            let row = usize::from(cursor.0 / columns).min(pieces.len() - 1);
            let column = (usize::from(cursor.0) - row * usize::from(columns)).min(usize::from(columns) - 1);
            at = (column, folded.len() + row);
        }
        let count = pieces.len();
        folded.extend(pieces.into_iter().enumerate().map(|(n, piece)| (piece, goes_on || n + 1 < count)));
    }
    let above = folded.len().saturating_sub(rows);
    folded.drain(..above);
    folded.resize(rows, (Line::default(), false));
    let at = (at.0 as u16, at.1.saturating_sub(above) as u16);
    let (lines, wrapped) = folded.into_iter().unzip();
    (Snapshot { columns, rows: lines, wrapped, cursor: wide.cursor.map(|_| at), ..wide }, at)
}

/// A line that reaches across most of its terminal, and so was laid out for it, with its long runs of one glyph cut so that it fits, if that is enough.
fn shorten(line: Line, drawn: usize, columns: usize) -> Line {
    let wide = line.width();
    if wide <= columns || wide * 4 < drawn * 3 {
        return line;
    }
    let long = |run: &(&str, usize)| run.1 >= RUN;
    let all: usize = line.spans.iter().flat_map(|span| runs(&span.text)).filter(long).map(|run| run.1).sum();
    let excess = (wide - columns).min(all);
    let (mut gone, mut seen) = (0, 0);
    let mut cut = |span: Span| {
        let mut text = String::with_capacity(columns);
        for (glyph, count) in runs(&span.text) {
            let mut keep = count;
            if count >= RUN {
                seen += count;
                // Of all runs together the share that is due so far: bars keep their proportions.
                let due = (excess * seen).div_ceil(all.max(1)).saturating_sub(gone);
                keep = count.saturating_sub(due).max(SHORTEST);
                gone += count - keep;
            }
            (0..keep).for_each(|_| text.push_str(glyph));
        }
        Span { text, ..span }
    };
    Line { spans: line.spans.into_iter().map(&mut cut).collect(), ground: line.ground }
}

/// A run that nobody but a program with a very wide terminal draws.
const DRAWN: usize = 250;
/// Cells that such a line takes afterwards.
const READABLE: usize = 100;

/// Text with the rules, gaps and bars that were drawn across a terminal of `drawn` columns made short, for who reads all
/// of it. A line is touched only when it is as long as that terminal is wide and a single glyph fills much of it.
pub fn compact(text: &str, drawn: usize) -> Cow<'_, str> {
    let across = |line: &str| {
        (drawn - drawn / 20..=drawn * 4).contains(&line.len()) && {
            let fills = |run: (&str, usize)| run.1 >= DRAWN && !run.0.contains(char::is_alphanumeric);
            line.chars().count() <= drawn && runs(line).into_iter().any(fills)
        }
    };
    if !text.split('\n').any(across) {
        return Cow::Borrowed(text);
    }
    let short = |line: &str| {
        if across(line) { shorten(Line::plain(line, Role::Text), drawn, READABLE).text() } else { line.to_owned() }
    };
    Cow::Owned(text.split('\n').map(short).collect::<Vec<_>>().join("\n"))
}

/// Runs of equal graphemes of one cell.
fn runs(text: &str) -> Vec<(&str, usize)> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    for glyph in text.graphemes(true) {
        match found.last_mut() {
            Some((last, count)) if *last == glyph && grapheme_width(glyph) == 1 => *count += 1,
            _ => found.push((glyph, 1)),
        }
    }
    found
}

/// A line in pieces of at most `columns` cells; one piece at least.
fn split(line: Line, columns: usize) -> Vec<Line> {
    let ground = line.ground;
    let mut pieces = vec![Line { spans: Vec::new(), ground }];
    let mut used = 0;
    for span in line.spans {
        let wide = width(&span.text);
        if used + wide <= columns {
            used += wide;
            push(&mut pieces, span);
            continue;
        }
        let mut text = String::new();
        for glyph in span.text.graphemes(true) {
            let cells = grapheme_width(glyph);
            if used + cells > columns && used > 0 {
                push(&mut pieces, Span { text: std::mem::take(&mut text), ..span.clone() });
                pieces.push(Line { spans: Vec::new(), ground });
                used = 0;
            }
            text.push_str(glyph);
            used += cells;
        }
        push(&mut pieces, Span { text, ..span });
    }
    pieces
}

fn push(pieces: &mut [Line], span: Span) {
    if let Some(piece) = pieces.last_mut()
        && !span.text.is_empty()
    {
        piece.spans.push(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::screen::Screen;

    fn folded(text: &str, columns: u16, rows: u16) -> (Vec<String>, Snapshot, (u16, u16)) {
        let mut screen = Screen::new(1000, rows);
        screen.feed_lines(text.as_bytes());
        let (snapshot, cursor) = fold(screen.snapshot(), screen.cursor(), columns, rows);
        (snapshot.rows.iter().map(Line::text).collect(), snapshot, cursor)
    }

    #[test]
    fn rows_are_folded_as_a_terminal_wraps() {
        let (rows, snapshot, cursor) = folded("abcdefghij\nx\n日本日\n", 5, 6);
        assert_eq!(rows, ["abcde", "fghij", "x", "日本", "日", ""]);
        assert_eq!(snapshot.wrapped, [true, false, false, true, false, false]);
        assert_eq!((snapshot.cursor, cursor, snapshot.columns), (Some((0, 5)), (0, 5), 5));
    }

    #[test]
    fn the_end_is_what_is_shown_and_the_cursor_follows_its_text() {
        let (rows, _, cursor) = folded("first\nabcdefghijk", 5, 2);
        assert_eq!((rows, cursor), (vec!["fghij".to_owned(), "k".into()], (1, 1)));
        let (rows, _, cursor) = folded("abcdefghij", 5, 3);
        assert_eq!((rows, cursor), (vec!["abcde".to_owned(), "fghij".into(), String::new()], (4, 1)));
    }

    #[test]
    fn what_was_drawn_across_the_terminal_fits() {
        let rule = format!("{} title {}", "=".repeat(496), "=".repeat(497));
        let bar = format!("a [{}>{}]  50%", "#".repeat(490), " ".repeat(490));
        let right = format!("file.py ....{}[100%]", " ".repeat(982));
        let shown = |line: &str| folded(line, 40, 3).0;
        assert_eq!(
            shown(&rule),
            [format!("{} title {}", "=".repeat(16), "=".repeat(17)), String::new(), String::new()]
        );
        assert_eq!(shown(&bar)[0], format!("a [{}>{}]  50%", "#".repeat(15), " ".repeat(15)));
        assert_eq!(shown(&right)[0], format!("file.py ....{}[100%]", " ".repeat(22)));
        // Text that merely is long is not touched, nor is a rule that someone drew at another width.
        let short = "=".repeat(80);
        assert_eq!(shown(&short), ["=".repeat(40), "=".repeat(40), String::new()]);
    }

    #[test]
    fn text_loses_what_a_very_wide_terminal_made_of_it_and_nothing_else() {
        let rule = format!("{} 3 passed {}", "=".repeat(495), "=".repeat(495));
        let right = format!("tests/a.py ...{}[100%]", " ".repeat(980));
        let short = compact(&format!("a\n{rule}\n{right}\n"), 1000).into_owned();
        let lines: Vec<&str> = short.split('\n').collect();
        assert_eq!((lines[0], lines[3], lines.len()), ("a", "", 4));
        assert_eq!((lines[1].len(), lines[2].len()), (100, 100));
        assert!(lines[1].contains("== 3 passed ==") && lines[2].ends_with("  [100%]"), "{short}");
        for kept in
            ["=".repeat(400), "x".repeat(1000), format!("{} {}", "ab".repeat(400), "-".repeat(190)), "=".repeat(3000)]
        {
            assert_eq!(compact(&kept, 1000), kept);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_row_is_too_wide_and_no_glyph_is_lost(text in "[a-z日é ]{0,90}", columns in 2u16..30) {
            let (rows, _, _) = folded(&text, columns, 100);
            proptest::prop_assert!(rows.iter().all(|row| width(row) <= usize::from(columns)));
            proptest::prop_assert_eq!(rows.concat(), text.trim_end());
        }
    }
}

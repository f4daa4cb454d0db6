//! What real programs print, on our screen and on tmux's: `NAME.bytes` was recorded on a terminal of 80×24, `NAME.screen` is
//! what tmux 3 shows of it (`capture-pane -p -e -N`).

use super::Screen;
use crate::text::width::grapheme_width;
use crate::text::{Cell, Line, Role, ansi};
use std::path::PathBuf;
use unicode_segmentation::UnicodeSegmentation;

const COLUMNS: usize = 80;
const ROWS: usize = 24;

/// A cell's text and look; what comes after a wide one is empty.
type Shown = (String, Cell);

/// The cells of rows; where a row ends early they are blank on a ground that is not told.
fn cells(lines: &[Line]) -> Vec<Vec<Option<Shown>>> {
    let row = |line: &Line| {
        let mut row: Vec<Option<Shown>> = Vec::new();
        for span in &line.spans {
            let Role::Screen(cell) = span.role else { panic!("{span:?}") };
            for glyph in span.text.graphemes(true) {
                // Of a blank only the ground is seen.
                let seen = match glyph {
                    " " => Cell { bg: cell.bg, inverse: cell.inverse, underline: cell.underline, ..Cell::default() },
                    _ => cell,
                };
                row.push(Some((glyph.to_owned(), seen)));
                (1..grapheme_width(glyph)).for_each(|_| row.push(Some((String::new(), Cell::default()))));
            }
        }
        row.resize(COLUMNS, None);
        row
    };
    let mut rows: Vec<_> = lines.iter().map(row).collect();
    rows.resize(ROWS, vec![None; COLUMNS]);
    rows
}

fn equal(ours: &Option<Shown>, theirs: &Option<Shown>) -> bool {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => ours == theirs,
        // What was erased at the end of a row is not captured, whatever its ground.
        (Some((text, _)), None) => text == " ",
        (None, Some(theirs)) => *theirs == (" ".to_owned(), Cell::default()),
        (None, None) => true,
    }
}

#[test]
fn real_programs_look_as_they_do_in_tmux() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/screens"));
    let (mut seen, mut report) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "bytes") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let theirs = std::fs::read_to_string(path.with_extension("screen")).unwrap();
        let theirs = cells(&ansi::lines(&theirs));
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for chunk in [bytes.len(), 7] {
            let mut screen = Screen::new(COLUMNS as u16, ROWS as u16);
            bytes.chunks(chunk).for_each(|piece| screen.feed_lines(piece));
            let ours = cells(&screen.snapshot().rows);
            let pairs = ours.iter().flatten().zip(theirs.iter().flatten());
            let other: Vec<_> = pairs.enumerate().filter(|(_, (a, b))| !equal(a, b)).collect();
            if other.len() * 1000 > ROWS * COLUMNS * 5 {
                let first =
                    other.iter().take(5).map(|(at, pair)| format!("{}:{} {pair:?}", at / COLUMNS, at % COLUMNS));
                report.push(format!("{name}: {} cells: {}", other.len(), first.collect::<Vec<_>>().join("\n  ")));
            }
        }
        seen += 1;
    }
    assert!(report.is_empty(), "{}", report.join("\n"));
    assert!(seen >= 10, "only {seen} recordings");
}

//! Widths in terminal cells and cutting to them. Agrees with what the screen buffer counts, grapheme by grapheme.

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Cells that a text without control characters takes.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(grapheme_width).sum() }
}

/// Cells of one grapheme; control characters take none.
pub fn grapheme_width(grapheme: &str) -> usize {
    if grapheme.contains(char::is_control) { 0 } else { usize::from(grapheme.cell_width()) }
}

/// The longest start of `text` that fits into `cells`, and the cells it takes.
pub fn fit_start(text: &str, cells: usize) -> (&str, usize) {
    if text.is_ascii() {
        let end = text.len().min(cells);
        return (&text[..end], end);
    }
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme_width(grapheme);
        if used + wide > cells {
            return (&text[..at], used);
        }
        used += wide;
    }
    (text, used)
}

/// The longest end of `text` that fits into `cells`, and the cells it takes.
pub fn fit_end(text: &str, cells: usize) -> (&str, usize) {
    if text.is_ascii() {
        let start = text.len().saturating_sub(cells);
        return (&text[start..], text.len() - start);
    }
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        let wide = grapheme_width(grapheme);
        if used + wide > cells {
            return (&text[at + grapheme.len()..], used);
        }
        used += wide;
    }
    (text, used)
}

/// Cuts at the end, with `…` as the last cell when something was cut. For prose and commands in lists.
pub fn truncate_end(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    if cells == 0 {
        return String::new();
    }
    let (start, _) = fit_start(text, cells - 1);
    format!("{}…", start.trim_end())
}

/// Cuts in the middle, with `…` where something was cut. For paths: the file name stays longest.
pub fn truncate_middle(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    if cells == 0 {
        return String::new();
    }
    let room = cells - 1;
    let name = text.rfind('/').map_or(0, |slash| width(&text[slash..]));
    let tail = if name > 0 && name <= room { name.max(room - room / 2) } else { room - room / 2 };
    let (start, _) = fit_start(text, room - tail);
    let (end, _) = fit_end(text, tail);
    format!("{start}…{end}")
}

/// Pads with spaces on the right to exactly `cells`, cutting at the end when too long.
pub fn pad(text: &str, cells: usize) -> String {
    let mut out = truncate_end(text, cells);
    let have = width(&out);
    out.extend(std::iter::repeat_n(' ', cells.saturating_sub(have)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_cells_not_characters() {
        for (text, cells) in [("", 0), ("abc", 3), ("日本", 4), ("é", 1), ("👩‍👩‍👧", 2), ("💻", 2), ("☤", 1)]
        {
            assert_eq!(width(text), cells, "{text}");
        }
    }

    #[test]
    fn cuts_are_never_wider_than_asked() {
        for text in
            ["src/store/mod.rs", "日本語のとても長いパス/ファイル.rs", "plain words here", "/a/very/long/path/x.rs"]
        {
            for cells in 0..24 {
                for cut in [truncate_end(text, cells), truncate_middle(text, cells)] {
                    assert!(width(&cut) <= cells, "{cut} in {cells}");
                    assert!(cut == text || cells == 0 || cut.contains('…'));
                }
                assert_eq!(width(&pad(text, cells)), cells, "{text} {cells}");
            }
        }
        assert_eq!(truncate_middle("src/very/long/folder/mod.rs", 14), "src/ve…/mod.rs");
        assert_eq!(truncate_end("hello world", 7), "hello…");
    }
}

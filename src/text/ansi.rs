//! Text with colour sequences to lines: SGR becomes roles, every other control goes.

use super::{Cell, Ground, Line, Paint, Role, Span};

/// Lines of a program's output. Carriage returns start the line over, as a terminal would show it.
pub fn lines(text: &str) -> Vec<Line> {
    let mut out = Vec::new();
    let mut cell = Cell::default();
    for raw in text.split('\n') {
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        let shown = raw.rsplit('\r').next().unwrap_or(raw);
        // Colours that an overwritten part set still hold.
        if shown.len() < raw.len() {
            line(&raw[..raw.len() - shown.len()], &mut cell);
        }
        out.push(Line { spans: line(shown, &mut cell), ground: Ground::Base });
    }
    if text.ends_with('\n') {
        out.pop();
    }
    out
}

/// The text of a line with sequences for what its cells have of colours and attributes.
pub fn encode(line: &Line) -> String {
    let mut out = String::new();
    let mut last = Cell::default();
    for span in &line.spans {
        let cell = if let Role::Screen(cell) = span.role { cell } else { Cell::default() };
        if cell != last {
            out.push_str(&super::screen::rendition(cell));
            last = cell;
        }
        out.push_str(&span.text);
    }
    if last != Cell::default() {
        out.push_str("\x1b[0m");
    }
    out
}

fn line(text: &str, cell: &mut Cell) -> Vec<Span> {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t') {
        return if text.is_empty() { Vec::new() } else { vec![Span::new(text, Role::Screen(*cell))] };
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut run = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        match character {
            '\u{1b}' => {
                let (length, sgr) = escape(rest);
                if let Some(parameters) = sgr {
                    let before = *cell;
                    apply(parameters, cell);
                    if before != *cell && !run.is_empty() {
                        spans.push(Span::new(std::mem::take(&mut run), Role::Screen(before)));
                    }
                }
                rest = &rest[length..];
                continue;
            }
            '\u{8}' => {
                run.pop();
            }
            '\t' => run.push('\t'),
            control if control.is_control() => {}
            printable => run.push(printable),
        }
        rest = &rest[character.len_utf8()..];
    }
    if !run.is_empty() {
        spans.push(Span::new(run, Role::Screen(*cell)));
    }
    spans
}

/// The length of the escape sequence at the start of `text`, and its parameters when it is SGR.
fn escape(text: &str) -> (usize, Option<&str>) {
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'[') => {
            let end = bytes.iter().skip(2).position(|byte| (0x40..0x7f).contains(byte));
            match end {
                Some(end) if bytes.get(end + 2) == Some(&b'm') => (end + 3, Some(&text[2..end + 2])),
                Some(end) => (end + 3, None),
                None => (text.len(), None),
            }
        }
        // OSC, DCS, APC, PM, SOS: up to BEL or ST.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let bell = text.find('\u{7}').map(|at| at + 1);
            let string_end = text[1..].find("\u{1b}\\").map(|at| at + 3);
            (bell.into_iter().chain(string_end).min().unwrap_or(text.len()), None)
        }
        Some(b'(' | b')' | b'#' | b'%' | b' ') => (text.char_indices().nth(3).map_or(text.len(), |(at, _)| at), None),
        Some(byte) if byte.is_ascii() => (2, None),
        _ => (1, None),
    }
}

fn apply(parameters: &str, cell: &mut Cell) {
    let mut numbers = parameters.split([';', ':']).map(|part| part.parse::<u16>().unwrap_or(0));
    while let Some(code) = numbers.next() {
        match code {
            0 => *cell = Cell::default(),
            1 => cell.bold = true,
            2 => cell.dim = true,
            3 => cell.italic = true,
            4 => cell.underline = true,
            7 => cell.inverse = true,
            22 => (cell.bold, cell.dim) = (false, false),
            23 => cell.italic = false,
            24 => cell.underline = false,
            27 => cell.inverse = false,
            30..=37 => cell.fg = Paint::Index((code - 30) as u8),
            38 => cell.fg = extended(&mut numbers).unwrap_or(cell.fg),
            39 => cell.fg = Paint::Default,
            40..=47 => cell.bg = Paint::Index((code - 40) as u8),
            48 => cell.bg = extended(&mut numbers).unwrap_or(cell.bg),
            49 => cell.bg = Paint::Default,
            90..=97 => cell.fg = Paint::Index((code - 82) as u8),
            100..=107 => cell.bg = Paint::Index((code - 92) as u8),
            _ => {}
        }
    }
}

fn extended(numbers: &mut impl Iterator<Item = u16>) -> Option<Paint> {
    let byte = |value: Option<u16>| value.map(|value| value.min(255) as u8);
    match numbers.next()? {
        5 => byte(numbers.next()).map(Paint::Index),
        2 => Some(Paint::Rgb(byte(numbers.next())?, byte(numbers.next())?, byte(numbers.next())?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red() -> Cell {
        Cell { fg: Paint::Index(1), ..Cell::default() }
    }

    #[test]
    fn colours_become_roles_and_controls_go() {
        let plain = Role::Screen(Cell::default());
        let table: &[(&str, Vec<Vec<Span>>)] = &[
            ("a\nb\n", vec![vec![Span::new("a", plain)], vec![Span::new("b", plain)]]),
            ("\u{1b}[31mred\u{1b}[0m ok", vec![vec![Span::new("red", Role::Screen(red())), Span::new(" ok", plain)]]),
            ("10%\r50%\r100%", vec![vec![Span::new("100%", plain)]]),
            ("\u{1b}]0;title\u{7}x\u{1b}[2Ky\u{7}", vec![vec![Span::new("xy", plain)]]),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", vec![vec![Span::new("link", plain)]]),
            ("\u{1b}[3", vec![vec![]]),
        ];
        for (text, expected) in table {
            let found: Vec<_> = lines(text).into_iter().map(|line| line.spans).collect();
            assert_eq!(&found, expected, "{text:?}");
        }
    }

    #[test]
    fn colour_carries_over_lines() {
        let found = lines("\u{1b}[38;2;1;2;3ma\nb");
        let paint = Cell { fg: Paint::Rgb(1, 2, 3), ..Cell::default() };
        assert_eq!(found[1].spans, vec![Span::new("b", Role::Screen(paint))]);
    }
}

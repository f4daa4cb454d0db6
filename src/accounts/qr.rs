//! An address as a code that a telephone reads, in rows of half blocks.

use qrcode::{Color, EcLevel, QrCode};

/// Modules without ink around it. The standard asks for four; two are enough for cameras, and rows are dear.
const QUIET: usize = 2;

/// Two rows of modules a line: what is light is drawn, so that it is right where text is light on a dark ground. `None` when
/// the text is too long.
pub fn qr(text: &str) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let (width, colors) = (code.width(), code.to_colors());
    let side = width + 2 * QUIET;
    let is_light = |row: usize, column: usize| {
        let inside = |at: usize| at.checked_sub(QUIET).filter(|at| *at < width);
        match (inside(row), inside(column)) {
            (Some(row), Some(column)) => colors[row * width + column] == Color::Light,
            // Below the last row of an odd number nothing is drawn.
            _ => row < side,
        }
    };
    let line = |row: usize| {
        let cell = |column: usize| match (is_light(row, column), is_light(row + 1, column)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        };
        (0..side).map(cell).collect()
    };
    Some((0..side).step_by(2).map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_square_and_framed() {
        let rows = qr("https://portal.example/device?code=ABCD-EFGH").unwrap();
        let width = rows[0].chars().count();
        assert!(rows.iter().all(|row| row.chars().count() == width));
        assert_eq!(rows.len(), width.div_ceil(2));
        let (last, above) = rows.split_last().unwrap();
        assert!(rows[0].chars().all(|c| c == '█') && above.iter().all(|row| row.starts_with("██")));
        assert!(last.chars().all(|c| c == '▀'), "{last}");
        assert!(qr(&"x".repeat(5_000)).is_none());
    }
}

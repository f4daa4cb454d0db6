//! Keys, pastes and the mouse as the bytes that xterm would send to a program.

use super::paste;
use crate::app::msg::MouseKind;
use crate::text::{Modes, MouseFormat, MouseReports};

pub use crate::exec::key_bytes as key;

/// The bytes of a paste; `bracketed`: the program asked for marks around it. Line ends are what Enter sends.
pub fn paste(text: &str, bracketed: bool) -> Vec<u8> {
    let text = paste::harmless(text).replace('\n', "\r");
    if bracketed { format!("\x1b[200~{text}\x1b[201~").into_bytes() } else { text.into_bytes() }
}

/// The bytes of what the left button or the wheel did at a column and row of the program's screen, counted from 0;
/// nothing where the program did not ask for it.
pub fn mouse(kind: MouseKind, (column, row): (u16, u16), modes: Modes) -> Vec<u8> {
    let wanted = match (kind, modes.mouse) {
        (_, MouseReports::Off) => false,
        (MouseKind::Press | MouseKind::Wheel(_), _) => true,
        (MouseKind::Release, reports) => reports != MouseReports::Press,
        (MouseKind::Drag, reports) => reports == MouseReports::Motion,
    };
    if !wanted {
        return Vec::new();
    }
    // xterm's codes: 3 is a release without a name, 32 a motion, 64 the wheel
    let (code, times) = match (kind, modes.mouse_format) {
        (MouseKind::Press, _) | (MouseKind::Release, MouseFormat::Sgr) => (0, 1),
        (MouseKind::Release, MouseFormat::Bytes | MouseFormat::Utf8) => (3, 1),
        (MouseKind::Drag, _) => (32, 1),
        (MouseKind::Wheel(steps), _) => (if steps < 0 { 64 } else { 65 }, steps.unsigned_abs().min(WHEEL)),
    };
    let numbers = [code, u32::from(column) + 1, u32::from(row) + 1];
    let one = match modes.mouse_format {
        MouseFormat::Sgr => {
            let end = if kind == MouseKind::Release { 'm' } else { 'M' };
            format!("\x1b[<{};{};{}{end}", numbers[0], numbers[1], numbers[2]).into_bytes()
        }
        MouseFormat::Utf8 => {
            let text: String = numbers.iter().filter_map(|number| char::from_u32(number + 32)).collect();
            format!("\x1b[M{text}").into_bytes()
        }
        MouseFormat::Bytes => {
            let Ok(bytes) = numbers.iter().map(|number| u8::try_from(number + 32)).collect::<Result<Vec<u8>, _>>()
            else {
                // too far right or down to be said in a byte
                return Vec::new();
            };
            [b"\x1b[M".as_slice(), &bytes].concat()
        }
    };
    one.repeat(usize::from(times))
}

/// Steps of the wheel that one message sends at most.
const WHEEL: u16 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::keys;

    #[test]
    fn keys_are_what_xterm_sends() {
        for (script, bytes) in [
            ("a", "a"),
            ("é", "é"),
            ("<A-x>", "\x1bx"),
            ("<C-a>", "\x01"),
            ("<C-]>", "\x1d"),
            ("<C-space>", "\0"),
            ("<ret>", "\r"),
            ("<tab>", "\t"),
            ("<S-tab>", "\x1b[Z"),
            ("<backspace>", "\x7f"),
            ("<esc>", "\x1b"),
            ("<up>", "\x1b[A"),
            ("<C-right>", "\x1b[1;5C"),
            ("<A-left>", "\x1b[1;3D"),
            ("<S-home>", "\x1b[1;2H"),
            ("<del>", "\x1b[3~"),
            ("<C-pgdn>", "\x1b[6;5~"),
            ("<f1>", "\x1bOP"),
            ("<S-f3>", "\x1b[1;2R"),
            ("<f5>", "\x1b[15~"),
            ("<f11>", "\x1b[23~"),
            ("<f12>", "\x1b[24~"),
        ] {
            assert_eq!(key(keys(script)[0], false), bytes.as_bytes(), "{script}");
        }
    }

    #[test]
    fn application_cursor_keys_are_ss3_unless_a_modifier_is_held() {
        for (script, usual, application) in [
            ("<up>", "\x1b[A", "\x1bOA"),
            ("<down>", "\x1b[B", "\x1bOB"),
            ("<right>", "\x1b[C", "\x1bOC"),
            ("<left>", "\x1b[D", "\x1bOD"),
            ("<home>", "\x1b[H", "\x1bOH"),
            ("<end>", "\x1b[F", "\x1bOF"),
            ("<C-left>", "\x1b[1;5D", "\x1b[1;5D"),
            ("<pgup>", "\x1b[5~", "\x1b[5~"),
            ("<f1>", "\x1bOP", "\x1bOP"),
            ("x", "x", "x"),
        ] {
            assert_eq!(key(keys(script)[0], false), usual.as_bytes(), "{script}");
            assert_eq!(key(keys(script)[0], true), application.as_bytes(), "{script}");
        }
    }

    #[test]
    fn the_mouse_is_told_as_the_program_asked() {
        use MouseFormat::{Bytes, Sgr, Utf8};
        use MouseKind::{Drag, Press, Release, Wheel};
        use MouseReports::{Buttons, Motion, Off};
        for (kind, reports, format, at, bytes) in [
            (Press, Off, Sgr, (0, 0), ""),
            (Press, Buttons, Sgr, (0, 0), "\x1b[<0;1;1M"),
            (Release, Buttons, Sgr, (9, 4), "\x1b[<0;10;5m"),
            (Release, MouseReports::Press, Sgr, (9, 4), ""),
            (Drag, Buttons, Sgr, (9, 4), ""),
            (Drag, Motion, Sgr, (9, 4), "\x1b[<32;10;5M"),
            (Wheel(-1), Buttons, Sgr, (1, 1), "\x1b[<64;2;2M"),
            (Wheel(2), Buttons, Sgr, (1, 1), "\x1b[<65;2;2M\x1b[<65;2;2M"),
            (Press, Buttons, Bytes, (0, 0), "\x1b[M !!"),
            (Release, Buttons, Bytes, (0, 0), "\x1b[M#!!"),
            (Press, Buttons, Bytes, (300, 0), ""),
            (Press, Buttons, Utf8, (300, 0), "\x1b[M \u{14d}!"),
        ] {
            let modes = Modes { mouse: reports, mouse_format: format, ..Modes::default() };
            assert_eq!(mouse(kind, at, modes), bytes.as_bytes(), "{kind:?} {reports:?} {format:?} {at:?}");
        }
    }

    #[test]
    fn a_paste_cannot_end_its_own_brackets() {
        assert_eq!(paste("a\r\nb", false), b"a\rb");
        let sent = paste("x\x1b[201~rm", true);
        assert_eq!(sent.windows(6).filter(|w| w == b"\x1b[201~").count(), 1, "only our own end mark");
    }
}

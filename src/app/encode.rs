//! Keys and pastes as the bytes that xterm would send to a program.

use crate::config::keymap::{Code, Key};

/// The bytes of a key. `application`: the program asked for application cursor keys (DECCKM).
pub fn key(key: Key, application: bool) -> Vec<u8> {
    // xterm's parameter: 1 + shift 1 + alt 2 + control 4
    let modifier = 1 + u8::from(key.shift) + 2 * u8::from(key.alt) + 4 * u8::from(key.ctrl);
    let bytes = match key.code {
        Code::Char(c) => return character(c, key.ctrl, key.alt),
        Code::Enter => return escaped(key.alt, b"\r"),
        Code::Esc => return escaped(key.alt, b"\x1b"),
        Code::Tab => return escaped(key.alt, b"\t"),
        Code::Backspace if key.ctrl => return escaped(key.alt, b"\x08"),
        Code::Backspace => return escaped(key.alt, b"\x7f"),
        Code::BackTab => "\x1b[Z".to_owned(),
        Code::Up => letter('A', modifier, application),
        Code::Down => letter('B', modifier, application),
        Code::Right => letter('C', modifier, application),
        Code::Left => letter('D', modifier, application),
        Code::Home => letter('H', modifier, application),
        Code::End => letter('F', modifier, application),
        Code::Insert => number(2, modifier),
        Code::Delete => number(3, modifier),
        Code::PageUp => number(5, modifier),
        Code::PageDown => number(6, modifier),
        Code::F(n @ 1..=4) => {
            let last = char::from(b'P' + n - 1);
            if modifier == 1 { format!("\x1bO{last}") } else { format!("\x1b[1;{modifier}{last}") }
        }
        // the numbers skip 16 and 22, as VT220 keyboards did
        Code::F(n @ 5..=12) => number([15, 17, 18, 19, 20, 21, 23, 24][usize::from(n - 5)], modifier),
        Code::F(_) => String::new(),
    };
    bytes.into_bytes()
}

/// The bytes of a paste; `bracketed`: the program asked for marks around it. Line ends are what Enter sends.
pub fn paste(text: &str, bracketed: bool) -> Vec<u8> {
    let text = super::paste::harmless(text).replace('\n', "\r");
    if bracketed { format!("\x1b[200~{text}\x1b[201~").into_bytes() } else { text.into_bytes() }
}

fn character(c: char, ctrl: bool, alt: bool) -> Vec<u8> {
    let mut buffer = [0; 4];
    if !ctrl {
        return escaped(alt, c.encode_utf8(&mut buffer).as_bytes());
    }
    let byte = match c.to_ascii_lowercase() {
        letter @ 'a'..='z' => letter as u8 - b'a' + 1,
        ' ' | '@' | '2' => 0,
        '[' | '3' => 0x1b,
        '\\' | '4' => 0x1c,
        ']' | '5' => 0x1d,
        '^' | '6' => 0x1e,
        '_' | '/' | '7' => 0x1f,
        '?' | '8' => 0x7f,
        _ => return escaped(alt, c.encode_utf8(&mut buffer).as_bytes()),
    };
    escaped(alt, &[byte])
}

fn escaped(alt: bool, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 1);
    if alt {
        out.push(0x1b);
    }
    out.extend_from_slice(bytes);
    out
}

fn letter(last: char, modifier: u8, application: bool) -> String {
    match (modifier, application) {
        (1, true) => format!("\x1bO{last}"),
        (1, false) => format!("\x1b[{last}"),
        _ => format!("\x1b[1;{modifier}{last}"),
    }
}

fn number(number: u8, modifier: u8) -> String {
    if modifier == 1 { format!("\x1b[{number}~") } else { format!("\x1b[{number};{modifier}~") }
}

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
        assert_eq!(key(keys("<up>")[0], true), b"\x1bOA");
    }

    #[test]
    fn a_paste_cannot_end_its_own_brackets() {
        assert_eq!(paste("a\r\nb", false), b"a\rb");
        let sent = paste("x\x1b[201~rm", true);
        assert_eq!(sent.windows(6).filter(|w| w == b"\x1b[201~").count(), 1, "only our own end mark");
    }
}

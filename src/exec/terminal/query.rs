//! Questions that programs ask their terminal, and the answers of a plain xterm. Unanswered, editors and menus stall; a
//! wrong answer is worse than the honest "unknown" that every question has.

use super::partial_escape::{Begins, PartialEscape};
use crate::exec::screen::viewport::Viewport;
use crate::text::{MouseFormat, MouseReports};

/// A question of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    /// `CSI c`: what are you?
    Device,
    /// `CSI > c`: which version?
    Version,
    /// `CSI = c`: which unit?
    Unit,
    /// `CSI > q`: your name?
    Name,
    /// `CSI 5 n`: are you well?
    Status,
    /// `CSI 6 n`: where is the cursor?
    Cursor,
    /// `CSI ? 6 n`: the same, with a mark.
    CursorAndPage,
    /// `CSI 18 t`: how large are you?
    Size,
    /// `OSC 10 ; ?`
    Foreground,
    /// `OSC 11 ; ?`
    Background,
    /// `CSI ? N $ p`: is this private mode set?
    PrivateMode(u16),
    /// `CSI N $ p`: is this mode set?
    Mode(u16),
    /// `DCS + q …`: what does your terminfo say?
    Capability,
    /// `DCS $ q …`: how is this set?
    Setting,
}

impl Query {
    /// Its answer depends on what the screen shows.
    pub(crate) fn takes_screen(self) -> bool {
        matches!(self, Query::Cursor | Query::CursorAndPage | Query::PrivateMode(_))
    }

    /// The bytes that a terminal of `size` would send. `screen` is asked for only where the answer depends on it.
    pub(crate) fn answer<'a>(self, size: (u16, u16), screen: impl FnOnce() -> &'a Viewport) -> Vec<u8> {
        let text = match self {
            // A VT220 with colours.
            Query::Device => "\x1b[?62;22c".to_owned(),
            Query::Version => "\x1b[>1;10;0c".to_owned(),
            Query::Unit => "\x1bP!|00000000\x1b\\".to_owned(),
            Query::Name => concat!("\x1bP>|hermes(", env!("CARGO_PKG_VERSION"), ")\x1b\\").to_owned(),
            Query::Status => "\x1b[0n".to_owned(),
            Query::Cursor => {
                let (column, row) = screen().cursor();
                format!("\x1b[{};{}R", row + 1, column + 1)
            }
            Query::CursorAndPage => {
                let (column, row) = screen().cursor();
                format!("\x1b[?{};{};1R", row + 1, column + 1)
            }
            Query::Size => {
                let (columns, rows) = size;
                format!("\x1b[8;{rows};{columns}t")
            }
            // Light on dark: programs choose colours that can be read on either when they are told dark.
            Query::Foreground => "\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\".to_owned(),
            Query::Background => "\x1b]11;rgb:1010/1010/1010\x1b\\".to_owned(),
            Query::PrivateMode(mode) => {
                let set = is_set(mode, screen());
                format!("\x1b[?{mode};{}$y", set.map_or(0, |set| if set { 1 } else { 2 }))
            }
            Query::Mode(mode) => format!("\x1b[{mode};0$y"),
            Query::Capability => "\x1bP0+r\x1b\\".to_owned(),
            Query::Setting => "\x1bP0$r\x1b\\".to_owned(),
        };
        text.into_bytes()
    }
}

/// Whether a private mode is set; `None`: not known here.
fn is_set(mode: u16, screen: &Viewport) -> Option<bool> {
    let modes = screen.modes();
    Some(match mode {
        1 => modes.application_cursor,
        25 => screen.seen().0.cursor.is_some(),
        47 | 1047 | 1049 => screen.alternate(),
        1000 => modes.mouse == MouseReports::Buttons,
        1002 => modes.mouse == MouseReports::Motion,
        1005 => modes.mouse_format == MouseFormat::Utf8,
        1006 => modes.mouse_format == MouseFormat::Sgr,
        2004 => modes.bracketed_paste,
        _ => return None,
    })
}

const QUESTIONS: &[(&[u8], Query)] = &[
    (b"\x1b[c", Query::Device),
    (b"\x1b[0c", Query::Device),
    (b"\x1b[>c", Query::Version),
    (b"\x1b[>0c", Query::Version),
    (b"\x1b[=c", Query::Unit),
    (b"\x1b[=0c", Query::Unit),
    (b"\x1b[>q", Query::Name),
    (b"\x1b[>0q", Query::Name),
    (b"\x1b[5n", Query::Status),
    (b"\x1b[6n", Query::Cursor),
    (b"\x1b[?6n", Query::CursorAndPage),
    (b"\x1b[18t", Query::Size),
    (b"\x1b]10;?", Query::Foreground),
    (b"\x1b]11;?", Query::Background),
];

/// Finds questions in a stream that arrives in pieces. What is carried over is longer than any that is answered.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    partial_escape: PartialEscape<256>,
}

impl Queries {
    /// Questions that end in `bytes`, each with the position in `bytes` after it.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Vec<(usize, Query)> {
        self.partial_escape.scan(bytes, look).into_iter().map(|at| (at.to, at.what)).collect()
    }
}

fn look(text: &[u8]) -> Begins<Query> {
    if let Some((question, query)) = QUESTIONS.iter().find(|(question, _)| text.starts_with(question)) {
        return Begins::Found(question.len(), *query);
    }
    if QUESTIONS.iter().any(|(question, _)| question.starts_with(text)) {
        return Begins::Unfinished;
    }
    match text.get(1) {
        Some(b'[') => mode(text),
        Some(b'P') => string(text),
        _ => Begins::Nothing,
    }
}

/// `CSI ? N $ p` and `CSI N $ p`.
fn mode(text: &[u8]) -> Begins<Query> {
    let private = text.get(2) == Some(&b'?');
    let from = if private { 3 } else { 2 };
    let digits = text[from.min(text.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = &text[(from + digits).min(text.len())..];
    if digits > 5 {
        return Begins::Nothing;
    }
    match rest {
        [] | [b'$'] => Begins::Unfinished,
        [b'$', b'p', ..] => {
            let number = std::str::from_utf8(&text[from..from + digits]).ok().and_then(|digits| digits.parse().ok());
            let Some(number) = number else { return Begins::Nothing };
            let query = if private { Query::PrivateMode(number) } else { Query::Mode(number) };
            Begins::Found(from + digits + 2, query)
        }
        _ => Begins::Nothing,
    }
}

/// `DCS + q … ST` and `DCS $ q … ST`.
fn string(text: &[u8]) -> Begins<Query> {
    let query = match text.get(2..4) {
        Some(b"+q") => Query::Capability,
        Some(b"$q") => Query::Setting,
        Some(_) => return Begins::Nothing,
        None => return Begins::Unfinished,
    };
    match text.windows(2).skip(1).position(|pair| pair == b"\x1b\\") {
        Some(end) => Begins::Found(end + 3, query),
        None => Begins::Unfinished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(bytes: &[u8]) -> (Viewport, (u16, u16)) {
        let mut screen = Viewport::new((80, 24));
        screen.feed(bytes, 0, Some(0));
        (screen, (80, 24))
    }

    #[test]
    fn finds_questions_in_pieces() {
        let mut queries = Queries::default();
        assert_eq!(queries.scan(b"text \x1b[31mred\x1b[6n"), [(17, Query::Cursor)]);
        assert_eq!(queries.scan(b"\x1b["), []);
        assert_eq!(queries.scan(b"c and \x1b]11;?\x1b\\"), [(1, Query::Device), (12, Query::Background)]);
        assert_eq!(queries.scan(b"plain"), []);
        assert_eq!(queries.scan(b"\x1b"), []);
        assert_eq!(queries.scan(b"[5"), []);
        assert_eq!(queries.scan(b"n"), [(1, Query::Status)]);
        assert_eq!(queries.scan(b"\x1b[>c\x1b[c"), [(4, Query::Version), (7, Query::Device)]);
        assert_eq!(queries.scan(b"\x1bP+q544e"), []);
        assert_eq!(queries.scan(b"\x1b\\x"), [(2, Query::Capability)]);
        assert_eq!(queries.scan(b"\x1b[?200"), []);
        assert_eq!(queries.scan(b"4$p\x1b[4$p"), [(3, Query::PrivateMode(2004)), (8, Query::Mode(4))]);
        assert_eq!(queries.scan(b"\x1b[?2004h\x1b[1;31m\x1b[2J\x1bPq#0\x1b\\"), []);
    }

    #[test]
    fn every_question_has_the_answer_of_a_terminal() {
        for (question, before, answer) in [
            ("\x1b[c", "", "\x1b[?62;22c"),
            ("\x1b[>c", "", "\x1b[>1;10;0c"),
            ("\x1b[=c", "", "\x1bP!|00000000\x1b\\"),
            ("\x1b[5n", "", "\x1b[0n"),
            ("\x1b[6n", "\x1b[8;4H", "\x1b[8;4R"),
            ("\x1b[?6n", "\x1b[8;4H", "\x1b[?8;4;1R"),
            ("\x1b[18t", "", "\x1b[8;24;80t"),
            ("\x1b]10;?\x07", "", "\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"),
            ("\x1b]11;?\x1b\\", "", "\x1b]11;rgb:1010/1010/1010\x1b\\"),
            ("\x1b[?2004$p", "\x1b[?2004h", "\x1b[?2004;1$y"),
            ("\x1b[?2004$p", "", "\x1b[?2004;2$y"),
            ("\x1b[?1$p", "\x1b[?1h", "\x1b[?1;1$y"),
            ("\x1b[?25$p", "\x1b[?25l", "\x1b[?25;2$y"),
            ("\x1b[?1049$p", "\x1b[?1049h", "\x1b[?1049;1$y"),
            ("\x1b[?1006$p", "\x1b[?1000;1006h", "\x1b[?1006;1$y"),
            ("\x1b[?9999$p", "", "\x1b[?9999;0$y"),
            ("\x1b[4$p", "", "\x1b[4;0$y"),
            ("\x1bP+q5443\x1b\\", "", "\x1bP0+r\x1b\\"),
            ("\x1bP$qm\x1b\\", "", "\x1bP0$r\x1b\\"),
        ] {
            let found = Queries::default().scan(question.as_bytes());
            let [(_, query)] = found[..] else { panic!("{question:?}: {found:?}") };
            let (screen, size) = after(before.as_bytes());
            let said = query.answer(size, || &screen);
            assert_eq!(String::from_utf8(said).unwrap(), answer, "{question:?}");
            let shown = after(format!("{before}{question}x").as_bytes()).0.seen().0;
            let text: String = shown.rows.iter().flat_map(|row| &row.spans).map(|span| span.text.as_str()).collect();
            assert_eq!(text.trim(), "x", "{question:?} leaves nothing on the screen");
        }
    }
}

//! Leaves the echo of typed keys out of the output: it is the user's, or an answer of ours, and no word of a program.
//!
//! What the line discipline will echo is known when the keys are written, so the terminal's output is searched for just
//! that. A program that reads keys one by one and prints them itself (a shell's editor, another machine's terminal) may show
//! them in any way: see `editing`.

use rustix::termios::{InputModes, LocalModes, OutputModes, SpecialCodeIndex, Termios};
mod editing;
mod row;

use editing::Editing;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// An echo that has not come after so long does not come any more.
const ECHO_WAIT: Duration = Duration::from_secs(5);
/// Nor after so many bytes of other output.
const REACH: usize = 64 * 1024;
/// Pieces that may be waited for; a paste beyond it stays in the output.
const MAX_PIECES: usize = 4096;

/// What the line discipline does with keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Discipline {
    modes: LocalModes,
    /// Return counts as a line feed.
    returns: bool,
    /// A line feed is shown with a carriage return.
    onlcr: bool,
    interrupt: u8,
    quit: u8,
    suspend: u8,
    erase: u8,
    kill: u8,
    word: u8,
    literal: u8,
    reprint: u8,
    end: u8,
    stop: u8,
    go: u8,
}

impl From<&Termios> for Discipline {
    fn from(modes: &Termios) -> Self {
        let code = |index| modes.special_codes[index];
        Self {
            modes: modes.local_modes,
            returns: modes.input_modes.contains(InputModes::ICRNL),
            onlcr: modes.output_modes.contains(OutputModes::OPOST | OutputModes::ONLCR),
            interrupt: code(SpecialCodeIndex::VINTR),
            quit: code(SpecialCodeIndex::VQUIT),
            suspend: code(SpecialCodeIndex::VSUSP),
            erase: code(SpecialCodeIndex::VERASE),
            kill: code(SpecialCodeIndex::VKILL),
            word: code(SpecialCodeIndex::VWERASE),
            literal: code(SpecialCodeIndex::VLNEXT),
            reprint: code(SpecialCodeIndex::VREPRINT),
            end: code(SpecialCodeIndex::VEOF),
            stop: code(SpecialCodeIndex::VSTOP),
            go: code(SpecialCodeIndex::VSTART),
        }
    }
}

/// Keys on their way to a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed<'a> {
    pub(crate) keys: &'a [u8],
    /// They are the person's.
    pub(crate) person: bool,
    /// The end of what the terminal got so far, and whether that is all of it.
    pub(crate) shown: &'a [u8],
    pub(crate) all: bool,
}

/// One run of bytes that the terminal shows in one piece.
#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    since: Instant,
    /// Other bytes that may still come first; of what a program echoes by itself none.
    reach: usize,
}

/// The echo of one terminal.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    /// The line that is being typed, as the line discipline holds it.
    line: Vec<u8>,
    /// The next byte is taken literally.
    literal: bool,
    pieces: VecDeque<Piece>,
    /// Output that may be the beginning of an echo.
    held: Vec<u8>,
    /// Keys in programs that show them by themselves.
    editing: Editing,
}

impl Echo {
    /// These keys go to the terminal now.
    pub(crate) fn typed(&mut self, typed: &Typed<'_>, discipline: &Discipline, now: Instant) {
        let keys = typed.keys;
        let has = |flag| discipline.modes.contains(flag);
        let pieces = match (has(LocalModes::ECHO), has(LocalModes::ICANON)) {
            (true, true) => self.edited(keys, discipline),
            (true, false) => split(plain(keys, discipline), discipline),
            // A password: at most its end shows.
            (false, true) if has(LocalModes::ECHONL) => split(ends(keys, discipline), discipline),
            (false, true) => Vec::new(),
            (false, false) if typed.person => {
                return self.editing.typed(keys, || editing::prompt(typed.shown, typed.all));
            }
            // What the agent typed it knows: only the plain echo goes.
            (false, false) => printable(keys),
        };
        let reach = if has(LocalModes::ECHO) || has(LocalModes::ICANON) { REACH } else { 0 };
        for bytes in pieces.into_iter().filter(|bytes| !bytes.is_empty()) {
            if self.pieces.len() < MAX_PIECES {
                self.pieces.push_back(Piece { bytes, since: now, reach });
            }
        }
    }

    /// Nothing is waited for: output needs no look.
    pub(crate) fn idle(&self) -> bool {
        self.pieces.is_empty() && self.held.is_empty() && self.editing.is_idle()
    }

    /// Output is held back.
    pub(crate) fn holds(&self) -> bool {
        !self.held.is_empty() || self.editing.holds()
    }

    /// What of this output is not echo. The beginning of an echo at its end is held back until more comes. `raw`: the program
    /// shows keys by itself.
    pub(crate) fn left<'a>(&mut self, output: &'a [u8], raw: bool, now: Instant) -> Cow<'a, [u8]> {
        self.pieces.retain(|piece| now.saturating_duration_since(piece.since) < ECHO_WAIT);
        if self.idle() {
            return Cow::Borrowed(output);
        }
        if self.editing.is_idle() {
            return Cow::Owned(self.without_pieces(output));
        }
        let kept = self.editing.left(output, raw);
        Cow::Owned(self.without_pieces(&kept))
    }

    /// What is left of this output without the echo that is waited for.
    fn without_pieces(&mut self, output: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(output);
        let mut left = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(piece) = self.pieces.front_mut().filter(|_| at < bytes.len()) {
            match find(&bytes[at..], &piece.bytes, piece.reach) {
                Some((start, true)) => {
                    left.extend_from_slice(&bytes[at..at + start]);
                    at += start + piece.bytes.len();
                    self.pieces.pop_front();
                }
                Some((start, false)) => {
                    left.extend_from_slice(&bytes[at..at + start]);
                    self.held = bytes[at + start..].to_vec();
                    return left;
                }
                None if piece.reach < bytes.len() - at => {
                    self.pieces.pop_front();
                }
                None => {
                    piece.reach -= bytes.len() - at;
                    break;
                }
            }
        }
        left.extend_from_slice(&bytes[at..]);
        left
    }

    /// Nothing more comes for now, or, with `over`, at all: what was held back is output after all, as far as it shows nothing
    /// that was typed.
    pub(crate) fn give_up(&mut self, raw: bool, over: bool) -> Vec<u8> {
        let mut held = std::mem::take(&mut self.held);
        held.extend(self.editing.settle(raw, over));
        held
    }

    /// What a line that is typed in canonical mode shows.
    fn edited(&mut self, keys: &[u8], discipline: &Discipline) -> Vec<Vec<u8>> {
        let has = |flag| discipline.modes.contains(flag);
        let mut pieces = vec![Vec::new()];
        for &key in keys {
            let key = if key == b'\r' && discipline.returns { b'\n' } else { key };
            let set = |code: u8| code != 0 && key == code;
            let mut shown = Vec::new();
            let mut last = false;
            if std::mem::take(&mut self.literal) {
                self.line.push(key);
                show(key, &mut shown);
            } else if has(LocalModes::ISIG)
                && (set(discipline.interrupt) || set(discipline.quit) || set(discipline.suspend))
            {
                self.line.clear();
                show(key, &mut shown);
                last = true;
            } else if set(discipline.stop) || set(discipline.go) {
            } else if set(discipline.end) {
                self.line.clear();
            } else if set(discipline.erase) {
                self.rub(1, &mut shown);
            } else if set(discipline.kill) {
                self.rub(usize::MAX, &mut shown);
            } else if set(discipline.word) && has(LocalModes::IEXTEN) {
                let blank = |b: &u8| !(b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80);
                let tail = self.line.iter().rev();
                let blanks = tail.clone().take_while(|b| blank(b)).count();
                let word = tail.skip(blanks).take_while(|b| !blank(b)).filter(|b| !continues(**b)).count();
                self.rub(blanks + word, &mut shown);
            } else if set(discipline.literal) && has(LocalModes::IEXTEN) {
                self.literal = true;
                shown.extend_from_slice(b"^\x08");
            } else if set(discipline.reprint) && has(LocalModes::IEXTEN) {
                show(key, &mut shown);
                feed(&mut shown, discipline);
                self.line.iter().for_each(|&byte| show(byte, &mut shown));
            } else if key == b'\n' {
                self.line.clear();
                feed(&mut shown, discipline);
                last = true;
            } else {
                self.line.push(key);
                show(key, &mut shown);
            }
            if let Some(piece) = pieces.last_mut() {
                piece.append(&mut shown);
            }
            if last {
                pieces.push(Vec::new());
            }
        }
        pieces
    }

    /// Rubs out this many characters of the line, as far as it has them.
    fn rub(&mut self, count: usize, shown: &mut Vec<u8>) {
        for _ in 0..count {
            while self.line.last().is_some_and(|byte| continues(*byte)) {
                self.line.pop();
            }
            let Some(byte) = self.line.pop() else { return };
            let cells = if byte < 0x20 || byte == 0x7f { 2 } else { 1 };
            (0..cells).for_each(|_| shown.extend_from_slice(b"\x08 \x08"));
        }
    }
}

/// A later byte of a UTF-8 character.
fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

fn show(byte: u8, into: &mut Vec<u8>) {
    if (byte < 0x20 && byte != b'\t') || byte == 0x7f {
        into.extend_from_slice(&[b'^', byte ^ 0x40]);
    } else {
        into.push(byte);
    }
}

fn feed(into: &mut Vec<u8>, discipline: &Discipline) {
    if discipline.onlcr {
        into.push(b'\r');
    }
    into.push(b'\n');
}

/// Keys that are shown one by one as they come.
fn plain(keys: &[u8], discipline: &Discipline) -> Vec<u8> {
    let mut shown = Vec::new();
    for &key in keys {
        match key {
            b'\r' if discipline.returns => shown.push(b'\n'),
            b'\n' => shown.push(b'\n'),
            key => show(key, &mut shown),
        }
    }
    shown
}

fn ends(keys: &[u8], discipline: &Discipline) -> Vec<u8> {
    let ends = keys.iter().filter(|key| **key == b'\n' || **key == b'\r' && discipline.returns);
    ends.map(|_| b'\n').collect()
}

/// Lines of an echo, as the terminal shows them.
fn split(shown: Vec<u8>, discipline: &Discipline) -> Vec<Vec<u8>> {
    let lines = shown.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| {
            let mut piece = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
            if line.ends_with(b"\n") {
                feed(&mut piece, discipline);
            }
            piece
        })
        .collect()
}

/// The printable runs of keys; from an escape sequence on nobody knows what a program shows.
fn printable(keys: &[u8]) -> Vec<Vec<u8>> {
    let until = keys.iter().position(|byte| *byte == 0x1b).unwrap_or(keys.len());
    keys[..until].split(|byte| *byte < 0x20 || *byte == 0x7f).map(<[u8]>::to_vec).collect()
}

/// Where `piece` begins in `bytes` after at most `reach` others, and whether all of it is there.
fn find(bytes: &[u8], piece: &[u8], reach: usize) -> Option<(usize, bool)> {
    (0..bytes.len().min(reach + 1)).find_map(|at| {
        let rest = &bytes[at..];
        let common = rest.len().min(piece.len());
        (rest[..common] == piece[..common]).then_some((at, common == piece.len()))
    })
}

#[cfg(test)]
mod tests;

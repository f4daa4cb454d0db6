//! Keys in a program that shows them by itself: a line editor (readline), a menu, the terminal of another machine.
//!
//! What such a program prints between a key and the end of the row is its picture of what is typed: the echo, a line that was
//! recalled, what was completed, the row drawn again. None of it can be told from the typed words for sure, so none of it is
//! output, up to the end of the row that Enter ends. Later rows that hold a typed line are doubtful as long as the program
//! reads keys. What is left out and was more than the plain echo leaves a word in its place.

use super::row::{LONGEST, escape, holds, printed, row};

/// What stands in the place of what was left out.
pub(super) const LEFT_OUT: &[u8] = b"[left out: this may show what the user typed]";
/// Bytes of a row that are looked at together.
const MAX_ROW_BYTES: usize = 64 * 1024;
/// Typed lines that are kept, to know them again.
const LINES: usize = 512;
/// Rows that keys without an Enter may make a line editor print: a list of completions. After more it is none.
const ROWS: usize = 200;
/// Text that is shorter is in every row.
const SHORT: usize = 3;

/// Of one terminal.
#[derive(Debug, Default)]
pub(super) struct Editing {
    /// Keys came, and the row that they are in has not ended.
    phase: Option<Phase>,
    /// What was typed so far: whole lines, and the one that is being typed.
    lines: Vec<Vec<u8>>,
    line: Vec<u8>,
    /// Something was typed, and its program may still show it.
    live: bool,
    /// Since the end of the row the terminal was never silent: what is late may still come.
    unsettled: bool,
    /// Rows with one of these are doubtful until then: the line was edited, or more was typed ahead.
    words: Vec<Vec<u8>>,
    /// A row that is not whole.
    row: Vec<u8>,
    /// An escape sequence that is not whole.
    sequence: Vec<u8>,
    /// What stood in the row before the first key.
    prompt: Vec<u8>,
    /// The program has the whole screen: nothing of that is output anyway.
    alternate: bool,
}

/// From a key to the end of the row.
#[derive(Debug, Default)]
struct Phase {
    withheld: Vec<u8>,
    /// The printable keys, which is what their echo is.
    exact: Vec<u8>,
    /// There were other keys: what they make a program show is not known.
    doubtful: bool,
    enters: usize,
    /// Rows that have ended in it.
    rows: usize,
}

impl Phase {
    /// Nothing but the echo of the keys, or their row drawn again with it.
    fn is_echo(&self, prompt: &[u8]) -> bool {
        let text = printed(&self.withheld);
        let mut parts = text.split(|byte| *byte == b'\r');
        !self.doubtful && parts.all(|part| holds(&self.exact, part.strip_prefix(prompt).unwrap_or(part)))
    }
}

impl Editing {
    /// These keys go to the program; `shown` stands in the row so far.
    pub(super) fn typed(&mut self, keys: &[u8], shown: impl FnOnce() -> Vec<u8>) {
        let is_plain_end = |key: &u8| matches!(key, b'\r' | b'\n' | 3 | 4);
        if self.phase.is_none() && self.line.is_empty() && keys.iter().all(is_plain_end) {
            return;
        }
        self.live = true;
        if self.phase.is_none() {
            self.prompt = shown();
        }
        let phase = self.phase.get_or_insert_default();
        let mut at = 0;
        while let Some(&key) = keys.get(at) {
            at += 1;
            match key {
                0x1b => {
                    phase.doubtful = true;
                    at += escape(&keys[at - 1..]).unwrap_or(1) - 1;
                }
                b'\r' | b'\n' | 3 | 4 => {
                    phase.enters += 1;
                    let line = std::mem::take(&mut self.line);
                    if line.len() >= SHORT && self.lines.len() < LINES && !self.lines.contains(&line) {
                        self.lines.push(line);
                    }
                }
                0x08 | 0x7f => {
                    phase.doubtful = true;
                    self.line.pop();
                }
                0..0x20 => phase.doubtful = true,
                _ => {
                    self.line.push(key);
                    phase.exact.push(key);
                }
            }
        }
    }

    /// Nothing that was typed can come any more.
    pub(super) fn is_idle(&self) -> bool {
        !self.live
    }

    /// Output waits for the end of its row.
    pub(super) fn holds(&self) -> bool {
        !self.row.is_empty() || !self.sequence.is_empty()
    }

    /// What of this output is not what a program shows of keys. `raw`: it still reads and shows them by itself.
    pub(super) fn left(&mut self, output: &[u8], raw: bool) -> Vec<u8> {
        let mut left = Vec::with_capacity(output.len());
        for &byte in output {
            if self.sequence.is_empty() && byte != 0x1b {
                self.byte(byte, raw, &mut left);
                continue;
            }
            self.sequence.push(byte);
            if self.sequence.len() >= LONGEST || escape(&self.sequence).is_some() {
                let sequence = std::mem::take(&mut self.sequence);
                self.sequence(&sequence, raw, &mut left);
            }
        }
        if !raw && self.phase.as_ref().is_some_and(|phase| phase.enters == 0) {
            self.key_taken();
        }
        if !self.is_guarded(raw) || self.row.len() > MAX_ROW_BYTES {
            self.judge(&mut left);
        }
        left
    }

    /// The terminal is silent, or, with `over`, nothing comes any more: what is left of what was held back.
    pub(super) fn settle(&mut self, raw: bool, over: bool) -> Vec<u8> {
        let mut left = Vec::new();
        let sequence = std::mem::take(&mut self.sequence);
        self.keep(&sequence, &mut left);
        if let Some(phase) = self.phase.take_if(|_| over)
            && !phase.is_echo(&self.prompt)
        {
            left.extend_from_slice(LEFT_OUT);
        }
        self.judge(&mut left);
        self.unsettled = false;
        self.words.clear();
        self.live = self.phase.is_some() || raw || self.alternate;
        left
    }

    fn is_guarded(&self, raw: bool) -> bool {
        (self.unsettled || raw) && (!self.lines.is_empty() || !self.words.is_empty() || self.line.len() >= SHORT)
    }

    /// One byte that is in no escape sequence.
    fn byte(&mut self, byte: u8, raw: bool, left: &mut Vec<u8>) {
        if self.alternate {
            return left.push(byte);
        }
        if byte == b'\n' && self.phase.is_some() {
            return self.row_ended(left);
        }
        self.keep(&[byte], left);
        if byte == b'\n' && self.is_guarded(raw) {
            self.judge(left);
        }
    }

    /// Puts bytes where they belong.
    fn keep(&mut self, bytes: &[u8], left: &mut Vec<u8>) {
        match &mut self.phase {
            _ if self.alternate => left.extend_from_slice(bytes),
            Some(phase) if phase.withheld.len() < MAX_ROW_BYTES => phase.withheld.extend_from_slice(bytes),
            Some(phase) => phase.doubtful = true,
            None => self.row.extend_from_slice(bytes),
        }
    }

    /// How a terminal is set shows nothing that was typed, and has to be known.
    fn sequence(&mut self, sequence: &[u8], raw: bool, left: &mut Vec<u8>) {
        let Some(mode) = sequence.strip_prefix(b"\x1b[?").filter(|mode| mode.ends_with(b"h") || mode.ends_with(b"l"))
        else {
            return self.keep(sequence, left);
        };
        let screens: [&[u8]; 3] = [b"1049", b"1047", b"47"];
        if !mode[..mode.len() - 1].split(|byte| *byte == b';').any(|number| screens.contains(&number)) {
            return if self.phase.is_some() { left.extend_from_slice(sequence) } else { self.keep(sequence, left) };
        }
        if !self.alternate {
            self.judge(left);
        }
        self.alternate = mode.ends_with(b"h");
        // What was typed on the screen that it leaves stays there.
        self.phase = None;
        self.line.clear();
        self.unsettled = !raw;
        left.extend_from_slice(sequence);
    }

    /// The row that keys went into has ended.
    fn row_ended(&mut self, left: &mut Vec<u8>) {
        let Some(mut phase) = self.phase.take() else { return };
        // The prompt, when keys came before it was let go.
        self.judge(left);
        phase.rows += 1;
        let goes_on = phase.doubtful && phase.enters == 0 && phase.rows < ROWS;
        if !phase.is_echo(&self.prompt) {
            left.extend_from_slice(LEFT_OUT);
        }
        left.extend_from_slice(if phase.withheld.ends_with(b"\r") { b"\r\n" } else { b"\n" });
        self.unsettled = true;
        if goes_on {
            // A list of completions: the line is still being typed.
            phase.withheld.clear();
            self.prompt.clear();
            self.phase = Some(phase);
        } else if phase.doubtful || phase.enters > 1 {
            let words = self.lines.iter().chain([&self.line]).flat_map(|line| {
                line.split(|byte| !byte.is_ascii_alphanumeric() && *byte < 0x80).map(<[u8]>::to_vec).collect::<Vec<_>>()
            });
            self.words = words.filter(|word| word.len() >= SHORT).collect();
        }
    }

    /// A key was enough, and the program does not read keys any more: what comes is its own, after the echo.
    fn key_taken(&mut self) {
        let Some(phase) = self.phase.take() else { return };
        let length = if phase.withheld.starts_with(&phase.exact) { phase.exact.len() } else { 0 };
        self.row.extend_from_slice(&phase.withheld[length..]);
        if phase.exact.len() >= SHORT && self.lines.len() < LINES {
            self.lines.push(phase.exact);
        }
        self.line.clear();
        self.unsettled = true;
    }

    /// What is held of a row goes out, unless it shows what was typed.
    fn judge(&mut self, left: &mut Vec<u8>) {
        let bytes = std::mem::take(&mut self.row);
        if bytes.is_empty() {
            return;
        }
        let text = printed(&bytes);
        let line = Some(&self.line).filter(|line| line.len() >= SHORT);
        if !self.lines.iter().chain(line).chain(&self.words).any(|typed| holds(&text, typed)) {
            return left.extend_from_slice(&bytes);
        }
        left.extend_from_slice(LEFT_OUT);
        if bytes.ends_with(b"\n") {
            left.push(b'\n');
        }
    }
}

/// The beginning of the row in which keys are typed.
pub(super) fn prompt(shown: &[u8], all: bool) -> Vec<u8> {
    let begin = shown.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1).or(all.then_some(0));
    begin.map(|begin| row(&shown[begin..])).unwrap_or_default()
}

//! Looks for words in what a process printed: backwards through memory and the spill file.

use super::log::Output;
use crate::exec::{Hit, Way};
use crate::text::clean::clean;

/// Bytes that are looked at at a time.
const CHUNK: u64 = 256 * 1024;

/// The lines with some words, by number, and how far the output was looked through: asked again, only what was printed
/// since is.
#[derive(Debug)]
pub(crate) struct Hits {
    words: String,
    /// Oldest first.
    lines: Vec<i64>,
    /// The first line that was not whole when the others were looked at.
    counted: Option<i64>,
}

impl Hits {
    /// For words of which lower-case ones find both cases.
    pub(crate) fn new(words: &str) -> Self {
        Self { words: words.to_owned(), lines: Vec::new(), counted: None }
    }

    /// Whether they are those of these words.
    pub(crate) fn are_of(&self, words: &str) -> bool {
        self.words == words
    }

    /// Looks through what is new. `last` is the number of the line that is being printed.
    pub(crate) fn look(&mut self, out: &Output, last: i64) {
        if self.words.is_empty() {
            return;
        }
        let counted = self.counted.unwrap_or(i64::MIN);
        self.lines.retain(|line| *line < counted);
        let known = self.lines.len();
        for (above, line) in Backwards::new(out).enumerate() {
            let number = last - above as i64;
            if number < counted {
                break;
            }
            if has(&line, &self.words) {
                self.lines.push(number);
            }
        }
        self.lines[known..].reverse();
        self.counted = Some(last);
    }

    /// The next one seen from a line, or from below all of them: its number, and which of all it is.
    pub(crate) fn next(&self, from: Option<i64>, way: Way) -> Option<(i64, Hit)> {
        let at = match (way, from) {
            (Way::Up, None) => self.lines.len().checked_sub(1)?,
            (Way::Up, Some(from)) => self.lines.partition_point(|line| *line < from).checked_sub(1)?,
            (Way::Down, None) => return None,
            (Way::Down, Some(from)) => self.lines.partition_point(|line| *line <= from),
        };
        let line = *self.lines.get(at)?;
        Some((line, Hit { nth: at + 1, of: self.lines.len() }))
    }
}

fn has(line: &[u8], words: &str) -> bool {
    let text = clean(line);
    if words.chars().any(char::is_uppercase) { text.contains(words) } else { text.to_lowercase().contains(words) }
}

/// Lines from the last one on, without their ends.
struct Backwards<'a> {
    out: &'a Output,
    /// What was read and not given yet ends here; it begins at `at`.
    bytes: Vec<u8>,
    at: u64,
    done: bool,
}

impl<'a> Backwards<'a> {
    fn new(out: &'a Output) -> Self {
        Self { out, bytes: Vec::new(), at: out.pane_end(), done: false }
    }
}

impl Iterator for Backwards<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.done {
            return None;
        }
        loop {
            if let Some(feed) = self.bytes.iter().rposition(|byte| *byte == b'\n') {
                let line = self.bytes.split_off(feed + 1);
                self.bytes.pop();
                return Some(line);
            }
            let from = self.at.saturating_sub(CHUNK);
            let mut more = if self.at > 0 { self.out.pane_bytes(from, self.at) } else { Vec::new() };
            if more.is_empty() {
                // The beginning, or what neither memory nor disk has.
                self.done = true;
                return Some(std::mem::take(&mut self.bytes));
            }
            self.at -= more.len() as u64;
            more.append(&mut self.bytes);
            self.bytes = more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spill::Spill;
    use super::*;

    #[test]
    fn words_are_found_up_and_down_through_chunks() {
        let mut out = Output::new(Spill::new("/nowhere".into(), 0), false);
        for n in 0..60_000 {
            let mark = if n % 10_000 == 5 { " \x1b[31mMark\x1b[m" } else { "" };
            out.log.append(format!("line {n}{mark}\n").as_bytes());
        }
        // The last line is empty: the one above it is the first that was printed last.
        let hits = |words: &str| {
            let mut hits = Hits::new(words);
            hits.look(&out, 60_000);
            hits
        };
        let marks = hits("mark");
        let hit = |nth| Hit { nth, of: 6 };
        assert_eq!(marks.next(None, Way::Up), Some((50_005, hit(6))));
        assert_eq!(marks.next(Some(50_005), Way::Up), Some((40_005, hit(5))));
        assert_eq!(marks.next(Some(40_005), Way::Down), Some((50_005, hit(6))));
        assert_eq!(marks.next(Some(50_005), Way::Down), None);
        assert_eq!(marks.next(Some(5), Way::Up), None);
        assert_eq!(marks.next(None, Way::Down), None);
        for nothing in ["MARK", "line 17\u{1b}", ""] {
            assert_eq!(hits(nothing).next(None, Way::Up), None, "{nothing:?}");
        }
    }

    #[test]
    fn what_is_printed_later_is_counted_once() {
        let mut out = Output::new(Spill::new("/nowhere".into(), 0), false);
        out.log.append(b"one mark\nno\nma");
        let mut hits = Hits::new("mark");
        hits.look(&out, 2);
        assert_eq!(hits.lines, [0]);
        out.log.append(b"rk\nmark\n");
        hits.look(&out, 4);
        assert_eq!(hits.lines, [0, 2, 3]);
        hits.look(&out, 4);
        assert_eq!(hits.lines, [0, 2, 3]);
    }
}

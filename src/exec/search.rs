//! Looks for words in what a process printed: backwards through memory and the spill file.

use super::Way;
use super::log::Output;
use crate::text::clean::clean;

/// Bytes that are looked at at a time.
const CHUNK: u64 = 256 * 1024;

/// How many lines above the last one the next line with these words is, seen from the line that is `from` lines above it
/// (`None`: from below the last one). Lower-case words find both cases.
pub(crate) fn find(out: &Output, words: &str, from: Option<i64>, way: Way) -> Option<i64> {
    if words.is_empty() {
        return None;
    }
    let exact = words.chars().any(char::is_uppercase);
    let hit = |line: &[u8]| {
        let text = clean(line);
        if exact { text.contains(words) } else { text.to_lowercase().contains(words) }
    };
    let mut below = None;
    for (above, line) in Backwards::new(out).enumerate() {
        let above = above as i64;
        match way {
            Way::Up if from.is_none_or(|from| above > from) && hit(&line) => return Some(above),
            Way::Down if from.is_none_or(|from| above >= from) => break,
            Way::Down if hit(&line) => below = Some(above),
            Way::Up | Way::Down => {}
        }
    }
    below
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
        let above = |n: i64| 60_000 - n;
        let first = find(&out, "mark", None, Way::Up);
        assert_eq!(first, Some(above(50_005)));
        let second = find(&out, "mark", first, Way::Up);
        assert_eq!(second, Some(above(40_005)));
        assert_eq!(find(&out, "mark", second, Way::Down), first);
        assert_eq!(find(&out, "mark", first, Way::Down), None);
        assert_eq!(find(&out, "mark", Some(above(5)), Way::Up), None);
        assert_eq!(find(&out, "MARK", None, Way::Up), None, "capitals are exact");
        assert_eq!(find(&out, "line 0 ", None, Way::Up), None);
        assert_eq!(find(&out, "line 17\u{1b}", None, Way::Up), None);
        assert_eq!(find(&out, "", None, Way::Up), None);
    }
}

//! Reasoning that models write into their text between `<think>` tags, moved to where reasoning belongs, while it streams.

/// The tags, as models were trained to write them; matched without regard to case.
const TAGS: [&str; 5] = ["think", "thinking", "reasoning", "thought", "REASONING_SCRATCHPAD"];

/// Splits a stream of text. The result does not depend on how the stream is cut.
///
/// A tag opens only at the start of a line, so that prose about tags stays as it is; a closing tag that nothing opened
/// is dropped, since some chat templates open the block themselves.
#[derive(Debug)]
pub struct Scrub {
    /// The start of something that may become a tag.
    held: String,
    inside: Option<&'static str>,
    /// Only blanks so far on this line.
    line_blank: bool,
    after_backtick: bool,
    /// A block was taken out: blanks at the very start of the answer go with it.
    scrubbed: bool,
}

impl Default for Scrub {
    fn default() -> Self {
        Self { held: String::new(), inside: None, line_blank: true, after_backtick: false, scrubbed: false }
    }
}

enum Tag {
    Open(&'static str, usize),
    Close(&'static str, usize),
    Perhaps,
    No,
}

fn tag_at(rest: &str) -> Tag {
    let (closing, body_at) = if rest.starts_with("</") { (true, 2) } else { (false, 1) };
    let body = rest.as_bytes().get(body_at..).unwrap_or_default();
    for name in TAGS {
        let known = body.len().min(name.len());
        let same = body.iter().zip(name.as_bytes()).all(|(have, want)| have.eq_ignore_ascii_case(want));
        if !same {
            continue;
        }
        match body.get(name.len()) {
            Some(b'>') => {
                let length = body_at + name.len() + 1;
                return if closing { Tag::Close(name, length) } else { Tag::Open(name, length) };
            }
            None if known == body.len() => return Tag::Perhaps,
            _ => {}
        }
    }
    Tag::No
}

impl Scrub {
    /// Takes the next piece of text and appends its parts.
    pub fn push(&mut self, piece: &str, text: &mut String, reasoning: &mut String) {
        if self.held.is_empty() {
            self.run(piece, text, reasoning);
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.push_str(piece);
            self.run(&joined, text, reasoning);
        }
    }

    /// The stream has ended: what was held back is what it looks like.
    pub fn finish(&mut self, text: &mut String, reasoning: &mut String) {
        let held = std::mem::take(&mut self.held);
        self.copy(&held, text, reasoning);
    }

    fn run(&mut self, mut rest: &str, text: &mut String, reasoning: &mut String) {
        while let Some(at) = rest.find('<') {
            let (before, from) = rest.split_at(at);
            self.copy(before, text, reasoning);
            let skip = match (tag_at(from), self.inside) {
                (Tag::Perhaps, _) => {
                    self.held.push_str(from);
                    return;
                }
                (Tag::Open(name, length), None) if self.line_blank => {
                    self.inside = Some(name);
                    length
                }
                (Tag::Close(name, length), Some(open)) if name == open => {
                    self.inside = None;
                    self.scrubbed = true;
                    length
                }
                (Tag::Close(_, length), None) if !self.after_backtick => length,
                _ => {
                    self.copy("<", text, reasoning);
                    1
                }
            };
            rest = from.get(skip..).unwrap_or_default();
        }
        self.copy(rest, text, reasoning);
    }

    fn copy(&mut self, piece: &str, text: &mut String, reasoning: &mut String) {
        if self.inside.is_some() {
            reasoning.push_str(piece);
            return;
        }
        let piece = if self.scrubbed && text.is_empty() { piece.trim_start() } else { piece };
        let Some(last) = piece.chars().next_back() else { return };
        self.after_backtick = last == '`';
        match piece.rfind('\n') {
            Some(at) => self.line_blank = piece.get(at..).is_some_and(|line| line.trim().is_empty()),
            None => self.line_blank &= piece.trim().is_empty(),
        }
        text.push_str(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrub(pieces: &[&str]) -> (String, String) {
        let (mut text, mut reasoning) = (String::new(), String::new());
        let mut scrub = Scrub::default();
        for piece in pieces {
            scrub.push(piece, &mut text, &mut reasoning);
        }
        scrub.finish(&mut text, &mut reasoning);
        (text, reasoning)
    }

    #[derive(serde::Deserialize)]
    struct Case {
        text: String,
        stream_charwise: String,
    }

    #[test]
    fn cases_hold_character_by_character_and_whole() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/reasoning-scrub.jsonl"));
        for line in cases.lines() {
            let case: Case = serde_json::from_str(line).unwrap();
            let letters: Vec<String> = case.text.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(scrub(&letters).0, case.stream_charwise, "{:?}", case.text);
            assert_eq!(scrub(&[&case.text]).0, case.stream_charwise, "whole {:?}", case.text);
        }
    }

    #[test]
    fn reasoning_goes_where_it_belongs() {
        let table = [
            (vec!["<think>a", " < b</thi", "nk>\n\nanswer"], "answer", "a < b"),
            (vec!["<thinking>a</think>b</thinking>c"], "c", "a</think>b"),
            (vec!["<Think>never closed"], "", "never closed"),
            (vec!["  <think>x</think>y"], "  y", "x"),
            (vec!["a <", "b> c <", "th"], "a <b> c <th", ""),
            (vec!["close with `</think>` only"], "close with `</think>` only", ""),
            (vec!["<thinker>no</thinker>"], "<thinker>no</thinker>", ""),
        ];
        for (pieces, text, reasoning) in table {
            assert_eq!(scrub(&pieces), (text.to_owned(), reasoning.to_owned()), "{pieces:?}");
        }
    }
}

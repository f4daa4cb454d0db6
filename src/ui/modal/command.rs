//! A command to be approved: nothing in it hides, and each class of reason stands once, under all the words it is about.

use crate::policy::{Why, label};
use crate::text::visible::{Visible, visible};
use crate::text::width::width;
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Span, format};
use std::ops::Range;

/// Cells that a reason needs beside its hook; with less it stands at the left, under a number.
const BESIDE: usize = 24;
/// Marks of the classes where they are numbered.
const NUMBERS: &[u8] = b"123456789abcdefghijklmnopqrstuvwxyz";

/// A command with its reasons, laid out.
#[derive(Debug, Default)]
pub struct Explained {
    pub rows: Vec<Row>,
    /// Rows that say why it is asked about.
    pub named: Vec<usize>,
    /// First row of the text of each wrapped row, and one past its last reason: what may be folded is plain text.
    blocks: Vec<(usize, usize)>,
}

impl Explained {
    /// Leaves at most about `most` rows: the head, the tail, and every row with a reason. What is left out is counted, and
    /// `key` says how it comes back. Whether anything is left out.
    pub fn fold(&mut self, most: usize, key: &str) -> bool {
        let plain = |block: &(usize, usize)| block.1 - block.0 == 1;
        if self.rows.len() <= most {
            return false;
        }
        let (head, tail) = (most * 2 / 3, most / 3);
        let count = self.blocks.len();
        let mut rows = Vec::new();
        let mut named = Vec::new();
        let mut at = 0;
        let mut folded = false;
        while at < count {
            let hidden = self.blocks[at..].iter().take_while(|block| plain(block)).count();
            let from = head.saturating_sub(at).min(hidden);
            let until = count.saturating_sub(tail).saturating_sub(at).min(hidden);
            // One row that is left out takes as much room as saying so.
            let (from, until) = if until > from + 1 { (from, until) } else { (hidden.max(1), hidden.max(1)) };
            for block in self.blocks.iter().skip(at).take(from) {
                self.keep(*block, &mut rows, &mut named);
            }
            if until > from {
                let more = format::plural((until - from) as u64, "more row", "more rows");
                let text = if key.is_empty() { format!("⋯ {more}") } else { format!("⋯ {more}: {key}") };
                rows.push(Row::ornament(Line::plain(text, Role::Careful)));
                folded = true;
            }
            at += until;
        }
        // Reasons that are about no words stand below all blocks.
        let below = self.blocks.last().map_or(0, |block| block.1);
        self.keep((below, self.rows.len()), &mut rows, &mut named);
        (self.rows, self.named) = (rows, named);
        self.blocks.clear();
        folded
    }

    fn keep(&self, (from, to): (usize, usize), rows: &mut Vec<Row>, named: &mut Vec<usize>) {
        for at in from..to {
            if self.named.contains(&at) {
                named.push(rows.len());
            }
            rows.extend(self.rows.get(at).cloned());
        }
    }
}

/// Reasons of one class.
struct Class {
    words: String,
    /// Where its words are in the text as it is shown, in order and apart.
    spans: Vec<Range<usize>>,
}

/// Lays a command out with its reasons.
pub fn explained(line: &str, reasons: &[Why], room: usize) -> Explained {
    let shown = visible(line);
    let classes = classes(reasons, &shown);
    let numbered = is_numbered(&classes, &shown, room);
    let mut out = Explained::default();
    let mut start = 0;
    for text in shown.text.split('\n') {
        let spans = styled(text, start, &shown.marks, &classes);
        let mut wrapped = Vec::new();
        wrap_into(&mut wrapped, &spans, Ground::Base, &Wrap { width: room, ..Wrap::default() });
        for row in wrapped {
            let bytes = start + row.source.start..start + row.source.end;
            let first = out.rows.len();
            out.rows.push(row);
            under(&mut out, &bytes, &shown, &classes, numbered, room);
            out.blocks.push((first, out.rows.len()));
        }
        start += text.len() + 1;
    }
    for class in classes.iter().filter(|class| class.spans.is_empty()) {
        note(&mut out, "· ", &class.words, room);
    }
    out
}

/// Rows of the command with its reasons.
pub fn rows(line: &str, reasons: &[Why], room: usize) -> Vec<Row> {
    explained(line, reasons, room).rows
}

/// The reasons by class, in the order of their first words.
fn classes(reasons: &[Why], shown: &Visible) -> Vec<Class> {
    type Explained<'t> = (String, Vec<&'t str>, Vec<Range<usize>>);
    let mut all: Vec<Explained<'_>> = Vec::new();
    for why in reasons {
        let name = label(&why.effect);
        let at = all.iter().position(|(known, ..)| known == name).unwrap_or_else(|| {
            all.push((name.to_owned(), Vec::new(), Vec::new()));
            all.len() - 1
        });
        let Some((_, texts, spans)) = all.get_mut(at) else { continue };
        let said = why.text.as_str();
        if !said.is_empty() && said != why.effect && !texts.contains(&said) {
            texts.push(said);
        }
        let span = shown.at(why.span.start)..shown.at(why.span.end);
        if !span.is_empty() && !spans.contains(&span) {
            spans.push(span);
        }
    }
    let mut classes: Vec<Class> = all
        .into_iter()
        .map(|(name, texts, mut spans)| {
            spans.sort_by_key(|span| (span.start, span.end));
            let words = if texts.is_empty() { name } else { format!("{name}: {}", texts.join("; ")) };
            Class { words, spans }
        })
        .collect();
    classes.sort_by_key(|class| class.spans.first().map_or(usize::MAX, |span| span.start));
    classes
}

/// Whether hooks would not tell which words a class is about: it has several places, or no room below its own.
fn is_numbered(classes: &[Class], shown: &Visible, room: usize) -> bool {
    let placed = classes.iter().filter(|class| !class.spans.is_empty());
    let hard = |class: &Class| {
        let Some(first) = class.spans.first() else { return false };
        let before = shown.text.get(..first.start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        class.spans.len() > 1 || width(line) % room.max(1) + 3 + width(&class.words).min(BESIDE) > room
    };
    placed.clone().count() > 1 && placed.clone().any(hard)
}

/// The line with its hidden characters and the words with reasons set off.
fn styled(text: &str, start: usize, marks: &[Range<usize>], classes: &[Class]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (offset, character) in text.char_indices() {
        let here = start + offset;
        let role = if marks.iter().any(|mark| mark.contains(&here)) {
            Role::Bad
        } else if classes.iter().flat_map(|class| &class.spans).any(|span| span.contains(&here)) {
            Role::Careful
        } else {
            Role::Strong
        };
        match spans.last_mut() {
            Some(last) if last.role == role => last.text.push(character),
            _ => spans.push(Span::new(character.to_string(), role)),
        }
    }
    spans
}

/// What is drawn under one row: lines under the words of each class, and the classes whose first words are in it.
fn under(out: &mut Explained, bytes: &Range<usize>, shown: &Visible, classes: &[Class], numbered: bool, room: usize) {
    let column = |at: usize| width(shown.text.get(bytes.start..at.clamp(bytes.start, bytes.end)).unwrap_or_default());
    let mut bar: Vec<char> = Vec::new();
    let mut begins: Vec<(usize, usize)> = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        for (nth, span) in class.spans.iter().enumerate() {
            if span.start >= bytes.end || span.end <= bytes.start {
                continue;
            }
            let from = column(span.start);
            let to = column(span.end).max(from + 1).min(room.max(from + 1));
            bar.resize(bar.len().max(to), ' ');
            bar[from..to].iter_mut().filter(|cell| **cell == ' ').for_each(|cell| *cell = '─');
            if numbered && span.start >= bytes.start {
                bar[from] = NUMBERS.get(index).map_or('+', |number| char::from(*number));
            }
            if nth == 0 && span.start >= bytes.start {
                begins.push((from, index));
            }
        }
    }
    if bar.is_empty() {
        return;
    }
    out.named.push(out.rows.len());
    out.rows.push(Row::ornament(Line::plain(bar.into_iter().collect::<String>(), Role::Careful)));
    if numbered {
        for (_, index) in begins {
            let number = NUMBERS.get(index).map_or('+', |number| char::from(*number));
            note(out, &format!("{number} "), &classes[index].words, room);
        }
    } else {
        hang(out, &mut begins, classes, room);
    }
}

/// Reasons from right to left, each hanging from the start of its words.
fn hang(out: &mut Explained, begins: &mut [(usize, usize)], classes: &[Class], room: usize) {
    begins.sort_unstable();
    for (position, (from, index)) in begins.iter().enumerate().rev() {
        // Lines down to the reasons that are still to come.
        let mut lead = String::new();
        for (column, _) in begins.iter().take(position) {
            let have = width(&lead);
            if *column >= have && column < from {
                lead.extend(std::iter::repeat_n(' ', column - have));
                lead.push('│');
            }
        }
        let have = width(&lead);
        lead.extend(std::iter::repeat_n(' ', from.saturating_sub(have)));
        lead.push_str("└─ ");
        let words = &classes[*index].words;
        // The only one far to the right begins at the left when it would not fit.
        let fits = width(&lead) + width(words).min(BESIDE) <= room;
        note(out, if fits { &lead } else { "└─ " }, words, room);
    }
}

/// What somebody says, dimmed and with its hidden characters shown.
pub fn said(text: &str, room: usize) -> Vec<Row> {
    let mut out = Vec::new();
    let shown = visible(text).text.replace('\n', " ");
    wrap_into(&mut out, &[Span::new(shown, Role::Dim)], Ground::Base, &Wrap { width: room, ..Wrap::default() });
    out
}

fn note(out: &mut Explained, lead: &str, text: &str, room: usize) {
    let first = [Span::new(lead, Role::Careful)];
    let rest = [Span::new(" ".repeat(width(lead)), Role::Text)];
    let how = Wrap { width: room, first: &first, rest: &rest, verbatim: false, ..Wrap::default() };
    let shown = visible(text).text.replace('\n', " ");
    let from = out.rows.len();
    wrap_into(&mut out.rows, &[Span::new(shown, Role::Text)], Ground::Base, &how);
    out.named.extend(from..out.rows.len());
}

#[cfg(test)]
mod tests;

//! What the keys of vi change: operators, single commands, insert mode and its repetition. Pure.

use super::machine::{Change, MAX_COUNT, Memory, Mode, Register, State, Took, Typing, letter};
use super::text::Text;
use crate::config::keymap::Key;

impl State {
    /// `d`, `c` or `y` over a range; `lines` widens it to whole lines.
    pub(super) fn operate(
        &mut self,
        memory: &mut Memory,
        text: &mut Text,
        operator: char,
        (from, to): (usize, usize),
        lines: bool,
        single: bool,
    ) -> Took {
        let (from, to) = if lines { (text.line_start(from), text.line_end(to)) } else { (from, to) };
        let to = to.min(text.chars.len());
        if from == to && !lines && operator != 'c' {
            self.mode = Mode::Normal;
            self.done();
            return Took::Yes;
        }
        memory.register = Register { text: text.slice(from, to), lines };
        if operator == 'y' {
            if !(lines && text.line_start(text.at) == from) {
                text.at = from;
            }
            self.mode = Mode::Normal;
            self.done();
            return Took::Yes;
        }
        let before = text.clone();
        text.at = from;
        if operator == 'c' {
            text.replace(from, to, "");
            let keys = std::mem::take(&mut self.keys);
            self.begin(before, text, 1, keys);
            return Took::Yes;
        }
        self.push_undo(before);
        if lines && !single {
            // the line goes with its break: the one after it, on the last line the one before
            let (start, end) = if to < text.chars.len() { (from, to + 1) } else { (from.saturating_sub(1), to) };
            text.replace(start, end, "");
            text.at = text.first_letter(start.min(text.chars.len()));
        } else {
            text.replace(from, to, "");
        }
        self.changed(memory);
        self.mode = Mode::Normal;
        self.done();
        Took::Yes
    }

    pub(super) fn visual_command(&mut self, memory: &mut Memory, text: &mut Text, c: char, single: bool) -> Took {
        let lines = self.mode == Mode::VisualLine;
        let Some((from, to)) = self.marked(text) else { return Took::Yes };
        // the keys of a marked change would mean something else the next time
        self.keys.clear();
        match c {
            'd' | 'x' | 'X' | 'D' => return self.operate(memory, text, 'd', (from, to), lines, single),
            'c' | 's' | 'S' | 'C' => return self.operate(memory, text, 'c', (from, to), lines, single),
            'y' | 'Y' => {
                self.operate(memory, text, 'y', (from, to), lines, single);
                text.at = from;
            }
            'p' | 'P' => {
                self.note(text);
                let put = std::mem::replace(&mut memory.register, Register { text: text.slice(from, to), lines });
                text.replace(from, to, &put.text);
                text.at = from + put.text.chars().count().saturating_sub(1);
                self.mode = Mode::Normal;
            }
            '~' | 'u' | 'U' => {
                self.note(text);
                let turned: String = text.slice(from, to).chars().flat_map(|old| case(old, c)).collect();
                text.replace(from, to, &turned);
                text.at = from;
                self.mode = Mode::Normal;
            }
            'J' => {
                let breaks = text.slice(from, to).matches('\n').count();
                text.at = from;
                self.note(text);
                join(text, breaks.max(1));
                self.mode = Mode::Normal;
            }
            'o' => std::mem::swap(&mut self.anchor, &mut text.at),
            'v' => self.mode = if lines { Mode::Visual } else { Mode::Normal },
            'V' => self.mode = if lines { Mode::Normal } else { Mode::VisualLine },
            _ => {
                self.done();
                return Took::Unknown(c);
            }
        }
        self.done();
        Took::Yes
    }

    pub(super) fn normal_command(&mut self, memory: &mut Memory, text: &mut Text, c: char, single: bool) -> Took {
        let count = self.counted();
        let (start, end) = (text.line_start(text.at), text.line_end(text.at));
        let right = (text.at + count).min(end);
        match c {
            'd' | 'c' | 'y' => {
                self.operator = Some((c, self.count.take()));
                return Took::Yes;
            }
            'x' => return self.operate(memory, text, 'd', (text.at, right), false, single),
            'X' => {
                let left = text.at.saturating_sub(count).max(start);
                return self.operate(memory, text, 'd', (left, text.at), false, single);
            }
            's' => return self.operate(memory, text, 'c', (text.at, right), false, single),
            'D' => return self.operate(memory, text, 'd', (text.at, end), false, single),
            'C' => return self.operate(memory, text, 'c', (text.at, end), false, single),
            'S' | 'Y' => {
                let operator = if c == 'S' { 'c' } else { 'y' };
                let last = (1..count).fold(text.at, |at, _| (text.line_end(at) + 1).min(text.chars.len()));
                return self.operate(memory, text, operator, (text.at, last), true, single);
            }
            'i' | 'I' | 'a' | 'A' | 'o' | 'O' => return self.enter_insert(text, c, count, single),
            'p' | 'P' => self.put(memory, text, c == 'p', count, single),
            'u' => {
                for _ in 0..count {
                    let Some(before) = self.undo.pop() else { break };
                    self.redo.push(std::mem::replace(text, before));
                }
            }
            '~' => {
                self.note(text);
                let turned: String = text.slice(text.at, right).chars().flat_map(|old| case(old, '~')).collect();
                text.replace(text.at, right, &turned);
                text.at = right;
                self.changed(memory);
            }
            'J' => {
                self.note(text);
                join(text, count.max(2) - 1);
                self.changed(memory);
            }
            '.' => {
                self.repeat(memory, text, single);
                return Took::Yes;
            }
            'v' | 'V' => {
                self.mode = if c == 'v' { Mode::Visual } else { Mode::VisualLine };
                self.anchor = text.at;
            }
            _ => {
                self.done();
                return Took::Unknown(c);
            }
        }
        self.done();
        Took::Yes
    }

    fn enter_insert(&mut self, text: &mut Text, c: char, count: usize, single: bool) -> Took {
        let before = text.clone();
        let keys = std::mem::take(&mut self.keys);
        let (start, end) = (text.line_start(text.at), text.line_end(text.at));
        match c {
            'I' => text.at = text.first_letter(start),
            'a' => text.at = (text.at + 1).min(end),
            'A' => text.at = end,
            'o' | 'O' if single => text.at = end,
            'o' => {
                text.replace(end, end, "\n");
                text.at = end + 1;
            }
            'O' => {
                text.replace(start, start, "\n");
                text.at = start;
            }
            _ => {}
        }
        self.begin(before, text, count, keys);
        Took::Yes
    }

    pub(super) fn begin(&mut self, before: Text, text: &Text, count: usize, keys: Vec<Key>) {
        self.mode = Mode::Insert;
        self.done();
        self.column = None;
        self.typing = Some(Typing { before, from: text.clone(), count, keys });
    }

    /// Leaves insert mode: what was typed is repeated as often as was asked for, and kept for `.`.
    pub(super) fn leave_insert(&mut self, memory: &mut Memory, text: &mut Text, single: bool) {
        if let Some(typing) = self.typing.take() {
            let typed = typed(&typing.from, text);
            let opens = typing.keys.last().and_then(|key| letter(*key)).is_some_and(|c| matches!(c, 'o' | 'O'));
            for _ in 1..typing.count.min(MAX_COUNT / typed.chars().count().max(1)) {
                let piece = if opens && !single { format!("\n{typed}") } else { typed.clone() };
                text.replace(text.at, text.at, &piece);
                text.at += piece.chars().count();
            }
            if typing.before.chars != text.chars {
                self.push_undo(typing.before);
                if !typing.keys.is_empty() {
                    memory.change = Some(Change { keys: typing.keys, typed });
                }
            }
        }
        self.mode = Mode::Normal;
        if text.at > text.line_start(text.at) {
            text.at -= 1;
        }
    }

    /// `.`: the last change again, with a new count where one was typed.
    fn repeat(&mut self, memory: &mut Memory, text: &mut Text, single: bool) {
        let count = self.count;
        self.done();
        let Some(change) = memory.change.clone() else { return };
        let digits = change.keys.iter().take_while(|key| letter(**key).is_some_and(|c| c.is_ascii_digit())).count();
        let skip = if count.is_some() { digits } else { 0 };
        self.count = count;
        for key in change.keys.iter().skip(skip) {
            if let Some(c) = letter(*key) {
                self.keys.push(*key);
                self.command(memory, text, c, single);
                if self.mode != Mode::Insert {
                    text.settle();
                }
            }
        }
        if self.mode == Mode::Insert {
            text.replace(text.at, text.at, &change.typed);
            text.at += change.typed.chars().count();
            self.leave_insert(memory, text, single);
        }
        memory.change = Some(change);
        self.done();
    }

    fn put(&mut self, memory: &mut Memory, text: &mut Text, after: bool, count: usize, single: bool) {
        let Register { text: piece, lines } = &memory.register;
        if piece.is_empty() && !lines {
            return;
        }
        let count = count.min(MAX_COUNT / piece.chars().count().max(1)).max(1);
        self.note(text);
        let (start, end) = (text.line_start(text.at), text.line_end(text.at));
        let piece = if single { piece.replace('\n', " ") } else { piece.clone() };
        if *lines && !single {
            let block = vec![piece; count].join("\n");
            let at = if after { end } else { start };
            let block = if after { format!("\n{block}") } else { format!("{block}\n") };
            text.replace(at, at, &block);
            text.at = text.first_letter(if after { at + 1 } else { at });
        } else {
            let at = if after { (text.at + 1).min(end) } else { text.at };
            let block = piece.repeat(count);
            text.replace(at, at, &block);
            text.at = (at + block.chars().count()).saturating_sub(1);
        }
        self.changed(memory);
    }
}

fn case(c: char, how: char) -> Vec<char> {
    match how {
        'u' => c.to_lowercase().collect(),
        'U' => c.to_uppercase().collect(),
        _ if c.is_lowercase() => c.to_uppercase().collect(),
        _ => c.to_lowercase().collect(),
    }
}

/// What stands in a text now that did not before.
fn typed(before: &Text, now: &Text) -> String {
    let same = before.chars.iter().zip(&now.chars).take_while(|(a, b)| a == b).count().min(before.at);
    let most = before.chars.len().min(now.chars.len()) - same;
    let tail = before.chars.iter().rev().zip(now.chars.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    now.slice(same, now.chars.len() - tail)
}

/// Joins the line with those below it: a break and the blanks after it become one space.
fn join(text: &mut Text, times: usize) {
    for _ in 0..times {
        let end = text.line_end(text.at);
        if end == text.chars.len() {
            break;
        }
        let next = text.first_letter(end + 1);
        let bare = end == text.line_start(end) || text.is_blank(end - 1);
        let space = if bare || next == text.line_end(next) || text.chars[next] == ')' { "" } else { " " };
        text.replace(end, next, space);
        text.at = end;
    }
}

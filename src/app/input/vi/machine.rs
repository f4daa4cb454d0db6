//! The state machine of vi keys over one text: modes, counts, operators, registers, undo, repeat. Pure.

use super::motion::{self, Reach, Target};
use super::text::Text;
use crate::config::keymap::{Code, Key};

/// Changes that `u` can take back.
const UNDO_STEPS: usize = 200;
/// A larger count is a slip of the finger.
pub(super) const MAX_COUNT: usize = 9999;

/// What keys mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Insert,
    Normal,
    Visual,
    VisualLine,
}

/// What was deleted or yanked last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Register {
    pub text: String,
    /// Whole lines.
    pub lines: bool,
}

/// What all fields share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    pub register: Register,
    /// The last `f`, `F`, `t` or `T` and its letter.
    pub(super) find: Option<(char, char)>,
    /// The last change, for `.`.
    pub(super) change: Option<Change>,
}

/// A change that can be repeated: the keys that began it and what was typed then.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) keys: Vec<Key>,
    pub(super) typed: String,
}

/// What the next key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The letter of a search.
    Find(char),
    /// The letter to put in place.
    Replace,
    /// The second `g`.
    Go,
    /// The name of a text object; inner or not.
    Object(bool),
}

/// What came of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    /// Not a key of vi here.
    No,
    Yes,
    /// A plain letter that means nothing.
    Unknown(char),
    /// A step up from the first line, down from the last one.
    Above,
    Below,
}

/// Insert mode since it began.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Typing {
    /// The text before the whole change.
    pub(super) before: Text,
    /// The text when typing began.
    pub(super) from: Text,
    pub(super) count: usize,
    pub(super) keys: Vec<Key>,
}

/// The state of one field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub mode: Mode,
    pub(super) count: Option<usize>,
    /// An operator and the count before it.
    pub(super) operator: Option<(char, Option<usize>)>,
    pub(super) wait: Option<Wait>,
    /// The keys of the command so far.
    pub(super) keys: Vec<Key>,
    /// The other end of what is marked.
    pub(super) anchor: usize,
    /// The column that `j` and `k` keep to.
    pub(super) column: Option<usize>,
    pub(super) undo: Vec<Text>,
    pub(super) redo: Vec<Text>,
    pub(super) typing: Option<Typing>,
}

impl State {
    /// Insert mode, and nothing needs to be noted: ordinary keys are none of ours.
    pub fn is_typing(&self) -> bool {
        self.mode == Mode::Insert && self.typing.is_some()
    }

    /// A command has begun and is not whole.
    pub fn is_pending(&self) -> bool {
        self.count.is_some() || self.operator.is_some() || self.wait.is_some()
    }

    /// The begun command as typed.
    pub fn pending(&self) -> String {
        self.keys.iter().filter_map(|key| letter(*key)).collect()
    }

    /// The marked range, its end exclusive.
    pub fn marked(&self, text: &Text) -> Option<(usize, usize)> {
        let (from, to) = (self.anchor.min(text.at), self.anchor.max(text.at));
        match self.mode {
            Mode::Visual => Some((from, (to + 1).min(text.chars.len()))),
            Mode::VisualLine => Some((text.line_start(from), text.line_end(to))),
            Mode::Insert | Mode::Normal => None,
        }
    }

    /// Applies a key. `single`: the text has one line only.
    pub fn key(&mut self, memory: &mut Memory, text: &mut Text, key: Key, single: bool) -> Took {
        if self.mode == Mode::Insert {
            return self.insert_key(memory, text, key, single);
        }
        text.settle();
        let Some(c) = letter(key) else { return self.other_key(memory, text, key, single) };
        self.keys.push(key);
        let took = self.command(memory, text, c, single);
        if self.mode != Mode::Insert {
            text.settle();
        }
        took
    }

    pub(super) fn insert_key(&mut self, memory: &mut Memory, text: &mut Text, key: Key, single: bool) -> Took {
        if key.code != Code::Esc || key.ctrl || key.alt {
            if self.typing.is_none() {
                self.begin(text.clone(), text, 1, Vec::new());
            }
            return Took::No;
        }
        self.leave_insert(memory, text, single);
        Took::Yes
    }

    /// Keys that type nothing: Esc, arrows, redo.
    fn other_key(&mut self, memory: &mut Memory, text: &mut Text, key: Key, single: bool) -> Took {
        let redo = key.ctrl && !key.alt && key.code == Code::Char('r');
        if key.code == Code::Esc || (self.is_pending() && matches!(key.code, Code::Enter | Code::Tab)) {
            let had = self.is_pending() || self.mode != Mode::Normal;
            self.mode = Mode::Normal;
            self.done();
            return if had { Took::Yes } else { Took::No };
        }
        if redo {
            let count = self.count.unwrap_or(1);
            self.done();
            for _ in 0..count {
                let Some(after) = self.redo.pop() else { break };
                self.undo.push(std::mem::replace(text, after));
            }
            text.settle();
            return Took::Yes;
        }
        let plain = !key.ctrl && !key.alt;
        let same = match key.code {
            Code::Left | Code::Backspace if plain => 'h',
            Code::Right if plain => 'l',
            Code::Up if plain => 'k',
            Code::Down if plain => 'j',
            Code::Home if plain => '0',
            Code::End if plain => '$',
            Code::Delete if plain => 'x',
            _ => {
                self.done();
                return Took::No;
            }
        };
        let took = self.command(memory, text, same, single);
        text.settle();
        took
    }

    pub(super) fn done(&mut self) {
        self.count = None;
        self.operator = None;
        self.wait = None;
        self.keys.clear();
    }

    pub(super) fn command(&mut self, memory: &mut Memory, text: &mut Text, c: char, single: bool) -> Took {
        if let Some(wait) = self.wait.take() {
            return self.waited(memory, text, wait, c, single);
        }
        if let Some(digit) = c.to_digit(10).filter(|digit| *digit > 0 || self.count.is_some()) {
            self.count = Some((self.count.unwrap_or(0) * 10 + digit as usize).min(MAX_COUNT));
            return Took::Yes;
        }
        let visual = self.mode != Mode::Normal;
        let objects = visual || self.operator.is_some();
        self.wait = match c {
            'f' | 'F' | 't' | 'T' => Some(Wait::Find(c)),
            'g' => Some(Wait::Go),
            'r' if self.operator.is_none() => Some(Wait::Replace),
            'i' | 'a' if objects => Some(Wait::Object(c == 'i')),
            _ => None,
        };
        if self.wait.is_some() {
            return Took::Yes;
        }
        if let (';' | ',', Some((kind, letter))) = (c, memory.find) {
            let kind = if c == ';' { kind } else { other_way(kind) };
            let target = motion::find(text, kind, letter, self.counted(), true);
            return self.go(memory, text, target, single);
        }
        if let Some((operator, _)) = self.operator
            && operator == c
        {
            let (from, count) = (text.at, self.counted());
            let last = (1..count).fold(from, |at, _| (text.line_end(at) + 1).min(text.chars.len()));
            return self.operate(memory, text, operator, (from, last), true, single);
        }
        let column = *self.column.get_or_insert(text.at - text.line_start(text.at));
        if !matches!(c, 'j' | 'k') {
            self.column = (c == '$').then_some(usize::MAX / 2);
        }
        if let Some(target) = self.word_of_change(text, c) {
            return self.go(memory, text, Some(target), single);
        }
        let c = if c == ' ' { 'l' } else { c };
        let counted = self.count.is_some() || self.operator.is_some_and(|(_, count)| count.is_some());
        let target = motion::simple(text, c, self.counted(), counted, column, self.operator.is_some());
        match (target, c) {
            (Some(_), _) => self.go(memory, text, target, single),
            (None, 'j' | 'k') => {
                let free = self.operator.is_none() && !visual;
                self.done();
                match c {
                    _ if !free => Took::Yes,
                    'k' => Took::Above,
                    _ => Took::Below,
                }
            }
            (None, _) if self.operator.is_some() => {
                self.done();
                Took::Yes
            }
            (None, _) if visual => self.visual_command(memory, text, c, single),
            (None, _) => self.normal_command(memory, text, c, single),
        }
    }

    /// The typed counts before and after an operator, multiplied.
    pub(super) fn counted(&self) -> usize {
        let before = self.operator.and_then(|(_, count)| count).unwrap_or(1);
        (before * self.count.unwrap_or(1)).min(MAX_COUNT)
    }

    /// `cw` on a word changes to its end and leaves the blanks after it.
    fn word_of_change(&self, text: &Text, c: char) -> Option<Target> {
        if !matches!((self.operator, c), (Some(('c', _)), 'w' | 'W')) || text.is_blank(text.at) {
            return None;
        }
        let big = c == 'W';
        let to = (1..self.counted()).fold(text.run_end(text.at, big), |at, _| text.word_end(at, big));
        Some(Target { to, reach: Reach::With })
    }

    fn waited(&mut self, memory: &mut Memory, text: &mut Text, wait: Wait, c: char, single: bool) -> Took {
        match wait {
            Wait::Find(kind) => {
                memory.find = Some((kind, c));
                let target = motion::find(text, kind, c, self.counted(), false);
                self.go(memory, text, target, single)
            }
            Wait::Go if c == 'g' => {
                let target = motion::to_line(text, self.counted() - 1);
                self.go(memory, text, Some(target), single)
            }
            Wait::Go => {
                self.done();
                Took::Yes
            }
            Wait::Replace => {
                let (from, to) = match self.marked(text) {
                    Some(range) => range,
                    None => (text.at, text.at + self.counted()),
                };
                if to <= text.line_end(from).max(self.marked(text).map_or(0, |range| range.1)) && from < to {
                    self.note(text);
                    let with: String =
                        text.slice(from, to).chars().map(|old| if old == '\n' { '\n' } else { c }).collect();
                    text.replace(from, to, &with);
                    text.at = if self.mode == Mode::Normal { to - 1 } else { from };
                    self.changed(memory);
                }
                self.mode = Mode::Normal;
                self.done();
                Took::Yes
            }
            Wait::Object(inner) => {
                match (motion::object(text, c, inner), self.operator) {
                    (Some((from, to)), Some((operator, _))) => {
                        return self.operate(memory, text, operator, (from, to), false, single);
                    }
                    (Some((from, to)), None) if to > from => {
                        self.anchor = from;
                        text.at = to - 1;
                    }
                    (Some(_) | None, _) => {}
                }
                self.done();
                Took::Yes
            }
        }
    }

    /// Moves, or lets the operator take the way.
    pub(super) fn go(&mut self, memory: &mut Memory, text: &mut Text, target: Option<Target>, single: bool) -> Took {
        let (Some(target), operator) = (target, self.operator) else {
            self.done();
            return Took::Yes;
        };
        let Some((operator, _)) = operator else {
            text.at = target.to;
            self.done();
            return Took::Yes;
        };
        let (from, to) = (text.at.min(target.to), text.at.max(target.to));
        let to = if target.reach == Reach::With { to + 1 } else { to };
        self.operate(memory, text, operator, (from, to), target.reach == Reach::Lines, single)
    }

    /// Keeps the text as it is for `u`.
    pub(super) fn note(&mut self, text: &Text) {
        self.push_undo(text.clone());
    }

    pub(super) fn push_undo(&mut self, before: Text) {
        self.redo.clear();
        self.undo.push(before);
        if self.undo.len() > UNDO_STEPS {
            self.undo.remove(0);
        }
    }

    /// The command was a change, so that `.` repeats it.
    pub(super) fn changed(&mut self, memory: &mut Memory) {
        if !self.keys.is_empty() {
            memory.change = Some(Change { keys: std::mem::take(&mut self.keys), typed: String::new() });
        }
    }
}

/// The letter that a key types.
pub(super) fn letter(key: Key) -> Option<char> {
    match key.code {
        Code::Char(c) if !key.ctrl && !key.alt => Some(c),
        _ => None,
    }
}

fn other_way(kind: char) -> char {
    if kind.is_uppercase() { kind.to_ascii_lowercase() } else { kind.to_ascii_uppercase() }
}

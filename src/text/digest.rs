//! What a model reads of a long text: its beginning, its end, and the lines in between that look like errors, within a number
//! of tokens. Where all of it is, is said by whoever keeps it.

pub mod alarm;
mod fold;

use super::tokens;
use alarm::Alarm;
use fold::{Folded, Group};
use std::fmt::Write as _;

/// Of what is shown, the part from the beginning; the end of an output says more.
const HEAD_PERCENT: usize = 40;
/// Of all tokens, the part that lines from the middle may take.
const ALARM_PERCENT: usize = 25;
/// Lines from the middle, and characters of each.
const ALARMS: usize = 20;
const ALARM_CHARS: usize = 300;
/// Tokens and characters of the words around what is left out.
const WORDS: Purse = Purse { tokens: 100, chars: 300 };
/// Of the bound, the share from which on runs of lines are folded.
const FOLD_SHARE: usize = 4;

/// How much may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Tokens, as [`tokens::weigh`] counts them.
    pub tokens: usize,
    /// Characters.
    pub chars: usize,
    /// Characters of one line.
    pub line: usize,
}

/// A text, or both ends of one.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub head: &'a str,
    pub tail: Option<Tail<'a>>,
}

/// The end of a text whose middle is not at hand.
#[derive(Clone, Copy, Debug)]
pub struct Tail<'a> {
    pub text: &'a str,
    /// The number of its first line, from 1, when known.
    pub first: Option<u64>,
    /// What was found in the middle, in order.
    pub found: &'a [Found],
}

/// A line that looks like an error or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// From 1, when known.
    pub line: Option<u64>,
    pub text: String,
    pub alarm: Alarm,
}

/// The parts of a text that are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    head: String,
    tail: String,
    found: Vec<Found>,
    /// The first and last line that is left out; `None` when none is, or they were not counted.
    missing: Option<(u64, u64)>,
    total: Option<u64>,
    is_cut: bool,
    /// Lines were folded or shortened.
    is_changed: bool,
}

/// What is left of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Purse {
    tokens: usize,
    chars: usize,
}

impl Purse {
    fn percent(self, percent: usize) -> Self {
        let part = |whole: usize| (whole as u128 * percent as u128 / 100) as usize;
        Self { tokens: part(self.tokens), chars: part(self.chars) }
    }

    fn less(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_sub(other.tokens), chars: self.chars.saturating_sub(other.chars) }
    }

    fn of(text: &str) -> Self {
        Self { tokens: tokens::weigh(text), chars: text.chars().count() }
    }

    /// Pays for `text`, if there is enough.
    fn pay(&mut self, text: &str) -> bool {
        let price = Self::of(text);
        let can = price.tokens <= self.tokens && price.chars <= self.chars;
        if can {
            *self = self.less(price);
        }
        can
    }
}

impl Most {
    /// Whether the text may be shown as it is. What is much too long is not weighed.
    pub fn holds(&self, text: &str) -> bool {
        // No token has more than some hundred bytes, no character more than four.
        let short = text.len() <= self.chars.saturating_mul(4) && text.len() <= self.tokens.saturating_mul(100);
        short && Purse { tokens: self.tokens, chars: self.chars }.pay(text)
    }
}

/// How many lines a line makes in a file whose lines have at most so many characters.
pub fn pieces(line: &str, most: usize) -> u64 {
    if line.len() <= most {
        return 1;
    }
    line.chars().count().div_ceil(most.max(1)).max(1) as u64
}

impl Digest {
    /// The parts of `source` that fit. Lines longer than `most.line` count as several: so they stand in the file that keeps
    /// all of it.
    pub fn of(source: Source<'_>, most: &Most) -> Self {
        let whole = Purse { tokens: most.tokens, chars: most.chars };
        let folds = source.tail.is_some() || {
            let quarter = Most { tokens: most.tokens / FOLD_SHARE, chars: most.chars, line: most.line };
            !quarter.holds(source.head)
        };
        let room = whole.less(WORDS);
        // Everything in one piece, when it fits; what was folded needs words.
        if source.tail.is_none() {
            for purse in [whole, room] {
                let (taken, end) = front(source.head, purse, most, folds);
                if end == source.head.len() && (!taken.changed || purse == room) {
                    return Self { is_changed: taken.changed, head: taken.text, ..Self::default() };
                }
            }
        }
        let first = Cut::new(&source, most, room, folds);
        let found = first.alarms(&source, most, room.percent(ALARM_PERCENT));
        if found.is_empty() {
            return first.digest(&source, most, found);
        }
        let price = found.iter().fold(Purse { tokens: 0, chars: 0 }, |sum, found| {
            let one = Purse::of(&shown(found));
            Purse { tokens: sum.tokens + one.tokens + 1, chars: sum.chars + one.chars + 1 }
        });
        let second = Cut::new(&source, most, room.less(price), folds);
        second.digest(&source, most, found)
    }

    /// Whether all of the text stands in it, as it was.
    pub fn is_whole(&self) -> bool {
        !self.is_cut && !self.is_changed
    }

    /// What the model reads; `whole` says where all of it is.
    pub fn text(&self, whole: &str) -> String {
        if self.is_whole() {
            return self.head.clone();
        }
        if !self.is_cut {
            return format!("{}\n\n[some lines are folded or shortened; {whole}]", self.head);
        }
        let missing = match (self.missing, self.total) {
            (Some((from, to)), Some(total)) if to >= from => {
                format!("{} of {total} lines left out ({from}-{to})", to + 1 - from)
            }
            _ => "the middle".to_owned(),
        };
        let mut out = format!("{}\n\n{CUT}{missing}; {whole}] ...\n", self.head.trim_end_matches('\n'));
        if !self.found.is_empty() {
            let what = if self.found.iter().any(|found| found.alarm == Alarm::Error) { "errors" } else { "warnings" };
            let which = if self.found.len() >= ALARMS { "the first lines of it" } else { "lines of it" };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "... [{which} that look like {what}, by line number:]");
            for found in &self.found {
                let _ = writeln!(out, "{}", shown(found));
            }
            out.push_str("... [end of them]\n");
        }
        out.push('\n');
        out.push_str(self.tail.trim_start_matches('\n'));
        out
    }
}

/// How the words begin that stand in the place of what is left out.
pub const CUT: &str = "... [OUTPUT TRUNCATED - ";

fn shown(found: &Found) -> String {
    match found.line {
        Some(line) => format!("{line}: {}", found.text),
        None => format!("?: {}", found.text),
    }
}

/// Text that was taken from one end.
#[derive(Default)]
struct Taken {
    text: String,
    changed: bool,
}

/// Takes lines from the beginning while they can be paid; gives where the rest begins.
fn front(text: &str, mut purse: Purse, most: &Most, folds: bool) -> (Taken, usize) {
    let (mut taken, mut at) = (Taken::default(), 0);
    for group in Folded::new(text.split_inclusive('\n'), folds) {
        // A run is one piece of the text.
        let end = group.last.as_ptr() as usize - text.as_ptr() as usize + group.last.len();
        let (piece, changed) = rendered(&group, most.line, false);
        if !purse.pay(&piece) {
            if at == 0 {
                taken = Taken { text: beginning(&piece, purse).to_owned(), changed: true };
                at = end;
            }
            break;
        }
        taken.text.push_str(&piece);
        taken.changed |= changed;
        at = end;
    }
    (taken, at)
}

/// Takes lines from the end; gives where they begin.
fn back(text: &str, mut purse: Purse, most: &Most, folds: bool) -> (Taken, usize) {
    let (mut parts, mut changed, mut at) = (Vec::new(), false, text.len());
    for group in Folded::new(text.split_inclusive('\n').rev(), folds) {
        let begin = group.last.as_ptr() as usize - text.as_ptr() as usize;
        let (piece, folded) = rendered(&group, most.line, true);
        if !purse.pay(&piece) {
            if parts.is_empty() {
                let some = ending(&piece, purse).to_owned();
                (changed, at) = (true, begin);
                parts.push(some);
            }
            break;
        }
        parts.push(piece);
        changed |= folded;
        at = begin;
    }
    parts.reverse();
    (Taken { text: parts.concat(), changed }, at)
}

/// The group as it is shown, each line at most `most` characters; whether that is something else.
fn rendered(group: &Group<'_>, most: usize, reversed: bool) -> (String, bool) {
    let (first, last) = if reversed { (group.last, group.first) } else { (group.first, group.last) };
    let (mut text, cut) = shortened(first, most);
    if !group.is_folded() {
        return (text, cut);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if first.trim_end() == last.trim_end() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[the same line {} more times]", group.count - 1);
    } else {
        let _ = writeln!(text, "[{} more lines like these]", group.count - 2);
        text.push_str(&shortened(last, most).0);
    }
    (text, true)
}

/// The line without its middle when it has more than `most` characters.
fn shortened(line: &str, most: usize) -> (String, bool) {
    if line.len() <= most {
        return (line.to_owned(), false);
    }
    let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    let chars = body.chars().count();
    if chars <= most {
        return (line.to_owned(), false);
    }
    let room = most.saturating_sub(60);
    let head = room * HEAD_PERCENT / 100;
    let at = |nth: usize| body.char_indices().nth(nth).map_or(body.len(), |(at, _)| at);
    let (start, stop) = (at(head), at(chars - (room - head)));
    (format!("{} [… {} characters …] {}{end}", &body[..start], chars - room, &body[stop..]), true)
}

/// As much of the beginning of a text as can be paid.
fn beginning(text: &str, purse: Purse) -> &str {
    let mut size = text.char_indices().nth(purse.chars).map_or(text.len(), |(at, _)| at);
    while size > 0 && tokens::weigh(&text[..size]) > purse.tokens {
        size = text.floor_char_boundary(size * 3 / 4);
    }
    &text[..size]
}

fn ending(text: &str, purse: Purse) -> &str {
    let chars = text.chars().count();
    let mut from = text.char_indices().nth(chars.saturating_sub(purse.chars)).map_or(text.len(), |(at, _)| at);
    while from < text.len() && tokens::weigh(&text[from..]) > purse.tokens {
        from = text.ceil_char_boundary(from + (text.len() - from).div_ceil(4));
    }
    &text[from..]
}

/// Head and tail within a budget, and where they end and begin.
struct Cut {
    head: Taken,
    head_end: usize,
    tail: Taken,
    tail_begin: usize,
}

impl Cut {
    fn new(source: &Source<'_>, most: &Most, room: Purse, folds: bool) -> Self {
        let (head, head_end) = front(source.head, room.percent(HEAD_PERCENT), most, folds);
        let end = source.tail.map_or(&source.head[head_end..], |tail| tail.text);
        let (tail, begin) = back(end, room.less(Purse::of(&head.text)), most, folds);
        let tail_begin = if source.tail.is_some() { begin } else { head_end + begin };
        Self { head, head_end, tail, tail_begin }
    }

    /// The lines in the middle that look like errors, and when there is room like warnings, in their order.
    fn alarms(&self, source: &Source<'_>, most: &Most, purse: Purse) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let mut counts = [0; 2];
        let mut take = |one: Found| {
            let kind = usize::from(one.alarm == Alarm::Warning);
            counts[kind] += 1;
            if counts[kind] <= ALARMS {
                found.push(one);
            }
            counts[0] >= ALARMS
        };
        let first = 1 + lines(&source.head[..self.head_end], most.line);
        match source.tail {
            None => {
                look(&source.head[self.head_end..self.tail_begin], Some(first), most.line, &mut take);
            }
            Some(tail) => {
                let over = look(&source.head[self.head_end..], Some(first), most.line, &mut take)
                    || tail.found.iter().any(|one| take(one.clone()));
                if !over {
                    look(&tail.text[..self.tail_begin], tail.first, most.line, &mut take);
                }
            }
        }
        // Errors first; what is left is for warnings.
        let mut purse = purse;
        let mut left = ALARMS;
        let mut kept = vec![false; found.len()];
        for alarm in [Alarm::Error, Alarm::Warning] {
            for (one, kept) in found.iter().zip(&mut kept).filter(|(one, _)| one.alarm == alarm) {
                if left == 0 || !purse.pay(&shown(one)) {
                    break;
                }
                (*kept, left) = (true, left - 1);
            }
        }
        let mut kept = kept.into_iter();
        found.retain(|_| kept.next().unwrap_or(false));
        found
    }

    fn digest(self, source: &Source<'_>, most: &Most, mut found: Vec<Found>) -> Digest {
        let before = lines(&source.head[..self.head_end], most.line);
        let (missing, total) = match source.tail {
            None => {
                let after = lines(&source.head[self.tail_begin..], most.line);
                let middle = lines(&source.head[self.head_end..self.tail_begin], most.line);
                (Some((before + 1, before + middle)), Some(before + middle + after))
            }
            Some(tail) => {
                let shown = lines(&tail.text[self.tail_begin..], most.line);
                let all = tail.first.map(|first| first - 1 + lines(tail.text, most.line));
                (all.map(|all| (before + 1, all - shown)), all)
            }
        };
        // What is shown anyway is not said twice.
        if let Some((from, to)) = missing {
            found.retain(|one| one.line.is_none_or(|line| (from..=to).contains(&line)));
        }
        Digest {
            is_cut: true,
            is_changed: self.head.changed || self.tail.changed,
            head: self.head.text,
            tail: self.tail.text,
            found,
            missing,
            total,
        }
    }
}

/// Lines of a text, where a long one counts as its pieces.
fn lines(text: &str, most: usize) -> u64 {
    text.lines().map(|line| pieces(line, most)).sum()
}

/// Shows `take` the alarms of a part until it has enough; says whether it has.
fn look(text: &str, first: Option<u64>, most: usize, take: &mut impl FnMut(Found) -> bool) -> bool {
    let (mut number, mut counted) = (first, 0);
    for (range, _) in alarm::candidates(text.as_bytes()) {
        let line = &text[range.clone()];
        let Some(alarm) = alarm::of(line) else { continue };
        number = number.map(|number| number + lines(&text[counted..range.start], most));
        counted = range.start;
        let text = line.trim().chars().take(ALARM_CHARS).collect();
        if take(Found { line: number, text, alarm }) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;

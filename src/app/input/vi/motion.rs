//! Where a motion goes and what a text object holds. Pure.

use super::text::Text;

/// How an operator takes the way to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Up to the target.
    Before,
    /// The target too.
    With,
    /// Whole lines.
    Lines,
}

/// The end of a motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub to: usize,
    pub reach: Reach,
}

fn before(to: usize) -> Option<Target> {
    Some(Target { to, reach: Reach::Before })
}

/// The motion of one key. `count` is at least 1; `counted` tells whether it was typed, `column` where `j` and `k` keep to,
/// `operated` whether an operator waits for it.
pub fn simple(text: &Text, key: char, count: usize, counted: bool, column: usize, operated: bool) -> Option<Target> {
    let (at, start, end) = (text.at, text.line_start(text.at), text.line_end(text.at));
    let times = |step: &dyn Fn(usize) -> usize| (0..count.min(text.chars.len() + 1)).fold(at, |at, _| step(at));
    match key {
        'h' => before(at.saturating_sub(count).max(start)),
        'l' => before((at + count).min(end)),
        '0' => before(start),
        '^' => before(text.first_letter(at)),
        '$' => before(text.line_end(text.in_line(count as isize - 1, 0).unwrap_or(at))),
        'w' | 'W' => {
            let to = times(&|at| text.word_right(at, key == 'W'));
            // an operator leaves the line break before the next word alone
            let line = text.line_start(to);
            let breaks = operated && line > at && (line..to).all(|at| text.is_blank(at));
            before(if breaks { line - 1 } else { to })
        }
        'b' | 'B' => before(times(&|at| text.word_left(at, key == 'B'))),
        'e' | 'E' => Some(Target { to: times(&|at| text.word_end(at, key == 'E')), reach: Reach::With }),
        'j' => lines(text.in_line(count as isize, column)),
        'k' => lines(text.in_line(-(count as isize), column)),
        'G' if counted => lines(Some(text.first_letter(text.nth_line(count - 1)))),
        'G' => lines(Some(text.first_letter(text.line_start(text.chars.len())))),
        _ => None,
    }
}

fn lines(to: Option<usize>) -> Option<Target> {
    to.map(|to| Target { to, reach: Reach::Lines })
}

/// `gg`: the first line, or the n-th.
pub fn to_line(text: &Text, line: usize) -> Target {
    Target { to: text.first_letter(text.nth_line(line)), reach: Reach::Lines }
}

/// A search within the line: `f`, `F`, `t` or `T`, and the letter. `again` does not stop where it stands.
pub fn find(text: &Text, kind: char, letter: char, count: usize, again: bool) -> Option<Target> {
    let (start, end) = (text.line_start(text.at), text.line_end(text.at));
    let skip = usize::from(again && matches!(kind, 't' | 'T'));
    let is = |at: &usize| text.chars.get(*at) == Some(&letter);
    match kind {
        'f' | 't' => {
            let to = (text.at + 1 + skip..end).filter(is).nth(count - 1)?;
            Some(Target { to: if kind == 't' { to - 1 } else { to }, reach: Reach::With })
        }
        _ => {
            let to = (start..text.at.saturating_sub(skip)).rev().filter(is).nth(count - 1)?;
            before(if kind == 'T' { to + 1 } else { to })
        }
    }
}

/// The range of a text object: a word, what stands between quotes or brackets; `inner` without what surrounds it.
pub fn object(text: &Text, name: char, inner: bool) -> Option<(usize, usize)> {
    match name {
        'w' | 'W' => Some(word(text, name == 'W', inner)),
        '"' | '\'' | '`' => quoted(text, name, inner),
        '(' | ')' | 'b' => bracketed(text, '(', ')', inner),
        '[' | ']' => bracketed(text, '[', ']', inner),
        '{' | '}' | 'B' => bracketed(text, '{', '}', inner),
        '<' | '>' => bracketed(text, '<', '>', inner),
        _ => None,
    }
}

fn word(text: &Text, big: bool, inner: bool) -> (usize, usize) {
    let (line, end) = (text.line_start(text.at), text.line_end(text.at));
    if text.at >= end {
        return (text.at, text.at);
    }
    let (from, to) = (text.run_start(text.at, big), text.run_end(text.at, big) + 1);
    if inner {
        return (from, to);
    }
    let after = (to..end).take_while(|at| text.is_blank(*at)).count();
    if after > 0 {
        return (from, to + after);
    }
    let spaces = (line..from).rev().take_while(|at| text.is_blank(*at)).count();
    (from - spaces, to)
}

fn quoted(text: &Text, quote: char, inner: bool) -> Option<(usize, usize)> {
    let (start, end) = (text.line_start(text.at), text.line_end(text.at));
    let marks: Vec<usize> = (start..end).filter(|at| text.chars.get(*at) == Some(&quote)).collect();
    let (open, close) = marks.chunks_exact(2).map(|pair| (pair[0], pair[1])).find(|(_, close)| *close >= text.at)?;
    Some(if inner { (open + 1, close) } else { (open, close + 1) })
}

fn bracketed(text: &Text, open: char, close: char, inner: bool) -> Option<(usize, usize)> {
    let mut depth = 0;
    let from = (0..=text.at.min(text.chars.len().checked_sub(1)?)).rev().find(|at| {
        let c = text.chars[*at];
        if c == close && *at != text.at {
            depth += 1;
        } else if c == open {
            if depth == 0 {
                return true;
            }
            depth -= 1;
        }
        false
    })?;
    let mut depth = 0;
    let to = (from..text.chars.len()).find(|at| {
        let c = text.chars[*at];
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
        depth == 0
    })?;
    Some(if inner { (from + 1, to) } else { (from, to + 1) })
}

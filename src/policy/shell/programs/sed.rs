//! The part of sed that puts texts together: `s`, `y`, `p`, `d`, `q`, for all lines or some.

use regex::{Regex, RegexBuilder};
use std::borrow::Cow;

/// Bytes of a script that is followed, commands of it, and of what a pattern becomes.
const MAX_SCRIPT: usize = 512;
const MAX_COMMANDS: usize = 16;
const MAX_PATTERN: usize = 64 * 1024;
/// Bytes that a line may grow to.
const MAX_LINE: usize = 16 * 1024;

/// The lines that a command is for.
enum Lines {
    All,
    One(usize),
    Last,
    Matching(Pattern),
}

enum What {
    Replace { pattern: Pattern, with: String, all: bool, print: bool },
    Letters(Vec<char>, Vec<char>),
    Print,
    Delete,
    Quit,
}

/// A plain text is looked for as such: no expression has to be made ready.
enum Pattern {
    Plain(String),
    Regex(Regex),
}

impl Pattern {
    fn new(text: &str, extended: bool, ignores_case: bool) -> Option<Self> {
        let special =
            |c: char| matches!(c, '\\' | '[' | ']' | '.' | '*' | '^' | '$' | '(' | ')' | '{' | '}' | '+' | '?' | '|');
        if !ignores_case && !text.is_empty() && !text.contains(special) {
            return Some(Pattern::Plain(text.to_owned()));
        }
        let text = if extended { text.to_owned() } else { basic(text) };
        let mut builder = RegexBuilder::new(&text);
        builder.size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN).case_insensitive(ignores_case);
        (!text.is_empty()).then(|| builder.build().ok().map(Pattern::Regex)).flatten()
    }

    fn is_in(&self, line: &str) -> bool {
        match self {
            Pattern::Plain(text) => line.contains(text),
            Pattern::Regex(regex) => regex.is_match(line),
        }
    }

    fn replaced(&self, line: &str, with: &str, all: bool) -> String {
        let times = if all { usize::MAX } else { 1 };
        match self {
            Pattern::Plain(text) => line.replacen(text.as_str(), &with.replace("${0}", text).replace("$$", "$"), times),
            Pattern::Regex(regex) => {
                let replaced: Cow<'_, str> =
                    if all { regex.replace_all(line, with) } else { regex.replace(line, with) };
                replaced.into_owned()
            }
        }
    }
}

/// A basic expression as an extended one: what has a backslash there has none here.
fn basic(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '(' | ')' | '{' | '}' | '+' | '?' | '|' => out.extend(['\\', c]),
            '\\' => match chars.next() {
                Some(c @ ('(' | ')' | '{' | '}' | '+' | '?' | '|')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

/// What the script makes of a text. `quiet`: only what it prints. `None` where a command of it is not followed.
pub(in crate::policy::shell) fn run(script: &str, text: &str, quiet: bool, extended: bool) -> Option<String> {
    if script.len() > MAX_SCRIPT {
        return None;
    }
    let mut rest = script;
    let mut commands = Vec::new();
    while let Some(start) = rest.find(|c: char| !c.is_whitespace() && c != ';') {
        let (command, after) = command(&rest[start..], extended)?;
        commands.push(command);
        rest = after;
        if commands.len() > MAX_COMMANDS {
            return None;
        }
    }
    let all: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for (at, line) in all.iter().enumerate() {
        let (mut line, mut kept, mut ends) = ((*line).to_owned(), true, false);
        for (lines, what) in &commands {
            let chosen = match lines {
                Lines::All => true,
                Lines::One(number) => *number == at + 1,
                Lines::Last => at + 1 == all.len(),
                Lines::Matching(pattern) => pattern.is_in(&line),
            };
            if !chosen || !kept {
                continue;
            }
            match what {
                What::Replace { pattern, with, all, print } => {
                    let hit = *print && pattern.is_in(&line);
                    line = pattern.replaced(&line, with, *all);
                    if hit {
                        out.push_str(&format!("{line}\n"));
                    }
                }
                What::Letters(from, to) => {
                    let other =
                        |c: char| from.iter().position(|f| *f == c).and_then(|i| to.get(i)).copied().unwrap_or(c);
                    line = line.chars().map(other).collect();
                }
                What::Print => out.push_str(&format!("{line}\n")),
                What::Delete => kept = false,
                What::Quit => ends = true,
            }
            if line.len() > MAX_LINE || out.len() > 4 * MAX_LINE {
                return None;
            }
        }
        if kept && !quiet {
            out.push_str(&line);
            out.push('\n');
        }
        if ends {
            break;
        }
    }
    Some(out)
}

/// The command at the start of a text, and what comes behind it.
fn command(text: &str, extended: bool) -> Option<((Lines, What), &str)> {
    let (lines, rest) = match text.chars().next()? {
        '$' => (Lines::Last, &text[1..]),
        '/' => {
            let (pattern, rest) = part(&text[1..], '/')?;
            (Lines::Matching(Pattern::new(&pattern, extended, false)?), rest)
        }
        c if c.is_ascii_digit() => {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            (Lines::One(text[..end].parse().ok()?), &text[end..])
        }
        _ => (Lines::All, text),
    };
    let rest = rest.trim_start();
    let name = rest.chars().next()?;
    let mut behind = &rest[name.len_utf8()..];
    let what = match name {
        'p' => What::Print,
        'd' => What::Delete,
        'q' => What::Quit,
        's' | 'y' => {
            let mark = behind.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\\')?;
            let (from, after) = part(&behind[mark.len_utf8()..], mark)?;
            let (to, after) = part(after, mark)?;
            if name == 'y' {
                behind = after;
                What::Letters(from.chars().collect(), to.chars().collect())
            } else {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
                let flags = &after[..end];
                behind = &after[end..];
                if flags.contains(|c| !matches!(c, 'g' | 'p' | 'i' | 'I')) {
                    return None;
                }
                let pattern = Pattern::new(&from, extended, flags.contains(['i', 'I']))?;
                let (all, print) = (flags.contains('g'), flags.contains('p'));
                What::Replace { pattern, with: replacement(&to)?, all, print }
            }
        }
        _ => return None,
    };
    let behind = behind.trim_start_matches([' ', '\t']);
    let ends = behind.is_empty() || behind.starts_with([';', '\n']);
    ends.then_some(((lines, what), behind))
}

/// The text up to a mark that has no backslash before it, and what comes behind the mark.
fn part(text: &str, mark: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == mark {
            return Some((out, &text[at + c.len_utf8()..]));
        }
        out.push(c);
        if c == '\\' {
            let (_, next) = chars.next()?;
            if next == mark {
                out.pop();
            }
            out.push(next);
        }
    }
    None
}

/// The second part of `s` as the library wants it.
fn replacement(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' => out.push_str("$$"),
            '&' => out.push_str("${0}"),
            '\\' => match chars.next()? {
                digit @ '0'..='9' => out.push_str(&format!("${{{digit}}}")),
                'n' => out.push('\n'),
                't' => out.push('\t'),
                // They change the letters of what follows.
                'U' | 'L' | 'u' | 'l' | 'E' => return None,
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts() {
        for (script, text, want) in [
            ("s/x/r/", "xm x", Some("rm x\n")),
            ("s/x//g", "axbx", Some("ab\n")),
            ("s|X|/|", "a X", Some("a /\n")),
            ("s#a\\#b#c#", "a#b", Some("c\n")),
            ("s/\\(a\\)\\(b\\)/\\2\\1/", "ab", Some("ba\n")),
            ("s/[0-9]\\+/&&/", "a12", Some("a1212\n")),
            ("s/a/$1/", "a", Some("$1\n")),
            ("y/abc/xyz/", "cab", Some("zxy\n")),
            ("2d", "a\nb\nc", Some("a\nc\n")),
            ("$d;s/a/b/", "a\na", Some("b\n")),
            ("/b/d", "a\nb", Some("a\n")),
            ("1q", "a\nb", Some("a\n")),
            ("p", "a", Some("a\na\n")),
            ("", "a", Some("a\n")),
            ("s/a/\\U&/", "a", None),
            ("N;s/a/b/", "a", None),
            ("s/(/x/", "(", Some("x\n")),
            ("s/a", "a", None),
        ] {
            assert_eq!(run(script, text, false, false).as_deref(), want, "{script}");
        }
        assert_eq!(run("s/a/b/p", "a\nc", true, false).as_deref(), Some("b\n"));
        assert_eq!(run("s/(a)(b)/\\2\\1/", "ab", false, true).as_deref(), Some("ba\n"));
    }
}

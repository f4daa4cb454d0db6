//! `awk` and `sed`: the programs that they run and the files that they write.

use super::decode::Stream;
use super::interpret::is_stdin;
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::Role;

/// Bytes of what comes in that are looked at.
const MAX_INPUT: usize = 16 * 1024;

impl Walker<'_> {
    /// `awk` programs: what they run, and the files that they write.
    pub(in crate::policy::shell) fn awk(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        let files: Vec<Field> = known
            .args
            .flags
            .iter()
            .filter(|f| matches!(f.name.as_str(), "-f" | "--file" | "-E" | "--exec"))
            .filter_map(|f| f.value.as_ref().map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() }))
            .collect();
        for file in &files {
            let stream = if is_stdin(&file.text) { input.cloned() } else { self.named(file) };
            let Some(stream) = stream else { continue };
            if stream.remote {
                self.find("pipe remote content to shell", file.span.clone());
            }
            if let Some(text) = stream.text {
                self.awk_text(&text, known, input, &file.span);
            }
        }
        let program = known.value(&["-e", "--source"]).or_else(|| known.operand(0).cloned());
        if let Some(code) = program.filter(|_| files.is_empty()) {
            self.awk_text(&code.text, known, input, &code.span);
        }
    }

    fn awk_text(&mut self, text: &str, known: &Known<'_>, input: Option<&Stream>, span: &Span) {
        if text.contains("in ENVIRON") {
            self.find(super::wrappers::ENVIRONMENT, span.clone());
        }
        let (found, pipes) = awk_strings(text);
        let mut runs = pipes || text.contains("system(") || text.contains("system (");
        for (before, string, after) in &found {
            let called = before.ends_with("system(") || before.ends_with("system (");
            let piped = (before.ends_with('|') && !before.ends_with("||"))
                || (after.starts_with('|') && !after.starts_with("||"));
            if called || piped {
                runs = true;
                self.find("arbitrary program execution via a flag", span.clone());
                self.shell_line(&super::decode::unescape(string), span);
            } else if before.ends_with('<') {
                self.touch(Role::Read, &Field::known(*string, span.clone()));
            } else if before.ends_with('>') {
                self.touch(Role::Write, &Field::known(*string, span.clone()));
            }
        }
        if !runs {
            return;
        }
        self.find("arbitrary program execution via a flag", span.clone());
        // A command may stand in a variable, be put together of several strings, or come in as a line.
        let strings: Vec<String> = found.iter().map(|(_, text, _)| super::decode::unescape(text)).collect();
        for text in strings.iter().take(16) {
            self.refused_text(text, span);
        }
        self.refused_text(&strings.concat(), span);
        for flag in known.args.flags.iter().filter(|f| matches!(f.name.as_str(), "-v" | "--assign")).take(16) {
            if let Some((_, value)) = flag.value.as_ref().and_then(|(text, _)| text.split_once('=')) {
                self.refused_text(value, span);
            }
        }
        self.refused_input(input, span);
    }

    /// Lines that come in and may be run: what no mode runs is refused.
    fn refused_input(&mut self, input: Option<&Stream>, span: &Span) {
        if let Some(text) = input.and_then(|stream| stream.text.clone()).filter(|text| text.len() <= MAX_INPUT) {
            self.refused_text(&text, span);
        }
    }

    /// All scripts of a `sed` command.
    pub(super) fn sed_scripts(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        let valued = |names: [&'static str; 2]| {
            let flags = known.args.flags.iter().filter(move |f| names.contains(&f.name.as_str()));
            flags.filter_map(|f| {
                f.value.as_ref().map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() })
            })
        };
        let mut scripts: Vec<Field> = valued(["-e", "--expression"]).collect();
        let files: Vec<Field> = valued(["-f", "--file"]).collect();
        if scripts.is_empty() && files.is_empty() {
            scripts.extend(known.operand(0).cloned());
        }
        for file in files {
            let stream = if is_stdin(&file.text) { input.cloned() } else { self.named(&file) };
            let Some(stream) = stream else { continue };
            if stream.remote {
                self.find("pipe remote content to shell", file.span.clone());
            }
            scripts.extend(stream.text.map(|text| Field { text, ..file.clone() }));
        }
        for script in scripts {
            self.sed(&script, input);
        }
    }

    /// Sed commands that run programs or write files: `e`, `s///e`, `w`.
    fn sed(&mut self, script: &Field, input: Option<&Stream>) {
        let effect = "arbitrary program execution via a flag";
        for line in script.text.split(['\n', ';', '}', '{']) {
            let line = without_addresses(line);
            let mut chars = line.chars();
            match chars.next() {
                Some('e') if !line.contains('=') => {
                    self.find(effect, script.span.clone());
                    self.shell_line(&line[1..], &script.span);
                    if line[1..].trim().is_empty() {
                        self.refused_input(input, &script.span);
                    }
                }
                Some('r' | 'R') => self.touch(Role::Read, &Field::known(line[1..].trim(), script.span.clone())),
                Some('w' | 'W') => self.touch(Role::Write, &Field::known(line[1..].trim(), script.span.clone())),
                Some('s') => {
                    let Some(delimiter) = chars.next().filter(|c| !c.is_alphanumeric()) else { continue };
                    let parts = delimited(&line[1 + delimiter.len_utf8()..], delimiter);
                    let flags = parts.get(2).map_or("", String::as_str);
                    if flags.split(' ').next().is_some_and(|f| f.contains('e')) {
                        self.find(effect, script.span.clone());
                        self.shell_line(&parts[1].clone(), &script.span);
                        self.refused_input(input, &script.span);
                    }
                    if let Some((_, file)) = flags.split_once("w ") {
                        self.touch(Role::Write, &Field::known(file.trim(), script.span.clone()));
                    }
                }
                _ => {}
            }
        }
    }
}

/// A command of sed without the lines that it is for: `1,$`, `/a/,/b/`, `\%a%`, `2!`.
fn without_addresses(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..2 {
        rest = rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' ' | '\t' | '!' | '~' | '+'));
        let (mark, from) = match rest.strip_prefix('\\') {
            Some(other) => (other.chars().next().unwrap_or('/'), 1),
            None => ('/', 0),
        };
        let Some(inner) = rest[from..].strip_prefix(mark) else { break };
        let Some((_, after)) = inner.split_once(mark) else { break };
        rest = after.trim_start_matches(['I', 'M']);
    }
    rest.trim_start_matches([' ', '\t', '!'])
}

/// The pattern, the replacement and the rest behind them; a delimiter after a backslash belongs to its part.
fn delimited(text: &str, delimiter: char) -> Vec<String> {
    let mut more = 0;
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(last) = parts.last_mut() else { break };
        if c == '\\' && chars.peek() == Some(&delimiter) {
            last.extend(chars.next());
        } else if c == delimiter && more < 2 {
            more += 1;
            parts.push(String::new());
        } else {
            last.push(c);
        }
    }
    parts
}

/// The strings of an awk program, each with what stands before and behind it, and whether it pipes; patterns in slashes hold
/// neither.
fn awk_strings(text: &str) -> (Vec<(&str, &str, &str)>, bool) {
    let bytes = text.as_bytes();
    let end = |from: usize, close: u8| {
        let mut at = from;
        while at < bytes.len() && bytes[at] != close && bytes[at] != b'\n' {
            at += 1 + usize::from(bytes[at] == b'\\');
        }
        at.min(bytes.len())
    };
    let (mut all, mut at, mut value, mut pipes) = (Vec::new(), 0, true, false);
    while at < bytes.len() && all.len() < 64 {
        match bytes[at] {
            b'#' => at = end(at, b'\n'),
            b'"' => {
                let to = end(at + 1, b'"');
                let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or("");
                let after = part((to + 1).min(text.len())..text.len());
                all.push((part(0..at).trim_end(), part(at + 1..to), after.trim_start()));
                (at, value) = (to, false);
            }
            b'/' if value => {
                at = end(at + 1, b'/');
                value = false;
            }
            b if b.is_ascii_whitespace() => {}
            b'|' if bytes.get(at + 1) == Some(&b'|') => (at, value) = (at + 1, true),
            b'|' => (pipes, value) = (true, true),
            b => value = !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b')' | b']' | b'.')),
        }
        at += 1;
    }
    (all, pipes)
}

//! Programs that are given commands in a language of their own, some of which a shell runs: schedules, editors,
//! debuggers, `awk` and `sed`. What reaches a shell is judged like any other line.

use super::ast::Span;
use super::code::Lang;
use super::decode::Stream;
use super::interpret::is_stdin;
use super::invoke::{Known, program};
use super::resolve::Field;
use super::walk::Walker;
use crate::policy::table::{Language, Level, Role};

/// Parts of option names whose value is run as a command.
const EXECUTES: &[&str] = &[
    "exec", "command", "cmd", "invoke", "wrapper", "hook", "script", "pager", "editor", "rsh", "run", "program",
    "shell",
];
/// Lines of one text that are followed.
const MAX_LINES: usize = 256;

impl Walker<'_> {
    /// The texts that the table says a command is given, from options, files and standard input.
    pub(super) fn feeds(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        let Some(feeds) = &known.spec.feeds else { return };
        let mut given: Vec<(String, Span)> = Vec::new();
        let mut streams: Vec<(Stream, Span, bool)> = Vec::new();
        for flag in &known.args.flags {
            let Some((text, at)) = &flag.value else { continue };
            let span = known.argv[*at].span.clone();
            if feeds.text.contains(&flag.name) {
                given.push((text.clone(), span.clone()));
            }
            if feeds.file.contains(&flag.name) {
                match is_stdin(text) {
                    true => streams.extend(input.cloned().map(|s| (s, span, false))),
                    false => {
                        if text.starts_with("http://") || text.starts_with("https://") {
                            self.find("pipe remote content to shell", span.clone());
                        }
                        let field = Field { text: text.clone(), ..known.argv[*at].clone() };
                        streams.extend(self.named(&field).map(|s| (s, span, true)));
                    }
                }
            }
        }
        if let Some(from) = feeds.operands {
            given.extend(known.operands().skip(from).map(|f| (f.text.clone(), f.span.clone())));
        }
        if feeds.plus {
            given.extend(
                known.argv[1..].iter().filter_map(|f| f.text.strip_prefix('+').map(|t| (t.to_owned(), f.span.clone()))),
            );
        }
        if feeds.script
            && let Some(file) = known.operand(0).cloned().filter(|f| !is_stdin(&f.text))
        {
            streams.extend(self.named(&file).map(|s| (s, file.span, true)));
        }
        let plain = known.args.operands.iter().all(|at| is_stdin(&known.argv[*at].text));
        if feeds.stdin || (feeds.bare && plain && given.is_empty()) {
            streams.extend(input.cloned().map(|s| (s, known.argv[0].span.clone(), false)));
        }
        for name in &feeds.reads {
            for path in self.absolute(name) {
                streams.extend(self.state.files.get(&path).cloned().map(|s| (s, known.argv[0].span.clone(), true)));
            }
        }
        for (stream, span, file) in streams {
            let at = if file { span.clone() } else { stream.span.start.min(span.start)..span.end.max(stream.span.end) };
            if stream.remote {
                self.find(if file { "runs a downloaded file" } else { "pipe remote content to shell" }, at.clone());
            } else if stream.decoded {
                self.find("pipe decoded content to shell (possible command obfuscation)", at.clone());
            }
            given.extend(stream.text.map(|text| (text, at)));
        }
        let (lang, me) = (feeds.lang, self.current);
        for (text, span) in given {
            self.feed(lang, &text, &span);
            self.current = me;
        }
    }

    /// A file by name: a pipe of the line, or one that the line wrote.
    fn named(&self, field: &Field) -> Option<Stream> {
        if field.process { field.stream.clone() } else { self.file(field) }
    }

    fn shell_line(&mut self, line: &str, span: &Span) {
        let line = line.trim().trim_matches('\0');
        if line.is_empty() || !self.spend(1, span) {
            return;
        }
        let current = self.current;
        self.subshell(|w| w.text(line, span, None));
        self.current = current;
    }

    /// Judges a text in a language of a program.
    pub(super) fn feed(&mut self, lang: Language, text: &str, span: &Span) {
        let lines = || text.lines().map(str::trim_end).filter(|l| !l.trim().is_empty()).take(MAX_LINES);
        match lang {
            Language::Data => {}
            Language::Shell => self.shell_line(text, span),
            Language::Cron => {
                for line in lines() {
                    let line = line.trim_start();
                    let fields = if line.starts_with('@') { 1 } else { 5 };
                    let time = |c: char| c.is_ascii_digit() || matches!(c, '*' | '@');
                    if !line.starts_with(time) {
                        continue;
                    }
                    let mut rest = line;
                    for _ in 0..fields {
                        rest = rest.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
                    }
                    self.shell_line(rest, span);
                }
            }
            Language::Editor | Language::Debugger => {
                let separators: &[char] = if lang == Language::Debugger { &['\n', ';'] } else { &['\n'] };
                for line in text.split(separators).filter(|l| !l.trim().is_empty()).take(MAX_LINES) {
                    self.escapes(lang, line.trim_start(), span);
                }
            }
            Language::Terminal => {
                for line in text.split(['\n', ';']).take(MAX_LINES) {
                    let line = line.trim();
                    self.refused_text(line, span);
                    if let Some((_, rest)) = line.split_once(char::is_whitespace) {
                        self.refused_text(rest.trim().trim_matches(['\'', '"']), span);
                    }
                }
            }
        }
    }

    /// Refuses a text that no mode would run; what it is otherwise does not count.
    pub(super) fn refused_text(&mut self, text: &str, span: &Span) {
        if text.len() < 4 || !self.spend(4, span) {
            return;
        }
        let level = self.try_out(|w| {
            w.text(text, span, None);
        });
        if level == Level::Refuse {
            self.shell_line(text, span);
        }
    }

    /// A command of an editor or a debugger that hands its rest to a shell.
    fn escapes(&mut self, lang: Language, line: &str, span: &Span) {
        let word = line.split_whitespace().next().unwrap_or("");
        let rest = || line[word.len()..].trim();
        let shell = match lang {
            Language::Editor => {
                // `:%!sort`, `r !ls`, `silent !x`, `call system("x")`
                let line = line.trim_start_matches([':', ' ']);
                let code = match word.trim_start_matches(':') {
                    "lua" | "luado" => Some(Lang::Lua),
                    "py" | "py3" | "python" | "python3" | "pyx" => Some(Lang::Python),
                    "perl" => Some(Lang::Perl),
                    "ruby" => Some(Lang::Ruby),
                    _ => None,
                };
                if let Some(code) = code {
                    self.code(code, rest(), false, span);
                }
                if line.starts_with('(') {
                    for text in line.split('"').skip(1).step_by(2).take(16) {
                        self.refused_text(text, span);
                    }
                }
                match line.split_once("system(") {
                    Some((_, call)) => call.trim_start_matches(['"', '\'']).split(['"', '\'']).next(),
                    None => match line.split_once('!') {
                        Some((before, shell)) if is_address(before) => Some(shell),
                        _ if matches!(word.trim_start_matches(':'), "terminal" | "term") => Some(rest()),
                        _ => None,
                    },
                }
            }
            Language::Debugger => match word {
                "shell" | "!" | "make" | "system" | "spawn" | "exec" => Some(rest()),
                "python" | "py" | "python-interactive" => {
                    self.code(Lang::Python, rest(), false, span);
                    None
                }
                "pipe" | "|" => rest().rsplit_once('|').map(|(_, shell)| shell),
                _ => match line.split_once("system") {
                    Some((_, call)) => call.split('"').nth(1),
                    None => line.strip_prefix('!'),
                },
            },
            _ => None,
        };
        if let Some(shell) = shell {
            self.find("arbitrary program execution via a flag", span.clone());
            self.shell_line(shell, span);
        }
    }

    /// Options whose name says that their value is run: the value is judged as the line that it is.
    pub(super) fn run_options(&mut self, known: &Known<'_>) {
        if known.spec.rules.is_empty()
            && known.spec.wrap.is_none()
            && known.spec.sub.is_empty()
            && known.spec.feeds.is_none()
        {
            return;
        }
        for i in 1..known.argv.len().min(64) {
            let word = known.argv[i].text.as_str();
            let before = known.argv[i - 1].text.as_str();
            let setting = matches!(before, "-o" | "-c" | "--option" | "--config" | "-O");
            if !(word.starts_with('-') || setting) {
                continue;
            }
            let (name, value, at) = match word.split_once('=') {
                Some((name, value)) => (name, value, i),
                None => (word, known.argv.get(i + 1).map_or("", |f| f.text.as_str()), i + 1),
            };
            let name = name.to_ascii_lowercase();
            if name.len() < 4 || !EXECUTES.iter().any(|part| name.contains(part)) {
                continue;
            }
            let value = match value.contains(' ') {
                true => value.to_owned(),
                false if name.contains("wrapper") && value.contains(',') => value.replace(',', " "),
                false => continue,
            };
            let starts = value.split_whitespace().next().is_some_and(|w| self.table.command(&program(w)).is_some());
            if starts {
                let (span, me) = (known.argv[at].span.clone(), self.current);
                self.shell_line(&value, &span);
                self.current = me;
            }
        }
    }

    /// `awk` programs: what they run, and the files that they write.
    pub(super) fn awk(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        let files: Vec<Field> = known
            .args
            .flags
            .iter()
            .filter(|f| matches!(f.name.as_str(), "-f" | "--file"))
            .filter_map(|f| f.value.as_ref().map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() }))
            .collect();
        for file in &files {
            let stream = if is_stdin(&file.text) { input.cloned() } else { self.named(file) };
            let Some(stream) = stream else { continue };
            if stream.remote {
                self.find("pipe remote content to shell", file.span.clone());
            }
            if let Some(text) = stream.text {
                self.awk_text(&text, &file.span);
            }
        }
        let program = known.value(&["-e", "--source"]).or_else(|| known.operand(0).cloned());
        if let Some(code) = program.filter(|_| files.is_empty()) {
            self.awk_text(&code.text, &code.span);
        }
    }

    fn awk_text(&mut self, text: &str, span: &Span) {
        let mut runs = text.contains("|&") || text.contains("system(") || text.contains("system (");
        for (before, string, after) in awk_strings(text) {
            let called = before.ends_with("system(") || before.ends_with("system (");
            let piped = (before.ends_with('|') && !before.ends_with("||"))
                || (after.starts_with('|') && !after.starts_with("||"));
            if called || piped {
                runs = true;
                self.find("arbitrary program execution via a flag", span.clone());
                self.shell_line(&super::decode::unescape(string), span);
            } else if before.ends_with('>') {
                self.touch(Role::Write, &Field::known(string, span.clone()));
            }
        }
        if runs {
            self.find("arbitrary program execution via a flag", span.clone());
        }
    }

    /// All scripts of a `sed` command.
    pub(super) fn sed_scripts(&mut self, known: &Known<'_>) {
        let given: Vec<Field> = known
            .args
            .flags
            .iter()
            .filter(|f| matches!(f.name.as_str(), "-e" | "--expression"))
            .filter_map(|f| f.value.as_ref().map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() }))
            .collect();
        let file = known.has(&["-f", "--file"]);
        let scripts = if given.is_empty() && !file { known.operand(0).cloned().into_iter().collect() } else { given };
        for script in scripts {
            self.sed(&script);
        }
    }

    /// Sed commands that run programs or write files: `e`, `s///e`, `w`.
    fn sed(&mut self, script: &Field) {
        let effect = "arbitrary program execution via a flag";
        for line in script.text.split(['\n', ';', '}', '{']) {
            let line =
                line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' ' | '!' | '~' | '+'));
            let line = match line.strip_prefix('/').and_then(|rest| rest.split_once('/')) {
                Some((_, rest)) => rest.trim_start_matches([' ', '!', 'I']),
                None => line,
            };
            let mut chars = line.chars();
            match chars.next() {
                Some('e') if !line.contains('=') => {
                    self.find(effect, script.span.clone());
                    self.shell_line(&line[1..], &script.span);
                }
                Some('w' | 'W') => self.touch(Role::Write, &Field::known(line[1..].trim(), script.span.clone())),
                Some('s') => {
                    let Some(delimiter) = chars.next().filter(|c| !c.is_alphanumeric()) else { continue };
                    let parts = delimited(&line[1 + delimiter.len_utf8()..], delimiter);
                    let flags = parts.get(2).map_or("", String::as_str);
                    if flags.split(' ').next().is_some_and(|f| f.contains('e')) {
                        self.find(effect, script.span.clone());
                        self.shell_line(&parts[1].clone(), &script.span);
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

/// Whether what stands before `!` in a line of an editor is a range, or a command that takes the output of a shell line.
fn is_address(before: &str) -> bool {
    let rest = before.trim_start_matches(|c: char| c.is_ascii_digit() || ",.$%'<>+- ".contains(c)).trim();
    matches!(rest, "" | "r" | "read" | "w" | "write" | "silent" | "sil" | "exe" | "execute" | "normal" | "e")
}

/// The parts between a delimiter; one after a backslash belongs to its part.
fn delimited(text: &str, delimiter: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(last) = parts.last_mut() else { break };
        if c == '\\' && chars.peek() == Some(&delimiter) {
            last.extend(chars.next());
        } else if c == delimiter {
            parts.push(String::new());
        } else {
            last.push(c);
        }
    }
    parts
}

/// The strings of an awk program, each with what stands before and behind it; patterns in slashes hold none.
fn awk_strings(text: &str) -> Vec<(&str, &str, &str)> {
    let bytes = text.as_bytes();
    let end = |from: usize, close: u8| {
        let mut at = from;
        while at < bytes.len() && bytes[at] != close && bytes[at] != b'\n' {
            at += 1 + usize::from(bytes[at] == b'\\');
        }
        at.min(bytes.len())
    };
    let (mut all, mut at, mut value) = (Vec::new(), 0, true);
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
            b => value = !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b')' | b']' | b'.')),
        }
        at += 1;
    }
    all
}

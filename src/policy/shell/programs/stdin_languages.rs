//! Programs that are given commands in a language of their own, some of which a shell runs (`languages`): where the text
//! comes from. What reaches a shell is judged like any other line.

use super::code::Lang;
use super::decode::Stream;
use super::interpret::is_stdin;
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::{Known, program};
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::{Kind, Language, Level, Role};
use std::collections::HashMap;

/// Parts of option names whose value is run as a command.
const EXECUTES: &[&str] = &[
    "exec", "command", "cmd", "invoke", "wrapper", "hook", "script", "pager", "editor", "rsh", "run", "program",
    "shell", "complete", "eval",
];
/// Lines of one text that are followed.
const MAX_LINES: usize = 256;
/// Lines for a client of a database.
const MAX_AGAIN: usize = 32;

impl Walker<'_> {
    /// The texts that the table says a command is given, from options, files and standard input.
    pub(in crate::policy::shell) fn feeds(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        let Some(feeds) = &known.spec.feeds else { return };
        self.set_program(known, feeds);
        let mut given: Vec<(String, Span)> = Vec::new();
        let mut streams: Vec<(Stream, Span, bool)> = Vec::new();
        for flag in &known.args.flags {
            let Some((text, at)) = &flag.value else { continue };
            let span = known.argv[*at].span.clone();
            if feeds.text.contains(&flag.name) {
                given.push((text.clone(), span.clone()));
            }
            if feeds.file.contains(&flag.name) {
                if is_stdin(text) {
                    streams.extend(input.cloned().map(|s| (s, span, false)))
                } else {
                    if text.starts_with("http://") || text.starts_with("https://") {
                        self.find("pipe remote content to shell", span.clone());
                    }
                    let field = Field { text: text.clone(), ..known.argv[*at].clone() };
                    streams.extend(self.named(&field).map(|s| (s, span, true)));
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
        let folder =
            known.spec.folder.iter().find_map(|name| known.value(&[name])).map_or_else(String::new, |f| f.text + "/");
        for name in &feeds.reads {
            for path in self.absolute(&format!("{folder}{name}")) {
                streams.extend(self.state.files.get(&path).cloned().map(|s| (s, known.argv[0].span.clone(), true)));
            }
        }
        self.rest_runs(known, &feeds.rest);
        if let (Some(before), Some(text)) = (&feeds.again, input.and_then(|s| s.text.as_ref().or(s.some.as_ref()))) {
            self.again(known, before, text);
        }
        for (stream, span, file) in streams {
            let at = if file { span.clone() } else { stream.span.start.min(span.start)..span.end.max(stream.span.end) };
            if stream.remote {
                self.find(if file { "runs a downloaded file" } else { "pipe remote content to shell" }, at.clone());
            } else if stream.decoded {
                self.find("pipe decoded content to shell (possible command obfuscation)", at.clone());
            }
            given.extend(stream.text.or(stream.some).map(|text| (text, at)));
        }
        let (lang, me) = (feeds.lang, self.current);
        let here = self.state.cwds.clone();
        if let Some(folder) = known.spec.folder.iter().find_map(|name| known.value(&[name])) {
            self.state.cwds = self.absolute(&folder.text);
        }
        let names = self.given_names(known);
        if lang == Language::Recipes {
            // `make 'NAME=$(shell …)'`
            given.extend(known.operands().filter(|f| f.text.contains('=')).map(|f| (f.text.clone(), f.span.clone())));
        }
        for (text, span) in given {
            match lang {
                Language::Recipes | Language::Tasks => self.recipes(lang, &text, &names, &span),
                _ => self.feed(lang, &text, &span),
            }
            self.current = me;
        }
        self.state.cwds = here;
    }

    /// Options behind which all words are one command: `just --command COMMAND…`.
    fn rest_runs(&mut self, known: &Known<'_>, options: &[String]) {
        let Some(at) = known.args.flags.iter().find(|f| options.contains(&f.name)).and_then(|f| f.value.as_ref())
        else {
            return;
        };
        let (me, at) = (self.current, at.1);
        let (words, span) = (known.argv[at..].to_vec(), known.argv[at].span.clone());
        match words.as_slice() {
            [text] => self.shell_line(&text.text, &span),
            _ => {
                let within = me.map(|me| (me, at));
                self.deeper(&span, |w| w.subshell(|w| w.invoke(words, None, within)));
            }
        }
        self.current = me;
    }

    /// Lines that a client of a database reads are what it could be given as words.
    fn again(&mut self, known: &Known<'_>, before: &[String], text: &str) {
        let (me, span) = (self.current, known.argv[0].span.clone());
        if text.lines().count() > MAX_AGAIN {
            self.limit(&span);
        }
        for line in text.lines().filter(|line| !line.trim().is_empty()).take(MAX_AGAIN) {
            let words: Vec<&str> = if before.is_empty() { line.split_whitespace().collect() } else { vec![line] };
            let more = before.iter().map(String::as_str).chain(words).map(|word| Field::known(word, span.clone()));
            let argv: Vec<Field> = known.argv.iter().cloned().chain(more).collect();
            self.deeper(&span, |w| w.subshell(|w| w.invoke(argv, None, me.map(|me| (me, 0)))));
        }
        self.current = me;
    }

    /// A file by name: a pipe of the line, or one that the line wrote.
    pub(in crate::policy::shell) fn named(&self, field: &Field) -> Option<Stream> {
        if field.process { field.stream.clone() } else { self.file(field) }
    }

    pub(super) fn shell_line(&mut self, line: &str, span: &Span) {
        let line = line.trim().trim_matches('\0');
        if line.is_empty() || !self.spend(1, span) {
            return;
        }
        let current = self.current;
        self.subshell(|w| w.text(line, span, None));
        self.current = current;
    }

    /// Judges a text in a language of a program.
    pub(in crate::policy::shell) fn feed(&mut self, lang: Language, text: &str, span: &Span) {
        if lang != Language::Data && text.lines().count() > MAX_LINES {
            self.limit(span);
        }
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
            Language::Editor => lines().for_each(|line| self.escapes(lang, line.trim_start(), span)),
            Language::Debugger => self.debugger(text, span),
            Language::Macro => self.macros(text, span),
            Language::Calculator => self.calculator(text, span),
            Language::Settings => self.settings(text, span),
            Language::Recipes | Language::Tasks => self.recipes(lang, text, &HashMap::new(), span),
            Language::Cmake => self.processes(text, span),
            Language::Build => {
                self.elements(text, span);
                self.given_code(Lang::Other, text, span);
            }
            Language::Mail => {
                lines().filter_map(|line| line.strip_prefix("~!")).for_each(|l| self.refused_text(l, span))
            }
            Language::Python => self.given_code(Lang::Python, text, span),
            Language::Ruby => self.given_code(Lang::Ruby, text, span),
            Language::Lua => self.given_code(Lang::Lua, text, span),
            Language::Code => self.given_code(Lang::Other, text, span),
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

    /// Options whose name says that their value is run: the value is judged as the line that it is.
    pub(in crate::policy::shell) fn run_options(&mut self, known: &Known<'_>) {
        let spec = known.spec;
        let silent = spec.rules.is_empty() && spec.wrap.is_none() && spec.sub.is_empty() && spec.feeds.is_none();
        if silent && (spec.kind != Kind::Plain || spec.paths.iter().all(|paths| paths.role == Role::None)) {
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
            let value = if value.contains(' ') {
                value.to_owned()
            } else if name.contains("wrapper") && value.contains(',') {
                value.replace(',', " ")
            } else {
                continue;
            };
            let starts = value.split_whitespace().next().is_some_and(|w| self.table.command(&program(w)).is_some());
            if starts {
                let (span, me) = (known.argv[at].span.clone(), self.current);
                self.shell_line(&value, &span);
                self.current = me;
            }
        }
    }
}

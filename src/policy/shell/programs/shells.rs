//! Shells: the lines, scripts and streams that they run, `eval` and `source`.

use super::decode::Stream;
use super::interpret::is_stdin;
use super::wrappers::shorten;
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::shell::walk::state::Function;
use crate::policy::table::Role;
use std::rc::Rc;

const SHELL_TEXT: &str = "shell command via -c/-lc flag";

/// The words of a shell: options end at the first word that is none, `+x` is one too.
#[derive(Default)]
struct ShellWords {
    /// The first of them gives a command line.
    command: bool,
    /// Where that line is, for shells that take it right after the option.
    text: Option<usize>,
    /// Reads from standard input.
    stdin: bool,
    /// A file that runs first.
    starts: bool,
    /// The first word that is no option.
    operands: Option<usize>,
}

impl ShellWords {
    fn read(argv: &[Field]) -> Self {
        let mut all = Self::default();
        let mut i = 1;
        while let Some(word) = argv.get(i).map(|f| f.text.as_str()) {
            match word {
                "--" => {
                    i += 1;
                    break;
                }
                "--rcfile" | "--init-file" => {
                    all.starts = true;
                    i += 1;
                }
                "--command" | "--commands" => {
                    all.command = true;
                    all.text = Some(i + 1).filter(|at| *at < argv.len());
                    i += 1;
                }
                _ if word.starts_with("--command=") || word.starts_with("--commands=") => {
                    all.command = true;
                    all.text = Some(i);
                }
                _ if word.starts_with("--") => {
                    all.starts |= word.starts_with("--rcfile=") || word.starts_with("--init-file=")
                }
                _ if word.len() > 1 && word.starts_with(['-', '+']) => {
                    let letters = &word[1..];
                    all.command |= word.starts_with('-') && letters.contains('c');
                    all.stdin |= word.starts_with('-') && letters.contains('s');
                    // `-o NAME`, `-O NAME`, also at the end of several letters.
                    i += usize::from(letters.ends_with(['o', 'O']));
                }
                _ => break,
            }
            i += 1;
        }
        all.operands = Some(i).filter(|at| *at < argv.len());
        all
    }
}

impl Walker<'_> {
    /// `sh`, `bash` and the like.
    pub(in crate::policy::shell) fn shell(
        &mut self,
        known: &Known<'_>,
        input: Option<Stream>,
        me: usize,
    ) -> Option<Stream> {
        let span = known.span();
        let given = ShellWords::read(known.argv);
        if given.starts {
            self.find("arbitrary program execution via a flag", span.clone());
            let files: Vec<Field> = known.argv.iter().filter(|field| field.process).cloned().collect();
            files.iter().for_each(|file| self.starts_with(file));
        }
        for name in ["BASH_ENV", "ENV"] {
            // Shells inside of that file would read it again.
            let Some(values) = Rc::make_mut(&mut self.state.vars).remove(name) else { continue };
            if let Some(path) = values.first() {
                self.starts_with(&Field::known(path.clone(), span.clone()));
            }
            Rc::make_mut(&mut self.state.vars).insert(name.to_owned(), values);
        }
        if given.command {
            let Some(at) = given.text.or(given.operands) else {
                self.find(SHELL_TEXT, span);
                return None;
            };
            let mut text = known.argv[at].clone();
            if let Some((_, value)) = text.text.split_once('=').filter(|(name, _)| name.starts_with("--")) {
                text.text = value.to_owned();
            }
            if text.stream.as_ref().is_some_and(|s| s.remote) {
                self.find("execute remote content via command substitution", text.span.clone());
            }
            self.refused_some(text.stream.as_ref().and_then(|s| s.some.as_deref()), &text.span);
            if text.stream.as_ref().is_some_and(|s| s.decoded) {
                self.reaches(&text.text, &text.span, true);
                self.find("pipe decoded content to shell (possible command obfuscation)", text.span.clone());
            }
            let rest = known.argv.get(at + 1..).unwrap_or_default();
            let zero = rest.first().map(|f| f.text.clone());
            let positional = rest.iter().skip(1).map(|f| f.text.clone()).collect();
            let before = self.findings.len();
            let out = self.subshell(|w| {
                w.state.positional = Some(positional);
                w.state.set("0", vec![zero.unwrap_or_else(|| UNKNOWN.to_string())]);
                // Another shell knows the functions that were exported; `sudo` and the like take them away, so not for certain.
                let exported = w.state.functions.iter().filter(|(_, f)| f.exported);
                let exported = exported.map(|(name, f)| (name.clone(), Function { certain: false, ..f.clone() }));
                w.state.functions = Rc::new(exported.collect());
                w.text(&text.text, &text.span, input)
            });
            self.current = Some(me);
            // A line all of which is known to be harmless is as good in a shell of its own.
            if !text.is_known() || self.findings.len() != before {
                self.find(SHELL_TEXT, span);
            }
            return out;
        }
        match given.operands.map(|at| known.argv[at].clone()) {
            Some(file) if !given.stdin && !is_stdin(&file.text) => {
                self.script_file(&file, me);
                let behind = given.operands.map_or(known.argv.len(), |at| at + 1);
                self.named_words(known.argv.get(behind..).unwrap_or_default());
                self.named_script(known, me);
                Some(Stream::unknown(span))
            }
            operands => {
                // `sh -s WORD`: the words are those of the script that comes in.
                let words = known.argv.get(given.operands.unwrap_or(known.argv.len())..).unwrap_or_default();
                let words = words.iter().map(|field| field.text.clone()).collect();
                let here = operands.is_some().then(|| self.state.positional.replace(words));
                let out = self.shell_input(input, known.argv[0].span.clone());
                if let Some(positional) = here {
                    self.state.positional = positional;
                }
                out
            }
        }
    }

    /// A file that a shell runs before anything else, where the line says what is in it.
    fn starts_with(&mut self, file: &Field) {
        if let Some(text) = self.named(file).and_then(|stream| stream.text) {
            self.refused_text(&text, &file.span);
        }
    }

    /// A script given by name.
    pub(super) fn script_file(&mut self, file: &Field, me: usize) {
        // What is no command of it is in the messages, with `-v` and `-x` all of it.
        if !file.process {
            self.touch(Role::Read, file);
        }
        let stream = if file.process { file.stream.clone() } else { self.file(file) };
        let Some(stream) = stream else {
            if file.process {
                self.find("pipe content to shell", file.span.clone());
            } else if !file.is_known() && (!file.text.contains('/') || file.text.starts_with("/dev/fd/")) {
                self.find("unresolved command", file.span.clone());
            }
            self.fetched_file(file);
            return;
        };
        if stream.remote {
            let effect =
                if file.process { "execute remote script via process substitution" } else { "runs a downloaded file" };
            self.find(effect, file.span.clone());
        }
        match stream.text {
            Some(text) => {
                self.subshell(|w| w.text(&text, &file.span, None));
                self.current = Some(me);
            }
            None if file.process && !stream.remote => {
                self.refused_some(stream.some.as_deref(), &file.span);
                self.find("pipe content to shell", file.span.clone());
            }
            None => {}
        }
    }

    /// What went into a filter or packer may come out of it as it was: what no mode runs is refused.
    pub(in crate::policy::shell) fn refused_some(&mut self, some: Option<&str>, span: &Span) {
        if let Some(text) = some {
            self.refused_text(text, span);
        }
    }

    /// A shell that reads its commands from a pipe, a here-document or a file.
    pub(super) fn shell_input(&mut self, input: Option<Stream>, span: Span) -> Option<Stream> {
        let stream = input?;
        if stream.file && !stream.remote {
            return None;
        }
        let at = stream.span.start.min(span.start)..span.end.max(stream.span.end);
        if stream.here {
            self.find("shell execution via heredoc", at.clone());
        }
        if stream.remote {
            self.find("pipe remote content to shell", at.clone());
        }
        if stream.decoded {
            let text = match &stream.text {
                Some(text) => format!("runs decoded text: {}", shorten(text)),
                None => self.table.effect("pipe decoded content to shell (possible command obfuscation)").say,
            };
            self.find_as("pipe decoded content to shell (possible command obfuscation)", text, at.clone());
        }
        match stream.text {
            Some(text) => {
                self.reaches(&text, &at, stream.decoded);
                if stream.partial && !stream.remote && !stream.decoded {
                    self.find("pipe content to shell", at);
                }
                self.subshell(|w| w.text(&text, &stream.span, None))
            }
            None => {
                if let Some(some) = &stream.some {
                    self.subshell(|w| w.text(some, &stream.span, None));
                }
                if !stream.remote && !stream.decoded {
                    self.find("pipe content to shell", at);
                }
                None
            }
        }
    }

    /// `eval` and shell text in variables.
    pub(in crate::policy::shell) fn eval(&mut self, known: &Known<'_>, input: Option<Stream>) -> Option<Stream> {
        let fields = &known.argv[1..];
        if fields.first().is_some_and(|field| fields.len() == 1 && field.is_setup()) {
            return None;
        }
        let (first, last) = fields.first().zip(fields.last())?;
        let span = first.span.start..last.span.end.max(first.span.end);
        let text = fields.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" ");
        for field in fields {
            if let Some(stream) = &field.stream {
                self.refused_some(stream.some.as_deref(), &span);
                if stream.remote {
                    self.find("execute remote content via command substitution", span.clone());
                }
                if stream.decoded {
                    self.reaches(&text, &span, true);
                    let shown = format!("runs decoded text: {}", shorten(&text));
                    self.find_as("pipe decoded content to shell (possible command obfuscation)", shown, span.clone());
                }
            }
        }
        if text.contains(UNKNOWN) {
            self.find("unresolved command", span.clone());
            // One word may stand for several values, of which one runs.
            for field in fields.iter().filter(|f| fields.len() > 1 && f.is_known() && f.text.contains(' ')).take(8) {
                self.subshell(|w| w.text(&field.text, &span, None));
            }
        }
        self.text(&text, &span, input)
    }

    /// `source FILE`.
    pub(in crate::policy::shell) fn source(&mut self, known: &Known<'_>, input: Option<Stream>) {
        let Some(file) = known.argv.get(1).cloned() else { return };
        if is_stdin(&file.text) {
            self.shell_input(input, file.span);
            return;
        }
        if file.process && file.is_setup() {
            return;
        }
        if let Some(stream) = file.stream.as_ref().filter(|_| !file.process) {
            let effect =
                if stream.remote { "execute remote content via command substitution" } else { "unresolved command" };
            self.find(effect, file.span.clone());
            return;
        }
        let stream = if file.process { file.stream.clone() } else { self.file(&file) };
        match stream {
            Some(stream) if stream.remote => {
                let effect = if file.process {
                    "execute remote script via process substitution"
                } else {
                    "runs a downloaded file"
                };
                self.find(effect, file.span.clone());
            }
            Some(Stream { text: Some(text), .. }) => {
                self.text(&text, &file.span, None);
            }
            Some(Stream { some, .. }) if file.process => {
                self.refused_some(some.as_deref(), &file.span);
                self.find("pipe content to shell", file.span.clone());
            }
            _ if file.text.starts_with(UNKNOWN) && !file.text.contains('/') => {
                self.find("unresolved command", file.span.clone())
            }
            None => self.fetched_file(&file),
            _ => {}
        }
    }
}

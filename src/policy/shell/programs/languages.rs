//! Languages of programs that hand some of their text to a shell: editors, debuggers, macro processors, calculators,
//! settings, and code that a program is given like an interpreter.

use super::code::Lang;
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::table::{Language, Role};

/// Commands of editors before the name of a file that is written.
const WRITES: &[&str] = &["w ", "w! ", "wq ", "W ", "write ", "write! ", "saveas ", "saveas! ", "sav ", "x "];

/// Lines, and calls, of one text that are followed.
const MAX_LINES: usize = 256;

impl Walker<'_> {
    /// A command of an editor or a debugger that hands its rest to a shell.
    pub(in crate::policy::shell) fn escapes(&mut self, lang: Language, line: &str, span: &Span) {
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
                    self.code(code, rest(), span);
                }
                let command = line.trim_start_matches(|c: char| c.is_ascii_digit() || ",.$%".contains(c));
                if let Some(file) = WRITES.iter().find_map(|name| command.strip_prefix(name)) {
                    let file = file.trim().trim_start_matches(['!', '>']).trim();
                    if !file.is_empty() && !file.contains(' ') {
                        self.touch(Role::Write, &self.at_home(file, span));
                    }
                }
                if line.starts_with("exe") {
                    // `execute "!" . "COMMAND"`
                    let strings: String = line.split(['"', '\'']).skip(1).step_by(2).take(16).collect();
                    self.refused_text(strings.trim_start_matches('!'), span);
                }
                if line.starts_with('(') {
                    let strings: Vec<&str> = line.split('"').skip(1).step_by(2).take(16).collect();
                    for text in &strings {
                        self.refused_text(text, span);
                    }
                    // `(call-process "rm" nil nil nil "-rf" …)`
                    self.refused_text(&strings.join(" "), span);
                }
                let call = ["system(", "systemlist(", "termopen(", "jobstart(", "job_start(", "term_start("];
                match call.iter().find_map(|name| line.split_once(name)) {
                    Some((_, call)) => quoted(call),
                    None => match line.split_once('!') {
                        Some((before, shell)) if is_address(before) => Some(shell),
                        _ if matches!(word.trim_start_matches(':'), "terminal" | "term") => Some(rest()),
                        _ => None,
                    },
                }
            }
            Language::Debugger => match word {
                "shell" | "!" | "make" | "system" | "spawn" | "exec" => Some(rest()),
                "python" | "py" | "python-interactive" | "script" | "pi" => {
                    self.code(Lang::Python, rest(), span);
                    self.scan_code(rest(), span);
                    None
                }
                "platform" | "target" => line.split_once("shell ").map(|(_, shell)| shell),
                "pipe" | "|" => rest().rsplit_once('|').map(|(_, shell)| shell),
                _ => match line.split_once("system") {
                    Some((_, call)) => quoted(call),
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

    /// A line of a debugger, or of Tcl, where a command in brackets runs first. Code of another language goes on to the end.
    pub(super) fn debugger(&mut self, text: &str, span: &Span) {
        for line in text.lines().filter(|l| !l.trim().is_empty()).take(MAX_LINES) {
            let word = line.split_whitespace().next().unwrap_or("");
            if matches!(word, "python" | "py" | "python-interactive" | "script" | "pi" | "shell" | "pipe" | "|") {
                self.escapes(Language::Debugger, line.trim(), span);
                continue;
            }
            for part in line.split(';').take(MAX_LINES) {
                self.escapes(Language::Debugger, part.trim_start(), span);
                for inner in part.split('[').skip(1).take(16) {
                    let inner = inner.split(']').next().unwrap_or("").trim_start();
                    if inner.starts_with("exec ") || inner.starts_with("open ") {
                        self.escapes(Language::Debugger, inner, span);
                    }
                }
            }
        }
    }

    /// `syscmd(`…')` and `esyscmd(…)` of m4.
    pub(super) fn macros(&mut self, text: &str, span: &Span) {
        for (_, call) in text.match_indices("syscmd").take(MAX_LINES).map(|(at, name)| (at, &text[at + name.len()..])) {
            let Some(inside) = call.trim_start().strip_prefix('(') else { continue };
            let mut depth = 0;
            let end = inside.find(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth < 0
            });
            let shell = inside[..end.unwrap_or(inside.len())].trim().trim_start_matches('`').trim_end_matches('\'');
            self.hands_over(shell, span);
        }
    }

    /// `!COMMAND` of dc: all of the line behind it; `!<`, `!=` and `!>` compare.
    pub(super) fn calculator(&mut self, text: &str, span: &Span) {
        for line in text.lines().take(MAX_LINES) {
            let marks = line.match_indices('!').map(|(at, _)| &line[at + 1..]);
            if let Some(shell) = marks.into_iter().find(|rest| !rest.starts_with(['<', '=', '>'])) {
                self.hands_over(shell, span);
            }
        }
    }

    /// Settings, one in a line, of which those that name a command hold one: `ProxyCommand COMMAND`, `Match exec "COMMAND"`.
    pub(in crate::policy::shell) fn settings(&mut self, text: &str, span: &Span) {
        // A value that an option gives may have several lines.
        for line in [text].into_iter().chain(text.lines().skip(1)).take(MAX_LINES) {
            let line = line.trim();
            let Some((name, value)) = line.split_once(|c: char| c.is_whitespace() || c == '=') else { continue };
            let lower = name.to_ascii_lowercase();
            let value = match lower.as_str() {
                "match" => line.split_once("exec").and_then(|(_, rest)| quoted(rest)),
                name if name.contains("command") || name.contains("exec") => Some(value),
                _ => None,
            };
            if let Some(shell) = value {
                let shell = shell.trim_start_matches(['=', ' ']);
                let whole = shell.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                self.hands_over(whole.filter(|text| !text.contains('"')).unwrap_or(shell), span);
            }
        }
    }

    /// `execute_process(COMMAND program words…)` of cmake.
    pub(super) fn processes(&mut self, text: &str, span: &Span) {
        for call in text.split("execute_process").skip(1).take(MAX_LINES) {
            let inside = call.trim_start().trim_start_matches('(').split(')').next().unwrap_or("");
            for command in inside.split("COMMAND").skip(1).take(16) {
                self.hands_over(command, span);
            }
        }
    }

    /// Code of a language, as its interpreter would get it.
    pub(super) fn given_code(&mut self, lang: Lang, text: &str, span: &Span) {
        self.code(lang, text, span);
        self.scan_code(text, span);
    }

    fn hands_over(&mut self, shell: &str, span: &Span) {
        if !shell.trim().is_empty() {
            self.find("arbitrary program execution via a flag", span.clone());
            self.shell_line(shell, span);
        }
    }
}

/// The first text in quotes of any kind.
fn quoted(text: &str) -> Option<&str> {
    let at = text.find(['"', '\''])?;
    let mark = &text[at..at + 1];
    text[at + 1..].split(mark).next()
}

/// Whether what stands before `!` in a line of an editor is a range, or a command that takes the output of a shell line.
fn is_address(before: &str) -> bool {
    let rest = before.trim_start_matches(|c: char| c.is_ascii_digit() || ",.$%'<>+- ".contains(c)).trim();
    matches!(rest, "" | "r" | "read" | "w" | "write" | "silent" | "sil" | "exe" | "execute" | "normal" | "e")
}

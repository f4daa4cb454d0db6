//! Texts inside of words that run: aliases of git, strings of code.

use super::Walker;
use super::invoke::Known;
use crate::policy::shell::read::ast::Span;
use crate::policy::table::Level;

impl Walker<'_> {
    /// `git -c alias.x=… x`: what the alias stands for runs.
    pub(super) fn git_alias(&mut self, known: &Known<'_>, me: usize) {
        let Some(word) = known.operand(0).map(|f| f.text.to_lowercase()) else { return };
        for flag in known.args.flags.iter().filter(|f| f.name == "-c") {
            let Some((text, at)) = &flag.value else { continue };
            let Some((name, value)) = text.split_once('=') else { continue };
            if name.to_lowercase() != format!("alias.{word}") {
                continue;
            }
            let span = known.argv[*at].span.clone();
            let rest = known.args.operands.get(1).map_or(&[][..], |from| &known.argv[*from..]);
            let words = rest.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" ");
            let line = match value.strip_prefix('!') {
                Some(shell) => format!("{shell} {words}"),
                None => format!("git {value} {words}"),
            };
            self.subshell(|w| w.text(&line, &span, None));
            self.current = Some(me);
        }
    }

    /// Code for an interpreter: shell commands in its strings that no mode runs are refused here too.
    pub(in crate::policy::shell) fn scan_code(&mut self, code: &str, span: &Span) {
        const RUNNERS: &[&str] = &[
            "system",
            "popen",
            "subprocess",
            "exec",
            "spawn",
            "Deno.Command",
            "`",
            "sh(",
            "shell",
            "run(",
            "fork",
            "os.cmd",
            "command",
            "run-program",
            "process",
            "Process",
            "launch",
            // Scala, Groovy
            ".!",
            ".execute(",
        ];
        if code.len() > 32 * 1024 || !RUNNERS.iter().any(|r| code.contains(r)) {
            return;
        }
        if code.contains("fork while") || code.contains("while 1: os.fork") || code.contains("while True: os.fork") {
            self.find("fork bomb", span.clone());
        }
        let mut strings: Vec<&str> = Vec::new();
        for quote in ['"', '\'', '`'] {
            strings.extend(code.split(quote).skip(1).step_by(2).take(32));
        }
        let together: Vec<String> = ['"', '\'']
            .iter()
            .map(|quote| code.split(*quote).skip(1).step_by(2).take(16).collect::<Vec<_>>().join(" "))
            .collect();
        for text in strings.into_iter().chain(together.iter().map(String::as_str)) {
            let level = self.try_out(|w| {
                w.text(text, span, None);
            });
            if level == Level::Refuse {
                self.find_as(
                    "delete of root, home or a system folder",
                    format!("runs `{text}` in a shell"),
                    span.clone(),
                );
                return;
            }
        }
    }
}

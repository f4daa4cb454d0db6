//! Words that choose what a command does: subcommands, options and aliases, and those that are only known when it runs.

use super::ast::Span;
use super::invoke::Known;
use super::resolve::{Field, UNKNOWN};
use super::walk::Walker;
use crate::policy::table::{Level, RuleSpec};

impl Walker<'_> {
    /// A subcommand or an option that is only known when it runs may be one that asks.
    pub(super) fn unresolved_words(&mut self, known: &Known<'_>) {
        let (rules, sub) = (&known.spec.rules, &known.spec.sub);
        let asks = !rules.is_empty() || !sub.is_empty();
        if !asks || known.spec.wrap.is_some() && known.spec.sub.is_empty() {
            return;
        }
        let chosen = !sub.is_empty() || rules.iter().any(|rule| !rule.first.is_empty());
        let option = known.argv[1..].iter().find(|f| f.text.starts_with('-') && !f.is_known() && !f.text.contains('='));
        let starts = |f: &&Field| f.text.starts_with(UNKNOWN);
        let word = known.operand(0).filter(|f| chosen && starts(f));
        // `tar $OPTIONS x`: a word that the shell splits may be options.
        let options = |rule: &RuleSpec| !rule.flags.is_empty() || !rule.arg.is_empty();
        let split = known.operand(0).filter(|f| f.loose && starts(f) && rules.iter().any(options));
        // `aws s3 $OP`, `hermes config $X`: the second word chooses.
        let second = known.operand(1).filter(starts).filter(|_| {
            let first = known.operand(0).map_or("", |f| f.text.as_str());
            rules.iter().any(|r| !r.operand.is_empty() && r.first.iter().any(|p| p == first))
                || sub
                    .keys()
                    .flat_map(|key| key.split(','))
                    .any(|name| name.trim().split_once(' ').is_some_and(|(one, _)| one == first))
        });
        // `git config core.$K x`: the name that is set.
        let named = known.operand(0).filter(|f| {
            let known_part = f.text.split(UNKNOWN).next().unwrap_or("").to_lowercase();
            !f.is_known()
                && known.args.operands.len() > 1
                && rules.iter().any(|r| r.min > 1 && r.arg.iter().any(|p| p.starts_with(&known_part)))
        });
        if let Some(field) = option.or(word).or(split).or(second).or(named) {
            let span = field.span.clone();
            self.find("unresolved words", span);
        }
    }

    /// A file that is written and whose name, or whose place among devices and dot files, is only known when it runs.
    pub(super) fn unresolved_target(&mut self, field: &Field) {
        let Some((before, _)) = field.text.split_once(UNKNOWN) else { return };
        let hidden = format!("{}/.", self.home);
        if (before.is_empty() && field.text.len() == 1) || before == hidden || matches!(before, "/dev/" | "/etc/") {
            self.find("write to an unresolved path", field.span.clone());
        }
    }

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

    /// `git checkout PATH` throws changes away, `git checkout BRANCH` does not.
    pub(super) fn git_checkout(&mut self, known: &Known<'_>, from: usize) {
        let creates = known.has(&["-b", "-B", "--orphan", "-t", "--track"]);
        let dashes = known.argv[from..].iter().any(|f| f.text == "--");
        let several = known.args.operands.len() > 1 && !creates;
        let exists = !creates
            && known.operand(0).is_some_and(|f| {
                f.is_known()
                    && self
                        .absolute(&f.text)
                        .iter()
                        .any(|p| !self.world.glob(p, std::path::Path::new("/"), 1).is_empty())
            });
        if (dashes && !known.args.operands.is_empty()) || several || exists {
            self.find("git discards work", known.span());
        }
    }

    /// Code for an interpreter: shell commands in its strings that no mode runs are refused here too.
    pub(super) fn scan_code(&mut self, code: &str, span: &Span) {
        const RUNNERS: &[&str] =
            &["system", "popen", "subprocess", "exec", "spawn", "Deno.Command", "`", "sh(", "shell", "run(", "fork"];
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
        for text in strings {
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

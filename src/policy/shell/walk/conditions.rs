//! Which rules of the table hold for a command.

use super::Walker;
use super::invoke::Known;
use super::resolve::UNKNOWN;
use crate::policy::glob;
use crate::policy::shell::programs::interpret::CODE_TEXT;
use crate::policy::table::{Kind, RuleSpec};

/// Effects of commands that hand one of their words to a shell.
const RUNNERS: &[&str] = &[
    "arbitrary program execution via a flag",
    "program setting that runs commands",
    "script execution via -e/-c flag",
    "schedules a command",
    "git rewrites history",
];

/// Options with which a known program does nothing but tell.
const NEUTRAL: &[&str] =
    &["--help", "-h", "--version", "-V", "--dry-run", "-n", "--check", "--no-act", "--simulate", "--test"];

impl Walker<'_> {
    /// Notes the effects whose conditions hold.
    pub(in crate::policy::shell) fn rules(&mut self, known: &Known<'_>, rules: &[RuleSpec], from: usize) {
        let any = |patterns: &[String], text: &str| patterns.iter().any(|p| glob::matches(p, text));
        let named = &known.argv[0];
        let own = named.text.contains('/') && self.absolute(&named.text).iter().any(|path| self.border.has(path));
        for rule in rules {
            let args = &known.args;
            if rule.bare && known.argv.len() > 1 || rule.fed && !known.fed {
                continue;
            }
            let count = args.operands.len();
            if count < rule.min || rule.max > 0 && count > rule.max {
                continue;
            }
            let spared = args.has_exactly(&rule.not);
            // A program of the workspace may have the name and none of the options.
            let neutral = || {
                args.flags.iter().all(|flag| !rule.not.contains(&flag.name) || NEUTRAL.contains(&flag.name.as_str()))
            };
            if spared && !(own && neutral()) {
                continue;
            }
            let mut span = known.argv[0].span.clone();
            let mut handed: Option<String> = None;
            if !rule.flags.is_empty() {
                let hit = args.matching(&rule.flags).find(|flag| {
                    let value = flag.value.as_ref().map(|v| v.0.as_str());
                    rule.value.is_empty()
                        || value.is_some_and(|v| {
                            any(&rule.value, v) || any(&rule.value, &v.to_lowercase()) || v.contains(UNKNOWN)
                        })
                });
                let Some(flag) = hit else { continue };
                handed = flag.value.as_ref().map(|value| value.0.clone()).filter(|text| text.contains(' '));
                let end = flag.value.as_ref().map_or(flag.at, |v| v.1);
                span = known.argv[flag.at.min(end)].span.start..known.argv[end.max(flag.at)].span.end;
            }
            if !rule.also.is_empty() && args.matching(&rule.also).next().is_none() {
                continue;
            }
            let mut ok = true;
            let first = known.first_operands();
            let next = args.operands.get(first.len()..).unwrap_or_default();
            let (second, last) = (next.first(), args.operands.last());
            let places = [
                (&rule.first, first),
                (&rule.second, second.map(std::slice::from_ref).unwrap_or_default()),
                (&rule.last, last.map(std::slice::from_ref).unwrap_or_default()),
            ];
            for (patterns, fields) in places {
                if !patterns.is_empty() {
                    match fields.iter().find(|at| any(patterns, &known.argv[**at].text)) {
                        Some(at) => span = known.argv[*at].span.clone(),
                        None => ok = false,
                    }
                }
            }
            let named = |at: &usize| any(&rule.but, &known.argv[*at].text.to_lowercase());
            if !rule.but.is_empty() && first.iter().any(named) {
                continue;
            }
            if ok && !rule.operand.is_empty() {
                match known.operands().find(|f| any(&rule.operand, &f.text)) {
                    Some(field) => span = field.span.clone(),
                    None => ok = false,
                }
            }
            for patterns in [&rule.arg, &rule.arg2] {
                if ok && !patterns.is_empty() {
                    match known.argv[from.min(known.argv.len())..]
                        .iter()
                        .find(|f| any(patterns, &f.text.to_lowercase()) || any(patterns, &f.text))
                    {
                        Some(field) => span = field.span.clone(),
                        None => ok = false,
                    }
                }
            }
            // Code that is read can turn out to be harmless: whoever reads it finds this.
            if ok && !(known.spec.kind == Kind::Interpreter && rule.effect == CODE_TEXT) {
                let whole = known.argv[0].span.start..span.end.max(known.argv[0].span.end);
                let span = if span.start >= whole.start { whole } else { span };
                match rule.level {
                    Some(level) => self.find_at(&rule.effect, level, span),
                    None => self.find(&rule.effect, span),
                }
                // Code of a language is looked through where it is read.
                if RUNNERS.contains(&rule.effect.as_str()) && known.spec.kind != Kind::Interpreter {
                    if let Some(text) = handed {
                        self.runs_text(&text, &known.span());
                    }
                    for field in
                        known.argv[1..].iter().filter(|f| f.text.contains(' ')).take(8).cloned().collect::<Vec<_>>()
                    {
                        self.runs_text(&field.text, &field.span);
                    }
                }
            }
        }
    }
}

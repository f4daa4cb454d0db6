//! Words that are only known when the line runs: where they decide what a command does, that is a question.

use super::Walker;
use super::invoke::Known;
use super::resolve::{Field, UNKNOWN};
use crate::policy::files::{is_protected, normal};
use crate::policy::glob;
use crate::policy::shell::programs::fetch::is_telling_little;
use crate::policy::table::{Kind, Role, RuleSpec};
use std::path::Path;

/// Options of these effects are not worth a question when only their possibility is known.
const MINOR: &[&str] = &["names from a file", "prints the environment"];

impl Walker<'_> {
    /// A subcommand or an option that is only known when it runs may be one that asks. Before the subcommand is looked for.
    pub(super) fn unresolved_words(&mut self, known: &Known<'_>) {
        if known.spec.sub.is_empty() {
            return self.unresolved_level(known);
        }
        let first = known.args.operands.first().copied().unwrap_or(known.argv.len());
        let option = known.argv[1..first].iter().find(|f| is_unknown_option(f));
        let words: Vec<&Field> = known.operands().take(3).collect();
        let sub = words.iter().enumerate().find(|(i, field)| {
            let pattern = field.glob && glob::is_pattern(&field.text);
            let is = |part: &str| field.text.starts_with(UNKNOWN) || pattern && glob::matches(&field.text, part);
            (pattern || field.text.starts_with(UNKNOWN))
                && known.spec.sub.keys().flat_map(|key| key.split(',')).any(|name| {
                    let parts: Vec<&str> = name.trim().split(' ').collect();
                    parts.len() > *i
                        && is(parts[*i])
                        && parts[..*i].iter().zip(&words).all(|(part, word)| *part == word.text)
                })
        });
        if let Some(field) = option.or(sub.map(|(_, field)| *field)) {
            self.find("unresolved words", field.span.clone());
        }
    }

    /// Words of a command, or of a subcommand, that may be options which ask, or what its rules look for.
    pub(super) fn unresolved_level(&mut self, known: &Known<'_>) {
        let from = known.from;
        if known.argv[from.min(known.argv.len())..].iter().all(|f| f.is_known() && !is_pattern(f)) {
            return;
        }
        let wraps = known.spec.wrap.is_some();
        let asks = known.spec.rules.iter().any(|rule| asks_by_option(rule, wraps))
            || known.spec.paths.iter().any(|paths| paths.role == Role::Edit && !paths.flags.is_empty())
            || known.spec.values.values().any(|role| matches!(role, Role::Write | Role::Edit));
        let value_of_option =
            |at: usize| known.args.flags.iter().any(|flag| flag.value.as_ref().is_some_and(|value| value.1 == at));
        let own = match &known.spec.wrap {
            Some(wrap) => wrap.skip,
            None => usize::MAX,
        };
        let found = match known.spec.kind {
            Kind::Find => unresolved_expression(known.argv),
            Kind::Xargs | Kind::Parallel | Kind::Echo | Kind::Printf | Kind::Eval | Kind::Cd => None,
            Kind::Kill => known.operands().find(|f| f.text.starts_with(UNKNOWN) && f.unset),
            Kind::Source => known.operand(0).filter(|f| f.text.starts_with(UNKNOWN) && f.unset),
            Kind::Interpreter => known.operand(0).filter(|f| f.text.starts_with(UNKNOWN) && !f.process),
            Kind::Sed | Kind::Awk => {
                let given = known.has(&["-e", "--expression", "-f", "--file", "--source"]);
                known.operand(0).filter(|f| !given && f.text.starts_with(UNKNOWN))
            }
            Kind::Sql => unresolved_statement(known),
            _ => None,
        };
        let option = || {
            let words = known.argv.iter().enumerate().skip(from);
            let mut options = words.filter(|(at, field)| is_unknown_option(field) && !value_of_option(*at));
            options.next().filter(|_| asks).map(|(_, field)| field)
        };
        let loose = || known.operands().take(own).find(|f| asks && f.open && is_unknown(f));
        let matched = || {
            let field = known.operand(0).filter(|f| own > 0 && (!f.is_known() || is_pattern(f)))?;
            if field.is_known() {
                let plain = |p: &&String| !p.is_empty() && !glob::is_pattern(p);
                let names = known.spec.rules.iter().flat_map(|rule| &rule.first).filter(plain);
                return names.into_iter().any(|name| glob::matches(&field.text, name)).then_some(field);
            }
            if known.spec.kind == Kind::Fetch && is_telling_little(field) {
                return None;
            }
            let wanted = |rule: &RuleSpec| {
                let patterns = [&rule.first, &rule.operand, &rule.arg];
                rule.flags.is_empty()
                    && patterns.iter().any(|all| all.iter().any(|p| !p.contains(UNKNOWN) && may_match(p, &field.text)))
            };
            known.spec.rules.iter().any(wanted).then_some(field)
        };
        if let Some(field) = found.or_else(option).or_else(loose).or_else(matched) {
            self.find("unresolved words", field.span.clone());
        }
    }

    /// A file is written whose path is only known when the line runs: may it be one that is protected?
    pub(in crate::policy::shell) fn unresolved_target(&mut self, role: Role, field: &Field) {
        if field.is_known() || field.process || !matches!(role, Role::Write | Role::Edit | Role::Device | Role::Move) {
            return;
        }
        let start = field.text.split(UNKNOWN).next().unwrap_or("");
        let anywhere = start.is_empty() || self.absolute(start).iter().any(|at| at.starts_with(&format!("/{UNKNOWN}")));
        if anywhere || start.starts_with('/') && self.may_be_protected(start) {
            let say = "writes a file whose name is known only when it runs";
            self.find_as("write to an unresolved path", say.into(), field.span.clone());
        }
    }

    /// Operands beyond those that are looked at: only whether one is a folder whose loss is the loss of all.
    pub(in crate::policy::shell) fn beyond(&mut self, role: Role, fields: &[Field]) {
        if !matches!(role, Role::Delete | Role::DeleteTree | Role::Move | Role::PermissionsTree | Role::Device) {
            return;
        }
        let names_place = |f: &&Field| f.glob || f.text.starts_with(['/', '.']) || f.text.ends_with('/');
        for field in fields.iter().filter(names_place) {
            let text = field.text.trim_end_matches(['*', '/', '.']);
            let folder = if text.is_empty() && field.text.starts_with('/') { "/" } else { text };
            let place = |text: &str| self.absolute(text).iter().any(|path| is_protected(path, self.world));
            if place(folder) || place(&field.text) {
                let effect = match role {
                    Role::Move => "moves a protected folder",
                    Role::PermissionsTree => "permissions of a system folder",
                    _ => "delete of root, home or a system folder",
                };
                return self.find(effect, field.span.clone());
            }
        }
    }

    /// Whether the patterns of a protected class go on where this beginning of a path ends.
    fn may_be_protected(&self, start: &str) -> bool {
        let folder = start.ends_with('/');
        let mut start = normal(Path::new("/"), start);
        if folder && !start.ends_with('/') {
            start.push('/');
        }
        let home = Path::new(&self.home).starts_with(start.trim_end_matches('/')) && folder;
        let table = self.table;
        home || table.patterns.each.iter().zip(&table.paths.classes).any(|(patterns, class)| {
            !class.write.is_empty()
                && patterns.paths.iter().any(|pattern| {
                    let (base, fixed) = (pattern.base(&self.home, &self.own), pattern.start());
                    !(base.is_empty() && fixed.is_empty() || pattern.glob.starts_with("*/"))
                        && format!("{base}{fixed}").starts_with(&start)
                })
        })
    }
}

/// Whether an option alone makes the rule hold; of what runs other programs one with a value counts too.
fn asks_by_option(rule: &RuleSpec, wraps: bool) -> bool {
    let alone = rule.value.is_empty() && rule.arg.is_empty() || wraps;
    !rule.flags.is_empty() && alone && !MINOR.contains(&rule.effect.as_str())
}

/// `$X` alone.
fn is_unknown(field: &Field) -> bool {
    field.text.chars().eq([UNKNOWN])
}

/// `-$X` and `--x$Y`; not `--name=$X`. A file may be there whose name is an option that `-*` matches.
fn is_unknown_option(field: &Field) -> bool {
    field.text.starts_with('-') && (!field.is_known() || is_pattern(field)) && !field.text.contains('=')
}

/// A word that the shell replaces by the names of files.
fn is_pattern(field: &Field) -> bool {
    field.glob && glob::is_pattern(&field.text)
}

/// A word of `find` that may be an action.
fn unresolved_expression(argv: &[Field]) -> Option<&Field> {
    (2..argv.len()).map(|i| (&argv[i - 1].text, &argv[i])).find_map(|(before, field)| {
        let action = is_unknown_option(field) && !before.starts_with('-');
        let loose = field.open && is_unknown(field) && !before.starts_with('-');
        (action || loose || field.text.starts_with(&format!("-{UNKNOWN}"))).then_some(field)
    })
}

/// SQL that is not known.
fn unresolved_statement<'a>(known: &'a Known<'_>) -> Option<&'a Field> {
    known.argv.iter().enumerate().skip(2).map(|(i, field)| (known.argv[i - 1].text.as_str(), field)).find_map(
        |(before, field)| {
            let statement = matches!(before, "-c" | "--command" | "-e" | "--execute" | "-q" | "-Q" | "--query")
                || !before.starts_with('-') && known.name.starts_with("sqlite");
            (statement && field.text.starts_with(UNKNOWN)).then_some(field)
        },
    )
}

/// Whether a pattern can match a text of which some parts are not known.
pub(super) fn may_match(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().take(256).collect();
    // `ends[t]`: the pattern from here on can match the text from `t` on.
    let mut ends = vec![false; text.len() + 1];
    ends[text.len()] = true;
    for t in (0..text.len()).rev() {
        ends[t] = ends[t + 1] && text[t] == UNKNOWN;
    }
    let mut p = pattern.len();
    while p > 0 {
        p -= 1;
        let last = p;
        if pattern[p] == ']' {
            p = pattern[..p].iter().rposition(|c| *c == '[').unwrap_or(p);
        }
        let item: String = pattern[p..=last].iter().collect();
        let star = item == "*";
        let mut next = vec![false; text.len() + 1];
        for t in (0..=text.len()).rev() {
            let skip = t < text.len() && text[t] == UNKNOWN;
            next[t] = if star {
                ends[t] || t < text.len() && next[t + 1]
            } else {
                let one =
                    t < text.len() && !skip && glob::matches(&item, text[t].encode_utf8(&mut [0; 4])) && ends[t + 1];
                one || skip && (ends[t] || next[t + 1])
            };
        }
        ends = next;
    }
    ends[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_unknown_texts() {
        for (pattern, text, want) in [
            ("core.*command*", "core.\0", true),
            ("core.pager", "user.\0", false),
            ("[0-7]*[2367]", "\0", true),
            ("[0-7]*[2367]", "./\0", false),
            ("alias.*", "a\0", true),
            ("stop", "\0", true),
            ("stop", "sto", false),
            ("+*", "\0x", true),
            ("+*", "x\0", false),
        ] {
            assert_eq!(may_match(pattern, text), want, "{pattern} {text}");
        }
    }
}

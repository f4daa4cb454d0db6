//! From what a call would do and the rules that hold to a verdict.

mod closed;
mod line;
mod path;

pub use closed::Closed;

use super::permissions::{Names, Permission, Reader};
use super::rule::{Action, Rules};
use super::{Intent, Mode, Verdict, Why, World};
use std::path::Path;

/// The class of a question that a rule of the person asks.
pub const BY_RULE: &str = "asked by rule";

/// A verdict and the rules that made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub verdict: Verdict,
    /// Rules that answered, asked or denied, as a person finds them: `terminal(git push *): allow (permissions.yaml:3)`.
    pub rules: Vec<String>,
    /// It would be a question in another mode.
    pub unasked: bool,
}

/// Judges a call. `cwd` of edits and reads is where `world` resolves relative paths from: the home folder when not absolute.
pub fn decide(intent: &Intent, rules: &Rules, mode: Mode, world: &dyn World) -> Verdict {
    decide_in(intent, &world.home(), rules, mode, world)
}

/// Like [`decide`], for a task whose working folder is `cwd`.
pub fn decide_in(intent: &Intent, cwd: &Path, rules: &Rules, mode: Mode, world: &dyn World) -> Verdict {
    explain(intent, cwd, rules, mode, world).verdict
}

/// Like [`decide_in`], and says which rules decided.
pub fn explain(intent: &Intent, cwd: &Path, rules: &Rules, mode: Mode, world: &dyn World) -> Decided {
    let mut by = Vec::new();
    let names = Names::of(intent, &rules.here);
    let judged = match intent {
        Intent::Talk => by_name(names, cwd, rules, &mut by),
        Intent::Read(file) => path::read(file, cwd, rules, names, world, &mut by),
        Intent::Edit(edits) => path::edit(edits, cwd, rules, names, world, &mut by),
        Intent::Remote { server, tool, .. } => super::remote::judge(server, tool, cwd, rules, &mut by),
        Intent::Command { line, cwd, .. } => line::judge(line, cwd, rules, names, world, &mut by),
        Intent::Input { text, .. } => typed(text, cwd, rules, names, world, &mut by),
    };
    let judged = match &rules.unreadable {
        Some(text) if *intent != Intent::Talk => with_unreadable(judged, text),
        _ => judged,
    };
    by.dedup();
    match (mode, judged) {
        (Mode::Off, Verdict::Ask(why)) => Decided { verdict: Verdict::Allow(why), rules: by, unasked: true },
        (_, verdict) => Decided { verdict, rules: by, unasked: false },
    }
}

/// Text for a running program, judged as a line of shell: it comes to one whenever the program ends. What another program
/// makes of it nobody knows.
fn typed(text: &str, cwd: &Path, rules: &Rules, names: Names<'_>, world: &dyn World, by: &mut Vec<String>) -> Verdict {
    let mut more: Vec<Why> = Vec::new();
    if !is_whole_line(text) {
        more.push(fragment(text));
    }
    more.extend(for_a_program(&rules.here.reader, text));
    match line::judge(text, cwd, rules, names, world, by) {
        // What the text reaches is not certain to be a shell: at most a question, but one that is always asked.
        Verdict::Refuse(why) => Verdict::AskAlways(why),
        other if more.is_empty() => other,
        Verdict::Allow(_) => granted(Verdict::Ask(more), rules, by),
        Verdict::Ask(mut why) => {
            why.extend(more);
            Verdict::Ask(why)
        }
        other => other,
    }
}

/// The question about text for a program whose language is not ours.
fn for_a_program(reader: &Reader, text: &str) -> Option<Why> {
    let (effect, who) = match reader {
        Reader::Shell => return None,
        Reader::Program(name) => (format!("typing into {name}"), format!("{name}, which is no shell")),
        Reader::Unknown => ("typing into an unknown program".into(), "a program that could not be told".into()),
    };
    let text_of = format!("goes to {who}: what it does with the text is not known");
    Some(Why { effect, text: text_of, span: 0..text.len() })
}

/// One line with its end and without keys: what is judged is then what the program gets.
fn is_whole_line(text: &str) -> bool {
    text.strip_suffix('\n').is_some_and(|line| !line.contains(char::is_control))
}

/// A line typed in parts, or with keys that edit it, is never seen by the gate as a whole.
fn fragment(text: &str) -> Why {
    let why = "types keys or a part of a line, which can become any command with what is typed next";
    Why { effect: "typing of anything but a whole line".into(), text: why.into(), span: 0..text.len() }
}

/// A permission file that cannot be read may deny this.
fn with_unreadable(judged: Verdict, text: &str) -> Verdict {
    let why = Why { effect: "unreadable permissions".into(), text: text.to_owned(), span: 0..0 };
    match judged {
        Verdict::Allow(mut reasons) | Verdict::Ask(mut reasons) | Verdict::AskAlways(mut reasons) => {
            reasons.insert(0, why);
            Verdict::AskAlways(reasons)
        }
        other => other,
    }
}

/// Without the questions whose class was granted.
fn granted(verdict: Verdict, rules: &Rules, by: &mut Vec<String>) -> Verdict {
    match verdict {
        Verdict::Ask(why) if why.iter().all(|w| w.effect != BY_RULE && rules.grants(&w.effect, &[])) => {
            by.extend(why.iter().filter_map(|w| rules.granter(&w.effect, &[])));
            Verdict::Allow(why)
        }
        other => other,
    }
}

/// What the rules that mean a call say of it together.
enum Said<'a> {
    Denies(&'a Permission),
    Asks(&'a Permission),
    Allows(&'a Permission),
}

/// One that denies counts, then the one that says more; of two that say as much, the one that asks.
fn said<'a>(rules: impl Iterator<Item = &'a Permission>) -> Option<Said<'a>> {
    let rank = |one: &&Permission| (one.action == Action::Deny, one.weight(), one.action == Action::Ask);
    let one = rules.max_by_key(rank)?;
    Some(match one.action {
        Action::Deny => Said::Denies(one),
        Action::Ask => Said::Asks(one),
        Action::Allow => Said::Allows(one),
    })
}

/// A tool that has nothing but its name.
fn by_name(names: Names<'_>, cwd: &Path, rules: &Rules, by: &mut Vec<String>) -> Verdict {
    match said(rules.held(cwd).filter(|one| one.names(names))) {
        Some(Said::Denies(one)) => {
            by.push(one.label());
            denied(&one.label(), 0..0)
        }
        Some(Said::Asks(one)) => {
            by.push(one.label());
            Verdict::Ask(vec![asked(&one.label(), 0..0)])
        }
        Some(Said::Allows(_)) | None => Verdict::Allow(Vec::new()),
    }
}

fn denied(label: &str, span: std::ops::Range<usize>) -> Verdict {
    Verdict::DeniedByRule(Why { effect: "denied by rule".into(), text: format!("your rule `{label}` denies"), span })
}

fn asked(label: &str, span: std::ops::Range<usize>) -> Why {
    Why { effect: BY_RULE.into(), text: format!("your rule `{label}` asks"), span }
}

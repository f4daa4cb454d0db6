//! From what a call would do and the rules that hold to a verdict.

mod closed;
mod code;
mod line;
mod mode;
mod path;
mod typed;

pub use closed::Closed;
pub use mode::{PLANNING, REVIEWED, only_reads};
pub use typed::in_process;

use super::permissions::{Names, Permission};
use super::rule::{Action, Rules};
use super::{Intent, Mode, Verdict, Why, World};
use std::path::Path;
use typed::Typed;

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
        Intent::Talk | Intent::Handle => by_name(names, cwd, rules, &mut by),
        Intent::Read(file) => path::read(file, cwd, rules, names, world, &mut by),
        Intent::Edit(edits) => path::edit(edits, mode, cwd, rules, names, world, &mut by),
        Intent::Code { language, code, cwd } => code::judge(language, code, cwd, rules, names, world, &mut by),
        Intent::Remote { server, tool, .. } => super::remote::judge(server, tool, cwd, rules, &mut by),
        Intent::Command { line, cwd, .. } => line::judge(line, cwd, rules, names, world, &mut by),
        Intent::Input { process, text } => Typed { process, text, cwd, rules, names, world }.judge(&mut by),
    };
    let judged = match &rules.unreadable {
        Some(text) if !matches!(intent, Intent::Talk | Intent::Handle) => with_unreadable(judged, text),
        _ => judged,
    };
    by.dedup();
    mode::applied(mode, intent, judged, by, rules, world)
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
    match said(rules.in_effect(cwd).filter(|one| one.names(names))) {
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

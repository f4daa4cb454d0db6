//! From what a call would do and the rules that hold to a verdict.

use super::files::{judge_edit, judge_read, verdict};
use super::rule::{Listed, Rule, Rules, denied_by_glob, listed, stays_below};
use super::shell::{self, Finding, Invocation, Judgement};
use super::table::{Level, table};
use super::{Intent, Mode, Verdict, Why, World};
use std::path::Path;

/// Commands that never make a line fall out of an allow rule: they change nothing but the line itself.
const NEUTRAL: &[&str] = &["cd", "pushd", "popd", "true", ":", "false", "set", "export", "test", "[", "exit"];

/// Judges a call. `cwd` of edits and reads is where `world` resolves relative paths from: the home folder when not absolute.
pub fn decide(intent: &Intent, rules: &Rules, mode: Mode, world: &dyn World) -> Verdict {
    decide_in(intent, &world.home(), rules, mode, world)
}

/// Like [`decide`], for a task whose working folder is `cwd`.
pub fn decide_in(intent: &Intent, cwd: &Path, rules: &Rules, mode: Mode, world: &dyn World) -> Verdict {
    let judged = match intent {
        Intent::Talk => Verdict::Allow(Vec::new()),
        Intent::Read(path) => granted(judge_read(path, cwd, world), rules),
        Intent::Edit(edits) => granted(judge_edit(edits, cwd, world), rules),
        Intent::Remote { server, tool, .. } => super::remote::judge(server, tool, rules),
        Intent::Command { line, cwd, .. } => judge_line(line, cwd, rules, world),
        Intent::Input { text, .. } => match judge_line(text, cwd, rules, world) {
            // What the text reaches is not certain to be a shell: at most a question, but one that is always asked.
            Verdict::Refuse(why) => Verdict::AskAlways(why),
            other if is_whole_line(text) => other,
            Verdict::Allow(_) => granted(Verdict::Ask(vec![fragment(text)]), rules),
            Verdict::Ask(mut why) => {
                why.push(fragment(text));
                Verdict::Ask(why)
            }
            other => other,
        },
    };
    match (mode, judged) {
        (Mode::Off, Verdict::Ask(why)) => Verdict::Allow(why),
        (_, verdict) => verdict,
    }
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

/// Without the questions whose class was granted.
fn granted(verdict: Verdict, rules: &Rules) -> Verdict {
    match verdict {
        Verdict::Ask(why) if why.iter().all(|w| rules.grants(&w.effect, &[])) => Verdict::Allow(why),
        other => other,
    }
}

fn judge_line(line: &str, cwd: &Path, rules: &Rules, world: &dyn World) -> Verdict {
    let Judgement { mut findings, invocations, .. } = shell::judge(line, cwd, world);
    if findings.iter().any(|f| f.level == Level::Refuse) {
        return verdict(reasons(findings));
    }
    if let Some(why) = denied(line, rules, &invocations) {
        return Verdict::DeniedByRule(why);
    }
    allow(line, cwd, rules, &invocations, &mut findings, world);
    for rule in &rules.ask {
        for invocation in invocations.iter().filter(|i| rule.catches(i)) {
            findings.push(by_rule("asked by rule", format!("your rule `{rule}` asks"), invocation));
        }
    }
    verdict(reasons(findings))
}

fn reasons(findings: Vec<Finding>) -> Vec<(Level, Why)> {
    findings.into_iter().map(|f| (f.level, Why { effect: f.effect, text: f.text, span: f.span })).collect()
}

fn by_rule(effect: &str, text: String, invocation: &Invocation) -> Finding {
    Finding { effect: effect.into(), text, span: invocation.span.clone(), level: Level::Ask, fixed: true, by: None }
}

fn denied(line: &str, rules: &Rules, invocations: &[Invocation]) -> Option<Why> {
    let deny =
        |rule: String, span| Why { effect: "denied by rule".into(), text: format!("your rule `{rule}` denies"), span };
    for rule in &rules.deny {
        if let Some(hit) = invocations.iter().find(|i| rule.catches(i)) {
            return Some(deny(rule.to_string(), hit.span.clone()));
        }
    }
    if let Some(glob) = denied_by_glob(&rules.deny_globs, line) {
        return Some(deny(format!("deny {glob}"), 0..line.len()));
    }
    invocations.iter().find_map(|i| {
        [&i.words, &i.plain]
            .into_iter()
            .find_map(|words| denied_by_glob(&rules.deny_globs, &words.join(" ")))
            .map(|g| deny(format!("deny {g}"), i.span.clone()))
    })
}

/// Words in the names of effects that change or remove what paths name: a rule answers them for its own paths only.
const OF_PATHS: &[&str] = &["delete", "rm", "overwrite", "truncate", "permission", "chown", "move", "edit", "clean"];

/// Takes away the questions that rules and grants answer.
fn allow(
    line: &str,
    cwd: &Path,
    rules: &Rules,
    invocations: &[Invocation],
    findings: &mut Vec<Finding>,
    world: &dyn World,
) {
    let covered: Vec<bool> = (0..invocations.len()).map(|i| is_covered(i, &rules.allow, invocations)).collect();
    let in_list = listed(&rules.allowlist, line);
    let table = table().ok();
    findings.retain(|f| {
        if f.level != Level::Ask {
            return true;
        }
        let known = table.map(|t| t.effect(&f.effect)).unwrap_or_default();
        if rules.grants(&f.effect, &known.aka) || in_list == Some(Listed::Exactly) {
            return false;
        }
        let of_paths = OF_PATHS.iter().any(|word| f.effect.contains(word));
        let by_rule = f.by.is_some_and(|by| {
            covered.get(by).copied().unwrap_or(false) && {
                let invocation = &invocations[by];
                let mut direct = rules.allow.iter().filter(|rule| rule.covers(invocation)).peekable();
                !of_paths
                    || match direct.peek() {
                        Some(_) => direct.any(|rule| rule.holds(invocation, cwd, world)),
                        None => stays_below(cwd, invocation, world),
                    }
            }
        });
        let by_glob = in_list == Some(Listed::ByGlob)
            && (!of_paths || invocations.iter().all(|invocation| stays_below(cwd, invocation, world)));
        let named = !known.flagged
            || rules.allow.iter().any(|r| r.words.iter().take(r.literal_words()).any(|w| w.starts_with('-')));
        f.fixed || !named || !(by_rule || by_glob)
    });
    // A line passes a rule only when every part of it does.
    if covered.contains(&true) {
        for (i, invocation) in invocations.iter().enumerate() {
            let name = invocation.plain.first().map_or("", String::as_str);
            if !covered[i] && !invocation.quiet && !NEUTRAL.contains(&name) {
                findings.push(by_rule(
                    "beside the rule",
                    "no rule of yours allows this part of the line".into(),
                    invocation,
                ));
            }
        }
    }
}

/// Whether an allow rule covers a command: itself, or with the literal words of a rule for the command that runs it.
fn is_covered(i: usize, allow: &[Rule], invocations: &[Invocation]) -> bool {
    if allow.iter().any(|rule| rule.covers(&invocations[i])) {
        return true;
    }
    let (mut at, mut offset) = (i, 0);
    while let Some((outer, from)) = invocations[at].within {
        offset += from;
        if allow.iter().any(|rule| rule.literal_words() > offset && rule.covers(&invocations[outer])) {
            return true;
        }
        at = outer;
    }
    false
}

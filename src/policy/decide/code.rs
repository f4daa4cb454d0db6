//! A script that calls tools: what only computes and calls them passes, since each of its calls is judged by itself. What
//! else it does is asked about, and what its text runs is judged as the command that does the same.

use super::typed::OF_CODE;
use super::{Said, asked, denied, granted, line, said};
use crate::policy::permissions::Names;
use crate::policy::rule::Rules;
use crate::policy::{Verdict, Why, World, shell};
use std::path::Path;

/// The names of a command: rules that forbid one forbid it in a script, too.
const COMMAND: Names<'static> = Names { tool: "", action: "terminal.run", family: "terminal" };

/// Judges a script that would run in `cwd`.
pub(super) fn judge(
    language: &str,
    code: &str,
    cwd: &Path,
    rules: &Rules,
    names: Names<'_>,
    world: &dyn World,
    by: &mut Vec<String>,
) -> Verdict {
    let rule = said(rules.in_effect(cwd).filter(|one| one.names(names)));
    if let Some(Said::Denies(one)) = rule {
        by.push(one.label());
        return denied(&one.label(), 0..0);
    }
    let mut why = shell::script(language, code);
    // Looked for in any text: what is refused and what a rule forbids stay so, whatever else was made of it.
    let dangers = match as_command(language, code, cwd, rules, world) {
        Verdict::Ask(_) | Verdict::AskAlways(_) if why.is_empty() => Verdict::Allow(Vec::new()),
        dangers => dangers,
    };
    match (rule, dangers) {
        (_, Verdict::Refuse(reasons)) => Verdict::Refuse(reasons),
        (_, Verdict::DeniedByRule(reason)) => Verdict::DeniedByRule(reason),
        (_, Verdict::AskAlways(mut reasons)) => {
            reasons.append(&mut why);
            Verdict::AskAlways(reasons)
        }
        (Some(Said::Asks(one)), Verdict::Ask(mut more) | Verdict::Allow(mut more)) => {
            by.push(one.label());
            why.append(&mut more);
            why.insert(0, asked(&one.label(), 0..0));
            Verdict::Ask(why)
        }
        (Some(Said::Allows(one)), Verdict::Allow(_)) => {
            by.push(one.label());
            Verdict::Allow(why)
        }
        (_, Verdict::Ask(mut reasons)) => {
            reasons.append(&mut why);
            answered(reasons, rules, by)
        }
        (_, Verdict::Allow(_)) if why.is_empty() => Verdict::Allow(why),
        (_, Verdict::Allow(_)) => answered(why, rules, by),
    }
}

/// A question, where no lasting answer to all of it was given. An answer to what is not read is for one text.
fn answered(why: Vec<Why>, rules: &Rules, by: &mut Vec<String>) -> Verdict {
    if why.iter().any(|one| shell::asks_each_time(&one.effect)) {
        return Verdict::Ask(why);
    }
    granted(Verdict::Ask(why), rules, by)
}

/// The dangers of what the text runs, deletes and writes, without the question that any code on a command line is.
fn as_command(language: &str, code: &str, cwd: &Path, rules: &Rules, world: &dyn World) -> Verdict {
    let given = if language == shell::JAVASCRIPT { "node -e" } else { "python3 -c" };
    let command = format!("{given} '{}'", code.replace('\'', r"'\''"));
    let told = |why: Vec<Why>| {
        let counts = |why: &Why| !OF_CODE.contains(&why.effect.as_str());
        // Their places are those of the command around the text.
        why.into_iter().filter(counts).map(|why| Why { span: 0..0, ..why }).collect::<Vec<_>>()
    };
    match line::judge(&command, cwd, rules, COMMAND, world, &mut Vec::new()) {
        Verdict::Allow(_) => Verdict::Allow(Vec::new()),
        Verdict::Ask(why) => {
            Some(told(why)).filter(|why| !why.is_empty()).map_or(Verdict::Allow(Vec::new()), Verdict::Ask)
        }
        Verdict::AskAlways(why) => Verdict::AskAlways(told(why)),
        Verdict::DeniedByRule(why) => Verdict::DeniedByRule(Why { span: 0..0, ..why }),
        Verdict::Refuse(why) => Verdict::Refuse(told(why)),
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::decide::decide;
    use crate::policy::permissions::{Permission, subject};
    use crate::policy::rule::{Action, Rules};
    use crate::policy::testing::ALICE;
    use crate::policy::{Intent, Mode};

    #[test]
    fn what_a_script_does_besides_calling_tools_is_asked_about() {
        let calls = "from hermes_tools import read_file\nprint(len(read_file('a')['content']))";
        let runs = "import subprocess\nsubprocess.run(['ls'])";
        let rule = |action, text: &str| {
            let mut rules = Rules::default();
            rules.hold([Permission::new(action, subject(text).unwrap())]);
            rules
        };
        let mut session = Rules::default();
        for class in ["code that runs programs", "code that opens files", "code that is not fully read"] {
            session.session.add(class);
        }
        let none = Rules::default();
        for (code, rules, mode, want) in [
            (calls, &none, Mode::Ask, "allow"),
            (calls, &none, Mode::Plan, "allow"),
            (calls, &none, Mode::Review, "allow"),
            (runs, &none, Mode::Ask, "ask"),
            (runs, &none, Mode::Auto, "ask"),
            (runs, &none, Mode::Yolo, "allow"),
            (runs, &session, Mode::Ask, "allow"),
            // What was not read is not among what was granted.
            ("open('a'); import mylib; mylib.go()", &session, Mode::Ask, "ask"),
            ("import mylib\nmylib.go()", &session, Mode::Ask, "ask"),
            ("__import__('os')", &session, Mode::Ask, "ask"),
            (calls, &rule(Action::Deny, "code.run"), Mode::Ask, "denied-by-rule"),
            (calls, &rule(Action::Ask, "execute_code"), Mode::Ask, "ask"),
            (runs, &rule(Action::Allow, "code.run"), Mode::Ask, "allow"),
            (
                "import os\nos.system('git push')",
                &rule(Action::Deny, "terminal(git push*)"),
                Mode::Yolo,
                "denied-by-rule",
            ),
            // A name that hides another one hides nothing from the rules.
            (
                "from os import system as loads\nloads('git push')\nos.system('git push')\nfrom json import loads",
                &rule(Action::Deny, "terminal(git push*)"),
                Mode::Ask,
                "denied-by-rule",
            ),
            ("import os\nos.system('rm -rf ~')", &none, Mode::Yolo, "refuse"),
            ("import os\nos.system('rm -rf ~')", &rule(Action::Allow, "code.run"), Mode::Ask, "refuse"),
            ("import os\nos.system('rm -rf build')", &rule(Action::Allow, "code.run"), Mode::Ask, "ask"),
        ] {
            let intent =
                Intent::Code { language: "python".into(), code: code.into(), cwd: "/home/alice/project".into() };
            let mut rules = rules.clone();
            rules.here.tool = "execute_code".into();
            assert_eq!(decide(&intent, &rules, mode, &ALICE).name(), want, "{code} {mode:?}");
        }
    }
}

//! Rules as they are read, and what they cover.

use super::*;
use crate::policy::shell::Invocation;
use serde_json::Value;

fn rules(text: &str) -> Rules {
    let mut rules = Rules::default();
    rules.add(text).unwrap();
    rules
}

fn entries(action: Action, list: &Value) -> Rules {
    let mut rules = Rules::default();
    rules.hold(list.as_array().unwrap().iter().map(|entry| Permission::entry(action, entry.as_str().unwrap())));
    rules
}

fn invocation(text: &str) -> Invocation {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    Invocation { plain: words.clone(), words, span: 0..0, cwd: "/".into(), within: None, quiet: false, perhaps: false }
}

#[test]
fn reads_rules() {
    let rules = rules("allow .venv/bin/pylint *, grep *, deny rm *");
    let labels: Vec<String> = rules.permissions.iter().map(Permission::label).collect();
    assert_eq!(labels, ["allow .venv/bin/pylint *", "allow grep *", "deny rm *"]);
    assert_eq!(Rules::default().add("git *"), Err(RuleError::Action("git *".into())));
    assert_eq!(Rules::default().add("deny"), Err(RuleError::Empty("deny".into())));
}

#[test]
fn a_command_is_kept_with_its_place() {
    let exact = Exact::of("make && echo a\u{1f}b", Path::new("/srv/my app"), "");
    assert_eq!(Exact::read(&exact.entry()), Some(exact.clone()));
    assert_eq!(exact.subject(), "terminal@local(= make && echo a\u{1f}b)");
    assert_eq!(said(&Exact::of("make", Path::new("/srv"), "ssh").entry()), "make (in /srv)");
    for other in ["recursive delete", "terminal(make *)", "$ make"] {
        assert_eq!((Exact::read(other), said(other).as_str()), (None, other));
    }
}

#[test]
fn allow_covers_only_what_it_says() {
    for (rule, command, want) in [
        ("allow ls", "ls", true),
        ("allow ls", "ls -la", true),
        ("allow npm test", "npm test -- x", false),
        ("allow ls", "./bin/ls", false),
        ("allow ls", "/bin/ls", true),
        ("allow git *", "git log", true),
        ("allow git *", "git", true),
        ("allow git log *", "git push", false),
        ("allow git add -A*", "git add -A", true),
    ] {
        assert_eq!(rules(rule).permissions[0].on.rule.covers(&invocation(command)), want, "{rule}: {command}");
    }
}

#[test]
fn deny_catches_spellings() {
    for (rule, command, want) in [
        ("deny rm", "rm -rf x", true),
        ("deny rm *", "/bin/rm x", true),
        ("deny git push --force", "git push origin main --force", true),
        ("deny git add -A*", "git add -A", true),
        ("deny git clean *", "git clean -fd", true),
        ("deny git clean *", "git commit", false),
        ("deny id", "ls", false),
        ("deny rm *", "/bin/r? y", true),
        ("deny rm", "/b*/r[m] y", true),
        ("deny rm", "g* y", false),
    ] {
        assert_eq!(rules(rule).permissions[0].on.rule.catches(&invocation(command)), want, "{rule}: {command}");
    }
}

#[test]
fn allowlist_cases() {
    for line in include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/approval-allow-globs.jsonl")).lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let rules = entries(Action::Allow, &case["allow"]);
        let command = case["command"].as_str().unwrap();
        assert_eq!(
            listed(rules.entries(Action::Allow), command).is_some(),
            case["allowed_by_glob"].as_bool().unwrap(),
            "{line}"
        );
    }
}

#[test]
fn deny_glob_cases() {
    for line in include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/approval-deny-globs.jsonl")).lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (rules, command) = (entries(Action::Deny, &case["deny"]), case["command"].as_str().unwrap());
        assert_eq!(denied_by_glob(rules.entries(Action::Deny), command), case["matched"].as_str(), "{line}");
    }
}

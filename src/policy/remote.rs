//! Calls of tools that other programs bring (MCP servers, plugins): asked about, unless a person's rule names the tool.
//!
//! What the program says of its own tool never counts.

use super::rule::{Rules, denied_by_glob};
use super::{Verdict, Why, glob};

/// Judges a call of `tool`, by its whole name.
pub(super) fn judge(server: &str, tool: &str, rules: &Rules) -> Verdict {
    let why = |text: String| Why { effect: tool.to_owned(), text, span: 0..0 };
    let names = |words: &[String]| words.first().is_some_and(|word| glob::matches(word, tool));
    if let Some(rule) = rules.deny.iter().find(|rule| names(&rule.words)) {
        return Verdict::DeniedByRule(why(format!("your rule `{rule}` denies")));
    }
    if let Some(entry) = denied_by_glob(&rules.deny_globs, tool) {
        return Verdict::DeniedByRule(why(format!("your rule `deny {entry}` denies")));
    }
    if let Some(rule) = rules.ask.iter().find(|rule| names(&rule.words)) {
        return Verdict::Ask(vec![why(format!("your rule `{rule}` asks"))]);
    }
    // An entry that is all stars would be meant for commands.
    let listed = |entry: &String| {
        ["mcp__", "plugin__"].iter().any(|start| entry.starts_with(start)) && glob::matches(entry, tool)
    };
    let allowed = rules.grants(tool, &[])
        || rules.allowlist.iter().any(listed)
        || rules.allow.iter().any(|rule| rule.words.first().is_some_and(listed));
    let found = vec![why(format!("what a tool of {server} does cannot be told from here"))];
    if allowed { Verdict::Allow(found) } else { Verdict::Ask(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Mode;
    use crate::policy::decide::decide;
    use crate::policy::tests::Alice;

    fn rules(allowlist: &[&str], text: &str) -> Rules {
        let mut rules = Rules { allowlist: allowlist.iter().map(|s| (*s).to_owned()).collect(), ..Rules::default() };
        if !text.is_empty() {
            rules.add(text).unwrap();
        }
        rules
    }

    #[test]
    fn a_tool_of_a_server_is_asked_about_unless_a_person_named_it() {
        for (allowlist, text, want) in [
            (&[][..], "", "ask"),
            (&["mcp__git__log"], "", "allow"),
            (&["mcp__git__*"], "", "allow"),
            (&["mcp__other__*"], "", "ask"),
            (&["plugin__git__*"], "", "ask"),
            (&["*"], "", "ask"),
            (&["git *"], "allow *", "ask"),
            (&[], "allow mcp__git__log", "allow"),
            (&["mcp__git__*"], "deny mcp__git__log", "denied-by-rule"),
            (&["mcp__git__*"], "ask mcp__git__log", "ask"),
        ] {
            let verdict = judge("git", "mcp__git__log", &rules(allowlist, text));
            assert_eq!(verdict.name(), want, "{allowlist:?} {text}");
        }
        let denied = Rules { deny_globs: vec!["mcp__git__*".into()], ..Rules::default() };
        assert_eq!(judge("git", "mcp__git__log", &denied).name(), "denied-by-rule");
    }

    #[test]
    fn what_a_server_claims_changes_nothing() {
        let intent = |claims: &[&str]| crate::policy::Intent::Remote {
            server: "git".into(),
            tool: "mcp__git__log".into(),
            args: "{}".into(),
            claims: claims.iter().map(|s| (*s).to_owned()).collect(),
        };
        let judge = |claims: &[&str], mode| decide(&intent(claims), &Rules::default(), mode, &Alice);
        assert_eq!(judge(&["reads only"], Mode::Manual), judge(&[], Mode::Manual));
        assert_eq!(judge(&["reads only"], Mode::Smart).name(), "ask");
        assert_eq!(judge(&[], Mode::Off).name(), "allow");
    }
}

//! Calls of tools that other programs bring (MCP servers, plugins): asked about, unless a person's rule names the tool.
//!
//! What the program says of its own tool never counts.

use super::permissions::{Argument, Permission};
use super::rule::{Action, Rules, denied_by_glob};
use super::{Verdict, Why, glob};
use std::path::Path;

/// Judges a call of `tool`, by its whole name.
pub(super) fn judge(server: &str, tool: &str, cwd: &Path, rules: &Rules, by: &mut Vec<String>) -> Verdict {
    let why = |text: String| Why { effect: tool.to_owned(), text, span: 0..0 };
    let held: Vec<&Permission> = rules.in_effect(cwd).filter(|one| one.on.argument == Argument::None).collect();
    let means = |one: &&&Permission, action| {
        one.action == action
            && match action {
                Action::Allow => names_tool(&one.on.name, server, tool),
                Action::Ask | Action::Deny => glob::matches(&one.on.name, tool),
            }
    };
    let denied = held.iter().find(|one| means(one, Action::Deny)).map(|one| one.label());
    let denied =
        denied.or_else(|| denied_by_glob(rules.entries(Action::Deny), tool).map(|entry| format!("deny {entry}")));
    if let Some(label) = denied {
        by.push(label.clone());
        return Verdict::DeniedByRule(why(format!("your rule `{label}` denies")));
    }
    let asks = held.iter().filter(|one| means(one, Action::Ask)).max_by_key(|one| one.weight());
    let allows = held.iter().filter(|one| means(one, Action::Allow)).max_by_key(|one| one.weight());
    let named = |entry: &&str| names_tool(entry, server, tool);
    let session = rules.session.entries().iter().map(String::as_str).find(named);
    if let Some(ask) = asks
        && session.is_none()
        && allows.is_none_or(|allow| allow.weight() <= ask.weight())
    {
        by.push(ask.label());
        return Verdict::Ask(vec![why(format!("your rule `{}` asks", ask.label()))]);
    }
    let listed = rules.entries(Action::Allow).find(named).map(|entry| format!("command_allowlist: {entry}"));
    let label = session.map(|entry| format!("{entry} (this session)"));
    let label = label.or_else(|| allows.map(|one| one.label())).or(listed);
    let found = vec![why(format!("effects of a tool of {server} are unknown"))];
    match label {
        Some(label) => {
            by.push(label);
            Verdict::Allow(found)
        }
        None => Verdict::Ask(found),
    }
}

/// What the names of the tools that `server` brings begin with; `None` when the tool's own name does not tell.
fn stem<'a>(server: &str, tool: &'a str) -> Option<&'a str> {
    let (kind, server) = match server.strip_prefix("plugin ") {
        Some(plugin) => ("plugin__", plugin.to_owned()),
        None => ("mcp__", server.replace(|c: char| !c.is_ascii_alphanumeric(), "_")),
    };
    let rest = tool.strip_prefix(kind)?.strip_prefix(server.as_str())?.strip_prefix("__")?;
    tool.get(..tool.len() - rest.len()).filter(|stem| !glob::is_pattern(stem))
}

/// The entry that names every tool of the server that brings this one, and no tool of another.
pub fn every_tool(server: &str, tool: &str) -> Option<String> {
    stem(server, tool).map(|stem| format!("{stem}*"))
}

/// Whether an entry of a person means this tool. One that is all stars would be meant for commands, and
/// `mcp__git__*` means the server `git`, not one that is called `git__x`.
fn names_tool(entry: &str, server: &str, tool: &str) -> bool {
    let literal = entry.split(['*', '?', '[']).next().unwrap_or_default();
    let of_other = literal.trim_end_matches('_').contains("__")
        && literal.ends_with("__")
        && stem(server, tool).is_some_and(|stem| stem.len() > literal.len() && stem.starts_with(literal));
    ["mcp__", "plugin__"].iter().any(|start| entry.starts_with(start)) && !of_other && glob::matches(entry, tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Mode;
    use crate::policy::decide::decide;
    use crate::policy::permissions::subject;
    use crate::policy::testing::ALICE;

    fn judge(server: &str, tool: &str, rules: &Rules) -> Verdict {
        super::judge(server, tool, Path::new("/"), rules, &mut Vec::new())
    }

    fn rules(allowlist: &[&str], text: &str) -> Rules {
        let mut rules = Rules::default();
        rules.hold(allowlist.iter().map(|entry| Permission::entry(Action::Allow, entry)));
        if let Some((action, name)) = text.split_once(' ') {
            let action =
                [Action::Allow, Action::Ask, Action::Deny].into_iter().find(|one| one.word() == action).unwrap();
            rules.hold([Permission::new(action, subject(name).unwrap())]);
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
        let mut denied = Rules::default();
        denied.hold([Permission::entry(Action::Deny, "mcp__git__*")]);
        assert_eq!(judge("git", "mcp__git__log", &denied).name(), "denied-by-rule");
    }

    #[test]
    fn a_whole_server_is_that_server() {
        for (server, tool, want) in [
            ("git", "mcp__git__log", Some("mcp__git__*")),
            ("my-git", "mcp__my_git__log", Some("mcp__my_git__*")),
            ("git", "mcp__git__a__b", Some("mcp__git__*")),
            ("plugin my-git", "plugin__my-git__log", Some("plugin__my-git__*")),
            // Nothing is offered where the name does not tell.
            ("git", "mcp__other__log", None),
            ("git", "log", None),
            ("plugin a*", "plugin__a*__log", None),
        ] {
            assert_eq!(every_tool(server, tool).as_deref(), want, "{server} {tool}");
        }
        let grant = Rules { session: vec!["mcp__git__*".into()].into(), ..Rules::default() };
        for (server, tool, want) in [
            ("git", "mcp__git__log", "allow"),
            ("git", "mcp__git__x__log", "allow"),
            ("git__x", "mcp__git__x__log", "ask"),
            ("github", "mcp__github__log", "ask"),
            ("plugin git", "plugin__git__log", "ask"),
        ] {
            assert_eq!(judge(server, tool, &grant).name(), want, "session: {server} {tool}");
            assert_eq!(judge(server, tool, &rules(&["mcp__git__*"], "")).name(), want, "always: {server} {tool}");
        }
        assert_eq!(judge("git", "mcp__git__log", &rules(&["mcp__*"], "")).name(), "allow");
        assert_eq!(judge("git", "mcp__git__log", &rules(&["mcp__git__l*"], "")).name(), "allow");
    }

    #[test]
    fn what_a_server_claims_changes_nothing() {
        let intent = |claims: &[&str]| crate::policy::Intent::Remote {
            server: "git".into(),
            tool: "mcp__git__log".into(),
            args: "{}".into(),
            claims: claims.iter().map(|s| (*s).to_owned()).collect(),
        };
        let judge = |claims: &[&str], mode| decide(&intent(claims), &Rules::default(), mode, &ALICE);
        assert_eq!(judge(&["reads only"], Mode::Ask), judge(&[], Mode::Ask));
        assert_eq!(judge(&["reads only"], Mode::Auto).name(), "ask");
        assert_eq!(judge(&[], Mode::Yolo).name(), "allow");
    }
}

//! An answer that lasts, in words: what passes from now on, where that is written, and what it would have passed before.

use crate::policy::{self, Approval, Intent, Past, Proposal, Scope, Width};
use crate::text::format;
use crate::text::visible::visible;
use crate::text::width::truncate_end;

/// Cells of the name of a server.
const SERVER: usize = 20;

/// What passes without a question from now on.
pub fn sentence(offer: &Proposal, approval: &Approval) -> String {
    let entries: Vec<&str> = offer.grant.entries.iter().map(|entry| policy::label(entry)).collect();
    let what = match (offer.grant.width, &approval.intent) {
        (Width::Command, Intent::Input { process, .. }) => {
            format!("anything that asks only because of: {}, in this process ({process})", classes(approval))
        }
        (Width::Command, _) => "exactly this, here".to_owned(),
        (Width::Words, _) => entries.iter().map(|entry| words(entry)).collect::<Vec<_>>().join(", and "),
        (Width::Server, Intent::Remote { server, .. }) => {
            format!("every tool of {}", truncate_end(&visible(server).text, SERVER))
        }
        (Width::Effects, Intent::Remote { tool, .. }) if entries == [tool.as_str()] => {
            format!("the tool {tool}, with any arguments")
        }
        (Width::Effects | Width::Server, _) => {
            format!("anything that asks only because of: {}", entries.join(", "))
        }
    };
    let place = match offer.grant.scope {
        // A command is tied to its folder whatever the scope.
        _ if offer.grant.width == Width::Command => "",
        Scope::Session if entries.iter().any(|entry| exact_command(entry).is_some()) => ", anywhere",
        Scope::Session => "",
        Scope::Project => ", in this project",
        Scope::Global => ", in every folder",
    };
    let text = visible(&format!("{what}{place}")).text.replace('\n', " ");
    format::capitalized(&text)
}

fn classes(approval: &Approval) -> String {
    let effects = policy::proposals::effects(&approval.verdict);
    effects.iter().map(|effect| policy::label(effect)).collect::<Vec<_>>().join(", ")
}

/// The command of a line of `permissions.yaml` that means no other: `terminal(rm -rf build)`.
fn exact_command(entry: &str) -> Option<&str> {
    entry.strip_prefix("terminal(")?.strip_suffix(')').filter(|command| !command.contains('*'))
}

/// A line of `permissions.yaml` in words: `terminal(git push *)`, `file.write(src/**)`.
fn words(entry: &str) -> String {
    let Some((subject, argument)) = entry.strip_suffix(')').and_then(|rest| rest.split_once('(')) else {
        return format!("anything the rule {entry} matches");
    };
    let below = argument.strip_suffix("/**");
    let path = below.map_or_else(|| argument.to_owned(), |folder| format!("anything in {folder}/"));
    match (subject, argument.strip_suffix(" *")) {
        ("terminal", Some(start)) if !start.contains('*') => format!("commands that begin with “{start}”"),
        ("terminal", None) if exact_command(entry).is_some() => format!("exactly “{argument}”"),
        ("terminal", _) => format!("commands like “{argument}”"),
        ("file.write", _) => format!("writing {path}"),
        ("file.delete", _) => format!("deleting {path}"),
        ("file.read", _) => format!("reading {path}"),
        _ => format!("anything the rule {entry} matches"),
    }
}

/// Where it is kept, and as what.
pub fn written(offer: &Proposal) -> String {
    let grant = &offer.grant;
    let place = match (grant.scope, grant.width) {
        (Scope::Session, _) => return "kept for this session, not written to a file".to_owned(),
        (Scope::Global, Width::Effects | Width::Server) => "command_allowlist in config.yaml",
        (Scope::Project, _) => "permissions.yaml, for this project,",
        (Scope::Global, Width::Command | Width::Words) => "permissions.yaml",
    };
    // A command and classes stand in the sentence as they are written.
    match grant.width {
        Width::Command | Width::Effects => format!("written to {}", place.trim_end_matches(',')),
        Width::Words | Width::Server => format!("written to {place} as {}", grant.entries.join(", ")),
    }
}

/// Calls of the past from which on it is told that a grant would have passed none of them.
const FEW: usize = 10;

/// What it would have passed before, of calls like this one; nothing where there is no past to look at.
pub fn past(past: &Past, intent: &Intent) -> String {
    let (one, many) = match intent {
        Intent::Edit(_) => ("file change", "file changes"),
        Intent::Read(_) => ("read that asked", "reads that asked"),
        Intent::Remote { .. } => ("such tool call", "such tool calls"),
        Intent::Code { .. } => ("such script", "such scripts"),
        Intent::Command { .. } | Intent::Input { .. } | Intent::Talk | Intent::Handle => ("command", "commands"),
    };
    let last = format::plural(past.of as u64, one, many);
    let examples = || past.examples.iter().map(|one| visible(one).text).collect::<Vec<_>>().join(" · ");
    match (past.of, past.matched) {
        (0, _) => String::new(),
        // So few say nothing about what it is worth.
        (..FEW, 0) => String::new(),
        (1, _) => format!("would also have allowed your last {one}: {}", examples()),
        (_, 0) => format!("would have allowed none of your last {last}"),
        (_, matched) => format!("would also have allowed {matched} of your last {last}: {}", examples()),
    }
}

#[cfg(test)]
mod tests {
    use super::{past, words};
    use crate::policy::{Intent, Past};

    #[test]
    fn a_short_past_that_nothing_matched_is_not_told() {
        let said = |of, matched| past(&Past { of, matched, examples: vec![] }, &Intent::Talk);
        assert_eq!((said(2, 0), said(9, 0)), (String::new(), String::new()));
        assert_eq!(said(10, 0), "would have allowed none of your last 10 commands");
        assert!(said(2, 1).contains("1 of your last 2"));
    }

    #[test]
    fn rules_in_words() {
        for (rule, said) in [
            ("terminal(git push *)", "commands that begin with “git push”"),
            ("terminal(rm -rf build)", "exactly “rm -rf build”"),
            ("terminal(rm -rf build/out/*)", "commands like “rm -rf build/out/*”"),
            ("terminal(cp * /srv/*)", "commands like “cp * /srv/*”"),
            ("file.write(src/**)", "writing anything in src/"),
            ("file.delete(/home/a/notes)", "deleting /home/a/notes"),
            ("file.read(~/.ssh/**)", "reading anything in ~/.ssh/"),
            ("mcp__git__*", "anything the rule mcp__git__* matches"),
        ] {
            assert_eq!(words(rule), said);
        }
    }
}

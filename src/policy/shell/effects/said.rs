//! Programs that no table knows: a word of theirs may say that something is lost.

use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::program;
use crate::policy::shell::walk::resolve::Field;

/// Words of a subcommand that say it.
const VERBS: &[&str] = &[
    "delete",
    "destroy",
    "drop",
    "purge",
    "reset",
    "revoke",
    "uninstall",
    "remove",
    "terminate",
    "wipe",
    "erase",
    "close",
    "disable",
    "nuke",
    "deactivate",
];
/// Those that say it as an option, or in the name of a program, too; the others are habits there: `--disable-shared`.
const STRONG: &[&str] = &["delete", "destroy", "purge", "uninstall", "wipe", "erase", "nuke", "killall"];
/// First words behind which the next ones are names, and no deeds.
const TELLS: &[&str] = &[
    "test",
    "list",
    "ls",
    "show",
    "get",
    "view",
    "describe",
    "status",
    "help",
    "search",
    "grep",
    "find",
    "log",
    "logs",
    "docs",
    "explain",
    "man",
    "info",
    "print",
    "cat",
    "lint",
    "check",
    "build",
    "watch",
    "create",
    "new",
    "generate",
    "inspect",
    "diff",
    "translate",
    "completion",
];
/// Options whose value is a name or a pattern.
const NAMED: &[&str] = &[
    "-k",
    "-m",
    "-t",
    "-g",
    "-e",
    "-n",
    "-p",
    "-f",
    "--filter",
    "--grep",
    "--match",
    "--name",
    "--message",
    "--title",
    "--tests",
    "--test",
    "--tag",
    "--tags",
    "--label",
    "--pattern",
    "--query",
    "--branch",
    "--output",
    "--input",
];
/// Runners of tests and readers, whose words choose what they look at.
const READERS: &[&str] = &[
    "playwright",
    "jest",
    "vitest",
    "mocha",
    "cypress",
    "ctest",
    "phpunit",
    "pest",
    "rspec",
    "ava",
    "tap",
    "karma",
    "ginkgo",
    "gotestsum",
    "tox",
    "nox",
    "bats",
    "wdio",
    "testcafe",
    "py.test",
    "cucumber",
    "behave",
    "robot",
    "tldr",
    "cheat",
    "howdoi",
    "notify-send",
    "figlet",
    "cowsay",
    "say",
    "fzf",
    "gum",
    "ast-grep",
    "sg",
    "semgrep",
    "comby",
];
/// Words of a command in which a subcommand is looked for.
const MAX_WORDS: usize = 4;

/// Whether a word of a subcommand says that something is lost: `delete`, `delete-stack`, `pg:reset`, `deleteSnapshot`.
fn says(word: &str) -> bool {
    if word.len() > 64 || word.contains(['/', ' ', '=']) {
        return false;
    }
    let small = word.to_lowercase();
    let parts: Vec<&str> = small.split(['-', ':', '_']).collect();
    let verb = |part: &&str| VERBS.contains(part);
    // `delete.txt` is a file, `ecto.drop` a task.
    let task = small.rsplit_once('.').is_some_and(|(_, last)| VERBS.contains(&last));
    let camel = |verb: &&&str| {
        let rest = word.get(verb.len()..).and_then(|rest| rest.chars().next());
        small.starts_with(**verb) && verb.len() > 3 && rest.is_some_and(char::is_uppercase)
    };
    let edge = parts.first().is_some_and(verb) || parts.last().is_some_and(verb);
    task || !small.contains('.') && (edge || STRONG.iter().any(|verb| camel(&verb)) || VERBS.iter().any(|v| camel(&v)))
}

/// Whether an option says it: `--purge`, `--delete-all`.
fn option_says(word: &str) -> bool {
    let Some(name) = word.strip_prefix("--") else { return false };
    let name = name.split('=').next().unwrap_or(name);
    matches!(name, "reset" | "revoke") || STRONG.contains(&name.split('-').next().unwrap_or(name))
}

/// Whether the name of a program says it: `k3s-uninstall.sh`.
fn name_says(name: &str) -> bool {
    name.split(['-', '_', '.']).any(|part| STRONG.contains(&part))
}

/// The word of a command that says it.
fn saying(argv: &[Field]) -> Option<&Field> {
    let (first, rest) = argv.split_first()?;
    let name = program(&first.text);
    // What nobody knows here may ignore any other option, or do it anyway.
    let tells =
        !first.text.contains('/') && matches!(rest, [only] if matches!(only.text.as_str(), "--help" | "--version"));
    if READERS.contains(&name.as_str()) || tells {
        return None;
    }
    if name_says(&name) {
        return Some(first);
    }
    let mut seen = 0;
    for (at, word) in rest.iter().enumerate().take(32) {
        if word.text == "--" {
            return None;
        }
        if word.text.starts_with('-') {
            if option_says(&word.text) {
                return Some(word);
            }
            continue;
        }
        if at > 0 && NAMED.contains(&rest[at - 1].text.as_str()) {
            continue;
        }
        if seen == 0 && TELLS.contains(&word.text.to_lowercase().as_str()) || seen == MAX_WORDS {
            return None;
        }
        if says(&word.text) {
            return Some(word);
        }
        seen += 1;
    }
    None
}

impl Walker<'_> {
    /// A program that no table knows is told to delete, reset or disable something.
    pub(in crate::policy::shell) fn says_it(&mut self, argv: &[Field]) {
        if let Some(word) = saying(argv) {
            let effect = "says that it destroys";
            let (say, named) = (self.table.effect(effect).say, word.text.clone());
            let span = argv[0].span.start..word.span.end.max(argv[0].span.end);
            self.find_as(effect, format!("{say}: `{named}`"), span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_it() {
        let words = |line: &str| -> Vec<Field> { line.split(' ').map(|word| Field::known(word, 0..0)).collect() };
        for (line, want) in [
            ("acmectl delete prod", Some("delete")),
            ("acmectl project p delete", Some("delete")),
            ("acmectl --region x project Delete p", Some("Delete")),
            ("acmectl delete-stack s", Some("delete-stack")),
            ("acmectl pg:reset", Some("pg:reset")),
            ("acmectl db.drop", Some("db.drop")),
            ("acmectl deleteSnapshot s", Some("deleteSnapshot")),
            ("acmectl --purge", Some("--purge")),
            ("acmectl sync --delete-all", Some("--delete-all")),
            ("acme-uninstall.sh", Some("acme-uninstall.sh")),
            ("acmectl convert delete.txt", None),
            ("acmectl open docs/delete", None),
            ("acmectl list delete", None),
            ("acmectl delete --help", Some("delete")),
            ("acmectl wipe --dry-run", Some("wipe")),
            ("acmectl -h purge", Some("purge")),
            ("acme-uninstall.sh --help", None),
            ("acme-uninstall.sh --version", None),
            ("acme-uninstall.sh --help all", Some("acme-uninstall.sh")),
            ("./acme-uninstall.sh --help", Some("./acme-uninstall.sh")),
            ("/home/me/acme-uninstall.sh --help", Some("/home/me/acme-uninstall.sh")),
            ("acmectl -k delete", None),
            ("acmectl --disable-shared --remove-comments", None),
            ("acmectl a b c d delete", None),
            ("playwright remove-user", None),
            ("acmectl closed deleted dropped", None),
        ] {
            assert_eq!(saying(&words(line)).map(|word| word.text.as_str()), want, "{line}");
        }
    }
}

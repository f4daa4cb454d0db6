//! What depends on the files of the machine: installed programs, and links behind patterns.

use crate::policy::testing::Machine;
use crate::policy::{Intent, Mode, Rules, decide};

/// A project with an installed tool, links out of it, and a file named like a subcommand.
const PROJECT: Machine = Machine {
    files: &[
        "/home/alice/project",
        "/home/alice/project/node_modules/.bin/own-tool",
        "/home/alice/project/.venv/bin/own-check",
        "/home/alice/project/notes-key",
        "/home/alice/project/notes-rc",
        "/home/alice/project/notes.md",
        "/home/alice/project/push",
        "/bin/rm",
    ],
    links: &[
        ("/home/alice/project/notes-key", "/home/alice/.ssh/id_rsa"),
        ("/home/alice/project/notes-rc", "/home/alice/.bashrc"),
    ],
    texts: &[("/home/alice/project/clean.sql", "truncate users;"), ("/home/alice/project/shell.sql", "\\! ls")],
};

fn judged(line: &str) -> &'static str {
    let intent = Intent::Command { line: line.into(), cwd: "/home/alice/project".into(), background: false };
    decide(&intent, &Rules::default(), Mode::Manual, &PROJECT).name()
}

#[test]
fn installed_programs_are_not_downloaded() {
    for (line, want) in [
        ("npx own-tool", "allow"),
        ("npx -y own-tool --fix", "allow"),
        ("cd src && npx own-tool", "allow"),
        ("pnpm exec own-tool", "allow"),
        ("npx other-tool", "ask"),
        ("npx own-tool@latest", "ask"),
        ("cd /tmp && npx own-tool", "ask"),
        ("npx -p own-tool other", "allow"),
        ("npx -p other-tool own-tool", "ask"),
        ("uvx own-check", "allow"),
        ("uvx other-check", "ask"),
    ] {
        assert_eq!(judged(line), want, "{line}");
    }
}

#[test]
fn patterns_are_followed_through_links() {
    for (line, want) in [
        ("cat notes-key", "ask"),
        ("cat notes-*", "ask"),
        ("cat note[s]-key", "ask"),
        ("cp src notes-r?", "ask"),
        ("tool notes-r*", "ask"),
        ("cat notes.*", "allow"),
        ("tee notes-r* < x", "ask"),
        ("wc -l notes.m?", "allow"),
    ] {
        assert_eq!(judged(line), want, "{line}");
    }
}

#[test]
fn patterns_may_match_files_named_like_programs_and_subcommands() {
    for (line, want) in
        [("git p*sh -f", "ask"), ("git pus?", "ask"), ("git add p*", "allow"), ("cp /bin/r[m] x; ./x -rf src", "ask")]
    {
        assert_eq!(judged(line), want, "{line}");
    }
}

#[test]
fn files_of_sql_are_read_where_they_are() {
    for (line, want) in [
        ("psql -f clean.sql", "ask"),
        ("psql -f shell.sql", "ask"),
        ("pgbench -f shell.sql@2 db", "ask"),
        ("psql < clean.sql", "ask"),
        ("cat clean.sql | sqlite3 app.db", "ask"),
        ("psql -f other.sql", "ask"),
        ("cat clean.sql", "allow"),
    ] {
        assert_eq!(judged(line), want, "{line}");
    }
}

//! What depends on the files of the machine: installed programs, and links behind patterns.

use crate::policy::{Intent, Mode, Rules, World, decide, files, glob};
use std::path::{Path, PathBuf};

/// A project with an installed tool, links out of it, and a file named like a subcommand.
struct Project;

const FILES: &[&str] = &[
    "/home/alice/project",
    "/home/alice/project/node_modules/.bin/own-tool",
    "/home/alice/project/.venv/bin/own-check",
    "/home/alice/project/notes-key",
    "/home/alice/project/notes-rc",
    "/home/alice/project/notes.md",
    "/home/alice/project/push",
    "/bin/rm",
];

impl World for Project {
    fn home(&self) -> PathBuf {
        "/home/alice".into()
    }
    fn hermes_home(&self) -> PathBuf {
        "/home/alice/.hermes".into()
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
    fn glob(&self, pattern: &str, _: &Path, limit: usize) -> Vec<PathBuf> {
        let deep = |path: &&&str| path.matches('/').count() == pattern.matches('/').count();
        FILES.iter().filter(deep).filter(|path| glob::matches(pattern, path)).take(limit).map(PathBuf::from).collect()
    }
    fn resolve(&self, path: &Path) -> PathBuf {
        let path = files::normal(Path::new("/"), &path.to_string_lossy());
        match path.as_str() {
            "/home/alice/project/notes-key" => "/home/alice/.ssh/id_rsa".into(),
            "/home/alice/project/notes-rc" => "/home/alice/.bashrc".into(),
            _ => path.into(),
        }
    }
}

fn judged(line: &str) -> &'static str {
    let intent = Intent::Command { line: line.into(), cwd: "/home/alice/project".into(), background: false };
    decide(&intent, &Rules::default(), Mode::Manual, &Project).name()
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

//! What depends on the files of the machine: installed programs, and links behind patterns.

use crate::policy::testing::Machine;
use crate::policy::{Intent, Mode, Rules, decide, decide_in};

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
    ..crate::policy::testing::ALICE
};

/// A session that was opened in one folder and was given another, while its shell is somewhere else.
const SESSION: Machine = Machine {
    files: &[
        "/tmp/theirs.log",
        "/tmp/ours.log",
        "/tmp/ours/deep/x",
        "/home/alice/other/x",
        "/home/alice/project/target/a",
    ],
    links: &[("/home/alice/project/out", "/home/alice/other"), ("/tmp/link", "/home/alice/other")],
    border: &["/home/alice/project", "/data/set"],
    made: &["/tmp/ours.log", "/tmp/ours", "/tmp/link"],
    hard: &["/home/alice/project/both", "/home/alice/project/target/a", "/tmp/ours/both"],
    ..crate::policy::testing::ALICE
};

#[test]
fn the_border_stays_wherever_the_shell_is() {
    for (cwd, line, want) in [
        ("/home/alice/other", "rm x", "ask"),
        ("/home/alice/other", "rm *.txt", "ask"),
        ("/home/alice/other", "touch y", "ask"),
        ("/home/alice/other", "mkdir y", "ask"),
        ("/home/alice/other", "echo x > y", "ask"),
        ("/home/alice/other", "cp /home/alice/project/a .", "ask"),
        ("/home/alice/other", "cd /home/alice/project && rm a.o", "allow"),
        ("/home/alice/other", "rm ../project/a.o", "allow"),
        ("/home/alice/other", "ls; cat x", "allow"),
        ("/home/alice", "rm thesis.txt", "ask"),
        ("/etc", "touch nothing", "ask"),
        ("/data/set/deep", "rm a.o && touch b && mkdir c && echo x > d", "allow"),
        ("/home/alice/project/sub", "rm a.o; echo x > ../b", "allow"),
        ("/home/alice/project", "rm out/x", "ask"),
        ("/home/alice/project", "echo y > out/x", "ask"),
        // Temporary folders: new files are free, what others made is not.
        ("/home/alice/project", "echo x > /tmp/new", "allow"),
        ("/home/alice/project", "echo x > /tmp/theirs.log", "ask"),
        ("/home/alice/project", "echo x >> /tmp/theirs.log", "ask"),
        ("/home/alice/project", "touch /tmp/theirs.log", "allow"),
        ("/home/alice/project", "mv /tmp/theirs.log .", "ask"),
        ("/home/alice/project", "rm /tmp/theirs.log", "ask"),
        ("/tmp", "rm theirs.log", "ask"),
        ("/home/alice/project", "rm /tmp/never-seen", "ask"),
        ("/home/alice/project", "echo x > /tmp/ours.log; rm /tmp/ours.log", "allow"),
        ("/home/alice/project", "rm /tmp/ours/deep/x", "allow"),
        ("/home/alice/project", "rm /tmp/ours/deep/../../theirs.log", "ask"),
        ("/home/alice/project", "rm /tmp/link/x", "ask"),
        ("/home/alice/project", "echo x > /tmp/new; rm /tmp/new", "allow"),
        ("/home/alice/project", "echo x > /dev/null", "allow"),
        // Files with other names.
        ("/home/alice/project", "echo x >> both", "ask"),
        ("/home/alice/project", "sed -i s/a/b/ both", "ask"),
        ("/home/alice/project", "echo x | tee both", "ask"),
        ("/home/alice/project", "chmod 600 both", "ask"),
        ("/home/alice/project", "echo x >> /tmp/ours/both", "ask"),
        ("/home/alice/project", "cat both; rm both", "allow"),
        ("/home/alice/project", "echo x >> target/a", "allow"),
    ] {
        let intent = Intent::Command { line: line.into(), cwd: cwd.into(), background: false };
        let verdict = decide(&intent, &Rules::default(), Mode::Ask, &SESSION);
        assert_eq!(verdict.name(), want, "{cwd}: {line}: {verdict:?}");
    }
}

/// A repository that names programs, one that names none, and one below the first.
const REPOSITORIES: Machine = Machine {
    files: &["/home/alice/project/sub/.git/modules/m/config", "/home/alice/project/index/hooks/post-index-change"],
    texts: &[
        ("/home/alice/project/.git/config", "[core]\n bare = false\n[alias]\n st = !./x\n lg = log --oneline\n"),
        ("/home/alice/project/bad/.git/config", "[core]\n fsmonitor = ./x\n"),
        ("/home/alice/project/tree/.git", "gitdir: ../.git/worktrees/t\n"),
        ("/home/alice/project/.git/worktrees/t/commondir", "../../../bad/.git\n"),
        ("/home/alice/project/sub/.git/config", "[core]\n bare = false\n"),
        ("/home/alice/project/sub/.git/modules/m/config", "[diff]\n external = ./x\n"),
        ("/home/alice/project/husky/.git/config", "[core]\n hooksPath = .husky/_\n"),
        ("/home/alice/project/index/.git/config", "[core]\n hooksPath = hooks\n"),
        ("/home/alice/project/index/hooks/post-index-change", "#!/bin/sh\n"),
        ("/home/alice/project/bare/HEAD", "ref: x"),
        ("/home/alice/project/bare/config", "[core]\n sshCommand = ./x\n"),
    ],
    ..crate::policy::testing::ALICE
};

#[test]
fn git_is_asked_about_where_the_repository_names_a_program() {
    for (line, want) in [
        ("git status", "allow"),
        ("git log --oneline -5", "allow"),
        ("git lg", "allow"),
        ("git st", "ask"),
        ("git -C bad status", "ask"),
        ("cd bad/deep && git diff", "ask"),
        ("(cd bad; git log)", "ask"),
        ("git -C tree status", "ask"),
        ("git -C sub status", "ask"),
        ("cd bare && git log", "ask"),
        ("ls bad", "allow"),
        ("git -C husky status", "allow"),
        ("git -C husky commit -m x", "ask"),
        ("cd husky && git switch main", "ask"),
        ("git -C index status", "ask"),
    ] {
        let intent = Intent::Command { line: line.into(), cwd: "/home/alice/project".into(), background: false };
        let verdict = decide(&intent, &Rules::default(), Mode::Ask, &REPOSITORIES);
        assert_eq!(verdict.name(), want, "{line}: {verdict:?}");
    }
}

#[test]
fn file_tools_have_the_same_border() {
    for (cwd, path, want) in [
        ("/home/alice/other", "x", "ask"),
        ("/home/alice/other", "/home/alice/project/x", "allow"),
        ("/home/alice/other", "/data/set/x", "allow"),
        ("/home/alice/project", "out/x", "ask"),
        ("/home/alice/project", "/tmp/new", "allow"),
        ("/home/alice/project", "/tmp/theirs.log", "ask"),
        ("/home/alice/project", "/tmp/ours.log", "allow"),
        ("/home/alice/project", "both", "ask"),
        ("/home/alice/project", "target/a", "allow"),
    ] {
        let edit = crate::policy::EditIntent { path: path.into(), diff: String::new(), removes: false };
        let intent = Intent::Edit(vec![edit]);
        let verdict = decide_in(&intent, std::path::Path::new(cwd), &Rules::default(), Mode::Ask, &SESSION);
        assert_eq!(verdict.name(), want, "{cwd}: {path}: {verdict:?}");
    }
}

fn judged(line: &str) -> &'static str {
    let intent = Intent::Command { line: line.into(), cwd: "/home/alice/project".into(), background: false };
    decide(&intent, &Rules::default(), Mode::Ask, &PROJECT).name()
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

#[test]
fn setup_is_harmless_only_from_programs_outside_the_workspace() {
    const FILES: &[&str] = &["/usr/bin/direnv", "/home/alice/project/bin/direnv"];
    for (path, line, want) in [
        ("/usr/bin:/bin", "eval \"$(direnv hook bash)\"", "allow"),
        ("/usr/bin:/home/alice/project/bin", "source <(direnv hook bash)", "allow"),
        ("/home/alice/project/bin:/usr/bin", "eval \"$(direnv hook bash)\"", "ask-always"),
        ("/home/alice/project/bin:/usr/bin", "source <(direnv hook bash)", "ask"),
        (".:/usr/bin", "eval \"$(direnv hook bash)\"", "ask-always"),
        ("\0", "eval \"$(direnv hook bash)\"", "ask-always"),
        ("/usr/bin:/bin", "eval \"$(starship init bash)\"", "ask-always"),
        ("/usr/bin:/bin", "eval \"$(direnv export bash)\"", "ask-always"),
    ] {
        let world = Machine { files: FILES, path: Some(path), ..crate::policy::testing::ALICE };
        let intent = Intent::Command { line: line.into(), cwd: "/home/alice/project".into(), background: false };
        let verdict = decide(&intent, &Rules::default(), Mode::Ask, &world);
        assert_eq!(verdict.name(), want, "{path} {line}: {verdict:?}");
    }
}

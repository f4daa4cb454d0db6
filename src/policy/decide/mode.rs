//! What a mode makes of a verdict: plan and review are stricter than the rules, yolo is looser.

use super::Decided;
use crate::policy::{Intent, Mode, Rules, Verdict, Why, World, shell};
use std::path::Path;

/// The class of an edit that only the mode asks about. A rule or a grant answers it.
pub const REVIEWED: &str = "edit in review mode";
/// The class of what a mode that changes nothing holds back.
pub const PLANNING: &str = "plan mode";

/// An edit that nothing else asks about, in a mode in which each is looked at.
pub(super) fn reviewed(mode: Mode, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Allow(_) if mode == Mode::Review => Verdict::Ask(vec![why(REVIEWED, "each edit needs approval")]),
        other => other,
    }
}

/// Programs that have a service do the work, over a socket that no sandbox of ours closes.
const CLIENTS: &[&str] = &[
    "at",
    "batch",
    "busctl",
    "code",
    "crontab",
    "ctr",
    "dbus-send",
    "docker",
    "docker-compose",
    "emacsclient",
    "flatpak",
    "gdbus",
    "incus",
    "initctl",
    "launchctl",
    "loginctl",
    "lxc",
    "machinectl",
    "nerdctl",
    "nsenter",
    "podman",
    "run0",
    "screen",
    "service",
    "snap",
    "systemctl",
    "systemd-run",
    "tmux",
    "virsh",
    "zellij",
];

/// The verdict as it counts in a mode.
pub(super) fn applied(
    mode: Mode,
    intent: &Intent,
    verdict: Verdict,
    rules: Vec<String>,
    book: &Rules,
    world: &dyn World,
) -> Decided {
    match (mode, verdict) {
        (Mode::Yolo, Verdict::Ask(why)) => Decided { verdict: Verdict::Allow(why), rules, unasked: true },
        (Mode::Plan, verdict) => planning(intent, verdict, rules, world),
        (Mode::Review, Verdict::Allow(reasons)) if rules.is_empty() => {
            let verdict = match writes(intent, world).filter(|_| !book.grants(REVIEWED, &[])) {
                Some(file) => Verdict::Ask(vec![why(REVIEWED, &format!("it changes {file}"))]),
                None => Verdict::Allow(reasons),
            };
            Decided { verdict, rules, unasked: false }
        }
        (_, verdict) => Decided { verdict, rules, unasked: false },
    }
}

/// A file that a command is seen to change: named in the line, and no device.
fn writes(intent: &Intent, world: &dyn World) -> Option<String> {
    let Intent::Command { line, cwd, .. } = intent else { return None };
    let judged = shell::judge(line, cwd, world);
    let changed = judged
        .touched
        .into_iter()
        .find(|one| one.how != shell::Touch::Read && !one.paths.iter().all(|path| path.starts_with("/dev/")))?;
    Some(changed.text)
}

/// The program of a command that has a service do the work.
fn client(intent: &Intent, world: &dyn World) -> Option<String> {
    let Intent::Command { line, cwd, .. } = intent else { return None };
    let judged = shell::judge(line, cwd, world);
    let names = judged.invocations.iter().filter_map(|invocation| invocation.words.first());
    let names = names.map(|word| word.rsplit('/').next().unwrap_or_default().to_owned());
    names.into_iter().find(|name| CLIENTS.contains(&name.as_str()))
}

/// Programs that only read, whatever their arguments are.
const READERS: &[&str] = &[
    "basename",
    "cat",
    "cmp",
    "comm",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "false",
    "file",
    "grep",
    "head",
    "id",
    "ls",
    "md5sum",
    "nl",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "sha256sum",
    "stat",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "uname",
    "wc",
    "which",
    "whoami",
];
/// Commands of git that only read.
const GIT_READERS: &[&str] = &["blame", "describe", "diff", "log", "ls-files", "rev-parse", "show", "status"];

/// Whether a command surely only reads: each of its programs is known to, and it writes no file.
pub fn only_reads(line: &str, cwd: &Path, world: &dyn World) -> bool {
    let judged = shell::judge(line, cwd, world);
    let is_device = |one: &shell::Touched| one.paths.iter().all(|path| path.starts_with("/dev/"));
    let reads = |invocation: &shell::Invocation| {
        let mut words = invocation.words.iter().map(String::as_str);
        match words.next() {
            Some("git") => {
                words.next().is_some_and(|word| GIT_READERS.contains(&word))
                    && !words.any(|word| word.starts_with("--output") || word.starts_with("--ext-diff"))
            }
            Some("tree") => !words.any(|word| word.starts_with("-o")),
            Some(program) => READERS.contains(&program),
            None => true,
        }
    };
    !judged.invocations.is_empty()
        && judged.invocations.iter().all(reads)
        && judged.touched.iter().all(|one| one.how == shell::Touch::Read || is_device(one))
}

/// Nothing is changed: edits are refused, and so is what can't be held. A command is held read-only (`tools::confine`), or
/// surely only reads.
fn planning(intent: &Intent, verdict: Verdict, mut rules: Vec<String>, world: &dyn World) -> Decided {
    let verdict = match (intent, verdict) {
        (Intent::Edit(_), Verdict::Allow(_) | Verdict::Ask(_) | Verdict::AskAlways(_)) => {
            rules = vec![PLANNING.to_owned()];
            let text = "plan mode changes nothing; say what you would change, and go on once the user leaves plan mode";
            Verdict::DeniedByRule(why(PLANNING, text))
        }
        (Intent::Input { .. } | Intent::Handle, Verdict::Allow(_) | Verdict::Ask(_) | Verdict::AskAlways(_)) => {
            rules = vec![PLANNING.to_owned()];
            let text = "in plan mode, processes that run are only watched: poll, log, screen or wait";
            Verdict::DeniedByRule(why(PLANNING, text))
        }
        // A permission is the word of a person that it may be called.
        (Intent::Remote { .. }, Verdict::Allow(_)) if !rules.is_empty() => {
            Verdict::Ask(vec![why(PLANNING, "it may change something that plan mode can't hold back")])
        }
        (Intent::Remote { .. }, Verdict::Allow(_) | Verdict::Ask(_) | Verdict::AskAlways(_)) => {
            rules = vec![PLANNING.to_owned()];
            let text = "plan mode changes nothing, and what this tool does can't be held back; a permission for it makes it ask";
            Verdict::DeniedByRule(why(PLANNING, text))
        }
        (Intent::Command { .. }, verdict @ (Verdict::Allow(_) | Verdict::Ask(_) | Verdict::AskAlways(_))) => {
            match client(intent, world) {
                Some(name) => {
                    rules = vec![PLANNING.to_owned()];
                    let text = format!("{name} has a service do it, which plan mode can't hold back");
                    Verdict::DeniedByRule(why(PLANNING, &text))
                }
                None => verdict,
            }
        }
        (_, verdict) => verdict,
    };
    Decided { verdict, rules, unasked: false }
}

fn why(effect: &str, text: &str) -> Why {
    Why { effect: effect.into(), text: text.into(), span: 0..0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::EditIntent;
    use crate::policy::decide::explain;
    use crate::policy::permissions::Permission;
    use crate::policy::rule::Action;
    use crate::policy::testing::ALICE;

    #[test]
    fn a_command_that_surely_only_reads_is_known() {
        for (line, reads) in [
            ("ls -la src", true),
            ("cat a.rs | grep -n fn | head -3", true),
            ("git status --short && git log --oneline -5", true),
            ("ls > /dev/null 2>&1", true),
            ("ls > files.txt", false),
            ("git diff --output=x", false),
            ("git -c core.pager=x log", false),
            ("git commit -m x", false),
            ("echo $(rm x)", false),
            ("cargo test", false),
            ("./build", false),
            ("tree -o x", false),
            ("", false),
        ] {
            assert_eq!(only_reads(line, Path::new("/home/alice/project"), &ALICE), reads, "{line}");
        }
    }

    #[test]
    fn each_mode_answers_in_its_way() {
        let cwd = Path::new("/home/alice/project");
        let edit =
            |path: &str| Intent::Edit(vec![EditIntent { path: path.into(), diff: String::new(), removes: false }]);
        let line = |line: &str| Intent::Command { line: line.into(), cwd: cwd.into(), background: false };
        let remote =
            Intent::Remote { server: "git".into(), tool: "mcp__git__log".into(), args: "{}".into(), claims: vec![] };
        let input = Intent::Input { process: "p1".into(), text: "ls\n".into() };
        let mut trusted = Rules::default();
        trusted.hold([Permission::entry(Action::Allow, "mcp__git__*")]);
        let own = edit("/home/alice/project/a.rs");
        let outside = edit("/home/alice/other/a.rs");
        let mut allowed = Rules::default();
        allowed.hold([Permission::entry(Action::Allow, REVIEWED)]);
        let none = Rules::default();
        for (intent, rules, wants) in [
            (&own, &none, ["denied-by-rule", "ask", "allow", "allow", "allow"]),
            (&own, &allowed, ["denied-by-rule", "allow", "allow", "allow", "allow"]),
            (&outside, &none, ["denied-by-rule", "ask", "ask", "ask", "allow"]),
            (&line("ls"), &none, ["allow", "allow", "allow", "allow", "allow"]),
            (&line("rm -rf build"), &none, ["ask", "ask", "ask", "ask", "allow"]),
            (&line("rm -rf /"), &none, ["refuse", "refuse", "refuse", "refuse", "refuse"]),
            (&remote, &none, ["denied-by-rule", "ask", "ask", "ask", "allow"]),
            // What a rule allows is asked about where nothing is to be changed.
            (&remote, &trusted, ["ask", "allow", "allow", "allow", "allow"]),
            (&line("docker compose up -d"), &none, ["denied-by-rule", "allow", "allow", "allow", "allow"]),
            (&line("docker system prune -af"), &none, ["denied-by-rule", "ask", "ask", "ask", "allow"]),
            (
                &line("echo x | sudo -n /usr/bin/systemctl status"),
                &none,
                ["denied-by-rule", "allow", "allow", "allow", "allow"],
            ),
            (&input, &none, ["denied-by-rule", "ask", "ask", "ask", "allow"]),
            (&Intent::Handle, &none, ["denied-by-rule", "allow", "allow", "allow", "allow"]),
            // What a command is seen to write is an edit, too.
            (&line("sed -i s/a/b/ main.rs"), &none, ["allow", "ask", "allow", "allow", "allow"]),
            (&line("echo x > main.rs"), &none, ["allow", "ask", "allow", "allow", "allow"]),
            (&line("echo x > main.rs"), &allowed, ["allow", "allow", "allow", "allow", "allow"]),
            (&line("cargo test > /dev/null"), &none, ["allow", "allow", "allow", "allow", "allow"]),
            (&Intent::Read("/home/alice/project/a.rs".into()), &none, ["allow"; 5]),
            (&Intent::Talk, &none, ["allow"; 5]),
        ] {
            let got = Mode::ALL.map(|mode| explain(intent, cwd, rules, mode, &ALICE).verdict.name());
            assert_eq!(got, wants, "{intent:?}");
        }
    }
}

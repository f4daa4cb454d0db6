//! What a mode makes of a verdict: plan and review are stricter than the rules, yolo is looser.

use super::Decided;
use crate::policy::{Intent, Mode, Rules, Verdict, Why, World, shell};

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

/// Nothing is changed: an edit is refused, and what can't be held read-only asks. A command is held (`tools::confine`).
fn planning(intent: &Intent, verdict: Verdict, mut rules: Vec<String>, world: &dyn World) -> Decided {
    let verdict = match (intent, verdict) {
        (Intent::Edit(_), Verdict::Allow(_) | Verdict::Ask(_) | Verdict::AskAlways(_)) => {
            rules = vec![PLANNING.to_owned()];
            let text = "plan mode changes nothing; say what you would change, and go on once the user leaves plan mode";
            Verdict::DeniedByRule(why(PLANNING, text))
        }
        (Intent::Input { .. } | Intent::Remote { .. }, Verdict::Allow(_)) => {
            Verdict::Ask(vec![why(PLANNING, "it may change something that plan mode can't hold back")])
        }
        (Intent::Command { .. }, Verdict::Allow(reasons)) => match client(intent, world) {
            Some(name) => Verdict::Ask(vec![why(
                PLANNING,
                &format!("{name} has a service do it, which plan mode can't hold back"),
            )]),
            None => Verdict::Allow(reasons),
        },
        (Intent::Command { .. } | Intent::Code { .. }, Verdict::Ask(mut reasons)) => {
            reasons.push(why(PLANNING, "it runs read-only: what it would change, it can't"));
            Verdict::Ask(reasons)
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
    use std::path::Path;

    #[test]
    fn each_mode_answers_in_its_way() {
        let cwd = Path::new("/home/alice/project");
        let edit =
            |path: &str| Intent::Edit(vec![EditIntent { path: path.into(), diff: String::new(), removes: false }]);
        let line = |line: &str| Intent::Command { line: line.into(), cwd: cwd.into(), background: false };
        let remote =
            Intent::Remote { server: "git".into(), tool: "mcp__git__log".into(), args: "{}".into(), claims: vec![] };
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
            (&remote, &none, ["ask", "ask", "ask", "ask", "allow"]),
            // What a rule allows is asked about where nothing is to be changed.
            (&remote, &trusted, ["ask", "allow", "allow", "allow", "allow"]),
            (&line("docker compose up -d"), &none, ["ask", "allow", "allow", "allow", "allow"]),
            (&line("echo x | sudo -n /usr/bin/systemctl status"), &none, ["ask", "allow", "allow", "allow", "allow"]),
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

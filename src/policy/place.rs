//! What a container changes about a question: what cannot leave it need not be asked, when the user says so. What is
//! refused stays refused, and what reaches others (a remote, a server, the network) is asked everywhere.

use super::{Intent, Verdict};

/// Classes whose harm stays on the machine where the command runs.
const INWARD: &[&str] = &[
    "delete of everything in a folder",
    "empties files",
    "delete of what can be built again",
    "recursive delete",
    "delete in root path",
    "delete of unresolved paths",
    "xargs with rm",
    "find -exec/-execdir rm",
    "find -delete",
    "overwrite with random data",
    "truncate",
    "mirror deletes",
    "world/other-writable permissions",
    "recursive chown to root",
    "set-user-id permission",
    "disk copy",
    "stop/restart system service",
    "force kill processes",
    "force kill processes (killall -KILL)",
    "force kill processes (killall -s KILL)",
    "kill processes by regex (killall -r)",
    "kill process via pgrep/pidof expansion (self-termination)",
    "kills all of a user",
    "accounts",
    "overwrite system config",
    "copy/move file into system config path",
    "in-place edit of system config",
    "overwrite of system files",
    "overwrite system file via redirection",
    "overwrite project env/config via redirection",
    "write to home settings",
    "write outside this folder",
    "write of a file that runs later",
    "write to an unresolved path",
    "writes a file by an option",
    "schedules a command",
    "clears history",
    "runs a downloaded file",
    "pipe remote content to shell",
    "pipe content to shell",
    "shell execution via heredoc",
    "script execution via heredoc",
    "script execution via -e/-c flag",
    "shell command via -c/-lc flag",
    "chmod +x followed by immediate execution",
    "git reset --hard (destroys uncommitted changes)",
    "git clean with force (deletes untracked files)",
    "git branch force delete",
    "git discards work",
    "git moves a branch",
    "git stash delete",
    "git rewrites history",
    "root shell",
];

/// The verdict of a call in a container of ours without folders of this machine. Only a question is answered, and only
/// when each of its reasons stays inside.
pub fn relaxed(verdict: Verdict, intent: &Intent) -> Verdict {
    let inside = matches!(intent, Intent::Command { .. } | Intent::Edit(_));
    match verdict {
        Verdict::Ask(why) if inside && why.iter().all(|why| INWARD.contains(&why.effect.as_str())) => {
            Verdict::Allow(why)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Why;

    fn why(effect: &str) -> Why {
        Why { effect: effect.into(), text: String::new(), span: 0..0 }
    }

    #[test]
    fn only_questions_about_the_inside_are_left_out() {
        let command = Intent::Command { line: "x".into(), cwd: "/".into(), background: false };
        let ask = |effects: &[&str]| Verdict::Ask(effects.iter().map(|effect| why(effect)).collect());
        for (verdict, intent, want) in [
            (ask(&["recursive delete"]), &command, "allow"),
            (ask(&["recursive delete", "root shell"]), &command, "allow"),
            (ask(&["recursive delete", "sends data out"]), &command, "ask"),
            (ask(&["git force push (rewrites remote history)"]), &command, "ask"),
            (ask(&["read of a secret"]), &command, "ask"),
            (ask(&[crate::policy::decide::BY_RULE]), &command, "ask"),
            (ask(&["recursive delete"]), &Intent::Read("/x".into()), "ask"),
            (ask(&["recursive delete"]), &Intent::Input { process: "p".into(), text: "x\n".into() }, "ask"),
            (ask(&["write outside this folder"]), &Intent::Edit(Vec::new()), "allow"),
            (Verdict::AskAlways(vec![why("recursive delete")]), &command, "ask-always"),
            (Verdict::Refuse(vec![why("recursive delete")]), &command, "refuse"),
            (Verdict::DeniedByRule(why("recursive delete")), &command, "denied-by-rule"),
            (Verdict::Allow(Vec::new()), &command, "allow"),
        ] {
            let shown = format!("{verdict:?} {intent:?}");
            assert_eq!(relaxed(verdict, intent).name(), want, "{shown}");
        }
    }

    #[test]
    fn every_class_is_one() {
        let table = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/policy/effects.yaml"));
        for class in INWARD {
            assert!(table.contains(&format!("\n{class}: ")) || table.contains(&format!("\n\"{class}\": ")), "{class}");
        }
    }
}

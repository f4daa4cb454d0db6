//! What still passes while the files of the policy are not those that the session read.

use super::permissions::Permission;
use super::rule::{Action, Rules};
use super::{Intent, Mode, Verdict, Why, World, decide_in};
use std::path::Path;
use std::sync::Arc;

/// What the files of the policy forbid or ask about by now, beyond what the session read. It holds at once: only what loosens
/// waits for the person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stricter {
    /// What asks and denies: lines, and entries of `approvals.deny`.
    pub permissions: Vec<Permission>,
    /// Why a permission file cannot be read any more.
    pub unreadable: Option<String>,
}

impl Stricter {
    /// Adds it to the rules of the session.
    pub fn tighten(&self, rules: &mut Rules) {
        let news: Vec<Permission> =
            self.permissions.iter().filter(|line| !rules.permissions.contains(line)).cloned().collect();
        if !news.is_empty() {
            rules.permissions = Arc::new(rules.permissions.iter().cloned().chain(news).collect());
        }
        if rules.unreadable.is_none() {
            rules.unreadable.clone_from(&self.unreadable);
        }
    }
}

/// The class of the reason.
pub const CHANGED: &str = "the policy changed on disk";

/// The verdict without what only a file or a mode allows: rules and lists of the files, auto mode, yolo. What denies or
/// asks holds, and so does what the person granted in this session.
pub fn unaided(intent: &Intent, cwd: &Path, rules: &Rules, world: &dyn World) -> Verdict {
    let stricter = rules.permissions.iter().filter(|one| one.action != Action::Allow).cloned().collect();
    let permissions = Arc::new(stricter);
    let rules = Rules { permissions, ..rules.clone() };
    decide_in(intent, cwd, &rules, Mode::Ask, world)
}

/// A call that passes by itself only because of a rule or mode asks, and says why.
pub fn until_reviewed(verdict: Verdict, unaided: Verdict) -> Verdict {
    match (verdict, unaided) {
        (Verdict::Allow(_) | Verdict::Ask(_), Verdict::Ask(mut why)) => {
            let text = "rules, auto mode and yolo approve nothing until you review the change";
            why.push(Why { effect: CHANGED.into(), text: text.into(), span: 0..0 });
            Verdict::Ask(why)
        }
        (verdict, _) => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::ALICE;

    #[test]
    fn what_passes_by_a_rule_or_a_mode_asks_and_the_rest_is_as_it_was() {
        let mut rules = Rules {
            session: vec!["git reset --hard (destroys uncommitted changes)".into()].into(),
            ..Rules::default()
        };
        rules.hold([Permission::entry(Action::Allow, "recursive delete")]);
        rules.add("allow chmod *, deny shred *").unwrap();
        for (line, mode, want) in [
            ("rm -rf build", Mode::Ask, "ask"),
            ("chmod 777 x", Mode::Ask, "ask"),
            ("git push -f", Mode::Yolo, "ask"),
            ("git push -f", Mode::Auto, "ask"),
            // Granted by the person in this session.
            ("git reset --hard", Mode::Ask, "allow"),
            ("ls -la", Mode::Ask, "allow"),
            ("ls -la", Mode::Yolo, "allow"),
            ("shred x", Mode::Yolo, "denied-by-rule"),
            ("rm -rf /", Mode::Yolo, "refuse"),
            ("$X", Mode::Yolo, "ask-always"),
        ] {
            let intent = Intent::Command { line: line.into(), cwd: "/home/alice/project".into(), background: false };
            let cwd = Path::new("/home/alice/project");
            let verdict = decide_in(&intent, cwd, &rules, mode, &ALICE);
            let got = until_reviewed(verdict, unaided(&intent, cwd, &rules, &ALICE));
            assert_eq!(got.name(), want, "{line} {mode:?}");
            let told = got.reasons().iter().any(|why| why.effect == CHANGED);
            assert_eq!(told, want == "ask", "{line}");
        }
        let tool =
            Intent::Remote { server: "git".into(), tool: "mcp__git__log".into(), args: "{}".into(), claims: vec![] };
        let mut rules = Rules::default();
        rules.hold([Permission::entry(Action::Allow, "mcp__git__*")]);
        let cwd = Path::new("/");
        assert_eq!(decide_in(&tool, cwd, &rules, Mode::Ask, &ALICE).name(), "allow");
        let got = until_reviewed(decide_in(&tool, cwd, &rules, Mode::Ask, &ALICE), unaided(&tool, cwd, &rules, &ALICE));
        assert_eq!(got.name(), "ask");
    }
}

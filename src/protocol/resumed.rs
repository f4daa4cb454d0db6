//! Where a session stopped when it was left, and what changed around it since.

use crate::text::format::{age, plural};
use serde::{Deserialize, Serialize};

/// Files that are named.
const NAMED: usize = 4;

/// What a person is told of a session that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeCard {
    /// When something was last said or done in it, in milliseconds since the epoch.
    pub last_at: i64,
    /// The start of the last prompt, on one line.
    pub prompt: String,
    /// Entries of the plan that are done, and all of them; no plan: 0.
    pub planned: (usize, usize),
    /// The entry that was worked on, or comes next.
    pub next: String,
    /// The branch of the repository then and now, where it is known.
    pub branch_then: Option<String>,
    pub branch_now: Option<String>,
    /// Commits since then.
    pub commits: u64,
    /// Files that it changed and that are different now, as a person reads them.
    pub files: Vec<(String, FileSince)>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSince {
    Changed,
    Gone,
    /// It was deleted, and is there again.
    Back,
}

impl FileSince {
    fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Gone => "gone",
            Self::Back => "is back",
        }
    }
}

impl ResumeCard {
    /// In a few lines.
    pub fn text(&self, now: i64) -> String {
        let since = now.saturating_sub(self.last_at);
        let mut stopped = if since < 60_000 {
            "resumed, last used just now".to_owned()
        } else {
            format!("resumed, last used {} ago", age(since))
        };
        if !self.prompt.is_empty() {
            stopped.push_str(&format!(" · last prompt: “{}”", self.prompt));
        }
        let mut lines = vec![stopped];
        let (done, all) = self.planned;
        if all > 0 {
            let next = if self.next.is_empty() { String::new() } else { format!(", next: {}", self.next) };
            lines.push(format!("plan: {done} of {all} done{next}"));
        }
        let mut since = Vec::new();
        match (&self.branch_now, &self.branch_then) {
            (Some(now), Some(then)) if then != now => since.push(format!("branch {now} (was {then})")),
            (Some(now), _) => since.push(format!("branch {now}")),
            (None, _) => {}
        }
        if self.commits > 0 {
            since.push(format!("{} since", plural(self.commits, "commit", "commits")));
        }
        if !self.files.is_empty() {
            let named = self.files.iter().take(NAMED).map(|(file, what)| format!("{file} ({})", what.word()));
            let mut named = named.collect::<Vec<_>>().join(", ");
            if self.files.len() > NAMED {
                named.push_str(&format!(" and {} more", self.files.len() - NAMED));
            }
            since.push(format!("changed on disk since: {named}"));
        }
        if !since.is_empty() {
            lines.push(since.join(" · "));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_says_what_is_known() {
        let card = ResumeCard { last_at: 0, prompt: "fix it".into(), ..ResumeCard::default() };
        assert_eq!(card.text(7_200_000), "resumed, last used 2h ago · last prompt: “fix it”");
        let card = ResumeCard {
            planned: (1, 3),
            next: "test".into(),
            branch_then: Some("fix".into()),
            branch_now: Some("main".into()),
            commits: 2,
            files: vec![("a.rs".into(), FileSince::Changed), ("b.rs".into(), FileSince::Gone)],
            ..ResumeCard::default()
        };
        let text = card.text(0);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "plan: 1 of 3 done, next: test");
        let since = "branch main (was fix) · 2 commits since · changed on disk since: a.rs (changed), b.rs (gone)";
        assert_eq!(lines[2], since);
    }
}

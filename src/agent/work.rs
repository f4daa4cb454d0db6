//! What a turn did, for the line at its end: files, commands, and whether anything checked the work after the last edit.

use crate::protocol::{Body, Item, ToolBody, ToolCall, ToolView};
use crate::text::format::plural;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

static CHECKS: LazyLock<Vec<String>> = LazyLock::new(|| {
    // The test of the assets parses it; without the list nothing counts as checked.
    serde_saphyr::from_str(include_str!("../../assets/check-commands.yaml")).unwrap_or_default()
});

/// What a turn did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Lines added and removed, by file.
    files: BTreeMap<String, (u32, u32)>,
    commands: usize,
    failed: usize,
    state: State,
}

/// Whether the edits of a turn were checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing was edited, or nothing was checked since.
    #[default]
    Unchecked,
    /// A check passed, and something was edited after it.
    Before(String),
    Passed(String),
    Failed(String),
}

impl Work {
    /// Of the entries of a turn, in their order.
    pub fn of<'a>(items: impl Iterator<Item = &'a Item>) -> Self {
        let mut work = Self::default();
        let mut calls: HashMap<&str, &ToolCall> = HashMap::new();
        for item in items {
            match &item.body {
                Body::Assistant(step) => calls.extend(step.calls.iter().map(|call| (call.id.as_str(), call))),
                Body::Tool(result) => work.saw(result, calls.get(result.call_id.as_str()).copied()),
                Body::User { .. } | Body::Summary(_) | Body::Note { .. } => {}
            }
        }
        work
    }

    fn saw(&mut self, result: &ToolBody, call: Option<&ToolCall>) {
        for diff in result.view.diffs.iter().chain(&result.view.changed) {
            let lines = self.files.entry(diff.path.clone()).or_default();
            *lines = (lines.0 + diff.added, lines.1 + diff.removed);
            if let State::Passed(check) = &self.state {
                self.state = State::Before(check.clone());
            }
        }
        let line = || call.and_then(|call| command(&call.args)).unwrap_or_else(|| result.view.target.clone());
        self.ran(&result.view, line);
        for inner in &result.inner {
            self.ran(&inner.view, || command(&inner.args).unwrap_or_else(|| inner.view.target.clone()));
        }
    }

    /// A command, if it was one.
    fn ran(&mut self, view: &ToolView, line: impl Fn() -> String) {
        let Some(code) = view.exit_code else { return };
        self.commands += 1;
        self.failed += usize::from(code != 0);
        let line = line();
        if let Some(check) = check(&line) {
            self.state = if code == 0 { State::Passed(check) } else { State::Failed(check) };
        }
    }

    /// `3 files +14 −6 · 2 commands, 1 failed · verified: cargo test`; empty when nothing was changed and nothing ran.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        if !self.files.is_empty() {
            let (added, removed) = self.files.values().fold((0, 0), |sum, lines| (sum.0 + lines.0, sum.1 + lines.1));
            parts.push(format!("{} +{added} −{removed}", plural(self.files.len() as u64, "file", "files")));
        }
        if self.commands > 0 {
            let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
            parts.push(format!("{}{failed}", plural(self.commands as u64, "command", "commands")));
        }
        if !self.files.is_empty() {
            parts.push(match &self.state {
                State::Unchecked => "unverified".to_owned(),
                State::Before(check) => format!("partial: edited after {check}"),
                State::Passed(check) => format!("verified: {check}"),
                State::Failed(check) => format!("unverified: {check} failed"),
            });
        }
        parts.join(" · ")
    }
}

fn command(args: &str) -> Option<String> {
    let args: serde_json::Value = serde_json::from_str(args).ok()?;
    Some(args.get("command")?.as_str()?.to_owned())
}

/// The check that decides how a line exits: its last command, unless that only reads what a check prints.
fn check(line: &str) -> Option<String> {
    let parts = line.split(['\n', ';']).flat_map(|part| part.split("&&")).map(str::trim);
    let last = parts.filter(|part| !part.is_empty()).last()?;
    // What follows a pipe says how it exits.
    if last.contains('|') {
        return None;
    }
    let is_setting =
        |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains('-'));
    let words: Vec<&str> = last.split_whitespace().skip_while(is_setting).collect();
    let begins = |check: &&String| {
        let check: Vec<&str> = check.split(' ').collect();
        words.starts_with(&check)
    };
    CHECKS.iter().find(begins).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AssistantBody, FileDiff, ItemId};

    /// `edit PATH`, or a command with its exit code.
    fn turn(done: &[(&str, i32)]) -> String {
        let mut items = Vec::new();
        for (at, (what, code)) in done.iter().enumerate() {
            let id = at.to_string();
            let args = serde_json::json!({ "command": what }).to_string();
            let call = ToolCall { id: id.clone(), name: "t".into(), args, ..ToolCall::default() };
            let view = match what.strip_prefix("edit ") {
                Some(path) => ToolView {
                    diffs: vec![FileDiff { path: path.into(), added: 2, removed: 1, ..FileDiff::default() }],
                    ..ToolView::default()
                },
                None => ToolView { exit_code: Some(*code), ..ToolView::default() },
            };
            let step = Body::Assistant(AssistantBody { calls: vec![call], ..AssistantBody::default() });
            for body in [step, Body::Tool(ToolBody { call_id: id, view, ..ToolBody::default() })] {
                items.push(Item { id: ItemId(items.len() as i64 + 1), at: 0, turn: 1, body });
            }
        }
        Work::of(items.iter()).line()
    }

    #[test]
    fn a_turn_says_what_it_did_and_whether_that_was_checked() {
        for (done, line) in [
            (&[][..], ""),
            (&[("ls", 0)], "1 command"),
            (&[("edit a", 0)], "1 file +2 −1 · unverified"),
            (&[("edit a", 0), ("edit a", 0), ("ls", 2)], "1 file +4 −2 · 1 command, 1 failed · unverified"),
            (&[("edit a", 0), ("cargo test --lib", 0)], "1 file +2 −1 · 1 command · verified: cargo test"),
            (&[("edit a", 0), ("cd x && CI=1 npm test", 0)], "1 file +2 −1 · 1 command · verified: npm test"),
            (&[("cargo test", 0), ("edit a", 0)], "1 file +2 −1 · 1 command · partial: edited after cargo test"),
            (
                &[("edit a", 0), ("edit b", 0), ("pytest -q", 1)],
                "2 files +4 −2 · 1 command, 1 failed · unverified: pytest failed",
            ),
            // How these exit says nothing of the check.
            (&[("edit a", 0), ("cargo test | tail -3", 0)], "1 file +2 −1 · 1 command · unverified"),
            (&[("edit a", 0), ("cargo test; echo done", 0)], "1 file +2 −1 · 1 command · unverified"),
            (&[("edit a", 0), ("cargo testify", 0)], "1 file +2 −1 · 1 command · unverified"),
        ] {
            assert_eq!(turn(done), line, "{done:?}");
        }
    }
}

//! What changed around a session since it was left: the branch, commits, the files that it had changed. Reads only, in
//! bounded time.

use crate::exec::Repo;
use crate::protocol::{Body, FileSince, Item, Origin, ResumeCard, Todo, TodoStatus};
use crate::store::{FOLDER, FileChange, LARGEST, LINK, hash};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// The longest look at repository and files.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Files that are compared, the newest changes first.
const FILES: usize = 200;
/// Characters of a prompt and of an entry of the plan.
const SHOWN: usize = 60;

/// What a session was when it was left.
pub(super) struct Left {
    pub cwd: PathBuf,
    pub branch: Option<String>,
    /// Not on another machine, where nothing is looked at.
    pub is_here: bool,
    pub card: ResumeCard,
}

/// Where the conversation stopped; `None` when nothing was said.
pub(super) fn stopped(items: &[Item], plan: &[Todo]) -> Option<ResumeCard> {
    let is_said = |item: &&Item| matches!(item.body, Body::User { .. } | Body::Assistant(_) | Body::Tool(_));
    let last = items.iter().rev().find(is_said)?;
    let prompt = items.iter().rev().find_map(|item| match &item.body {
        Body::User { text, origin: Origin::Person, .. } => Some(short(text)),
        Body::User { .. } | Body::Assistant(_) | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => None,
    });
    let done = plan.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let open = |status| plan.iter().find(|todo| todo.status == status);
    let next = open(TodoStatus::InProgress).or_else(|| open(TodoStatus::Pending));
    Some(ResumeCard {
        last_at: last.at,
        prompt: prompt.unwrap_or_default(),
        planned: (done, plan.len()),
        next: next.map(|todo| short(&todo.content)).unwrap_or_default(),
        ..ResumeCard::default()
    })
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::text::width::truncate_end(&line, SHOWN)
}

/// Looks at what is there now. Blocks.
pub(super) fn look(left: Left, changes: &[FileChange]) -> ResumeCard {
    let Left { cwd, branch, is_here, mut card } = left;
    if !is_here {
        return card;
    }
    let until = Instant::now() + PATIENCE;
    card.files = files(&cwd, changes, card.last_at, until);
    if let Ok(repo) = Repo::of(&cwd, until) {
        let said = |args: &[&str]| {
            let answer = repo.ask(args, until).ok()?;
            Some(String::from_utf8_lossy(answer.trim_ascii()).into_owned()).filter(|text| !text.is_empty())
        };
        card.branch_now = said(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
        card.branch_then = branch;
        // Times of commits are whole seconds: what was committed in the second of the last entry is not news.
        let since = chrono::DateTime::from_timestamp(card.last_at.div_euclid(1000) + 1, 0);
        let count =
            since.and_then(|since| said(&["rev-list", "--count", &format!("--since={}", since.to_rfc3339()), "HEAD"]));
        card.commits = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    }
    card
}

/// Files that are not as the session left them.
fn files(cwd: &Path, changes: &[FileChange], last_at: i64, until: Instant) -> Vec<(String, FileSince)> {
    let here = changes.iter().rev().filter(|change| change.place.is_empty());
    let mut newest: BTreeMap<&Path, &FileChange> = BTreeMap::new();
    for change in here {
        if newest.len() == FILES {
            break;
        }
        newest.entry(&change.path).or_insert(change);
    }
    let mut found = Vec::new();
    for (path, change) in newest {
        if Instant::now() >= until {
            break;
        }
        if let Some(what) = since(path, change, last_at) {
            found.push((path.strip_prefix(cwd).unwrap_or(path).display().to_string(), what));
        }
    }
    found
}

fn since(path: &Path, change: &FileChange, last_at: i64) -> Option<FileSince> {
    if [LINK, FOLDER].contains(&change.after.kind()) {
        return None;
    }
    let about = std::fs::symlink_metadata(path).ok();
    match (&change.after.hash, about) {
        (None, None) => None,
        (None, Some(_)) => Some(FileSince::Back),
        (Some(_), None) => Some(FileSince::Gone),
        (Some(kept), Some(about)) if about.is_file() && about.len() <= LARGEST => {
            let bytes = std::fs::read(path).ok()?;
            (hash(&bytes) != *kept).then_some(FileSince::Changed)
        }
        // Too large to be read again: its time says it.
        (Some(_), Some(about)) => {
            let written = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis();
            (i64::try_from(written).ok()? > last_at).then_some(FileSince::Changed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FileState;

    #[test]
    fn files_are_compared_with_what_the_session_left() {
        let folder = tempfile::tempdir().unwrap();
        let change = |name: &str, after: Option<&str>| FileChange {
            turn: 1,
            at: 0,
            call: "c".into(),
            place: String::new(),
            path: folder.path().join(name),
            before: FileState::default(),
            size: 0,
            after: FileState { hash: after.map(|text| hash(text.as_bytes())), mode: None },
            command: None,
        };
        for (name, text) in [("same", "x"), ("other", "new"), ("back", "x")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let changes = [
            change("same", Some("before")),
            change("same", Some("x")),
            change("other", Some("old")),
            change("gone", Some("x")),
            change("back", None),
            change("deleted", None),
        ];
        let found = files(folder.path(), &changes, 0, Instant::now() + PATIENCE);
        let named = |name: &str, what| (name.to_owned(), what);
        let expected =
            [named("back", FileSince::Back), named("gone", FileSince::Gone), named("other", FileSince::Changed)];
        assert_eq!(found, expected);
    }
}

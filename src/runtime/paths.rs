//! Paths after `@`: an index of the project's files, read off the UI thread, and the best matches in it.

use crate::app::Msg;
use crate::app::msg::{FoundPath, LoadReply};
use crate::lock::lock;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};

/// Matches that are told.
const SHOWN: usize = 50;
/// Entries of the index: a larger tree is known in part.
const MAX_PATHS: usize = 200_000;
/// How long a walk may take.
const WALK_LIMIT: Duration = Duration::from_secs(4);
/// An index older than this is read again, behind the answer.
const FRESH: Duration = Duration::from_secs(3);
/// Entries between two looks whether a newer word was asked for.
const STRIDE: usize = 1024;
/// Entries of one folder that a plain listing reads.
const LISTED: usize = 5000;

/// The index of the folder that was asked for last. Clones share it.
#[derive(Clone, Default)]
pub struct Paths {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Counts questions, so that the work for an older one ends.
    asked: AtomicU64,
    index: Mutex<Index>,
    /// A walk ended.
    walked: Notify,
}

#[derive(Default)]
struct Index {
    root: PathBuf,
    /// Relative, folders with a slash at their end; `None` until the first walk ended.
    entries: Option<Arc<Vec<Box<str>>>>,
    read_at: Option<Instant>,
    walking: bool,
    /// The root is another one now: the walk under way is for nobody.
    given_up: Arc<AtomicBool>,
}

impl Paths {
    /// Answers a word, maybe twice: at once with what is known, and again when the files were read anew.
    pub async fn answer(self, root: PathBuf, word: String, replies: mpsc::Sender<Msg>) {
        let mine = self.shared.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let tell = |paths| {
            let word = word.clone();
            replies.send(Msg::Loaded(LoadReply::Paths { word, paths }))
        };
        if is_listing(&word) {
            let (root, word) = (root, word.clone());
            let found = tokio::task::spawn_blocking(move || list(&root, &word)).await.unwrap_or_default();
            let _ = tell(found).await;
            return;
        }
        // before the look at the index: a walk that ends in between is not missed
        let walked = self.shared.walked.notified();
        let (known, stale) = self.look(&root);
        let said = match known {
            Some(entries) => self.matched(entries, &word, mine).await,
            None => {
                let (root, word) = (root.clone(), word.clone());
                tokio::task::spawn_blocking(move || list(&root, &word)).await.ok()
            }
        };
        // nothing found is the answer only of an index that is fresh
        let said = said.filter(|paths| !stale || !paths.is_empty());
        if let Some(paths) = &said
            && tell(paths.clone()).await.is_err()
        {
            return;
        }
        if !stale {
            return;
        }
        walked.await;
        let Some(entries) = self.known(&root) else { return };
        if let Some(paths) = self.matched(entries, &word, mine).await
            && said.as_ref() != Some(&paths)
        {
            let _ = tell(paths).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        lock(&self.shared.index)
    }

    /// The index, if it is still that of this folder.
    fn known(&self, root: &Path) -> Option<Arc<Vec<Box<str>>>> {
        let index = self.lock();
        index.entries.clone().filter(|_| index.root == root)
    }

    /// What is known of a folder, and whether a walk is under way that will know better.
    fn look(&self, root: &Path) -> (Option<Arc<Vec<Box<str>>>>, bool) {
        let mut index = self.lock();
        if index.root != root {
            index.given_up.store(true, Ordering::Relaxed);
            *index = Index { root: root.to_owned(), ..Index::default() };
        }
        let stale = index.read_at.is_none_or(|at| at.elapsed() > FRESH);
        if stale && !index.walking {
            index.walking = true;
            let (shared, root, given_up) = (Arc::clone(&self.shared), root.to_owned(), Arc::clone(&index.given_up));
            tokio::task::spawn_blocking(move || shared.read(root, &given_up));
        }
        (index.entries.clone(), stale)
    }

    /// The best matches; `None` when a newer word was asked for meanwhile.
    async fn matched(&self, entries: Arc<Vec<Box<str>>>, word: &str, mine: u64) -> Option<Vec<FoundPath>> {
        let (shared, word) = (Arc::clone(&self.shared), word.to_owned());
        let work = move || best(&entries, &word, || shared.asked.load(Ordering::Relaxed) == mine);
        tokio::task::spawn_blocking(work).await.ok().flatten()
    }
}

impl Shared {
    fn read(&self, root: PathBuf, given_up: &Arc<AtomicBool>) {
        let stop = Instant::now() + WALK_LIMIT;
        let flag = Arc::clone(given_up);
        let entries = walk(&root, move || flag.load(Ordering::Relaxed) || Instant::now() > stop);
        let mut index = lock(&self.index);
        // the folder may have changed meanwhile, and back
        if Arc::ptr_eq(&index.given_up, given_up) {
            index.entries = Some(Arc::new(entries));
            index.read_at = Some(Instant::now());
            index.walking = false;
            drop(index);
            self.walked.notify_waiters();
        }
    }
}

/// Words that a folder is listed for: nothing yet, a folder's end, places outside the project.
fn is_listing(word: &str) -> bool {
    word.is_empty() || word.ends_with('/') || word.starts_with(['/', '~']) || word.starts_with("../")
}

/// Files and folders under a root that ignore rules leave, bounded in number. Once `ends` says so nothing more is read.
fn walk(root: &Path, ends: impl Fn() -> bool + Send + Sync + 'static) -> Vec<Box<str>> {
    let mut builder = ignore::WalkBuilder::new(root);
    // asked of each entry that ignore rules leave, before a folder is read
    let wanted = move |entry: &ignore::DirEntry| entry.file_name() != ".git" && !ends();
    builder.hidden(false).require_git(false).filter_entry(wanted);
    let mut found = Vec::new();
    for entry in builder.build().filter_map(Result::ok) {
        if found.len() >= MAX_PATHS {
            break;
        }
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else { continue };
        if path.is_empty() {
            continue;
        }
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        found.push(if folder { format!("{path}/").into_boxed_str() } else { path.into() });
    }
    found
}

/// The best matches, best first; shorter paths before longer ones. `None` once `wanted` says no.
fn best(entries: &[Box<str>], word: &str, wanted: impl Fn() -> bool) -> Option<Vec<FoundPath>> {
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::new(word, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let hidden = word.starts_with('.') || word.contains("/.");
    let mut buffer = Vec::new();
    let mut scored: Vec<(Reverse<u32>, usize, usize)> = Vec::new();
    for (at, path) in entries.iter().enumerate() {
        if at % STRIDE == 0 && !wanted() {
            return None;
        }
        if !hidden && (path.starts_with('.') || path.contains("/.")) {
            continue;
        }
        if let Some(score) = pattern.score(Utf32Str::new(path, &mut buffer), &mut matcher) {
            scored.push((Reverse(score), path.len(), at));
        }
    }
    if scored.len() > SHOWN {
        scored.select_nth_unstable(SHOWN);
        scored.truncate(SHOWN);
    }
    scored.sort_unstable_by_key(|(score, length, at)| (*score, *length, &entries[*at]));
    let mut marks = Vec::new();
    let found = scored.into_iter().map(|(_, _, at)| {
        marks.clear();
        pattern.indices(Utf32Str::new(&entries[at], &mut buffer), &mut matcher, &mut marks);
        marks.sort_unstable();
        marks.dedup();
        FoundPath { path: entries[at].to_string(), marks: marks.clone() }
    });
    Some(found.collect())
}

/// Entries of one folder that begin with the end of a word, folders with a slash.
fn list(root: &Path, word: &str) -> Vec<FoundPath> {
    let (folder, start) = word.rsplit_once('/').map_or(("", word), |(folder, start)| (folder, start));
    let base = match folder.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let Some(home) = directories::BaseDirs::new() else { return Vec::new() };
            home.home_dir().join(rest.trim_start_matches('/'))
        }
        _ if word.starts_with('/') => PathBuf::from(format!("{folder}/")),
        _ => root.join(folder),
    };
    let Ok(entries) = std::fs::read_dir(base) else { return Vec::new() };
    let before = if word.contains('/') { format!("{folder}/") } else { String::new() };
    let wanted = start.to_lowercase();
    let typed = u32::try_from(before.chars().count()).unwrap_or(u32::MAX);
    let letters = u32::try_from(start.chars().count()).unwrap_or(u32::MAX);
    let mut found: Vec<FoundPath> = entries
        .filter_map(Result::ok)
        .take(LISTED)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let hidden = name.starts_with('.') && !start.starts_with('.');
            if hidden || !name.to_lowercase().starts_with(&wanted) {
                return None;
            }
            let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
            Some(FoundPath { path: format!("{before}{name}{slash}"), marks: (typed..typed + letters).collect() })
        })
        .collect();
    found.sort_by(|a, b| (!a.path.ends_with('/'), &a.path).cmp(&(!b.path.ends_with('/'), &b.path)));
    found.truncate(SHOWN);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(paths: &[&str]) -> Vec<Box<str>> {
        paths.iter().map(|path| (*path).into()).collect()
    }

    #[test]
    fn the_best_match_comes_first_with_its_letters() {
        let entries = entries(&[
            "docs/runner.md",
            "src/agent/",
            "src/agent/runner.rs",
            "src/runtime/mod.rs",
            ".github/runner.yml",
            "src/a/long/way/down/to/a/runner.rs",
        ]);
        for (word, first, count) in [
            ("runner", "docs/runner.md", 3),
            ("agrun", "src/agent/runner.rs", 2),
            ("agent", "src/agent/", 2),
            ("srcmod", "src/runtime/mod.rs", 1),
            (".gi", ".github/runner.yml", 1),
            ("zzz", "", 0),
        ] {
            let found = best(&entries, word, || true).expect("wanted");
            let path = found.first().map_or("", |found| found.path.as_str());
            assert_eq!((path, found.len()), (first, count), "{word}: {found:?}");
        }
        let found = best(&entries, "agrun", || true).expect("wanted");
        assert_eq!(found[0].marks, [4, 5, 10, 11, 12]);
        assert_eq!(best(&entries, "runner", || false), None, "a newer word ends the work");
    }

    #[test]
    fn a_walk_keeps_to_the_ignore_rules() {
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["src/lib.rs", "target/junk.o", ".git/HEAD", ".github/ci.yml"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, "").expect("a file");
        }
        std::fs::write(folder.path().join(".gitignore"), "target\n").expect("a file");
        let mut found = walk(folder.path(), || false);
        found.sort();
        assert_eq!(found, entries(&[".github/", ".github/ci.yml", ".gitignore", "src/", "src/lib.rs"]));
    }

    #[test]
    fn a_walk_ends_where_it_is_told_to() {
        let folder = tempfile::tempdir().expect("a folder");
        for n in 0..20 {
            std::fs::create_dir_all(folder.path().join(format!("{n}/deep"))).expect("a folder");
        }
        for most in [0, 1, 7, 40] {
            let looks = AtomicU64::new(0);
            let found = walk(folder.path(), move || looks.fetch_add(1, Ordering::Relaxed) >= most);
            assert_eq!(found.len() as u64, most);
        }
    }

    #[tokio::test]
    async fn an_index_is_that_of_the_folder_that_was_asked_for() {
        let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
        let roots = folders.each_ref().map(tempfile::TempDir::path);
        let paths = Paths::default();
        let first = {
            let mut index = paths.lock();
            *index = Index { root: roots[0].into(), entries: Some(Arc::default()), ..Index::default() };
            Arc::clone(&index.given_up)
        };
        assert!(paths.known(roots[0]).is_some() && paths.known(roots[1]).is_none());
        paths.look(roots[1]);
        assert!(first.load(Ordering::Relaxed), "the walk before is given up");
        paths.look(roots[0]);
        paths.shared.read(roots[0].into(), &first);
        assert!(!paths.lock().given_up.load(Ordering::Relaxed));
        assert!(!Arc::ptr_eq(&paths.lock().given_up, &first), "what it had read is not the index of today");
    }

    #[test]
    fn fifty_thousand_files_are_bounded_and_a_newer_word_wins() {
        let many: Vec<Box<str>> =
            (0..50_000).map(|n| format!("crates/part{}/src/module_{n}.rs", n % 97).into_boxed_str()).collect();
        assert_eq!(best(&many, "mod49", || true).expect("wanted").len(), SHOWN);
        let looks = std::cell::Cell::new(0);
        let found = best(&many, "mod", || {
            looks.set(looks.get() + 1);
            looks.get() < 3
        });
        assert_eq!((found, looks.get()), (None, 3), "no more than two strides after the newer word");
    }

    #[tokio::test]
    async fn the_first_word_is_answered_from_the_folder_and_again_from_the_index() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("src/deep")).expect("a folder");
        std::fs::write(folder.path().join("src/deep/needle.rs"), "").expect("a file");
        let (replies, mut heard) = mpsc::channel(8);
        let paths = Paths::default();
        paths.clone().answer(folder.path().into(), "needle".into(), replies.clone()).await;
        let Some(Msg::Loaded(LoadReply::Paths { word, paths: found })) = heard.recv().await else {
            panic!("no answer")
        };
        assert_eq!((word.as_str(), found[0].path.as_str()), ("needle", "src/deep/needle.rs"));
        paths.answer(folder.path().into(), "ndl".into(), replies).await;
        let Some(Msg::Loaded(LoadReply::Paths { paths: found, .. })) = heard.recv().await else { panic!("no answer") };
        assert_eq!(found[0].path, "src/deep/needle.rs");
        assert!(heard.recv().await.is_none(), "an index that is fresh answers once");
    }
}

//! What git would lose: changes that were never committed, files that it never had, commits that are nowhere else. Only
//! reads; nothing of the repository is run.

use super::named;
use crate::exec;
use crate::policy::shell::{Invocation, Judgement, UNKNOWN};
use crate::policy::{Target, Verdict};
use crate::text::format::plural;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Names told of each kind.
const NAMES: usize = 3;
/// Paths of one question.
const MAX_PATHS: usize = 256;

/// The repository that a folder is in, and its top.
struct Repo {
    repo: exec::Repo,
    root: PathBuf,
}

impl Repo {
    fn of(folder: &Path, until: Instant) -> Option<Self> {
        let repo = exec::Repo::of(folder, until).ok()?;
        Some(Self { root: repo.root(until).ok()?, repo })
    }

    fn ask(&self, args: &[&str], until: Instant) -> Option<String> {
        self.ask_at(&self.root, args, until)
    }

    fn ask_at(&self, folder: &Path, args: &[&str], until: Instant) -> Option<String> {
        let answer = self.repo.ask_at(folder, args, until).ok()?;
        Some(String::from_utf8_lossy(&answer).into_owned())
    }

    /// What differs from the last commit at and below these paths.
    fn dirty(&self, paths: &[PathBuf], until: Instant) -> Option<Dirty> {
        let mut args = vec![
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=all",
            "--no-renames",
            "--",
        ];
        let paths: Vec<&str> = paths.iter().take(MAX_PATHS).filter_map(|path| path.to_str()).collect();
        args.extend(&paths);
        let answer = self.ask(&args, until)?;
        let mut dirty = Dirty::default();
        for entry in answer.split('\0').filter(|entry| entry.len() > 3) {
            let (state, name) = entry.split_at(3);
            let name = name.to_owned();
            if state.starts_with("??") {
                dirty.untracked.push(name);
            } else {
                dirty.changed.push(name);
            }
        }
        Some(dirty)
    }

    /// A count that git tells.
    fn count(&self, args: &[&str], until: Instant) -> Option<u64> {
        self.ask(args, until)?.trim().parse().ok()
    }
}

/// Files that git could not give back.
#[derive(Debug, Default, PartialEq)]
struct Dirty {
    /// Changed since the last commit, staged or not.
    changed: Vec<String>,
    /// Never committed.
    untracked: Vec<String>,
}

impl Dirty {
    fn words(&self) -> String {
        let mut parts = Vec::new();
        if !self.changed.is_empty() {
            parts.push(format!("{} not committed: {}", self.changed.len(), list(&self.changed)));
        }
        if !self.untracked.is_empty() {
            parts.push(format!("{} never committed: {}", self.untracked.len(), list(&self.untracked)));
        }
        parts.join("; ")
    }
}

/// The first names.
fn list(names: &[String]) -> String {
    let more = if names.len() > NAMES { ", …" } else { "" };
    format!("{}{more}", names.iter().take(NAMES).map(String::as_str).collect::<Vec<_>>().join(", "))
}

/// Files whose rows wait for a word of git.
#[derive(Default)]
pub struct Stakes {
    /// Number of the row, and its paths.
    rows: Vec<(usize, Vec<PathBuf>)>,
}

impl Stakes {
    /// Git is asked about these paths of a row later.
    pub fn ask(&mut self, row: usize, paths: &[PathBuf]) {
        self.rows.push((row, paths.iter().take(MAX_PATHS).cloned().collect()));
    }

    /// Whether git has anything to say.
    pub fn are_asked(&self) -> bool {
        !self.rows.is_empty()
    }

    /// What git says of each row.
    pub fn of_files(&self, until: Instant) -> Vec<(usize, String)> {
        let mut repos: Vec<Option<Repo>> = Vec::new();
        let mut told = Vec::new();
        for (row, paths) in &self.rows {
            let Some(first) = paths.first() else { continue };
            // A folder that is a repository itself goes with what only it has.
            if let Some(words) = whole_repository(first, until) {
                told.push((*row, words));
                continue;
            }
            let folder = first.parent().unwrap_or(first);
            let at =
                match repos.iter().position(|repo| repo.as_ref().is_some_and(|repo| folder.starts_with(&repo.root))) {
                    Some(at) => at,
                    None => {
                        repos.push(Repo::of(folder, until));
                        repos.len() - 1
                    }
                };
            let words = repos[at].as_ref().and_then(|repo| repo.dirty(paths, until)).map(|dirty| dirty.words());
            told.extend(words.filter(|words| !words.is_empty()).map(|words| (*row, words)));
        }
        told
    }
}

/// What goes with a repository that is removed whole, or with its `.git`.
fn whole_repository(path: &Path, until: Instant) -> Option<String> {
    let root = if path.ends_with(".git") { path.parent()? } else { path };
    if !root.join(".git").exists() {
        return None;
    }
    let repo = Repo::of(root, until)?;
    if repo.root != root.canonicalize().ok()? {
        return None;
    }
    let mut parts = vec!["a git repository".to_owned()];
    if let Some(count) =
        repo.count(&["rev-list", "--count", "--branches", "--not", "--remotes"], until).filter(|n| *n > 0)
    {
        parts.push(format!("{} not pushed", plural(count, "commit", "commits")));
    }
    if !path.ends_with(".git")
        && let Some(dirty) = repo.dirty(&[], until)
        && dirty != Dirty::default()
    {
        parts.push(dirty.words());
    }
    Some(parts.join(", "))
}

/// A call of git that discards something.
struct Order<'a> {
    name: String,
    sub: &'a str,
    words: Vec<&'a str>,
    folder: PathBuf,
}

impl<'a> Order<'a> {
    fn of(command: &'a Invocation) -> Option<Self> {
        if !named::is_git(&command.words) || command.cwd.contains(UNKNOWN) {
            return None;
        }
        let mut folder = PathBuf::from(&command.cwd);
        let mut words = command.words.iter().skip(1).map(String::as_str);
        let sub = loop {
            match words.next()? {
                "-C" => folder = folder.join(words.next()?),
                "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                    words.next()?;
                }
                word if word.starts_with('-') => {}
                word => break word,
            }
        };
        let words: Vec<&str> = words.collect();
        if words.iter().any(|word| word.contains(UNKNOWN)) {
            return None;
        }
        Some(Self { name: format!("git {sub}"), sub, words, folder })
    }

    fn has(&self, long: &[&str], short: &str) -> bool {
        let mut options = self.words.iter().take_while(|word| **word != "--");
        options.any(|word| {
            long.contains(word)
                || (word.starts_with('-') && !word.starts_with("--") && word[1..].contains(|c| short.contains(c)))
        })
    }

    /// Words that are no options.
    fn operands(&self) -> Vec<&'a str> {
        let dashes = self.words.iter().position(|word| *word == "--");
        let plain = |(at, word): (usize, &&'a str)| {
            let after = dashes.is_some_and(|dashes| at > dashes);
            (after || (!word.starts_with('-') && Some(at) != dashes)).then_some(*word)
        };
        self.words.iter().enumerate().filter_map(plain).collect()
    }

    /// The paths among them: those after `--`, else those that exist.
    fn paths(&self) -> Vec<PathBuf> {
        let dashes = self.words.iter().position(|word| *word == "--");
        let path = |word: &str| self.folder.join(word);
        match dashes {
            Some(dashes) => self.words[dashes + 1..].iter().map(|word| path(word)).collect(),
            None => self.operands().into_iter().map(path).filter(|path| path.symlink_metadata().is_ok()).collect(),
        }
    }
}

/// Calls of git that a reason is about.
fn orders<'a>(verdict: &'a Verdict, judgement: &'a Judgement) -> impl Iterator<Item = Order<'a>> {
    let meant = |command: &&Invocation| {
        let mut reasons = verdict.reasons().iter();
        reasons.any(|why| why.span.start < command.span.end && command.span.start < why.span.end)
    };
    judgement.invocations.iter().filter(meant).filter_map(Order::of)
}

/// Whether there is one.
pub fn is_meant(verdict: &Verdict, judgement: &Judgement) -> bool {
    orders(verdict, judgement).next().is_some()
}

/// A row for each of them.
pub fn of_commands(verdict: &Verdict, judgement: &Judgement, until: Instant) -> Vec<Target> {
    let mut rows: Vec<Target> = Vec::new();
    for order in orders(verdict, judgement) {
        let Some(repo) = Repo::of(&order.folder, until) else { continue };
        if let Some(row) = stake(&order, &repo, until)
            && !rows.contains(&row)
        {
            rows.push(row);
        }
    }
    rows
}

fn stake(order: &Order<'_>, repo: &Repo, until: Instant) -> Option<Target> {
    let mut row = Target { name: order.name.clone(), files: None, bytes: None, at_least: false, note: String::new() };
    match order.sub {
        "reset" if order.has(&["--hard", "--merge", "--keep"], "") => {
            row.name = "git reset --hard".into();
            let dirty = repo.dirty(&[], until)?;
            let mut notes = vec![discards(&dirty.changed)];
            let to = order.operands().first().copied().unwrap_or("HEAD");
            let left = repo
                .count(&["rev-list", "--count", "--end-of-options", &format!("{to}..HEAD")], until)
                .filter(|n| *n > 0);
            if let Some(left) = left {
                let range = ["rev-list", "--count", "HEAD", &format!("^{to}"), "--not", "--remotes"];
                let only = repo.count(&range, until).unwrap_or(left);
                let commits = plural(left, "commit leaves", "commits leave");
                notes.push(format!("{commits} the branch, {only} not pushed"));
            }
            weigh(&mut row, repo, &dirty.changed);
            row.note = notes.join("; ");
        }
        "clean" => clean(order, repo, &mut row, until)?,
        "checkout" | "restore" | "switch" => {
            let paths = order.paths();
            let staged = order.sub == "restore" && order.has(&["--staged"], "S") && !order.has(&["--worktree"], "W");
            let all = order.sub != "restore" && order.has(&["--force", "--discard-changes"], "f");
            if staged || (paths.is_empty() && !all) {
                return None;
            }
            let dirty = repo.dirty(if all { &[] } else { &paths }, until)?;
            weigh(&mut row, repo, &dirty.changed);
            row.note = discards(&dirty.changed);
        }
        "stash" => {
            let sub = order.words.first().copied().filter(|word| matches!(*word, "drop" | "clear"))?;
            row.name = format!("git stash {sub}");
            let all = repo.ask(&["stash", "list", "--format=%gd: %gs"], until)?;
            let entries: Vec<String> = all.lines().map(str::to_owned).collect();
            let which = order.words.get(1).copied().unwrap_or("stash@{0}");
            let which =
                if which.bytes().all(|b| b.is_ascii_digit()) { format!("stash@{{{which}}}") } else { which.into() };
            let lost: Vec<String> = match sub {
                "drop" => entries.into_iter().filter(|entry| entry.starts_with(&format!("{which}:"))).collect(),
                _ => entries,
            };
            row.note = match lost.len() as u64 {
                0 => "no such stash".into(),
                count => format!(
                    "{} {}: {}",
                    plural(count, "stash", "stashes"),
                    if count == 1 { "goes" } else { "go" },
                    list(&lost)
                ),
            };
        }
        "branch" if order.has(&["--delete"], "dD") => {
            row.name = "git branch -D".into();
            let mut notes = Vec::new();
            for name in order.operands() {
                let full = format!("refs/heads/{name}");
                let without = format!("--exclude={name}");
                let range = ["rev-list", "--count", &full, "--not", &without, "--branches", "--remotes", "--tags"];
                match repo.count(&range, until) {
                    Some(0) => notes.push(format!("{name}: all its commits also exist elsewhere")),
                    Some(count) => {
                        let subject = repo.ask(&["log", "-1", "--format=%s", &full], until).unwrap_or_default();
                        let commits = plural(count, "commit", "commits");
                        notes.push(format!("{name}: {commits} exist nowhere else, last “{}”", subject.trim_end()));
                    }
                    None => notes.push(format!("{name}: no such branch")),
                }
            }
            row.note = notes.join("; ");
        }
        "push" if order.has(&["--force", "--force-with-lease", "--force-if-includes", "--mirror"], "f") => {
            row.name = "git push --force".into();
            let theirs = repo.count(&["rev-list", "--count", "HEAD..@{upstream}"], until)?;
            row.note = match theirs {
                0 => "the remote branch, as last fetched, has no commits missing here".into(),
                count => format!(
                    "{} on the remote branch, as last fetched, are not in this one",
                    plural(count, "commit", "commits")
                ),
            };
        }
        _ => return None,
    }
    Some(row)
}

/// Counts what would be lost; nothing at all needs no figures.
fn weigh(row: &mut Target, repo: &Repo, changed: &[String]) {
    if !changed.is_empty() {
        (row.files, row.bytes) = (Some(changed.len() as u64), Some(sizes(repo, changed)));
    }
}

fn discards(changed: &[String]) -> String {
    match changed.len() {
        0 => "nothing uncommitted would be lost".into(),
        count => format!("{count} not committed: {}", list(changed)),
    }
}

/// What `git clean` would remove, by its own word: a dry run.
fn clean(order: &Order<'_>, repo: &Repo, row: &mut Target, until: Instant) -> Option<()> {
    let mut args = vec!["clean".to_owned(), "-n".into()];
    for (letter, long) in [("d", ""), ("x", ""), ("X", "")] {
        if order.has(&[long], letter) {
            args.push(format!("-{letter}"));
        }
    }
    let mut words = order.words.iter();
    while let Some(word) = words.next() {
        if let Some(pattern) = word.strip_prefix("--exclude=") {
            args.push(format!("--exclude={pattern}"));
        } else if matches!(*word, "-e" | "--exclude") {
            args.push(format!("--exclude={}", words.next()?));
        } else if *word == "--" {
            break;
        }
    }
    args.push("--".into());
    let paths = order.paths();
    if order.words.contains(&"--") || !paths.is_empty() {
        args.extend(paths.iter().map(|path| path.display().to_string()));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // It cleans below the folder it is called in.
    let answer = repo.ask_at(&order.folder, &args, until)?;
    let gone: Vec<String> =
        answer.lines().filter_map(|line| line.strip_prefix("Would remove ")).map(str::to_owned).collect();
    let mut sum = super::measure::Sum::default();
    for path in &gone {
        sum.add(&order.folder.join(path.trim_end_matches('/')), until);
    }
    (row.files, row.bytes, row.at_least) = (Some(sum.files), Some(sum.bytes), sum.cut);
    let untracked = repo.dirty(std::slice::from_ref(&order.folder), until).unwrap_or_default().untracked;
    // Names relative to the root of the repository; those that are removed begin with a removed path.
    let prefix = order.folder.canonicalize().ok()?;
    let lost = |name: &&String| {
        let path = repo.root.join(name);
        gone.iter().any(|gone| path.starts_with(prefix.join(gone.trim_end_matches('/'))))
    };
    let lost: Vec<String> = untracked.iter().filter(lost).cloned().collect();
    row.note = match (gone.is_empty(), lost.len()) {
        (true, _) => "nothing to remove now".into(),
        (false, 0) => format!("ignored by git: {}", list(&gone)),
        (false, count) => format!("{count} of them never committed: {}", list(&lost)),
    };
    Some(())
}

fn sizes(repo: &Repo, names: &[String]) -> u64 {
    names
        .iter()
        .take(MAX_PATHS)
        .filter_map(|name| repo.root.join(name).symlink_metadata().ok())
        .map(|meta| meta.len())
        .sum()
}

//! What others changed while a session works (files, the branch, commits), in words for the model and for the person. Pure
//! but for [`Head::of`]. It is told in an entry of its own, which stays where it is: the prefix of a request is the same.

use crate::checkpoints::{Fate, Strange};
use crate::protocol::OutsideFile;
use crate::text::format::plural;
use crate::text::width::truncate_end;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Files that have a line of their own: those that the session has read or changed.
const LINES: usize = 20;
/// Other files that are named.
const NAMED: usize = 8;
/// Columns of a path, and of the name of a session.
const PATH: usize = 160;
const NAME: usize = 60;

/// How lists of files begin.
const OTHERS: &str = "Note: changed externally, not read by you: ";
const REWOUND: &str = "Note: turns that are no longer in this conversation changed these, and they were left so: ";
/// How words about git begin.
const GIT: [&str; 2] = ["the git branch was ", "git HEAD "];

/// A file that somebody else changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// As it is shown: below the folder of the session, or whole.
    pub path: String,
    pub fate: Fate,
    /// The other session that did it.
    pub by: Option<String>,
    /// The session has read or changed it.
    pub known: bool,
    /// A command of the session that runs may have done it.
    pub unsure: bool,
}

/// All that is told at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    pub files: Vec<Told>,
    /// Files that are only counted.
    pub more: usize,
    /// What became of branch and commits, in words.
    pub git: Option<String>,
    /// What turns that were rewound did to files, and was left so.
    pub rewound: Vec<Told>,
}

/// What a note told, read from its text again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// By path, as it was shown.
    pub files: Vec<(PathBuf, Fate)>,
    pub git: Option<String>,
}

/// A path without what a terminal or a reader could take for something else.
pub fn plain(path: &Path) -> String {
    let text: String = path.display().to_string().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    truncate_end(&text, PATH)
}

/// Whose change it is: others write the same bytes at the same path. `wrote`: what other sessions wrote lately, newest first.
pub fn author<'a>(file: &Strange, wrote: &'a [crate::store::Wrote]) -> Option<&'a str> {
    let same = |one: &&crate::store::Wrote| one.path == file.path && (file.hash.is_none() || one.after == file.hash);
    let found = wrote.iter().find(same)?;
    Some(found.title.as_deref().unwrap_or(&found.session.0))
}

/// What was heard earlier and later, each file once.
pub fn joined(earlier: Vec<Strange>, later: Vec<Strange>) -> Vec<Strange> {
    let mut all = earlier;
    for mut file in later {
        let before = all.iter().position(|one| one.path == file.path).map(|at| all.remove(at));
        file.fate = match (before.map(|before| before.fate), file.fate) {
            (Some(first @ (Fate::Created | Fate::Renamed(_))), Fate::Modified) => first,
            (Some(Fate::Removed), Fate::Created) => Fate::Modified,
            (_, fate) => fate,
        };
        all.push(file);
    }
    all
}

/// The files in words: those that the session knows first. One that its own command may have changed, or that git ignores,
/// counts only when it knows the file.
pub fn told(heard: Vec<Strange>, root: &Path, known: &HashSet<PathBuf>, wrote: &[crate::store::Wrote]) -> Vec<Told> {
    let shown = |path: &Path| plain(path.strip_prefix(root).unwrap_or(path));
    let is_known =
        |file: &Strange| known.contains(&file.path) || matches!(&file.fate, Fate::Renamed(old) if known.contains(old));
    let tell = |file: Strange| {
        let is_known = is_known(&file);
        let old = if let Fate::Renamed(from) = &file.fate { Some(from.clone()) } else { None };
        let by = author(&file, wrote).map(|name| truncate_end(name, NAME));
        let fate = old.map_or(file.fate.clone(), |old| Fate::Renamed(shown(&old).into()));
        Told { path: shown(&file.path), fate, by, known: is_known, unsure: file.unsure }
    };
    let mut files: Vec<Told> =
        heard.into_iter().filter(|file| is_known(file) || !file.unsure && !file.ignored).map(tell).collect();
    files.sort_by_key(|file| (!file.known, file.by.is_none()));
    files
}

impl Told {
    /// `modified`, `renamed from a.rs`.
    fn word(&self) -> String {
        match &self.fate {
            Fate::Modified => "modified".to_owned(),
            Fate::Created => "created".to_owned(),
            Fate::Removed => "removed".to_owned(),
            Fate::Renamed(from) => format!("renamed from {}", from.display()),
        }
    }

    /// `a.rs was modified externally`.
    fn sentence(&self) -> String {
        let (path, word) = (&self.path, self.word());
        match &self.by {
            Some(session) => format!("{path} was {word} by another session: “{session}”"),
            None if self.unsure => format!("{path} was {word}, externally or by a command of yours that still runs"),
            None => format!("{path} was {word} externally"),
        }
    }

    /// For the sidebar.
    pub fn row(&self) -> OutsideFile {
        OutsideFile { path: self.path.clone(), what: self.word(), by: self.by.clone() }
    }
}

impl News {
    /// What the model reads; `None`: nothing happened.
    pub fn text(&self) -> Option<String> {
        let (known, others): (Vec<&Told>, Vec<&Told>) =
            self.files.iter().partition(|file| file.known || file.by.is_some());
        let mut lines: Vec<String> =
            known.iter().take(LINES).map(|file| format!("Note: {}", file.sentence())).collect();
        let rest = known.len().saturating_sub(LINES);
        if rest > 0 {
            lines.push(format!("Note: {} more that you read or changed were changed externally", files(rest)));
        }
        if !others.is_empty() || self.more > 0 {
            lines.push(format!("{OTHERS}{}", in_words(others, self.more)));
        }
        if known.iter().any(|file| file.fate == Fate::Modified) {
            lines.push("What you have read of a modified file is old: read it again before you rely on it.".to_owned());
        }
        if !self.rewound.is_empty() {
            let words = in_words(&self.rewound, 0);
            lines.push(format!("{REWOUND}{words}"));
        }
        lines.extend(self.git.as_ref().map(|git| format!("Note: {git}")));
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// The same in one line for the person.
    pub fn gist(&self) -> String {
        let mut parts = Vec::new();
        match self.files.as_slice() {
            [] => {}
            [one] if self.more == 0 => parts.push(one.sentence()),
            all => {
                let by: Vec<String> = all.iter().filter_map(|file| file.by.clone()).collect();
                let count = all.len() + self.more;
                let first = by.first().filter(|_| by.len() == count && by.windows(2).all(|two| two[0] == two[1]));
                parts.push(match first {
                    Some(session) => format!("{count} files were changed by another session: “{session}”"),
                    None => format!("{count} files were changed externally"),
                });
            }
        }
        if !self.rewound.is_empty() {
            parts.push(format!("{} still hold changes of rewound turns", files(self.rewound.len())));
        }
        parts.extend(self.git.clone());
        format!("{}; the model was notified", parts.join(" · "))
    }
}

fn files(count: usize) -> String {
    plural(count as u64, "file", "files")
}

/// `a.rs (modified), b.rs (created) and 3 files more`.
fn in_words<'a>(told: impl IntoIterator<Item = &'a Told>, more: usize) -> String {
    let all: Vec<String> = told.into_iter().map(|file| format!("{} ({})", file.path, file.word())).collect();
    let rest = all.len().saturating_sub(NAMED) + more;
    let rest = if rest > 0 { format!(" and {} more", files(rest)) } else { String::new() };
    format!("{}{rest}", all[..all.len().min(NAMED)].join(", "))
}

impl Said {
    /// Of the text of a note: what [`News::text`] wrote. Empty for any other text.
    pub fn read(text: &str) -> Self {
        let mut said = Self::default();
        for line in text.lines() {
            if let Some(list) = line.strip_prefix(OTHERS).or_else(|| line.strip_prefix(REWOUND)) {
                said.files.extend(list.split("), ").filter_map(|one| {
                    let (path, rest) = one.rsplit_once(" (")?;
                    Some((path.into(), fate(rest.split(')').next()?)?))
                }));
            } else if let Some(git) =
                line.strip_prefix("Note: ").filter(|line| GIT.iter().any(|of| line.starts_with(of)))
            {
                said.git = git.split("; git status: ").next().map(str::to_owned);
            } else if let Some((path, rest)) = line.strip_prefix("Note: ").and_then(|line| line.split_once(" was ")) {
                let word =
                    [" by another session", " externally", ", externally"].iter().find_map(|end| rest.split_once(end));
                said.files.extend(word.and_then(|(word, _)| Some((path.into(), fate(word)?))));
            }
        }
        said
    }
}

/// What [`Told::word`] says.
fn fate(word: &str) -> Option<Fate> {
    match word {
        "modified" => Some(Fate::Modified),
        "created" => Some(Fate::Created),
        "removed" => Some(Fate::Removed),
        other => other.strip_prefix("renamed from ").map(|old| Fate::Renamed(old.into())),
    }
}

/// Where a repository stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `None`: detached.
    pub branch: Option<String>,
    /// As git writes it; empty when it is not known.
    pub commit: String,
}

impl Head {
    /// Of the repository that a folder is in, read from its files: no program is started. Blocks.
    pub fn of(folder: &Path) -> Option<Self> {
        let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
        let read = |path: PathBuf| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        // That of a worktree is a file that names the folder.
        let dir = match read(git.clone()) {
            Some(text) => git.parent()?.join(text.strip_prefix("gitdir: ")?),
            None => git,
        };
        let head = read(dir.join("HEAD"))?;
        let Some(name) = head.strip_prefix("ref: ") else { return Some(Self { branch: None, commit: head }) };
        let common = read(dir.join("commondir")).map_or_else(|| dir.clone(), |common| dir.join(common));
        let commit = read(common.join(name)).unwrap_or_default();
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
        Some(Self { branch: Some(branch), commit })
    }

    /// What happened since `before`, in words; `None`: nothing.
    pub fn since(&self, before: &Self) -> Option<String> {
        let short = |commit: &str| commit.chars().take(8).collect::<String>();
        let name = |head: &Self| match &head.branch {
            Some(branch) => plain(Path::new(branch)),
            None => format!("no branch ({})", short(&head.commit)),
        };
        let commits = || match (before.commit.is_empty(), self.commit.is_empty()) {
            (false, false) => format!(": {} (was {})", short(&self.commit), short(&before.commit)),
            _ => String::new(),
        };
        if self.branch != before.branch {
            return Some(format!("the git branch was switched externally to {} (was {})", name(self), name(before)));
        }
        (self.commit != before.commit).then(|| format!("git HEAD moved externally on {}{}", name(self), commits()))
    }
}

/// Files that were read, as they were last seen, against what they are now: where no watch tells. Those of `known` are as
/// the session itself left them.
pub fn compared(
    seen: &HashMap<PathBuf, (u128, u64)>,
    known: &mut HashMap<PathBuf, Option<(u128, u64)>>,
    mut now: impl FnMut(&Path) -> Option<Option<(u128, u64)>>,
) -> Vec<Strange> {
    let mut paths: Vec<&PathBuf> = seen.keys().collect();
    paths.sort();
    let mut changed = Vec::new();
    for path in paths {
        // Nobody could say, or there is no time left.
        let Some(stamp) = now(path) else { break };
        let last = seen.get(path).copied();
        // Such a file is known to be another one already.
        if last == Some((0, 0)) || stamp == last || known.get(path) == Some(&stamp) {
            continue;
        }
        known.insert(path.clone(), stamp);
        let fate = if stamp.is_some() { Fate::Modified } else { Fate::Removed };
        changed.push(Strange { path: path.clone(), fate, hash: None, ignored: false, unsure: false });
    }
    changed
}

#[cfg(test)]
mod tests;

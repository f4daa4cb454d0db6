//! The files that decide what is asked and what runs, as a session read them: whether someone changed them since, and what.
//!
//! A look costs one `stat` a file while nothing changed, of a plugin one for each of its files. Secrets never stand in what is kept.

mod folder;
mod shown;

use super::{Paths, permissions, project};
use crate::policy::redact::{RedactKind, redact};
use crate::protocol::PolicyChange;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a file that are compared by text; a longer one by its hash alone.
const TEXT: u64 = 256 * 1024;

/// Files that were read.
#[derive(Clone, Debug, Default)]
pub struct PolicyFiles {
    parts: Vec<Part>,
}

/// One file, or the files of one folder.
#[derive(Clone, Debug)]
struct Part {
    /// As a person knows it.
    name: String,
    path: PathBuf,
    how: How,
    /// As it was when it was looked at last.
    stamp: Stamp,
    /// What counted when the session read it.
    held: Content,
    /// What counts now.
    now: Content,
}

/// What counts of a file.
#[derive(Clone, Debug, Default)]
struct Content {
    /// For people: without secrets.
    shown: String,
    /// Of all of it, secrets included.
    hash: String,
}

impl Content {
    fn new(shown: String, all: &[u8]) -> Self {
        Self { shown, hash: hex(&Sha256::digest(all)) }
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The keys of a configuration that matter.
    Config,
    Whole,
    /// Names of all files, and what they hold as far as that is read.
    Folder,
}

/// What `stat` says of a file or of all files of a folder, folded into a number; `None` where there is none.
type Stamp = Option<u64>;

/// Names what is on disk, as these changes show it; empty for none.
pub fn version(changes: &[PolicyChange]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let sum = changes.iter().fold(Sha256::new(), |sum, change| {
        sum.chain_update(change.name.as_bytes()).chain_update([0]).chain_update(change.hash.as_bytes())
    });
    hex(&sum.finalize())
}

impl PolicyFiles {
    /// Reads the files of this home, the project of this folder when it is trusted, and these plugins. Blocks.
    pub fn read(paths: &Paths, cwd: &Path, plugins: &[PathBuf]) -> Self {
        let profile = paths.profile().map(|name| format!("profiles/{name}/")).unwrap_or_default();
        let file = |name: &str, how| (format!("~/.hermes/{profile}{name}"), paths.home.join(name), how);
        let mut files = vec![
            file("config.yaml", How::Config),
            file("permissions.yaml", How::Whole),
            file("trusted.yaml", How::Whole),
            file("trusted-things.json", How::Whole),
            file("shell-hooks-allowlist.json", How::Whole),
        ];
        if let Some(project) = project::find(cwd)
            && let Some(dir) = project.parent()
            && project::is_trusted(paths, dir)
        {
            files.push((project.display().to_string(), project, How::Config));
        }
        // Lines of a project only ask and deny: a file that comes later counts from then on.
        let rules = permissions::of_project(paths, cwd).or_else(|| permissions::expected(cwd));
        if let Some((rules, dir)) = rules
            && project::is_trusted(paths, &dir)
        {
            files.push((rules.display().to_string(), rules, How::Whole));
        }
        let plugins = plugins.iter().map(|dir| (format!("plugin {}", dir.display()), dir.clone(), How::Folder));
        let part = |(name, path, how): (String, PathBuf, How)| {
            let (stamp, held) = (stamp(&path, how), content(&path, how));
            Part { name, path, how, stamp, now: held.clone(), held }
        };
        Self { parts: files.into_iter().chain(plugins).map(part).collect() }
    }

    /// What is not as it was; empty when all is. Blocks, for one `stat` a file when nothing was touched.
    pub fn changes(&mut self) -> Vec<PolicyChange> {
        for part in &mut self.parts {
            let stamp = stamp(&part.path, part.how);
            if stamp != part.stamp {
                part.stamp = stamp;
                part.now = content(&part.path, part.how);
            }
        }
        let changed = self.parts.iter().filter(|part| part.now != part.held);
        let change = |part: &Part| PolicyChange {
            name: part.name.clone(),
            diff: shown::difference(&part.held.shown, &part.now.shown),
            hash: part.now.hash.clone(),
        };
        changed.map(change).collect()
    }

    /// Whether every file is still the one that was looked at last. Content that came and went shows: no program can set the
    /// time of a change back.
    pub fn is_untouched(&self) -> bool {
        self.parts.iter().all(|part| part.stamp == stamp(&part.path, part.how))
    }

    /// Looks at the files that count now instead; of those known before goes on to count what was read of them.
    pub fn replaced_by(&mut self, mut new: Self) {
        for part in &mut new.parts {
            if let Some(known) = self.parts.iter().find(|known| known.path == part.path) {
                part.held.clone_from(&known.held);
            }
        }
        *self = new;
    }

    /// What is there now counts as read, as far as it was looked at.
    pub fn accept(&mut self) {
        for part in &mut self.parts {
            part.held.clone_from(&part.now);
        }
    }

    /// Does work of this program that writes these files: for each of `all` that somebody else had not changed before, what
    /// the work changes counts as read.
    pub fn ours<T>(all: &mut [&mut Self], work: impl FnOnce() -> T) -> T {
        let clean: Vec<bool> = all.iter_mut().map(|held| held.changes().is_empty()).collect();
        let done = work();
        for (held, _) in all.iter_mut().zip(clean).filter(|(_, clean)| *clean) {
            held.changes();
            held.accept();
        }
        done
    }
}

fn stamp(path: &Path, how: How) -> Stamp {
    match how {
        How::Config | How::Whole => std::fs::metadata(path).ok().map(|about| fold(1, &about)),
        How::Folder => Some(folder::stamp(path)),
    }
}

/// One `stat` more.
fn fold(sum: u64, about: &Metadata) -> u64 {
    marks(about).iter().fold(sum, |sum, part| sum.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ part)
}

/// What is another after any change of a file.
fn marks(about: &Metadata) -> [u64; 6] {
    let (modified, changed) = (about.mtime() as u64, about.ctime() as u64);
    [modified, about.mtime_nsec() as u64, about.ctime_nsec() as u64, changed, about.size(), about.ino()]
}

fn content(path: &Path, how: How) -> Content {
    let plain = |text: String| Content::new(text.clone(), text.as_bytes());
    match how {
        How::Config => shown::config(path),
        How::Whole => match std::fs::metadata(path) {
            Ok(about) if about.len() > TEXT => {
                let hash = folder::hash(path).unwrap_or_else(|| format!("{:x}", fold(1, &about)));
                plain(format!("{} bytes, {hash}\n", about.len()))
            }
            Ok(_) => redacted(&std::fs::read(path).unwrap_or_default()),
            Err(_) => Content::default(),
        },
        How::Folder => plain(folder::lines(path)),
    }
}

fn redacted(bytes: &[u8]) -> Content {
    Content::new(redact(&String::from_utf8_lossy(bytes), RedactKind::Default).into_owned(), bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests;

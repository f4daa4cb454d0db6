//! What the home holds, by kind, and what of it can go: for `hermes sessions stats` and `hermes doctor`. Only looks.

use crate::config::Paths;
use crate::pruning::{OLD_BACKUP, STALE};
use crate::text::format::{bytes, plural};
use crate::text::width::pad;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Files that are looked at, at most: a count must not take minutes.
const MOST: usize = 2_000_000;

/// Files of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    pub files: u64,
    pub bytes: u64,
    /// Bytes of these that can go without anything being missed, and how.
    pub spare: u64,
    pub remedy: &'static str,
}

/// What a home holds, the usual kinds first; those without files are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    pub kinds: Vec<Kind>,
    /// There are more files than were looked at.
    pub is_partial: bool,
}

/// Names of the kinds, and how their spare bytes go.
const KINDS: [(&str, &str); 11] = [
    ("database", ""),
    ("replaced databases", "delete state.db.before-* once `hermes sessions list` shows everything"),
    ("journals", ""),
    ("backups", "hermes sessions prune"),
    ("kept files", "hermes checkpoints prune"),
    ("checkpoints", ""),
    ("spilled output", "hermes sessions prune"),
    ("logs", "delete old files of logs/"),
    ("models and engines", "hermes models remove"),
    ("recordings", "lower recordings.budget_bytes, or delete sessions"),
    ("other", ""),
];

/// The kind of a file by its place in the home, and whether it is spare.
fn kind(path: &Path, age: Duration) -> (usize, bool) {
    let mut parts = path.iter().filter_map(|part| part.to_str());
    let first = parts.next().unwrap_or_default();
    let second = parts.next();
    let is_file = second.is_none();
    let is_database = [".db", ".db-wal", ".db-shm"].iter().any(|end| first.ends_with(end));
    match (first, second) {
        (name, None) if name.contains(".db.before-") => (1, true),
        _ if is_file && is_database => (0, false),
        ("journal", _) => (2, false),
        ("backups", _) => (3, age > OLD_BACKUP),
        ("history", _) => (4, false),
        ("checkpoints", _) | ("cache", Some("trees")) => (5, false),
        ("cache", Some("spill")) => (6, age > STALE),
        ("logs", _) => (7, age > STALE),
        ("models" | "engines", _) => (8, false),
        ("recordings", _) => (9, false),
        _ => (10, false),
    }
}

/// Looks at the home. Blocks.
pub fn look(paths: &Paths) -> Disk {
    let home = paths.state();
    let now = SystemTime::now();
    let mut kinds: Vec<Kind> = KINDS.iter().map(|(name, remedy)| Kind { name, remedy, ..Kind::default() }).collect();
    let (mut folders, mut seen, mut is_partial) = (vec![home.clone()], 0, false);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            // Of links only the link itself counts.
            let Ok(about) = entry.metadata() else { continue };
            let path = entry.path();
            if about.is_dir() {
                // Profiles are homes of their own, which `hermes -p NAME doctor` looks at.
                if path != home.join("profiles") {
                    folders.push(path);
                }
                continue;
            }
            let age = about.modified().ok().and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
            let (at, is_spare) = kind(path.strip_prefix(&home).unwrap_or(&path), age);
            let kind = &mut kinds[at];
            kind.files += 1;
            kind.bytes += about.len();
            kind.spare += if is_spare { about.len() } else { 0 };
        }
        if seen > MOST {
            is_partial = true;
            break;
        }
    }
    kinds.retain(|kind| kind.files > 0);
    Disk { kinds, is_partial }
}

impl Disk {
    /// Bytes of everything.
    pub fn total(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.bytes).sum()
    }

    /// Bytes that can go.
    pub fn spare(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.spare).sum()
    }

    /// A line a kind.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for kind in &self.kinds {
            let files = plural(kind.files, "file", "files");
            let _ = write!(out, "  {} {:>10}  {files}", pad(kind.name, 20), bytes(kind.bytes));
            if kind.spare > 0 {
                let _ = write!(out, ", {} can go: {}", bytes(kind.spare), kind.remedy);
            }
            out.push('\n');
        }
        let more = if self.is_partial { " and more" } else { "" };
        let _ = writeln!(out, "  {} {:>10}{more}", pad("all", 20), bytes(self.total()));
        out
    }

    /// For programs; `docs/CLI.md` has its shape.
    pub fn json(&self) -> serde_json::Value {
        let kind = |kind: &Kind| {
            serde_json::json!({
                "kind": kind.name, "files": kind.files, "bytes": kind.bytes, "spare": kind.spare, "remedy": kind.remedy,
            })
        };
        serde_json::json!({
            "bytes": self.total(), "spare": self.spare(), "partial": self.is_partial,
            "kinds": self.kinds.iter().map(kind).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_counts_once_by_its_place() {
        let home = tempfile::tempdir().unwrap();
        for (name, length) in [
            ("state.db", 5000),
            ("state.db-wal", 100),
            ("state.db.before-20260101-000000", 700),
            ("journal/a.journal", 300),
            ("journal/open/1.2.3", 10),
            ("backups/state-schema-4-x.db", 900),
            ("history/abc", 40),
            ("cache/spill/1/2.log", 60),
            ("config.yaml", 7),
        ] {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x".repeat(length)).unwrap();
        }
        let disk = look(&Paths::at(home.path()));
        let found: Vec<_> = disk.kinds.iter().map(|kind| (kind.name, kind.files, kind.bytes, kind.spare)).collect();
        assert_eq!(
            found,
            [
                ("database", 2, 5100, 0),
                ("replaced databases", 1, 700, 700),
                ("journals", 2, 310, 0),
                ("backups", 1, 900, 0),
                ("kept files", 1, 40, 0),
                ("spilled output", 1, 60, 0),
                ("other", 1, 7, 0),
            ]
        );
        assert!(disk.text().contains("can go: delete state.db.before-*"), "{}", disk.text());
        assert_eq!((disk.total(), disk.spare()), (7117, 700));
    }
}

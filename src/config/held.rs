//! The files that decide what is asked and what runs, as a session read them: whether somebody changed them since, and what.
//!
//! A look costs one `stat` a file while nothing changed. Secrets never stand in what is kept.

use super::schema::{self, Found, Kind};
use super::{Paths, permissions, project, yaml};
use crate::policy::redact::{RedactKind, redact};
use sha2::{Digest, Sha256};
use similar::TextDiff;
use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Top-level keys of a configuration that decide what is asked, what runs and what it may see.
const KEYS: &[&str] = &[
    "approvals",
    "command_allowlist",
    "auxiliary",
    "permissions",
    "hooks",
    "hooks_auto_accept",
    "plugins",
    "mcp_servers",
    "security",
    "sandbox",
    "toolsets",
    "custom_toolsets",
];
/// Single keys of other sections.
const SINGLE: &[(&str, &str)] = &[
    ("terminal", "backend"),
    ("terminal", "env_passthrough"),
    ("terminal", "shell_init_files"),
    ("checks", "commands"),
    ("skills", "external_dirs"),
];

/// Bytes of a file that are compared by text; a longer one by its hash alone.
const TEXT: u64 = 256 * 1024;
/// Bytes of a file that are hashed.
const HASHED: u64 = 4 << 20;
/// Files of a plugin that are looked at, and folders below each other.
const FILES: usize = 400;
const DEPTH: usize = 6;
/// Lines of a difference that are shown, and characters of one.
const LINES: usize = 200;
const LINE: usize = 240;

/// Files that were read.
#[derive(Debug, Default)]
pub struct Held {
    parts: Vec<Part>,
}

/// One file, or the files of one folder.
#[derive(Debug)]
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
    /// Names and hashes of all files.
    Folder,
}

/// What `stat` says of a file or of all files of a folder, folded into a number; `None` where there is none.
type Stamp = Option<u64>;

/// A file that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `~/.hermes/config.yaml`
    pub name: String,
    /// Lines that begin with `+`, `-`, a blank or `@`: a unified difference, bounded, without secrets.
    pub diff: String,
    /// Which content it is about.
    pub hash: String,
}

/// Names what is on disk, as these changes show it; empty for none.
pub fn version(changes: &[Change]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let sum = changes.iter().fold(Sha256::new(), |sum, change| {
        sum.chain_update(change.name.as_bytes()).chain_update([0]).chain_update(change.hash.as_bytes())
    });
    hex(&sum.finalize())
}

impl Held {
    /// Reads the files of this home, the project of this folder when it is trusted, and these plugins. Blocks.
    pub fn read(paths: &Paths, cwd: &Path, plugins: &[PathBuf]) -> Self {
        let file = |name: &str, how| (format!("~/.hermes/{name}"), paths.home.join(name), how);
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
    pub fn changes(&mut self) -> Vec<Change> {
        for part in &mut self.parts {
            let stamp = stamp(&part.path, part.how);
            if stamp != part.stamp {
                part.stamp = stamp;
                part.now = content(&part.path, part.how);
            }
        }
        let changed = self.parts.iter().filter(|part| part.now != part.held);
        let change = |part: &Part| Change {
            name: part.name.clone(),
            diff: difference(&part.held.shown, &part.now.shown),
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

    /// Does work of this program that writes these files: what it changes counts as read, unless somebody else had changed
    /// something before.
    pub fn ours<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let clean = self.changes().is_empty();
        let done = work();
        if clean {
            self.changes();
            self.accept();
        }
        done
    }
}

fn stamp(path: &Path, how: How) -> Stamp {
    let fold = |sum: u64, about: &std::fs::Metadata| {
        let parts = [
            about.mtime() as u64,
            about.mtime_nsec() as u64,
            about.ctime_nsec() as u64,
            about.ctime() as u64,
            about.size(),
            about.ino(),
        ];
        parts.iter().fold(sum, |sum, part| sum.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ part)
    };
    match how {
        How::Config | How::Whole => std::fs::metadata(path).ok().map(|about| fold(1, &about)),
        How::Folder => {
            let files = files(path);
            Some(
                files
                    .iter()
                    .filter_map(|file| std::fs::metadata(file).ok())
                    .fold(files.len() as u64, |sum, about| fold(sum, &about)),
            )
        }
    }
}

fn content(path: &Path, how: How) -> Content {
    let plain = |text: String| Content::new(text.clone(), text.as_bytes());
    match how {
        How::Config => config(path),
        How::Whole => match std::fs::metadata(path) {
            Ok(about) if about.len() > TEXT => plain(format!("{} bytes, {}\n", about.len(), hash(path))),
            Ok(_) => redacted(&std::fs::read(path).unwrap_or_default()),
            Err(_) => Content::default(),
        },
        How::Folder => {
            let line = |file: &PathBuf| {
                let name = file.strip_prefix(path).unwrap_or(file);
                format!("{}  {}\n", name.display(), hash(file))
            };
            plain(files(path).iter().map(line).collect())
        }
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

fn hash(path: &Path) -> String {
    // A file of a plugin is small; of one that is not, its beginning and its size count.
    let Ok(file) = std::fs::File::open(path) else { return "unreadable".into() };
    let size = file.metadata().map_or(0, |about| about.len());
    let mut bytes = Vec::new();
    if file.take(HASHED).read_to_end(&mut bytes).is_err() {
        return "unreadable".into();
    }
    let sum = Sha256::new().chain_update(size.to_le_bytes()).chain_update(&bytes).finalize();
    hex(&sum[..16])
}

/// The files below a folder, in order.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(root.to_path_buf(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // What a plugin leaves behind while it runs is none of its code.
            if matches!(name, "__pycache__" | ".git" | "node_modules" | ".venv") || name.ends_with(".log") {
                continue;
            }
            match std::fs::symlink_metadata(&path) {
                Ok(about) if about.is_dir() && depth < DEPTH => open.push((path, depth + 1)),
                Ok(about) if !about.is_dir() && found.len() < FILES => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The keys of a configuration that matter, one line each, in the order of [`KEYS`].
fn config(path: &Path) -> Content {
    let Ok(bytes) = std::fs::read(path) else { return Content::default() };
    let root = String::from_utf8(bytes.clone()).ok().and_then(|text| yaml::parse(&text, "config.yaml").ok());
    // What cannot be read is compared as it is.
    let Some(root) = root else { return redacted(&bytes) };
    let whole = KEYS.iter().map(|key| ((*key).to_owned(), root.get(key)));
    let single = SINGLE
        .iter()
        .map(|(section, key)| (format!("{section}.{key}"), root.get(section).and_then(|section| section.get(key))));
    let (mut shown, mut all) = (String::new(), String::new());
    for (path, node) in whole.chain(single) {
        let Some(node) = node.map(yaml::Node::to_json) else { continue };
        lines(&mut shown, &path, &node, 0, &path);
        // Writing to a string cannot fail.
        let _ = writeln!(all, "{path}: {node}");
    }
    Content::new(shown, all.as_bytes())
}

/// A value in lines that can be compared: `key: value`, deeper ones indented.
fn lines(out: &mut String, key: &str, value: &serde_json::Value, depth: usize, path: &str) {
    use serde_json::Value;
    let indent = "  ".repeat(depth);
    let secret = |path: &str| matches!(schema::find(path), Found::Leaf(spec) if matches!(spec.kind, Kind::Secret | Kind::SecretMap));
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Object(fields) => {
            let _ = writeln!(out, "{indent}{key}:");
            for (name, inner) in fields {
                let below = if secret(path) { "*".to_owned() } else { format!("{path}.{name}") };
                lines(out, name, inner, depth + 1, &below);
            }
            Ok(())
        }
        Value::Array(items) if !items.is_empty() => {
            let _ = writeln!(out, "{indent}{key}:");
            items.iter().for_each(|item| lines(out, "-", item, depth + 1, path));
            Ok(())
        }
        plain => {
            let shown = match plain {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let hidden = path == "*" || secret(path);
            let shown = if hidden {
                format!("*** {}", short(&shown))
            } else {
                redact(&shown, RedactKind::Default).into_owned()
            };
            let mark = if key == "-" { "- ".to_owned() } else { format!("{key}: ") };
            writeln!(out, "{indent}{mark}{}", shown.replace('\n', "⏎"))
        }
    };
}

/// Tells one secret from another without telling it.
fn short(text: &str) -> String {
    let sum = Sha256::digest(text.as_bytes());
    format!("({:02x}{:02x})", sum[0], sum[1])
}

/// A unified difference without the heads of files, bounded.
fn difference(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut out = String::new();
    let mut count = 0;
    for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
        for line in hunk.to_string().lines() {
            count += 1;
            if count > LINES {
                out.push_str("  … more lines changed\n");
                return out;
            }
            if line.starts_with("@@") {
                if !out.is_empty() {
                    out.push_str("  …\n");
                }
                continue;
            }
            out.extend(line.chars().take(LINE));
            out.push('\n');
        }
    }
    if out.is_empty() {
        out.push_str("  a value that is not shown here changed\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Paths) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path().join("home"));
        std::fs::create_dir_all(&paths.home).unwrap();
        (dir, paths)
    }

    /// Two writes within a tick of the clock would have one stamp: the second has another size.
    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn only_what_matters_counts_and_the_difference_tells_it() {
        let (dir, paths) = home();
        let config = paths.config();
        write(
            &config,
            "display: {skin: a}\napprovals:\n  mode: manual\n  deny: [rm *]\nmcp_servers: {git: {command: git-mcp, env: {K: hunter2-secret}}}\n",
        );
        let mut held = Held::read(&paths, dir.path(), &[]);
        assert_eq!(held.changes(), []);
        write(
            &config,
            "display: {skin: other}\napprovals:\n  mode: manual\n  deny: [rm *]\nmcp_servers: {git: {command: git-mcp, env: {K: hunter2-secret}}} # more\n",
        );
        assert_eq!(held.changes(), [], "looks are no policy");
        write(
            &config,
            "approvals:\n  mode: off\nmcp_servers: {git: {command: git-mcp, env: {K: other-secret-value}}}\ncommand_allowlist: [recursive delete]\n",
        );
        let changes = held.changes();
        assert_eq!(changes.len(), 1);
        let diff = &changes[0].diff;
        for line in ["-  mode: manual", "+  mode: off", "-    - rm *", "+  - recursive delete"] {
            assert!(diff.lines().any(|it| it == line), "{line}\n{diff}");
        }
        assert!(!diff.contains("secret") && diff.contains("K: *** ("), "{diff}");
        assert_eq!(held.changes(), changes, "it stays changed");
        // Back as it was.
        write(
            &config,
            "approvals:\n  mode: manual\n  deny: [rm *]\nmcp_servers: {git: {command: git-mcp, env: {K: hunter2-secret}}}\n",
        );
        assert_eq!(held.changes(), []);
    }

    #[test]
    fn files_that_come_go_and_plugins_count() {
        let (dir, paths) = home();
        let plugin = paths.plugins().join("p");
        write(&plugin.join("main.py"), "one");
        write(&plugin.join("__pycache__/x.pyc"), "one");
        let mut held = Held::read(&paths, dir.path(), std::slice::from_ref(&plugin));
        write(&plugin.join("__pycache__/x.pyc"), "other");
        assert_eq!(held.changes(), []);
        write(&plugin.join("main.py"), "other");
        write(&paths.home.join("permissions.yaml"), "terminal.*: allow\n");
        let names: Vec<String> = held.changes().into_iter().map(|change| change.name).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(names[0].ends_with("permissions.yaml") && names[1].starts_with("plugin "), "{names:?}");
        held.accept();
        assert_eq!(held.changes(), []);
        std::fs::remove_file(paths.home.join("permissions.yaml")).unwrap();
        assert_eq!(held.changes().len(), 1);
    }

    #[test]
    fn own_writes_count_as_read_unless_somebody_else_wrote_before() {
        let (dir, paths) = home();
        let config = paths.config();
        write(&config, "approvals: {mode: manual}\n");
        let mut held = Held::read(&paths, dir.path(), &[]);
        held.ours(|| write(&config, "approvals: {mode: manual}\ncommand_allowlist: [ls]\n"));
        assert_eq!(held.changes(), []);
        write(&config, "approvals: {mode: off}\ncommand_allowlist: [ls]\n");
        held.ours(|| write(&config, "approvals: {mode: off}\ncommand_allowlist: [ls, more]\n"));
        assert_eq!(held.changes().len(), 1);
    }

    #[test]
    fn a_version_names_the_content_that_was_shown_and_no_other() {
        let (dir, paths) = home();
        let config = paths.config();
        write(&config, "approvals: {mode: manual}\n");
        let mut held = Held::read(&paths, dir.path(), &[]);
        assert_eq!(version(&held.changes()), "");
        write(&config, "approvals: {mode: off}\n");
        let shown = version(&held.changes());
        assert!(held.is_untouched());
        write(&config, "approvals: {mode: off, deny: [x]}\n");
        assert!(!held.is_untouched());
        assert_ne!(version(&held.changes()), shown);
        write(&config, "approvals: {mode: off}\ndisplay: {skin: x}\n");
        assert_eq!(version(&held.changes()), shown, "what does not count is another matter");
        // A secret that is not shown is another content all the same.
        let with = |secret: &str| format!("mcp_servers: {{git: {{command: git-mcp, env: {{K: {secret}}}}}}}\n");
        write(&config, &with("hunter2-secret"));
        let one = held.changes();
        write(&config, &with("hunter3-secret!"));
        let other = held.changes();
        assert_ne!(version(&one), version(&other));
        assert!(!format!("{one:?}{other:?}").contains("hunter"));
        // The files that count now; what was not shown is no part of it.
        held.accept();
        write(&config, &with("other"));
        held.replaced_by(Held::read(&paths, dir.path(), &[]));
        assert_eq!(held.changes().len(), 1);
    }

    #[test]
    fn a_look_is_cheap() {
        let (dir, paths) = home();
        write(&paths.config(), "approvals: {mode: manual}\n");
        let mut held = Held::read(&paths, dir.path(), &[]);
        let began = std::time::Instant::now();
        for _ in 0..1000 {
            assert!(held.changes().is_empty());
        }
        // Five `stat`s: far below this on any disk, even with a busy machine and unoptimised code.
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
    }
}

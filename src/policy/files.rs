//! What touching a path means: classes of paths, protected folders, and the verdict on edits and reads by the file tools.

use super::table::{Base, Level, PathClass, Pattern, Table, table};
use super::{EditIntent, Verdict, Why, World, glob};
use std::path::{Component, Path, PathBuf};

/// Folders whose loss is the loss of the machine; the home folder and all above it come on top.
const SYSTEM_FOLDERS: &[&str] = &[
    "/",
    "/home",
    "/root",
    "/etc",
    "/usr",
    "/var",
    "/bin",
    "/sbin",
    "/boot",
    "/lib",
    "/lib32",
    "/lib64",
    "/dev",
    "/proc",
    "/sys",
    "/run",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share",
    "/var/lib",
    "/Users",
    "/System",
    "/Library",
    "/Applications",
    "/private",
    "/private/etc",
    "/private/var",
];

/// An absolute path without `.`, `..`, doubled slashes and `/proc/self/root`. `..` is taken literally; `World::resolve` knows links.
pub fn normal(cwd: &Path, path: &str) -> String {
    let joined = if path.starts_with('/') { PathBuf::from(path) } else { cwd.join(path) };
    let mut parts: Vec<String> = Vec::new();
    for component in joined.components() {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => {
                parts.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
        // The root of a process is the root.
        if parts.len() == 3
            && parts[0] == "proc"
            && parts[2] == "root"
            && (parts[1] == "self" || parts[1].parse::<u32>().is_ok())
        {
            parts.clear();
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether the loss of this folder is the loss of the machine or of all that the user has.
pub fn is_protected(path: &str, world: &dyn World) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| folder.eq_ignore_ascii_case(path)) || world.home().starts_with(path)
}

/// Whether a pattern can match a protected folder itself.
pub fn may_match_protected(pattern: &str, world: &dyn World) -> bool {
    let depth = |path: &str| path.trim_end_matches('/').matches('/').count();
    let home = world.home().to_string_lossy().into_owned();
    SYSTEM_FOLDERS
        .iter()
        .copied()
        .chain([home.as_str()])
        .any(|folder| depth(folder) == depth(pattern) && glob::matches(pattern.trim_end_matches('/'), folder))
}

/// The class of an absolute path, if it has one. `home` and `own` are the folders that `~` and `@` stand for.
pub fn class_in<'t>(table: &'t Table, path: &str, home: &str, own: &str) -> Option<&'t PathClass> {
    let covered = |patterns: &[Pattern]| {
        patterns.iter().any(|pattern| {
            let base = match pattern.base {
                Base::Root => "",
                Base::Home => home,
                Base::Own => own,
            };
            let Some(rest) = path.strip_prefix(base) else { return false };
            let glob = pattern.glob.as_bytes();
            rest.as_bytes().starts_with(&glob[..pattern.prefix])
                && rest.as_bytes().ends_with(&glob[glob.len() - pattern.suffix..])
                && rest.contains(&pattern.glob[pattern.piece.clone()])
                && (pattern.deep || pattern.glob.matches('/').count() == rest.matches('/').count())
                && glob::matches(&pattern.glob, rest)
        })
    };
    let at = table.patterns.iter().position(|class| covered(&class.paths) && !covered(&class.except))?;
    table.paths.classes.get(at)
}

/// The class of an absolute path for this world.
pub fn class_of<'t>(table: &'t Table, path: &str, world: &dyn World) -> Option<&'t PathClass> {
    class_in(table, path, &world.home().to_string_lossy(), &world.hermes_home().to_string_lossy())
}

/// Whether reading this path would block, never end, or hand out the memory of a process. `path` is absolute; links are the caller's.
pub fn blocked_device(path: &str) -> bool {
    let path = normal(Path::new("/"), path);
    if let Some(device) = path.strip_prefix("/dev/") {
        return matches!(
            device,
            "zero"
                | "random"
                | "urandom"
                | "full"
                | "stdin"
                | "tty"
                | "console"
                | "stdout"
                | "stderr"
                | "ptmx"
                | "kmsg"
                | "fd/0"
                | "fd/1"
                | "fd/2"
        );
    }
    if path == "/proc/kmsg" {
        return true;
    }
    let Some((_, file)) = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')) else { return false };
    // Threads have the same files below `task/TID`.
    let file = file.strip_prefix("task/").and_then(|f| f.split_once('/')).map_or(file, |(_, f)| f);
    matches!(
        file,
        "fd/0"
            | "fd/1"
            | "fd/2"
            | "environ"
            | "cmdline"
            | "maps"
            | "smaps"
            | "smaps_rollup"
            | "numa_maps"
            | "mem"
            | "auxv"
            | "pagemap"
    )
}

/// Whether the file tools keep the content of this path from the model.
pub fn read_blocked(path: &str, world: &dyn World) -> bool {
    table().ok().and_then(|t| class_of(t, path, world)).is_some_and(|c| c.read_blocked)
}

/// Whether `read_file` would be asked about this absolute path, for many paths at once: `home` and `own` as in [`class_in`].
/// Links are the caller's.
pub fn holds_secrets(path: &str, home: &str, own: &str) -> bool {
    // Without the table nothing is known to be harmless.
    let Ok(table) = table() else { return true };
    class_in(table, path, home, own)
        .is_some_and(|class| class.read_blocked || class.file_read.is_some_and(|level| level > Level::Allow))
}

/// The verdict on edits. `cwd` is the working folder of the task.
pub fn judge_edit(edits: &[EditIntent], cwd: &Path, world: &dyn World) -> Verdict {
    let table = match table() {
        Ok(table) => table,
        Err(error) => {
            return Verdict::AskAlways(vec![why("command parser limit or malformed executable payload", error.into())]);
        }
    };
    let mut found: Vec<(Level, Why)> = Vec::new();
    for edit in edits {
        let literal = normal(cwd, &edit.path.to_string_lossy());
        let real = world.resolve(Path::new(&literal)).to_string_lossy().into_owned();
        let shown = &literal;
        for path in [&literal, &real] {
            if let Some(class) = class_of(table, path, world)
                && let Some(level) = class.file_write
            {
                let effect = if class.write.is_empty() { "overwrite of system files" } else { &class.write };
                found.push((level, why(effect, format!("{}: {shown}", table.effect(effect).say))));
            }
        }
        if edit.removes && is_protected(&real, world) {
            found.push((Level::Refuse, why("delete of root, home or a system folder", format!("deletes {shown}"))));
        }
        let temporary = ["/tmp", "/var/tmp", "/private/tmp"].iter().any(|t| Path::new(&real).starts_with(t));
        let real_cwd = world.resolve(cwd);
        if !Path::new(&real).starts_with(&real_cwd) && !Path::new(&real).starts_with(cwd) && !temporary {
            found.push((Level::Ask, why("write outside this folder", format!("writes outside this folder: {shown}"))));
        }
        if edit.removes {
            found.push((Level::Ask, why("deletes a file", format!("deletes or moves away {shown}"))));
        }
    }
    verdict(found)
}

/// The verdict on a read by a file tool.
pub fn judge_read(path: &Path, cwd: &Path, world: &dyn World) -> Verdict {
    let table = match table() {
        Ok(table) => table,
        Err(error) => {
            return Verdict::AskAlways(vec![why("command parser limit or malformed executable payload", error.into())]);
        }
    };
    let literal = normal(cwd, &path.to_string_lossy());
    let real = world.resolve(Path::new(&literal)).to_string_lossy().into_owned();
    let mut found = Vec::new();
    for path in [&literal, &real] {
        if blocked_device(path) {
            found.push((
                Level::Refuse,
                why("blocked device", format!("{path} never ends or holds the memory of a process")),
            ));
        }
        if let Some(level) = class_of(table, path, world).and_then(|class| class.file_read) {
            found
                .push((level, why("read of a secret", format!("{}: {literal}", table.effect("read of a secret").say))));
        }
    }
    verdict(found)
}

fn why(effect: &str, text: String) -> Why {
    Why { effect: effect.into(), text, span: 0..0 }
}

/// The verdict that the most serious finding makes.
pub(super) fn verdict(mut found: Vec<(Level, Why)>) -> Verdict {
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.span.start.cmp(&b.1.span.start)));
    let level = found.first().map_or(Level::Allow, |f| f.0);
    let mut reasons: Vec<Why> = Vec::new();
    for (_, reason) in found {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    match level {
        Level::Allow => Verdict::Allow(reasons),
        Level::Ask => Verdict::Ask(reasons),
        Level::AskAlways => Verdict::AskAlways(reasons),
        Level::Refuse => Verdict::Refuse(reasons),
    }
}

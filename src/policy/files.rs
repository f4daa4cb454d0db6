//! What touching a path means: classes of paths, protected folders, and the verdict on edits and reads by the file tools.

use super::border::{Border, has_other_names, overwrites};
use super::table::{Level, PathClass, Pattern, Table, table};
use super::{EditIntent, Verdict, Why, World, glob};
use aho_corasick::AhoCorasick;
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

/// Whether an absolute path has nothing that [`normal`] would take out.
fn is_clean(path: &str) -> bool {
    let bytes = path.as_bytes();
    let odd = |at: usize| match bytes.get(at + 1) {
        None | Some(b'/') => true,
        Some(b'.') => {
            matches!(bytes.get(at + 2), None | Some(b'/'))
                || bytes.get(at + 2) == Some(&b'.') && matches!(bytes.get(at + 3), None | Some(b'/'))
        }
        Some(_) => false,
    };
    bytes.first() == Some(&b'/')
        && !path.starts_with("/proc/")
        && !bytes.iter().enumerate().any(|(at, byte)| *byte == b'/' && odd(at))
}

/// An absolute path without `.`, `..`, doubled slashes and `/proc/self/root`. `..` is taken literally; `World::resolve` knows links.
pub fn normal(cwd: &Path, path: &str) -> String {
    if let Some(cwd) = cwd.to_str() {
        let joined = if path.starts_with('/') {
            path.to_owned()
        } else if path.is_empty() || cwd == "/" {
            format!("{cwd}{path}")
        } else {
            format!("{cwd}/{path}")
        };
        if is_clean(&joined) {
            return joined;
        }
    }
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

/// The home of ours that a path belongs to: that of the profile in whose folder it lies, else `own`, which holds them all.
pub fn home_of<'a>(path: &'a str, own: &'a str) -> &'a str {
    const FOLDER: &str = "/profiles/";
    let name = path.strip_prefix(own).and_then(|rest| rest.strip_prefix(FOLDER)).and_then(|rest| rest.find('/'));
    match name {
        Some(length) if length > 0 => &path[..own.len() + FOLDER.len() + length],
        _ => own,
    }
}

/// The class of an absolute path, if it has one. `home` and `own` are the folders that `~` and `@` stand for.
pub fn class_in<'t>(table: &'t Table, path: &str, home: &str, own: &str) -> Option<&'t PathClass> {
    let at = if table.ignores_case(path) || table.ignores_case(home) {
        table.folded.first(&path.to_lowercase(), &home.to_lowercase(), &own.to_lowercase())
    } else {
        table.patterns.first(path, home, own)
    };
    table.paths.classes.get(at?)
}

/// Whether an absolute path is in one of the places where any task may leave files: temporary folders, caches, `/dev/null`.
pub fn is_free(table: &Table, path: &str, home: &str, own: &str) -> bool {
    let free = table.patterns.each.iter().zip(&table.paths.classes).filter(|(_, class)| class.free);
    free.flat_map(|(patterns, _)| &patterns.paths).any(|pattern| pattern.covers(path, home, own))
}

/// Whether an absolute path is in a temporary folder that others use, too: new files are free there, those of others are not.
pub fn is_shared(table: &Table, path: &Path) -> bool {
    let path = path.to_string_lossy();
    let shared = table.patterns.each.iter().zip(&table.paths.classes).filter(|(_, class)| class.shared);
    shared.flat_map(|(patterns, _)| &patterns.paths).any(|pattern| pattern.covers(&path, "", ""))
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

/// Which files at or below one folder `read_file` would be asked about, for many paths: only the patterns that can match
/// there are looked at. Links are the caller's.
pub struct SecretsBelow {
    home: String,
    own: String,
    /// The patterns of each class, those of its exceptions, and whether its files are secrets. `None`: without the table
    /// nothing is known to be harmless.
    classes: Option<Vec<Narrowed>>,
    /// Finds a piece of one of their patterns; a path without any is no secret.
    pieces: Option<AhoCorasick>,
}

struct Narrowed {
    paths: Vec<&'static Pattern>,
    except: Vec<&'static Pattern>,
    secret: bool,
}

impl SecretsBelow {
    /// `root` is absolute; `home` and `own` as in [`class_in`].
    pub fn new(root: &str, home: String, own: String) -> Self {
        let narrow = |patterns: &'static [Pattern]| -> Vec<&'static Pattern> {
            let may_match = |pattern: &&Pattern| {
                let start = format!("{}{}", pattern.base(&home, &own), pattern.start());
                start.starts_with(root) || root.starts_with(&start)
            };
            patterns.iter().filter(may_match).collect()
        };
        let classes = table().ok().map(|table| {
            let secret =
                |class: &PathClass| class.read_blocked || class.file_read.is_some_and(|level| level > Level::Allow);
            let all = table.patterns.each.iter().zip(&table.paths.classes).map(|(patterns, class)| Narrowed {
                paths: narrow(&patterns.paths),
                except: narrow(&patterns.except),
                secret: secret(class),
            });
            let mut all: Vec<Narrowed> = all.filter(|class| !class.paths.is_empty()).collect();
            // What comes after the last secret class decides nothing.
            all.truncate(all.iter().rposition(|class| class.secret).map_or(0, |last| last + 1));
            all
        });
        let secret = classes.iter().flatten().filter(|class| class.secret);
        let pieces = AhoCorasick::new(secret.flat_map(|class| &class.paths).map(|pattern| pattern.piece())).ok();
        Self { home, own, classes, pieces }
    }

    /// Whether this absolute path, at or below the folder, is a secret.
    pub fn has(&self, path: &str) -> bool {
        let Some(classes) = &self.classes else { return true };
        if self.pieces.as_ref().is_some_and(|pieces| !pieces.is_match(path)) {
            return false;
        }
        let covered =
            |patterns: &[&Pattern]| patterns.iter().any(|pattern| pattern.covers(path, &self.home, &self.own));
        classes.iter().find(|class| covered(&class.paths) && !covered(&class.except)).is_some_and(|class| class.secret)
    }
}

/// The verdict on edits. `cwd` is where relative paths start, and the border of a world that has none.
pub fn judge_edit(edits: &[EditIntent], cwd: &Path, world: &dyn World) -> Verdict {
    let table = match table() {
        Ok(table) => table,
        Err(error) => {
            return Verdict::AskAlways(vec![why("command parser limit or malformed executable payload", error.into())]);
        }
    };
    let mut found: Vec<(Level, Why)> = Vec::new();
    let border = Border::of(cwd, world);
    for edit in edits {
        let literal = normal(cwd, &edit.path.to_string_lossy());
        let real = world.resolve(Path::new(&literal)).to_string_lossy().into_owned();
        let shown = &literal;
        let inside = border.has(&real);
        for path in [&literal, &real] {
            if let Some(class) = class_of(table, path, world)
                && let Some(level) = class.file_write
                && !(class.elsewhere && border.has_beside(Path::new(&real), &world.home()))
            {
                let effect = if class.write.is_empty() { "overwrite of system files" } else { &class.write };
                found.push((level, why(effect, format!("{}: {shown}", table.effect(effect).say))));
            }
        }
        if edit.removes && is_protected(&real, world) {
            found.push((Level::Refuse, why("delete of root, home or a system folder", format!("deletes {shown}"))));
        }
        let (home, own) = (world.home(), world.hermes_home());
        if !inside && !is_free(table, &real, &home.to_string_lossy(), &own.to_string_lossy()) {
            found.push((Level::Ask, why("write outside this folder", format!("writes outside this folder: {shown}"))));
        }
        if !inside && overwrites(table, &real, world) {
            let text = format!("changes a file this session did not create: {shown}");
            found.push((Level::Ask, why("write outside this folder", text)));
        }
        if !edit.removes && has_other_names(Path::new(&real), &border, world) {
            let effect = "write to a file with several names";
            found.push((Level::Ask, why(effect, format!("{}: {shown}", table.effect(effect).say))));
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
                why("blocked device", format!("{path} never ends or exposes the memory of a process")),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Looking at fewer patterns finds the same.
    #[test]
    fn what_is_narrowed_to_a_folder_says_the_same() {
        let (home, own) = ("/home/alice", "/home/alice/.hermes");
        let table = table().unwrap();
        let paths = [
            "/home/alice/.ssh/id_rsa",
            "/home/alice/code/.env",
            "/home/alice/code/.env.example",
            "/home/alice/code/.env.x",
            "/home/alice/code/src/main.rs",
            "/home/alice/.hermes/auth.json",
            "/home/alice/.hermes/notes",
            "/home/alice/code/deep/id_ed25519",
            "/home/alice/code/.git/config",
            "/home/alice/.netrc",
            "/etc/shadow",
            "/etc/passwd",
            "/home/alice/code/config.yaml",
            "/home/alice/.config/gh/hosts.yml",
            "/home/alice/.cargo/credentials.toml",
        ];
        let mut secrets = 0;
        for root in [
            "/",
            "/home",
            "/home/alice",
            "/home/alice/code",
            "/home/alice/.hermes",
            "/home/alice/.ssh",
            "/etc",
            "/etc/shadow",
        ] {
            let below = SecretsBelow::new(root, home.into(), own.into());
            for path in paths.iter().filter(|path| Path::new(path).starts_with(root)) {
                let want = class_in(table, path, home, own).is_some_and(|class| {
                    class.read_blocked || class.file_read.is_some_and(|level| level > Level::Allow)
                });
                assert_eq!(below.has(path), want, "{path} below {root}");
                secrets += usize::from(want);
            }
        }
        assert!(secrets > 10, "{secrets}");
    }
}

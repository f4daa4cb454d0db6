//! Losses by other ways than deleting: emptied files, mirrors, moves to nowhere, and host folders inside of containers.

use super::findings::{Touch, Touched};
use crate::policy::border::is_ours;
use crate::policy::files::{is_protected, is_shared, may_match_protected, normal};
use crate::policy::glob;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::read::ast::Redirect;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::args;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::{Level, Role};
use std::path::Path;

/// Names of files that are emptied every day.
const LOGS: &[&str] = &["log", "txt", "out", "err", "tmp", "temp", "csv", "pid", "lock", "gitkeep", "keep"];

impl Walker<'_> {
    /// Judges a deletion.
    pub(in crate::policy::shell) fn delete(&mut self, field: &Field, tree: bool) {
        if !self.spend(3, &field.span) {
            return;
        }
        let span = field.span.clone();
        let (paths, all) = self.base(field);
        for path in &paths {
            if path.contains(UNKNOWN) {
                // When the variable is empty, what is left is what goes.
                let left = normal(Path::new("/"), &path.replace(UNKNOWN, ""));
                // A name of its own is one file of a folder: only a rest that is a place by itself counts.
                let place = field.text.len() > 1 && (all || field.text.contains('/'));
                if place && is_protected(&left, self.world) {
                    self.find("delete of an unknown place", span.clone());
                }
                continue;
            }
            if is_protected(path, self.world) && (tree || all || !field.glob) {
                self.find_path("delete of root, home or a system folder", field);
            } else if field.glob && glob::is_pattern(path) && self.spend(16, &span) {
                let matched = self.world.glob(path, Path::new("/"), 64).names;
                let real = matched.iter().any(|p| is_protected(&p.to_string_lossy(), self.world));
                if real || may_match_protected(path, self.world) {
                    self.find_path("delete of root, home or a system folder", field);
                }
            }
            if Path::new(&self.own).starts_with(path) && !is_protected(path, self.world) {
                self.find_path("edit of the approval policy", field);
            }
        }
        if all && !tree && field.is_known() {
            self.find_path("delete of everything in a folder", field);
        } else if !all && !tree {
            self.deletes_by_pattern(field);
        }
        for (class, certain) in self.classes(field, true) {
            let refused = self.table.effect(&class.delete).level == Level::Refuse;
            if !class.delete.is_empty() && class.delete != "delete in root path" && (certain || !refused) {
                self.find_path(&class.delete, field);
            }
        }
        if !field.is_known() || paths.iter().all(|path| path.contains(UNKNOWN)) {
            self.find("delete of unresolved paths", span);
        } else if self.is_outside(field) && !self.is_own_scratch(field) {
            self.find_path("delete in root path", field);
        }
    }

    /// Whether something goes that is outside the folders of the session and not made by it.
    fn is_outside(&mut self, field: &Field) -> bool {
        let (paths, _) = self.base(field);
        paths.iter().any(|path| {
            let inside = !path.contains(UNKNOWN) && self.border.has_below_root(Path::new(path));
            !inside && !is_ours(self.table, path, self.world) && !self.makes(path)
        })
    }

    /// Whether this line makes this path in a temporary folder, where nothing was before.
    fn makes(&self, path: &str) -> bool {
        let made = |touched: &Touched| touched.how == Touch::Write && !touched.glob && touched.paths == [path];
        is_shared(self.table, Path::new(path))
            && self.world.about(Path::new(path)).is_none()
            && self.world.resolve(Path::new(path)) == Path::new(path)
            && self.touched.iter().any(made)
    }

    /// One file that a check of ours left in the temporary folder.
    fn is_own_scratch(&self, field: &Field) -> bool {
        if field.glob || field.text.contains(UNKNOWN) {
            return false;
        }
        let alone = self
            .current
            .and_then(|i| self.invocations.get(i))
            .is_some_and(|i| i.words.iter().filter(|w| !w.starts_with('-')).count() == 2);
        let name = field.text.strip_prefix("/tmp/").unwrap_or("");
        alone && !name.contains('/') && (name.starts_with("hermes-verify-") || name.starts_with("hermes-ad-hoc-"))
    }

    /// The files that a word names lose what they hold: over a protected folder that is its deletion.
    pub(in crate::policy::shell) fn loses(&mut self, field: &Field) {
        let (folders, _) = self.base(field);
        if folders.iter().any(|path| is_protected(path, self.world)) {
            self.find_path("delete of root, home or a system folder", field);
        }
    }

    /// A folder loses whatever is in it. `host:/path` is a place on another machine that is as dear.
    pub(super) fn loses_all(&mut self, field: &Field) {
        let mut field = field.clone();
        if let Some((host, path)) = field.text.split_once(':').filter(|(host, _)| !host.contains('/')) {
            let home = path.is_empty() || path.trim_end_matches('/') == "~";
            let _ = host;
            field.text = if home { self.home.clone() } else { path.to_owned() };
            if !field.text.starts_with('/') {
                return;
            }
        }
        let (folders, _) = self.base(&field);
        if folders.iter().any(|path| !path.contains(UNKNOWN) && is_protected(path, self.world)) {
            self.find_path("delete of root, home or a system folder", &field);
        }
    }

    /// `cp /dev/null FILE` and `mv FILE /dev/null`.
    pub(in crate::policy::shell) fn nowhere(&mut self, role: Role, sources: &[Field], last: &Field) {
        if role == Role::Move && last.text == "/dev/null" {
            for source in sources {
                self.loses_all(source);
                self.find_path("empties files", source);
            }
        }
        if role == Role::Copy && sources.iter().any(|source| source.text == "/dev/null") {
            self.empties_file(last);
        }
    }

    /// Redirections of a command that writes nothing.
    pub(in crate::policy::shell) fn empties(&mut self, redirects: &[Redirect]) {
        for redirect in redirects.iter().filter(|r| matches!(r.op.as_str(), ">" | ">|" | "&>")).take(32) {
            let target = self.expand_text(&redirect.target);
            if !target.text.starts_with("/dev/") {
                self.empties_file(&target);
            }
        }
    }

    /// A file is left with nothing in it. Logs are, every day, and a file that is not there has nothing to lose.
    pub(in crate::policy::shell) fn empties_file(&mut self, field: &Field) {
        let name = field.text.rsplit('/').next().unwrap_or("");
        let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
        let scratch = field.text.starts_with("/tmp/") || LOGS.contains(&suffix.to_lowercase().as_str());
        if scratch || name.is_empty() || !field.is_known() || name.contains("log") {
            return;
        }
        let at = |path: &str| self.world.glob(path, Path::new("/"), 1);
        let fresh = self.absolute(&field.text).iter().all(|path| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            // Without its folder we look at another place than the one where it runs.
            at(path).none() && (self.state.files.contains_key(path) || at(folder).some())
        });
        if self.spend(4, &field.span) && !fresh {
            self.find_path("empties files", field);
        }
    }

    /// What a container runs, with its paths below mounted folders as the host knows them.
    pub(in crate::policy::shell) fn contained(
        &mut self,
        known: &Known<'_>,
        from: usize,
        input: Option<Stream>,
        me: usize,
    ) -> Option<Stream> {
        let mut mounts = mounts(known);
        for (host, _) in &mut mounts {
            if let Some(rest) = host.strip_prefix('~') {
                *host = format!("{}{rest}", self.home);
            }
        }
        let Some(first) = known.operand(0).filter(|_| !mounts.is_empty()) else {
            return self.wrapped(known, input, me);
        };
        let (image, at) = (first.text.clone(), known.args.operands[0]);
        let argv: Vec<Field> = known
            .argv
            .iter()
            .enumerate()
            .map(|(i, field)| {
                let mut field = field.clone();
                if i > at && field.text != image {
                    for (host, inside) in &mounts {
                        field.text = mapped(&field.text, host, inside);
                    }
                }
                field
            })
            .collect();
        let args = args::parse(&argv, from, &known.spec.takes, known.spec.posix);
        let there = Known { spec: known.spec, args, argv: &argv, name: known.name.clone(), from, fed: known.fed };
        // A folder of its own is where relative paths are, when it is mounted.
        let folder = known
            .value(&["-w", "--workdir"])
            .map(|f| mounts.iter().fold(f.text, |path, (host, inside)| mapped(&path, host, inside)));
        let folder = folder.filter(|path| mounts.iter().any(|(host, _)| path.starts_with(host.as_str())));
        let here = self.state.cwds.clone();
        if let Some(folder) = folder {
            self.state.cwds = self.absolute(&folder);
        }
        let out = self.wrapped(&there, input, me);
        self.state.cwds = here;
        out
    }
}

/// The folders of the host that a container may change, with their place inside.
fn mounts(known: &Known<'_>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for flag in &known.args.flags {
        let Some((value, _)) = &flag.value else { continue };
        let (host, inside, kind) = match flag.name.as_str() {
            "-v" | "--volume" => {
                let mut parts = value.splitn(3, ':');
                let (host, inside) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
                (host, inside, parts.next().unwrap_or(""))
            }
            "--mount" => {
                let get = |names: &[&str]| {
                    value.split(',').find_map(|part| {
                        part.split_once('=').filter(|(name, _)| names.contains(name)).map(|(_, value)| value)
                    })
                };
                let only = if value.split(',').any(|part| matches!(part, "readonly" | "ro")) { "ro" } else { "" };
                let inside = get(&["target", "dst", "destination"]).unwrap_or("");
                (get(&["source", "src"]).unwrap_or(""), inside, only)
            }
            _ => continue,
        };
        // A name is a volume of its own, not a folder.
        let folder = host.starts_with(['/', '.', '~']);
        if folder && inside.starts_with('/') && !kind.split(',').any(|option| option == "ro") {
            all.push((host.to_owned(), inside.trim_end_matches('/').to_owned()));
        }
    }
    all.truncate(8);
    all
}

/// A text with paths of the container in the words of the host.
fn mapped(text: &str, host: &str, inside: &str) -> String {
    let host = host.trim_end_matches('/');
    if inside.is_empty() || !text.contains(inside) || text.len() > 4096 {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(inside) {
        let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let before = rest[..at].chars().next_back().or_else(|| out.chars().next_back());
        let after = rest[at + inside.len()..].chars().next();
        out.push_str(&rest[..at]);
        if before.is_some_and(|c| name(c) || c == '/') || after.is_some_and(name) {
            out.push_str(inside);
        } else if host.is_empty() && after != Some('/') {
            out.push('/');
        } else {
            out.push_str(host);
        }
        rest = &rest[at + inside.len()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_container_in_the_words_of_the_host() {
        for (text, host, inside, want) in [
            ("/h", "/", "/h", "/"),
            ("/h/usr", "/", "/h", "/usr"),
            ("rm -rf /h/*", "/", "/h", "rm -rf /*"),
            ("/host/x", "/", "/h", "/host/x"),
            ("/a/h", "/", "/h", "/a/h"),
            ("/app/x", "/home/alice/", "/app", "/home/alice/x"),
            ("ls", "/", "/h", "ls"),
        ] {
            assert_eq!(mapped(text, host, inside), want, "{text} {host}:{inside}");
        }
    }
}

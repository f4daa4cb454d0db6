//! `permissions.yaml`: the user's own file, and that of a trusted project, which may only ask and deny.
//!
//! A line that cannot be read may deny anything, and so may a file: either makes a question of everything, and is told with
//! its place and the remedy.

mod write;

pub use write::{add, remove};

use super::layer::Warning;
use super::{Paths, project};
use crate::policy::permissions::{Layer, Permission, subject};
use crate::policy::rule::{Action, Exact};
use crate::policy::{Grant, Scope, Width};
use crate::yaml::{self, Node, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file.
pub const FILE: &str = "permissions.yaml";

/// Keys of the file that are no subjects.
const PROJECTS: &str = "projects";
const PLATFORMS: &str = "platforms";

/// All lines that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub all: Arc<Vec<Permission>>,
    /// Why a file cannot be read at all.
    pub unreadable: Option<String>,
    /// The project that grants of this project are for: the root of the repository, else the working folder.
    pub folder: PathBuf,
}

/// Lines while they are read.
#[derive(Default)]
struct Reading {
    all: Vec<Permission>,
    unreadable: Option<String>,
}

/// Reads the person's file and that of the project of `cwd`, where it is trusted.
pub fn read(paths: &Paths, cwd: Option<&Path>, warnings: &mut Vec<Warning>) -> Found {
    let mut found = Reading::default();
    file(&paths.permissions(), None, &mut found, warnings);
    if let Some((path, dir)) = cwd.and_then(|cwd| of_project(paths, cwd)) {
        if project::is_trusted(paths, &dir) {
            file(&path, Some(&dir), &mut found, warnings);
        } else {
            let text =
                format!("ignored: this folder is not trusted; to use it, run: hermes config trust {}", dir.display());
            warnings.push(Warning { path: Some(path), line: None, key: String::new(), text, lasting: false });
        }
    }
    let folder = cwd.map_or_else(PathBuf::new, |cwd| top(cwd).to_path_buf());
    Found { all: Arc::new(found.all), unreadable: found.unreadable, folder }
}

/// The root of the repository, else the folder itself.
fn top(cwd: &Path) -> &Path {
    cwd.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(cwd)
}

/// Writes a lasting grant where later sessions find it: classes and tools to `command_allowlist`, words and whole commands to
/// `permissions.yaml`; those for one project, and commands, under their folder, in the person's own file.
///
/// # Errors
/// What could not be written and why, for the person.
pub fn remember(paths: &Paths, folder: &Path, grant: &Grant) -> Result<(), String> {
    let in_file = grant.width == Width::Words || grant.scope == Scope::Project;
    let day = chrono::Local::now().format("%Y-%m-%d");
    for entry in &grant.entries {
        let comment = format!("{day}, your answer to a question");
        let written = if let Some(exact) = Exact::read(entry) {
            add(&paths.permissions(), Some(&exact.folder), &exact.subject(), &comment)
        } else if in_file {
            let folder = (grant.scope == Scope::Project).then_some(folder);
            add(&paths.permissions(), folder, entry, &comment)
        } else {
            super::edit::append(&paths.config(), "command_allowlist", entry)
        };
        written.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The file of the project that a folder is in, and the project's folder: `.hermes/permissions.yaml`, or beside `hermes.yaml`.
pub(super) fn of_project(paths: &Paths, cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    let own = std::fs::canonicalize(&paths.home).ok();
    let top = top(cwd);
    cwd.ancestors().take_while(|dir| dir.starts_with(top)).find_map(|dir| {
        let inside = dir.join(".hermes").join(FILE);
        let is_own = std::fs::canonicalize(dir.join(".hermes")).ok().is_some_and(|found| Some(found) == own);
        if inside.is_file() && !is_own {
            return Some((inside, dir.to_path_buf()));
        }
        let beside = dir.join(FILE);
        (beside.is_file() && dir.join(project::FILE).is_file() && Some(dir) != own.as_deref())
            .then(|| (beside, dir.to_path_buf()))
    })
}

/// Where a project would have such a file, when it has none.
pub(super) fn expected(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    let dir = top(cwd);
    Some((dir.join(".hermes").join(FILE), dir.to_path_buf()))
}

/// Where a line stands.
#[derive(Clone)]
struct Place<'a> {
    file: &'a Path,
    folder: Option<PathBuf>,
    platform: Option<String>,
    chat: Option<String>,
    layer: Layer,
}

fn file(path: &Path, project: Option<&Path>, found: &mut Reading, warnings: &mut Vec<Warning>) {
    let warn = |line: Option<u64>, text: String| Warning {
        path: Some(path.into()),
        line,
        key: String::new(),
        text,
        lasting: false,
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => {
            let text = format!("cannot be read: {error}; everything asks until it is fixed");
            found.unreadable = Some(format!("{} {text}", path.display()));
            return warnings.push(warn(None, text));
        }
    };
    let name = path.to_string_lossy();
    let (root, first) = match (yaml::parse(&text, &name), yaml::parse_first(&text, &name)) {
        (Ok(root), Ok(first)) => (root, first),
        (Err(error), _) | (_, Err(error)) => {
            let line = (error.line > 0).then_some(error.line);
            found.unreadable = Some(format!("{error}; everything asks until it is fixed"));
            return warnings.push(warn(line, format!("{error}\neverything asks until it is fixed")));
        }
    };
    if !matches!(root.value, Value::Map(_) | Value::Null) {
        let text = format!(
            "contains {}: expected lines such as `terminal.*: ask`; everything asks until it is fixed",
            root.kind()
        );
        found.unreadable = Some(format!("{} {text}", path.display()));
        return warnings.push(warn(Some(root.line.max(1)), text));
    }
    let layer = if project.is_some() { Layer::Project } else { Layer::Own };
    let place = Place { file: path, folder: project.map(Path::to_path_buf), platform: None, chat: None, layer };
    let mut sink = Sink { found, warnings };
    sink.section(&root, &place);
    if first != root {
        // Of a key that stands twice the reader keeps one; both count, and the stricter wins.
        let text = "duplicate lines with different answers: the stricter one applies".to_owned();
        sink.warnings.push(warn(None, text));
        let known = sink.found.all.len();
        sink.section(&first, &place);
        let twice: Vec<Permission> = sink.found.all.split_off(known);
        let new = twice.into_iter().filter(|one| !sink.found.all.contains(one) && one.action != Action::Allow);
        let new: Vec<Permission> = new.collect();
        sink.found.all.extend(new);
    }
}

struct Sink<'a> {
    found: &'a mut Reading,
    warnings: &'a mut Vec<Warning>,
}

impl Sink<'_> {
    fn warn(&mut self, place: &Place<'_>, line: u64, key: &str, text: String) {
        let line = (line > 0).then_some(line);
        self.warnings.push(Warning { path: Some(place.file.into()), line, key: key.into(), text, lasting: false });
    }

    /// A line whose meaning is not known: everything asks until it is fixed.
    fn misspelt(&mut self, place: &Place<'_>, line: u64, key: &str, text: &str) {
        let text = format!("{text}; everything asks until it is fixed");
        let at = if line > 0 { format!(":{line}") } else { String::new() };
        self.found.unreadable.get_or_insert_with(|| format!("{}{at}: {key}: {text}", place.file.display()));
        self.warn(place, line, key, text);
    }

    fn section(&mut self, node: &Node, place: &Place<'_>) {
        for (key, value) in node.entries() {
            let top = place.platform.is_none() && (place.folder.is_none() || place.layer == Layer::Project);
            match key.text.as_str() {
                PROJECTS | PLATFORMS if place.layer == Layer::Project => {
                    let text = "ignored here: it belongs in your own permissions.yaml".into();
                    self.warn(place, key.line, &key.text, text);
                }
                PROJECTS if top => self.projects(value, place),
                PLATFORMS if top => self.platforms(value, place),
                _ => self.line(&key.text, key.line, value, place),
            }
        }
    }

    fn projects(&mut self, node: &Node, place: &Place<'_>) {
        for (key, value) in node.entries() {
            let folder = super::paths::expand_home(&key.text);
            if !folder.is_absolute() {
                let text = format!("{:?} is not an absolute path: write for example /srv/app or ~/app", key.text);
                self.misspelt(place, key.line, &key.text, &text);
                continue;
            }
            // Work is told by the real folder.
            let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
            self.section(value, &Place { folder: Some(folder), ..place.clone() });
        }
    }

    fn platforms(&mut self, node: &Node, place: &Place<'_>) {
        for (key, value) in node.entries() {
            let platform = Place { platform: Some(key.text.clone()), layer: Layer::Platform, ..place.clone() };
            for (name, inner) in value.entries() {
                match &inner.value {
                    // A kind of chat holds lines, a line holds an answer.
                    Value::Map(entries) if !entries.iter().any(|(name, _)| name.text == "action") => {
                        let chat = Place { chat: Some(name.text.clone()), layer: Layer::Chat, ..platform.clone() };
                        self.section(inner, &chat);
                    }
                    _ => self.line(&name.text, name.line, inner, &platform),
                }
            }
        }
    }

    fn line(&mut self, key: &str, number: u64, value: &Node, place: &Place<'_>) {
        let on = match subject(key) {
            Ok(on) => on,
            Err(problem) => return self.misspelt(place, number, key, &problem.to_string()),
        };
        let (word, until) = match &value.value {
            Value::Map(_) => {
                let unknown =
                    value.entries().iter().find(|(name, _)| !matches!(name.text.as_str(), "action" | "until" | "note"));
                if let Some((name, _)) = unknown {
                    let text = format!("unknown key {:?}: use action, until and note", name.text);
                    self.warn(place, name.line, key, text);
                }
                let text = |name| value.get(name).and_then(Node::scalar);
                (text("action").unwrap_or_default(), text("until"))
            }
            _ => {
                let text = value.scalar().unwrap_or_default();
                match text.split_once(" until ") {
                    Some((word, until)) => (word.trim().to_owned(), Some(until.trim().to_owned())),
                    None => (text, None),
                }
            }
        };
        let mut action = match word.trim() {
            "allow" => Action::Allow,
            "ask" => Action::Ask,
            "deny" => Action::Deny,
            other => {
                let hint = super::suggest::hint(other, ["allow", "ask", "deny"]);
                self.misspelt(
                    place,
                    number,
                    key,
                    &format!("{other:?} is not an answer: write allow, ask or deny{hint}"),
                );
                Action::Ask
            }
        };
        let end = match until.as_deref().map(moment) {
            None => None,
            Some(Some(end)) => Some(end),
            Some(None) => {
                let text = format!(
                    "{:?} is not a date: write for example `until: 2026-12-01`; until then {}",
                    until.unwrap_or_default(),
                    if action == Action::Allow { "it asks" } else { "it never expires" }
                );
                self.warn(place, number, key, text);
                if action == Action::Allow {
                    action = Action::Ask;
                }
                None
            }
        };
        if place.layer == Layer::Project && action == Action::Allow {
            let text = "ignored: a project may only ask and deny; allow it in your own permissions.yaml";
            return self.warn(place, number, key, text.into());
        }
        self.found.all.push(Permission {
            folder: place.folder.clone(),
            platform: place.platform.clone(),
            chat: place.chat.clone(),
            until: end,
            layer: place.layer,
            file: Some(place.file.into()),
            line: number,
            ..Permission::new(action, on)
        });
    }
}

/// The end of a day here, or a moment, in milliseconds since the epoch.
fn moment(text: &str) -> Option<i64> {
    use chrono::{DateTime, Days, Local, NaiveDate, NaiveDateTime, TimeZone};
    let text = text.trim();
    let local = |at: NaiveDateTime| Local.from_local_datetime(&at).earliest().map(|at| at.timestamp_millis());
    if let Ok(day) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return local(day.checked_add_days(Days::new(1))?.and_hms_opt(0, 0, 0)?);
    }
    let at = ["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"];
    if let Some(at) = at.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok()) {
        return local(at);
    }
    DateTime::parse_from_rfc3339(text).ok().map(|at| at.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Found, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        std::fs::write(paths.permissions(), text).unwrap();
        let mut warnings = Vec::new();
        let found = read(&paths, None, &mut warnings);
        (found, warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn lines_sections_and_ends_are_read() {
        let text = "# mine\nterminal.*: ask\nfile.write: allow\nbrowser.*: deny\nterminal(git log *): allow\n\
                    file.write(src/**): {action: allow, until: 2026-12-01, note: for the move}\nmcp__git__*: allow until 2020-01-01\n\
                    projects:\n  /srv/app:\n    terminal(make *): allow\n\
                    platforms:\n  telegram:\n    terminal.*: ask\n    group:\n      terminal.*: deny\n";
        let (found, warnings) = found(text);
        assert_eq!(warnings, Vec::<String>::new());
        let told: Vec<String> = found
            .all
            .iter()
            .map(|one| {
                let at = [one.folder.as_ref().map(|f| f.display().to_string()), one.platform.clone(), one.chat.clone()];
                format!(
                    "{}:{} {} {}",
                    one.line,
                    one.on.text,
                    one.action.word(),
                    at.into_iter().flatten().collect::<Vec<_>>().join("/")
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "2:terminal.* ask ",
                "3:file.write allow ",
                "4:browser.* deny ",
                "5:terminal(git log *) allow ",
                "6:file.write(src/**) allow ",
                "7:mcp__git__* allow ",
                "9:terminal(make *) allow /srv/app".replace("9:", "10:").as_str(),
                "13:terminal.* ask telegram",
                "15:terminal.* deny telegram/group",
            ]
        );
        assert!(found.all[4].until > found.all[5].until);
        assert!(found.all[5].is_over(chrono::Utc::now().timestamp_millis()));
    }

    #[test]
    fn a_bad_line_is_told_with_its_place_and_loosens_nothing() {
        for (text, want, kept, open) in [
            ("a: b\nterminl.*: deny\n", "permissions.yaml:2: ", "", false),
            ("terminal(git push: allow\n", "no closing parenthesis", "", false),
            ("terminal(rm *): alow\n", "did you mean allow", "ask", false),
            ("terminal(rm *): true\n", "write allow, ask or deny", "ask", false),
            ("terminal(rm *):\n", "write allow, ask or deny", "ask", false),
            ("projects: {src: {terminal(rm *): allow}}\n", "not an absolute path", "", false),
            // Their meaning is known, and no looser than it was meant.
            ("terminal(rm *): {action: allow, until: soon}\n", "not a date", "ask", true),
            ("terminal(rm *): {action: deny, until: soon}\n", "not a date", "deny", true),
            ("terminal(rm *): {action: deny, untill: 2026-12-01}\n", "unknown key", "deny", true),
            ("terminal(rm *): deny\nterminal(rm *): allow\n", "duplicate lines", "allow deny", true),
        ] {
            let (found, warnings) = found(text);
            assert!(warnings.iter().any(|warning| warning.contains(want)), "{text}: {warnings:?}");
            let actions: Vec<&str> = found.all.iter().map(|one| one.action.word()).collect();
            assert_eq!(actions.join(" "), kept, "{text}");
            assert_eq!(found.unreadable.is_none(), open, "{text}: {:?}", found.unreadable);
            let names = |why: &String| why.contains("permissions.yaml:") && why.contains("everything asks");
            assert!(open || found.unreadable.as_ref().is_some_and(names), "{text}: {:?}", found.unreadable);
        }
        for text in ["terminal.*: [\n", "- terminal.*: ask\n", "\"a\n"] {
            let (found, warnings) = found(text);
            assert!(found.unreadable.is_some() && warnings.len() == 1, "{text}: {warnings:?}");
        }
    }

    #[test]
    fn lines_for_this_program_hold_in_it_and_those_for_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        let text = "platforms:\n  cli:\n    terminal(make *): deny\n    private:\n      terminal(cargo *): deny\n    group:\n      terminal(npm *): deny\n  telegram:\n    terminal(git *): deny\n";
        std::fs::write(paths.permissions(), text).unwrap();
        let sources = super::super::load::Sources { cwd: None, env: Default::default(), overrides: Vec::new(), paths };
        let here =
            crate::policy::permissions::Here { platform: "cli".into(), chat: "private".into(), ..Default::default() };
        let held: Vec<String> = super::super::load::load(&sources)
            .permissions
            .all
            .iter()
            .filter(|one| one.holds(&here, Path::new("/srv")))
            .map(|one| one.on.text.clone())
            .collect();
        assert_eq!(held, ["terminal(make *)", "terminal(cargo *)"]);
    }

    #[test]
    fn a_project_only_tightens_and_only_when_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let paths = Paths::at(root.join("home"));
        let project = root.join("app");
        std::fs::create_dir_all(project.join(".hermes")).unwrap();
        std::fs::create_dir_all(project.join("sub")).unwrap();
        std::fs::create_dir_all(project.join(".git")).unwrap();
        let text = "terminal(git push *): deny\nterminal.*: allow\nprojects: {/: {terminal.*: allow}}\n";
        std::fs::write(project.join(".hermes/permissions.yaml"), text).unwrap();
        let mut warnings = Vec::new();
        assert_eq!(read(&paths, Some(&project), &mut warnings).all.len(), 0);
        assert!(warnings[0].to_string().contains("hermes config trust"), "{warnings:?}");
        project::trust(&paths, &project).unwrap();
        warnings.clear();
        let found = read(&paths, Some(&project.join("sub")), &mut warnings);
        let told: Vec<(&str, &str, Layer)> =
            found.all.iter().map(|one| (one.on.text.as_str(), one.action.word(), one.layer)).collect();
        assert_eq!(told, [("terminal(git push *)", "deny", Layer::Project)]);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }
}

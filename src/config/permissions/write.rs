//! Lines come and go; comments, order and everything else stay. Each edit is checked before it is written.

use super::super::ConfigError;
use super::PROJECTS;
use crate::fs::write_atomic;
use crate::yaml;
use serde_json::{Map, Value as Json};
use std::path::Path;

/// The head of a file that did not exist.
const TEMPLATE: &str = "# What runs without asking, what asks and what never runs. Syntax: docs/PERMISSIONS.md\n";

/// Adds `SUBJECT: allow` at the top level, or under a folder of `projects`; the file is made when missing. `comment` stands
/// behind it. `false` when it was there already.
///
/// # Errors
/// [`ConfigError::Syntax`] when the file is broken, [`ConfigError::BadValue`] when the line is there with another answer,
/// [`ConfigError::Unsafe`] when the edit would change more, [`ConfigError::Write`].
pub fn add(path: &Path, folder: Option<&Path>, subject: &str, comment: &str) -> Result<bool, ConfigError> {
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => TEMPLATE.to_owned(),
        Err(error) => return Err(ConfigError::Read { path: path.into(), reason: error.to_string() }),
    };
    let root = yaml::parse(&old, &path.to_string_lossy())?;
    let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
    let mut keys: Vec<&str> = Vec::new();
    if let Some(folder) = &folder {
        keys.extend([PROJECTS, folder.as_str()]);
    }
    let section = keys.iter().try_fold(&root, |at, key| at.get(key));
    match section.and_then(|section| section.get(subject)).and_then(yaml::Node::scalar).as_deref() {
        Some("allow") => return Ok(false),
        Some(other) => {
            let expected = format!("it is in {} as {other}; change it there", path.display());
            return Err(ConfigError::BadValue { key: subject.into(), value: "allowed".into(), expected });
        }
        None => {}
    }
    keys.push(subject);
    let wanted = with(root.to_json(), &keys);
    let unsafe_edit = || ConfigError::Unsafe { key: subject.into(), path: path.into() };
    let text = insert(&old, &root, &keys, comment).filter(|text| reads_as(text, &wanted)).ok_or_else(unsafe_edit)?;
    write_atomic(path, &text)?;
    Ok(true)
}

/// Takes the line of a subject away, by its number.
///
/// # Errors
/// As [`add`]; [`ConfigError::UnknownKey`] when that line says something else by now.
pub fn remove(path: &Path, line: u64, subject: &str) -> Result<(), ConfigError> {
    let reason = |error: std::io::Error| ConfigError::Read { path: path.into(), reason: error.to_string() };
    let old = std::fs::read_to_string(path).map_err(reason)?;
    let root = yaml::parse(&old, &path.to_string_lossy())?;
    let mut wanted = root.to_json();
    if !take(&root, &mut wanted, line, subject) {
        let hint = format!(": line {line} of {} has changed; list the rules again", path.display());
        return Err(ConfigError::UnknownKey { key: subject.into(), hint });
    }
    let lines: Vec<&str> = old.lines().collect();
    let first = (line as usize).saturating_sub(1);
    let indent = |text: &str| text.len() - text.trim_start().len();
    let base = lines.get(first).map_or(0, |text| indent(text));
    let mut count =
        lines.iter().skip(first + 1).take_while(|text| text.trim().is_empty() || indent(text) > base).count();
    while count > 0 && lines[first + count].trim().is_empty() {
        count -= 1;
    }
    let kept: Vec<&str> = lines.iter().take(first).chain(lines.iter().skip(first + 1 + count)).copied().collect();
    let text = kept.join("\n") + "\n";
    if !reads_as(&text, &wanted) {
        return Err(ConfigError::Unsafe { key: subject.into(), path: path.into() });
    }
    Ok(write_atomic(path, &text)?)
}

/// Takes an entry out of the values, at whatever depth the line is.
fn take(node: &yaml::Node, values: &mut Json, line: u64, subject: &str) -> bool {
    for (key, inner) in node.entries() {
        if key.line == line && key.text == subject {
            return values.as_object_mut().is_some_and(|map| map.shift_remove(subject).is_some());
        }
        if values.get_mut(&key.text).is_some_and(|values| take(inner, values, line, subject)) {
            return true;
        }
    }
    false
}

/// The old text with a new line in the deepest section that is there.
fn insert(old: &str, root: &yaml::Node, keys: &[&str], comment: &str) -> Option<String> {
    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    let (mut at, mut depth, mut indent, mut place) = (root, 0, 0, None);
    while let Some((key, node)) = at.entries().iter().find(|(key, _)| key.text == keys[depth]) {
        (at, depth, place) = (node, depth + 1, Some(key.line as usize));
        let source = lines.get((key.line as usize).checked_sub(1)?)?;
        indent = source.len() - source.trim_start().len() + 2;
    }
    if let Some((key, _)) = at.entries().first() {
        let source = lines.get((key.line as usize).checked_sub(1)?)?;
        indent = source.len() - source.trim_start().len();
    }
    // Lines of the top level stand before its sections.
    if keys.len() == 1 {
        let section = |key: &yaml::Key| key.text == PROJECTS || key.text == super::PLATFORMS;
        let first = root.entries().iter().filter(|(key, _)| section(key)).map(|(key, _)| key.line as usize).min();
        place = first.map(|line| line - 1);
        // Comments and blank lines above a section are its own.
        while let Some(line) = place.filter(|line| *line > 0) {
            let above = lines[line - 1].trim();
            if !above.is_empty() && !above.starts_with('#') {
                break;
            }
            place = Some(line - 1);
        }
        if place == Some(0) {
            place = first.map(|line| line - 1);
        }
    }
    let mut added = Vec::new();
    for (index, key) in keys[depth..].iter().enumerate() {
        let last = depth + index + 1 == keys.len();
        let tail = match (last, comment) {
            (false, _) => String::new(),
            (true, "") => " allow".to_owned(),
            (true, comment) => format!(" allow  # {comment}"),
        };
        added.push(format!("{}{}:{tail}", " ".repeat(indent + 2 * index), quoted(key)));
    }
    let place = place.unwrap_or(lines.len());
    lines.splice(place..place, added);
    Some(lines.join("\n") + "\n")
}

/// A key as YAML takes it.
fn quoted(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _-./*()=@+~^%".contains(c);
    let safe = key.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/') && key.chars().all(plain);
    if safe && !key.ends_with(' ') { key.to_owned() } else { Json::from(key).to_string() }
}

fn with(root: Json, keys: &[&str]) -> Json {
    let mut root = if root.is_object() { root } else { Json::Object(Map::new()) };
    let mut at = &mut root;
    for key in keys {
        if !at.is_object() {
            *at = Json::Object(Map::new());
        }
        at = &mut at[*key];
    }
    *at = "allow".into();
    root
}

fn reads_as(text: &str, wanted: &Json) -> bool {
    yaml::parse(text, "").is_ok_and(|root| prune(root.to_json()) == prune(wanted.clone()))
}

/// A section without lines means the same as none.
fn prune(value: Json) -> Json {
    match value {
        Json::Object(entries) => {
            let kept =
                entries.into_iter().map(|(key, value)| (key, prune(value))).filter(|(_, value)| !value.is_null());
            let kept: Map<String, Json> = kept.collect();
            if kept.is_empty() { Json::Null } else { Json::Object(kept) }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(old: &str, edit: impl Fn(&Path) -> Result<(), ConfigError>) -> Result<String, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("permissions.yaml");
        if !old.is_empty() {
            std::fs::write(&path, old).unwrap();
        }
        edit(&path).map(|()| std::fs::read_to_string(&path).unwrap())
    }

    const OLD: &str = "# mine\nterminal.*: ask  # careful\n\n# at work\nprojects:\n  # the app\n  /srv/app:\n    terminal(make *): allow # why\n# end\n";

    #[test]
    fn lines_come_where_they_belong_and_comments_stay() {
        let new = edited("", |path| add(path, None, "terminal(git push *)", "2026-11-22").map(drop)).unwrap();
        assert!(new.starts_with('#') && new.ends_with("terminal(git push *): allow  # 2026-11-22\n"), "{new}");
        let top = edited(OLD, |path| add(path, None, "terminal(git push *)", "").map(drop)).unwrap();
        let want = OLD.replace("# careful\n", "# careful\nterminal(git push *): allow\n");
        assert_eq!(top, want);
        let app = Path::new("/srv/app");
        let inside = edited(OLD, |path| add(path, Some(app), "terminal(git push *)", "").map(drop)).unwrap();
        assert!(
            inside.contains("  /srv/app:\n    terminal(git push *): allow\n    terminal(make *): allow # why"),
            "{inside}"
        );
        let other = edited(OLD, |path| add(path, Some(Path::new("/srv/b: c")), "terminal(x)", "").map(drop)).unwrap();
        assert!(other.contains("projects:\n  \"/srv/b: c\":\n    terminal(x): allow\n"), "{other}");
        for old in [&new, &top, &inside, &other] {
            for comment in ["# careful", "# why", "# at work", "# the app", "# end"] {
                assert!(old.contains(comment) || !OLD.contains(comment) || old == &new, "{old}");
            }
        }
        assert_eq!(edited(OLD, |path| add(path, Some(app), "terminal(make *)", "").map(drop)).unwrap(), OLD, "once");
    }

    #[test]
    fn what_is_there_otherwise_or_broken_stays() {
        let tied = edited(OLD, |path| add(path, None, "terminal.*", "").map(drop)).unwrap_err().to_string();
        assert!(tied.contains("as ask; change it there"), "{tied}");
        let broken = edited("a: [\n", |path| add(path, None, "terminal(x)", "").map(drop));
        assert!(matches!(broken, Err(ConfigError::Syntax(_))), "{broken:?}");
        let braces = edited("{terminal.*: ask}\n", |path| add(path, None, "terminal(x)", "").map(drop));
        assert!(braces.is_err(), "{braces:?}");
    }

    #[test]
    fn a_line_goes_by_its_number() {
        let gone = edited(OLD, |path| remove(path, 8, "terminal(make *)")).unwrap();
        assert_eq!(gone, OLD.replace("    terminal(make *): allow # why\n", ""));
        let wrong = edited(OLD, |path| remove(path, 2, "terminal(make *)")).unwrap_err().to_string();
        assert!(wrong.contains("has changed"), "{wrong}");
        let long = "terminal(a):\n  action: allow\n  until: 2026-12-01\nterminal(b): ask\n";
        assert_eq!(edited(long, |path| remove(path, 1, "terminal(a)")).unwrap(), "terminal(b): ask\n");
        assert!(matches!(
            edited("{file.*: ask, terminal.*: ask}\n", |p| remove(p, 1, "file.*")),
            Err(ConfigError::Unsafe { .. })
        ));
    }
}

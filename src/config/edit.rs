//! Changes to `config.yaml` that keep comments, order and everything else.
//!
//! Each edit is checked before it is written: the new text must read as the old values with only that key changed.

use super::ConfigError;
use super::layer::convert;
use super::schema::{self, Found, KeySpec, Kind};
use crate::fs;
use crate::yaml;
use serde_json::Value as Json;
use std::path::Path;
use std::str::FromStr;
use yaml_edit::path::YamlPath;
use yaml_edit::{Document, Sequence};

/// The head of a file that did not exist.
pub const TEMPLATE: &str = "# Hermes configuration. `hermes config schema` and docs/CONFIG.md list every key.\n";

/// Sets a key of `config.yaml` to a YAML scalar (lists: `[a, b]` or `a, b`).
///
/// # Errors
/// [`ConfigError::UnknownKey`] with the nearest known one, [`ConfigError::BadValue`], [`ConfigError::Syntax`] when the file
/// is broken already, [`ConfigError::Unsafe`] when the edit would change more, [`ConfigError::Write`].
pub fn set(path: &Path, key: &str, value: &str) -> Result<(), ConfigError> {
    set_all(path, &[(key, value)])
}

/// The same for keys that belong together: all of them or none, in one write.
///
/// # Errors
/// As [`set`].
pub fn set_all(path: &Path, entries: &[(&str, &str)]) -> Result<(), ConfigError> {
    let typed = |(key, value): &(&str, &str)| Ok(((*key).to_owned(), read_value(key, value)?));
    put(path, &entries.iter().map(typed).collect::<Result<Vec<_>, ConfigError>>()?)
}

/// A value as it is typed, as the key takes it.
fn read_value(key: &str, value: &str) -> Result<Json, ConfigError> {
    let spec = spec(key)?;
    let bad = |expected: String| ConfigError::BadValue { key: key.into(), value: format!("{value:?}"), expected };
    let node = yaml::parse(value, "").ok().filter(|node| !matches!(node.value, yaml::Value::Map(_)));
    let node = node.unwrap_or_else(|| yaml::Node::text(value));
    // Text stays as typed: a model called `4` or `1.10` is no number.
    let node = match spec.kind {
        Kind::Text | Kind::Secret if !value.trim_start().starts_with(['"', '\'']) => yaml::Node::text(value),
        _ => node,
    };
    convert(spec.kind, &node).map_err(&bad)?.ok_or_else(|| bad("expected a value".into()))
}

/// Adds a text to a list of a YAML file; the list and the file are made when missing. `false` when it was there already.
///
/// # Errors
/// As [`set`].
pub fn append(path: &Path, key: &str, value: &str) -> Result<bool, ConfigError> {
    let old = read(path)?;
    let root = yaml::parse(&old, &path.to_string_lossy())?;
    let list = key.split('.').try_fold(&root, |at, name| at.get(name));
    let mut items: Vec<Json> = match list.map(|node| &node.value) {
        None | Some(yaml::Value::Null) => Vec::new(),
        Some(yaml::Value::List(nodes)) => nodes.iter().map(yaml::Node::to_json).collect(),
        Some(_) => {
            return Err(ConfigError::BadValue {
                key: key.into(),
                value: "changed".into(),
                expected: schema::expectation(Kind::TextList),
            });
        }
    };
    let value = Json::from(value);
    if items.contains(&value) {
        return Ok(false);
    }
    let in_place = !items.is_empty();
    items.push(value.clone());
    let edited = in_place.then(|| push(&old, key, &value)).flatten();
    let wanted = with_value(root.to_json(), key, Json::Array(items.clone()));
    match edited.filter(|text| reads_as(text, &wanted)) {
        Some(text) => fs::write_atomic(path, &text)?,
        None => write(path, key, Json::Array(items))?,
    }
    Ok(true)
}

/// Takes a text out of a list of a YAML file.
///
/// # Errors
/// [`ConfigError::UnknownKey`] when it is not there, and as [`set`].
pub fn take(path: &Path, key: &str, value: &str) -> Result<(), ConfigError> {
    let old = read(path)?;
    let root = yaml::parse(&old, &path.to_string_lossy())?;
    let items = key.split('.').try_fold(&root, |at, name| at.get(name)).map_or(&[][..], yaml::Node::items);
    let missing =
        || ConfigError::UnknownKey { key: value.into(), hint: format!(": it is not in {key} of {}", path.display()) };
    let item = items.iter().find(|item| item.scalar().as_deref() == Some(value)).ok_or_else(missing)?;
    let left: Vec<Json> = items.iter().filter(|other| *other != item).map(yaml::Node::to_json).collect();
    let wanted = with_value(root.to_json(), key, if left.is_empty() { Json::Null } else { Json::Array(left.clone()) });
    // An entry on a line of its own goes with its comment; the others keep theirs.
    let mut lines: Vec<&str> = old.lines().collect();
    let own = lines.get((item.line as usize).saturating_sub(1)).is_some_and(|line| line.trim_start().starts_with("- "));
    if own {
        lines.remove(item.line as usize - 1);
        let text = finish(lines.join("\n"));
        if reads_as(&text, &wanted) {
            return Ok(fs::write_atomic(path, &text)?);
        }
    }
    write(path, key, Json::Array(left))
}

/// Sets keys to values that the caller has checked, in this order where they are new, in one write.
///
/// # Errors
/// As [`set`], but for the key and the value.
pub fn put(path: &Path, entries: &[(String, Json)]) -> Result<(), ConfigError> {
    let edit = |text: String, (key, value): &(String, Json)| edited(&text, path, key, value.clone());
    Ok(fs::write_atomic(path, &entries.iter().try_fold(read(path)?, edit)?)?)
}

/// Takes a key and all below it out of the file.
///
/// # Errors
/// [`ConfigError::UnknownKey`] when it is not there, [`ConfigError::Unsafe`] when it cannot be taken out alone (it stands within
/// braces), and as [`set`].
pub fn remove(path: &Path, key: &str) -> Result<(), ConfigError> {
    let old = read(path)?;
    let root = yaml::parse(&old, &path.to_string_lossy())?;
    let missing = || ConfigError::UnknownKey { key: key.into(), hint: ": it is not in the file".into() };
    let mut at = &root;
    let mut line = 0;
    for segment in key.split('.') {
        let found = at.entries().iter().find(|(name, _)| name.text == segment).ok_or_else(missing)?;
        (line, at) = (found.0.line as usize, &found.1);
    }
    let indent = |text: &str| text.len() - text.trim_start().len();
    let lines: Vec<&str> = old.lines().collect();
    let first = line.checked_sub(1).filter(|first| *first < lines.len()).ok_or_else(missing)?;
    let below =
        lines[first + 1..].iter().take_while(|text| text.trim().is_empty() || indent(text) > indent(lines[first]));
    let mut count = below.count();
    // A blank line belongs to what follows.
    while count > 0 && lines[first + count].trim().is_empty() {
        count -= 1;
    }
    let kept: Vec<&str> = lines[..first].iter().chain(&lines[first + 1 + count..]).copied().collect();
    let text = finish(kept.join("\n"));
    if !reads_as(&text, &with_value(root.to_json(), key, Json::Null)) {
        return Err(ConfigError::Unsafe { key: key.into(), path: path.into() });
    }
    Ok(fs::write_atomic(path, &text)?)
}

fn spec(key: &str) -> Result<&'static KeySpec, ConfigError> {
    let hint = || schema::nearest(key).map(|near| format!("; did you mean {near}")).unwrap_or_default();
    match schema::find(key) {
        Found::Leaf(spec) => Ok(spec),
        Found::Section => {
            Err(ConfigError::UnknownKey { key: key.into(), hint: ": it is a section; name a key in it".into() })
        }
        Found::Foreign => Err(ConfigError::UnknownKey {
            key: key.into(),
            hint: ": this program does not use it; if another program does, edit the file by hand".into(),
        }),
        Found::Unknown => Err(ConfigError::UnknownKey { key: key.into(), hint: hint() }),
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(TEMPLATE.to_owned()),
        Err(error) => Err(ConfigError::Read { path: path.into(), reason: error.to_string() }),
    }
}

fn write(path: &Path, key: &str, value: Json) -> Result<(), ConfigError> {
    Ok(fs::write_atomic(path, &edited(&read(path)?, path, key, value)?)?)
}

/// The text of a file with one key changed.
fn edited(old: &str, path: &Path, key: &str, value: Json) -> Result<String, ConfigError> {
    let mut root = yaml::parse(old, &path.to_string_lossy())?.to_json();
    let mut old = old.to_owned();
    let mut key = key;
    for (section, short) in [("model", "default"), ("sandbox", "mode")] {
        let Some(inner) = key.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')) else { continue };
        if !root[section].is_string() && !root[section].is_boolean() {
            continue;
        }
        if inner == short {
            key = section;
            break;
        }
        // `model: NAME` becomes a section before a key is put into it.
        let whole = serde_json::json!({ short: root[section] });
        old = apply(&old, section, &whole, &with_value(root.clone(), section, whole.clone()))
            .ok_or_else(|| ConfigError::Unsafe { key: section.into(), path: path.into() })?;
        root = with_value(root, section, whole);
    }
    let wanted = with_value(root, key, value.clone());
    let text = apply(&old, key, &value, &wanted);
    text.ok_or_else(|| ConfigError::Unsafe { key: key.into(), path: path.into() })
}

/// From the old text, a key and its value to the new text; `None` when this way does not fit.
type Way = fn(&str, &str, &Json) -> Option<String>;

/// The first way of making the edit whose result reads as wanted.
fn apply(old: &str, key: &str, value: &Json, wanted: &Json) -> Option<String> {
    let ways: [Way; 3] = [in_tree, replace_line, add_lines];
    ways.iter().filter_map(|way| way(old, key, value)).find(|text| reads_as(text, wanted))
}

fn reads_as(text: &str, wanted: &Json) -> bool {
    let kept = |root: &Json| prune(root.clone());
    yaml::parse(text, "").is_ok_and(|root| kept(&root.to_json()) == kept(wanted))
}

/// Nulls and empty mappings mean the same as nothing.
fn prune(value: Json) -> Json {
    match value {
        Json::Object(entries) => {
            let entries = entries.into_iter().map(|(key, value)| (key, prune(value)));
            let kept: serde_json::Map<String, Json> = entries.filter(|(_, value)| !value.is_null()).collect();
            if kept.is_empty() { Json::Null } else { Json::Object(kept) }
        }
        other => other,
    }
}

fn with_value(root: Json, key: &str, value: Json) -> Json {
    let mut root = if root.is_object() { root } else { Json::Object(serde_json::Map::new()) };
    let mut at = &mut root;
    for name in key.split('.') {
        if !at.is_object() {
            *at = Json::Object(serde_json::Map::new());
        }
        at = &mut at[name];
    }
    *at = value;
    root
}

/// Through the lossless tree.
fn in_tree(old: &str, key: &str, value: &Json) -> Option<String> {
    let document = Document::from_str(old).ok()?;
    let done = match value {
        Json::Bool(value) => document.try_set_path(key, *value),
        Json::Number(number) if number.is_i64() => document.try_set_path(key, number.as_i64()?),
        Json::Number(number) => document.try_set_path(key, number.as_f64()?),
        Json::String(text) => document.try_set_path(key, text.as_str()),
        Json::Array(items) => {
            let list = Sequence::new_flow();
            items.iter().filter_map(Json::as_str).for_each(|item| list.push(item));
            document.try_set_path(key, &list)
        }
        _ => return None,
    };
    done.ok().map(|()| finish(document.to_string()))
}

/// One more item through the lossless tree, in the style of the list.
fn push(old: &str, key: &str, value: &Json) -> Option<String> {
    let document = Document::from_str(old).ok()?;
    let mut mapping = document.as_mapping()?;
    let mut segments: Vec<&str> = key.split('.').collect();
    let last = segments.pop()?;
    for segment in segments {
        mapping = mapping.get_mapping(segment)?;
    }
    mapping.get_sequence(last)?.push(value.as_str()?);
    Some(finish(document.to_string()))
}

/// The line of an existing scalar, list or empty value replaced by text (with its comment).
fn replace_line(old: &str, key: &str, value: &Json) -> Option<String> {
    let root = yaml::parse(old, "").ok()?;
    let mut at = &root;
    let mut line = 0;
    for segment in key.split('.') {
        let (name, node) = at.entries().iter().find(|(name, _)| name.text == segment)?;
        (line, at) = (name.line, node);
    }
    let index = (line as usize).checked_sub(1)?;
    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    let source = lines.get(index)?;
    let colon = source.find(':')?;
    let comment = source.find(" #").filter(|at| *at > colon).map_or("", |at| &source[at..]);
    lines[index] = format!("{}: {}{comment}", &source[..colon], inline(value)?);
    Some(finish(lines.join("\n")))
}

/// New lines at the end of the deepest section that is there, or of the file.
fn add_lines(old: &str, key: &str, value: &Json) -> Option<String> {
    let root = yaml::parse(old, "").ok()?;
    let segments: Vec<&str> = key.split('.').collect();
    let (mut at, mut depth, mut indent, mut insert_after) = (&root, 0, 0, None);
    for segment in &segments {
        let Some((name, node)) = at.entries().iter().find(|(name, _)| name.text == *segment) else { break };
        (at, depth, insert_after) = (node, depth + 1, Some(name.line as usize));
        let source = old.lines().nth(name.line as usize - 1)?;
        indent = source.len() - source.trim_start().len() + 2;
    }
    if let Some((name, _)) = at.entries().first().filter(|_| depth > 0) {
        let source = old.lines().nth(name.line as usize - 1)?;
        indent = source.len() - source.trim_start().len();
    }
    let missing = segments.get(depth..).filter(|missing| !missing.is_empty())?;
    let mut added: Vec<String> = Vec::new();
    for (index, segment) in missing.iter().enumerate() {
        let tail = if index + 1 == missing.len() { format!(" {}", inline(value)?) } else { String::new() };
        added.push(format!("{}{segment}:{tail}", " ".repeat(indent + 2 * index)));
    }
    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    let place = insert_after.unwrap_or(lines.len());
    lines.splice(place..place, added);
    Some(finish(lines.join("\n")))
}

/// A value on one line. JSON strings are YAML strings.
fn inline(value: &Json) -> Option<String> {
    match value {
        Json::Object(entries) => {
            let fields = entries.iter().map(|(name, value)| Some(format!("{name}: {}", inline(value)?)));
            Some(format!("{{{}}}", fields.collect::<Option<Vec<_>>>()?.join(", ")))
        }
        Json::Array(items) => Some(format!("[{}]", items.iter().map(inline).collect::<Option<Vec<_>>>()?.join(", "))),
        other => serde_json::to_string(other).ok(),
    }
}

fn finish(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edited(old: &str, edit: impl Fn(&Path) -> Result<(), ConfigError>) -> Result<String, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.yaml");
        if !old.is_empty() {
            std::fs::write(&path, old).unwrap();
        }
        edit(&path).map(|()| std::fs::read_to_string(&path).unwrap())
    }

    const OLD: &str = "# my file\nmodel:\n  default: a/b   # the good one\n  # why\n  provider: openrouter\n\nagent:\n  max_turns: 10\n# kept\nkanban: {failure_limit: 3}\ncommand_allowlist: []\n";

    #[test]
    fn what_belongs_together_is_written_in_one_step_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        std::fs::write(&file, "# mine\nmodel: old # short\n").unwrap();
        let wrong = set_all(&file, &[("model.provider", "local"), ("model.defalt", "tiny")]).unwrap_err();
        assert!(wrong.to_string().contains("model.defalt"), "{wrong}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\nmodel: old # short\n");
        set_all(&file, &[("model.provider", "local"), ("model.default", "tiny")]).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let model = yaml::parse(&text, "").unwrap().to_json()["model"].clone();
        assert_eq!(model, serde_json::json!({"provider": "local", "default": "tiny"}));
        assert!(text.starts_with("# mine\n"), "{text}");
    }

    #[test]
    fn entries_come_and_go_and_comments_stay() {
        let entries = [("command", json!("npx")), ("args", json!(["-y", "x: y"])), ("env.K", json!("${K}"))]
            .map(|(key, value)| (format!("mcp_servers.git.{key}"), value));
        let with = edited(OLD, |path| put(path, &entries)).unwrap();
        assert!(with.contains("mcp_servers:\n  git:\n    command:") && with.contains("# the good one"), "{with}");
        let two = edited(&with, |path| put(path, &[("mcp_servers.b.url".into(), json!("http://x"))])).unwrap();
        let one = edited(&two, |path| remove(path, "mcp_servers.git")).unwrap();
        assert!(!one.contains("npx") && one.contains("http://x") && one.contains("# kept"), "{one}");
        let none = edited(&with, |path| remove(path, "mcp_servers.git")).unwrap();
        assert!(reads_as(&none, &yaml::parse(OLD, "").unwrap().to_json()), "{none}");
        assert!(matches!(edited(OLD, |path| remove(path, "mcp_servers.git")), Err(ConfigError::UnknownKey { .. })));
        let braces = "kanban: {a: 1, b: 2}\n";
        assert!(matches!(edited(braces, |path| remove(path, "kanban.a")), Err(ConfigError::Unsafe { .. })));
    }

    #[test]
    fn an_entry_of_a_list_goes_and_the_rest_stays() {
        let block = "# mine\ncommand_allowlist:\n  # why\n  - rm x # this\n  - git *\n";
        let one = edited(block, |path| take(path, "command_allowlist", "rm x")).unwrap();
        assert_eq!(one, "# mine\ncommand_allowlist:\n  # why\n  - git *\n");
        let none = edited(&one, |path| take(path, "command_allowlist", "git *")).unwrap();
        assert!(none.contains("# why") && !none.contains("git"), "{none}");
        let flow = edited("approvals: {deny: [a, b]} # x\n", |path| take(path, "approvals.deny", "a")).unwrap();
        assert!(flow.contains('b') && !flow.contains("[a"), "{flow}");
        assert!(edited(block, |path| take(path, "command_allowlist", "no")).is_err());
    }

    #[test]
    fn setting_keeps_comments_and_order() {
        for (key, value, present) in [
            ("model.default", "x/y:free", "default: x/y:free"),
            ("agent.max_turns", "20", "max_turns: 20"),
            ("agent.reasoning_effort", "high", "reasoning_effort: high"),
            ("display.skin", "ares", "skin: ares"),
            ("display.mouse", "false", "mouse: false"),
            ("compression.threshold", "0.7", "threshold: 0.7"),
            ("toolsets", "[web, file]", "toolsets"),
            ("providers.my-host.base_url", "http://127.0.0.1:1", "base_url: http://127.0.0.1:1"),
        ] {
            let text = edited(OLD, |path| set(path, key, value)).unwrap_or_else(|error| panic!("{key}: {error}"));
            assert!(text.contains(present), "{key}\n{text}");
            for kept in ["# my file", "# the good one", "  # why", "# kept", "kanban: {failure_limit: 3}"] {
                assert!(text.contains(kept), "{key} lost {kept}\n{text}");
            }
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        for value in ["off", "null", "1.10", "a: b", "# no", "it's", "\"q\"", "${KEY}", " x", "日本", "- a", "true"] {
            let text = edited(OLD, |path| set(path, "model.default", value)).unwrap();
            let root = yaml::parse(&text, "t").unwrap();
            let expected =
                yaml::parse(value, "").ok().filter(|_| value.starts_with('"')).and_then(|node| node.scalar());
            let read = root.get("model").unwrap().get("default").unwrap();
            assert_eq!(read.str(), Some(expected.as_deref().unwrap_or(value)), "{text}");
        }
    }

    #[test]
    fn appending_to_every_form_of_a_list() {
        for old in [
            "",
            "a: 1 # c\n",
            "command_allowlist: []  # none\n",
            "command_allowlist:\n",
            "command_allowlist: [x, y] # some\n",
            "command_allowlist:\n  - x  # first\n  - y\nz: 1\n",
            "command_allowlist:\n- x\n# end\n- y\n\n# next\nz: 1\n",
            "command_allowlist: null\nz: 1",
        ] {
            let text =
                edited(old, |path| append(path, "command_allowlist", "recursive delete: all").map(|_| ())).unwrap();
            let root = yaml::parse(&text, "t").unwrap();
            let items = root.get("command_allowlist").unwrap().items();
            assert_eq!(items.last().unwrap().str(), Some("recursive delete: all"), "{text}");
            assert_eq!(items.len(), if old.contains('x') { 3 } else { 1 }, "{text}");
            for comment in ["# c", "# some", "# first", "# end", "# next"] {
                assert_eq!(old.contains(comment), text.contains(comment), "{comment}\n{text}");
            }
        }
    }

    #[test]
    fn appending_twice_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("h/config.yaml");
        assert!(append(&path, "command_allowlist", "a").unwrap());
        let once = std::fs::read_to_string(&path).unwrap();
        assert!(once.starts_with("# Hermes configuration"), "{once}");
        assert!(!append(&path, "command_allowlist", "a").unwrap());
        assert!(append(&path, "command_allowlist", "b").unwrap());
        let root = yaml::parse(&std::fs::read_to_string(&path).unwrap(), "t").unwrap();
        assert_eq!(root.get("command_allowlist").unwrap().items().len(), 2);
    }

    /// A large file of another program: every key can be set, and no other line changes.
    #[test]
    fn every_key_can_be_set_in_a_large_file() {
        let old = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/python-config.yaml"));
        for spec in schema::KEYS.iter().filter(|spec| !spec.path.starts_with("fallback_providers")) {
            let key = spec.path.replacen('*', "lab", 1).replace('*', "m");
            let value = match spec.kind {
                Kind::Text | Kind::Secret => "some text: here",
                Kind::Bool => "false",
                Kind::Integer(low, high) => &high.min(low + 77).to_string(),
                Kind::Number(..) => "0.25",
                Kind::Choice(words) => words[1],
                Kind::Mode => "off",
                Kind::TextList => "[a, b c]",
                Kind::TextMap | Kind::SecretMap | Kind::Tree => continue,
            };
            let text = edited(old, |path| set(path, &key, value)).unwrap_or_else(|error| panic!("{key}: {error}"));
            let gone: Vec<&str> = old.lines().filter(|line| !text.lines().any(|new| new == *line)).collect();
            assert!(gone.len() <= 1, "{key}: {gone:#?}");
            assert!(text.lines().count() <= old.lines().count() + 5, "{key}");
        }
    }

    #[test]
    fn the_short_model_form_works() {
        let text = edited("model: a/b # mine\n", |path| set(path, "model.default", "c")).unwrap();
        assert!(text.starts_with("model: c"), "{text}");
        let text = edited("model: a/b\nz: 1\n", |path| set(path, "model.provider", "openai")).unwrap();
        let root = yaml::parse(&text, "t").unwrap();
        assert_eq!(root.get("model").unwrap().get("default").unwrap().str(), Some("a/b"), "{text}");
        assert_eq!(root.get("model").unwrap().get("provider").unwrap().str(), Some("openai"), "{text}");
    }

    #[test]
    fn refusals_say_why_and_write_nothing() {
        let refused =
            |old: &str, key: &str, value: &str| edited(old, |path| set(path, key, value)).unwrap_err().to_string();
        assert_eq!(refused(OLD, "display.skni", "x"), "unknown key display.skni; did you mean display.skin");
        assert!(refused(OLD, "agent.max_turns", "many").contains("a whole number from 1"), "bounds");
        assert!(refused(OLD, "kanban.failure_limit", "1").contains("does not use it"));
        assert!(refused(OLD, "model", "x").contains("section"));
        assert!(refused("a: [1\n", "display.skin", "x").contains("config.yaml:"), "broken file");
    }

    #[test]
    fn a_read_only_home_is_a_clear_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let error = set(&dir.path().join("file/config.yaml"), "display.skin", "ares").unwrap_err();
        assert!(error.to_string().contains("cannot"), "{error}");
    }
}

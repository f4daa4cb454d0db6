//! `keymap.yaml`: contexts, actions, keys. The user's file lies over the defaults, action by action.

use super::{Binding, Context, Key, Keymap, display, written};
use crate::config::{ConfigError, suggest};
use crate::yaml::{self, Node, Value};
use std::collections::HashMap;

const DEFAULTS: &str = include_str!("../../../assets/keymap.yaml");
const DEFAULTS_NAME: &str = "the default keymap";

/// What one file says about one action.
struct Entry {
    context: Context,
    action: String,
    keys: Vec<Vec<Key>>,
    /// `FILE:LINE`.
    place: String,
}

/// The defaults alone.
pub fn defaults() -> Result<Keymap, ConfigError> {
    bindings(&entries(DEFAULTS, DEFAULTS_NAME)?.1)
}

/// The defaults with a person's file over them.
pub fn merged(text: &str, name: &str) -> Result<Keymap, ConfigError> {
    let (default_leader, mut all) = entries(DEFAULTS, DEFAULTS_NAME)?;
    let known: Vec<String> = all.iter().map(|entry| entry.action.clone()).collect();
    let (leader, own) = entries(text, name)?;
    if let Some(leader) = leader {
        let old = default_leader.unwrap_or_default();
        for keys in all.iter_mut().flat_map(|entry| &mut entry.keys).filter(|keys| keys.starts_with(&old)) {
            keys.splice(..old.len(), leader.iter().copied());
        }
    }
    for entry in own {
        if !known.contains(&entry.action) {
            let hint = suggest::hint(&entry.action, known.iter().map(String::as_str));
            let text = format!("no action named {}{hint}; list them with hermes keys", entry.action);
            return Err(ConfigError::Asset { path: entry.place, text });
        }
        match all.iter_mut().find(|old| old.context == entry.context && old.action == entry.action) {
            Some(old) => *old = entry,
            None => all.push(entry),
        }
    }
    bindings(&all)
}

/// The leader, if the file names one, and its entries.
fn entries(text: &str, name: &str) -> Result<(Option<Vec<Key>>, Vec<Entry>), ConfigError> {
    let root = yaml::parse(text, name)?;
    let fail = |line: u64, text: String| ConfigError::Asset { path: format!("{name}:{line}"), text };
    if !matches!(root.value, Value::Map(_) | Value::Null) {
        return Err(fail(root.line, "expected contexts with actions".into()));
    }
    let leader = match root.get("leader") {
        Some(node) => {
            let keys = node.str().ok_or_else(|| fail(node.line, "leader is not a key".into()))?;
            Some(written::parse(keys).map_err(|text| fail(node.line, format!("leader: {text}")))?)
        }
        None => None,
    };
    let used_leader = match &leader {
        Some(keys) => keys.clone(),
        None => default_leader(),
    };
    let mut all = Vec::new();
    for (key, node) in root.entries().iter().filter(|(key, _)| key.text != "leader") {
        let Some(context) = Context::ALL.into_iter().find(|context| context.name() == key.text) else {
            let hint = suggest::hint(&key.text, Context::ALL.map(Context::name));
            return Err(fail(key.line, format!("no context named {}{hint}", key.text)));
        };
        for (action, keys) in node.entries() {
            let place = format!("{name}:{}", action.line);
            let keys =
                sequences(keys, &used_leader).map_err(|text| fail(action.line, format!("{}: {text}", action.text)))?;
            all.push(Entry { context, action: action.text.clone(), keys, place });
        }
    }
    Ok((leader, all))
}

fn default_leader() -> Vec<Key> {
    written::parse("ctrl-x").unwrap_or_default()
}

/// One key, several, or none (`[]`, nothing).
fn sequences(node: &Node, leader: &[Key]) -> Result<Vec<Vec<Key>>, String> {
    let one = |node: &Node| {
        let text = node.scalar().ok_or("expected keys")?;
        match text.strip_prefix("<leader> ") {
            Some(rest) => Ok([leader, &written::parse(rest)?].concat()),
            None => written::parse(&text),
        }
    };
    match &node.value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => items.iter().map(one).collect(),
        _ => Ok(vec![one(node)?]),
    }
}

/// All entries as bindings.
///
/// # Errors
/// Two actions on one key, or a key that is the beginning of another's chord, within one context.
fn bindings(entries: &[Entry]) -> Result<Keymap, ConfigError> {
    let mut bindings: Vec<Binding> = Vec::new();
    let mut places: Vec<&str> = Vec::new();
    // By context and first key: only these can be in each other's way.
    let mut rivals: HashMap<(Context, Option<Key>), Vec<usize>> = HashMap::new();
    for entry in entries {
        for keys in &entry.keys {
            let rivals = rivals.entry((entry.context, keys.first().copied())).or_default();
            for at in rivals.iter().copied() {
                let known: &Binding = &bindings[at];
                if known.keys.starts_with(keys) || keys.starts_with(&known.keys) {
                    return Err(conflict(entry, keys, known, places[at]));
                }
            }
            rivals.push(bindings.len());
            bindings.push(Binding { context: entry.context, keys: keys.clone(), action: entry.action.clone() });
            places.push(&entry.place);
        }
    }
    Ok(Keymap { bindings })
}

fn conflict(entry: &Entry, keys: &[Key], known: &Binding, place: &str) -> ConfigError {
    let context = entry.context.name();
    let text = if known.keys == keys {
        format!("{} in {context} means both {} ({place}) and {}", display(keys), known.action, entry.action)
    } else {
        let (short, long) =
            if keys.len() < known.keys.len() { (keys, &known.keys[..]) } else { (&known.keys[..], keys) };
        let (action, other) = (&entry.action, &known.action);
        format!("{} in {context} hides {} ({action}; {other} at {place})", display(short), display(long))
    };
    let text = format!("{text}; give one of them another key, or [] for none");
    ConfigError::Asset { path: entry.place.clone(), text }
}

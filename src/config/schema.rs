//! The one table of configuration keys: what may stand where, who may set it, and what it is for.
//!
//! Reading, checking, `config set`, the JSON Schema and `docs/CONFIG.md` all come from it. Defaults are not repeated here:
//! they are [`Config::default`].

mod keys;
mod pages;

pub use keys::{BACKENDS, BUSY, EDITING, EFFORTS, INDICATORS, KEYS, SANDBOX, SEARCH};
pub use pages::{json_schema, markdown};

use super::{Config, suggest};
use serde_json::Value;

/// A key that a file may set.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Dotted; a segment `*` stands for any name, or for an entry of a list.
    pub path: &'static str,
    pub kind: Kind,
    pub project: Project,
    /// One line for people.
    pub doc: &'static str,
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Text,
    /// A key or token: never printed.
    Secret,
    Bool,
    /// Whole numbers, bounds included.
    Integer(i64, i64),
    Number(f64, f64),
    Choice(&'static [&'static str]),
    /// The approval mode: words, or YAML's truth values.
    Mode,
    TextList,
    /// Names to text.
    TextMap,
    /// A part of the file that its reader checks.
    Tree,
    /// Names to text that may be keys or tokens: never printed.
    SecretMap,
}

/// What the `hermes.yaml` of a trusted project may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    /// Set it.
    May,
    /// Entries of its own, each of which a person has looked at (`config::trust`); they do not mix with the person's.
    Trusted,
    /// Only make it stricter, or add to it where adding is stricter.
    Tighten,
    /// Nothing: endpoints, keys, programs that run, what is hidden.
    Never,
}

use Kind::{Bool, Choice, Integer, Number, Secret, SecretMap, Text, TextList, TextMap, Tree};

/// What the table says about a path.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A key with a value.
    Leaf(&'static KeySpec),
    /// Keys stand under it.
    Section,
    /// A key of Python Hermes that has no meaning here.
    Foreign,
    Unknown,
}

/// Looks a dotted path up.
pub fn find(path: &str) -> Found {
    if let Some(spec) = KEYS.iter().find(|spec| matches(spec.path, path, false)) {
        return Found::Leaf(spec);
    }
    if KEYS.iter().any(|spec| matches(spec.path, path, true)) {
        return Found::Section;
    }
    if foreign_keys().any(|foreign| matches(path, foreign, false) || under(path, foreign)) {
        return Found::Foreign;
    }
    Found::Unknown
}

/// `pattern` (with `*`) equals `path`, or, with `prefix`, goes on below it.
fn matches(pattern: &str, path: &str, prefix: bool) -> bool {
    let mut pattern = pattern.split('.');
    for segment in path.split('.') {
        match pattern.next() {
            Some("*") => {}
            Some(expected) if expected == segment => {}
            _ => return false,
        }
    }
    prefix == pattern.next().is_some()
}

fn under(path: &str, foreign: &str) -> bool {
    let mut path = path.split('.');
    foreign.split('.').all(|expected| path.next().is_some_and(|segment| expected == "*" || expected == segment))
}

fn foreign_keys() -> impl Iterator<Item = &'static str> {
    include_str!("../../assets/foreign-keys.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The known path nearest to an unknown one: each segment is repaired in turn.
pub fn nearest(path: &str) -> Option<String> {
    let mut fixed: Vec<String> = Vec::new();
    let segments: Vec<&str> = path.split('.').collect();
    for (depth, segment) in segments.iter().enumerate() {
        let here = |spec: &KeySpec| -> Option<&'static str> {
            let mut parts = spec.path.split('.');
            let above = fixed.iter().all(|known| parts.next().is_some_and(|part| part == "*" || part == known));
            above.then(|| parts.next()).flatten()
        };
        let choices: Vec<&'static str> = KEYS.iter().filter_map(here).collect();
        if choices.contains(segment) || choices.contains(&"*") {
            fixed.push((*segment).to_owned());
        } else if let Some(near) = suggest::nearest(segment, choices.iter().copied()) {
            fixed.push(near.to_owned());
        } else if depth == 0 || depth + 1 == segments.len() {
            // A right name in the wrong section: `skin` for `display.skin`.
            let last = segments.last()?;
            return KEYS
                .iter()
                .map(|spec| spec.path)
                .find(|known| known.rsplit('.').next() == Some(last))
                .map(Into::into);
        } else {
            return None;
        }
    }
    let fixed = fixed.join(".");
    (fixed != path).then_some(fixed)
}

/// What a value of this kind is, for messages: `a whole number from 1 to 100`.
pub fn expectation(kind: Kind) -> String {
    match kind {
        Text | Secret => "expected text".into(),
        Bool => "expected true or false".into(),
        Integer(low, high) => format!("expected a whole number from {low} to {high}"),
        Number(low, high) => format!("expected a number from {low} to {high}"),
        Choice(words) => {
            let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
            format!("expected one of {}", words.join(", "))
        }
        Kind::Mode => "expected plan, review, ask, auto or yolo".into(),
        TextList => "expected a list of texts".into(),
        TextMap | SecretMap => "expected names with texts".into(),
        Tree => "expected a mapping".into(),
    }
}

/// The default of a key as JSON; `None` where there is none (unset, or a key of named entries).
pub fn default_of(path: &str) -> Option<Value> {
    let mut value = &serde_json::to_value(Config::default()).ok()?;
    for segment in path.split('.') {
        value = value.get(segment)?;
    }
    (!value.is_null()).then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::Project::Never;
    use super::*;
    use serde_json::json;

    /// Every field of the configuration is in the table: paths of the default's leaves, and of one full entry of each map.
    #[test]
    fn the_table_covers_every_field() {
        let mut config = Config::default();
        let mut provider = super::super::ProviderConfig::default();
        provider.models.insert("m".into(), Default::default());
        config.providers.insert("p".into(), provider);
        config.fallback_providers.push(Default::default());
        config.mcp_servers.insert("m".into(), Default::default());
        fn walk(value: &Value, path: &str, out: &mut Vec<String>) {
            let inner: Vec<(String, &Value)> = match (find(path), value) {
                (Found::Leaf(_), _) => Vec::new(),
                (_, Value::Object(map)) => map.iter().map(|(name, value)| (name.clone(), value)).collect(),
                (_, Value::Array(items)) => items.iter().map(|value| ("0".to_owned(), value)).collect(),
                _ => {
                    out.push(path.to_owned());
                    Vec::new()
                }
            };
            for (name, value) in inner {
                walk(value, &if path.is_empty() { name } else { format!("{path}.{name}") }, out);
            }
        }
        let mut missing = Vec::new();
        walk(&serde_json::to_value(&config).unwrap(), "", &mut missing);
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn paths_are_found() {
        assert!(matches!(find("agent.max_turns"), Found::Leaf(spec) if spec.path == "agent.max_turns"));
        assert!(matches!(find("providers.my-host.base_url"), Found::Leaf(_)));
        assert!(matches!(find("providers"), Found::Section));
        assert!(matches!(find("providers.x"), Found::Section));
        assert!(matches!(find("kanban.failure_limit"), Found::Foreign));
        assert!(matches!(find("display.compact"), Found::Foreign));
        assert!(matches!(find("providers.x.name"), Found::Foreign));
        assert!(matches!(find("display.skni"), Found::Unknown));
        assert!(matches!(find("nonsense"), Found::Unknown));
    }

    #[test]
    fn near_misses_are_named() {
        for (typed, meant) in [
            ("aproval.mode", Some("approvals.mode")),
            ("approval.mode", Some("approvals.mode")),
            ("display.skni", Some("display.skin")),
            ("skin", Some("display.skin")),
            ("terminal.timout", Some("terminal.timeout")),
            ("providers.x.base_ur", Some("providers.x.base_url")),
            ("zzz", None),
        ] {
            assert_eq!(nearest(typed).as_deref(), meant, "{typed}");
        }
    }

    #[test]
    fn schema_has_defaults_and_bounds() {
        let schema = json_schema();
        assert_eq!(schema.pointer("/properties/agent/properties/max_turns/default"), Some(&json!(90)));
        assert_eq!(schema.pointer("/properties/agent/properties/max_turns/minimum"), Some(&json!(1)));
        let base = "/properties/providers/additionalProperties/properties/base_url/type";
        assert_eq!(schema.pointer(base), Some(&json!("string")));
        assert_eq!(
            schema.pointer("/properties/fallback_providers/items/properties/model/type"),
            Some(&json!("string"))
        );
        assert!(schema.pointer("/properties/model/anyOf/1/properties/default").is_some());
        assert!(markdown().contains("| `agent.max_turns` | `90` | yes |"));
    }

    #[test]
    fn a_project_can_reach_no_endpoint_no_key_and_no_rule_that_allows() {
        for spec in KEYS {
            let risky =
                ["base_url", "api_key", "key_env", "headers", "allowlist", "passthrough", "init_files", "provider"];
            if risky.iter().any(|word| spec.path.contains(word)) {
                assert_eq!(spec.project, Never, "{}", spec.path);
            }
        }
    }
}

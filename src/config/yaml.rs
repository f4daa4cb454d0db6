//! YAML as a tree with positions, so that warnings can name a line.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;

/// A value and where it stands (1-based; 0 when unknown).
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub line: u64,
    pub column: u64,
    pub value: Value,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub line: u64,
    pub text: String,
}

/// Text that is not YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {reason}{excerpt}")]
pub struct SyntaxError {
    pub file: String,
    pub line: u64,
    pub column: u64,
    pub reason: String,
    /// The line and a caret under the column, or empty.
    pub excerpt: String,
}

impl Node {
    /// A text without a place, for values of the environment and the command line.
    pub fn text(text: impl Into<String>) -> Self {
        Self { line: 0, column: 0, value: Value::Text(text.into()) }
    }

    /// The value under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(name, _)| name.text == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The entries of a mapping; nothing for anything else.
    pub fn entries(&self) -> &[(Key, Node)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; nothing for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// A scalar as a person would write it; `None` for null, lists and mappings.
    pub fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Integer(value) => Some(value.to_string()),
            Value::Float(value) => Some(value.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// A text value.
    pub fn str(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What a person calls this kind of value.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// The same value without positions.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::from(*value),
            Value::Integer(value) => Json::from(*value),
            Value::Float(value) => Json::from(*value),
            Value::Text(text) => Json::from(text.as_str()),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => {
                Json::Object(entries.iter().map(|(key, node)| (key.text.clone(), node.to_json())).collect())
            }
        }
    }
}

/// Reads one document. An empty text is null; of repeated keys the last counts.
///
/// # Errors
/// [`SyntaxError`] with `file` as its name, the place and an excerpt.
pub fn parse(text: &str, file: &str) -> Result<Node, SyntaxError> {
    parse_as(text, file, serde_saphyr::options::DuplicateKeyPolicy::LastWins)
}

/// As [`parse`], but of repeated keys the first counts.
///
/// # Errors
/// As [`parse`].
pub fn parse_first(text: &str, file: &str) -> Result<Node, SyntaxError> {
    parse_as(text, file, serde_saphyr::options::DuplicateKeyPolicy::FirstWins)
}

fn parse_as(text: &str, file: &str, repeated: serde_saphyr::options::DuplicateKeyPolicy) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.lines().all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Node { line: 1, column: 1, value: Value::Null });
    }
    let mut options = serde_saphyr::Options::default();
    options.duplicate_keys = repeated;
    options.with_snippet = false;
    // `y`, `no` and `off` are text: a key, a model, a mode. Who wants a truth value reads the words.
    options.strict_booleans = true;
    serde_saphyr::from_str_with_options::<Node>(text, options).map_err(|error| {
        let (line, column) = error.location().map_or((0, 0), |at| (at.line(), at.column()));
        let reason = error.without_snippet().to_string();
        let reason = reason.lines().next().unwrap_or("not YAML").trim_start_matches("error: ").to_owned();
        SyntaxError { file: file.into(), line, column, reason, excerpt: excerpt(text, line, column) }
    })
}

fn excerpt(text: &str, line: u64, column: u64) -> String {
    let Some(source) = (line as usize).checked_sub(1).and_then(|index| text.lines().nth(index)) else {
        return String::new();
    };
    let shown: String = source.chars().take(100).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let caret = " ".repeat((column as usize).saturating_sub(1).min(100));
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    format!("\n{number} | {shown}\n{gutter} | {caret}^")
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { line: spanned.referenced.line(), column: spanned.referenced.column(), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Integer))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Node>()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map: Vec<(Key, Node)> = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Node, Node>()? {
            let text = key.scalar().unwrap_or_default();
            map.retain(|(known, _)| known.text != text);
            map.push((Key { line: key.line, text }, value));
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_places_and_types() {
        let text = "# head\na: 1\nb:\n  c: [x, \"2\", 2.5, true, ~]\n  8080: port\n";
        let node = parse(text, "f").unwrap();
        assert_eq!(node.get("a").unwrap().value, Value::Integer(1));
        let b = node.get("b").unwrap();
        assert_eq!(b.entries()[0].0.line, 4);
        let kinds: Vec<&str> = b.get("c").unwrap().items().iter().map(Node::kind).collect();
        assert_eq!(kinds, ["text", "text", "a number", "a boolean", "nothing"]);
        assert_eq!(b.get("8080").unwrap().str(), Some("port"));
        assert_eq!((b.get("c").unwrap().items()[0].line, b.get("c").unwrap().items()[0].column), (4, 7));
    }

    #[test]
    fn the_last_of_repeated_keys_counts() {
        let node = parse("a: 1\na: 2\n", "f").unwrap();
        assert_eq!(node.get("a").unwrap().value, Value::Integer(2));
        assert_eq!(node.entries().len(), 1);
    }

    #[test]
    fn anchors_and_merge_keys() {
        let node = parse("base: &b {x: 1}\nuse:\n  <<: *b\n  y: 2\n", "f").unwrap();
        assert_eq!(node.get("use").unwrap().get("x").unwrap().value, Value::Integer(1));
    }

    #[test]
    fn empty_texts_are_null() {
        for text in ["", "\n\n", "# only a comment\n", "\u{feff}", "---\n"] {
            assert_eq!(parse(text, "f").unwrap().value, Value::Null, "{text:?}");
        }
    }

    #[test]
    fn broken_yaml_names_place_and_shows_it() {
        let error = parse("model:\n  default: \"x\n", "/h/config.yaml").unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("/h/config.yaml:"), "{text}");
        assert!(error.line >= 1, "{text}");
        let error = parse("a: [1, 2\nb: 3\n", "c.yaml").unwrap_err().to_string();
        assert!(error.contains(" | "), "{error}");
        assert!(parse("a: b: c\n", "x").is_err());
    }
}

//! YAML as a tree with positions, so that warnings can name a line.

mod read;

use read::Repeated;

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
    parse_as(text, file, Repeated::Last)
}

/// As [`parse`], but of repeated keys the first counts.
///
/// # Errors
/// As [`parse`].
pub fn parse_first(text: &str, file: &str) -> Result<Node, SyntaxError> {
    parse_as(text, file, Repeated::First)
}

fn parse_as(text: &str, file: &str, repeated: Repeated) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    read::document(text, repeated).map_err(|fault| SyntaxError {
        file: file.into(),
        line: fault.line,
        column: fault.column,
        reason: fault.reason,
        excerpt: excerpt(text, fault.line, fault.column),
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

//! One layer of configuration: a YAML tree checked key by key against the table, bad values dropped with a warning.

use super::schema::{self, Found, KeySpec, Kind};
use crate::protocol::Mode;
use crate::yaml::{Node, Value};
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};

/// Something odd in a configuration file, for a notice and for `config check`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// `None` for values of the environment or the command line.
    pub path: Option<PathBuf>,
    /// 1-based.
    pub line: Option<u64>,
    /// Dotted; empty when it is about the whole file.
    pub key: String,
    /// Lower case, with what is done instead or what to do.
    pub text: String,
    /// It holds at every start until somebody changes something, and nothing is broken: said once.
    pub lasting: bool,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(f, "{}:{line}: ", path.display())?,
            (Some(path), None) if !self.text.starts_with(&*path.to_string_lossy()) => {
                write!(f, "{}: ", path.display())?
            }
            _ => {}
        }
        f.write_str(&self.text)
    }
}

/// A checked layer.
#[derive(Debug, Default)]
pub struct Layer {
    /// Only keys of the table, with values of their kinds.
    pub values: Map<String, Json>,
    pub warnings: Vec<Warning>,
    /// Keys of Python Hermes that have no meaning here, with their lines.
    pub foreign: Vec<(String, u64)>,
}

/// Answers what a variable holds; `None` when it is not set.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// How a layer is read.
pub struct Reader<'a> {
    /// For warnings; `None` for the environment and the command line.
    pub file: Option<&'a Path>,
    /// Fills `${NAME}`; `None` leaves it as it is written.
    pub variables: Option<&'a Variables<'a>>,
}

impl Reader<'_> {
    /// Reads a whole document.
    pub fn read(&self, root: &Node) -> Layer {
        let mut layer = Layer::default();
        match &root.value {
            Value::Null => {}
            Value::Map(_) => {
                let object = self.section(root, "", &mut layer);
                layer.values = object;
                self.legacy(root, &mut layer);
            }
            _ => {
                let text = format!("expected keys with values, not {}; ignoring the file", root.kind());
                self.warn(&mut layer, root.line, "", text);
            }
        }
        layer
    }

    fn section(&self, node: &Node, prefix: &str, layer: &mut Layer) -> Map<String, Json> {
        let mut out = Map::new();
        for (key, child) in node.entries() {
            let path = if prefix.is_empty() { key.text.clone() } else { format!("{prefix}.{}", key.text) };
            if let Some(value) = self.entry(&path, key.line, child, layer) {
                out.insert(key.text.clone(), value);
            }
        }
        out
    }

    /// The value of one key; `None` when it is to be left out.
    fn entry(&self, path: &str, line: u64, node: &Node, layer: &mut Layer) -> Option<Json> {
        match schema::find(path) {
            Found::Leaf(spec) => self.leaf(spec, path, node, layer),
            Found::Section => match &node.value {
                Value::Null => None,
                Value::Map(_) => Some(Json::Object(self.section(node, path, layer))),
                Value::Text(_) if path == "model" => {
                    let value = self.entry("model.default", line, node, layer)?;
                    Some(serde_json::json!({ "default": value }))
                }
                // `off` is a truth value of YAML.
                Value::Text(_) | Value::Bool(_) if path == "sandbox" => {
                    let value = self.entry("sandbox.mode", line, node, layer)?;
                    Some(serde_json::json!({ "mode": value }))
                }
                // Lists of entries, and lists of names where names with settings may stand.
                Value::List(items) if path == "fallback_providers" => {
                    let mut entries = Vec::new();
                    for item in items {
                        match &item.value {
                            Value::Map(_) => {
                                entries.push(Json::Object(self.section(item, &format!("{path}.0"), layer)))
                            }
                            _ => self.wrong(layer, item.line, path, item, "expected entries with provider and model"),
                        }
                    }
                    Some(Json::Array(entries))
                }
                Value::List(items) if path.ends_with(".models") => {
                    let names = items.iter().filter_map(Node::scalar);
                    Some(Json::Object(names.map(|name| (name, serde_json::json!({}))).collect()))
                }
                _ => {
                    self.wrong(layer, node.line.max(line), path, node, "expected keys with values");
                    None
                }
            },
            Found::Foreign => {
                layer.foreign.push((path.to_owned(), line));
                None
            }
            Found::Unknown if is_legacy(path) => None,
            Found::Unknown => {
                let near = schema::nearest(path).map(|near| format!("; did you mean {near}")).unwrap_or_default();
                self.warn(layer, line, path, format!("unknown key {path}{near} (ignored)"));
                None
            }
        }
    }

    fn leaf(&self, spec: &KeySpec, path: &str, node: &Node, layer: &mut Layer) -> Option<Json> {
        // A shell fills the variables of its own line.
        let filled = if path == "hooks" { node.clone() } else { self.fill(node, path, layer) };
        match convert(spec.kind, &filled) {
            Ok(value) => value,
            Err(expected) if path == "sandbox.mode" || path == "sandbox.network" => {
                // The strictest: whoever writes such a line wants commands held.
                let (word, value) = match path {
                    "sandbox.mode" => ("read-only", Json::from("read-only")),
                    _ => ("off", Json::from(false)),
                };
                let text = format!("{path} cannot be {}: {expected}; using {word}", describe(spec, &filled));
                self.warn(layer, node.line, path, text);
                Some(value)
            }
            // A policy that can't be read must not fall back to one that is looser.
            Err(expected) if spec.kind == Kind::Mode => {
                let text = format!("{path} cannot be {}: {expected}; using ask", describe(spec, &filled));
                self.warn(layer, node.line, path, text);
                Some(Json::from(Mode::Ask.word()))
            }
            Err(expected) => {
                // A limit that nobody can read holds nothing: that is to be said.
                let instead = if is_limit(path) { "no such limit holds" } else { "using the default" };
                let text = format!("{path} cannot be {}: {expected}; {instead}", describe(spec, &filled));
                self.warn(layer, node.line, path, text);
                None
            }
        }
    }

    /// The node with `${NAME}` filled in its texts.
    fn fill(&self, node: &Node, path: &str, layer: &mut Layer) -> Node {
        let Some(variables) = self.variables else { return node.clone() };
        let value = match &node.value {
            Value::Text(text) if text.contains("${") => {
                let (filled, missing) = interpolate(text, variables);
                for name in missing {
                    let text =
                        format!("{path} uses ${{{name}}}, which is not set; set it in the environment or in .env");
                    self.warn(layer, node.line, path, text);
                }
                Value::Text(filled)
            }
            Value::List(items) => Value::List(items.iter().map(|item| self.fill(item, path, layer)).collect()),
            Value::Map(entries) => {
                Value::Map(entries.iter().map(|(key, item)| (key.clone(), self.fill(item, path, layer))).collect())
            }
            other => other.clone(),
        };
        Node { value, ..*node }
    }

    /// Forms of older Python files: `custom_providers` (a list with names) and `fallback_model`.
    fn legacy(&self, root: &Node, layer: &mut Layer) {
        for entry in root.get("custom_providers").map_or(&[][..], Node::items) {
            let Some(name) = entry.get("name").and_then(Node::scalar) else { continue };
            let name = name.trim().to_lowercase().replace(' ', "-");
            let mut fields: Vec<(crate::yaml::Key, Node)> = entry.entries().to_vec();
            for (key, _) in &mut fields {
                if key.text == "model" {
                    key.text = "default_model".into();
                }
            }
            let entry = Node { value: Value::Map(fields), ..*entry };
            let fields = self.section(&entry, &format!("providers.{name}"), layer);
            let providers = layer.values.entry("providers").or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(providers) = providers {
                providers.entry(name).or_insert(Json::Object(fields));
            }
        }
        let Some(fallback) = root.get("fallback_model") else { return };
        let one = std::slice::from_ref(fallback);
        for entry in if matches!(fallback.value, Value::Map(_)) { one } else { fallback.items() } {
            let fields = self.section(entry, "fallback_providers.0", layer);
            let list = layer.values.entry("fallback_providers").or_insert_with(|| Json::Array(Vec::new()));
            if let (Json::Array(list), false) = (list, fields.is_empty()) {
                list.push(Json::Object(fields));
            }
        }
    }

    fn wrong(&self, layer: &mut Layer, line: u64, path: &str, node: &Node, expected: &str) {
        self.warn(layer, line, path, format!("{path} cannot be {}: {expected}; using the default", node.kind()));
    }

    fn warn(&self, layer: &mut Layer, line: u64, key: &str, text: String) {
        let line = (line > 0).then_some(line);
        layer.warnings.push(Warning {
            path: self.file.map(Path::to_path_buf),
            line,
            key: key.into(),
            text,
            lasting: false,
        });
    }
}

/// Whether a setting bounds what is spent.
fn is_limit(path: &str) -> bool {
    path.starts_with("budget.") || matches!(path, "delegation.max_tokens" | "delegation.max_cost")
}

fn is_legacy(path: &str) -> bool {
    matches!(path, "custom_providers" | "fallback_model")
}

fn describe(spec: &KeySpec, node: &Node) -> String {
    match node.scalar() {
        Some(text) if spec.kind != Kind::Secret && text.chars().count() <= 60 => format!("{text:?}"),
        _ => node.kind().to_owned(),
    }
}

/// `${NAME}` replaced by its value; names without one stay as they are and are returned.
fn interpolate(text: &str, variables: &Variables<'_>) -> (String, Vec<String>) {
    let (mut out, mut missing, mut rest) = (String::new(), Vec::new(), text);
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        let name = &rest[start + 2..start + length];
        out.push_str(&rest[..start]);
        match variables(name) {
            Some(value) => out.push_str(&value),
            None => {
                missing.push(name.to_owned());
                out.push_str(&rest[start..=start + length]);
            }
        }
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    (out, missing)
}

/// A node as a value of a kind. `Ok(None)`: left empty, the default holds.
///
/// # Errors
/// What would have been right, in words.
pub fn convert(kind: Kind, node: &Node) -> Result<Option<Json>, String> {
    let expected = || schema::expectation(kind);
    let text = node.scalar();
    let text = text.as_deref().map(str::trim);
    if node.value == Value::Null {
        return Ok(None);
    }
    let value = match kind {
        Kind::Text | Kind::Secret => Json::from(node.scalar().ok_or_else(expected)?),
        Kind::Bool => match (&node.value, text.map(str::to_lowercase).as_deref()) {
            (Value::Bool(value), _) => Json::from(*value),
            (_, Some("true" | "yes" | "on" | "1")) => Json::from(true),
            (_, Some("false" | "no" | "off" | "0")) => Json::from(false),
            _ => return Err(expected()),
        },
        Kind::Integer(low, high) => {
            let number = match &node.value {
                Value::Integer(number) => Some(*number),
                Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => Some(*number as i64),
                Value::Text(_) => text.and_then(|text| text.replace('_', "").parse().ok()),
                _ => None,
            };
            Json::from(number.filter(|number| (low..=high).contains(number)).ok_or_else(expected)?)
        }
        Kind::Number(low, high) => {
            let number = match &node.value {
                Value::Integer(number) => Some(*number as f64),
                Value::Float(number) => Some(*number),
                Value::Text(_) => text.and_then(|text| text.parse().ok()),
                _ => None,
            };
            Json::from(number.filter(|number| (low..=high).contains(number)).ok_or_else(expected)?)
        }
        Kind::Choice(words) => match text {
            Some(word) if words.contains(&word) => Json::from(word),
            Some("") => return Ok(None),
            // YAML's `none`-like words arrive as truth values.
            Some("false") if words.contains(&"none") => Json::from("none"),
            Some("false") if words.contains(&"off") => Json::from("off"),
            Some(word) => {
                let lower = word.to_lowercase();
                Json::from(*words.iter().find(|known| **known == lower).ok_or_else(expected)?)
            }
            None => return Err(expected()),
        },
        Kind::Mode => {
            let mode = match (&node.value, text.map(str::to_lowercase).as_deref()) {
                // Of the truth values that YAML makes of `off` and `on`.
                (Value::Bool(false), _) | (_, Some("no" | "false")) => Some(Mode::Yolo),
                (Value::Bool(true), _) | (_, Some("on" | "yes" | "true" | "")) => Some(Mode::Ask),
                (_, word) => word.and_then(Mode::read),
            };
            Json::from(mode.ok_or_else(expected)?.word())
        }
        Kind::TextList => match &node.value {
            Value::List(items) => {
                items.iter().map(Node::scalar).collect::<Option<Vec<_>>>().ok_or_else(expected)?.into()
            }
            Value::Text(text) => {
                let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
                let parts = inner.split(',').map(|part| part.trim().trim_matches(['"', '\'']));
                Json::from(parts.filter(|part| !part.is_empty()).collect::<Vec<_>>())
            }
            _ => return Err(expected()),
        },
        Kind::Tree => match &node.value {
            Value::Map(_) => node.to_json(),
            _ => return Err(expected()),
        },
        Kind::TextMap | Kind::SecretMap => match &node.value {
            Value::Map(entries) => {
                let pairs = entries.iter().map(|(key, value)| Some((key.text.clone(), Json::from(value.scalar()?))));
                Json::Object(pairs.collect::<Option<Map<_, _>>>().ok_or_else(expected)?)
            }
            _ => return Err(expected()),
        },
    };
    Ok(Some(value))
}

/// Lays `over` on `under`: mappings key by key, everything else as a whole.
pub fn merge(under: &mut Map<String, Json>, over: Map<String, Json>) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Json::Object(below)), Json::Object(above)) => merge(below, above),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

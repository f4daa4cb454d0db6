//! The table as others read it: a JSON Schema for editors, a page for people.

use super::Kind::{self, Bool, Choice, Integer, Number, Secret, SecretMap, Text, TextList, TextMap, Tree};
use super::Project::{May, Never, Tighten, Trusted};
use super::{KEYS, KeySpec, default_of};
use serde_json::{Map, Value, json};

/// The JSON Schema of `config.yaml`.
pub fn json_schema() -> Value {
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Hermes configuration",
        "type": "object",
        "properties": {},
    });
    for spec in KEYS {
        let segments: Vec<&str> = spec.path.split('.').collect();
        insert(&mut root, &segments, leaf_schema(spec));
    }
    if let Some(model) = root.pointer_mut("/properties/model") {
        let object = model.take();
        *model = json!({"anyOf": [{"type": "string", "description": "the default model"}, object]});
    }
    root
}

fn insert(at: &mut Value, segments: &[&str], leaf: Value) {
    let Some((first, rest)) = segments.split_first() else { return };
    let Value::Object(object) = at else { return };
    // Lists of entries are the only sections whose default is a list.
    let slot = match *first {
        "*" if object.get("type") == Some(&json!("array")) => object.entry("items").or_insert_with(section),
        "*" => object.entry("additionalProperties").or_insert_with(section),
        name => {
            let properties = object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(properties) = properties else { return };
            let is_list = name == "fallback_providers";
            properties.entry(name).or_insert_with(|| if is_list { json!({"type": "array"}) } else { section() })
        }
    };
    if rest.is_empty() {
        *slot = leaf;
    } else {
        insert(slot, rest, leaf);
    }
}

fn section() -> Value {
    json!({"type": "object"})
}

fn leaf_schema(spec: &KeySpec) -> Value {
    let mut schema = match spec.kind {
        Text | Secret => json!({"type": "string"}),
        Bool => json!({"type": "boolean"}),
        Integer(low, high) => json!({"type": "integer", "minimum": low, "maximum": high}),
        Number(low, high) => json!({"type": "number", "minimum": low, "maximum": high}),
        Choice(words) => json!({"enum": words}),
        Kind::Mode => json!({"enum": ["plan", "review", "ask", "auto", "yolo", "manual", "smart", "off", true, false]}),
        TextList => json!({"type": "array", "items": {"type": "string"}}),
        TextMap | SecretMap => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Tree => json!({"type": "object"}),
    };
    schema["description"] = json!(spec.doc);
    if let Some(default) = default_of(spec.path) {
        schema["default"] = default;
    }
    schema
}

/// The table of `docs/CONFIG.md`.
pub fn markdown() -> String {
    let mut out = String::from("| key | default | in a project | description |\n| --- | --- | --- | --- |\n");
    for spec in KEYS {
        let default = match default_of(spec.path) {
            Some(Value::String(text)) if text.is_empty() => "empty".to_owned(),
            Some(Value::String(text)) => format!("`{text}`"),
            Some(value) => format!("`{value}`"),
            None => "unset".to_owned(),
        };
        let project = match spec.project {
            May => "yes",
            Tighten => "stricter only",
            Trusted => "after review",
            Never => "no",
        };
        let path = spec.path.replace('*', "NAME");
        out.push_str(&format!("| `{path}` | {default} | {project} | {} |\n", spec.doc.replace('|', "\\|")));
    }
    out
}

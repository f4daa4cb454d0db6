//! JSON Schemas of tools made to fit servers that take only a part of the language.
//!
//! Tools come from anywhere, and one schema that a server refuses fails the whole request. Each style says what a server
//! takes; what it does not is inlined, said in simpler words, or left out. Arguments are checked by the tool itself.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// What a server takes, named as in `assets/providers.yaml`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// All of it, but an object at the top without alternatives (OpenAI and Anthropic refuse those).
    #[default]
    Standard,
    /// The subset of Gemini's function declarations (its API reference, `Schema`).
    Gemini,
    /// What llama.cpp and its kin turn into a grammar (its `json-schema-to-grammar`).
    Grammar,
}

/// References are followed this deep; a schema that refers to itself ends in `{}`.
const REF_DEPTH: usize = 6;
/// Values that a schema may have after references were inlined.
const MAX_NODES: usize = 4_000;

/// `schema` as this style takes it; borrowed when it fits as it is.
pub fn fit(schema: &Value, style: Style) -> Cow<'_, Value> {
    if fits(schema, style, true) {
        return Cow::Borrowed(schema);
    }
    let mut nodes = MAX_NODES;
    let mut fitted = part(schema, schema, style, REF_DEPTH, &mut nodes);
    top(&mut fitted);
    Cow::Owned(fitted)
}

/// Keys that the style does not take.
fn refused(key: &str, style: Style) -> bool {
    match style {
        Style::Standard => matches!(key, "$ref" | "$defs" | "definitions" | "$schema" | "$id"),
        Style::Gemini => !matches!(
            key,
            "type"
                | "description"
                | "title"
                | "properties"
                | "required"
                | "items"
                | "enum"
                | "anyOf"
                | "format"
                | "nullable"
                | "minimum"
                | "maximum"
                | "minItems"
                | "maxItems"
                | "minLength"
                | "maxLength"
                | "minProperties"
                | "maxProperties"
        ),
        Style::Grammar => matches!(
            key,
            "$ref"
                | "$defs"
                | "definitions"
                | "$schema"
                | "$id"
                | "pattern"
                | "format"
                | "not"
                | "if"
                | "then"
                | "else"
                | "allOf"
                | "patternProperties"
                | "propertyNames"
                | "dependentRequired"
                | "dependentSchemas"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "contains"
                | "contentEncoding"
                | "contentMediaType"
                | "default"
        ),
    }
}

/// Formats that Gemini takes.
fn known_format(format: &Value) -> bool {
    matches!(format.as_str(), Some("enum" | "date-time" | "int32" | "int64" | "float" | "double"))
}

/// Alternatives, which no server takes at the top.
const ALTERNATIVES: [&str; 5] = ["anyOf", "oneOf", "allOf", "not", "enum"];

fn fits(schema: &Value, style: Style, is_top: bool) -> bool {
    let Value::Object(fields) = schema else {
        // `true`, which takes anything, is no object.
        return !is_top && style == Style::Standard;
    };
    if is_top
        && (fields.get("type") != Some(&json!("object")) || ALTERNATIVES.iter().any(|key| fields.contains_key(*key)))
    {
        return false;
    }
    let strict = style != Style::Standard;
    if strict && is_object(fields) && !fields.contains_key("properties") {
        return false;
    }
    if style == Style::Gemini && !fields.contains_key("type") && !fields.contains_key("anyOf") {
        return false;
    }
    if strict && fields.get("type") == Some(&json!("array")) && !fields.contains_key("items") {
        return false;
    }
    fields.iter().all(|(key, value)| match key.as_str() {
        key if refused(key, style) => false,
        "type" if value.is_array() => style == Style::Standard,
        "format" => style != Style::Gemini || known_format(value),
        "enum" if style == Style::Gemini && fields.get("type") != Some(&json!("string")) => false,
        "enum" if style == Style::Gemini => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        "properties" | "patternProperties" | "dependentSchemas" => {
            value.as_object().is_some_and(|all| all.values().all(|value| fits(value, style, false)))
        }
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
            value.as_array().is_some_and(|all| all.iter().all(|value| fits(value, style, false)))
        }
        "items" | "not" | "if" | "then" | "else" | "contains" | "propertyNames" => fits(value, style, false),
        "additionalProperties" if value.is_object() => fits(value, style, false),
        _ => true,
    })
}

fn is_object(fields: &Map<String, Value>) -> bool {
    fields.get("type") == Some(&json!("object"))
}

/// One schema inside `root`, rewritten.
fn part(schema: &Value, root: &Value, style: Style, depth: usize, nodes: &mut usize) -> Value {
    let Value::Object(fields) = schema else { return anything(style) };
    if *nodes == 0 {
        return anything(style);
    }
    *nodes -= 1;
    if let Some(target) = fields.get("$ref") {
        let found = target.as_str().and_then(|name| root.pointer(name.strip_prefix('#')?)).filter(|_| depth > 0);
        let mut inlined = found.map_or_else(|| anything(style), |found| part(found, root, style, depth - 1, nodes));
        // Words beside a reference belong to this place.
        if let (Some(about), Some(into)) = (fields.get("description"), inlined.as_object_mut()) {
            into.insert("description".into(), about.clone());
        }
        return inlined;
    }
    let mut out = Map::new();
    let mut inner = |value: &Value| part(value, root, style, depth, nodes);
    for (key, value) in fields {
        let strict = style != Style::Standard;
        match key.as_str() {
            "const" if style == Style::Gemini => {
                out.insert("enum".into(), json!([text(value)]));
                out.insert("type".into(), json!("string"));
            }
            "oneOf" if style == Style::Gemini => {
                out.insert("anyOf".into(), list(value, &mut inner));
            }
            "allOf" if strict => merge(&mut out, value, &mut inner),
            "exclusiveMinimum" if style == Style::Gemini && value.is_number() => {
                out.entry("minimum").or_insert_with(|| value.clone());
            }
            "exclusiveMaximum" if style == Style::Gemini && value.is_number() => {
                out.entry("maximum").or_insert_with(|| value.clone());
            }
            // Said with the values.
            "type" if style == Style::Gemini && (fields.contains_key("enum") || fields.contains_key("const")) => {}
            "type" if value.is_array() && strict => types(value, style, &mut out),
            "format" if style == Style::Gemini && !known_format(value) => {}
            "enum" if style == Style::Gemini => {
                let texts: Vec<String> = value.as_array().into_iter().flatten().map(text).collect();
                out.insert("enum".into(), json!(texts));
                out.insert("type".into(), json!("string"));
            }
            key if refused(key, style) => {}
            "properties" | "patternProperties" | "dependentSchemas" => {
                let all = value.as_object().into_iter().flatten();
                let all: Map<String, Value> = all.map(|(name, value)| (name.clone(), inner(value))).collect();
                out.insert(key.clone(), Value::Object(all));
            }
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                out.insert(key.clone(), list(value, &mut inner));
            }
            "items" if value.is_array() => {
                // A list for each position: the first stands for all.
                let first = value.as_array().and_then(|all| all.first()).cloned().unwrap_or_else(|| json!({}));
                out.insert("items".into(), inner(&first));
            }
            "items" | "not" | "if" | "then" | "else" | "contains" | "propertyNames" => {
                out.insert(key.clone(), inner(value));
            }
            "additionalProperties" if value.is_object() => {
                out.insert(key.clone(), inner(value));
            }
            _ => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    complete(&mut out, style);
    Value::Object(out)
}

/// What strict servers miss: properties of an object, items of a list, required names that exist, a type.
fn complete(out: &mut Map<String, Value>, style: Style) {
    if style == Style::Standard {
        return;
    }
    if style == Style::Gemini && out.contains_key("enum") {
        out.retain(|key, _| !matches!(key.as_str(), "properties" | "required" | "items"));
        out.insert("type".into(), json!("string"));
    }
    if is_object(out) {
        out.entry("properties").or_insert_with(|| json!({}));
    }
    if out.get("type") == Some(&json!("array")) {
        out.entry("items").or_insert_with(|| json!({"type": "string"}));
    }
    if style == Style::Gemini && !out.contains_key("type") && !out.contains_key("anyOf") {
        let guess = if out.contains_key("properties") { "object" } else { "string" };
        out.insert("type".into(), json!(guess));
    }
    let names: Vec<String> =
        out.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect();
    if let Some(Value::Array(required)) = out.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| names.iter().any(|known| known == name)));
        if required.is_empty() {
            out.remove("required");
        }
    }
}

/// A schema that takes anything, in the style's words.
fn anything(style: Style) -> Value {
    match style {
        Style::Standard | Style::Grammar => json!({}),
        Style::Gemini => json!({"type": "string"}),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn list(value: &Value, inner: &mut impl FnMut(&Value) -> Value) -> Value {
    value.as_array().into_iter().flatten().map(inner).collect()
}

/// `["string", "null"]` as a nullable string, or as alternatives.
fn types(value: &Value, style: Style, out: &mut Map<String, Value>) {
    let all: Vec<&Value> = value.as_array().into_iter().flatten().collect();
    let real: Vec<&Value> = all.iter().copied().filter(|name| **name != "null").collect();
    match real.as_slice() {
        [one] if style == Style::Gemini => {
            out.insert("type".into(), (*one).clone());
        }
        _ if style == Style::Gemini => {
            out.insert("anyOf".into(), real.iter().map(|name| json!({"type": name})).collect());
        }
        [one] if real.len() == all.len() => {
            out.insert("type".into(), (*one).clone());
        }
        _ => {
            out.insert("anyOf".into(), all.iter().map(|name| json!({"type": name})).collect());
        }
    }
    if style == Style::Gemini && real.len() < all.len() {
        out.insert("nullable".into(), json!(true));
    }
}

/// All of several schemas in one: their properties and required names together, the rest of the later one wins.
fn merge(out: &mut Map<String, Value>, value: &Value, inner: &mut impl FnMut(&Value) -> Value) {
    for one in value.as_array().into_iter().flatten() {
        let Value::Object(fields) = inner(one) else { continue };
        for (key, value) in fields {
            match (key.as_str(), out.get_mut(&key), value) {
                ("properties", Some(Value::Object(into)), Value::Object(more)) => into.extend(more),
                ("required", Some(Value::Array(into)), Value::Array(more)) => into.extend(more),
                (_, _, value) => {
                    out.insert(key, value);
                }
            }
        }
    }
}

/// An object at the top, without alternatives: those of objects become one object where each property may be given.
fn top(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        *schema = json!({"type": "object", "properties": {}});
        return;
    };
    for key in ALTERNATIVES {
        let Some(Value::Array(all)) = fields.remove(key) else { continue };
        for one in all {
            let Value::Object(mut one) = one else { continue };
            if let Some(Value::Object(more)) = one.remove("properties") {
                let into = fields.entry("properties").or_insert_with(|| json!({}));
                if let Some(into) = into.as_object_mut() {
                    for (name, value) in more {
                        into.entry(name).or_insert(value);
                    }
                }
            }
            // What all of them demand is demanded; what one of several does is not.
            if let (true, Some(Value::Array(more))) = (key == "allOf", one.remove("required")) {
                let into = fields.entry("required").or_insert_with(|| json!([]));
                if let Some(into) = into.as_array_mut() {
                    into.extend(more);
                }
            }
        }
    }
    fields.insert("type".into(), json!("object"));
    fields.entry("properties").or_insert_with(|| json!({}));
}

#[cfg(test)]
mod tests;

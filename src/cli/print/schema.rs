//! `--json-schema`: whether an answer fits. The part of JSON Schema that answers are described with: `type`, `enum`,
//! `const`, `required`, `properties`, `additionalProperties: false`, `items`, `minItems`, `maxItems`, `anyOf`.

use serde_json::Value;

/// The JSON value of an answer: as it is, or in the code fence around it.
pub fn value_of(answer: &str) -> Result<Value, String> {
    let text = answer.trim();
    let inner = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"))
        .unwrap_or(text);
    serde_json::from_str(inner.trim()).map_err(|error| format!("the answer is not JSON: {error}"))
}

/// What does not fit, by JSON pointer; `None` when all does.
pub fn misfit(value: &Value, schema: &Value, at: &str) -> Option<String> {
    let place = if at.is_empty() { "the answer" } else { at };
    if let Some(kinds) = schema.get("type") {
        let names: Vec<&str> = match kinds {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().into_iter().collect(),
        };
        if !names.is_empty() && !names.iter().any(|name| is(value, name)) {
            return Some(format!("{place} must be {}", names.join(" or ")));
        }
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array)
        && !options.contains(value)
    {
        return Some(format!("{place} must be one of {}", Value::Array(options.clone())));
    }
    if let Some(only) = schema.get("const")
        && only != value
    {
        return Some(format!("{place} must be {only}"));
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array)
        && options.iter().all(|option| misfit(value, option, at).is_some())
    {
        return Some(format!("{place} matches none of the alternatives"));
    }
    match value {
        Value::Object(fields) => object(fields, schema, at, place),
        Value::Array(entries) => array(entries, schema, at, place),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn object(fields: &serde_json::Map<String, Value>, schema: &Value, at: &str, place: &str) -> Option<String> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        if !fields.contains_key(name) {
            return Some(format!("{place} is missing {name:?}"));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    fields.iter().find_map(|(name, field)| match known.and_then(|known| known.get(name)) {
        Some(inner) => misfit(field, inner, &format!("{at}/{name}")),
        None if closed => Some(format!("{place} must not have {name:?}")),
        None => None,
    })
}

fn array(entries: &[Value], schema: &Value, at: &str, place: &str) -> Option<String> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    if bound("minItems").is_some_and(|least| entries.len() < least) {
        return Some(format!("{place} has too few entries"));
    }
    if bound("maxItems").is_some_and(|most| entries.len() > most) {
        return Some(format!("{place} has too many entries"));
    }
    let inner = schema.get("items")?;
    entries.iter().enumerate().find_map(|(n, entry)| misfit(entry, inner, &format!("{at}/{n}")))
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_checked_in_depth() {
        let schema = json!({ "type": "object", "required": ["name", "tags"], "additionalProperties": false,
            "properties": { "name": { "type": "string" }, "tags": { "type": "array", "items": { "enum": ["a", "b"] } },
                            "age": { "type": ["integer", "null"] } } });
        let table = [
            (json!({ "name": "x", "tags": ["a"], "age": 3 }), None),
            (json!({ "name": "x", "tags": [], "age": null }), None),
            (json!([]), Some("the answer must be object")),
            (json!({ "name": "x" }), Some("the answer is missing \"tags\"")),
            (json!({ "name": 1, "tags": [] }), Some("/name must be string")),
            (json!({ "name": "x", "tags": ["c"] }), Some("/tags/0 must be one of [\"a\",\"b\"]")),
            (json!({ "name": "x", "tags": [], "age": 1.5 }), Some("/age must be integer or null")),
            (json!({ "name": "x", "tags": [], "more": 1 }), Some("the answer must not have \"more\"")),
        ];
        for (value, expected) in table {
            assert_eq!(misfit(&value, &schema, "").as_deref(), expected, "{value}");
        }
        assert_eq!(value_of("```json\n{\"a\":1}\n```"), Ok(json!({ "a": 1 })));
        assert!(value_of("Sure! {}").is_err());
    }
}

//! Arguments bent to the schema: models write `"42"` for 42 and `"[…]"` for a list.

use serde_json::{Map, Number, Value};

/// `args` with each value in the type that `schema` wants, where that is certain; anything else stays as it is.
pub fn coerce(args: Value, schema: &Value) -> Value {
    if let (Value::String(text), true) = (&args, schema.get("nullable") == Some(&Value::Bool(true)))
        && text == "null"
    {
        return Value::Null;
    }
    let types = types(schema);
    if types.is_empty() || types.iter().any(|name| is(&args, name)) && !types.contains(&"string") {
        return inside(args, schema);
    }
    match args {
        Value::String(text) => from_text(text, &types, schema),
        // One value where a list is wanted.
        value if types == ["array"] && !value.is_null() && !value.is_object() => {
            inside(Value::Array(vec![value]), schema)
        }
        value @ Value::Object(_) if types == ["array"] => inside(Value::Array(vec![value]), schema),
        Value::Number(number) if types.contains(&"integer") => Value::Number(whole(number)),
        value => inside(value, schema),
    }
}

/// Refuses what is of another type than `schema` says, after [`coerce`]: a tool would take it for left out. Numbers in a list
/// of texts become texts. `lenient` are the arguments that the tool reads in more shapes than `schema` says.
///
/// # Errors
/// Which argument, and what it must be.
pub fn check_types(args: &mut Value, schema: &Value, lenient: &[&str]) -> Result<(), String> {
    let (Some(fields), Some(properties)) = (args.as_object_mut(), schema.get("properties").and_then(Value::as_object))
    else {
        return Ok(());
    };
    for (name, value) in fields.iter_mut() {
        let Some(property) = properties.get(name).filter(|_| !lenient.contains(&name.as_str())) else { continue };
        let wanted = types(property);
        if !wanted.is_empty() && !wanted.iter().any(|wanted| is(value, wanted)) {
            return Err(format!(
                "`{name}` must be {}, not {}",
                wanted.iter().map(|name| words(name)).collect::<Vec<_>>().join(" or "),
                shown(value)
            ));
        }
        let items = property.get("items").map(types).unwrap_or_default();
        for item in value.as_array_mut().into_iter().flatten().filter(|_| !items.is_empty()) {
            if let (["string"], Value::Number(number)) = (items.as_slice(), &*item) {
                *item = Value::String(number.to_string());
            }
            if !items.iter().any(|wanted| is(item, wanted)) {
                return Err(format!("`{name}` must contain only {}s, not {}", items.join(" or "), shown(item)));
            }
        }
    }
    Ok(())
}

fn words(kind: &str) -> &'static str {
    match kind {
        "string" => "a string",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        _ => "null",
    }
}

/// The beginning of a value.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The type names that a schema allows; empty when it does not say.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => {
            ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten().flat_map(types).collect()
        }
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

fn inside(value: Value, schema: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(object(fields, schema)),
        Value::Array(items) => match schema.get("items") {
            Some(items_schema) => items.into_iter().map(|item| coerce(item, items_schema)).collect(),
            None => Value::Array(items),
        },
        value => value,
    }
}

fn object(fields: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
    };
    let property = |name: &str| schema.get("properties").and_then(|all| all.get(name));
    fields
        .into_iter()
        .filter_map(|(name, value)| match property(&name) {
            // `null` for something that may be left out means leaving it out.
            Some(schema) if value.is_null() && !required(&name) && !types(schema).contains(&"null") => None,
            Some(schema) => {
                let value = coerce(value, schema);
                Some((name, value))
            }
            None => Some((name, value)),
        })
        .collect()
}

fn from_text(text: String, types: &[&str], schema: &Value) -> Value {
    let word = text.trim();
    if word == "null" && types.contains(&"null") {
        return Value::Null;
    }
    if types.contains(&"string") {
        return Value::String(text);
    }
    let read: Option<Value> = match word.to_ascii_lowercase().as_str() {
        "true" | "false" if types.contains(&"boolean") => Some(Value::Bool(word.eq_ignore_ascii_case("true"))),
        _ => serde_json::from_str(word).ok(),
    };
    let read = match read {
        Some(Value::Number(number)) if types.contains(&"integer") => Some(Value::Number(whole(number))),
        read => read,
    };
    match read {
        Some(value) if types.iter().any(|name| is(&value, name)) => inside(value, schema),
        // A list of one, written without its brackets.
        _ if types.contains(&"array") && !word.starts_with('[') => {
            inside(Value::Array(vec![Value::String(text)]), schema)
        }
        _ => Value::String(text),
    }
}

/// `10.0` as 10; a number with a fraction stays.
fn whole(number: Number) -> Number {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => Number::from(float as i64),
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::registry::Registry;
    use serde_json::json;

    /// Schemas of tools that the cases name, as far as they need them.
    fn schema(tool: &str) -> Value {
        match tool {
            "terminal" => {
                json!({"properties": {"command": {"type": "string"}, "background": {"type": "boolean"}, "timeout": {"type": "integer"}}})
            }
            "web_extract" => json!({"properties": {"urls": {"type": "array", "items": {"type": "string"}}}}),
            "browser_cdp" => json!({"properties": {"method": {"type": "string"}, "params": {"type": "object"}}}),
            "memory" => {
                json!({"properties": {"target": {"type": "string"}, "operations": {"type": "array", "items": {"type": "object"}}}})
            }
            name => Registry::builtin().snapshot().get(name).unwrap().spec().schema.as_ref().clone(),
        }
    }

    #[test]
    fn cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/coerce-args.jsonl"));
        for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            assert_eq!(coerce(row["args"].clone(), &schema(row["tool"].as_str().unwrap())), row["result"], "{row}");
        }
    }

    #[test]
    fn more_than_the_cases() {
        for (schema, args, want) in [
            (json!({"type": "array", "items": {"type": "integer"}}), json!("5"), json!([5])),
            (json!({"type": "array", "items": {"type": "string"}}), json!("a, b"), json!(["a, b"])),
            (json!({"type": "array"}), json!("[broken"), json!("[broken")),
            (json!({"type": "array"}), json!({"a": 1}), json!([{"a": 1}])),
            (json!({"type": ["string", "null"]}), json!("null"), json!(null)),
            (json!({"type": "string"}), json!("null"), json!("null")),
            (json!({"type": "string"}), json!("42"), json!("42")),
            (json!({"type": "integer"}), json!("4.5"), json!("4.5")),
            (json!({"type": "integer"}), json!(7.0), json!(7)),
            (json!({"type": "number"}), json!("4.5"), json!(4.5)),
            (json!({"type": "boolean"}), json!("True"), json!(true)),
            (json!({"type": "boolean"}), json!("yes"), json!("yes")),
            (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), json!("3"), json!(3)),
            (
                json!({"properties": {"o": {"type": "object", "properties": {"n": {"type": "integer"}}}}}),
                json!({"o": "{\"n\":\"1\"}"}),
                json!({"o": {"n": 1}}),
            ),
            (
                json!({"properties": {"n": {"type": "integer"}}}),
                json!({"n": null, "other": null}),
                json!({"other": null}),
            ),
            (
                json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]}),
                json!({"n": null}),
                json!({"n": null}),
            ),
        ] {
            assert_eq!(coerce(args.clone(), &schema), want, "{schema} {args}");
        }
    }

    /// Every argument of every tool of ours × every wrong type: made to fit, or refused with its name; never passed on.
    #[test]
    fn a_wrong_type_is_never_passed_on() {
        let wrong = [json!("yes"), json!(3), json!(2.5), json!(true), json!([1]), json!({"a": 1}), json!([null])];
        let (mut refused, mut fitted) = (0, 0);
        for spec in Registry::builtin().snapshot().specs() {
            for (name, property) in spec.schema["properties"].as_object().unwrap() {
                for value in &wrong {
                    let mut args = coerce(json!({ name: value }), &spec.schema);
                    match check_types(&mut args, &spec.schema, spec.lenient) {
                        Err(why) => {
                            assert!(why.contains(&format!("`{name}`")), "{why}");
                            refused += 1;
                        }
                        Ok(()) if spec.lenient.contains(&name.as_str()) => {}
                        Ok(()) => {
                            let wanted = types(property);
                            let fits = wanted.is_empty() || wanted.iter().any(|wanted| is(&args[name], wanted));
                            assert!(fits, "{} {name} {value}: {args}", spec.name);
                            fitted += 1;
                        }
                    }
                }
            }
        }
        assert!(refused > 150 && fitted > 30, "{refused} {fitted}");
    }

    proptest::proptest! {
        /// Nothing that a model or a server may write breaks it, and what fits already stays.
        #[test]
        fn any_arguments_come_through(args in any_json(), schema in any_json()) {
            let once = coerce(args, &schema);
            proptest::prop_assert_eq!(coerce(once.clone(), &schema), once);
        }
    }

    fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let word = prop_oneof![
            Just("string"),
            Just("integer"),
            Just("array"),
            Just("object"),
            Just("null"),
            Just("boolean"),
            Just("[1"),
            Just("{\"type\":\"array\"}"),
            Just("42"),
            Just("4.0"),
            Just("true"),
            Just("null "),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            word.prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 5, |inner| {
            let key = prop_oneof![
                Just("type"),
                Just("properties"),
                Just("items"),
                Just("required"),
                Just("anyOf"),
                Just("nullable"),
                Just("a"),
                Just("b"),
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4).prop_map(|fields| {
                    Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
                }),
            ]
        })
    }
}

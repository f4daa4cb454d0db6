//! Schemas before and after.

use super::*;

fn object(inside: Value) -> Value {
    json!({"type": "object", "properties": {"x": inside}})
}

#[test]
fn parts_become_what_each_style_takes() {
    for (given, gemini, grammar) in [
        (
            json!({"type": ["string", "null"], "default": null}),
            json!({"type": "string", "nullable": true}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ),
        (
            json!({"type": ["string", "integer"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        (json!({"const": 3}), json!({"enum": ["3"], "type": "string"}), json!({"const": 3})),
        (
            json!({"enum": [1, 2], "type": "integer"}),
            json!({"enum": ["1", "2"], "type": "string"}),
            json!({"enum": [1, 2], "type": "integer"}),
        ),
        (
            json!({"type": "string", "format": "uri", "pattern": "^\\d+$"}),
            json!({"type": "string"}),
            json!({"type": "string"}),
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "array"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
            json!({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        ),
        (
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                             {"properties": {"b": {"type": "string"}}, "required": ["b", "gone"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]}),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string", "pattern": "x"}}),
            json!({"type": "object", "properties": {}}),
            json!({"type": "object", "additionalProperties": {"type": "string"}, "properties": {}}),
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 0}),
            json!({"type": "integer", "minimum": 0}),
            json!({"type": "integer", "exclusiveMinimum": 0}),
        ),
        (json!(true), json!({"type": "string"}), json!({})),
        (json!({}), json!({"type": "string"}), json!({})),
    ] {
        for (style, want) in [(Style::Gemini, gemini), (Style::Grammar, grammar)] {
            let got = fit(&object(given.clone()), style).into_owned();
            assert_eq!(got["properties"]["x"], want, "{style:?} {given}");
            assert!(
                matches!(fit(&got, style), Cow::Borrowed(_)) || got["properties"]["x"] == json!({}),
                "{style:?} {got}"
            );
        }
    }
}

#[test]
fn what_fits_is_not_touched() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "enum": ["x"], "description": "words"},
        "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "integer", "minimum": 1}}}}
    }, "required": ["a"]});
    for style in [Style::Standard, Style::Gemini, Style::Grammar] {
        assert!(matches!(fit(&schema, style), Cow::Borrowed(_)), "{style:?}");
    }
    let rich = object(json!({"type": ["string", "null"], "default": 1, "pattern": "x", "oneOf": [{"const": 1}]}));
    assert!(matches!(fit(&rich, Style::Standard), Cow::Borrowed(_)));
}

#[test]
fn references_are_inlined_and_end() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node", "description": "the root"}, "gone": {"$ref": "#/nowhere"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "string"}}}}
    });
    for style in [Style::Standard, Style::Gemini, Style::Grammar] {
        let got = fit(&schema, style).into_owned();
        let text = got.to_string();
        assert!(!text.contains("$ref") && !text.contains("$defs"), "{text}");
        assert_eq!(got["properties"]["tree"]["description"], "the root");
        assert_eq!(got["properties"]["tree"]["properties"]["next"]["properties"]["v"]["type"], "string");
        assert_eq!(text.matches("\"v\"").count(), REF_DEPTH);
    }
    // A bomb: each level refers twice to the next.
    let mut defs = Map::new();
    for n in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(
            format!("d{n}"),
            json!({"type": "object", "properties": {"a": next, "b": next, "c": next, "d": next, "e": next, "f": next}}),
        );
    }
    let bomb = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    assert!(fit(&bomb, Style::Gemini).to_string().len() < 1_000_000);
}

#[test]
fn the_top_is_an_object() {
    for (given, names, required) in [
        (json!({}), vec![], json!(null)),
        (json!({"type": "string"}), vec![], json!(null)),
        (json!(true), vec![], json!(null)),
        (
            json!({"oneOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}}}]}),
            vec!["a", "b"],
            json!(null),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            vec!["a"],
            json!(null),
        ),
        (json!({"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]}), vec!["a"], json!(["a"])),
    ] {
        for style in [Style::Standard, Style::Gemini, Style::Grammar] {
            let got = fit(&given, style).into_owned();
            assert_eq!(got["type"], "object", "{style:?} {given}");
            let found: Vec<&String> = got["properties"].as_object().unwrap().keys().collect();
            assert_eq!(found, names, "{style:?} {given}");
            assert_eq!(got["required"], required, "{style:?} {given}");
            for key in ALTERNATIVES {
                assert!(got.get(key).is_none(), "{style:?} {got}");
            }
        }
    }
}

proptest::proptest! {
    /// Whatever a server sends: it comes out fitting, and small.
    #[test]
    fn any_schema_fits_afterwards(given in any_schema()) {
        for style in [Style::Standard, Style::Gemini, Style::Grammar] {
            let once = fit(&given, style).into_owned();
            proptest::prop_assert_eq!(&once["type"], "object");
            let twice = fit(&once, style).into_owned();
            proptest::prop_assert_eq!(&once, &twice, "{:?}", style);
        }
    }
}

fn any_schema() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(7)),
        Just(json!({"type": "string", "format": "uri", "pattern": "("})),
        Just(json!({"type": ["integer", "null"], "exclusiveMinimum": 1})),
        Just(json!({"const": {"a": 1}})),
        Just(json!({"enum": [1, "x", null]})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/properties/a"})),
        Just(json!({"$ref": 5})),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let key = prop_oneof![
            Just("anyOf"),
            Just("oneOf"),
            Just("allOf"),
            Just("items"),
            Just("properties"),
            Just("additionalProperties"),
            Just("not"),
            Just("required"),
            Just("type"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"anyOf": all})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"allOf": all, "type": "object"})),
            prop::collection::btree_map("[a-c]", inner.clone(), 0..3)
                .prop_map(|all| json!({"type": "object", "properties": all, "required": ["a", "z"]})),
            inner.clone().prop_map(|one| json!({"type": "array", "items": one})),
            (key, inner).prop_map(|(key, one)| json!({key: one})),
        ]
    })
}

//! What small models are offered: few tools with short words and few arguments. `assets/tools/small.yaml`.

use crate::llm::ToolSchema;
use crate::tools::spec::ToolSpec;
use crate::yaml;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Tools that stand in a request of a small model at most.
pub const MOST: usize = 8;

/// A tool in short.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Short {
    description: String,
    /// Arguments that stay, in this order.
    keep: Vec<String>,
    required: Vec<String>,
}

static SHORT: LazyLock<BTreeMap<String, Short>> = LazyLock::new(|| read().unwrap_or_default());

fn read() -> Result<BTreeMap<String, Short>, String> {
    let text = include_str!("../../../assets/tools/small.yaml");
    let node = yaml::parse(text, "assets/tools/small.yaml").map_err(|error| error.to_string())?;
    serde_json::from_value(node.to_json()).map_err(|error| format!("assets/tools/small.yaml: {error}"))
}

/// Whether small models get this tool.
pub fn has(name: &str) -> bool {
    SHORT.contains_key(name)
}

/// The tool as small models see it; `None`: they do not.
pub fn schema(spec: &ToolSpec) -> Option<ToolSchema> {
    let short = SHORT.get(&*spec.name)?;
    let whole = spec.schema.get("properties").and_then(Value::as_object);
    let mut properties = Map::new();
    for name in &short.keep {
        let mut about = whole.and_then(|whole| whole.get(name)).cloned().unwrap_or_else(|| json!({"type": "string"}));
        if let Some(about) = about.as_object_mut() {
            about.retain(|key, _| matches!(key.as_str(), "type" | "enum" | "items"));
        }
        properties.insert(name.clone(), about);
    }
    let parameters = json!({"type": "object", "properties": properties, "required": short.required});
    Some(ToolSchema {
        name: spec.name.to_string(),
        description: short.description.clone(),
        parameters: Arc::new(parameters),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::registry::Registry;

    #[test]
    fn every_short_tool_is_one_of_ours_with_arguments_that_it_has() {
        let short = read().unwrap();
        assert!(!short.is_empty() && short.len() <= MOST);
        let registry = Registry::builtin().snapshot();
        for (name, short) in &short {
            let spec = registry.specs().find(|spec| spec.name == *name).unwrap_or_else(|| panic!("{name}"));
            let known = spec.schema.pointer("/properties").and_then(Value::as_object).unwrap();
            for argument in short.keep.iter().chain(&short.required) {
                assert!(known.contains_key(argument), "{name} has no {argument}");
            }
            assert!(short.required.iter().all(|argument| short.keep.contains(argument)), "{name}");
            let mut all = spec.schema.pointer("/required").and_then(Value::as_array).into_iter().flatten();
            assert!(all.all(|must| short.required.iter().any(|argument| must == argument)), "{name}");
        }
    }
}

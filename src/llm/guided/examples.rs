//! A short conversation that shows the form: small models follow what they see rather than what they are told.

use super::{push, written};
use crate::llm::ToolSchema;
use crate::llm::message::Message;
use crate::yaml;
use serde::Deserialize;

/// A turn of the example: what is asked, the calls with their results, and the answer.
#[derive(Clone, Debug, Deserialize)]
struct Example {
    asked: String,
    #[serde(default)]
    calls: Vec<Shown>,
    answer: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Shown {
    tool: String,
    /// JSON, as the grammar writes it.
    arguments: String,
    result: String,
}

fn read() -> Result<Vec<Example>, String> {
    let text = include_str!("../../../assets/prompts/guided-examples.yaml");
    let node = yaml::parse(text, "assets/prompts/guided-examples.yaml").map_err(|error| error.to_string())?;
    serde_json::from_value(node.to_json()).map_err(|error| error.to_string())
}

/// The examples of somebody who has these tools.
pub(super) fn messages(tools: &[ToolSchema]) -> Vec<Message> {
    let there = |shown: &Shown| tools.iter().any(|tool| tool.name == shown.tool);
    let mut out = Vec::new();
    for example in read().unwrap_or_default().iter().filter(|example| example.calls.iter().all(there)) {
        push(&mut out, user(&example.asked));
        for shown in &example.calls {
            out.push(assistant(written(&shown.tool, &shown.arguments)));
            push(&mut out, user(&format!("Result of {}:\n{}", shown.tool, shown.result.trim_end())));
        }
        out.push(assistant(example.answer.clone()));
    }
    out
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned(), images: Vec::new() }
}

fn assistant(text: String) -> Message {
    Message::Assistant { text, reasoning: String::new(), calls: Vec::new(), opaque: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_parse_and_their_arguments_are_json() {
        let examples = read().unwrap();
        assert!(examples.len() >= 3);
        for shown in examples.iter().flat_map(|example| &example.calls) {
            let args: serde_json::Value = serde_json::from_str(&shown.arguments).unwrap();
            assert!(args.is_object(), "{}", shown.arguments);
        }
        assert!(examples.iter().any(|example| example.calls.is_empty()), "one that needs no tool");
    }
}

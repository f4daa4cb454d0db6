//! Descriptions that fit the tools a session has: no sentence names one that is not there.

use super::toolset;
use serde_json::Value;
use std::sync::Arc;

/// `text` without the sentences and list entries that name a tool which is not `there`. `{{tools: a, b}}` becomes a list
/// of those that are; a sentence whose list is empty goes.
///
/// A word counts as a tool's name when it stands in backticks or has an underscore: `patch` is also a word.
pub fn fit(text: &str, there: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        for sentence in sentences(line) {
            let holds = names(sentence).all(&there);
            if holds && expand(sentence, &there, &mut out) {
                continue;
            }
            if sentence.ends_with('\n') && !out.is_empty() && !out.ends_with('\n') {
                out.truncate(out.trim_end().len());
                out.push('\n');
            }
        }
    }
    if out.len() < text.len() { out.trim_end().to_owned() } else { out }
}

/// `schema` with all its descriptions fitted; the same value when nothing changes.
pub fn fit_schema(schema: &Arc<Value>, there: impl Fn(&str) -> bool + Copy) -> Arc<Value> {
    if !stale(schema, there) {
        return Arc::clone(schema);
    }
    let mut changed = schema.as_ref().clone();
    change(&mut changed, there);
    Arc::new(changed)
}

fn stale(value: &Value, there: impl Fn(&str) -> bool + Copy) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| match value {
            Value::String(text) if key == "description" => fit(text, there) != *text,
            value => stale(value, there),
        }),
        Value::Array(values) => values.iter().any(|value| stale(value, there)),
        _ => false,
    }
}

fn change(value: &mut Value, there: impl Fn(&str) -> bool + Copy) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| match value {
            Value::String(text) if key == "description" => *text = fit(text, there),
            value => change(value, there),
        }),
        Value::Array(values) => values.iter_mut().for_each(|value| change(value, there)),
        _ => {}
    }
}

/// Cut after `. `, where a new thought begins.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(". ").map_or(rest.len(), |at| at + 2);
        let (sentence, tail) = rest.split_at(end);
        rest = tail;
        Some(sentence)
    })
}

/// Names of tools that this program could have, as the text has them; lists to be expanded are not looked at.
fn names(sentence: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let bytes = sentence.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(start) = sentence.get(at..)?.find(is_word).map(|start| at + start) {
            let end = sentence[start..].find(|c| !is_word(c)).map_or(sentence.len(), |end| start + end);
            at = end;
            let word = &sentence[start..end];
            let quoted = start > 0 && bytes.get(start - 1) == Some(&b'`') && bytes.get(end) == Some(&b'`');
            let listed = sentence[..start].rfind("{{tools:").is_some_and(|open| !sentence[open..start].contains("}}"));
            if (quoted || word.contains('_')) && !listed && toolset::is_tool(word) {
                return Some(word);
            }
        }
        None
    })
}

/// Writes the sentence; `false` when one of its lists is empty: then nothing is written.
fn expand(sentence: &str, there: &impl Fn(&str) -> bool, out: &mut String) -> bool {
    let before_it = out.len();
    let mut rest = sentence;
    while let Some((before, list)) = rest.split_once("{{tools:") {
        let Some((list, after)) = list.split_once("}}") else { break };
        let present: Vec<&str> = list.split(',').map(str::trim).filter(|name| there(name)).collect();
        if present.is_empty() {
            out.truncate(before_it);
            return false;
        }
        out.push_str(before);
        out.push_str(&present.join(", "));
        rest = after;
    }
    out.push_str(rest);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sentences_about_absent_tools_go() {
        let there = |name: &str| matches!(name, "read_file" | "patch");
        for (text, want) in [
            ("Write a file. To change a part use `patch`.", "Write a file. To change a part use `patch`."),
            ("Open a page. For plain text prefer web_search. Then click.", "Open a page. Then click."),
            ("One. Use `todo` first.", "One."),
            ("A todo for you, a memory, a terminal.", "A todo for you, a memory, a terminal."),
            ("- a: read_file\n- b: see skill_view\n- c\n", "- a: read_file\n- c"),
            ("First. See skill_view.\nSecond.", "First.\nSecond."),
            ("Call {{tools: read_file, web_search, patch}} from code.", "Call read_file, patch from code."),
            ("Do it. Prefer {{tools: web_search}} over curl.", "Do it."),
            ("some_word and {{tools: broken", "some_word and {{tools: broken"),
            ("", ""),
        ] {
            assert_eq!(fit(text, there), want, "{text}");
        }
    }

    #[test]
    fn schemas_are_fitted_inside() {
        let there = |name: &str| name == "read_file";
        let same = Arc::new(json!({"properties": {"a": {"description": "as read_file has it"}}}));
        assert!(Arc::ptr_eq(&fit_schema(&same, there), &same));
        let other = Arc::new(json!({"properties": {"a": {"description": "A path. See skill_view."}}}));
        assert_eq!(fit_schema(&other, there)["properties"]["a"]["description"], "A path.");
    }
}

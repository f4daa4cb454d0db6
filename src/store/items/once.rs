//! Output is stored once. What a person reads of a tool's result is mostly a field of what the model reads: then the name of
//! the field stands for it.

use crate::protocol::{Body, ToolBody};
use serde::Deserialize;
use std::borrow::Cow;

/// What a name of a field begins with in the place of the text. No output begins so: control characters do not reach it.
const MARK: &str = "\0=";
/// Shorter texts are not worth it.
const SHORT: usize = 200;

/// The fields of results that hold output.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default)]
    output: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
}

impl Fields<'_> {
    fn of<'a>(&'a self, name: &str) -> Option<&'a str> {
        match name {
            "output" => self.output.as_deref(),
            "content" => self.content.as_deref(),
            _ => None,
        }
    }
}

/// The body as it is stored, when that is another.
pub(in crate::store) fn folded(body: &Body) -> Option<Body> {
    let Body::Tool(tool) = body else { return None };
    if tool.view.output.len() < SHORT {
        return None;
    }
    let name = if tool.content == tool.view.output {
        ""
    } else {
        let fields: Fields<'_> = serde_json::from_str(&tool.content).ok()?;
        ["output", "content"].into_iter().find(|name| fields.of(name) == Some(tool.view.output.as_str()))?
    };
    let mut stored = ToolBody { content: tool.content.clone(), ..tool.clone() };
    stored.view.output = format!("{MARK}{name}");
    Some(Body::Tool(stored))
}

/// The body as it was.
pub(in crate::store) fn unfold(body: &mut Body) {
    let Body::Tool(tool) = body else { return };
    let Some(name) = tool.view.output.strip_prefix(MARK) else { return };
    let text = match name {
        "" => Some(tool.content.clone()),
        name => {
            serde_json::from_str::<Fields<'_>>(&tool.content).ok().and_then(|fields| fields.of(name).map(str::to_owned))
        }
    };
    tool.view.output = text.unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(content: String, output: &str) -> Body {
        let mut tool = ToolBody { content, ..ToolBody::default() };
        tool.view.output = output.to_owned();
        Body::Tool(tool)
    }

    #[test]
    fn what_is_folded_comes_back_as_it_was() {
        let long = "a line with \"quotes\" and \t tabs\n".repeat(40);
        for content in [
            serde_json::json!({"output": long, "exit_code": 0}).to_string(),
            serde_json::json!({"path": "a", "content": long}).to_string(),
            long.clone(),
        ] {
            let body = tool(content, &long);
            let mut stored = folded(&body).unwrap();
            let (before, after) = (serde_json::to_string(&body).unwrap(), serde_json::to_string(&stored).unwrap());
            assert!(after.len() + long.len() < before.len(), "{after}");
            unfold(&mut stored);
            assert_eq!(stored, body);
        }
    }

    #[test]
    fn what_differs_or_is_short_stays() {
        let long = "x".repeat(500);
        for body in [
            tool(serde_json::json!({"output": "other"}).to_string(), &long),
            tool("no json".into(), &long),
            tool(serde_json::json!({"output": "short"}).to_string(), "short"),
        ] {
            assert_eq!(folded(&body), None);
            let mut same = body.clone();
            unfold(&mut same);
            assert_eq!(same, body);
        }
    }
}

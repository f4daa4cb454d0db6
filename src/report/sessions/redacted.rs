//! What leaves the home as a file holds no secrets, whatever was stored: each text of a session with them masked.

use crate::policy::redact::{RedactKind, redact};
use crate::protocol::Item;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::borrow::Cow;

/// The item with its secrets masked. Pictures are data and stay as they are.
pub(super) fn item(item: Item) -> Item {
    Item { body: whole(item.body), ..item }
}

/// The same of anything that is data.
pub(super) fn whole<T: Serialize + DeserializeOwned>(data: T) -> T {
    let Ok(mut value) = serde_json::to_value(&data) else { return data };
    if !mask(&mut value) {
        return data;
    }
    // A text in place of a text: it is of the same kind still.
    serde_json::from_value(value).unwrap_or(data)
}

/// The text with its secrets masked.
pub(super) fn text(text: String) -> String {
    match redact(&text, RedactKind::Default) {
        Cow::Borrowed(_) => text,
        Cow::Owned(masked) => masked,
    }
}

/// Whether anything was masked.
fn mask(value: &mut Value) -> bool {
    match value {
        Value::String(text) => match redact(text, RedactKind::Default) {
            Cow::Borrowed(_) => false,
            Cow::Owned(masked) => {
                let is_other = masked != *text;
                *text = masked;
                is_other
            }
        },
        Value::Array(values) => values.iter_mut().fold(false, |any, value| mask(value) | any),
        Value::Object(fields) => {
            fields.iter_mut().filter(|(name, _)| *name != "images").fold(false, |any, (_, value)| mask(value) | any)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AssistantBody, Body, ItemId, ToolCall};

    #[test]
    fn prompts_answers_and_arguments_are_masked() {
        let key = "sk-proj-abcdefghijklmnopqrstuvwx";
        let call = ToolCall { args: format!("{{\"command\":\"curl -H 'x: {key}'\"}}"), ..ToolCall::default() };
        let body = AssistantBody { text: format!("use {key}"), calls: vec![call], ..AssistantBody::default() };
        let one = Item { id: ItemId(1), at: 0, turn: 1, body: Body::Assistant(body) };
        let masked = serde_json::to_string(&item(one.clone()).body).unwrap();
        assert!(!masked.contains(key) && masked.contains("curl -H"), "{masked}");
        let plain = Item { body: Body::Assistant(AssistantBody { text: "hello".into(), ..Default::default() }), ..one };
        assert_eq!(item(plain.clone()), plain);
    }
}

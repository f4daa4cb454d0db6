//! What a server answers to a call, as text for the model, pictures, and a short word for the tool line.

use super::messages;
use crate::protocol::Image;
use base64::Engine as _;
use serde_json::Value;

/// Characters that are read of one text: as many as a message may hold. What the model reads of it is bounded later, and the
/// file of the whole has all of it.
const TEXT: usize = super::link::MESSAGE;
/// Pictures of one result.
const PICTURES: usize = 8;
/// Kinds of pictures that models see.
const SEEN: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A read answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    pub images: Vec<Image>,
    /// Data that is neither text nor a picture: kind, and the bytes.
    pub files: Vec<(String, Vec<u8>)>,
    /// The tool says that it failed.
    pub failed: bool,
}

/// Reads the result of `tools/call`.
pub fn call(result: &Value) -> Answer {
    let mut answer =
        Answer { failed: result.get("isError").and_then(Value::as_bool).unwrap_or(false), ..Answer::default() };
    let blocks = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut parts: Vec<String> = Vec::new();
    for block in blocks {
        parts.extend(answer.block(block));
    }
    if let Some(structured) = result.get("structuredContent").filter(|value| !value.is_null()) {
        // Most servers say the same twice, for clients that read only text.
        let said = parts.iter().any(|part| serde_json::from_str::<Value>(part).is_ok_and(|value| value == *structured));
        if !said {
            parts.push(messages::text(&structured.to_string(), TEXT));
        }
    }
    if parts.is_empty()
        && blocks.is_empty()
        && result.get("content").is_none()
        && result.get("structuredContent").is_none()
    {
        parts.push(messages::text(&result.to_string(), TEXT));
    }
    answer.text = parts.join("\n\n");
    answer
}

/// Reads the result of `resources/read`.
pub fn resource(result: &Value) -> Answer {
    let mut answer = Answer::default();
    let contents = result.get("contents").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let parts: Vec<String> = contents.iter().filter_map(|content| answer.contents(content)).collect();
    answer.text = parts.join("\n\n");
    answer
}

/// Reads the result of `prompts/get`: its messages one after another.
pub fn prompt(result: &Value) -> Answer {
    let mut answer = Answer::default();
    let messages = result.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut parts = Vec::new();
    for message in messages {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
        let Some(content) = message.get("content") else { continue };
        let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
        for block in blocks {
            let Some(text) = answer.block(block) else { continue };
            parts.push(if role == "user" { text } else { format!("{}: {text}", messages::line(role, 20)) });
        }
    }
    answer.text = parts.join("\n\n");
    answer
}

impl Answer {
    /// One content block as text; `None` when it became a picture or a file.
    fn block(&mut self, block: &Value) -> Option<String> {
        let field = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match field("type") {
            "text" => Some(messages::text(field("text"), TEXT)),
            "image" => self.data(field("mimeType"), field("data")),
            "audio" => self.data(field("mimeType"), field("data")),
            "resource" => self.contents(block.get("resource")?),
            "resource_link" => {
                let name = messages::line(field("name"), 200);
                let about = messages::line(field("description"), 400);
                let uri = messages::line(field("uri"), 2_000);
                Some(format!("[resource {name}: {uri}{}{about}]", if about.is_empty() { "" } else { ": " }))
            }
            _ => Some(messages::text(&block.to_string(), TEXT)),
        }
    }

    fn contents(&mut self, contents: &Value) -> Option<String> {
        let field = |key: &str| contents.get(key).and_then(Value::as_str);
        let uri = messages::line(field("uri").unwrap_or_default(), 2_000);
        match (field("text"), field("blob")) {
            (Some(text), _) => Some(format!("[{uri}]\n{}", messages::text(text, TEXT))),
            (None, Some(blob)) => {
                let data = self.data(field("mimeType").unwrap_or("application/octet-stream"), blob);
                Some(format!("[{uri}]{}", data.map(|text| format!("\n{text}")).unwrap_or_default()))
            }
            (None, None) => Some(format!("[{uri}: empty]")),
        }
    }

    /// Base64 data: a picture, a file, or words that say what is wrong with it.
    fn data(&mut self, kind: &str, data: &str) -> Option<String> {
        let kind = messages::line(kind, 80);
        let data: String = data.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let engine = &base64::engine::general_purpose::STANDARD;
        let Ok(bytes) = engine.decode(data.as_bytes()) else {
            return Some(format!("[{kind}: unreadable data]"));
        };
        if SEEN.contains(&kind.as_str()) && self.images.len() < PICTURES {
            self.images.push(Image { media_type: kind.clone(), data });
            return Some(format!("[an image, {kind}, {}]", crate::text::format::bytes(bytes.len() as u64)));
        }
        self.files.push((kind, bytes));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_become_text_pictures_and_files() {
        let answer = call(&json!({"content": [
            {"type": "text", "text": "one\u{1b}[2J"},
            {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="},
            {"type": "audio", "mimeType": "audio/wav", "data": "aGVsbG8="},
            {"type": "image", "mimeType": "image/png", "data": "%%"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
            {"type": "resource_link", "uri": "file:///b", "name": "b"},
            {"type": "new thing", "x": 1},
        ]}));
        assert_eq!(answer.images, [Image { media_type: "image/png".into(), data: "aGVsbG8=".into() }]);
        assert_eq!(answer.files, [("audio/wav".to_owned(), b"hello".to_vec())]);
        let text = &answer.text;
        for part in [
            "one\n\n[an image, image/png",
            "unreadable data",
            "[file:///a]\ninside",
            "[resource b: file:///b]",
            "new thing",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn structured_content_is_said_once() {
        let twice = json!({"content": [{"type": "text", "text": "{\"a\": 1}"}], "structuredContent": {"a": 1}, "isError": true});
        let answer = call(&twice);
        assert_eq!((answer.text.as_str(), answer.failed), ("{\"a\": 1}", true));
        assert_eq!(call(&json!({"content": [], "structuredContent": {"a": 1}})).text, "{\"a\":1}");
        assert_eq!(call(&json!({"content": []})).text, "");
        assert_eq!(call(&json!({"odd": 1})).text, "{\"odd\":1}");
    }

    #[test]
    fn resources_and_prompts() {
        let answer = resource(
            &json!({"contents": [{"uri": "u", "text": "t"}, {"uri": "v", "mimeType": "x/y", "blob": "aGk="}]}),
        );
        assert_eq!((answer.text.as_str(), answer.files.len()), ("[u]\nt\n\n[v]", 1));
        let messages = json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "hi"}},
            {"role": "assistant", "content": [{"type": "text", "text": "yes"}]},
        ]});
        assert_eq!(prompt(&messages).text, "hi\n\nassistant: yes");
    }
}

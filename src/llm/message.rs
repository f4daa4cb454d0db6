//! The conversation as the wire dialects take it.

use crate::protocol::{Image, ToolCall};

/// A message as the wire dialects take it. Order: user and tool messages alternate with assistant ones.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    User { text: String, images: Vec<Image> },
    Assistant { text: String, reasoning: String, calls: Vec<ToolCall>, opaque: Vec<serde_json::Value> },
    Tool { call_id: String, name: String, content: String, failed: bool },
}

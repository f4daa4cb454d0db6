//! What a Chat Completions server sends, as far as it is read: every known spelling of every field.

use super::super::lenient::{Arguments, Content, Text, Word, or_default};
use crate::protocol::Usage;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub model: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub choices: Vec<Choice<'a>>,
    #[serde(default)]
    pub usage: Option<Counts>,
    /// Groq puts usage here while it streams.
    #[serde(default)]
    pub x_groq: Option<Groq>,
    #[serde(default)]
    pub error: Option<ErrorBody>,
    /// Errors of some servers are the whole body.
    #[serde(borrow, default)]
    pub detail: Option<Content<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Groq {
    pub usage: Option<Counts>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ErrorBody {
    Object {
        #[serde(default)]
        code: Option<Word>,
        #[serde(default, rename = "type")]
        kind: Option<Word>,
        #[serde(default)]
        message: Option<String>,
    },
    Text(String),
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    /// In a stream.
    #[serde(borrow, default)]
    pub delta: Option<Piece<'a>>,
    /// In a whole answer.
    #[serde(borrow, default)]
    pub message: Option<Piece<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Option<Text<'a>>,
    /// Moonshot puts usage here.
    #[serde(default)]
    pub usage: Option<Counts>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(borrow)]
    pub content: Content<'a>,
    #[serde(borrow)]
    pub reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub reasoning: Option<Content<'a>>,
    pub reasoning_details: Option<Vec<Value>>,
    #[serde(borrow)]
    pub refusal: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "or_default")]
    pub tool_calls: Vec<Fragment<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Fragment<'a> {
    #[serde(default)]
    pub index: Option<u64>,
    #[serde(borrow, default)]
    pub id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "or_default")]
    pub function: FragmentFunction<'a>,
    /// Google's signatures.
    #[serde(default)]
    pub extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct FragmentFunction<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    #[serde(borrow)]
    pub arguments: Arguments<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    #[serde(deserialize_with = "or_default")]
    pub prompt_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub completion_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub prompt_tokens_details: Details,
    #[serde(deserialize_with = "or_default")]
    pub completion_tokens_details: Details,
    /// DeepSeek.
    #[serde(deserialize_with = "or_default")]
    pub prompt_cache_hit_tokens: u64,
    /// Moonshot.
    #[serde(deserialize_with = "or_default")]
    pub cached_tokens: u64,
    /// OpenRouter, US dollars.
    pub cost: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Details {
    #[serde(deserialize_with = "or_default")]
    pub cached_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub cache_write_tokens: u64,
    #[serde(deserialize_with = "or_default")]
    pub reasoning_tokens: u64,
}

impl Counts {
    /// The neutral form.
    pub fn usage(&self) -> Usage {
        let details = &self.prompt_tokens_details;
        Usage {
            input: self.prompt_tokens,
            cached: details.cached_tokens.max(self.prompt_cache_hit_tokens).max(self.cached_tokens),
            cache_write: details.cache_write_tokens,
            output: self.completion_tokens,
            reasoning: self.completion_tokens_details.reasoning_tokens,
            cost: self.cost,
        }
    }
}

//! Items: what the agent writes, the store keeps and every watcher shows.

use super::SummaryBody;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Position of an item in its session, counted from 1 by the agent runner, the only writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ItemId(pub i64);

/// `YYYYMMDD_HHMMSS_<6 hex>` for sessions made here; imported sessions keep their own id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub String);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SessionId {
    /// A name of a file that stands for it: sessions that were taken in from elsewhere may have any id. Everything but letters,
    /// digits, `-` and `_` is written as `%` and two digits.
    pub fn file_name(&self) -> String {
        let mut name = String::with_capacity(self.0.len());
        for byte in self.0.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
                name.push(char::from(byte));
            } else {
                name.push_str(&format!("%{byte:02x}"));
            }
        }
        name
    }
}

impl From<&str> for SessionId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

/// One durable entry of a conversation. Items are appended, never rewritten.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub id: ItemId,
    /// Milliseconds since the Unix epoch, UTC.
    pub at: i64,
    /// The turn it belongs to, counted from 1.
    pub turn: u32,
    pub body: Body,
}

/// What an item holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Body {
    User {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// What changes between turns (cwd, git state, processes, plan), sent after the text and shown nowhere.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        context: String,
        #[serde(default)]
        origin: Origin,
        /// One line that stands on the screen for what the program wrote; empty otherwise.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        gist: String,
    },
    Assistant(AssistantBody),
    Tool(ToolBody),
    Summary(Box<SummaryBody>),
    /// For the person only; never sent to the model.
    Note {
        kind: NoteKind,
        text: String,
    },
}

/// Who a user message came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    #[default]
    Person,
    /// Given while a turn ran, delivered at a step boundary.
    Steer,
    /// Made by the program: a background process ended, a truncated answer is continued.
    Program,
}

/// What a note tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    Info,
    Warning,
    Error,
    /// The turn was stopped, or the program ended while it ran.
    Interrupted,
    /// A hook ran: event, command, what came of it, how long it took.
    Hook,
    /// A turn ended: how, after how many steps, how long it took.
    TurnEnd,
}

/// One answer of the model: a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssistantBody {
    pub text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Milliseconds from the first piece of the reasoning to what followed it; `None` when nobody measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub stop: StopReason,
    /// Provider-private blocks (signed or encrypted reasoning) that must be echoed to the same dialect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<serde_json::Value>,
}

/// The result of one tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolBody {
    pub call_id: String,
    pub name: String,
    /// What the model reads: bounded and redacted.
    pub content: String,
    pub outcome: Outcome,
    /// Pictures that belong to the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    #[serde(default)]
    pub view: ToolView,
    pub duration_ms: u64,
    /// Set when the result may have to share the room of its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large: Option<Box<Large>>,
    /// Calls that a script made while it ran, in their order: for the person and for search, never sent to the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<InnerCall>,
}

/// A call that a script made, kept with the call of the script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "sandbox_tool_call")]
pub struct InnerCall {
    pub id: String,
    pub tool: String,
    /// JSON, its secrets masked. Stored as what it says, where that can be read.
    #[serde(with = "as_json")]
    pub args: String,
    pub outcome: Outcome,
    /// Stored in seconds.
    #[serde(rename = "duration", with = "as_seconds")]
    pub duration_ms: u64,
    /// What the person sees of it. Its output is the start of what the script got.
    #[serde(default)]
    pub view: ToolView,
}

/// JSON in a text, as the value that it is.
mod as_json {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::String(text) => text,
            value => value.to_string(),
        })
    }
}

/// Milliseconds, as seconds.
mod as_seconds {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(millis: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(*millis as f64 / 1_000.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        Ok((f64::deserialize(from)? * 1_000.0).round() as u64)
    }
}

/// Stands between the id of a script's call and the number of a call that the script made.
const INNER: char = '.';

impl InnerCall {
    /// The id of the call with this number in that of a script.
    pub fn id_in(script: &str, number: usize) -> String {
        format!("{script}{INNER}{number}")
    }

    /// The id of the script's call that a call with this id may have been made in.
    pub fn script_of(id: &str) -> Option<&str> {
        let (script, number) = id.rsplit_once(INNER)?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(script)
    }
}

/// A result that is larger than its even share of what the results of its step may take together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Large {
    /// The file that has all of it, or why there is none, in words for the model.
    pub whole: String,
    /// Bytes that the results of the step may take together.
    pub room: usize,
}

/// What the person sees of a finished tool call, beside its content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolView {
    /// Short target for the line: a command, a path, a pattern.
    #[serde(default)]
    pub target: String,
    /// Short result for the line: `exit 1`, `220 lines`, `+14 −6`.
    #[serde(default)]
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Unified diffs of the files that the call changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<FileDiff>,
    /// Files that a command changed: only counted, without their diffs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<FileDiff>,
    /// Sessions that worked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<super::ChildRow>,
    /// Output as a person reads it when the content is JSON for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// How the call was approved or refused, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approval: String,
    /// The whole line that ran, when the person wrote another than the model's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub edited: String,
}

/// How the calls of a tool stand in the transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallRow {
    /// Each has a row.
    #[default]
    Own,
    /// Like calls that follow each other share a row, which counts their targets: `Read 6 files`.
    Files,
    /// They share a row, which counts them: `Searched 3 times`.
    Times,
    /// Each has a row that never opens: what it shows has a pane of its own.
    Closed,
}

/// One changed file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileDiff {
    pub path: String,
    pub added: u32,
    pub removed: u32,
    /// Unified diff with three lines of context; empty for a new or binary file that is too large to show.
    pub unified: String,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    #[default]
    Ok,
    /// Ran and failed, or could not run.
    Failed,
    /// The person, a hook or a rule said no.
    Denied,
    /// The person did not answer in the time that the configuration gives.
    TimedOut,
    /// It needs an answer, and nobody can be asked here.
    NoOne,
    /// Never run in any mode.
    Refused,
    /// Stopped by the person, or the program ended.
    Interrupted,
}

impl Outcome {
    /// The word of the JSON envelope and of the transcript.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Denied => "denied",
            Outcome::TimedOut => "timed_out",
            Outcome::NoOne => "no_one",
            Outcome::Refused => "refused",
            Outcome::Interrupted => "interrupted",
        }
    }

    /// The gate did not let it run.
    pub fn is_blocked(self) -> bool {
        matches!(self, Outcome::Denied | Outcome::TimedOut | Outcome::NoOne | Outcome::Refused)
    }
}

/// What the id of a call begins with that runs a person's `!command`.
pub const PERSONS: &str = "person_";
/// How the ids of calls begin that the program made because the prompt names a file.
pub const NAMED: &str = "named_";

/// A call the model asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// The arguments as JSON text, exactly as they arrived.
    pub args: String,
    /// Recovered from text or from a damaged name; shown with a mark.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
    /// The arguments of the `tool_call` that it came through, exactly as they arrived; empty for most calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub via: String,
}

/// An image in a user message, or in a tool's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// Base64, standard alphabet, padded.
    pub data: String,
}

impl Image {
    /// Bytes of a picture that every provider takes.
    pub const MAX_BYTES: u64 = 3_700_000;

    /// The picture that these bytes are, if it is of a kind that models take.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let media_type = Self::media_type_of(bytes)?.to_owned();
        Some(Self { media_type, data: STANDARD.encode(bytes) })
    }

    /// By the first bytes, since names lie.
    pub fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
            [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
            _ => None,
        }
    }
}

/// Tokens of one model call, as the provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Everything in the prompt, cached tokens included.
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    /// Everything generated, reasoning included.
    pub output: u64,
    pub reasoning: u64,
    /// US dollars; `None` when the model has no known price.
    pub cost: Option<f64>,
}

impl Usage {
    /// Both together. A sum without a known price stays without one.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        Self {
            input: self.input + more.input,
            cached: self.cached + more.cached,
            cache_write: self.cache_write + more.cache_write,
            output: self.output + more.output,
            reasoning: self.reasoning + more.reasoning,
            cost: self.cost.zip(more.cost).map(|(a, b)| a + b),
        }
    }

    /// What came after `before`. A sum without a known price stays without one.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
            cost: self.cost.map(|cost| cost - before.cost.unwrap_or_default()),
        }
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    #[default]
    EndTurn,
    ToolCalls,
    /// The output limit was reached.
    Length,
    ContentFilter,
    /// The person stopped it.
    Cancelled,
    /// Any other word of the provider.
    Other(String),
}

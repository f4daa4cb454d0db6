//! The language of scripts for the scripted model: steps that answer in order, or scenes that answer what a person says.

use super::ErrorKind;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

/// A script. `steps` are used up in order; `scenes` are chosen by the last prompt and can be played again.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Name of the model; `scripted` when empty.
    pub model: String,
    /// Tokens of the window.
    pub context: Option<u64>,
    /// US dollars per million tokens: input, cached input, output. Empty: nobody knows; not set: free.
    pub price: Option<Vec<f64>>,
    /// Milliseconds between deltas, where a step does not say.
    pub delay_ms: u64,
    /// Characters of a delta, where a step does not say.
    pub chunk: Option<usize>,
    pub steps: Vec<Step>,
    pub scenes: Vec<Scene>,
    /// Answers when nothing else does.
    pub fallback: Option<Step>,
}

/// What answers one prompt: one step a model call, until the next prompt.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scene {
    /// Matched against the prompt; empty matches all.
    pub when: Pattern,
    pub steps: Vec<Step>,
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// Only for a last user message that this matches; others wait for their turn.
    pub when: Option<Pattern>,
    /// The last user message must match, or the call fails with the reason.
    pub expect: Option<Pattern>,
    pub reasoning: String,
    pub text: String,
    pub calls: Vec<Call>,
    /// `end_turn`, `tool_calls`, `length`, `content_filter`, or any other word.
    pub stop: Option<String>,
    pub usage: Option<Tokens>,
    pub delay_ms: Option<u64>,
    pub chunk: Option<usize>,
    /// Fails, after what text there is.
    pub error: Option<Failure>,
    /// Sends nothing for so many milliseconds after its text, then fails as stalled.
    pub stall: Option<u64>,
    /// Breaks off after its text and calls, as if the connection was lost.
    pub cut: bool,
    /// Chooses by the last tool result: the first that fits answers instead of this step.
    pub any: Vec<Choice>,
}

/// A step for one outcome of the call before it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Choice {
    /// Whether the last tool result failed or was refused.
    pub failed: Option<bool>,
    /// The last tool result must match.
    pub seen: Option<Pattern>,
    pub step: Step,
}

/// A tool call. Numbers and lists in `args` stay what they are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    pub name: String,
    pub args: Value,
    /// Arguments as text instead, for what no JSON can say.
    pub raw: Option<String>,
}

/// Tokens that the step reports.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// How a step fails.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failure {
    /// `rate_limit`, `overloaded` …; else by `status`.
    pub kind: Option<String>,
    pub status: Option<u16>,
    pub message: String,
    /// Seconds.
    pub retry_after: Option<f64>,
}

impl Failure {
    /// The class of the failure.
    pub(super) fn kind(&self) -> ErrorKind {
        const WORDS: [(&str, ErrorKind); 12] = [
            ("auth", ErrorKind::Auth),
            ("quota", ErrorKind::Quota),
            ("rate_limit", ErrorKind::RateLimit),
            ("context_overflow", ErrorKind::ContextOverflow),
            ("overloaded", ErrorKind::Overloaded),
            ("network", ErrorKind::Network),
            ("stalled", ErrorKind::Stalled),
            ("malformed", ErrorKind::Malformed),
            ("content_filter", ErrorKind::ContentFilter),
            ("model_not_found", ErrorKind::ModelNotFound),
            ("bad_request", ErrorKind::BadRequest),
            ("cancelled", ErrorKind::Cancelled),
        ];
        let named = self.kind.as_deref().and_then(|word| WORDS.iter().find(|(name, _)| *name == word));
        named.map_or_else(|| super::errors::classify(self.status, &self.message), |(_, kind)| *kind)
    }
}

/// A regular expression, checked when the script is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(Option<Regex>);

impl TryFrom<String> for Pattern {
    type Error = regex::Error;
    fn try_from(text: String) -> Result<Self, regex::Error> {
        if text.is_empty() { Ok(Self(None)) } else { Regex::new(&text).map(|regex| Self(Some(regex))) }
    }
}

impl Pattern {
    /// Whether it is found in a text. An empty pattern is found everywhere.
    pub fn matches(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|regex| regex.is_match(text))
    }

    /// The expression as written.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("", Regex::as_str)
    }
}

/// A script that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read script {name}: {why}; check the path")]
    Unreadable { name: String, why: String },
    #[error("script {name} is not a script: {why}")]
    Broken { name: String, why: String },
}

impl Script {
    /// Reads a script; `name` is for messages.
    pub fn parse(name: &str, yaml: &str) -> Result<Self, ScriptError> {
        serde_saphyr::from_str(yaml)
            .map_err(|error| ScriptError::Broken { name: name.to_owned(), why: error.to_string().trim().to_owned() })
    }

    /// Reads a script from a file.
    pub fn load(path: &std::path::Path) -> Result<Self, ScriptError> {
        let name = path.display().to_string();
        let yaml = std::fs::read_to_string(path)
            .map_err(|error| ScriptError::Unreadable { name: name.clone(), why: error.to_string() })?;
        Self::parse(&name, &yaml)
    }

    /// The script of the offline demo.
    pub fn demo() -> Result<Self, ScriptError> {
        Self::parse("demo", include_str!("../../assets/demo/demo.yaml"))
    }
}

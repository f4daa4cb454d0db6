//! Providers as data: where they are, which keys open them, which dialect they speak and how they differ from it.

use super::endpoint::Keys;
use super::schema::Style;
use crate::yaml;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A wire dialect, named as `api_mode` in the config.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    #[default]
    ChatCompletions,
    CodexResponses,
    AnthropicMessages,
    /// No wire at all: a script in this program plays the model.
    Scripted,
}

impl Dialect {
    /// The word of `api_mode`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::CodexResponses => "codex_responses",
            Self::AnthropicMessages => "anthropic_messages",
            Self::Scripted => "scripted",
        }
    }

    /// Reads a word of `api_mode`; also the short names that people write.
    pub fn parse(word: &str) -> Option<Self> {
        match word.trim() {
            "chat_completions" | "chat" | "openai" => Some(Self::ChatCompletions),
            "codex_responses" | "responses" => Some(Self::CodexResponses),
            "anthropic_messages" | "anthropic" | "messages" => Some(Self::AnthropicMessages),
            "scripted" => Some(Self::Scripted),
            _ => None,
        }
    }
}

/// How the key travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// `Authorization: Bearer KEY`.
    #[default]
    Bearer,
    /// `x-api-key: KEY`.
    XApiKey,
    /// `api-key: KEY`.
    ApiKey,
    None,
}

/// How a provider is told how hard to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortStyle {
    /// Not at all.
    #[default]
    None,
    /// `reasoning_effort`, with the levels of OpenAI's model versions.
    Openai,
    /// `reasoning: {effort}`.
    Openrouter,
    /// `thinking: {type}` and `reasoning_effort: high|max`.
    Deepseek,
    /// `thinking: {type: disabled}` turns it off; on is the default.
    Switch,
    /// `enable_thinking: bool`.
    EnableThinking,
    /// `reasoning_effort: low|medium|high`.
    Plain,
    /// Anthropic's thinking budgets or adaptive effort, by model version.
    Anthropic,
}

/// Where a provider differs from its dialect.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    pub effort: EffortStyle,
    /// Parts of model ids that `effort` is limited to; empty: all that reason.
    pub effort_models: Vec<String>,
    /// The output limit is called `max_completion_tokens`.
    pub max_completion_tokens: bool,
    /// The system message of gpt-5 and o-series models has the role `developer`.
    pub developer_role: bool,
    /// `stream_options: {include_usage}` is understood.
    pub stream_options: bool,
    /// `prompt_cache_key` is understood.
    pub cache_key: bool,
    /// `usage: {include: true}` brings the cost.
    pub usage_include: bool,
    /// Parts of model ids whose messages carry `cache_control` marks.
    pub cache_control: Vec<String>,
    /// `reasoning_content` must come back with the calls that it led to.
    pub echo_reasoning: bool,
    /// `reasoning_details` are sent back.
    pub echo_details: bool,
    /// Call ids are nine letters or digits.
    pub short_ids: bool,
    /// Calls carry a signature that must come back.
    pub thought_signatures: bool,
    /// Models behind it may write calls as text.
    pub text_calls: bool,
    /// How much of JSON Schema it takes.
    pub schemas: Style,
    /// Parts of model ids that take Gemini's subset only, whoever serves them.
    pub gemini_models: Vec<String>,
}

impl Quirks {
    /// How much of JSON Schema a model takes here.
    pub fn schemas(&self, model: &str) -> Style {
        if self.gemini_models.iter().any(|part| model.contains(part.as_str())) { Style::Gemini } else { self.schemas }
    }
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            effort: EffortStyle::None,
            effort_models: Vec::new(),
            max_completion_tokens: false,
            developer_role: false,
            stream_options: true,
            cache_key: false,
            usage_include: false,
            cache_control: Vec::new(),
            echo_reasoning: false,
            echo_details: false,
            short_ids: false,
            thought_signatures: false,
            text_calls: true,
            schemas: Style::Standard,
            gemini_models: vec!["gemini".to_owned()],
        }
    }
}

/// One provider of `assets/providers.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provider {
    pub id: String,
    pub aliases: Vec<String>,
    /// For people.
    pub name: String,
    /// Empty: the person must give one.
    pub base_url: String,
    /// Environment variable that moves `base_url`.
    pub base_env: String,
    /// Environment variables that may hold the key, best first.
    pub keys: Vec<String>,
    /// Where a person gets a key.
    pub key_url: String,
    pub dialect: Dialect,
    pub auth: Auth,
    pub quirks: Quirks,
    /// Runs on this machine or network; needs no key.
    pub local: bool,
    /// This program starts its server itself: before that it has no address.
    pub served: bool,
    /// Path of the model list under the base, or its whole address; empty: the dialect's usual one.
    pub models_path: String,
    pub headers: BTreeMap<String, String>,
    /// Used when the config names none.
    pub default_model: String,
    /// Starts of model ids that it serves itself.
    pub families: Vec<String>,
}

impl Provider {
    /// Whether a name means this provider.
    pub fn is(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name) || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }
}

static TABLE: LazyLock<Vec<Provider>> = LazyLock::new(|| table().unwrap_or_default());

/// The asset, by way of a plain value.
fn table() -> Result<Vec<Provider>, String> {
    let node = yaml::parse(include_str!("../../assets/providers.yaml"), "assets/providers.yaml");
    let value = node.map_err(|error| error.to_string())?.to_json();
    serde_json::from_value(value).map_err(|error| format!("assets/providers.yaml: {error}"))
}

/// All known providers, in the order in which keys are looked for.
pub fn all() -> &'static [Provider] {
    &TABLE
}

/// The provider with this id or alias.
pub fn find(name: &str) -> Option<&'static Provider> {
    TABLE.iter().find(|provider| provider.is(name.trim()))
}

/// Providers that have a key, with the variable that holds it; `None`: it is kept among the accounts.
pub fn with_keys(env: &dyn Keys) -> Vec<(&'static Provider, Option<&'static str>)> {
    let found = |provider: &'static Provider| {
        let is_set = |name: &&String| env.variable(name).is_some_and(|key| !key.trim().is_empty());
        match provider.keys.iter().find(is_set) {
            Some(name) => Some((provider, Some(name.as_str()))),
            None => env.account(&provider.id).then_some((provider, None)),
        }
    };
    TABLE.iter().filter(|provider| !provider.local).filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_table_parses_and_names_are_unique() {
        let table = table().unwrap();
        let mut names = HashSet::new();
        for provider in &table {
            assert!(!provider.name.is_empty(), "{}", provider.id);
            for name in std::iter::once(&provider.id).chain(&provider.aliases) {
                assert!(names.insert(name.to_lowercase()), "{name} twice");
            }
            if !provider.base_url.is_empty() {
                url::Url::parse(&provider.base_url).unwrap();
            }
        }
        assert_eq!(all(), table);
    }

    #[test]
    fn everybody_that_was_promised_is_there() {
        let promised = "openrouter nous openai anthropic google deepseek xai mistral groq together moonshot kimi zai glm \
                        minimax qwen dashscope azure ollama lmstudio llamacpp vllm huggingface fireworks custom scripted";
        for name in promised.split_whitespace() {
            assert!(find(name).is_some(), "{name}");
        }
        assert!(find("nobody").is_none());
        assert_eq!(find("Google").map(|provider| provider.id.as_str()), Some("gemini"));
    }

    #[test]
    fn keys_are_found_in_table_order() {
        let env = |name: &str| matches!(name, "GEMINI_API_KEY" | "ANTHROPIC_TOKEN").then(|| "k".to_owned());
        let found: Vec<_> = with_keys(&env).into_iter().map(|(provider, key)| (provider.id.as_str(), key)).collect();
        assert_eq!(found, [("anthropic", Some("ANTHROPIC_TOKEN")), ("gemini", Some("GEMINI_API_KEY"))]);
    }
}

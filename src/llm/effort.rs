//! How hard a model should think, in each provider's words. Models that are not known to reason are told nothing.

use super::endpoint::Endpoint;
use super::providers::EffortStyle;
use super::{Effort, ModelInfo};

/// What a request says about reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Nothing,
    /// `reasoning_effort: LEVEL`.
    Level(&'static str),
    /// `reasoning: {effort: LEVEL}`.
    Object(&'static str),
    /// `thinking: {type: enabled|disabled}`, with a level where the provider knows one.
    Thinking {
        on: bool,
        level: Option<&'static str>,
    },
    /// `enable_thinking: BOOL`.
    Enable(bool),
    /// Anthropic: tokens to think with.
    Budget(u32),
    /// Anthropic: the model decides, guided by a level. `summarized`: its thoughts must be asked for.
    Adaptive {
        level: &'static str,
        summarized: bool,
    },
}

/// What to say to this model at this endpoint.
pub(super) fn say(endpoint: &Endpoint, info: &ModelInfo, effort: Effort) -> Said {
    let quirks = &endpoint.quirks;
    let model = bare(&endpoint.model);
    let applies = match info.reasoning {
        Some(reasons) => reasons,
        // The default says nothing about what the person wants.
        None => effort != Effort::default(),
    };
    let limited =
        !quirks.effort_models.is_empty() && !quirks.effort_models.iter().any(|part| model.contains(part.as_str()));
    if !applies || limited {
        return Said::Nothing;
    }
    match quirks.effort {
        EffortStyle::None => Said::Nothing,
        EffortStyle::Openai => Said::Level(openai_level(&model, effort)),
        EffortStyle::Openrouter => Said::Object(effort.as_str()),
        EffortStyle::Deepseek => match effort {
            Effort::None => Said::Thinking { on: false, level: None },
            Effort::XHigh => Said::Thinking { on: true, level: Some("max") },
            Effort::High => Said::Thinking { on: true, level: Some("high") },
            Effort::Minimal | Effort::Low | Effort::Medium => Said::Thinking { on: true, level: None },
        },
        EffortStyle::Switch if effort == Effort::None => Said::Thinking { on: false, level: None },
        EffortStyle::Switch => Said::Nothing,
        EffortStyle::EnableThinking => Said::Enable(effort != Effort::None),
        EffortStyle::Plain => Said::Level(match effort {
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High | Effort::XHigh => "high",
        }),
        EffortStyle::Anthropic => anthropic(&model, effort),
    }
}

/// The level for the Responses dialect, whoever serves it.
pub(super) fn responses_level(endpoint: &Endpoint, info: &ModelInfo, effort: Effort) -> Option<&'static str> {
    let applies = info.reasoning.unwrap_or(effort != Effort::default());
    applies.then(|| openai_level(&bare(&endpoint.model), effort))
}

/// The model's id without the maker before it, in small letters.
pub(super) fn bare(model: &str) -> String {
    model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase()
}

/// Whether OpenAI wants the system message of this model from a `developer`.
pub(super) fn takes_developer_role(model: &str) -> bool {
    let model = bare(model);
    ["gpt-5", "o1", "o3", "o4", "codex"].iter().any(|start| model.starts_with(start))
}

/// `none` came with 5.1 and `minimal` went; `xhigh` came with 5.1-codex-max and 5.2. The o-series knows three levels.
fn openai_level(model: &str, effort: Effort) -> &'static str {
    let version = model.strip_prefix("gpt-").and_then(leading_version);
    let since = |minor: u32| version.is_some_and(|version| version >= (5, minor));
    match effort {
        Effort::None if since(1) => "none",
        Effort::None | Effort::Minimal if version == Some((5, 0)) => "minimal",
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::XHigh if since(2) || model.contains("codex-max") => "xhigh",
        Effort::High | Effort::XHigh => "high",
    }
}

/// `5.4-mini` is (5, 4), `5-mini` is (5, 0).
fn leading_version(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text.get(..end).and_then(|digits| digits.parse::<u32>().ok()).map(|number| (number, end))
    };
    let (major, end) = number(text)?;
    let minor = text.get(end..).and_then(|rest| rest.strip_prefix('.')).and_then(number).map_or(0, |(minor, _)| minor);
    Some((major, minor))
}

/// Budgets until 4.5, adaptive thinking from 4.6 on; from 4.7 on thoughts come only when asked for, and from 5 on some
/// models refuse to be told not to think, so they are only told to think little.
fn anthropic(model: &str, effort: Effort) -> Said {
    let Some(version) = claude_version(model) else { return Said::Nothing };
    if version >= (4, 6) {
        let level = match effort {
            Effort::None if version < (5, 0) => return Said::Nothing,
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "max",
        };
        return Said::Adaptive { level, summarized: version >= (4, 7) };
    }
    if version < (3, 7) {
        return Said::Nothing;
    }
    match effort {
        Effort::None => Said::Nothing,
        // The least that the interface takes.
        Effort::Minimal => Said::Budget(1024),
        Effort::Low => Said::Budget(4096),
        Effort::Medium => Said::Budget(8192),
        Effort::High => Said::Budget(16_384),
        Effort::XHigh => Said::Budget(32_768),
    }
}

/// `claude-opus-4-6`, `claude-3-7-sonnet-20250219`, `claude-sonnet-4.5`, `claude-fable-5-1`.
fn claude_version(model: &str) -> Option<(u32, u32)> {
    let rest = model.get(model.find("claude-")? + "claude-".len()..)?;
    // Dates have eight digits, versions one or two.
    let numbers: Vec<u32> =
        rest.split(['-', '.', '@', ':']).filter(|part| part.len() <= 2).filter_map(|part| part.parse().ok()).collect();
    Some((*numbers.first()?, numbers.get(1).copied().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn said(provider: &str, model: &str, reasoning: Option<bool>, effort: Effort) -> Said {
        let mut config = Config::default();
        config.model.provider = provider.into();
        config.model.default = model.into();
        config.model.api_key = "k".into();
        let endpoint = crate::llm::endpoint::resolve(&config, &|_: &str| None, None).unwrap();
        say(&endpoint, &ModelInfo { reasoning, ..ModelInfo::default() }, effort)
    }

    #[test]
    fn each_provider_hears_its_own_words() {
        use Effort::{High, Low, Medium, Minimal, None as Off, XHigh};
        let (yes, no) = (Some(true), Some(false));
        let table = [
            ("openai", "gpt-5.5", yes, Off, Said::Level("none")),
            ("openai", "gpt-5", yes, Off, Said::Level("minimal")),
            ("openai", "gpt-5-mini", yes, Minimal, Said::Level("minimal")),
            ("openai", "gpt-5.4", yes, Minimal, Said::Level("low")),
            ("openai", "gpt-5.1", yes, XHigh, Said::Level("high")),
            ("openai", "gpt-5.2", yes, XHigh, Said::Level("xhigh")),
            ("openai", "gpt-5.1-codex-max", yes, XHigh, Said::Level("xhigh")),
            ("openai", "o3", yes, Off, Said::Level("low")),
            ("openai", "gpt-4.1", no, High, Said::Nothing),
            ("openrouter", "x/y", yes, Medium, Said::Object("medium")),
            ("openrouter", "x/y", None, Medium, Said::Nothing),
            ("openrouter", "x/y", None, High, Said::Object("high")),
            ("anthropic", "claude-opus-4-5-20251101", yes, High, Said::Budget(16_384)),
            ("anthropic", "claude-3-7-sonnet-20250219", yes, Low, Said::Budget(4096)),
            ("anthropic", "claude-3-5-haiku-20241022", None, High, Said::Nothing),
            ("anthropic", "claude-opus-4-6", yes, XHigh, Said::Adaptive { level: "max", summarized: false }),
            ("anthropic", "claude-opus-4-6", yes, Off, Said::Nothing),
            ("anthropic", "claude-opus-5-5", yes, Off, Said::Adaptive { level: "low", summarized: true }),
            ("deepseek", "deepseek-v4-pro", yes, XHigh, Said::Thinking { on: true, level: Some("max") }),
            ("zai", "glm-5", yes, Off, Said::Thinking { on: false, level: None }),
            ("zai", "glm-5", yes, High, Said::Nothing),
            ("alibaba", "qwen3-max", yes, Medium, Said::Enable(true)),
            ("groq", "openai/gpt-oss-120b", yes, XHigh, Said::Level("high")),
            ("groq", "llama-3.3-70b", yes, High, Said::Nothing),
            ("xai", "grok-4.3", yes, High, Said::Nothing),
        ];
        for (provider, model, reasoning, effort, expected) in table {
            assert_eq!(said(provider, model, reasoning, effort), expected, "{provider} {model} {effort:?}");
        }
    }
}

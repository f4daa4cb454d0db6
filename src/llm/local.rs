//! Model servers on this machine: which kind answers where, what they have loaded, and how large the window really is.

use super::endpoint::Endpoint;
use super::http::Http;
use super::providers;
use super::{ModelInfo, Price};
use serde_json::{Value, json};
use std::time::Duration;

/// Looking whether somebody is there must not be felt.
const DETECT: Duration = Duration::from_millis(300);

/// A server that is there may take longer to tell about a model.
const ASK: Duration = Duration::from_secs(3);

/// Which program serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
    /// Speaks the dialect; nothing more is known.
    Other,
}

impl LocalKind {
    /// The provider's id in the table.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LmStudio => "lmstudio",
            Self::LlamaCpp => "llamacpp",
            Self::Vllm => "vllm",
            Self::Other => "custom",
        }
    }

    /// What people call it; empty where it only speaks the dialect.
    pub fn title(self) -> &'static str {
        match self {
            Self::Other => "",
            kind => providers::find(kind.provider()).map_or("", |provider| &provider.name),
        }
    }
}

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    pub kind: LocalKind,
    /// As given to [`probe`].
    pub base_url: String,
    /// What it offers; loaded ones first.
    pub models: Vec<String>,
    /// Tokens of the window of the first model, where the server tells.
    pub window: Option<u64>,
}

/// Why a server of models can't be used as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerRefused {
    /// It wants a key, or another one; its base address.
    Key(String),
    /// It answered, but has no list of models; its base address.
    NoList(String),
    /// What is wrong and what to do.
    Other(String),
}

/// Ports on which servers of models are found beside the usual ones of the table: llama.cpp beside something else on 8080,
/// Jan, text-generation-webui, KoboldCpp, SGLang.
const MORE_PORTS: [u16; 5] = [8081, 1337, 5000, 5001, 30000];

/// Where local servers may be: as `env` says (`OLLAMA_BASE_URL` …), else on their usual ports.
pub fn usual(env: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let usual = providers::all().iter().filter(|provider| provider.local && !provider.base_url.is_empty());
    let named = |provider: &providers::Provider| env(&provider.base_env).filter(|base| !base.trim().is_empty());
    let usual = usual.map(|provider| named(provider).unwrap_or_else(|| provider.base_url.clone()));
    usual.chain(MORE_PORTS.iter().map(|port| format!("http://127.0.0.1:{port}/v1"))).collect()
}

/// Asks all of these addresses at once: for the first-run card.
pub async fn scan(http: &Http, addresses: &[String]) -> Vec<LocalServer> {
    let look = addresses.iter().map(|base| probe(http, base));
    futures::future::join_all(look).await.into_iter().flatten().collect()
}

/// The base address that a person means: `8080`, `localhost:8080`, `models.lan`, `https://models.example.com/v1`. Without
/// a scheme it is `http://` on this machine and its network and `https://` elsewhere, without a path `/v1`.
///
/// # Errors
/// What is wrong with the text, for the person.
pub fn address(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.ends_with("://") {
        return Err(format!("{text:?} is not an address: it has no host"));
    }
    let text = text.trim_end_matches('/');
    let with_host = if text.parse::<u16>().is_ok() { format!("127.0.0.1:{text}") } else { text.to_owned() };
    let plain = format!("http://{with_host}");
    let whole = match with_host.split_once("://") {
        Some(("http" | "https", _)) => with_host,
        Some((scheme, _)) => return Err(format!("{scheme}:// is not supported in a server's address")),
        None if super::endpoint::is_local(&plain) => plain,
        None => format!("https://{with_host}"),
    };
    let parsed = url::Url::parse(&whole).map_err(|error| format!("{text:?} is not an address: {error}"))?;
    if parsed.host_str().is_none_or(|host| host.contains(char::is_whitespace) || host.contains('%')) {
        return Err(format!("{text:?} is not an address: it has no host"));
    }
    if parsed.path() == "/" { Ok(format!("{}/v1", whole.trim_end_matches('/'))) } else { Ok(whole) }
}

/// Asks who serves at an address. `None`: nobody answered in time, or no model server did.
pub async fn probe(http: &Http, base_url: &str) -> Option<LocalServer> {
    let base = base_url.trim_end_matches('/');
    let root = base.strip_suffix("/v1").unwrap_or(base);
    let at = |path: &str| get(http, format!("{root}{path}"), DETECT);
    let (tags, running, studio, props, models) =
        tokio::join!(at("/api/tags"), at("/api/ps"), at("/api/v0/models"), at("/props"), at("/v1/models"));
    // A server that answers every path with something is told apart by the form of the answer.
    let ollama = tags.as_ref().filter(|tags| tags.get("models").is_some_and(Value::is_array)).map(|tags| {
        let loaded = running.as_ref().map(|running| names(running, "models", "name")).unwrap_or_default();
        let window =
            running.as_ref().and_then(|running| running.pointer("/models/0/context_length")).and_then(Value::as_u64);
        (LocalKind::Ollama, loaded.into_iter().chain(names(tags, "models", "name")).collect(), window)
    });
    let studio = || {
        let list = studio.as_ref()?.get("data")?.as_array()?;
        let mut list: Vec<&Value> =
            list.iter().filter(|model| model.get("type").and_then(Value::as_str) != Some("embeddings")).collect();
        list.sort_by_key(|model| model.get("state").and_then(Value::as_str) != Some("loaded"));
        list.first().filter(|model| model.get("state").is_some())?;
        let window = list.first().and_then(|model| model.get("loaded_context_length")).and_then(Value::as_u64);
        let ids = list.iter().filter_map(|model| model.get("id")?.as_str().map(str::to_owned)).collect();
        Some((LocalKind::LmStudio, ids, window))
    };
    let ids = || models.as_ref().map(|models| names(models, "data", "id")).unwrap_or_default();
    let llama = || {
        let window = llama_window(props.as_ref()?)?;
        Some((LocalKind::LlamaCpp, ids(), Some(window)))
    };
    let plain = || {
        let models = models.as_ref().filter(|models| models.get("data").is_some_and(Value::is_array))?;
        let length = models.pointer("/data/0/max_model_len").and_then(Value::as_u64);
        let owner = models.pointer("/data/0/owned_by").and_then(Value::as_str);
        let kind = if owner == Some("vllm") { LocalKind::Vllm } else { LocalKind::Other };
        Some((kind, ids(), length))
    };
    let (kind, models, window) = ollama.or_else(studio).or_else(llama).or_else(plain)?;
    let mut unique: Vec<String> = Vec::with_capacity(models.len());
    for model in models {
        if !unique.contains(&model) {
            unique.push(model);
        }
    }
    Some(LocalServer { kind, base_url: base_url.to_owned(), models: unique, window })
}

/// Asks a local server for the real window and abilities of the endpoint's model; what it does not tell stays as it is.
/// A window from the config wins: the person may know better.
pub async fn refine(http: &Http, endpoint: &Endpoint, mut info: ModelInfo) -> ModelInfo {
    if !endpoint.local {
        return info;
    }
    info.price = Some(Price::default());
    let root = endpoint.root();
    let at = |path: &str| get(http, format!("{root}{path}"), ASK);
    let model = endpoint.model.as_str();
    let show = async {
        let sent =
            http.to(root).ok()?.post(format!("{root}/api/show")).timeout(ASK).json(&json!({"model": model})).send();
        read(sent.await).await
    };
    let (running, shown, studio, props, models) =
        tokio::join!(at("/api/ps"), show, at("/api/v0/models"), at("/props"), at("/v1/models"));
    let entry = |list: Option<&Value>, key: &str, id: &str| {
        let same = |entry: &&Value| {
            let name = entry.get(id).and_then(Value::as_str).unwrap_or_default();
            name == model || name.strip_suffix(":latest") == Some(model)
        };
        list?.get(key)?.as_array()?.iter().find(same).cloned()
    };
    let number = |value: Option<&Value>, key: &str| value?.get(key)?.as_u64().filter(|number| *number > 0);
    let loaded = entry(running.as_ref(), "models", "name");
    let in_studio = entry(studio.as_ref(), "data", "id");
    let listed = entry(models.as_ref(), "data", "id");
    let window = number(loaded.as_ref(), "context_length")
        .or_else(|| number(in_studio.as_ref(), "loaded_context_length"))
        .or_else(|| props.as_ref().and_then(llama_window))
        .or_else(|| number(listed.as_ref(), "max_model_len"))
        // Not loaded yet: what the model file was told to use, not the most that it could.
        .or_else(|| shown.as_ref().and_then(parameter_num_ctx));
    info.context = endpoint.context.or(window).or(info.context);
    if let Some(abilities) = shown.as_ref().and_then(|shown| shown.get("capabilities")?.as_array()) {
        let can = |word: &str| Some(abilities.iter().any(|ability| ability.as_str() == Some(word)));
        info.tools = can("tools");
        info.vision = can("vision");
        info.reasoning = can("thinking");
    }
    info
}

fn llama_window(props: &Value) -> Option<u64> {
    let places = ["/default_generation_settings/n_ctx", "/n_ctx"];
    places.iter().find_map(|place| props.pointer(place).and_then(Value::as_u64)).filter(|window| *window > 0)
}

/// Ollama's `parameters` is text in lines: `num_ctx    8192`.
fn parameter_num_ctx(shown: &Value) -> Option<u64> {
    let parameters = shown.get("parameters")?.as_str()?;
    let line = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"))?;
    line.trim().parse().ok()
}

fn names(value: &Value, list: &str, key: &str) -> Vec<String> {
    let entries = value.get(list).and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.get(key)?.as_str().map(str::to_owned)).collect()
}

async fn get(http: &Http, url: String, limit: Duration) -> Option<Value> {
    let client = http.to(&url).ok()?;
    read(client.get(url).timeout(limit).send().await).await
}

async fn read(sent: Result<reqwest::Response, reqwest::Error>) -> Option<Value> {
    let response = sent.ok().filter(|response| response.status().is_success())?;
    response.json().await.ok()
}

#[cfg(test)]
mod tests;

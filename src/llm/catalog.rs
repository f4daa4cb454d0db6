//! What is known about models: what the person says, else the provider's own list (cached on disk), else a list of prices
//! that was fetched, else the embedded table, else nothing.

pub mod prices;

use super::endpoint::{Endpoint, is_local};
use super::http::Http;
use super::providers::{Auth, Dialect};
use super::{ErrorKind, ModelInfo, Price, ProviderError, errors, wire};
use crate::config::Config;
use crate::fs::remove;
use prices::Prices;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a provider's list is good.
pub const LIST_TTL: Duration = Duration::from_secs(24 * 3600);

/// How long a provider may take to give it.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// A table of models, with where its numbers come from.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Catalog {
    /// Where the numbers were read.
    pub source: String,
    /// When, `YYYY-MM-DD`.
    pub date: String,
    models: Vec<Fact>,
}

/// What one entry says; absent means unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fact {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output: Option<u64>,
    /// US dollars per million tokens: input, cached input, output, and writing to the cache where that costs extra.
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vision: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<bool>,
}

/// A provider's list on disk.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Cached {
    /// Seconds since the epoch.
    at: u64,
    base_url: String,
    models: Vec<Fact>,
}

static EMBEDDED: LazyLock<Catalog> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../assets/models.json")).unwrap_or_default());

/// The embedded table.
pub fn embedded() -> &'static Catalog {
    &EMBEDDED
}

impl Catalog {
    /// Exact id, then the id after the last slash, then the longest entry that begins it (`gpt-5.5-2026-04-23`).
    fn find(&self, id: &str) -> Option<&Fact> {
        let plain = plain(id);
        let exact = |wanted: &str| self.models.iter().find(|fact| fact.id == wanted);
        exact(id).or_else(|| exact(&plain)).or_else(|| {
            let begins = |fact: &&Fact| {
                let tail = plain.strip_prefix(fact.id.as_str());
                tail.is_some_and(|tail| tail.starts_with(['-', ':', '@']))
            };
            self.models.iter().filter(begins).max_by_key(|fact| fact.id.len())
        })
    }
}

/// Makers and resellers write the same id in their own ways: `anthropic/claude-opus-4.6:beta`.
fn plain(id: &str) -> String {
    let last = id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase();
    let last = last.split([':', '@']).next().unwrap_or(&last);
    if last.starts_with("claude-") { last.replace('.', "-") } else { last.to_owned() }
}

impl Fact {
    /// Whether its price, if it has one, can be counted with.
    fn is_sound(&self) -> bool {
        let counts = |price: &Vec<f64>| {
            matches!(price.len(), 3 | 4) && price.iter().all(|part| part.is_finite() && *part >= 0.0)
        };
        self.price.as_ref().is_none_or(counts)
    }

    fn info(&self, provider: &str) -> ModelInfo {
        let price = self.price.as_deref().and_then(|price| match price {
            [input, cached, output, rest @ ..] => {
                Some(Price { input: *input, cached: *cached, output: *output, cache_write: rest.first().copied() })
            }
            _ => None,
        });
        ModelInfo {
            id: self.id.clone(),
            provider: provider.to_owned(),
            context: self.context,
            max_output: self.max_output,
            price,
            vision: self.vision,
            reasoning: self.reasoning,
            tools: self.tools,
        }
    }

    /// Fills what is missing here from another entry. Prices are the maker's own: a reseller's may differ.
    fn or(mut self, other: Option<&Self>, with_price: bool) -> Self {
        if let Some(other) = other {
            self.context = self.context.or(other.context);
            self.max_output = self.max_output.or(other.max_output);
            self.price = self.price.or_else(|| other.price.clone().filter(|_| with_price));
            self.vision = self.vision.or(other.vision);
            self.reasoning = self.reasoning.or(other.reasoning);
            self.tools = self.tools.or(other.tools);
        }
        self
    }
}

/// Whether the embedded prices hold at this endpoint: the makers' own addresses, and OpenRouter, which passes them on.
fn makers_price(endpoint: &Endpoint) -> bool {
    const OWN: [&str; 9] =
        ["openai", "anthropic", "gemini", "deepseek", "xai", "mistral", "moonshot", "zai", "openrouter"];
    !endpoint.local && OWN.contains(&endpoint.provider.as_str()) && !is_local(&endpoint.base_url)
}

/// What is known now, without asking anybody: the config, the provider's list on disk, the embedded table.
/// `cache_dir` is `<home>/cache`.
pub fn model_info(endpoint: &Endpoint, config: &Config, cache_dir: Option<&Path>) -> ModelInfo {
    let cached = cache_dir
        .and_then(|dir| read_cache(&cache_file(dir, endpoint)))
        .filter(|cached| cached.base_url == endpoint.base_url);
    let listed = cached.and_then(|cached| cached.models.into_iter().find(|fact| fact.id == endpoint.model));
    let mut info = known(endpoint, &endpoint.model, listed.as_ref(), &of_home(cache_dir));
    let named = config.providers.get(&endpoint.provider).and_then(|named| named.models.get(&endpoint.model));
    let configured = endpoint.context.or(named.and_then(|named| named.context_length));
    // The window of a local model is what its server was started with: the table's is only the most it could be.
    info.context = configured.or(info.context.filter(|_| !endpoint.local));
    price_by_config(config, &mut info);
    info
}

/// Prices of the home that this cache belongs to.
fn of_home(cache_dir: Option<&Path>) -> Prices {
    cache_dir.and_then(Path::parent).map(Prices::read).unwrap_or_default()
}

/// All that is known of a model, the person's word first.
fn known(endpoint: &Endpoint, model: &str, listed: Option<&Fact>, prices: &Prices) -> ModelInfo {
    let own = prices.own(endpoint, model);
    let makers = makers_price(endpoint);
    let (fetched, holds_here) = prices.fetched(endpoint, model);
    let fact = Fact::default().or(own, true).or(listed, true).or(fetched, holds_here || makers);
    let fact = fact.or(embedded().find(model), makers);
    let mut info = Fact { id: model.to_owned(), ..fact }.info(&endpoint.provider);
    // A model on this machine or in its network costs nothing, unless the person says what.
    if endpoint.local && own.is_none_or(|own| own.price.is_none()) {
        info.price = Some(Price::default());
    }
    info
}

/// Puts in the price that the configuration names for a model: it wins over every list.
pub fn price_by_config(config: &Config, info: &mut ModelInfo) {
    let model = config.providers.get(&info.provider).and_then(|named| named.models.get(&info.id));
    let Some(price) = model.map(|model| model.price) else { return };
    if let (Some(input), Some(output)) = (price.input, price.output) {
        let cached = price.cached.unwrap_or(input);
        info.price = Some(Price { input, cached, output, cache_write: price.cache_write });
    }
}

/// The models of a provider, from the cache when it is younger than [`LIST_TTL`] and `refresh` is not set.
/// A list that cannot be had falls back to an older one on disk.
pub async fn list_models(
    endpoint: &Endpoint,
    http: &Http,
    cache_dir: &Path,
    refresh: bool,
) -> Result<Vec<ModelInfo>, ProviderError> {
    if endpoint.dialect == Dialect::Scripted {
        return Ok(vec![ModelInfo {
            id: endpoint.model.clone(),
            provider: endpoint.provider.clone(),
            ..ModelInfo::default()
        }]);
    }
    let file = cache_file(cache_dir, endpoint);
    let on_disk = read_cache(&file).filter(|cached| cached.base_url == endpoint.base_url);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let fresh = |cached: &Cached| now.saturating_sub(cached.at) < LIST_TTL.as_secs();
    let facts = match on_disk {
        Some(cached) if !refresh && fresh(&cached) => cached.models,
        stale => match fetch(endpoint, http).await {
            Ok(models) => {
                let list = Cached { at: now, base_url: endpoint.base_url.clone(), models };
                if let Err(error) = write_cache(&file, &list) {
                    tracing::warn!(file = %file.display(), %error, "model list not cached");
                }
                list.models
            }
            Err(error) => match stale {
                Some(stale) if !refresh => stale.models,
                _ => return Err(error),
            },
        },
    };
    let prices = of_home(Some(cache_dir));
    Ok(facts.iter().map(|fact| known(endpoint, &fact.id, Some(fact), &prices)).collect())
}

/// What became of a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// The list on disk is a new one.
    New,
    /// Nothing was asked, or the provider has no list: not before tomorrow.
    No,
    /// The provider could not be reached: worth another try soon.
    Failed,
}

/// Brings the list on disk up to date: once an answer in [`LIST_TTL`], whatever it was; without an answer the next start
/// asks again. Never asks without a key where one is needed; servers on this machine are asked in other ways.
pub async fn refresh_daily(endpoint: &Endpoint, http: &Http, cache_dir: &Path) -> Refreshed {
    let keyless = endpoint.key.is_empty() && endpoint.auth != Auth::None;
    if keyless || endpoint.local || endpoint.dialect == Dialect::Scripted {
        return Refreshed::No;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let file = cache_file(cache_dir, endpoint);
    let asked = file.with_extension("asked");
    let fresh = |at: u64| now.saturating_sub(at) < LIST_TTL.as_secs();
    let same = |cached: &Cached| cached.base_url == endpoint.base_url && fresh(cached.at);
    // A provider without a list is not asked at every start: the question counts, not the answer.
    if [&file, &asked].into_iter().filter_map(|file| read_cache(file)).any(|cached| same(&cached)) {
        return Refreshed::No;
    }
    let note = Cached { at: now, base_url: endpoint.base_url.clone(), models: Vec::new() };
    if let Err(error) = write_cache(&asked, &note) {
        // Where nothing can be kept, every start would ask again.
        tracing::info!(file = %asked.display(), %error, "model list not refreshed");
        return Refreshed::No;
    }
    match list_models(endpoint, http, cache_dir, true).await {
        Ok(_) => Refreshed::New,
        Err(error) => {
            tracing::info!(provider = endpoint.provider, "model list not refreshed: {}", error.message);
            if !passes(&error) {
                return Refreshed::No;
            }
            // The question does not count: nobody answered it.
            let home = cache_dir.parent().unwrap_or(cache_dir);
            if let Err(error) = remove::file(remove::File::Asked, home, &asked) {
                tracing::info!(%error, "the model list refreshes tomorrow");
                return Refreshed::No;
            }
            Refreshed::Failed
        }
    }
}

/// Whether a failure may be over in a while.
fn passes(error: &ProviderError) -> bool {
    match error.kind {
        ErrorKind::Network | ErrorKind::Stalled | ErrorKind::Overloaded | ErrorKind::RateLimit => true,
        ErrorKind::Auth
        | ErrorKind::Quota
        | ErrorKind::ContextOverflow
        | ErrorKind::Malformed
        | ErrorKind::ContentFilter
        | ErrorKind::ModelNotFound
        | ErrorKind::BadRequest
        | ErrorKind::Budget
        | ErrorKind::Cancelled => false,
    }
}

/// The first wait before a list that could not be had is asked for again.
const FIRST_RETRY_WAIT: Duration = Duration::from_secs(5 * 60);
/// The longest one.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(2 * 3600);

/// The wait before the n-th try after a failed one, counted from 0: 5 min, 10 min, 20 min … 2 h.
pub fn again_after(tries: u32) -> Duration {
    FIRST_RETRY_WAIT.saturating_mul(1 << tries.min(16)).min(MAX_RETRY_WAIT)
}

async fn fetch(endpoint: &Endpoint, http: &Http) -> Result<Vec<Fact>, ProviderError> {
    let headers = wire::headers(endpoint)
        .map_err(|detail| errors::provider_error(endpoint, ErrorKind::BadRequest, None, &detail))?;
    let url = endpoint.models_url();
    let asked = http.to(&url)?.get(&url).headers(headers).timeout(LIST_TIMEOUT).send().await;
    let response = asked.map_err(|error| errors::network(endpoint, &error))?;
    let (status, head) = (response.status(), response.headers().clone());
    let body = response.text().await.map_err(|error| errors::network(endpoint, &error))?;
    if !status.is_success() {
        return Err(errors::refused(endpoint, status.as_u16(), &head, &body));
    }
    parse_list(&body).ok_or_else(|| errors::provider_error(endpoint, ErrorKind::Malformed, None, "no list of models"))
}

/// `{"data": […]}`, `{"models": […]}` or a bare list; of each entry whatever the provider tells.
fn parse_list(body: &str) -> Option<Vec<Fact>> {
    let value: Value = serde_json::from_str(body).ok()?;
    let list = value.get("data").or(value.get("models")).unwrap_or(&value).as_array()?;
    let mut facts: Vec<Fact> = list.iter().filter_map(parse_entry).collect();
    facts.sort_by(|a, b| a.id.cmp(&b.id));
    Some(facts)
}

fn parse_entry(entry: &Value) -> Option<Fact> {
    let id = entry.get("id").or(entry.get("name")).and_then(Value::as_str)?;
    let number = |paths: &[&str]| {
        let found = paths.iter().find_map(|path| entry.pointer(path).and_then(Value::as_u64));
        found.filter(|number| *number > 0)
    };
    // Prices come as text, US dollars a token.
    let price = |key: &str| {
        let value = entry.pointer(&format!("/pricing/{key}"))?;
        let per_token = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
        (per_token >= 0.0).then(|| (per_token * 1e12).round() / 1e6)
    };
    let priced = price("prompt").zip(price("completion")).map(|(input, output)| {
        let mut all = vec![input, price("input_cache_read").unwrap_or(input), output];
        all.extend(price("input_cache_write").filter(|write| *write > 0.0));
        all
    });
    let has = |path: &str, word: &str| {
        let list = entry.pointer(path)?.as_array()?;
        Some(list.iter().any(|item| item.as_str() == Some(word)))
    };
    Some(Fact {
        id: id.trim_start_matches("models/").to_owned(),
        context: number(&[
            "/context_length",
            "/max_model_len",
            "/max_context_length",
            "/context_window",
            "/max_input_tokens",
        ]),
        max_output: number(&[
            "/top_provider/max_completion_tokens",
            "/max_completion_tokens",
            "/max_output_tokens",
            "/max_tokens",
        ]),
        price: priced,
        vision: has("/architecture/input_modalities", "image"),
        reasoning: has("/supported_parameters", "reasoning"),
        tools: has("/supported_parameters", "tools"),
    })
}

fn cache_file(dir: &Path, endpoint: &Endpoint) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = endpoint.provider.chars().map(safe).collect();
    dir.join(format!("{name}.json"))
}

fn read_cache(file: &Path) -> Option<Cached> {
    let text = std::fs::read_to_string(file).ok()?;
    serde_json::from_str(&text)
        .inspect_err(|error| tracing::warn!(file = %file.display(), %error, "cached model list ignored"))
        .ok()
}

/// Beside the old one first: a reader never sees half a list.
fn write_cache(file: &Path, list: &Cached) -> std::io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let temporary = tempfile::NamedTempFile::new_in(dir)?;
    serde_json::to_writer(&temporary, list).map_err(std::io::Error::other)?;
    temporary.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests;

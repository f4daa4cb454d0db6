//! Prices beside the embedded table: the person's own (`prices.json`), and a list that `hermes models update` fetched.
//! Nothing here is fetched by itself.

use super::{Catalog, Fact, embedded, parse_list};
use crate::fs::write_atomic;
use crate::llm::endpoint::Endpoint;
use crate::llm::http::Http;
use crate::llm::providers;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a list that is fetched, at most.
const MOST: usize = 32 << 20;
/// Models that are kept of it, at most.
const MODELS: usize = 20_000;
/// How long the list may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The person's prices: the form of `assets/models.json`, with as many fields as are known better.
pub fn own_file(home: &Path) -> PathBuf {
    home.join("prices.json")
}

/// The list that was fetched last.
pub fn fetched_file(home: &Path) -> PathBuf {
    home.join("cache/prices/list.json")
}

/// What is known of prices beside the embedded table.
#[derive(Debug, Default)]
pub struct Prices {
    own: Catalog,
    fetched: Catalog,
    /// Files that can't be used, and what helps.
    pub problems: Vec<String>,
}

impl Prices {
    /// Reads both files. Blocks for two small ones; one that is not there says nothing.
    pub fn read(home: &Path) -> Self {
        let mut problems = Vec::new();
        let mut get = |file: PathBuf, remedy: &str| {
            let read = read(&file);
            read.unwrap_or_else(|why| {
                problems.push(format!("prices of {} are not used: {why}; {remedy}", file.display()));
                Catalog::default()
            })
        };
        let own = get(own_file(home), "correct the file or delete it");
        let fetched = get(fetched_file(home), "run `hermes models update`");
        Self { own, fetched, problems }
    }

    /// What the person says of a model.
    pub(super) fn own(&self, endpoint: &Endpoint, model: &str) -> Option<&Fact> {
        self.own.priced_at(endpoint, model).or_else(|| self.own.find(model))
    }

    /// What the fetched list says of a model, and whether its price holds at this endpoint whoever made the model.
    pub(super) fn fetched(&self, endpoint: &Endpoint, model: &str) -> (Option<&Fact>, bool) {
        match self.fetched.priced_at(endpoint, model) {
            Some(fact) => (Some(fact), true),
            None => (self.fetched.find(model), false),
        }
    }

    /// Where prices come from, the ones that win first: a line each.
    pub fn sources(&self, home: &Path) -> Vec<String> {
        let models = |catalog: &Catalog| match catalog.models.len() {
            1 => "1 model".to_owned(),
            many => format!("{many} models"),
        };
        let mut out = Vec::new();
        if !self.own.models.is_empty() {
            out.push(format!("{} ({})", own_file(home).display(), models(&self.own)));
        }
        if !self.fetched.models.is_empty() {
            let Catalog { source, date, .. } = &self.fetched;
            out.push(format!("{source}, fetched {date} ({})", models(&self.fetched)));
        }
        out.push(format!("the built-in table of {} ({})", embedded().date, models(embedded())));
        out
    }
}

impl Catalog {
    /// The entry for a model at one provider: `PROVIDER:MODEL`.
    fn priced_at(&self, endpoint: &Endpoint, model: &str) -> Option<&Fact> {
        let provider = endpoint.provider.as_str();
        let is_it = |fact: &&Fact| fact.id.split_once(':').is_some_and(|(of, id)| of == provider && id == model);
        self.models.iter().find(is_it)
    }
}

fn read(file: &Path) -> Result<Catalog, String> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Catalog::default()),
        Err(error) => return Err(error.to_string()),
    };
    let catalog: Catalog = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match catalog.models.iter().find(|fact| !fact.is_sound()) {
        Some(fact) => {
            Err(format!("the price of {:?} must be 3 or 4 numbers: input, cached input, output, cache write", fact.id))
        }
        None => Ok(catalog),
    }
}

/// A list that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    pub models: usize,
    pub source: String,
    /// `YYYY-MM-DD`.
    pub date: String,
    pub file: PathBuf,
}

/// Fetches a price list and keeps it in place of the one before. `today` is `YYYY-MM-DD`.
///
/// # Errors
/// It can't be had, read or kept: for the person. The list before it stays.
pub async fn update(http: &Http, url: &str, home: &Path, today: &str) -> Result<Updated, String> {
    let body = get(http, url).await.map_err(|why| format!("no price list from {url}: {why}; see prices.url"))?;
    let models = parse(&body).ok_or_else(|| {
        format!("the list of {url} has no prices in a known form; set prices.url to another (docs/MODELS.md)")
    })?;
    let list = Catalog { source: url.to_owned(), date: today.to_owned(), models };
    let text = serde_json::to_string(&list).map_err(|error| error.to_string())?;
    let file = fetched_file(home);
    if let Some(folder) = file.parent() {
        crate::fs::ensure_dir(folder).map_err(|error| error.to_string())?;
    }
    write_atomic(&file, &text).map_err(|error| error.to_string())?;
    Ok(Updated { models: list.models.len(), source: list.source, date: list.date, file })
}

async fn get(http: &Http, url: &str) -> Result<String, String> {
    let client = http.to(url).map_err(|error| error.message)?;
    let asked = client.get(url).timeout(PATIENCE).send().await;
    // The address stands before the message already.
    let mut response = asked.map_err(|error| error.without_url().to_string())?;
    if !response.status().is_success() {
        return Err(format!("it answered {}", response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST {
            return Err(format!("it is larger than {} MB", MOST >> 20));
        }
    }
    String::from_utf8(body).map_err(|_| "it is not text".to_owned())
}

/// Our own form, a provider's list (`{"data": […]}`), or providers with their models. Entries without a price are left out;
/// `None`: there is none with one.
pub(super) fn parse(body: &str) -> Option<Vec<Fact>> {
    let value: Value = serde_json::from_str(body).ok()?;
    let mut facts = if value.get("models").is_some_and(Value::is_array) {
        serde_json::from_value::<Catalog>(value).ok()?.models
    } else if value.get("data").is_some() || value.is_array() {
        parse_list(body)?
    } else {
        by_provider(value.get("providers").unwrap_or(&value))?
    };
    facts.retain(|fact| fact.price.is_some() && fact.is_sound());
    facts.sort_by(|a, b| a.id.cmp(&b.id));
    facts.dedup_by(|a, b| a.id == b.id);
    facts.truncate(MODELS);
    (!facts.is_empty()).then_some(facts)
}

/// `{PROVIDER: {"models": {ID: {"cost": {…}, "limit": {…}}}}}`, for the providers that Hermes knows.
fn by_provider(value: &Value) -> Option<Vec<Fact>> {
    let mut facts = Vec::new();
    for (name, provider) in value.as_object()? {
        let Some(known) = known(name) else { continue };
        for (id, entry) in provider.get("models").and_then(Value::as_object).into_iter().flatten() {
            facts.push(Fact { id: format!("{known}:{id}"), ..entry_of(entry) });
        }
    }
    Some(facts)
}

/// Our id of a provider; lists call some of them `…ai`.
fn known(name: &str) -> Option<&'static str> {
    let short = name.trim_end_matches("ai").trim_end_matches('-');
    providers::find(name).or_else(|| providers::find(short)).map(|provider| provider.id.as_str())
}

fn entry_of(entry: &Value) -> Fact {
    let cost = |name: &str| entry.get("cost")?.get(name)?.as_f64();
    // One number says nothing of a price that goes by the size of the request.
    let is_plain = ["context_over_200k", "tiers"].iter().all(|name| entry.pointer(&format!("/cost/{name}")).is_none());
    let price = cost("input").zip(cost("output")).filter(|_| is_plain).map(|(input, output)| {
        let mut all = vec![input, cost("cache_read").unwrap_or(input), output];
        all.extend(cost("cache_write"));
        all
    });
    let number = |path: &str| entry.pointer(path).and_then(Value::as_u64).filter(|number| *number > 0);
    let images = entry.pointer("/modalities/input").and_then(Value::as_array);
    Fact {
        price,
        context: number("/limit/context"),
        max_output: number("/limit/output"),
        vision: images.map(|kinds| kinds.iter().any(|kind| kind.as_str() == Some("image"))),
        reasoning: entry.get("reasoning").and_then(Value::as_bool),
        ..Fact::default()
    }
}

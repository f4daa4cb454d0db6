//! `budget:` and `prices:` of the configuration: what sessions and days may cost, and where a price list comes from.

use serde::{Deserialize, Serialize};

/// `budget:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetConfig {
    /// One session, with what it spent before it was resumed.
    pub session: BudgetLimits,
    /// A local calendar day, over all sessions and windows of the home.
    pub day: BudgetLimits,
}

impl BudgetConfig {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// `budget.session`, `budget.day`: at a soft limit a person is told, at a hard one no model is called any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetLimits {
    /// US dollars.
    pub soft_cost: Option<f64>,
    /// US dollars.
    pub hard_cost: Option<f64>,
    /// Tokens of all requests and replies.
    pub soft_tokens: Option<u64>,
    /// Tokens of all requests and replies.
    pub hard_tokens: Option<u64>,
}

/// `prices:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PricesConfig {
    /// What `hermes models update` fetches.
    pub url: String,
}

impl Default for PricesConfig {
    fn default() -> Self {
        Self { url: "https://models.dev/api.json".into() }
    }
}

/// `providers.<name>.models.<id>.price`, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PriceConfig {
    pub input: Option<f64>,
    /// Input that the provider's cache holds; `None`: as other input.
    pub cached: Option<f64>,
    pub output: Option<f64>,
    /// Input that is written to the cache; `None`: as other input.
    pub cache_write: Option<f64>,
}

//! `hermes models`: what can be chosen, with windows and prices.

use super::{ChatArgs, setup};
use crate::accounts::{Accounts, Known};
use crate::llm::{catalog, endpoint, http, ready};
use clap::Args;
use serde_json::json;
use std::io::Write;

/// Flags of `hermes models`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Only this provider
    provider: Option<String>,
    /// Refresh the list instead of using the cache
    #[arg(long)]
    refresh: bool,
    #[arg(long)]
    json: bool,
}

/// Lists models of every provider that has a key or needs none.
pub async fn run(args: ModelsArgs, out: &mut dyn Write) -> anyhow::Result<i32> {
    let base = setup::base(&ChatArgs::default())?;
    let accounts = Accounts::new(&base.paths, base.secrets.clone());
    let known = Known { loaded: &base.loaded, accounts: &accounts };
    let http = http::client();
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for endpoint in endpoint::available(&base.loaded.config, &known) {
        if args.provider.as_ref().is_some_and(|p| *p != endpoint.provider) {
            continue;
        }
        let endpoint = accounts.unlock(&base.loaded, endpoint).await;
        match catalog::list_models(&endpoint, &http, &base.paths.cache(), args.refresh).await {
            Ok(models) => rows.extend(models),
            Err(error) => problems.push(error.message),
        }
    }
    if args.json {
        let models: Vec<_> = rows
            .iter()
            .map(|m| {
                json!({
                    "provider": m.provider, "id": m.id, "context": m.context, "max_output": m.max_output,
                    "price": m.price.map(|p| json!({ "input": p.input, "cached": p.cached, "output": p.output })),
                })
            })
            .collect();
        writeln!(out, "{}", json!({ "version": 1, "models": models, "problems": problems }))?;
    } else {
        let wide = rows.iter().map(|m| m.provider.len() + 1 + m.id.len()).max().unwrap_or(0);
        for model in &rows {
            writeln!(out, "{:wide$}  {}", format!("{}:{}", model.provider, model.id), ready::detail(model))?;
        }
        for problem in &problems {
            writeln!(out, "! {problem}")?;
        }
        if rows.is_empty() && problems.is_empty() {
            writeln!(out, "no provider configured; start hermes and paste a key, or set one in the environment")?;
        }
    }
    Ok(i32::from(rows.is_empty()))
}

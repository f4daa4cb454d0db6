//! `hermes fallback`: the models that are tried when the first one fails, in order.

use super::{ChatArgs, setup};
use crate::config::{FallbackConfig, edit};
use crate::llm::providers;
use anyhow::{Result, ensure};
use clap::Subcommand;
use serde_json::{Map, Value, json};
use std::io::Write;

/// Subcommands of `hermes fallback`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the fallback models
    List {
        #[arg(long)]
        json: bool,
    },
    /// Add one at the end
    Add {
        /// PROVIDER:MODEL
        model: String,
        /// Address, for a custom server
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        /// Environment variable that holds the key
        #[arg(long, value_name = "NAME")]
        key_env: Option<String>,
    },
    /// Remove one by number or PROVIDER:MODEL
    Remove { which: String },
    /// Remove all
    Clear,
}

/// Runs it: 0 done, 1 failed.
pub fn run(command: Command, out: &mut dyn Write) -> Result<i32> {
    let base = setup::base(&ChatArgs::default())?;
    let file = base.paths.config();
    let mut all = base.loaded.config.fallback_providers.clone();
    match command {
        Command::List { json } => {
            if json {
                let rows: Vec<Value> =
                    all.iter().map(|one| json!({"provider": one.provider, "model": one.model})).collect();
                writeln!(out, "{}", json!({"version": 1, "fallbacks": rows}))?;
            } else if all.is_empty() {
                writeln!(out, "no fallback models; add one: hermes fallback add PROVIDER:MODEL")?;
            }
            for (number, one) in all.iter().enumerate().filter(|_| !json) {
                writeln!(out, "{}  {}", number + 1, name(one))?;
            }
        }
        Command::Add { model, base_url, key_env } => {
            let (provider, id) = model.split_once(':').unwrap_or_default();
            ensure!(!provider.is_empty() && !id.is_empty(), "{model:?} is not PROVIDER:MODEL");
            let known = providers::find(provider).is_some() || base.loaded.config.providers.contains_key(provider);
            ensure!(known, "unknown provider {provider:?}; `hermes models` lists those that are set up");
            let text = Option::unwrap_or_default;
            let new = FallbackConfig {
                provider: provider.into(),
                model: id.into(),
                base_url: text(base_url),
                key_env: text(key_env),
                ..FallbackConfig::default()
            };
            ensure!(!all.contains(&new), "{model} is a fallback already");
            all.push(new);
            write(&file, &all)?;
            writeln!(out, "added {model}, tried as number {}", all.len())?;
        }
        Command::Remove { which } => {
            let number = which.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let at = number.filter(|at| *at < all.len()).or_else(|| all.iter().position(|one| name(one) == which));
            let at = at.filter(|at| *at < all.len());
            ensure!(at.is_some(), "no fallback {which:?}; `hermes fallback list` shows them");
            let gone = all.remove(at.unwrap_or_default());
            write(&file, &all)?;
            writeln!(out, "removed {}", name(&gone))?;
        }
        Command::Clear => {
            write(&file, &[])?;
            writeln!(out, "removed {}", all.len())?;
        }
    }
    Ok(0)
}

fn name(one: &FallbackConfig) -> String {
    format!("{}:{}", one.provider, one.model)
}

fn write(file: &std::path::Path, all: &[FallbackConfig]) -> Result<()> {
    let entry = |one: &FallbackConfig| {
        let fields = [
            ("provider", &one.provider),
            ("model", &one.model),
            ("base_url", &one.base_url),
            ("api_key", &one.api_key),
            ("key_env", &one.key_env),
            ("api_mode", &one.api_mode),
        ];
        let set = fields.into_iter().filter(|(_, value)| !value.is_empty());
        Value::Object(set.map(|(key, value)| (key.to_owned(), value.as_str().into())).collect::<Map<_, _>>())
    };
    let list: Vec<Value> = all.iter().map(entry).collect();
    Ok(edit::put(file, &[("fallback_providers".to_owned(), list.into())])?)
}

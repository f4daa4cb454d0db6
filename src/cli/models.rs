//! `hermes models`: what can be chosen, with windows and prices, and the models of this computer.

pub(super) mod get;
pub(super) mod local;
pub(super) mod test;
mod update;

use super::{ChatArgs, setup};
use crate::accounts::{Accounts, Known};
use crate::agent::Models;
use crate::llm::catalog::prices::Prices;
use crate::llm::{ModelInfo, catalog, endpoint, http, ready};
use clap::{Args, Subcommand};
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

/// Flags of `hermes models`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: ListArgs,
}

/// Flags of the list.
#[derive(Debug, Args)]
struct ListArgs {
    /// Only this provider
    provider: Option<String>,
    /// Refresh the list instead of using the cache
    #[arg(long)]
    refresh: bool,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List models; with `--local`, those for this computer
    List {
        #[command(flatten)]
        list: ListArgs,
        /// Models that run on this computer: here, and on offer
        #[arg(long)]
        local: bool,
    },
    /// Get a model that runs on this computer: a name, a .gguf file, or REPO:FILE
    Get(get::GetArgs),
    /// Serve a model of this computer to other programs, until Ctrl-C
    Serve {
        /// Its name; default: the only one that is here
        name: Option<String>,
    },
    /// Stop the server of a model
    Stop {
        /// Its name; default: all that run
        name: Option<String>,
    },
    /// Test a model with two short requests
    Test {
        /// MODEL or PROVIDER:MODEL; default: the configured one
        model: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Fetch a price list (`prices.url`)
    Update {
        #[arg(long)]
        json: bool,
    },
    /// Remove a model from this computer
    Remove {
        name: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

/// Runs the command.
pub async fn run(args: ModelsArgs, out: &mut dyn Write) -> anyhow::Result<i32> {
    match args.command {
        None => list(args.list, out).await,
        Some(Command::List { list: wanted, local: false }) => list(wanted, out).await,
        Some(Command::List { list, local: true }) => local::list(list.json, out).await,
        Some(Command::Get(args)) => get::run(args, out).await,
        Some(Command::Serve { name }) => local::serve(name, out).await,
        Some(Command::Stop { name }) => local::stop(name, out).await,
        Some(Command::Test { model, json }) => test::run(model.as_deref(), json, out).await,
        Some(Command::Update { json }) => update::run(json, out).await,
        Some(Command::Remove { name, yes }) => local::remove(&name, yes, out).await,
    }
}

/// Lists models of every provider that has a key or needs none.
async fn list(args: ListArgs, out: &mut dyn Write) -> anyhow::Result<i32> {
    let base = setup::base(&ChatArgs::default())?;
    let accounts = Accounts::new(&base.paths, base.secrets.clone());
    let models = Models::new(Arc::clone(&base.loaded), &base.paths, accounts.clone());
    let known = Known { loaded: &base.loaded, accounts: &accounts };
    let http = http::client();
    let tested = |model: &ModelInfo| models.ability(Some(&format!("{}:{}", model.provider, model.id)));
    let mut rows = local::kept(&base)
        .into_iter()
        .filter(|row| args.provider.as_ref().is_none_or(|provider| *provider == row.provider))
        .map(|row| (tested(&row), row))
        .collect::<Vec<_>>();
    let measured = models.measured();
    let prices = Prices::read(&base.paths.home);
    let mut problems = prices.problems.clone();
    for endpoint in endpoint::available(&base.loaded.config, &known) {
        if args.provider.as_ref().is_some_and(|p| *p != endpoint.provider) {
            continue;
        }
        let endpoint = accounts.unlock(&base.loaded, endpoint).await;
        match catalog::list_models(&endpoint, &http, &base.paths.cache(), args.refresh).await {
            Ok(models) => rows.extend(models.into_iter().map(|mut row| {
                catalog::price_by_config(&base.loaded.config, &mut row);
                (measured.of(&endpoint, &row.id).cloned(), row)
            })),
            Err(error) => problems.push(error.message),
        }
    }
    if args.json {
        let models: Vec<_> = rows
            .iter()
            .map(|(_, m)| {
                json!({
                    "provider": m.provider, "id": m.id, "context": m.context, "max_output": m.max_output,
                    "price": m.price.map(|p| json!({ "input": p.input, "cached": p.cached, "output": p.output })),
                })
            })
            .collect();
        writeln!(
            out,
            "{}",
            json!({
                "version": 1, "models": models, "prices": prices.sources(&base.paths.home), "problems": problems,
            })
        )?;
    } else {
        let wide = rows.iter().map(|(_, m)| m.provider.len() + 1 + m.id.len()).max().unwrap_or(0);
        for (tested, model) in &rows {
            writeln!(
                out,
                "{:wide$}  {}",
                format!("{}:{}", model.provider, model.id),
                ready::detail(model, tested.as_ref())
            )?;
        }
        for problem in &problems {
            writeln!(out, "! {problem}")?;
        }
        if !rows.is_empty() {
            writeln!(out, "\nprices: {}", prices.sources(&base.paths.home).join("; else "))?;
        }
        if rows.is_empty() && problems.is_empty() {
            writeln!(
                out,
                "no provider configured; run `hermes models get` for a model on this computer, or start hermes and paste a key"
            )?;
        }
    }
    Ok(i32::from(rows.is_empty()))
}

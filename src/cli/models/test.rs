//! `hermes models test`: what a model can do, by two short requests.

use crate::accounts::Accounts;
use crate::agent::Models;
use crate::cli::{ChatArgs, setup};
use crate::engine::Base;
use crate::llm::self_test;
use crate::text::format;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

/// Tests a model and says what was found.
pub(super) async fn run(model: Option<&str>, as_json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let base = setup::base(&ChatArgs::default())?;
    test(&base, model, as_json, out).await
}

/// The same over a configuration that is known.
pub(in crate::cli) async fn test(
    base: &Base,
    model: Option<&str>,
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    let accounts = Accounts::new(&base.paths, base.secrets.clone());
    let models = Models::new(Arc::clone(&base.loaded), &base.paths, accounts);
    let tested = tokio::select! {
        tested = models.test(model) => tested,
        () = super::local::stopped() => Err("stopped".to_owned()),
    };
    models.local().leave().await;
    let (provider, ability) = tested.map_err(anyhow::Error::msg)?;
    let lines = self_test::words(&ability, &provider);
    if as_json {
        let mut value = serde_json::to_value(&ability)?;
        value["version"] = json!(1);
        value["small"] = json!(ability.is_small());
        value["words"] = json!(lines);
        writeln!(out, "{value}")?;
    } else {
        for line in lines {
            writeln!(out, "{line}")?;
        }
        if let Some(rate) = ability.prompt_rate {
            writeln!(out, "reads {} tokens/s", format::count(rate as u64))?;
        }
    }
    Ok(0)
}

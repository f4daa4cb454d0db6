//! `hermes models update`: a price list from an address, in place of the one before.

use crate::cli::{ChatArgs, setup};
use crate::llm::catalog::prices::{self, Prices};
use crate::llm::http;
use crate::text::format::plural;
use serde_json::json;
use std::io::Write;

/// Fetches the list of `prices.url`.
pub(super) async fn run(as_json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let base = setup::base(&ChatArgs::default())?;
    let (home, url) = (&base.paths.home, &base.loaded.config.prices.url);
    let today = chrono::Local::now().format("%Y-%m-%d").to_string();
    let updated = prices::update(&http::client(), url, home, &today).await.map_err(anyhow::Error::msg)?;
    let problems = Prices::read(home).problems;
    if as_json {
        let value = json!({
            "version": 1, "models": updated.models, "source": updated.source, "date": updated.date,
            "file": updated.file, "problems": problems,
        });
        writeln!(out, "{value}")?;
    } else {
        let models = plural(updated.models as u64, "model", "models");
        writeln!(out, "prices of {models} from {}, kept in {}", updated.source, updated.file.display())?;
        for problem in problems {
            writeln!(out, "! {problem}")?;
        }
    }
    Ok(0)
}

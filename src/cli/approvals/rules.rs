//! `hermes approvals rules` and `revoke`.

use crate::cli::setup;
use crate::config::Paths;
use crate::config::load::load;
use crate::store::Store;
use crate::tools::rulebook::{Row, collect, made, revoke, warnings};
use anyhow::{anyhow, bail};
use serde_json::json;
use std::io::Write;

/// Version of the JSON shape.
const VERSION: u32 = 1;

async fn here(store: &Store) -> anyhow::Result<(Paths, Vec<Row>, Vec<String>)> {
    let base = setup::base(&crate::cli::ChatArgs::default())?;
    let loaded = load(&base.sources);
    let now = chrono::Utc::now().timestamp_millis();
    let rows = collect(&base.paths, &loaded, &[], &made(store).await, now);
    Ok((base.paths, rows, warnings(&loaded)))
}

pub(super) async fn run(as_json: bool, out: &mut impl Write) -> anyhow::Result<i32> {
    let store = Store::spawn(setup::paths()?.home);
    let found = here(&store).await;
    store.close().await;
    let (_, rows, warnings) = found?;
    if as_json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "number": row.number, "action": row.action, "rule": row.rule, "scope": row.scope,
                    "file": row.file, "line": row.line, "until": row.until, "expired": row.expired, "who": row.who,
                })
            })
            .collect();
        writeln!(out, "{}", json!({"version": VERSION, "rules": rows, "warnings": warnings}))?;
        return Ok(0);
    }
    if rows.is_empty() {
        writeln!(out, "no rules: risky commands ask")?;
    }
    for row in &rows {
        let mut parts = vec![row.scope.clone(), row.place()];
        parts.extend(Some(row.end()).filter(|end| !end.is_empty()));
        parts.extend(Some(row.who.clone()).filter(|who| !who.is_empty()));
        writeln!(out, "{:>3}  {:<5}  {}\n            {}", row.number, row.action, row.rule, parts.join(" · "))?;
    }
    for warning in &warnings {
        writeln!(out, "⚠ {warning}")?;
    }
    Ok(0)
}

pub(super) async fn revoke_named(named: &str, out: &mut impl Write) -> anyhow::Result<i32> {
    let store = Store::spawn(setup::paths()?.home);
    let done: anyhow::Result<String> = async {
        let (paths, rows, _) = here(&store).await?;
        let row = pick(&rows, named)?;
        Ok(revoke(&paths, row, &store)?)
    }
    .await;
    store.close().await;
    writeln!(out, "{}", done?)?;
    Ok(0)
}

/// The rule that is meant: by its number, or as it is written.
fn pick<'a>(rows: &'a [Row], named: &str) -> anyhow::Result<&'a Row> {
    if let Ok(number) = named.parse::<usize>() {
        return rows
            .iter()
            .find(|row| row.number == number)
            .ok_or_else(|| anyhow!("there are {} rules; list them with `hermes approvals rules`", rows.len()));
    }
    let named = named.trim();
    let means = |row: &&Row| row.rule == named || format!("{}: {}", row.rule, row.action) == named;
    match rows.iter().filter(means).collect::<Vec<_>>()[..] {
        [one] => Ok(one),
        [] => {
            bail!("no rule `{named}`; list them with `hermes approvals rules`. Rules granted in a session end with it")
        }
        ref several => {
            let all: Vec<String> = several.iter().map(|row| format!("{} ({})", row.number, row.place())).collect();
            bail!("`{named}` is in several places: give a number: {}", all.join(", "))
        }
    }
}

//! `sessions stats`: figures over all sessions, and what the home holds on disk.

use super::prune::home_of;
use crate::pruning::{Plan, words};
use crate::report::disk::{self, Disk};
use crate::report::sessions::text::{local, rfc3339};
use crate::report::stats;
use crate::store::Store;
use crate::store::filter::day;
use crate::text::format::bytes;
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Of which time.
#[derive(Args, Clone, Debug)]
pub struct StatsArgs {
    /// Figures from this day on: 2026-11-01, today, 30d. Without it: of all time
    #[arg(long, value_name = "DAY", value_parser = since)]
    since: Option<i64>,
}

fn since(text: &str) -> Result<i64, String> {
    day(text).ok_or_else(|| format!("`{text}` is no day: write 2026-11-01, today or 30d"))
}

/// Ninety days in milliseconds: besides what can go now, what is older is counted.
const OLD: i64 = 90 * 24 * 3600 * 1000;

/// Prints them.
pub(super) async fn run(
    store: &Store,
    wanted: &StatsArgs,
    cwd: &Path,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    let (sums, figures) = (store.stats().await?, store.figures(wanted.since).await?);
    let home = home_of(store, cwd).await;
    let disk = home.as_ref().map(|(paths, _)| disk::look(paths));
    let (mut spare, mut old) = (None, None);
    if let Some((paths, config)) = &home {
        spare = Some(Plan::of(store, paths, config, None).await?);
        old = Some(Plan::of(store, paths, config, Some(chrono::Utc::now().timestamp_millis() - OLD)).await?);
    }
    let (first, last) = (sums.first_at.map(rfc3339), sums.last_at.map(rfc3339));
    if json {
        let value = json!({
            "version": 1, "path": sums.path, "bytes": sums.bytes, "sessions": sums.sessions, "items": sums.items,
            "first_at": first, "last_at": last,
            "usage": {"input": sums.input, "cached": sums.cached, "output": sums.output, "cost": sums.cost},
            "written": {"turns": sums.turns, "journals": sums.journal_bytes, "log": sums.log_bytes},
            "since": wanted.since.map(rfc3339), "figures": stats::json(&figures),
            "disk": disk.as_ref().map(Disk::json),
            "prune": {"now": spare.as_ref().map(Plan::bytes), "older_than_90d": old.as_ref().map(Plan::bytes)},
        });
        writeln!(out, "{value}")?;
        return Ok(0);
    }
    let mebibytes = sums.bytes as f64 / f64::from(1 << 20);
    writeln!(out, "file      {} ({mebibytes:.1} MiB)", sums.path)?;
    writeln!(out, "sessions  {}", sums.sessions)?;
    writeln!(out, "items     {}", sums.items)?;
    if let (Some(first), Some(last)) = (sums.first_at, sums.last_at) {
        writeln!(out, "from      {} to {}", local(first), local(last))?;
    }
    writeln!(out, "tokens    {} in ({} cached), {} out", sums.input, sums.cached, sums.output)?;
    let cost = sums.cost.map_or_else(|| "?".to_owned(), |cost| format!("${cost:.2}"));
    writeln!(out, "cost      {cost}")?;
    let written = sums.journal_bytes + sums.log_bytes;
    writeln!(
        out,
        "written   {} to journals, {} to the database log: {} a turn",
        bytes(sums.journal_bytes),
        bytes(sums.log_bytes),
        bytes(written / sums.turns.max(1))
    )?;
    write!(out, "{}", stats::text(&figures))?;
    if let Some(disk) = disk {
        write!(out, "\nThe home on disk\n{}", disk.text())?;
    }
    if let (Some(spare), Some(old), Some((_, config))) = (spare, old, &home) {
        writeln!(
            out,
            "`hermes sessions prune` frees about {}, with `--older-than 90d` {}",
            bytes(spare.bytes()),
            bytes(old.bytes())
        )?;
        if spare.is_over {
            writeln!(out, "{}", words(spare.aged.taken, config.sessions.budget_bytes))?;
        }
    }
    Ok(0)
}

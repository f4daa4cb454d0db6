//! `sessions stats`: figures over all sessions, and what the home holds on disk.

use super::prune::home_of;
use crate::pruning::{Plan, words};
use crate::report::disk::{self, Disk};
use crate::report::sessions::text::{local, rfc3339};
use crate::store::Store;
use crate::text::format::bytes;
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Of which time.
#[derive(Args, Clone, Debug)]
pub struct StatsArgs {}

/// Ninety days in milliseconds: what is asked about beside what can go now.
const OLD: i64 = 90 * 24 * 3600 * 1000;

/// Prints them.
pub(super) async fn run(
    store: &Store,
    _wanted: &StatsArgs,
    cwd: &Path,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    let stats = store.stats().await?;
    let home = home_of(store, cwd).await;
    let disk = home.as_ref().map(|(paths, _)| disk::look(paths));
    let (mut spare, mut old) = (None, None);
    if let Some((paths, config)) = &home {
        spare = Some(Plan::of(store, paths, config, None).await?);
        old = Some(Plan::of(store, paths, config, Some(chrono::Utc::now().timestamp_millis() - OLD)).await?);
    }
    let (first, last) = (stats.first_at.map(rfc3339), stats.last_at.map(rfc3339));
    if json {
        let value = json!({
            "version": 1, "path": stats.path, "bytes": stats.bytes, "sessions": stats.sessions, "items": stats.items,
            "first_at": first, "last_at": last,
            "usage": {"input": stats.input, "cached": stats.cached, "output": stats.output, "cost": stats.cost},
            "written": {"turns": stats.turns, "journals": stats.journal_bytes, "log": stats.log_bytes},
            "disk": disk.as_ref().map(Disk::json),
            "prune": {"now": spare.as_ref().map(Plan::bytes), "older_than_90d": old.as_ref().map(Plan::bytes)},
        });
        writeln!(out, "{value}")?;
        return Ok(0);
    }
    let mebibytes = stats.bytes as f64 / f64::from(1 << 20);
    writeln!(out, "file      {} ({mebibytes:.1} MiB)", stats.path)?;
    writeln!(out, "sessions  {}", stats.sessions)?;
    writeln!(out, "items     {}", stats.items)?;
    if let (Some(first), Some(last)) = (stats.first_at, stats.last_at) {
        writeln!(out, "from      {} to {}", local(first), local(last))?;
    }
    writeln!(out, "tokens    {} in ({} cached), {} out", stats.input, stats.cached, stats.output)?;
    let cost = stats.cost.map_or_else(|| "?".to_owned(), |cost| format!("${cost:.2}"));
    writeln!(out, "cost      {cost}")?;
    let written = stats.journal_bytes + stats.log_bytes;
    writeln!(
        out,
        "written   {} to journals, {} to the database log: {} a turn",
        bytes(stats.journal_bytes),
        bytes(stats.log_bytes),
        bytes(written / stats.turns.max(1))
    )?;
    if let Some(disk) = disk {
        write!(out, "\nThe home on disk\n{}", disk.text())?;
    }
    if let (Some(spare), Some(old), Some((_, config))) = (spare, old, &home) {
        writeln!(out, "`hermes sessions prune` frees about {}, with `--older-than 90d` {}", bytes(spare.bytes()), bytes(old.bytes()))?;
        if spare.is_over {
            writeln!(out, "{}", words(spare.aged.taken, config.sessions.budget_bytes))?;
        }
    }
    Ok(0)
}

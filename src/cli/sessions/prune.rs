//! `sessions prune`: what would go, the question, and what went.

use crate::config::{Config, Paths, Sources, load};
use crate::pruning::{Done, Plan, age};
use crate::report::sessions::text::{age as ago, one_line};
use crate::store::{SessionRow, Store, short_id};
use crate::text::format::{bytes, count, plural};
use anyhow::{Result, ensure};
use clap::Args;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a long prune says how far it is.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// What to delete.
#[derive(Args, Clone, Debug)]
pub struct PruneArgs {
    /// Sessions last used longer ago than this: 90d, 12w, 36h. Without it: the trash past its time, and what nobody needs
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// The home of a store and its configuration; `None`: nothing is saved.
pub(super) async fn home_of(store: &Store, cwd: &Path) -> Option<(Paths, Arc<Config>)> {
    let path = PathBuf::from(store.opened().await.path);
    let paths = Paths::at(path.parent().filter(|home| home.is_absolute())?);
    let loaded = load(&Sources { cwd: Some(cwd.to_owned()), ..Sources::of_process(paths.clone()) });
    Some((paths, loaded.config))
}

/// Prunes. Exits 0, or 1 when the answer was no or something is still there.
pub(super) async fn run(
    store: &Store,
    wanted: &PruneArgs,
    cwd: &Path,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<i32> {
    let Some((paths, config)) = home_of(store, cwd).await else {
        writeln!(err, "hermes: nothing is saved here: there is nothing to prune")?;
        return Ok(1);
    };
    let now = chrono::Utc::now().timestamp_millis();
    let before = wanted.older_than.map(|age| now - i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    let plan = Plan::of(store, &paths, &config, before).await?;
    if wanted.dry_run {
        if json {
            writeln!(out, "{}", value(&plan, None))?;
        } else {
            show(&plan, now, out)?;
        }
        return Ok(0);
    }
    if !json {
        show(&plan, now, out)?;
    }
    if plan.parts().is_empty() {
        if json {
            writeln!(out, "{}", value(&plan, Some(&Done::default())))?;
        }
        return Ok(0);
    }
    if !wanted.yes && !agreed(out)? {
        writeln!(out, "nothing deleted")?;
        return Ok(1);
    }
    let (all, mut told) = (plan.aged.sessions.len() as u64, Instant::now());
    let mut tell = |done: usize| {
        if told.elapsed() > TELL_EVERY {
            told = Instant::now();
            // Nobody may be there to read it.
            let _ = writeln!(std::io::stderr(), "{} of {}…", count(done as u64), plural(all, "session", "sessions"));
        }
    };
    let shown = json.then(|| plan.clone());
    let done = plan.carry_out(store, &paths, u64::MAX, &mut tell).await?;
    for (what, why) in &done.failed {
        writeln!(err, "hermes: not deleted: {what}: {why}")?;
    }
    match shown {
        Some(plan) => writeln!(out, "{}", value(&plan, Some(&done)))?,
        None => {
            let sessions = plural(done.sessions.len() as u64, "session", "sessions");
            writeln!(out, "deleted {sessions}; {} are free again", bytes(done.freed))?;
            if let Some(why) = &done.waits {
                writeln!(out, "the database did not shrink: {why}")?;
            }
        }
    }
    Ok(i32::from(!done.failed.is_empty()))
}

/// What would go and what stays, for a person.
fn show(plan: &Plan, now: i64, out: &mut dyn Write) -> Result<()> {
    let sessions = &plan.aged.sessions;
    if let (Some(newest), Some(oldest)) = (sessions.first(), sessions.last()) {
        let used = |row: &SessionRow| format!("last used {}", ago(row.updated_at, now));
        let name = |row: &SessionRow| one_line(row.title.as_deref().unwrap_or(&row.preview), 50);
        let line = |row: &SessionRow| format!("{}  {}  {}", short_id(&row.id), used(row), name(row));
        writeln!(out, "{} would go for good", plural(sessions.len() as u64, "session", "sessions"))?;
        if sessions.len() > 1 {
            writeln!(out, "  newest  {}\n  oldest  {}", line(newest), line(oldest))?;
        } else {
            writeln!(out, "  {}", line(newest))?;
        }
    }
    let aged = &plan.aged;
    let kept = [(aged.pinned, "pinned"), (aged.open, "open"), (aged.unsent, "with text that was not sent")];
    let kept: Vec<String> =
        kept.iter().filter(|(many, _)| *many > 0).map(|(many, why)| format!("{} {why}", count(*many))).collect();
    if !kept.is_empty() {
        writeln!(out, "old ones that stay: {}", kept.join(", "))?;
    }
    let parts = plan.parts();
    if parts.is_empty() {
        writeln!(out, "nothing to delete")?;
        return Ok(());
    }
    for part in &parts {
        let many = if part.count > 0 { count(part.count) } else { String::new() };
        writeln!(out, "  {:<24} {many:>8} {:>10}", part.kind, bytes(part.bytes))?;
    }
    writeln!(out, "  {:<24} {:>8} {:>10}", "about", "", bytes(plan.bytes()))?;
    Ok(())
}

/// For programs; `docs/CLI.md` has its shape.
fn value(plan: &Plan, done: Option<&Done>) -> Value {
    let aged = &plan.aged;
    let parts: Vec<Value> =
        plan.parts().iter().map(|part| json!({"kind": part.kind, "count": part.count, "bytes": part.bytes})).collect();
    let failed =
        |done: &Done| done.failed.iter().map(|(what, why)| json!({"what": what, "why": why})).collect::<Vec<_>>();
    json!({
        "version": 1, "dry_run": done.is_none(),
        "sessions": aged.sessions.iter().map(super::list::session_json).collect::<Vec<_>>(),
        "kept": {"pinned": aged.pinned, "open": aged.open, "unsent": aged.unsent},
        "parts": parts, "bytes": plan.bytes(),
        "deleted": done.map(|done| &done.sessions), "freed": done.map(|done| done.freed),
        "failed": done.map(failed), "waits": done.and_then(|done| done.waits.as_ref()),
    })
}

fn agreed(out: &mut dyn Write) -> Result<bool> {
    ensure!(std::io::stdin().is_terminal(), "pruning asks first; without a terminal, add --yes");
    write!(out, "Delete these? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

//! What happens by itself when the screen starts, behind its first frame: old sessions go where the configuration says so,
//! and whoever is over the budget is told once.

use super::{DAY, Plan, now};
use crate::config::{Config, Paths};
use crate::protocol::Level;
use crate::store::{Store, StoreError};
use crate::text::format::{bytes, plural};
use std::sync::Arc;
use std::time::Duration;

/// A larger database is not written anew beside a conversation: that would wait for it.
const SHRINK_BELOW: u64 = 32 << 20;
/// The name of what was told.
const TOLD: &str = "told:budget";

/// The start has the disk for itself first.
const AFTER: Duration = Duration::from_secs(2);

/// Prunes what is to go by itself; returns what a person should know of.
pub async fn at_start(store: &Store, paths: &Paths, config: &Arc<Config>) -> Option<(Level, String)> {
    tokio::time::sleep(AFTER).await;
    let done = tidy(store, paths, config).await;
    done.inspect_err(|error| tracing::warn!(%error, "could not look for what can go")).ok().flatten()
}

async fn tidy(store: &Store, paths: &Paths, config: &Arc<Config>) -> Result<Option<(Level, String)>, StoreError> {
    let days = i64::from(config.sessions.prune_after_days);
    if days > 0
        && let Some(plan) =
            look(paths, config, Some(now() - days * DAY)).await.filter(|plan| !plan.aged.sessions.is_empty())
    {
        let done = plan.carry_out(store, paths, SHRINK_BELOW, &mut |_| {}).await?;
        tracing::info!(sessions = done.sessions.len(), freed = done.freed, "pruned old sessions");
        if !done.sessions.is_empty() {
            let sessions = plural(done.sessions.len() as u64, "session", "sessions");
            let text = format!("deleted {sessions} not used for {days} days (sessions.prune_after_days)");
            return Ok(Some((Level::Info, text)));
        }
    }
    let Some(plan) = look(paths, config, None).await else { return Ok(None) };
    if !plan.is_over {
        store.is_news(TOLD, false).await?;
        return Ok(None);
    }
    // What can be made again goes first; no conversation does.
    if plan.bytes() > 0 {
        plan.carry_out(store, paths, SHRINK_BELOW, &mut |_| {}).await?;
    }
    let Some(plan) = look(paths, config, None).await else { return Ok(None) };
    if !plan.is_over || !store.is_news(TOLD, true).await? {
        return Ok(None);
    }
    Ok(Some((Level::Warning, words(plan.aged.taken, config.sessions.budget_bytes))))
}

/// Looks on a connection of its own: nobody who works with the store waits for it.
async fn look(paths: &Paths, config: &Arc<Config>, used_before: Option<i64>) -> Option<Plan> {
    let (paths, config) = (paths.clone(), config.clone());
    tokio::task::spawn_blocking(move || Plan::beside(&paths, &config, used_before)).await.ok().flatten()
}

/// That sessions take more than they may, and what to do.
pub fn words(taken: u64, most: u64) -> String {
    let (taken, most) = (bytes(taken), bytes(most));
    format!(
        "sessions take {taken}, more than sessions.budget_bytes ({most}): delete old ones with `hermes sessions prune --older-than 90d`"
    )
}

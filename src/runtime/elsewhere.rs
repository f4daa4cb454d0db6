//! Sessions of other agents for the screen: read off its thread.

use super::Context;
use super::loads::Facts;
use crate::app::model::types::SessionRow;
use crate::app::msg::LoadReply;
use crate::app::session::elsewhere::TakenOver;
use crate::elsewhere::{self, Agent, Found, Shelf, Taken, Wanted};
use crate::policy::redact::Secrets;

/// Rows of a list.
const LIMIT: usize = 200;
/// Entries of a preview: the end of the session.
const PREVIEW: usize = 20;

/// What the loads need.
#[derive(Clone)]
pub struct Elsewhere {
    pub shelf: Shelf,
    pub secrets: Secrets,
}

/// The list for a query.
pub(super) async fn list(context: &Context, query: String) -> Option<LoadReply> {
    let (shelf, words) = (context.elsewhere.shelf.clone(), query.clone());
    let work = move || shelf.list(&Wanted { words, here: None, limit: LIMIT });
    let listed = tokio::task::spawn_blocking(work).await.ok()?;
    let rows = listed.found.iter().map(row).collect();
    Some(LoadReply::Elsewhere { query, rows, more: listed.more, problems: listed.problems })
}

/// A session as the browser shows it: its key in place of an id, its agent next to the model.
fn row(found: &Found) -> SessionRow {
    let model = found.model.rsplit(['/', ':']).next().unwrap_or_default();
    SessionRow {
        id: found.key(),
        title: found.title.clone(),
        preview: found.prompt.chars().take(200).collect(),
        cwd: found.cwd.clone(),
        model: format!("{} {model}", found.agent.name()).trim_end().to_owned(),
        started_at: found.started_at,
        updated_at: found.updated_at,
        items: found.messages.unwrap_or_default(),
        ..SessionRow::default()
    }
}

/// The end of a session.
pub(super) async fn preview(context: &Context, key: String) -> Option<LoadReply> {
    let (of, wish) = (context.elsewhere.clone(), key.clone());
    let work = move || {
        let (word, id) = wish.trim_start_matches('@').split_once(':').unwrap_or_default();
        let agent = Agent::of_word(word).ok_or("no such agent")?;
        let found = of.shelf.by_id(agent, id)?;
        let mut items = elsewhere::read(&found, &of.secrets)?.items;
        Ok(items.split_off(items.len().saturating_sub(PREVIEW)))
    };
    let items = tokio::task::spawn_blocking(work).await.ok()?;
    Some(LoadReply::ElsewherePreview { key, items })
}

/// Takes over what a wish names.
pub(super) async fn take(context: &Context, facts: &Facts, wish: &str, here: &str) -> LoadReply {
    let of = &context.elsewhere;
    let taken = elsewhere::take(&facts.store, &of.shelf, &of.secrets, wish, here).await;
    LoadReply::TakenOver(taken.map(|taken| match taken {
        Taken::Session(id, told) => TakenOver::Session(id, told),
        Taken::Choose(words) => TakenOver::Choose(words),
    }))
}

/// The first migration; nothing to tell where there is none.
pub(super) async fn migrate(context: &Context, facts: &Facts) -> Option<LoadReply> {
    let home = context.paths.home.clone();
    let done = elsewhere::first(&home, &facts.store, &context.elsewhere.secrets).await?;
    Some(LoadReply::Migrated(done.map(|done| done.line("Python Hermes", false))))
}

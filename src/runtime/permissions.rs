//! Rules for the screen: the list, a command tried, a rule taken back.

use super::Context;
use super::loads::Facts;
use crate::agent::trial;
use crate::app::model::permissions::{Permissions, RuleRow};
use crate::app::msg::LoadReply;
use crate::config::load;
use crate::policy::Intent;
use crate::tools::builtin::terminal;
use crate::tools::rulebook as rules;
use crate::tools::world::LocalWorld;
use std::sync::Arc;

/// The rules that hold for the open session.
pub async fn list(context: &Context, facts: &Facts) -> LoadReply {
    let (rows, problems) = collect(context, facts).await;
    let rows = rows
        .iter()
        .map(|row| {
            let file = row.file.as_deref().and_then(std::path::Path::file_name);
            let name = file.map_or_else(|| "this session".to_owned(), |name| name.to_string_lossy().into_owned());
            RuleRow {
                number: row.number,
                action: row.action.to_owned(),
                rule: row.rule.clone(),
                place: row.place(),
                file: name,
                scope: row.scope.clone(),
                end: row.end(),
                who: row.who.clone(),
                of_session: row.file.is_none(),
            }
        })
        .collect();
    LoadReply::Permissions(Permissions { rows, problems, tried: None })
}

async fn collect(context: &Context, facts: &Facts) -> (Vec<rules::Row>, Vec<String>) {
    let session = match &facts.session {
        Some(session) => rules::granted(&facts.store, &session.id).await,
        None => Vec::new(),
    };
    let made = rules::made(&facts.store).await;
    let context = context.clone();
    let work = move || {
        let loaded = load::load(&context.sources);
        let rows = rules::collect(&context.paths, &loaded, &session, &made, crate::agent::now());
        let mut problems = rules::warnings(&loaded);
        if !context.policy.changes().is_empty() {
            let text = "the policy changed on disk: this list allows nothing until you accept the change (/policy)";
            problems.insert(0, text.into());
        }
        (rows, problems)
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

/// What the rules say to a command in the folder of the session.
pub async fn tried(command: String, context: &Context, facts: &Facts) -> LoadReply {
    let session = match &facts.session {
        Some(session) => rules::granted(&facts.store, &session.id).await,
        None => Vec::new(),
    };
    let mode = facts.session.as_ref().map_or(context.loaded.config.approvals.mode, |session| session.mode);
    let (context, cwd, line) = (context.clone(), facts.cwd.clone(), command.clone());
    let work = move || {
        let loaded = load::load(&context.sources);
        let world = LocalWorld::of_user(context.paths.root()).within(context.border.clone());
        let intent = Intent::Command { line, cwd: cwd.clone(), background: false };
        trial::explanation(&trial::judged(&intent, terminal::NAME, &loaded, session, &cwd, mode, &world))
    };
    let verdict = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| error.to_string());
    LoadReply::Tried { command, verdict }
}

/// Takes a rule back, when it still stands where it was shown.
pub async fn revoke(row: RuleRow, context: &Context, facts: &Facts) -> LoadReply {
    let (rows, _) = collect(context, facts).await;
    let same = |now: &&rules::Row| now.rule == row.rule && now.action == row.action && now.place() == row.place;
    let Some(found) = rows.iter().find(same).cloned() else {
        return LoadReply::Revoked(Err(format!("{} is no longer in {}", row.rule, row.place)));
    };
    let (paths, store) = (context.paths.clone(), facts.store.clone());
    let policy = Arc::clone(&context.policy);
    let done = tokio::task::spawn_blocking(move || policy.ours(|| rules::revoke(&paths, &found, &store))).await;
    LoadReply::Revoked(match done {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    })
}

//! What the time line of a session is made of: its items in pages, its terminals, and what a moment shows.

use super::Context;
use super::loads::Facts;
use crate::agent::replay::{beat, short};
use crate::app::msg::LoadReply;
use crate::protocol::{ItemId, RecordedTerminal, ReplayMoment, ReplayPage, SessionId, Stop};
use crate::recordings::{self, Head, Terminal};
use crate::text::Line;
use std::path::Path;

/// Items of a page: enough for most sessions, and read in a moment.
const PAGE: usize = 400;
/// Items whose text a moment shows.
const SHOWN: usize = 24;

/// A page of the time line.
pub async fn page(context: &Context, facts: &Facts, session: SessionId, before: Option<ItemId>) -> LoadReply {
    let page = read(context, facts, &session, before).await.map(Box::new);
    LoadReply::Replay { session, page }
}

async fn read(
    context: &Context,
    facts: &Facts,
    session: &SessionId,
    before: Option<ItemId>,
) -> Result<ReplayPage, String> {
    let about = facts.store.about(session).await.map_err(|error| error.to_string())?;
    let newest = ItemId(about.last_item.0 + 1);
    let found =
        facts.store.recorded(session, before.unwrap_or(newest), PAGE).await.map_err(|error| error.to_string())?;
    let (found, rewound) = found;
    let cwd = about.row.cwd.clone();
    let mut page = ReplayPage {
        title: about.row.title.unwrap_or(about.row.preview),
        beats: found.items.iter().map(|item| beat(item, rewound.get(&item.id).copied().unwrap_or(0), &cwd)).collect(),
        more: found.more,
        ..ReplayPage::default()
    };
    if before.is_none() {
        let (home, id) = (context.paths.home.clone(), session.0.clone());
        let terminals = tokio::task::spawn_blocking(move || recordings::terminals(&home, &id)).await;
        match terminals.map_err(std::io::Error::other).and_then(|found| found) {
            Ok(terminals) => page.terminals = terminals.into_iter().map(told).collect(),
            Err(error) => tracing::warn!("the recordings of {session} can't be read: {error}"),
        }
        // Diffs of file tools stand in their items.
        let changes = facts.store.changes(session).await.unwrap_or_default().into_iter();
        let commands = changes.filter(|change| change.command.is_some());
        page.changed = commands.map(|change| (change.at, short(&change.path.to_string_lossy(), &cwd))).collect();
    }
    Ok(page)
}

fn told(terminal: Terminal) -> RecordedTerminal {
    RecordedTerminal {
        key: (terminal.head.id.clone(), terminal.head.started_at),
        ended_at: terminal.last(),
        code: terminal.ended.map(|(_, code)| code),
        command: terminal.head.command,
        started_at: terminal.head.started_at,
        changes: terminal.changes,
    }
}

/// What a moment shows.
pub async fn moment(
    context: &Context,
    facts: &Facts,
    session: SessionId,
    stop: Stop,
    until: i64,
    terminals: Vec<(usize, (String, i64))>,
) -> LoadReply {
    let items = facts.store.seen_at(&session, stop.item.unwrap_or(ItemId(0)), SHOWN).await;
    let (home, id) = (context.paths.home.clone(), session.0.clone());
    let screens = tokio::task::spawn_blocking(move || screens(&home, &id, until, terminals)).await.unwrap_or_default();
    let moment = items.map(|items| ReplayMoment { items, screens }).map_err(|error| error.to_string());
    LoadReply::ReplayMoment { session, stop, moment }
}

fn screens(home: &Path, session: &str, until: i64, terminals: Vec<(usize, (String, i64))>) -> Vec<(usize, Vec<Line>)> {
    let screen = |(at, (id, started_at)): (usize, (String, i64))| {
        let head = Head { id, command: String::new(), started_at };
        let terminal = recordings::terminal(home, session, &head)?;
        Some((at, terminal.at(until)?.lines()))
    };
    terminals.into_iter().filter_map(screen).collect()
}

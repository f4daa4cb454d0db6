//! Commands that ran when their program was killed: what they changed is found when their session is opened again.

use super::commands::changes_of;
use crate::checkpoints::{Owed, Recorded};
use crate::protocol::SessionId;
use crate::store::{Command, FileChange, Store, StoreError};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What is always so of such a command.
const KILLED: &str =
    "Hermes was killed while it ran: what others changed until this session was opened again counts as its work";
/// Why nothing is known.
const UNKNOWN: &str = "what it changed: Hermes was killed while it ran";

/// Finds what these commands changed and writes it down; the workspace of `owed` is that of their session.
pub async fn settle(store: Store, session: SessionId, commands: Vec<Command>, owed: Owed) {
    let owed = Arc::new(owed);
    for command in commands {
        if let Err(error) = one(&store, &session, command, &owed).await {
            // It is asked for again the next time.
            tracing::warn!("what a command changed before a kill is not known yet: {error}");
        }
    }
}

async fn one(store: &Store, session: &SessionId, mut command: Command, owed: &Arc<Owed>) -> Result<(), StoreError> {
    let mut recorded = Recorded::default();
    match command.base.take() {
        None if command.gaps.is_empty() => command.gaps.push(format!("{UNKNOWN} before the folder had been saved")),
        // On another machine, or nothing was recorded: that is said already.
        None => {}
        Some(base) => {
            let (owed, began) = (Arc::clone(owed), command.at);
            let find = move || owed.changes(&base, began);
            match crate::tools::blocking(find).await {
                Ok(Ok(found)) => recorded = found,
                Ok(Err(why)) => command.gaps.push(format!("{UNKNOWN}; {why}")),
                // The program ends: the next one looks.
                Err(_) => return Ok(()),
            }
            if !recorded.changes.is_empty() {
                command.gaps.push(KILLED.to_owned());
            }
        }
    }
    let known = written(store, session, &command).await?;
    let mut changes = changes_of(&command, recorded.changes);
    changes.retain(|change| !known.contains(&(change.path.clone(), change.after.hash.clone())));
    command.gaps.extend(recorded.gaps);
    store.record_command(session, command, changes).await
}

/// What tools and other sessions left since it began is not its work: by path and hash.
async fn written(
    store: &Store,
    session: &SessionId,
    command: &Command,
) -> Result<HashSet<(PathBuf, Option<String>)>, StoreError> {
    let is_later = |change: &FileChange| change.at >= command.at && change.place.is_empty();
    let own = store.changes(session).await?.into_iter().filter(is_later).map(|change| (change.path, change.after.hash));
    let others = store.wrote_lately(session, command.at).await?;
    Ok(own.chain(others.into_iter().map(|wrote| (wrote.path, wrote.after))).collect())
}

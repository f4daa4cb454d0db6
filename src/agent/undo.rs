//! What undoing one command means: the commands there are, and a preview of one. Reads, changes nothing.

use super::rewind::{file, line, line_of};
use crate::protocol::{Fate, FileBack, FileKind, SessionId, UndoPoint, UndoPreview};
use crate::store::{Blobs, Command, FileChange, FileState, Store, StoreError, Wrote};
use crate::text::width::truncate_end;
use crate::tools::file::restore::undoing;
use crate::tools::file::restore_target::RestoreTarget;
use std::path::{Path, PathBuf};

/// Characters of a command that is shown to be read.
const WHOLE: usize = 4_000;
/// Columns of a command that changed a file later.
const SHORT: usize = 40;

/// The commands of a session that changed something, or of which that is not known; newest first.
pub async fn points(store: &Store, session: &SessionId) -> Result<Vec<UndoPoint>, StoreError> {
    let commands = store.commands(session, 0).await?;
    let told = commands.into_iter().filter(|command| command.files > 0 || !command.gaps.is_empty());
    let point = |command: Command| UndoPoint {
        command: command.key,
        at: command.at,
        call: command.call,
        line: line_of(&command.line, WHOLE),
        files: command.standing,
    };
    Ok(told.map(point).collect())
}

/// What undoing a command would do now. `None`: there is no such command. `ground` says where files can be looked at, and
/// the working folder there.
pub async fn preview(
    store: &Store,
    blobs: &Blobs,
    session: &SessionId,
    command: i64,
    ground: (&RestoreTarget, &Path),
) -> Result<Option<UndoPreview>, StoreError> {
    let Some(known) = store.command(session, command).await? else { return Ok(None) };
    let commands = store.commands(session, 0).await?;
    let changes = store.changes_of(session, command).await?;
    let mut later = later(&changes, &store.changes(session).await?, &commands);
    // What the session itself did is found first.
    later.splice(0..0, store.wrote_lately(session, known.at).await?.into_iter().rev().map(Later::of_another));
    let (blobs, cwd, ground) = (blobs.clone(), ground.1.to_owned(), ground.0.clone());
    let work = move || files_after(&changes, &later, &blobs, &cwd.canonicalize().unwrap_or(cwd), &ground);
    // A task that was ended with the program is missed by nobody.
    let files = tokio::task::spawn_blocking(work).await.unwrap_or_default();
    Ok(Some(UndoPreview { command, files, gaps: known.gaps }))
}

/// What somebody left at a path after a command, and who.
struct Later {
    place: String,
    path: PathBuf,
    after: FileState,
    by: String,
}

impl Later {
    fn of_another(wrote: Wrote) -> Self {
        let by = format!("another session: “{}”", truncate_end(&line(&wrote.title.unwrap_or(wrote.session.0)), SHORT));
        Self { place: String::new(), path: wrote.path, after: FileState { hash: wrote.after, mode: None }, by }
    }
}

fn later(changes: &[FileChange], all: &[FileChange], commands: &[Command]) -> Vec<Later> {
    let last = changes.iter().map(|change| change.at).max().unwrap_or_default();
    let own = changes.first().and_then(|change| change.command);
    let after = all.iter().filter(|change| change.at >= last && change.command != own);
    let by = |change: &FileChange| match commands.iter().find(|known| Some(known.key) == change.command) {
        Some(command) => format!("`{}`", truncate_end(&line(&command.line), SHORT)),
        None => "a later edit".to_owned(),
    };
    let later = |change: &FileChange| Later {
        place: change.place.clone(),
        path: change.path.clone(),
        after: change.after.clone(),
        by: by(change),
    };
    after.map(later).collect()
}

/// A line for each file, and one for both sides of a move.
pub fn files(changes: &[FileChange], blobs: &Blobs, cwd: &Path, ground: &RestoreTarget) -> Vec<FileBack> {
    files_after(changes, &[], blobs, cwd, ground)
}

/// The same; what the session itself changed later is told apart from the work of others.
fn files_after(
    changes: &[FileChange],
    later: &[Later],
    blobs: &Blobs,
    cwd: &Path,
    ground: &RestoreTarget,
) -> Vec<FileBack> {
    let backs = undoing(changes, blobs, ground);
    let of = |change: &FileChange| backs.iter().find(|back| back.path == change.path && back.place == change.place);
    let mut shown = Vec::new();
    let mut rest = changes;
    while let [first, more @ ..] = rest {
        rest = more;
        let Some(found) = of(first) else { continue };
        let mut back = file(found, blobs, cwd, ground);
        let is_of = |later: &&Later| {
            let is_now = || found.now.state().is_some_and(|now| now.is_like(&later.after));
            later.path == found.path && later.place == found.place && is_now()
        };
        if matches!(back.fate, Fate::Foreign(_))
            && let Some(Later { by, .. }) = later.iter().rev().find(is_of)
        {
            back.fate = Fate::Foreign(format!("changed later by {by}"));
        }
        if let Some(second) = more.first().filter(|second| FileChange::is_move(first, second))
            && let Some(made) = of(second).map(|made| file(made, blobs, cwd, ground))
            && (&back.fate, &made.fate) == (&Fate::Ready, &Fate::Ready)
        {
            let path = format!("{} → {}", made.path, back.path);
            shown.push(FileBack {
                path,
                kind: FileKind::Moved,
                added: 0,
                removed: 0,
                diff: String::new(),
                fate: Fate::Ready,
            });
            rest = &more[1..];
            continue;
        }
        shown.push(back);
    }
    shown
}

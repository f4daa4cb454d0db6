//! What commands change: told by the workspace around each, and written down when it has ended. That one begins is written
//! down before it does: a program that is killed leaves word of it (`settle`).

use super::diff::file_diff;
use super::history::FileHistory;
use crate::checkpoints::{FoundChange, Mark, Recorded};
use crate::lock::lock;
use crate::policy::redact::RedactKind;
use crate::protocol::FileDiff;
use crate::store::{Blobs, Command, FOLDER, FileChange};
use crate::text::format::plural;
use crate::tools::spec::{Progress, ToolCtx};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long the first command in a folder waits for it to be saved as it is. A large one takes longer: its first commands
/// are recorded in part, and say so.
const WAIT: Duration = Duration::from_secs(1);

/// Files that are counted of one command, and those of them whose lines are.
const COUNTED: usize = 500;
const COMPARED: usize = 64;

/// A command that runs.
pub struct CommandRecorder {
    history: FileHistory,
    command: Command,
    /// `None`: nothing of it is seen, and `command.gaps` says why.
    mark: Option<Mark>,
}

/// Commands of a session that run on after their calls, each written down when it ends, at the latest with the session.
#[derive(Clone, Default)]
pub struct Unended(Arc<Mutex<HashMap<u64, CommandRecorder>>>);

impl Unended {
    /// The session is closed: what these changed until now is written down, and that they went on.
    pub async fn end_all(&self) {
        let all: Vec<CommandRecorder> = std::mem::take(&mut *lock(&self.0)).into_values().collect();
        for mut recorder in all {
            recorder.command.gaps.push("what it changed after its session was closed".to_owned());
            recorder.end().await;
        }
    }
}

impl CommandRecorder {
    /// It runs on after its call: it is written down once `exited`, or when its session is closed before.
    pub async fn end_after(mut self, exited: impl Future<Output = ()>) {
        // The list must not hold itself.
        let unended = std::mem::take(&mut self.history.unended);
        let number = {
            let mut all = lock(&unended.0);
            let number = all.keys().max().map_or(0, |last| last + 1);
            all.insert(number, self);
            number
        };
        exited.await;
        let ended = lock(&unended.0).remove(&number);
        if let Some(recorder) = ended {
            recorder.end().await;
        }
    }

    /// A command is about to start: this is in the store when it is returned. `place`: the other machine that it runs on. `None`: there is no session to go back in.
    pub async fn begin(ctx: &ToolCtx, line: &str, cwd: &Path, place: Option<String>) -> Option<Self> {
        let history = ctx.history.clone()?;
        let mut command = Command {
            turn: history.turn,
            at: chrono::Utc::now().timestamp_millis(),
            call: ctx.call_id.clone(),
            // With masks that name themselves, as in the conversation.
            line: match &history.secrets {
                Some(secrets) => secrets.mask(line, RedactKind::FileRead).into_owned(),
                None => line.to_owned(),
            },
            ..Command::default()
        };
        if let Some(place) = place {
            command.gaps.push(format!("what it changed on {place}: only file tools are recorded there"));
            return Some(Self { history, command, mark: None }.begun().await);
        }
        let (workspace, cwd, by) = (Arc::clone(&history.workspace), cwd.to_owned(), history.listener);
        let begin = move || {
            workspace.prepare();
            let wait = if workspace.has_begun() { Duration::ZERO } else { WAIT };
            let begun = workspace.ready(wait).and_then(|_| workspace.begin(by));
            let cwd = cwd.canonicalize().unwrap_or(cwd);
            (begun, !cwd.starts_with(workspace.root()), cwd, workspace.progress())
        };
        let (begun, is_outside, cwd, progress) = crate::tools::blocking(begin).await.ok()?;
        if let Some(files) = progress {
            // Lossy by contract: the next command says it again.
            let line = format!("saving the folder for undo: {} so far", plural(files as u64, "file", "files"));
            ctx.progress.try_send(Progress::Line(line)).ok();
        }
        if is_outside {
            let root = history.workspace.root().display();
            command.gaps.push(format!("what it changed in {}: only {root} is recorded", cwd.display()));
        }
        let mark = match begun {
            Ok(mark) => Some(mark),
            Err(why) => {
                command.gaps.push(format!("what it changed: {why}"));
                None
            }
        };
        command.base = mark.as_ref().and_then(Mark::base);
        Some(Self { history, command, mark }.begun().await)
    }

    async fn begun(self) -> Self {
        if let Err(error) = self.history.store.begin_command(&self.history.session, self.command.clone()).await {
            tracing::warn!("what a command changes will not be known when the program is killed: {error}");
        }
        self
    }

    /// It has ended: what it changed is written down. Returns the files, with the lines that came and went.
    pub async fn end(self) -> Vec<FileDiff> {
        let Self { history, mut command, mark } = self;
        let recorded = match mark {
            Some(mark) => crate::tools::blocking(move || mark.end()).await.unwrap_or_default(),
            None => Recorded::default(),
        };
        command.gaps.extend(recorded.gaps);
        let changes = changes_of(&command, recorded.changes);
        let (blobs, root, all) = (history.blobs.clone(), history.workspace.root().to_owned(), changes.clone());
        let count = move || counted(&all, &blobs, &root);
        // A task that was ended with the program is missed by nobody.
        let files = crate::tools::blocking(count).await.unwrap_or_default();
        if let Err(error) = history.store.record_command(&history.session, command.clone(), changes).await {
            tracing::warn!("what a command changed can't be undone: {error}");
        }
        files
    }
}

/// As they are written down.
pub(super) fn changes_of(command: &Command, found: Vec<FoundChange>) -> Vec<FileChange> {
    let change = |found: FoundChange| FileChange {
        turn: command.turn,
        at: found.at,
        call: command.call.clone(),
        place: String::new(),
        path: found.path,
        before: found.before,
        size: found.size,
        after: found.after,
        command: None,
    };
    found.into_iter().map(change).collect()
}

/// The files of changes, a moved one by its new name.
fn counted(changes: &[FileChange], blobs: &Blobs, root: &Path) -> Vec<FileDiff> {
    let is_file = |change: &&FileChange| [&change.before, &change.after].iter().all(|state| state.kind() != FOLDER);
    let leaves =
        |path: &Path| changes.windows(2).any(|pair| pair[0].path == path && FileChange::is_move(&pair[0], &pair[1]));
    let files = changes.iter().filter(is_file).filter(|change| !leaves(&change.path)).take(COUNTED);
    let bytes = |hash: &Option<String>| hash.as_ref().and_then(|hash| blobs.read(hash).ok().flatten());
    let one = |(at, change): (usize, &FileChange)| {
        let path = change.path.strip_prefix(root).unwrap_or(&change.path).display().to_string();
        let moved =
            changes.windows(2).any(|pair| pair[1].path == change.path && FileChange::is_move(&pair[0], &pair[1]));
        if at >= COMPARED || moved {
            return FileDiff { path, ..FileDiff::default() };
        }
        let (before, after) = (bytes(&change.before.hash), bytes(&change.after.hash));
        FileDiff { unified: String::new(), ..file_diff(&path, before.as_deref(), after.as_deref()) }
    };
    files.enumerate().map(one).collect()
}

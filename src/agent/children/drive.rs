//! Runs children: opens each when there is room, follows what it tells, and ends it.

use super::processes;
use super::tree::{self, Place};
use super::{ChildOf, Family, task};
use crate::agent::children::outcome;
use crate::agent::spec::SessionLimits;
use crate::lock::lock;
use crate::protocol::{
    AgentCommand, AgentEvent, Body, ChildRow, ChildState, Item, Level, NoteKind, SessionId, ToolStart, TurnEnd,
    TurnOutcome, Usage,
};
use crate::text::format;
use crate::tools::children::{Batch, ChildResult, LeftWorktree, Task};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a stopped child may take to say so.
const PATIENCE: Duration = Duration::from_millis(900);

/// Runs a batch to its end.
pub async fn all(family: &Arc<Family>, batch: &Batch, numbers: &[u64], over: &CancellationToken) {
    let each = batch.tasks.iter().zip(numbers).map(|(task, number)| one(family, batch, task, *number, over));
    futures::future::join_all(each).await;
}

async fn one(family: &Arc<Family>, batch: &Batch, task: &Task, number: u64, over: &CancellationToken) {
    let stop = family.stop_of(number);
    let ends = async {
        tokio::select! {
            () = stop.cancelled() => {}
            () = over.cancelled() => {}
            () = batch.cancel.cancelled() => {}
        }
    };
    let mut ends = std::pin::pin!(ends);
    let slots = Arc::clone(&lock(&family.slots).1);
    let permit = tokio::select! {
        biased;
        () = &mut ends => None,
        permit = slots.acquire_owned() => permit.ok(),
    };
    let Some(_permit) = permit else {
        let error = "stopped before it began".to_owned();
        return over_with(family, batch, number, ChildState::Stopped, Watched { error, ..Watched::default() }).await;
    };
    let now = lock(&family.now).clone();
    let mut placing = tokio::spawn(tree::place(task.clone(), now.clone(), family.parent.id.clone(), number));
    let placed = tokio::select! {
        biased;
        () = &mut ends => {
            // Git can't be stopped halfway: what it makes goes when it is done.
            tokio::spawn(async move {
                if let Ok(Ok(Place { tree: Some(tree), .. })) = placing.await {
                    tree::left(tree).await;
                }
            });
            Err((ChildState::Stopped, "stopped before it began".to_owned()))
        }
        placed = &mut placing => match placed {
            Ok(placed) => placed.map_err(|error| (ChildState::Failed, error)),
            Err(error) => Err((ChildState::Failed, error.to_string())),
        },
    };
    let place = match placed {
        Ok(place) => place,
        Err((state, error)) => {
            return over_with(family, batch, number, state, Watched { error, ..Watched::default() }).await;
        }
    };
    let (mut spec, cut) = task::spec(task, &now, family.depth());
    if let Some(cwd) = place.cwd {
        spec.cwd = cwd;
    }
    if let Some(tree) = &place.tree {
        spec.instructions.push_str(&tree::words(tree));
    }
    let limits = spec.limits;
    spec.parent = Some(family.parent.id.clone());
    spec.child = Some(ChildOf { name: family.name(number), family: Arc::clone(family) });
    let (id, events) = family.parent.opener.open(spec);
    family.parent.opener.order(&id, AgentCommand::Told(task.goal.clone()));
    family.change(number, |row| {
        (row.session, row.state, row.began) = (Some(id.clone()), ChildState::Working, crate::agent::now());
        row.worktree = place.tree.as_ref().map(tree::row);
    });
    family.owe_more(number).await;
    let notes = [place.note, cut].into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>();
    let seen = Watched { note: notes.join("; "), ..Watched::default() };
    let known = family.parent.gate.untrusted().origins;
    let mut follow = Follow { family, number, id, limits, events, seen, known };
    let state = follow.until_over(ends).await;
    let Follow { id, events, mut seen, .. } = follow;
    family.parent.opener.order(&id, AgentCommand::Close { cleared: false });
    // What it still tells while it is saved is nobody's; room is made for it.
    drain(events).await;
    seen.processes = processes::left(&family.parent.exec, &id).await;
    if let Some(tree) = place.tree {
        seen.worktree = tree::left(tree).await;
    }
    over_with(family, batch, number, state, seen).await;
}

/// Until the session is over, or for a moment: its end needs nobody.
async fn drain(mut events: mpsc::Receiver<AgentEvent>) {
    let gone = async { while events.recv().await.is_some() {} };
    if tokio::time::timeout(PATIENCE, gone).await.is_err() {
        tracing::warn!("a child takes long to close");
    }
}

async fn over_with(family: &Family, batch: &Batch, number: u64, state: ChildState, mut seen: Watched) {
    let most = lock(&family.now).config.max_summary_chars;
    let share = batch.room / 2 / batch.tasks.len().max(1);
    let most = most.min(share.max(outcome::SHORTEST));
    let (answer, spill) = (std::mem::take(&mut seen.answer), batch.spill.clone());
    let bounded = tokio::task::spawn_blocking(move || outcome::bounded(&answer, most, &spill, number));
    let summary = bounded.await.unwrap_or_default();
    let at = crate::agent::now();
    let left = seen.worktree.as_ref().map(tree::left_row);
    let end = |row: &mut ChildRow| {
        (row.state, row.doing, row.ended) = (state, String::new(), at);
        row.worktree.clone_from(&left);
        if row.began == 0 {
            row.began = at;
        }
    };
    // The result comes first: whoever waits looks for it when the row changes.
    {
        let mut kin = lock(&family.kin);
        let Some(child) = kin.iter_mut().find(|child| child.number == number) else { return };
        let mut row = child.row.clone();
        end(&mut row);
        let Watched { files, commands, error, worktree, note, processes, strangers, .. } = seen;
        let found = ChildResult { row, summary, files, commands, error, worktree, note, processes, strangers };
        child.result = Some(found);
    }
    // Written down before anybody is told of it.
    family.owe_more(number).await;
    family.change(number, end);
}

/// What was seen of a child.
#[derive(Debug, Default)]
struct Watched {
    answer: String,
    files: Vec<(String, u32, u32)>,
    commands: usize,
    error: String,
    worktree: Option<LeftWorktree>,
    note: String,
    /// What became of its processes in the background.
    processes: Vec<String>,
    /// Whose text it read.
    strangers: Vec<String>,
    /// Why its turn ended, as its conversation says it.
    why: String,
}

struct Follow<'a> {
    family: &'a Arc<Family>,
    number: u64,
    id: SessionId,
    limits: SessionLimits,
    events: mpsc::Receiver<AgentEvent>,
    seen: Watched,
    /// Strangers whose text its parent had read already.
    known: Vec<String>,
}

impl Follow<'_> {
    async fn until_over(&mut self, ends: impl Future<Output = ()>) -> ChildState {
        let mut ends = std::pin::pin!(ends);
        let (began, clock) = (Instant::now(), self.family.clock_of(self.number));
        let mut changes = self.family.changed.subscribe();
        let mut stopping: Option<(Instant, ChildState)> = None;
        loop {
            // Its time stands still while a question of it is open.
            let waits = clock.is_open() && stopping.is_none();
            let limit = self.limits.time.filter(|_| !waits).map(|time| began + time + clock.total());
            let deadline = stopping.map(|(at, _)| at).or(limit);
            let timer = async {
                match deadline {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = &mut ends, if stopping.is_none() => {
                    self.stop();
                    self.seen.error = "stopped".into();
                    stopping = Some((Instant::now() + PATIENCE, ChildState::Stopped));
                }
                () = timer => match stopping {
                    Some((_, state)) => return state,
                    None => {
                        self.stop();
                        let seconds = self.limits.time.unwrap_or_default().as_secs();
                        self.seen.error = format!("it took longer than {seconds} s and was stopped");
                        stopping = Some((Instant::now() + PATIENCE, ChildState::Limit));
                    }
                },
                changed = changes.changed(), if self.limits.time.is_some() => {
                    // The question was asked or answered: the end is another one.
                    if changed.is_err() {
                        self.seen.error = "its parent is gone".into();
                        return ChildState::Stopped;
                    }
                }
                event = self.events.recv() => {
                    let Some(event) = event else {
                        self.seen.error = "it ended without a word; see `hermes logs`".into();
                        return stopping.map_or(ChildState::Failed, |(_, state)| state);
                    };
                    let why = stopping.is_some().then(|| self.seen.error.clone());
                    if let Some(state) = self.heard(event) {
                        // It was stopped: how its turn took that says less.
                        self.seen.error = why.unwrap_or_else(|| std::mem::take(&mut self.seen.error));
                        return stopping.map_or(state, |(_, state)| state);
                    }
                }
            }
        }
    }

    fn stop(&self) {
        self.family.parent.opener.order(&self.id, AgentCommand::Stop { force: true });
    }

    /// Its end, when this is it.
    fn heard(&mut self, event: AgentEvent) -> Option<ChildState> {
        match event {
            AgentEvent::SessionOpened { session, .. } => {
                self.family.change(self.number, |row| row.model.clone_from(&session.model));
            }
            AgentEvent::SessionChanged(info) => {
                self.seen.strangers = info.untrusted.into_iter().filter(|name| !self.known.contains(name)).collect();
            }
            AgentEvent::StepStarted { step } => self.family.change(self.number, |row| row.steps = step),
            AgentEvent::ToolStarted(ToolStart { verb, target, .. }) => {
                let doing = format!("{verb} {target}").trim().to_owned();
                self.family.change(self.number, |row| row.doing = doing);
            }
            AgentEvent::ItemFinished(item) => self.item(item),
            AgentEvent::UsageChanged(meter) => self.used(meter.total),
            AgentEvent::Notice { level: Level::Error, text } => self.seen.error = text,
            AgentEvent::NotTaken(why) => {
                self.seen.error = why;
                return Some(ChildState::Failed);
            }
            AgentEvent::NotOpened => {
                if self.seen.error.is_empty() {
                    self.seen.error = "its session could not be opened".into();
                }
                return Some(ChildState::Failed);
            }
            AgentEvent::TurnFinished(outcome) => return Some(self.finished(outcome)),
            _ => {}
        }
        None
    }

    fn used(&self, total: Usage) {
        let tokens = self.limits.tokens.map(|most| most.saturating_sub(total.input + total.output));
        let left = match (tokens, self.limits.cost) {
            (Some(left), _) => {
                format!("{} tokens left", format::tokens(i64::try_from(left).unwrap_or(i64::MAX)))
            }
            (None, Some(most)) => format!("{} left", format::dollars((most - total.cost.unwrap_or_default()).max(0.0))),
            (None, None) => String::new(),
        };
        self.family.change(self.number, |row| (row.used, row.left) = (total, left));
    }

    fn item(&mut self, item: Item) {
        match item.body {
            Body::Assistant(step) => {
                if !step.text.trim().is_empty() {
                    self.seen.answer = step.text;
                }
            }
            Body::Tool(result) => {
                self.family.change(self.number, |row| row.doing.clear());
                for diff in result.view.diffs.iter().chain(&result.view.changed) {
                    match self.seen.files.iter_mut().find(|(path, ..)| *path == diff.path) {
                        Some((_, added, removed)) => {
                            (*added, *removed) = (*added + diff.added, *removed + diff.removed)
                        }
                        None => self.seen.files.push((diff.path.clone(), diff.added, diff.removed)),
                    }
                }
                self.seen.commands += usize::from(result.view.exit_code.is_some());
            }
            Body::Note { kind: NoteKind::Interrupted | NoteKind::Warning | NoteKind::Error, text } => {
                self.seen.why = text;
            }
            Body::User { .. } | Body::Summary(_) | Body::Note { .. } => {}
        }
    }

    fn finished(&mut self, outcome: TurnOutcome) -> ChildState {
        self.family.change(self.number, |row| row.steps = outcome.steps.max(row.steps));
        match outcome.end {
            TurnEnd::Completed if self.seen.answer.trim().is_empty() => {
                self.seen.error = "it gave no answer".into();
                ChildState::Failed
            }
            TurnEnd::Completed => {
                self.seen.error.clear();
                ChildState::Completed
            }
            TurnEnd::Stopped => {
                self.seen.error = std::mem::take(&mut self.seen.why);
                ChildState::Stopped
            }
            TurnEnd::Limit => {
                // What a person could do about it is nothing for the parent.
                let why = self.seen.why.split(" (--").next().unwrap_or_default();
                self.seen.error = why.split("; say ").next().unwrap_or_default().to_owned();
                ChildState::Limit
            }
            TurnEnd::Provider(why) | TurnEnd::Error(why) => {
                self.seen.error = why;
                ChildState::Failed
            }
        }
    }
}

//! Runs children: opens each when there is room, follows what it tells, and ends it.

use super::tree::{self, Place};
use super::{ChildOf, Family, task};
use crate::agent::children::outcome;
use crate::agent::spec::SessionLimits;
use crate::lock::lock;
use crate::protocol::{
    AgentCommand, AgentEvent, Body, ChildRow, ChildState, Item, Level, SessionId, ToolStart, TurnEnd, TurnOutcome,
    Usage,
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
        return over_with(family, batch, number, ChildState::Stopped, Watched { error, ..Watched::default() });
    };
    let now = lock(&family.now).clone();
    let mut placing = tokio::spawn(tree::place(task.clone(), now.clone(), family.parent.clone(), number));
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
        Err((state, error)) => return over_with(family, batch, number, state, Watched { error, ..Watched::default() }),
    };
    let mut spec = task::spec(task, &now, family.depth());
    if let Some(cwd) = place.cwd {
        spec.cwd = cwd;
    }
    if let Some(tree) = &place.tree {
        spec.instructions.push_str(&tree::words(tree));
    }
    let limits = spec.limits;
    let name = format!("child {number}");
    spec.parent = Some(family.parent.clone());
    spec.child = Some(ChildOf { name, family: Arc::clone(family) });
    let (id, events) = family.opener.open(spec);
    family.opener.order(&id, AgentCommand::Submit { text: task.goal.clone(), images: Vec::new() });
    family.change(number, |row| {
        (row.session, row.state, row.began) = (Some(id.clone()), ChildState::Working, crate::agent::now());
    });
    let seen = Watched { note: place.note, ..Watched::default() };
    let mut follow = Follow { family, number, id, limits, events, seen };
    let state = follow.until_over(ends).await;
    let Follow { id, events, mut seen, .. } = follow;
    family.opener.order(&id, AgentCommand::Close { cleared: false });
    // What it still tells while it is saved is nobody's; room is made for it.
    drain(events).await;
    if let Some(tree) = place.tree {
        seen.worktree = tree::left(tree).await;
    }
    over_with(family, batch, number, state, seen);
}

/// Until the session is over, or for a moment: its end needs nobody.
async fn drain(mut events: mpsc::Receiver<AgentEvent>) {
    let gone = async { while events.recv().await.is_some() {} };
    if tokio::time::timeout(PATIENCE, gone).await.is_err() {
        tracing::warn!("a child takes long to close");
    }
}

fn over_with(family: &Family, batch: &Batch, number: u64, state: ChildState, seen: Watched) {
    let now = lock(&family.now).clone();
    let share = batch.room / 2 / batch.tasks.len().max(1);
    let most = now.config.max_summary_chars.min(share.max(outcome::SHORTEST));
    let summary = outcome::bounded(&seen.answer, most, &batch.spill, number);
    let at = crate::agent::now();
    let end = |row: &mut ChildRow| {
        (row.state, row.doing, row.ended) = (state, String::new(), at);
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
        let Watched { files, commands, error, worktree, note, .. } = seen;
        child.result = Some(ChildResult { row, summary, files, commands, error, worktree, note });
    }
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
}

struct Follow<'a> {
    family: &'a Arc<Family>,
    number: u64,
    id: SessionId,
    limits: SessionLimits,
    events: mpsc::Receiver<AgentEvent>,
    seen: Watched,
}

impl Follow<'_> {
    async fn until_over(&mut self, ends: impl Future<Output = ()>) -> ChildState {
        let mut ends = std::pin::pin!(ends);
        let limit = self.limits.time.map(|time| Instant::now() + time);
        let mut stopping: Option<(Instant, ChildState)> = None;
        loop {
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
                event = self.events.recv() => {
                    let Some(event) = event else {
                        self.seen.error = "it ended without a word; see `hermes logs`".into();
                        return stopping.map_or(ChildState::Failed, |(_, state)| state);
                    };
                    if let Some(state) = self.heard(event) {
                        return stopping.map_or(state, |(_, state)| state);
                    }
                }
            }
        }
    }

    fn stop(&self) {
        self.family.opener.order(&self.id, AgentCommand::Stop { force: true });
    }

    /// Its end, when this is it.
    fn heard(&mut self, event: AgentEvent) -> Option<ChildState> {
        match event {
            AgentEvent::SessionOpened { session, .. } => {
                self.family.change(self.number, |row| row.model.clone_from(&session.model));
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
                self.seen.error = "stopped".into();
                ChildState::Stopped
            }
            TurnEnd::Limit => {
                self.seen.error = "its steps are used up; what it has is above".into();
                ChildState::Limit
            }
            TurnEnd::Provider(why) | TurnEnd::Error(why) => {
                self.seen.error = why;
                ChildState::Failed
            }
        }
    }
}

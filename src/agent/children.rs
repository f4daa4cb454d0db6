//! Children of a session: sessions of the engine that work for it, within its limits, and whose questions reach its inbox.
//!
//! A child ends before its parent: when the call that waits for it is stopped, when the parent's turn is, and when the
//! parent is closed.

mod drive;
mod kin;
mod outcome;
mod task;
#[cfg(test)]
mod tests;
mod tree;

pub use kin::Relatives;

use super::budget::purse::Purse;
use super::handle::{AgentHandle, AgentRequest};
use super::spec::{SessionLimits, SessionSpec};
use super::worktree::Worktrees;
use crate::config::DelegationConfig;
use crate::lock::lock;
use crate::protocol::{AgentCommand, AgentEvent, ChildRow, ChildState, Mode, SessionId, Usage};
use crate::tools::children::{Batch, ChildResult, Children};
use crate::tools::gate::Gate;
use futures::future::BoxFuture;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Stored with a child: what lists leave out.
pub const ORIGIN: &str = "child";
/// Children that are remembered after their end.
const REMEMBERED: usize = 100;

/// Who opens sessions: the engine.
pub trait Opener: Send + Sync {
    /// Opens a session; what it tells comes here as well as to whoever watches all.
    fn open(&self, spec: SessionSpec) -> (SessionId, mpsc::Receiver<AgentEvent>);
    /// Gives it an order.
    fn order(&self, id: &SessionId, command: AgentCommand);
}

/// Whose child a session is.
#[derive(Clone)]
pub struct ChildOf {
    /// What its questions say it is called.
    pub name: String,
    pub family: Arc<Family>,
}

impl fmt::Debug for ChildOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildOf").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a child begins with, as its parent is now.
#[derive(Clone, Debug, Default)]
pub struct Now {
    pub config: DelegationConfig,
    pub cwd: PathBuf,
    /// Where a sandbox is open, and what the parent was opened in.
    pub workspace: PathBuf,
    pub model: Option<String>,
    pub mode: Mode,
    /// Names of the toolsets that the parent has, each with its tools.
    pub toolsets: Vec<String>,
    /// Names of its tools.
    pub tools: Arc<BTreeSet<String>>,
    /// What is left of the parent's limits.
    pub left: SessionLimits,
    /// Where worktrees are made; `None`: it works on another machine.
    pub worktrees: Option<Worktrees>,
}

/// The children of one session.
pub struct Family {
    parent: SessionId,
    /// 0: the session of a person.
    depth: u32,
    opener: Arc<dyn Opener>,
    handle: Arc<AgentHandle>,
    gate: Arc<Gate>,
    purse: Purse,
    now: Mutex<Now>,
    slots: Mutex<(usize, Arc<Semaphore>)>,
    kin: Mutex<Vec<Kin>>,
    /// What those used that are no longer remembered.
    forgotten: Mutex<Usage>,
    /// How often a row changed.
    changed: watch::Sender<u64>,
    /// The parent is stopped or closed: whatever works ends.
    over: Mutex<CancellationToken>,
}

/// One child.
struct Kin {
    number: u64,
    call_id: String,
    row: ChildRow,
    stop: CancellationToken,
    result: Option<ChildResult>,
}

impl Family {
    /// Of a session that works at this depth.
    pub fn new(
        parent: SessionId,
        depth: u32,
        opener: Arc<dyn Opener>,
        handle: Arc<AgentHandle>,
        gate: Arc<Gate>,
        purse: Purse,
    ) -> Self {
        Self {
            parent,
            depth,
            opener,
            handle,
            gate,
            purse,
            now: Mutex::default(),
            slots: Mutex::new((0, Arc::new(Semaphore::new(0)))),
            kin: Mutex::default(),
            forgotten: Mutex::default(),
            changed: watch::channel(0).0,
            over: Mutex::default(),
        }
    }

    /// The depth of its children.
    pub fn depth(&self) -> u32 {
        self.depth + 1
    }

    /// What the parent answers with, spends and has allowed.
    pub fn parts(&self) -> (&AgentHandle, &Gate, &Purse) {
        (&self.handle, &self.gate, &self.purse)
    }

    /// What the children used counts as the parent's.
    pub fn add_to(&self, used: &mut Usage) {
        plus(used, &lock(&self.forgotten));
        for child in lock(&self.kin).iter() {
            plus(used, &child.row.used);
        }
    }

    /// The parent is like this now.
    pub fn learn(&self, now: Now) {
        let room = now.config.max_concurrent_children.max(1);
        let mut slots = lock(&self.slots);
        if slots.0 != room {
            *slots = (room, Arc::new(Semaphore::new(room)));
        }
        drop(slots);
        *lock(&self.now) = now;
    }

    /// The parent's mode changed: that of its children, too.
    pub fn set_mode(&self, mode: Mode) {
        lock(&self.now).mode = mode;
        for id in self.working() {
            self.opener.order(&id, AgentCommand::SetMode(mode));
        }
    }

    /// A question of a child is open, or answered.
    pub fn asks(&self, name: &str, open: bool) {
        let Some((number, _)) = self.find(name, true) else { return };
        self.change(number, |row| row.state = if open { ChildState::Asks } else { ChildState::Working });
    }

    fn working(&self) -> Vec<SessionId> {
        let kin = lock(&self.kin);
        kin.iter().filter(|child| !child.row.state.is_over()).filter_map(|child| child.row.session.clone()).collect()
    }

    /// Ends all children; those that begin later work.
    pub fn stop_all(&self) {
        std::mem::take(&mut *lock(&self.over)).cancel();
    }

    /// Waits until none works any more.
    pub async fn ended(&self) {
        let mut changes = self.changed.subscribe();
        while lock(&self.kin).iter().any(|child| !child.row.state.is_over()) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Changes a row and shows all of its call.
    fn change(&self, number: u64, change: impl FnOnce(&mut ChildRow)) {
        let shown = {
            let mut kin = lock(&self.kin);
            let Some(child) = kin.iter_mut().find(|child| child.number == number) else { return };
            let before = child.row.clone();
            change(&mut child.row);
            if child.row == before {
                return;
            }
            let call_id = child.call_id.clone();
            let rows = kin.iter().filter(|child| child.call_id == call_id).map(|child| child.row.clone()).collect();
            AgentEvent::Children { call_id, rows }
        };
        self.changed.send_modify(|count| *count += 1);
        self.handle.tell(AgentRequest::Event(Box::new(shown)));
    }

    /// Those with this name or id; the newest first.
    fn find(&self, child: &str, works: bool) -> Option<(u64, Option<SessionId>)> {
        let kin = lock(&self.kin);
        let fits = |one: &&Kin| {
            (one.row.name == child || one.row.session.as_ref().is_some_and(|id| id.0 == child))
                && !(works && one.row.state.is_over())
        };
        kin.iter().rev().find(fits).map(|one| (one.number, one.row.session.clone()))
    }

    fn working_child(&self, child: &str) -> Result<(u64, SessionId), String> {
        match self.find(child, true) {
            Some((number, Some(id))) => Ok((number, id)),
            Some((_, None)) => Err(format!("{child} has not begun yet")),
            None if self.find(child, false).is_some() => {
                Err(format!("{child} has ended; its result says what came of it"))
            }
            None => Err(format!("there is no child {child}; list shows them")),
        }
    }

    /// Adds the children of a batch; their numbers.
    fn add(&self, batch: &Batch) -> Vec<u64> {
        let mut kin = lock(&self.kin);
        let first = kin.last().map_or(1, |child| child.number + 1);
        let model = lock(&self.now).clone();
        for (at, task) in batch.tasks.iter().enumerate() {
            let number = first + at as u64;
            let row = ChildRow {
                name: format!("child {number}"),
                goal: task.goal.clone(),
                model: model.model.clone().unwrap_or_default(),
                ..ChildRow::default()
            };
            let (call_id, stop) = (batch.call_id.clone(), CancellationToken::new());
            kin.push(Kin { number, call_id, row, stop, result: None });
        }
        let mut left = kin.len().saturating_sub(REMEMBERED);
        let mut forgotten = lock(&self.forgotten);
        kin.retain(|child| {
            let goes = left > 0 && child.row.state.is_over();
            if goes {
                left -= 1;
                plus(&mut forgotten, &child.row.used);
            }
            !goes
        });
        (first..first + batch.tasks.len() as u64).collect()
    }

    fn stop_of(&self, number: u64) -> CancellationToken {
        let kin = lock(&self.kin);
        kin.iter().find(|child| child.number == number).map(|child| child.stop.clone()).unwrap_or_default()
    }

    fn results(&self, numbers: &[u64]) -> Vec<ChildResult> {
        let kin = lock(&self.kin);
        let of = |number: &u64| kin.iter().find(|child| child.number == *number);
        numbers
            .iter()
            .filter_map(of)
            .map(|child| {
                child.result.clone().unwrap_or_else(|| ChildResult { row: child.row.clone(), ..ChildResult::default() })
            })
            .collect()
    }
}

/// Adds what counts for limits.
fn plus(sum: &mut Usage, more: &Usage) {
    sum.input += more.input;
    sum.output += more.output;
    sum.cost = match (sum.cost, more.cost) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
}

/// The family as the tools see it.
pub struct Ties(pub Arc<Family>);

impl Children for Ties {
    fn limits(&self) -> (usize, u32) {
        let now = lock(&self.0.now);
        (now.config.max_concurrent_children, now.config.max_spawn_depth.saturating_sub(self.0.depth))
    }

    fn run(&self, batch: Batch) -> BoxFuture<'static, Result<Vec<ChildResult>, String>> {
        let family = Arc::clone(&self.0);
        Box::pin(async move {
            let now = lock(&family.now).clone();
            if family.depth >= now.config.max_spawn_depth {
                let (depth, most) = (family.depth, now.config.max_spawn_depth);
                return Err(format!("no deeper children: this is level {depth} of {most}; do the work yourself"));
            }
            for task in &batch.tasks {
                task::check(task, &now.toolsets)?;
            }
            let numbers = family.add(&batch);
            let over = lock(&family.over).clone();
            // Where nobody waits for messages the call waits.
            if batch.background && family.handle.has_person() {
                let (of_all, family) = (numbers.clone(), Arc::clone(&family));
                let begun = family.results(&numbers);
                let batch = Batch { cancel: CancellationToken::new(), ..batch };
                tokio::spawn(async move {
                    drive::all(&family, &batch, &of_all, &over).await;
                    let (text, gist) = outcome::message(&family.results(&of_all));
                    family.handle.tell_surely(AgentRequest::Heard { text, gist }).await;
                });
                return Ok(begun);
            }
            drive::all(&family, &batch, &numbers, &over).await;
            Ok(family.results(&numbers))
        })
    }

    fn list(&self) -> Vec<ChildRow> {
        lock(&self.0.kin).iter().map(|child| child.row.clone()).collect()
    }

    fn send(&self, child: &str, text: String) -> Result<SessionId, String> {
        let (_, id) = self.0.working_child(child)?;
        self.0.opener.order(&id, AgentCommand::Steer { text, images: Vec::new() });
        Ok(id)
    }

    fn stop(&self, child: &str) -> Result<SessionId, String> {
        let (number, id) = self.0.working_child(child)?;
        self.0.stop_of(number).cancel();
        Ok(id)
    }

    fn wait(
        &self,
        children: Vec<String>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Vec<ChildResult>, String>> {
        let family = Arc::clone(&self.0);
        Box::pin(async move {
            let mut numbers = Vec::new();
            for child in &children {
                match family.find(child, false) {
                    Some((number, _)) => numbers.push(number),
                    None => return Err(format!("there is no child {child}; list shows them")),
                }
            }
            if children.is_empty() {
                let kin = lock(&family.kin);
                numbers.extend(kin.iter().filter(|child| !child.row.state.is_over()).map(|child| child.number));
            }
            let mut changes = family.changed.subscribe();
            let works = |family: &Family| {
                let kin = lock(&family.kin);
                kin.iter().any(|child| numbers.contains(&child.number) && child.result.is_none())
            };
            while works(&family) {
                tokio::select! {
                    () = cancel.cancelled() => return Err("stopped".into()),
                    changed = changes.changed() => if changed.is_err() { break },
                }
            }
            Ok(family.results(&numbers))
        })
    }
}

//! Children of a session: sessions of the engine that work for it, within its limits, and whose questions reach its inbox.
//!
//! A child ends before its parent: when the call that waits for it is stopped, when the parent's turn is, and when the
//! parent is closed.

mod asking;
mod drive;
mod kin;
mod outcome;
pub mod owed;
mod processes;
mod task;
#[cfg(test)]
mod tests;
mod ties;
mod tree;

pub use asking::Asking;
pub use kin::Relatives;
pub use ties::Ties;

use super::budget::purse::Purse;
use super::handle::{AgentHandle, AgentRequest};
use super::spec::{SessionLimits, SessionSpec};
use super::wait_clock::WaitClock;
use super::worktree::Worktrees;
use crate::config::DelegationConfig;
use crate::exec::Exec;
use crate::lock::lock;
use crate::protocol::{AgentCommand, AgentEvent, ChildRow, Mode, SessionId, Usage};
use crate::tools::children::{Batch, ChildResult};
use crate::tools::gate::Gate;
use owed::Owed;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

/// Who has children, and what they get of it.
pub struct Parent {
    pub id: SessionId,
    /// It is a child as well.
    pub child: Option<ChildOf>,
    pub opener: Arc<dyn Opener>,
    pub handle: Arc<AgentHandle>,
    pub gate: Arc<Gate>,
    pub purse: Purse,
    pub exec: Exec,
}

/// The children of one session.
pub struct Family {
    parent: Parent,
    /// 0: the session of a person.
    depth: u32,
    now: Mutex<Now>,
    slots: Mutex<(usize, Arc<Semaphore>)>,
    kin: Mutex<Vec<Kin>>,
    /// The highest number that a child of an earlier run of the program had.
    before: AtomicU64,
    /// What those used that are no longer remembered.
    forgotten: Mutex<Usage>,
    /// How often a row changed.
    changed: watch::Sender<u64>,
    /// The parent is stopped or closed: whatever works ends.
    over: Mutex<CancellationToken>,
    /// A person sends the batches that calls wait for to the background.
    moved: Mutex<CancellationToken>,
    /// What the conversation of the parent does not hold yet.
    owed: Mutex<Vec<Owed>>,
    /// The parent was asked to write that down, and has not yet.
    unkept: AtomicBool,
}

/// One child.
struct Kin {
    number: u64,
    call_id: String,
    row: ChildRow,
    stop: CancellationToken,
    result: Option<ChildResult>,
    /// How long its questions have been open.
    waits: Arc<WaitClock>,
    /// Calls that wait for its end; they tell its result.
    awaited: usize,
    /// The parent's model was told its result.
    told: bool,
}

impl Family {
    /// Of this session.
    pub fn new(parent: Parent) -> Self {
        Self {
            depth: parent.child.as_ref().map_or(0, |child| child.family.depth()),
            parent,
            now: Mutex::default(),
            slots: Mutex::new((0, Arc::new(Semaphore::new(0)))),
            kin: Mutex::default(),
            before: AtomicU64::new(0),
            forgotten: Mutex::default(),
            changed: watch::channel(0).0,
            over: Mutex::default(),
            moved: Mutex::default(),
            owed: Mutex::default(),
            unkept: AtomicBool::new(false),
        }
    }

    /// The depth of its children.
    pub fn depth(&self) -> u32 {
        self.depth + 1
    }

    /// Whose it is.
    pub fn parent(&self) -> &Parent {
        &self.parent
    }

    /// A resumed session: its conversation speaks of children with these names, which no other one gets.
    pub fn knows<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let numbers = names.filter_map(|name| name.rsplit([' ', '.']).next()?.parse().ok());
        self.before.store(numbers.max().unwrap_or(0), Ordering::Relaxed);
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
            self.parent.opener.order(&id, AgentCommand::SetMode(mode));
        }
    }

    fn working(&self) -> Vec<SessionId> {
        let kin = lock(&self.kin);
        kin.iter().filter(|child| !child.row.state.is_over()).filter_map(|child| child.row.session.clone()).collect()
    }

    /// Calls that wait for children wait no longer: the children go on, and tell their end by a message. Whether there is
    /// such a call.
    pub fn to_background(&self) -> bool {
        let waits = lock(&self.owed).iter().any(|owed| !owed.background);
        if waits {
            std::mem::take(&mut *lock(&self.moved)).cancel();
        }
        waits
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
        let (shown, ended) = {
            let mut kin = lock(&self.kin);
            let Some(child) = kin.iter_mut().find(|child| child.number == number) else { return };
            let before = child.row.clone();
            change(&mut child.row);
            if child.row == before {
                return;
            }
            let (call_id, ended) = (child.call_id.clone(), child.row.state.is_over());
            let rows = kin.iter().filter(|child| child.call_id == call_id).map(|child| child.row.clone()).collect();
            (AgentEvent::Children { call_id, rows }, ended)
        };
        self.changed.send_modify(|count| *count += 1);
        let shown = AgentRequest::Event(Box::new(shown));
        // Nothing comes after an end that would show it.
        if ended { self.parent.handle.tell_in_time(shown) } else { self.parent.handle.tell(shown) }
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
        let first = kin.last().map_or(self.before.load(Ordering::Relaxed), |child| child.number) + 1;
        let model = lock(&self.now).clone();
        for (at, task) in batch.tasks.iter().enumerate() {
            let number = first + at as u64;
            let row = ChildRow {
                name: self.name(number),
                goal: task.goal.clone(),
                model: model.model.clone().unwrap_or_default(),
                ..ChildRow::default()
            };
            kin.push(Kin {
                number,
                call_id: batch.call_id.clone(),
                row,
                stop: CancellationToken::new(),
                result: None,
                waits: Arc::default(),
                awaited: 0,
                told: false,
            });
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

    /// What the questions of its child say: `child 2`, and `child 2.1` of that one's own.
    fn name(&self, number: u64) -> String {
        match &self.parent.child {
            Some(child) => format!("{}.{number}", child.name),
            None => format!("child {number}"),
        }
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

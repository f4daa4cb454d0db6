//! Processes of a task that ends: they end with it, but for those that it handed over.

use super::end::{self, Graces};
use super::lifecycle::Life;
use super::record::Process;
use crate::exec::{Exec, ExecError, ExitReason, ProcessId};
use crate::lock::lock;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long their end may take.
const GONE: Duration = Duration::from_millis(900);

impl Exec {
    /// A process that runs belongs to this task from now on, which hears of its end.
    pub fn hand_over(&self, id: &ProcessId, heir: &str) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        if process.over() {
            return Err(ExecError::Ended(id.clone()));
        }
        *lock(&process.heir) = Some(heir.to_owned());
        process.changed();
        Ok(())
    }

    /// What a task started and handed over, as far as it still runs: its id and command line.
    pub fn handed_over(&self, task: &str) -> Vec<(ProcessId, String)> {
        let all = self.hub.all().into_iter();
        let gone = all.filter(|process| process.task == task && !process.over() && process.owner() != task);
        gone.map(|process| (process.id.clone(), process.command.clone())).collect()
    }

    /// Ends all that belongs to a task; returns the command lines when that is done, after a second at most.
    pub async fn end_all_of(&self, task: &str) -> Vec<String> {
        let all = self.hub.all().into_iter();
        let own: Vec<Arc<Process>> =
            all.filter(|process| !process.over() && !process.is_elsewhere() && process.owner() == task).collect();
        if own.is_empty() {
            return Vec::new();
        }
        own.iter().for_each(|process| end::end(process, ExitReason::Killed, Graces::OF_CHILD));
        let lines = own.iter().map(|process| process.command.clone()).collect();
        let ended = tokio::task::spawn_blocking(move || {
            let deadline = Instant::now() + GONE;
            own.iter().all(|process| process.wait_until(deadline, Life::is_closed))
        });
        if !ended.await.unwrap_or(false) {
            tracing::warn!("a process of a child that has ended takes long to end");
        }
        lines
    }
}

//! Work that an earlier run left on another machine: looked for once in the background, and again when somebody wants to
//! know of it. What is found is followed by a client as if it had been started now.

use super::detached;
use crate::exec::process::record::Process;
use crate::exec::{
    Exec, ExecError, Launch, ProcessId, RemoteFinder, RemoteLeftovers, RemotePlace, RemoteSearch, Spawn,
};
use crate::lock::lock;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// How long who asks for one process waits for the search.
const SEARCH_WAIT: Duration = Duration::from_secs(20);

/// Who wants to know, and how often it was looked.
pub(crate) struct Looks {
    wanted: Notify,
    rounds: watch::Sender<u64>,
}

impl Default for Looks {
    fn default() -> Self {
        Self { wanted: Notify::new(), rounds: watch::Sender::new(0) }
    }
}

impl Exec {
    /// Looks for what [`recover`](Self::recover) has shown of other machines: now, and then whenever somebody asks for one
    /// of them, until each is found, has ended or was taken off the list. Nothing is asked while nobody wants to know.
    pub async fn seek(&self, seek: RemoteFinder) {
        loop {
            let unreached: Vec<Arc<Process>> =
                self.hub.all().into_iter().filter(|process| is_sought(process)).collect();
            if unreached.is_empty() {
                return;
            }
            // A machine that does not answer is asked once a round.
            let mut silent: HashMap<String, String> = HashMap::new();
            for process in unreached {
                self.seek_one(&process, &seek, &mut silent).await;
            }
            self.hub.looks.rounds.send_modify(|rounds| *rounds += 1);
            self.hub.looks.wanted.notified().await;
        }
    }

    async fn seek_one(&self, process: &Arc<Process>, seek: &RemoteFinder, silent: &mut HashMap<String, String>) {
        let Some(unreached) = process.unreached() else { return };
        let left = RemoteLeftovers {
            place: unreached.place.clone(),
            line: process.command.clone(),
            cwd: process.cwd.clone(),
            task: process.owner(),
            started_at: process.started_at,
        };
        let sought = match silent.get(&unreached.place.label) {
            Some(why) => RemoteSearch::Unreachable(why.clone()),
            None => {
                let (seek, left) = (Arc::clone(seek), left.clone());
                let asked = tokio::task::spawn_blocking(move || seek(&left)).await;
                asked.unwrap_or_else(|error| RemoteSearch::Unreachable(error.to_string()))
            }
        };
        let why = match sought {
            // It was taken off the list meanwhile.
            _ if self.hub.find(&process.id).is_err() => return,
            RemoteSearch::Found(remote) => {
                let launch =
                    Launch { spill: Some(log_of(process)), remote: Some(remote), ..self.followed(process).into() };
                match self.launch_as(launch, process.id.clone(), Vec::new()).await {
                    Ok(_) => return,
                    Err(error) => error.to_string(),
                }
            }
            RemoteSearch::Gone => {
                self.hub.register.remove(&process.id, process.identify());
                return detached::ended(process);
            }
            RemoteSearch::Unreachable(why) => {
                silent.insert(unreached.place.label.clone(), why.clone());
                why
            }
        };
        let RemotePlace { label, folder, .. } = &unreached.place;
        let reason = format!(
            "on {label} and may still be running; unreachable: {why}; its pid and log are there in {}",
            folder.display()
        );
        *lock(&unreached.why) = Some(reason.into());
        process.changed();
    }

    fn followed(&self, process: &Process) -> Spawn {
        Spawn { size: self.size(), headless: self.headless(), ..process.launch.spawn.clone() }
    }

    /// Somebody looks at it: when its machine was not reached, that is tried again. Returns at once.
    pub(in crate::exec) fn look_at(&self, process: Option<&Process>) {
        if process.is_some_and(is_sought) {
            self.hub.looks.wanted.notify_one();
        }
    }

    /// The same, and waits for what comes of it.
    ///
    /// # Errors
    /// There is no such process.
    pub async fn reach(&self, id: &ProcessId) -> Result<(), ExecError> {
        if !is_sought(&*self.hub.find(id)?) {
            return Ok(());
        }
        let mut rounds = self.hub.looks.rounds.subscribe();
        self.hub.looks.wanted.notify_one();
        // The search that runs meanwhile is as good; without one the process stays as it is.
        if tokio::time::timeout(SEARCH_WAIT, rounds.changed()).await.is_err() {
            tracing::debug!("still looking for {}", id.0);
        }
        Ok(())
    }
}

fn is_sought(process: &Process) -> bool {
    process.unreached().is_some() && !process.over()
}

fn log_of(process: &Process) -> PathBuf {
    lock(&process.out).log.spill().target_path().to_owned()
}

//! Where the session works: this machine or another one.

use super::Runner;
use crate::agent::event::{AgentEvent, Level};
use std::sync::PoisonError;

impl Runner {
    /// Works there from now on. What a turn has begun in one place it does not end in another.
    pub(super) async fn set_backend(&mut self, kind: String) {
        if self.turn.is_running() {
            return self.notice(Level::Warning, "a turn is running; change the backend when it has ended").await;
        }
        let (places, task, wanted) = (self.deps.places.clone(), self.session.id.0.clone(), kind);
        let from = self.start.cwd.clone();
        // Reached at once: who asks for it wants to know whether it is there.
        let reached = tokio::task::spawn_blocking(move || {
            places.choose(&wanted)?;
            match places.current() {
                Some(there) => there.arrive(&task, &from, false),
                None => Ok(Some(from)),
            }
        });
        match reached.await {
            Ok(Ok(folder)) => {
                if let Some(folder) = folder {
                    *self.session.cwd.lock().unwrap_or_else(PoisonError::into_inner) = folder;
                }
                let label = self.deps.places.label();
                self.notice(Level::Info, format!("commands run and files are here now: {label}")).await;
            }
            Ok(Err(error)) => self.notice(Level::Error, error.to_string()).await,
            Err(error) => tracing::error!("changing the backend: {error}"),
        }
        self.gate.set_rules(super::rules(&self.deps.loaded, self.deps.places.kind()));
        // What it has read there says nothing of the files here.
        self.session.files.lock().unwrap_or_else(PoisonError::into_inner).seen.clear();
        self.session.forget_reads();
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
    }
}

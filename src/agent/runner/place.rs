//! Where the session works: this machine or another one.

use super::Runner;
use crate::lock::lock;
use crate::protocol::{AgentEvent, Level};

/// The fact of a session that names its backend.
pub(super) const BACKEND: &str = "backend";

/// The fact of a session that names its folder on another machine.
pub(super) const FOLDER: &str = "folder_there";

impl Runner {
    /// Goes where a session works: to the backend that it was given, else to that of the configuration. When that cannot be
    /// used nothing runs anywhere else.
    pub(super) async fn go_to_its_place(&mut self, given: Option<&str>) {
        let wanted = given.unwrap_or(self.deps.backends.configured()).to_owned();
        if wanted == self.deps.backends.kind() {
            return;
        }
        let (backends, kind) = (self.deps.backends.clone(), wanted.clone());
        match tokio::task::spawn_blocking(move || backends.insist(&kind)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let text =
                    format!("this session's backend {wanted} is unavailable: {error}; choose another with /backend");
                self.notice(Level::Error, text).await;
            }
            Err(error) => tracing::error!("could not switch to the session's backend: {error}"),
        }
        self.gate.set_rules(super::rules(&self.deps.loaded, self.deps.backends.kind(), &self.spec.surface));
    }

    /// Works there from now on. What a turn has begun in one place it does not end in another.
    pub(super) async fn set_backend(&mut self, kind: String) {
        if self.turn.is_running() {
            return self.notice(Level::Warning, "a turn is running; change the backend after it ends").await;
        }
        let (backends, task, wanted) = (self.deps.backends.clone(), self.session.id.0.clone(), kind);
        let from = self.spec.cwd.clone();
        // Reached at once: who asks for it wants to know whether it is there.
        let reached = tokio::task::spawn_blocking(move || {
            backends.choose(&wanted)?;
            match backends.current() {
                Some(there) => there.arrive(&task, &from, false),
                None => Ok(Some(from)),
            }
        });
        match reached.await {
            Ok(Ok(folder)) => {
                if let Some(folder) = folder {
                    *lock(&self.session.cwd) = folder;
                }
                self.keep(BACKEND, self.deps.backends.kind().into()).await;
                let label = self.deps.backends.label();
                self.notice(Level::Info, format!("commands now run on: {label}")).await;
            }
            Ok(Err(error)) => self.notice(Level::Error, error.to_string()).await,
            Err(error) => tracing::error!("could not change the backend: {error}"),
        }
        self.gate.set_rules(super::rules(&self.deps.loaded, self.deps.backends.kind(), &self.spec.surface));
        // What it has read there says nothing of the files here.
        lock(&self.session.files).seen.clear();
        self.session.forget_reads();
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
    }
}

//! The policy of the open session: files that somebody changed, untrusted text, and the model of smart mode.

use super::Runner;
use crate::agent::event::{AgentEvent, Level, PolicyAnswer};
use crate::agent::smart::Adviser;
use crate::config::held::Change;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The name of the session's fact.
pub(super) const UNTRUSTED: &str = "untrusted";

impl Runner {
    /// Learns the window of the chosen model and who is asked in smart mode.
    pub(super) fn look_up(&mut self) {
        self.session.look_up(&self.deps.models);
        let limit = Duration::from_secs_f64(self.deps.loaded.config.auxiliary.approval.timeout.clamp(0.1, 120.0));
        let adviser = match self.deps.models.adviser(self.session.choice.as_deref()) {
            Ok(provider) => Ok(Adviser { provider, limit }),
            Err(error) => Err(error.to_string()),
        };
        self.session.adviser = adviser.as_ref().ok().map(Adviser::label);
        self.port.advised_by(adviser);
    }

    /// Tells what changed in the files of the policy, or that they are again as they were.
    pub(super) async fn policy_changed(&mut self, changes: Vec<Change>) {
        if !self.start.interactive && !changes.is_empty() {
            let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
            let text = format!("{} changed: nothing passes by a rule or mode in this run", names.join(", "));
            self.notice(Level::Warning, text).await;
        }
        self.out.send(AgentEvent::PolicyChanged(changes)).await;
    }

    /// Looks at the files now.
    pub(super) async fn look_at_policy(&mut self) {
        let frozen = Arc::clone(&self.frozen);
        let look = move || {
            let changes = frozen.changes();
            frozen.news(&changes)
        };
        // A disk that hangs keeps a thread of its own; the next call looks again.
        if let Ok(Some(changes)) = tokio::task::spawn_blocking(look).await {
            self.policy_changed(changes).await;
        }
    }

    /// What the person said to a changed policy.
    pub(super) async fn policy_answered(&mut self, answer: PolicyAnswer) {
        match answer {
            PolicyAnswer::Take => {
                let before = self.deps.loaded.config.approvals.mode;
                self.reload().await;
                let mode = self.deps.loaded.config.approvals.mode;
                // A mode that the person chose in this session stays.
                if self.session.mode == before && mode != before && self.start.mode.is_none() {
                    self.gate.set_mode(mode);
                    self.session.mode = mode;
                    self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
                }
            }
            PolicyAnswer::Keep => {
                let frozen = Arc::clone(&self.frozen);
                let _ = tokio::task::spawn_blocking(move || frozen.keep()).await;
            }
        }
        self.look_at_policy().await;
    }

    /// The files were read by the person's order: what is there now holds.
    pub(super) async fn policy_read(&mut self) {
        let (frozen, paths, loaded) =
            (Arc::clone(&self.frozen), self.deps.paths.clone(), Arc::clone(&self.deps.loaded));
        let cwd = self.session.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let _ = tokio::task::spawn_blocking(move || frozen.read_again(&paths, &loaded, &cwd)).await;
        self.look_at_policy().await;
    }

    /// Keeps what is known of untrusted text with the session, and tells it.
    pub(super) async fn untrusted_changed(&mut self) {
        let untrusted = self.gate.untrusted();
        if let Ok(stored) = serde_json::to_value(&untrusted) {
            self.keep(UNTRUSTED, stored).await;
        }
        if self.session.untrusted != untrusted.origins {
            self.session.untrusted = untrusted.origins;
            self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
        }
    }
}

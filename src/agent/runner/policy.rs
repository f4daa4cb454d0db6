//! The policy of the open session: files that someone changed, untrusted text, and the model of auto mode.

use super::Runner;
use crate::agent::auto_approver::AutoApprover;
use crate::lock::lock;
use crate::policy::Mode;
use crate::protocol::{AgentEvent, Level, PolicyAnswer, PolicyChange};
use crate::store::audit::{AuditBy, Kind, Record};
use std::sync::Arc;
use std::time::Duration;

/// Seconds for an opinion when the configuration does not say: a person waits behind it.
const APPROVAL: f64 = 8.0;
/// The name of the session's fact: it was left in plan mode.
pub(super) const PLANS: &str = "plans";
pub(super) use crate::policy::taint::UNTRUSTED;

impl Runner {
    /// Learns the window of the chosen model and who is asked in auto mode.
    pub(super) fn look_up(&mut self) {
        self.session.look_up(&self.deps.models);
        let limit = Duration::from_secs_f64(
            self.deps.loaded.config.auxiliary.approval.timeout.unwrap_or(APPROVAL).clamp(0.1, 120.0),
        );
        let auto_approver = match self.deps.models.auto_approver(self.session.choice.as_deref()) {
            Ok(provider) => Ok(AutoApprover { provider, limit }),
            Err(error) => Err(error.to_string()),
        };
        self.session.auto_approver = auto_approver.as_ref().ok().map(AutoApprover::label);
        self.handle.set_auto_approver(auto_approver);
    }

    /// Tells what changed in the files of the policy, or that they are again as they were.
    pub(super) async fn policy_changed(&mut self, changes: Vec<PolicyChange>) {
        if !self.spec.answers.is_person() && !changes.is_empty() {
            let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
            let text = format!("{} changed: rules and modes approve nothing in this run", names.join(", "));
            self.notice(Level::Warning, text).await;
        }
        self.out.send(AgentEvent::PolicyChanged(changes)).await;
        self.gate.stir();
    }

    /// Looks at the files now.
    pub(super) async fn look_at_policy(&mut self) {
        let policy = Arc::clone(&self.deps.policy);
        // A disk that hangs keeps a thread of its own; the next call looks again.
        if let Ok(Some(changes)) = tokio::task::spawn_blocking(move || policy.news()).await {
            self.policy_changed(changes).await;
        }
    }

    /// What the person said to a changed policy, as it was shown to them.
    pub(super) async fn policy_answered(&mut self, answer: PolicyAnswer) {
        match answer {
            PolicyAnswer::Take(shown) => {
                let before = self.deps.loaded.config.approvals.mode;
                if !self.read_again(shown).await {
                    return self.show_again("the policy changed again: nothing was applied").await;
                }
                let mode = self.deps.loaded.config.approvals.mode;
                // A mode that the person chose in this session stays.
                if self.session.mode == before && mode != before && self.spec.mode.is_none() {
                    self.set_mode(mode, "applied the changed policy").await;
                }
            }
            PolicyAnswer::Keep(shown) => {
                let policy = Arc::clone(&self.deps.policy);
                if !tokio::task::spawn_blocking(move || policy.keep(&shown)).await.unwrap_or(false) {
                    return self.show_again("the policy changed again").await;
                }
            }
        }
        self.look_at_policy().await;
    }

    /// Tells what is on disk now, also when it was told before.
    pub(super) async fn show_again(&mut self, why: &str) {
        self.notice(Level::Warning, format!("{why}; review it first: /policy")).await;
        let policy = Arc::clone(&self.deps.policy);
        if let Ok(changes) = tokio::task::spawn_blocking(move || policy.changes()).await {
            self.policy_changed(changes).await;
        }
    }

    /// The configuration that was just read holds from now on.
    pub(super) async fn policy_read(&mut self) {
        let (policy, loaded) = (Arc::clone(&self.deps.policy), Arc::clone(&self.deps.loaded));
        let cwd = lock(&self.session.cwd).clone();
        let newest = self.deps.newest.clone();
        let follow = move || {
            policy.follow(&loaded, &cwd);
            newest.took(&loaded, &policy);
        };
        let _ = tokio::task::spawn_blocking(follow).await;
        self.look_at_policy().await;
    }

    /// Changes how questions are treated; `why` stands in the audit log.
    pub(super) async fn set_mode(&mut self, mode: Mode, why: &str) {
        let before = self.session.mode;
        self.gate.set_mode(mode);
        self.session.mode = mode;
        if let Some(family) = &self.family {
            family.set_mode(mode);
        }
        if before != mode && self.session.created && [before, mode].contains(&Mode::Plan) {
            self.keep(PLANS, (mode == Mode::Plan).into()).await;
        }
        if before != mode {
            let record = Record {
                at: crate::agent::now(),
                session: self.session.id.0.clone(),
                kind: Kind::Mode,
                what: format!("{} → {}", before.word(), mode.word()),
                by: AuditBy::Person(why.to_owned()),
                ..Record::default()
            };
            self.deps.store.audit(move || record);
        }
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
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

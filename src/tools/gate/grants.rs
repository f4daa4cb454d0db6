//! Answers that last: for the session, or in the files of the rules.

use super::Gate;
use crate::lock::lock;
use crate::policy::rule::said;
use crate::policy::{Grant, Scope, proposals};
use crate::tools::spec::ToolCtx;
use std::sync::Arc;

impl Gate {
    /// What was granted for this session, for storage.
    pub fn grants(&self) -> Vec<String> {
        lock(&self.rules).session.entries().to_vec()
    }

    /// Puts back the grants of a resumed session.
    pub fn restore_grants(&self, grants: Vec<String>) {
        lock(&self.rules).session = grants.into();
    }

    /// Grants as people read them.
    pub fn in_words(grants: &[String]) -> String {
        grants.iter().map(|entry| said(entry)).collect::<Vec<_>>().join(", ")
    }

    /// Makes an answer last; how far it reaches, in words.
    pub(super) async fn widen(&self, grant: Grant, ctx: &ToolCtx) -> String {
        let entries = grant.entries.iter().map(|entry| said(entry)).collect::<Vec<_>>().join(", ");
        if grant.scope == Scope::Session {
            self.grant(&grant.entries);
            self.log_rule(&grant, ctx);
            return format!("allowed for this session by the user: {entries}");
        }
        let (asker, kept) = (Arc::clone(&self.asker), grant.clone());
        let remembered = tokio::task::spawn_blocking(move || asker.remember(&kept)).await;
        match remembered.unwrap_or_else(|error| Err(format!("could not save it: {error}"))) {
            Ok(()) => {
                let rules = lock(&self.rules).clone();
                // Away from the lock: it looks where the folder of a command is. What is loaded meanwhile stays.
                let (world, made) = (Arc::clone(&self.world), grant.clone());
                let lines = tokio::task::spawn_blocking(move || proposals::lines(&rules, &made, &*world)).await;
                lock(&self.rules).hold(lines.unwrap_or_default());
                self.stir();
                self.log_rule(&grant, ctx);
                let place = if grant.scope == Scope::Project { " in this project" } else { "" };
                format!("always allowed{place} by the user: {entries}")
            }
            Err(problem) => {
                let grant = Grant { scope: Scope::Session, ..grant };
                self.grant(&grant.entries);
                self.log_rule(&grant, ctx);
                format!("allowed for this session by the user ({problem})")
            }
        }
    }

    fn grant(&self, entries: &[String]) {
        lock(&self.rules).grant(entries);
        self.stir();
        self.asker.grants_changed();
    }
}

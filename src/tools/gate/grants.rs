//! Answers that last: for the session, or in the files of the rules.

use super::Gate;
use crate::lock::lock;
use crate::policy::rule::said;
use crate::policy::{Grant, Scope, proposals};
use crate::tools::spec::ToolCtx;
use std::sync::{Arc, Weak};

impl Gate {
    /// What was granted for this session, for storage.
    pub fn grants(&self) -> Vec<String> {
        lock(&self.rules).session.entries().to_vec()
    }

    /// Puts back the grants of a resumed session.
    pub fn restore_grants(&self, grants: Vec<String>) {
        lock(&self.rules).session = grants.into();
    }

    /// What was and will be granted in the session of `above` holds here, too; never the other way round.
    pub fn beneath(self: &Arc<Self>, above: &Arc<Self>) {
        // Once, when the session is built.
        let _ = self.above.set(Arc::clone(above));
        let mut below = lock(&above.below);
        below.retain(|gate| gate.strong_count() > 0);
        below.push(Arc::downgrade(self));
    }

    /// What was granted in the sessions above.
    pub(super) fn inherited(&self) -> Vec<String> {
        let Some(above) = self.above.get() else { return Vec::new() };
        let mut all = above.inherited();
        all.extend(above.grants());
        all
    }

    /// Questions that wait here and below are judged anew.
    fn stir_all(&self) {
        self.stir();
        let below: Vec<Arc<Self>> = lock(&self.below).iter().filter_map(Weak::upgrade).collect();
        below.iter().for_each(|gate| gate.stir_all());
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
        self.stir_all();
        self.asker.grants_changed();
    }
}

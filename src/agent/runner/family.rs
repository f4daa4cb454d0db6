//! The session as a parent and as a child.

use super::{Deps, Runner, session};
use crate::agent::AgentHandle;
use crate::agent::budget::purse::Purse;
use crate::agent::children::{Family, Now};
use crate::agent::spec::{SessionLimits, SessionSpec};
use crate::agent::turn::{Input, Said};
use crate::agent::worktree::Worktrees;
use crate::lock::lock;
use crate::policy::Speaker;
use crate::protocol::{AgentEvent, SessionId};
use crate::tools::gate::Gate;
use std::sync::Arc;
use std::time::Duration;

/// How long children may take to end with their parent.
const PATIENCE: Duration = Duration::from_millis(900);

/// A child asks through its parent.
pub(super) fn of_child(handle: AgentHandle, spec: &SessionSpec) -> AgentHandle {
    match &spec.child {
        Some(child) => handle.asking_through(child.family.parts().0, Speaker::Agent(child.name.clone())),
        None => handle,
    }
}

/// A child may what its parent was allowed for its session, and spends its money. Nothing goes the other way.
pub(super) fn inherit(purse: Purse, gate: &Gate, spec: &SessionSpec) -> Purse {
    match &spec.child {
        Some(child) => {
            let (_, theirs, spends) = child.family.parts();
            gate.restore_grants(theirs.grants());
            purse.within(spends)
        }
        None => purse,
    }
}

/// The children that a session may have.
pub(super) fn of_parent(
    deps: &Deps,
    spec: &SessionSpec,
    id: &SessionId,
    handle: &Arc<AgentHandle>,
    gate: &Arc<Gate>,
    purse: &Purse,
) -> Option<Arc<Family>> {
    let opener = Arc::clone(deps.opener.as_ref()?);
    let depth = spec.child.as_ref().map_or(0, |child| child.family.depth());
    let family = Family::new(id.clone(), depth, opener, Arc::clone(handle), Arc::clone(gate), purse.clone());
    let family = Arc::new(family);
    handle.has_children(&family);
    Some(family)
}

impl Runner {
    /// Before calls that may delegate: what a child begins with.
    pub(super) fn children_learn(&self) {
        let Some(family) = &self.family else { return };
        let (spent, since) = match &self.opened {
            Some((opened, before)) => {
                let mut spent = self.session.used().since(before);
                family.add_to(&mut spent);
                (spent, opened.elapsed())
            }
            None => Default::default(),
        };
        let limits = &self.spec.limits;
        let used = spent.input + spent.output;
        let left = SessionLimits {
            steps: limits.steps.map(|most| most.saturating_sub(self.turn.steps())),
            tokens: limits.tokens.map(|most| most.saturating_sub(used)),
            cost: limits.cost.map(|most| (most - spent.cost.unwrap_or_default()).max(0.0)),
            time: limits.time.map(|most| most.saturating_sub(since)),
        };
        let registry = self.deps.dispatch.registry().snapshot();
        let among = self.session.offer.among(registry);
        let tools = Arc::new(among.specs().map(|spec| spec.name.to_string()).collect());
        let mut toolsets: Vec<String> = among.specs().map(|spec| spec.toolset.to_string()).collect();
        toolsets.sort_unstable();
        toolsets.dedup();
        family.learn(Now {
            config: self.deps.loaded.config.delegation.clone(),
            cwd: lock(&self.session.cwd).clone(),
            workspace: self.spec.cwd.clone(),
            model: self.session.choice.clone(),
            mode: self.session.mode,
            toolsets,
            tools,
            left,
            worktrees: self.deps.backends.current().is_none().then(|| Worktrees::of(&self.deps.paths)),
        });
    }

    /// Children used more: the meter shows it.
    pub(super) async fn children_cost(&mut self) {
        let Some(family) = &self.family else { return };
        let mut used = self.session.of_earlier_children;
        family.add_to(&mut used);
        if used != self.session.of_children {
            self.session.of_children = used;
            let meter = self.session.meter();
            self.out.send(AgentEvent::UsageChanged(meter)).await;
        }
    }

    /// Ends all children, within bounds.
    pub(super) async fn children_end(&self) {
        let Some(family) = &self.family else { return };
        family.stop_all();
        if tokio::time::timeout(PATIENCE, family.ended()).await.is_err() {
            tracing::warn!("left before every child was closed");
        }
    }

    /// The program tells the model something: at the next step of its turn, or in a turn of its own.
    pub(super) async fn heard(&mut self, text: String, gist: String) {
        let said = Said::program(self.masked(&text), self.masked(&gist));
        if self.turn.is_running() {
            self.feed(Input::Steered(said)).await;
        } else if !self.leaving {
            self.submit(said).await;
        }
    }

    /// Tells what is open to somebody who begins to watch.
    pub(super) async fn show(&mut self) {
        let items = self.session.context.items();
        let page = items[items.len().saturating_sub(session::PAGE)..].to_vec();
        self.out.send(AgentEvent::SessionOpened { session: self.session.info(), items: page }).await;
        self.out.send(AgentEvent::UsageChanged(self.session.meter())).await;
        if self.turn.is_running() {
            let at = crate::agent::now() - i64::try_from(self.turn_started.elapsed().as_millis()).unwrap_or_default();
            self.out.send(AgentEvent::TurnStarted { turn: self.session.turn, at }).await;
        }
    }
}

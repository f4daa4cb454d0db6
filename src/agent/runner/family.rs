//! The session as a parent and as a child.

use super::{Deps, Runner, session};
use crate::agent::AgentHandle;
use crate::agent::budget::purse::Purse;
use crate::agent::children::owed::{self, OWED};
use crate::agent::children::{ChildOf, Family, Now, Parent};
use crate::agent::spec::{SessionLimits, SessionSpec};
use crate::agent::turn::{Input, Said};
use crate::agent::worktree::Worktrees;
use crate::lock::lock;
use crate::protocol::{AgentEvent, Body, Item, Level, Origin, SessionId};
use crate::tools::gate::Gate;
use std::sync::Arc;
use std::time::Duration;

/// How long children may take to end with their parent.
const PATIENCE: Duration = Duration::from_millis(900);

/// A child asks through its parent.
pub(super) fn of_child(handle: AgentHandle, spec: &SessionSpec) -> AgentHandle {
    match &spec.child {
        Some(child) => handle.asking_through(child),
        None => handle,
    }
}

/// A child may what its parent is allowed for its session, and spends its money. Nothing goes the other way.
pub(super) fn inherit(purse: Purse, gate: &Arc<Gate>, spec: &SessionSpec) -> Purse {
    match &spec.child {
        Some(child) => {
            let parent = child.family.parent();
            gate.beneath(&parent.gate);
            // Its task may repeat what a stranger wrote.
            gate.restore_untrusted(parent.gate.untrusted());
            purse.within(&parent.purse)
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
    let family = Arc::new(Family::new(Parent {
        id: id.clone(),
        child: spec.child.clone(),
        opener: Arc::clone(deps.opener.as_ref()?),
        handle: Arc::clone(handle),
        gate: Arc::clone(gate),
        purse: purse.clone(),
        exec: deps.exec.clone(),
    }));
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
                (spent, opened.elapsed().saturating_sub(self.waited()))
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
            output: limits.output.map(|most| most.saturating_sub(spent.output)),
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

    /// How long the session has waited for a person: that is no work of its own.
    pub(super) fn waited(&self) -> Duration {
        self.spec.child.as_ref().map_or_else(|| self.handle.waited(), ChildOf::waited)
    }

    /// Tokens that the next reply may have.
    pub(super) fn most_output(&self) -> Option<u32> {
        let most = self.deps.loaded.config.model.max_tokens;
        let Some(limit) = self.spec.limits.output else { return most };
        let before = self.opened.as_ref().map(|(_, before)| *before).unwrap_or_default();
        let left = limit.saturating_sub(self.session.used().since(&before).output).max(1);
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        Some(most.map_or(left, |most| most.min(left)))
    }

    /// A person sends the children that a call waits for to the background.
    pub(super) async fn children_to_background(&mut self) {
        if !self.family.as_ref().is_some_and(|family| family.to_background()) {
            self.notice(Level::Info, "no call waits for children").await;
        }
    }

    /// Writes down what children did that the conversation does not hold yet.
    pub(super) async fn keep_owed(&mut self) {
        if let Some(family) = &self.family {
            let owed = family.owed();
            self.keep(OWED, owed).await;
        }
    }

    /// The conversation has one more item, which may tell what children did.
    pub(super) async fn children_heard(&mut self, item: &Item) {
        if self.family.as_ref().is_some_and(|family| family.heard(item)) {
            self.keep_owed().await;
        }
    }

    /// Tells what children did when the program that they worked in ended before it was told.
    pub(super) async fn tell_owed(&mut self, kept: Option<serde_json::Value>) {
        if let Some(family) = &self.family {
            let rows = self.session.context.items().iter().flat_map(|item| match &item.body {
                Body::Tool(tool) => tool.view.children.as_slice(),
                Body::User { .. } | Body::Assistant(_) | Body::Summary(_) | Body::Note { .. } => &[],
            });
            family.knows(rows.map(|row| row.name.as_str()));
        }
        let Some(kept) = kept else { return };
        if let Some((message, strangers)) = owed::message(kept, self.session.context.items()) {
            self.gate.told_of(&strangers);
            let (text, gist) = message;
            let body = Body::User { text, images: Vec::new(), context: String::new(), origin: Origin::Program, gist };
            self.append(body).await;
        }
        self.keep(OWED, serde_json::Value::Null).await;
    }

    /// The agent that a child works for says something.
    pub(super) async fn told(&mut self, text: String) {
        if self.turn.is_running() {
            let said = Said { origin: Origin::Steer, ..Said::agent(text) };
            self.feed(Input::Steered(said)).await;
        } else {
            self.submit(Said::agent(text)).await;
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
            for event in self.running_calls.clone() {
                self.out.send(event).await;
            }
        }
    }
}

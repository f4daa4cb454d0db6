//! Opening a session, and what comes back of a past one: context, plan, grants, folder, model.

use super::Runner;
use super::session::{PAGE, Session};
use crate::agent::context::Context;
use crate::agent::spec::Opens;
use crate::llm::Effort;
use crate::lock::lock;
use crate::policy::taint::Untrusted;
use crate::protocol::{AgentEvent, Body, ItemId, Level, Mode, Origin, Rewound, SessionId, Todo};
use crate::store::Opening;
use crate::tools::file::settle::settle;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The longest wait for a word of the disk that the session's folder is there.
const FOLDER_PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

impl Runner {
    /// Reads a past session; says why when it can't be had.
    async fn opening(&mut self, id: &SessionId) -> Option<Opening> {
        let quiet = self.deps.dispatch.registry().snapshot().quiet();
        match self.deps.store.open_session(id, PAGE, quiet).await {
            Ok(opening) => match opening.live_elsewhere {
                Some(pid) => {
                    let (session, row) = (id.clone(), opening.meta.row);
                    let title = row.title.unwrap_or(row.preview);
                    self.out.send(AgentEvent::OpenElsewhere { session, title, pid }).await;
                    None
                }
                None => Some(opening),
            },
            Err(error) => {
                self.notice(Level::Error, format!("could not open session {id}: {error}")).await;
                None
            }
        }
    }

    /// Opens what the session was asked to be; false when that can't be had, which was said.
    pub(super) async fn begin(&mut self) -> bool {
        match self.spec.opens.clone() {
            Opens::New | Opens::Cleared => {
                self.opened(Vec::new()).await;
                self.greet(if self.spec.opens == Opens::New { "startup" } else { "clear" });
                true
            }
            Opens::Resume(id) => self.resume(id, true).await,
            Opens::Fork(of) => self.fork(of, None).await,
            Opens::ForkAt(of, item) => self.fork(of, Some(item)).await,
        }
    }

    /// Goes on in a copy. A prompt that stays behind comes to the composer.
    async fn fork(&mut self, of: SessionId, at: Option<ItemId>) -> bool {
        let id = self.session.id.clone();
        if let Err(error) = self.deps.store.fork(&of, &id, at).await {
            self.notice(Level::Error, format!("session {of} was not forked: {error}")).await;
            return false;
        }
        if !self.resume(id, false).await {
            return false;
        }
        let Some(at) = at else { return true };
        if let Ok(Some(item)) = self.deps.store.item(&of, at).await
            && let Body::User { text, images, origin: Origin::Person, .. } = item.body
        {
            let items = self.look_back().await;
            let rewound = Rewound { items, prompt: Some((text, images)), taken: None };
            self.out.send(AgentEvent::Rewound(Box::new(rewound))).await;
        } else {
            // The plan of that time.
            self.look_back().await;
        }
        true
    }

    /// `looks`: the person is told where it stopped, and what changed since.
    async fn resume(&mut self, id: SessionId, looks: bool) -> bool {
        let Some(opening) = self.opening(&id).await else { return false };
        if looks && self.spec.answers.is_person() {
            self.look_around(&opening);
        }
        self.enter(id, opening, self.spec.toolsets.is_some()).await;
        self.greet("resume");
        true
    }

    /// Takes over a past session: its newest page for the screen, all of it for the model. No effect is replayed.
    /// `named`: the command line names its toolsets.
    async fn enter(&mut self, id: SessionId, opening: Opening, named: bool) {
        let mut session = Session::new(&self.deps, &self.spec, id.clone(), self.session.mode);
        session.created = true;
        session.title = opening.meta.row.title.clone();
        let page = opening.items;
        let items = if opening.more {
            match self.deps.store.all_items(&id).await {
                Ok(items) => items,
                Err(error) => {
                    let text =
                        format!("only the end of the session could be read; the model sees nothing before it: {error}");
                    self.notice(Level::Error, text).await;
                    page.clone()
                }
            }
        } else {
            page.clone()
        };
        session.turn = opening.meta.last_turn;
        session.next_item = opening.meta.last_item.0 + 1;
        if let Some(prompt) = opening.prompt {
            session.prompt = prompt.into();
        }
        let given = opening.values.get(super::place::BACKEND).and_then(serde_json::Value::as_str).map(str::to_owned);
        self.go_to_its_place(given.as_deref()).await;
        // On another machine that is seen once it is reached.
        let elsewhere = self.deps.backends.current().is_some();
        let there = opening.values.get(super::place::FOLDER).and_then(serde_json::Value::as_str).filter(|_| elsewhere);
        let folder = PathBuf::from(there.unwrap_or(&opening.meta.row.cwd));
        let looked = folder.clone();
        let is_there = tokio::task::spawn_blocking(move || elsewhere || looked.is_dir());
        // A network disk that hangs counts as gone: the session opens all the same.
        let is_there = tokio::time::timeout(FOLDER_PATIENCE, is_there).await;
        if matches!(is_there, Ok(Ok(true))) {
            session.cwd = Arc::new(Mutex::new(folder));
        } else if !opening.meta.row.cwd.is_empty() {
            self.notice(
                Level::Warning,
                format!(
                    "the session's folder {} is gone; working in {}",
                    opening.meta.row.cwd,
                    self.spec.cwd.display()
                ),
            )
            .await;
        }
        items.iter().for_each(|item| session.saw(item));
        session.spent(opening.meta.usage);
        session.context = Context::new(items);
        self.session = session;
        self.settle_commands().await;
        if self.session.choice.is_none() && !opening.meta.row.model.is_empty() {
            self.session.choice = Some(opening.meta.row.model);
            if self.session.provider(&self.deps.models, 0).is_err() {
                // Its provider is no longer set up: the configured model answers.
                self.session.choice = None;
            }
        }
        self.look_up();
        let mut values = opening.values;
        let budget = values.remove(crate::agent::budget::BUDGET);
        let goal = values.remove(crate::agent::turn::goal::GOAL);
        let owed = values.remove(crate::agent::children::owed::OWED);
        self.restore_facts(values, named).await;
        self.expect_tools();
        if opening.skipped > 0 {
            let text =
                format!("{} items of this session could not be read; hermes sessions repair may help", opening.skipped);
            self.notice(Level::Warning, text).await;
        }
        self.opened(page).await;
        self.resume_budget(budget).await;
        self.restore_goal(goal).await;
        self.tell_owed(owed).await;
    }

    /// Commands that ran when their program was killed: what they changed is found before another one begins.
    async fn settle_commands(&mut self) {
        let id = self.session.id.clone();
        match self.deps.store.running_commands(&id).await {
            Ok(commands) if commands.is_empty() => {}
            Ok(commands) => {
                let base = commands.iter().find_map(|command| command.base.as_deref());
                let ours = Arc::clone(&self.session.workspace);
                // The session may be opened from another folder than the one that it works in.
                let is_ours = base.is_none_or(|base| ours.is_before(base));
                let workspace = if is_ours { ours } else { self.deps.workspace(&lock(&self.session.cwd)) };
                tokio::spawn(settle(self.deps.store.clone(), id, commands, workspace.owe()));
            }
            Err(error) => tracing::warn!("what commands changed before a kill is not known yet: {error}"),
        }
    }

    async fn restore_facts(&mut self, mut values: BTreeMap<String, serde_json::Value>, named: bool) {
        if let Some(grants) = values.remove("grants").and_then(|v| serde_json::from_value::<Vec<String>>(v).ok()) {
            if !grants.is_empty() {
                let text = format!(
                    "still allowed in this session: {}; /clear starts without it",
                    crate::tools::gate::Gate::in_words(&grants)
                );
                self.notice(Level::Info, text).await;
            }
            self.gate.restore_grants(grants);
        }
        let stored = values.remove(super::policy::UNTRUSTED).and_then(|v| serde_json::from_value::<Untrusted>(v).ok());
        let untrusted = stored.unwrap_or_default();
        self.session.untrusted.clone_from(&untrusted.origins);
        self.gate.restore_untrusted(untrusted);
        if let Some(effort) = values.remove("effort").and_then(|v| Effort::parse(v.as_str()?)) {
            self.session.effort = effort;
        }
        // What changed nothing goes on so: opening it again, or the session of a child, is no way out.
        if values.remove(super::policy::PLANS) == Some(true.into()) && self.session.mode != Mode::Plan {
            self.set_mode(Mode::Plan, "the session was left in it").await;
        }
        self.restore_kept(&mut values);
        let layers = values.remove(super::request::LAYERS).and_then(|value| serde_json::from_value(value).ok());
        self.session.layers = layers.unwrap_or_default();
        self.session.restore_tools(&mut values, named);
        let plan: Vec<Todo> = values.remove("plan").and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default();
        self.handle.restore_plan(plan);
    }
}

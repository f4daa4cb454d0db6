//! What a request is made of: prompt and tools, once a session; the situation, once a turn; and its bound.

use super::Runner;
use crate::agent::event::{AgentEvent, Level};
use crate::agent::situation::{self, Situation};
use crate::tools::offer::Offer;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use tokio::task::JoinHandle;

/// Toolsets whose coming and going is told at once.
const MOST_CHANGES: usize = 12;

impl Runner {
    /// Asks for the repository's state in a task; dropping the handle lets it end by itself.
    pub(super) fn repository(&self) -> JoinHandle<Option<(String, usize)>> {
        let cwd = self.session.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let asked = async move { tokio::time::timeout(Self::GIT_PATIENCE, situation::git(&cwd)).await.ok().flatten() };
        tokio::spawn(asked)
    }

    /// What changed since the last turn, for the newest message.
    pub(super) async fn situation(&mut self, git: JoinHandle<Option<(String, usize)>>) -> String {
        let cwd = self.session.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A task that was ended with the runtime knows as little as one that found no repository.
        let git = git.await.ok().flatten();
        let processes = self.deps.exec.running();
        let plan = crate::tools::spec::AgentPort::plan(&*self.port);
        let tools = self.tools_changed();
        situation::describe(&Situation {
            cwd: &cwd.display().to_string(),
            git: git.map(|(branch, dirty)| match dirty {
                0 => format!("{branch}, clean"),
                1 => format!("{branch}, 1 changed file"),
                n => format!("{branch}, {n} changed files"),
            }),
            processes: &processes,
            plan: &plan,
            tools: tools.as_deref(),
        })
    }

    /// Chooses the tools of the session. Their schemas never change afterwards; tools that come later can be searched for.
    async fn offer_tools(&mut self) {
        let registry = self.deps.dispatch.registry().snapshot();
        let missing = registry.unavailable().await;
        let toolsets = self.session.toolsets.as_deref();
        let offer = Arc::new(Offer::of_config(&self.deps.loaded.config, toolsets, missing));
        let offered = offer.offered(&registry);
        for warning in offered.warnings {
            self.notice(Level::Warning, warning).await;
        }
        self.session.tools = offered.schemas.into();
        self.session.searched = offered.searched;
        self.gate.only(self.deps.dispatch.as_ref().clone().offering(Arc::clone(&offer)));
        self.session.offer = offer;
    }

    /// Takes other toolsets from the next turn on; none: those of the configuration.
    pub(super) async fn set_toolsets(&mut self, names: Vec<String>) {
        self.session.toolsets = (!names.is_empty()).then_some(names);
        let registry = self.deps.dispatch.registry().snapshot();
        let toolsets = self.session.toolsets.as_deref();
        let offer = Offer::of_config(&self.deps.loaded.config, toolsets, BTreeMap::new());
        let selection = offer.selected(&registry);
        for warning in selection.warnings {
            self.notice(Level::Warning, warning).await;
        }
        self.keep("toolsets", serde_json::json!(self.session.toolsets)).await;
        self.session.tools_are_old = !self.session.tools.is_empty();
        let count = offer.among(registry).names().count();
        let later =
            if self.session.tools_are_old { " from the next turn; the prompt cache starts anew then" } else { "" };
        self.notice(Level::Info, format!("{count} tools{later}")).await;
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
    }

    /// What came and went among the tools that can be searched for, in words; nothing when all is as it was.
    fn tools_changed(&mut self) -> Option<String> {
        let now = self.session.offer.searched(&self.deps.dispatch.registry().snapshot());
        let before = std::mem::replace(&mut self.session.searched, now.clone());
        let mut told: Vec<String> = Vec::new();
        for (toolset, count) in &now {
            match before.get(toolset) {
                None => told.push(format!("{toolset} came ({count})")),
                Some(earlier) if earlier != count => told.push(format!("{toolset} changed ({count})")),
                Some(_) => {}
            }
        }
        told.extend(
            before.keys().filter(|toolset| !now.contains_key(*toolset)).map(|gone| format!("{gone} went away")),
        );
        let more = told.len().saturating_sub(MOST_CHANGES);
        told.truncate(MOST_CHANGES);
        if more > 0 {
            told.push(format!("{more} more"));
        }
        (!told.is_empty()).then(|| format!("{}; look with tool_search", told.join(", ")))
    }

    /// Builds the prompt and the tool list once a session; afterwards their bytes never change.
    pub(super) async fn prepare_prompt(&mut self) {
        if self.session.tools.is_empty() || std::mem::take(&mut self.session.tools_are_old) {
            self.offer_tools().await;
        }
        if self.session.prompt.is_empty() {
            let cwd = self.session.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (loaded, paths) = (Arc::clone(&self.deps.loaded), self.deps.paths.clone());
            let window = self.session.window;
            let plugins = self.deps.extensions.prompt().join("\n\n");
            let extra = [self.start.skills.join("\n\n"), plugins, self.start.instructions.clone()];
            let extra = extra.map(|part| part.trim().to_owned()).into_iter().filter(|part| !part.is_empty());
            let extra = extra.collect::<Vec<_>>().join("\n\n");
            let built = tokio::task::spawn_blocking(move || {
                let knowledge = crate::knowledge::Knowledge::read(&paths, &loaded.config, &cwd, window);
                let today = chrono::Local::now().date_naive();
                let machine = crate::knowledge::prompt::Environment::of_machine(&cwd, loaded.env("SHELL"), today);
                let prompt = crate::knowledge::prompt::assemble(&knowledge, &machine);
                if extra.trim().is_empty() { prompt } else { format!("{prompt}\n\n{}", extra.trim()) }
            })
            .await;
            match built {
                Ok(prompt) => self.session.prompt = prompt.into(),
                Err(error) => self.notice(Level::Error, format!("the system prompt could not be built: {error}")).await,
            }
            self.create_once().await;
            let (id, prompt) = (self.session.id.clone(), Arc::clone(&self.session.prompt));
            if let Err(error) = self.deps.store.set_prompt(&id, prompt.to_string()).await {
                tracing::warn!("the system prompt was not saved: {error}");
            }
        }
    }

    /// Shrinks old results when the next request would not fit.
    pub(super) async fn bound_context(&mut self) {
        if let Some(limit) = self.session.limit(&self.deps.loaded.config.compression)
            && self.session.next_request() > limit
            && {
                self.compresses();
                self.session.context.prune(limit)
            }
        {
            self.session.forget_reads();
            self.session.counted = None;
            self.notice(Level::Info, "old tool results were shortened to make room").await;
        }
    }

    /// Shrinks after the provider said that the request was too large.
    pub(super) async fn trim(&mut self) -> bool {
        let now = self.session.context.estimate();
        self.session.counted = None;
        self.session.forget_reads();
        self.session.context.prune(now.saturating_mul(2) / 3)
    }
}

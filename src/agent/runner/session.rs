//! The open session: what is stored with it, its prompt, its model, and opening, resuming and leaving it.

use super::{Deps, Runner, Start};
use crate::agent::context::Context;
use crate::agent::event::{AgentEvent, Level, Meter, SessionInfo};
use crate::agent::models::Models;
use crate::agent::situation::{self, Situation};
use crate::config::CompressionConfig;
use crate::llm::endpoint::SetupError;
use crate::llm::message::{Body, Item, ItemId, SessionId, Usage};
use crate::llm::{Effort, Provider, ToolSchema};
use crate::policy::Mode;
use crate::tools::offer::Offer;
use crate::tools::spec::FileLedger;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinHandle;

/// One open conversation.
pub struct Session {
    pub id: SessionId,
    pub title: Option<String>,
    /// `MODEL` or `PROVIDER:MODEL`; `None`: the configured one.
    pub choice: Option<String>,
    pub effort: Effort,
    pub mode: Mode,
    pub cwd: Arc<Mutex<PathBuf>>,
    pub files: Arc<Mutex<FileLedger>>,
    pub context: Context,
    pub turn: u32,
    pub next_item: i64,
    pub prompt: Arc<str>,
    pub tools: Arc<[ToolSchema]>,
    /// Items that the store did not take; they go with the next that it takes.
    pub unsaved: Vec<Item>,
    /// What it may use, now and later.
    pub offer: Arc<Offer>,
    /// Names of toolsets; `None`: the configuration's.
    pub toolsets: Option<Vec<String>>,
    /// The person chose other toolsets: the next turn begins with them.
    pub tools_are_old: bool,
    /// Tools that can be searched for, by toolset, as the model knows them.
    pub searched: BTreeMap<String, usize>,
    /// A row in the store exists.
    pub created: bool,
    /// The folder as the store has it.
    pub stored_cwd: String,
    /// Connected models by choice and fallback.
    providers: HashMap<(Option<String>, usize), Arc<dyn Provider>>,
    window: Option<u64>,
    /// What the provider last counted, and for which item.
    counted: Option<(ItemId, u64)>,
    total: Usage,
    priced_once: bool,
}

/// Least share of a window below [`LARGE`] that a request may fill before old results are shrunk (as Python Hermes has it).
const FILL: f64 = 0.75;
/// Tokens from which on `compression.threshold` counts as it is.
const LARGE: u64 = 512_000;
/// Tokens kept free for the answer when the window is known.
const ANSWER: u64 = 8_000;
/// Items of the first page of a resumed session; older ones are loaded when the reader scrolls up.
pub const PAGE: usize = 120;
/// Toolsets whose coming and going is told at once.
const MOST_CHANGES: usize = 12;
/// Characters of a title made from the first prompt.
const TITLE: usize = 60;

impl Session {
    /// A fresh session; nothing is stored before its first item.
    pub fn new(deps: &Deps, start: &Start, mode: Mode) -> Self {
        let effort = Effort::parse(&deps.loaded.config.agent.reasoning_effort).unwrap_or_default();
        let mut session = Self {
            id: crate::store::new_session_id(),
            title: None,
            choice: start.model.clone(),
            effort,
            mode,
            cwd: Arc::new(Mutex::new(start.cwd.clone())),
            files: Arc::default(),
            context: Context::default(),
            turn: 0,
            next_item: 1,
            prompt: "".into(),
            tools: Vec::new().into(),
            unsaved: Vec::new(),
            offer: Arc::default(),
            toolsets: start.toolsets.clone(),
            tools_are_old: false,
            searched: BTreeMap::new(),
            created: false,
            stored_cwd: start.cwd.display().to_string(),
            providers: HashMap::new(),
            window: None,
            counted: None,
            total: Usage::default(),
            priced_once: false,
        };
        session.look_up(&deps.models);
        session
    }

    /// The connected model.
    pub fn provider(&mut self, models: &Models, fallback: usize) -> Result<Arc<dyn Provider>, SetupError> {
        let key = (self.choice.clone(), fallback);
        if let Some(provider) = self.providers.get(&key) {
            return Ok(Arc::clone(provider));
        }
        let provider = models.provider(self.choice.as_deref(), fallback)?;
        self.providers.insert(key, Arc::clone(&provider));
        Ok(provider)
    }

    /// Learns the window of the chosen model.
    pub fn look_up(&mut self, models: &Models) {
        self.window = self.provider(models, 0).ok().and_then(|p| p.model().context);
    }

    /// Takes a provider that knows more of its model.
    pub fn learned(&mut self, choice: Option<String>, provider: Arc<dyn Provider>) {
        if choice == self.choice {
            self.window = provider.model().context;
        }
        self.providers.insert((choice, 0), provider);
    }

    /// What the model had read may be gone from its context: it may read it again.
    fn forget_reads(&self) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).forget_reads();
    }

    /// Forgets connections, after the configuration changed.
    pub fn disconnect(&mut self) {
        self.providers.clear();
    }

    /// Whether the model takes pictures, when known.
    pub fn sees(&self) -> Option<bool> {
        self.providers.get(&(self.choice.clone(), 0)).and_then(|provider| provider.model().vision)
    }

    fn model_name(&self) -> String {
        match self.providers.get(&(self.choice.clone(), 0)) {
            Some(provider) => format!("{}:{}", provider.model().provider, provider.model().id),
            None => String::new(),
        }
    }

    /// What the screen tells of it.
    pub fn info(&self) -> SessionInfo {
        SessionInfo {
            id: self.id.clone(),
            title: self.title.clone(),
            model: self.model_name(),
            effort: self.effort,
            mode: self.mode,
            cwd: self.cwd.lock().unwrap_or_else(PoisonError::into_inner).display().to_string(),
            window: self.window,
            toolsets: self.toolsets.clone(),
        }
    }

    /// Counts the usage of a finished reply.
    pub fn saw_usage(&mut self, id: ItemId, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        self.counted = Some((id, usage.input + usage.output));
        self.total.input += usage.input;
        self.total.cached += usage.cached;
        self.total.cache_write += usage.cache_write;
        self.total.output += usage.output;
        self.total.reasoning += usage.reasoning;
        // One unpriced call makes the sum unknown.
        self.total.cost = match (self.total.cost, usage.cost, self.priced_once) {
            (_, Some(cost), false) => Some(cost),
            (Some(sum), Some(cost), true) => Some(sum + cost),
            (None, Some(_), true) | (_, None, _) => None,
        };
        self.priced_once = true;
    }

    /// The conversation is another one: what was spent stays spent, what the next request holds is counted anew.
    pub fn replace_context(&mut self, items: Vec<Item>) {
        let last = items.iter().rev().find_map(|item| match &item.body {
            Body::Assistant(body) => body.usage.map(|usage| (item.id, usage.input + usage.output)),
            Body::User { .. } | Body::Tool(_) | Body::Note { .. } => None,
        });
        self.counted = last;
        self.context.replace(items);
    }

    /// Sums that the store kept: what was left out of the conversation was paid for too.
    pub fn spent(&mut self, whole: Usage) {
        let cost = if self.total.cost.is_some() { whole.cost } else { None };
        self.total = Usage { cost, ..whole };
    }

    /// Tokens of the next request.
    pub fn next_request(&self) -> u64 {
        match self.counted {
            Some((id, tokens)) => tokens + self.context.estimate_after(id),
            None => {
                let tools: usize =
                    self.tools.iter().map(|t| t.description.len() + t.parameters.to_string().len()).sum();
                ((self.prompt.len() + tools) / 4) as u64 + self.context.estimate()
            }
        }
    }

    /// The meter of the sidebar.
    pub fn meter(&self) -> Meter {
        Meter { context: self.next_request(), window: self.window, total: self.total }
    }

    /// Tokens that the items may fill; `None` when the window is unknown.
    pub fn limit(&self, config: &CompressionConfig) -> Option<u64> {
        let share = |window| if window < LARGE { config.threshold.max(FILL) } else { config.threshold };
        let window = self.window.filter(|_| config.enabled);
        window.map(|window| {
            ((window as f64 * share(window).clamp(0.1, 0.95)) as u64).min(window.saturating_sub(ANSWER)).max(window / 2)
        })
    }
}

impl Runner {
    /// Tells the screen that a session is open.
    pub(super) async fn opened(&mut self, items: Vec<Item>) {
        self.ask_window();
        let session = self.session.info();
        self.out.send(AgentEvent::SessionOpened { session, items }).await;
        let meter = self.session.meter();
        self.out.send(AgentEvent::UsageChanged(meter)).await;
    }

    /// Asks for the window and the price of the chosen model, in the background: its server on this machine, or, where a
    /// person sits at the screen, the provider's list once a day.
    pub(super) fn ask_window(&self) {
        let refreshes = self.start.interactive;
        let (models, choice, answers) = (self.deps.models.clone(), self.session.choice.clone(), self.asked.0.clone());
        tokio::spawn(async move {
            let mut known = models.asked(choice.as_deref()).await;
            if known.is_none() && refreshes {
                known = models.refreshed(choice.as_deref()).await;
            }
            if let Some(provider) = known {
                // The session may be over.
                let _ = answers.send((choice, provider)).await;
            }
        });
    }

    /// The answer to [`Self::ask_window`].
    pub(super) async fn answered(&mut self, choice: Option<String>, provider: Arc<dyn Provider>) {
        self.session.learned(choice, provider);
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
        let meter = self.session.meter();
        self.out.send(AgentEvent::UsageChanged(meter)).await;
    }

    /// Writes the session's row before its first item.
    pub(super) async fn create_once(&mut self) {
        if self.session.created {
            return;
        }
        self.session.created = true;
        let new = crate::store::NewSession {
            id: self.session.id.clone(),
            cwd: self.session.info().cwd,
            model: self.session.model_name(),
            source: self.start.source.to_owned(),
            started_at: crate::agent::now(),
        };
        if let Err(error) = self.deps.store.create(new).await {
            self.not_saved(error.to_string()).await;
            // Tried again with the next item: the row knows the folder.
            self.session.created = false;
            return;
        }
        if let Some(title) = self.session.title.clone() {
            self.set_title(title).await;
        }
    }

    /// Chooses the model of the next step.
    pub(super) async fn set_model(&mut self, choice: String) {
        let before = self.session.choice.replace(choice);
        match self.session.provider(&self.deps.models, 0) {
            Ok(_) => {
                self.session.look_up(&self.deps.models);
                self.ask_window();
                let (id, model) = (self.session.id.clone(), self.session.model_name());
                if self.session.created
                    && let Err(error) = self.deps.store.set_model(&id, &model).await
                {
                    tracing::warn!("the session's model was not saved: {error}");
                }
                self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
                let meter = self.session.meter();
                self.out.send(AgentEvent::UsageChanged(meter)).await;
            }
            Err(error) => {
                self.session.choice = before;
                self.notice(Level::Error, error.to_string()).await;
            }
        }
    }

    /// Names the session.
    pub(super) async fn set_title(&mut self, title: String) {
        self.session.title = Some(title.clone());
        if self.session.created {
            let id = self.session.id.clone();
            match self.deps.store.set_title(&id, &title).await {
                Ok(kept) => self.session.title = kept,
                Err(error) => self.notice(Level::Warning, format!("the title was not saved: {error}")).await,
            }
        }
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
    }

    /// A title from the first prompt, until somebody gives a better one.
    pub(super) async fn title_from(&mut self, prompt: &str) {
        let line = prompt.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
        let line = line.split_inclusive(['.', '?', '!']).next().unwrap_or(line).trim_end_matches(['.', '!']);
        let mut title: String = line.chars().take(TITLE).collect();
        if line.chars().count() > TITLE {
            title.push('…');
        }
        if !title.is_empty() {
            self.session.title = Some(title);
            self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
        }
    }

    /// Reads the configuration again (a key was pasted, a setting changed).
    pub(super) async fn reload(&mut self) {
        let sources = Arc::clone(&self.deps.sources);
        let Ok(loaded) = tokio::task::spawn_blocking(move || crate::config::load::load(&sources)).await else { return };
        let loaded = Arc::new(loaded);
        self.deps.models = self.deps.models.reloaded(Arc::clone(&loaded));
        self.gate.set_rules(super::rules(&loaded.config));
        self.deps.exec.mask_notices(loaded.config.security.redact_secrets);
        self.deps.loaded = Arc::clone(&loaded);
        self.deps.extensions.reload(Some(loaded)).await;
        self.turn.set_limits(self.limits());
        self.session.disconnect();
        self.session.look_up(&self.deps.models);
        self.ask_window();
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
    }

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
        self.compresses();
        self.session.counted = None;
        self.session.forget_reads();
        self.session.context.prune(now.saturating_mul(2) / 3)
    }
}

//! The open session: its model and connections, what it was offered, what was spent, and how full its window is.

use super::{Deps, SessionSpec};
use crate::agent::compaction::{History, limit};
use crate::agent::context::Context;
use crate::agent::correction::Correction;
use crate::agent::models::{Models, Profile};
use crate::agent::prefix::PrefixWatch;
use crate::backends::Backends;
use crate::checkpoints::Workspace;
use crate::config::CompressionConfig;
use crate::llm::endpoint::SetupError;
use crate::llm::{Effort, Provider, ToolSchema};
use crate::lock::lock;
use crate::policy::Mode;
use crate::protocol::{Body, ContextLayer, Item, ItemId, Keep, Meter, SessionId, SessionInfo, Usage, Written};
use crate::text::tokens;
use crate::tools::file::commands::Unended;
use crate::tools::offer::selection::ToolSelection;
use crate::tools::spec::FileLedger;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

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
    backends: Backends,
    /// The folder it works in, as it was before commands ran there.
    pub workspace: Arc<Workspace>,
    /// Its commands that run on after their calls.
    pub unended: Unended,
    pub context: Context,
    pub turn: u32,
    pub next_item: i64,
    pub prompt: Arc<str>,
    pub tools: Arc<[ToolSchema]>,
    /// Those that it will most likely have, as long as none are chosen: only for what is shown of its next request.
    pub expected: Arc<[ToolSchema]>,
    /// What its prompt and tools were made for; `None` before.
    pub profile: Option<Profile>,
    /// Items that the store did not take; they go with the next that it takes.
    pub unsaved: Vec<Item>,
    /// What it may use, now and later.
    pub offer: Arc<ToolSelection>,
    /// Names of toolsets; `None`: the configuration's.
    pub toolsets: Option<Vec<String>>,
    /// The person chose other toolsets: the next turn begins with them.
    pub tools_are_old: bool,
    /// What stood in its requests before it was left.
    pub(super) kept: Option<super::tools::Kept>,
    /// Tools that can be searched for, by toolset, as the model knows them.
    pub searched: BTreeMap<String, usize>,
    /// Why the provider's cache no longer held the beginning of a request.
    pub prefix: PrefixWatch,
    /// What was compacted, and what came of it.
    pub compactions: History,
    /// A row in the store exists.
    pub created: bool,
    /// The branch as the store has it.
    pub branch: Option<String>,
    /// The folder as the store has it.
    pub stored_cwd: String,
    /// Connected models by choice and fallback.
    providers: HashMap<(Option<String>, usize), Arc<dyn Provider>>,
    /// Whether the chosen one was connected as one whose calls a grammar holds.
    guided: bool,
    /// The model that is asked in auto mode.
    pub auto_approver: Option<String>,
    /// Where untrusted text in it came from.
    pub untrusted: Vec<String>,
    /// The files of secrets in its project.
    pub project: crate::agent::secrets::OfProject,
    /// Tokens of the model's window, when known.
    pub window: Option<u64>,
    /// The person was told that the window is nearly full.
    pub warned: bool,
    /// What the provider last counted, and for which item.
    pub counted: Option<(ItemId, u64)>,
    /// What the provider counts of an estimated token.
    pub correction: Correction,
    /// What the prompt is made of, as far as it is known.
    pub layers: Vec<ContextLayer>,
    total: Usage,
    /// What its children used, and of that what they had used when the session was opened.
    pub of_children: Usage,
    pub of_earlier_children: Usage,
    priced_once: bool,
    /// What saving cost.
    pub written: Written,
}

/// Items of the first page of a resumed session; older ones are loaded when the reader scrolls up.
pub const PAGE: usize = 120;

impl Session {
    /// A fresh session; nothing is stored before its first item.
    pub fn new(deps: &Deps, spec: &SessionSpec, id: SessionId, mode: Mode) -> Self {
        let effort = Effort::parse(&deps.loaded.config.agent.reasoning_effort).unwrap_or_default();
        let mut session = Self {
            id,
            title: None,
            choice: spec.model.clone(),
            effort,
            mode,
            cwd: Arc::new(Mutex::new(spec.cwd.clone())),
            files: Arc::default(),
            backends: deps.backends.clone(),
            workspace: deps.workspace(&spec.cwd),
            unended: Unended::default(),
            context: Context::default(),
            turn: 0,
            next_item: 1,
            prompt: "".into(),
            tools: Vec::new().into(),
            expected: Vec::new().into(),
            profile: None,
            unsaved: Vec::new(),
            offer: Arc::default(),
            toolsets: spec.toolsets.clone(),
            tools_are_old: false,
            kept: None,
            searched: BTreeMap::new(),
            prefix: PrefixWatch::default(),
            compactions: History::default(),
            branch: None,
            created: false,
            stored_cwd: spec.cwd.display().to_string(),
            providers: HashMap::new(),
            guided: false,
            auto_approver: None,
            untrusted: Vec::new(),
            project: Default::default(),
            window: None,
            warned: false,
            counted: None,
            correction: Correction::default(),
            layers: Vec::new(),
            total: Usage::default(),
            of_children: Usage::default(),
            of_earlier_children: Usage::default(),
            priced_once: false,
            written: Written::default(),
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
        if fallback == 0 {
            self.guided = models.profile(self.choice.as_deref()).guided;
        }
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
    pub fn forget_reads(&self) {
        lock(&self.files).forget_reads();
    }

    /// Takes what the person decided about entries.
    pub fn choose(&mut self, kept: BTreeMap<ItemId, Keep>) {
        self.reshape(|context| context.keep(kept));
        self.prefix.changed("you pinned, shortened or left out an entry");
        self.forget_reads();
    }

    /// Changes how entries are sent; returns what came of it with the tokens of the next request before and after. The
    /// estimate says what changes, the meter from where.
    pub fn reshape<T>(&mut self, change: impl FnOnce(&mut Context) -> T) -> (T, u64, u64) {
        let (before, was) = (self.filling(), self.correction.of(self.context.estimate()));
        let done = change(&mut self.context);
        let is = self.correction.of(self.context.estimate());
        let after = (before + is).saturating_sub(was);
        if let Some(last) = self.context.items().last().filter(|_| is != was) {
            self.counted = Some((last.id, after));
        }
        (done, before, after)
    }

    /// Forgets connections, after the configuration changed.
    pub fn disconnect(&mut self) {
        self.providers.clear();
        self.correction.forget();
    }

    /// Whether a grammar holds the calls of the chosen model, as it is connected.
    pub fn is_guided(&self) -> bool {
        self.guided
    }

    /// Whether the model takes pictures, when known.
    pub fn sees(&self) -> Option<bool> {
        self.providers.get(&(self.choice.clone(), 0)).and_then(|provider| provider.model().vision)
    }

    /// `PROVIDER:MODEL`; empty when none is connected.
    pub fn model_name(&self) -> String {
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
            cwd: lock(&self.cwd).display().to_string(),
            place: self.backends.label(),
            unavailable: self.backends.unavailable().to_vec(),
            window: self.window,
            toolsets: self.toolsets.clone(),
            auto_approver: self.auto_approver.clone(),
            untrusted: self.untrusted.clone(),
        }
    }

    /// The sums over the session.
    pub fn used(&self) -> &Usage {
        &self.total
    }

    /// Counts what an entry tells of usage.
    pub fn saw(&mut self, item: &Item) {
        match &item.body {
            Body::Assistant(body) => {
                if let Some(usage) = body.usage {
                    self.counted = Some((item.id, usage.input + usage.output));
                    self.correction.counted(usage.input);
                    self.pay(usage);
                }
            }
            Body::Summary(summary) => {
                self.recount(item.id, summary.after);
                if let Some(usage) = summary.usage {
                    self.pay(usage);
                }
            }
            Body::User { .. } | Body::Tool(_) | Body::Note { .. } => {}
        }
    }

    /// A request up to this entry has so many tokens now.
    fn recount(&mut self, id: ItemId, tokens: u64) {
        self.counted = Some((id, tokens));
    }

    /// Adds to what was spent.
    pub fn pay(&mut self, usage: Usage) {
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
            Body::Summary(summary) => Some((item.id, summary.after)),
            Body::User { .. } | Body::Tool(_) | Body::Note { .. } => None,
        });
        self.counted = last;
        self.prefix.changed("the conversation was rewound");
        self.context.replace(items);
    }

    /// Sums that the store kept: what was left out of the conversation was paid for too.
    pub fn spent(&mut self, whole: Usage) {
        let cost = if self.total.cost.is_some() { whole.cost } else { None };
        self.total = Usage { cost, ..whole };
    }

    /// Tokens of the next request: what the provider counted last, and the rest as it would count it.
    pub fn next_request(&self) -> u64 {
        match self.counted {
            Some((id, tokens)) => tokens + self.correction.of(self.context.estimate_after(id)),
            None => self.correction.of(self.fixed() + self.context.estimate()),
        }
    }

    /// A request goes out: what the provider counts for it is compared with the estimate.
    pub fn sends(&mut self) {
        let estimate = self.fixed() + self.context.estimate();
        self.correction.sends(estimate);
    }

    /// Tokens of the next request, for whoever must not send too much. A server that left out the beginning of a
    /// conversation, or counts only what it had not cached, says less than there is: what is less than half of an estimate is
    /// not believed.
    pub fn filling(&self) -> u64 {
        let (counted, estimate) = (self.next_request(), self.correction.of(self.fixed() + self.context.estimate()));
        if counted < estimate / 2 { estimate / 10 * 9 } else { counted }
    }

    /// Tokens of what stands in every request: the prompt and the tools.
    pub fn fixed(&self) -> u64 {
        let tool = |t: &ToolSchema| tokens::of_tool(&t.name, &t.description, &t.parameters.to_string());
        tokens::of(self.prompt.len()) + self.offered().iter().map(tool).sum::<u64>()
    }

    /// The tools of the next request, as far as they are known.
    pub fn offered(&self) -> &[ToolSchema] {
        if self.tools.is_empty() { &self.expected } else { &self.tools }
    }

    /// The meter of the sidebar.
    pub fn meter(&self) -> Meter {
        Meter {
            context: self.next_request(),
            window: self.window,
            total: self.total,
            children: self.of_children,
            written: self.written,
        }
    }

    /// Tokens of a request from which on the conversation is compacted; `None` when the window is unknown, or it never is.
    pub fn limit(&self, config: &CompressionConfig, answer: Option<u32>) -> Option<u64> {
        let window = self.window.filter(|_| config.enabled);
        window.map(|window| limit::limit(window, config.threshold, answer))
    }
}

//! Which tools exist: those of the program, and those that servers and plugins publish and withdraw while it runs.
//!
//! Readers take a [`Snapshot`], which never changes under them; nothing is locked while they use it.

mod check;
mod snapshot;

use super::builtin::{
    agents, checkpoint, clarify, delegate_task, execute_code, patch, plan_mode, process, read_file, restore,
    search_files, session_search, terminal, todo, tool_call, tool_describe, tool_search, write_file,
};
use super::spec::{CheckId, Publish, Tool};
use crate::lock::lock;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

pub use check::Check;
pub use snapshot::Snapshot;

/// Bytes of a tool name that every provider takes.
const NAME_BYTES: usize = 64;

/// Makes one tool; the error says why it cannot be had.
pub type Build = fn() -> Result<Arc<dyn Tool>, String>;

/// The tools that are part of the program: one line each.
fn builtin() -> Vec<(&'static str, Build)> {
    vec![
        (agents::NAME, || Ok(Arc::new(agents::Agents))),
        (checkpoint::NAME, || Ok(Arc::new(checkpoint::Checkpoint))),
        (clarify::NAME, || Ok(Arc::new(clarify::Clarify))),
        (delegate_task::NAME, || Ok(Arc::new(delegate_task::DelegateTask))),
        (execute_code::NAME, || Ok(execute_code::execute_code())),
        (patch::NAME, || Ok(Arc::new(patch::Patch))),
        (plan_mode::NAME, || Ok(Arc::new(plan_mode::PlanMode))),
        (process::NAME, || Ok(process::process())),
        (read_file::NAME, || Ok(Arc::new(read_file::ReadFile))),
        (restore::NAME, || Ok(Arc::new(restore::Restore))),
        (search_files::NAME, || Ok(Arc::new(search_files::SearchFiles))),
        (session_search::NAME, || Ok(Arc::new(session_search::SessionSearch))),
        (terminal::NAME, || Ok(terminal::terminal())),
        (todo::NAME, || Ok(Arc::new(todo::TodoTool))),
        (tool_call::NAME, || Ok(Arc::new(tool_call::ToolCall))),
        (tool_describe::NAME, || Ok(Arc::new(tool_describe::ToolDescribe))),
        (tool_search::NAME, || Ok(Arc::new(tool_search::ToolSearch))),
        (write_file::NAME, || Ok(Arc::new(write_file::WriteFile))),
    ]
}

/// All tools, live. Shared by everybody who calls or lists them.
pub struct Registry {
    parts: Mutex<Parts>,
    now: watch::Sender<Arc<Snapshot>>,
}

/// What a snapshot is made of.
#[derive(Default)]
struct Parts {
    own: Vec<Arc<dyn Tool>>,
    checks: HashMap<CheckId, Check>,
    /// What went wrong with tools of the program.
    problems: Vec<String>,
    /// In the order in which they first published.
    sources: Vec<Source>,
}

/// A server or a plugin.
#[derive(Default)]
struct Source {
    name: String,
    tools: Vec<Arc<dyn Tool>>,
    /// What it could not publish, and why.
    problems: Vec<String>,
    /// What the source itself reported.
    reported: Vec<String>,
}

impl Default for Registry {
    fn default() -> Self {
        Self { parts: Mutex::default(), now: watch::Sender::new(Arc::default()) }
    }
}

impl Registry {
    /// The tools that are part of the program.
    pub fn builtin() -> Self {
        let registry = Self::of(builtin());
        registry.add_check(CheckId(execute_code::NAME.into()), Arc::new(execute_code::check));
        registry
    }

    /// A registry of these tools. One that cannot be built is told about and left out; the others are there.
    pub fn of(builds: Vec<(&'static str, Build)>) -> Self {
        let registry = Self::default();
        registry.change(|parts| {
            for (name, build) in builds {
                match catch_unwind(build) {
                    Ok(Ok(tool)) => parts.own.push(tool),
                    Ok(Err(why)) => parts.problems.push(format!("tool {name} skipped: {why}")),
                    Err(_) => parts.problems.push(format!("tool {name} skipped: it panicked while loading")),
                }
            }
        });
        registry
    }

    /// All tools as they are now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.now.borrow())
    }

    /// Tells of every change; the newest snapshot only.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.now.subscribe()
    }

    /// Adds a tool of the program. One of the same name is replaced, with a warning.
    pub fn register(&self, tool: Arc<dyn Tool>) {
        self.change(|parts| parts.own.push(tool));
    }

    /// Adds a check that specs name by `id`; one of the same name is replaced.
    pub fn add_check(&self, id: CheckId, check: Check) {
        self.change(|parts| {
            parts.checks.insert(id, check);
        });
    }

    /// Tells that this source may publish later: sessions that begin before it does can find its tools then.
    pub fn expect(&self, source: &str) {
        self.change(|parts| {
            parts.source(source);
        });
    }

    /// Makes `tools` the tools of this source, instead of those that it had. A tool that cannot be used is left out with
    /// a warning; what it reported before is forgotten.
    pub fn publish(&self, source: &str, tools: Vec<Arc<dyn Tool>>) {
        let (mut usable, mut problems) = (Vec::with_capacity(tools.len()), Vec::new());
        for tool in tools {
            match fault(&*tool) {
                None => usable.push(tool),
                Some(why) => problems.push(format!("{source}: tool skipped: {why}")),
            }
        }
        self.change(|parts| {
            let held = parts.source(source);
            (held.tools, held.problems, held.reported) = (usable, problems, Vec::new());
        });
    }

    /// Tells what a source could not make into tools, beside those that it published.
    pub fn report(&self, source: &str, problems: Vec<String>) {
        self.change(|parts| {
            parts.source(source).reported = problems.iter().map(|problem| format!("{source}: {problem}")).collect();
        });
    }

    /// Takes away the tools of a source, and what it reported.
    pub fn withdraw(&self, source: &str) {
        self.change(|parts| parts.sources.retain(|held| held.name != source));
    }

    fn change(&self, change: impl FnOnce(&mut Parts)) {
        let mut parts = lock(&self.parts);
        change(&mut parts);
        let before = self.snapshot();
        let next = parts.snapshot(before.generation + 1);
        for warning in next.warnings.iter().filter(|warning| !before.warnings.contains(warning)) {
            tracing::warn!("{warning}");
        }
        self.now.send_replace(Arc::new(next));
    }
}

impl Publish for Registry {
    fn expect(&self, source: &str) {
        Self::expect(self, source);
    }

    fn publish(&self, source: &str, tools: Vec<Arc<dyn Tool>>) {
        Self::publish(self, source, tools);
    }

    fn report(&self, source: &str, problems: Vec<String>) {
        Self::report(self, source, problems);
    }

    fn withdraw(&self, source: &str) {
        Self::withdraw(self, source);
    }
}

/// Why a published tool cannot be used.
fn fault(tool: &dyn Tool) -> Option<String> {
    let Ok(spec) = catch_unwind(AssertUnwindSafe(|| tool.spec())) else {
        return Some("it panicked while describing itself".into());
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if spec.name.is_empty() || spec.name.len() > NAME_BYTES || !spec.name.chars().all(fits) {
        let shown: String = spec.name.chars().take(NAME_BYTES).collect();
        return Some(format!("its name `{}` is not 1 to {NAME_BYTES} of A-Z a-z 0-9 _ -", shown.escape_debug()));
    }
    (!spec.schema.is_object()).then(|| format!("the schema of {} is not an object", spec.name))
}

impl Parts {
    fn source(&mut self, name: &str) -> &mut Source {
        let at = self.sources.iter().position(|source| source.name == name).unwrap_or_else(|| {
            self.sources.push(Source { name: name.to_owned(), ..Source::default() });
            self.sources.len() - 1
        });
        &mut self.sources[at]
    }

    fn snapshot(&self, generation: u64) -> Snapshot {
        let mut snapshot = Snapshot {
            checks: self.checks.clone(),
            warnings: self.problems.clone(),
            generation,
            ..Snapshot::default()
        };
        self.own.iter().for_each(|tool| snapshot.add(tool, None));
        for source in &self.sources {
            let name: Arc<str> = source.name.as_str().into();
            source.tools.iter().for_each(|tool| snapshot.add(tool, Some(&name)));
            snapshot.warnings.extend(source.problems.iter().chain(&source.reported).cloned());
            snapshot.sources.push(name);
        }
        snapshot
    }
}

#[cfg(test)]
mod tests;

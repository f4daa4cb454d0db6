//! Which tools exist: those of the program, and those that servers and plugins publish and withdraw while it runs.
//!
//! Readers take a [`Snapshot`], which never changes under them; nothing is locked while they use it.

pub use super::check::Check;
use super::check::run_check;
use super::spec::{CheckId, Publish, Tool, ToolSpec};
use super::{
    clarify, patch, process, read_file, search_files, terminal, todo, tool_call, tool_describe, tool_search, write_file,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Bytes of a tool name that every provider takes.
const NAME_BYTES: usize = 64;

/// Makes one tool; the error says why it cannot be had.
pub type Build = fn() -> Result<Arc<dyn Tool>, String>;

/// The tools that are part of the program: one line each.
fn builtin() -> Vec<(&'static str, Build)> {
    vec![
        ("clarify", || Ok(Arc::new(clarify::Clarify))),
        ("patch", || Ok(Arc::new(patch::Patch))),
        ("process", || Ok(process::process())),
        ("read_file", || Ok(Arc::new(read_file::ReadFile))),
        ("search_files", || Ok(Arc::new(search_files::SearchFiles))),
        ("terminal", || Ok(terminal::terminal())),
        ("todo", || Ok(Arc::new(todo::TodoTool))),
        ("tool_call", || Ok(Arc::new(tool_call::ToolCall))),
        ("tool_describe", || Ok(Arc::new(tool_describe::ToolDescribe))),
        ("tool_search", || Ok(Arc::new(tool_search::ToolSearch))),
        ("write_file", || Ok(Arc::new(write_file::WriteFile))),
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

/// All tools at one moment.
#[derive(Clone, Default)]
pub struct Snapshot {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    /// Which source a tool came from; the program's own are not in it.
    origins: HashMap<String, Arc<str>>,
    checks: HashMap<CheckId, Check>,
    warnings: Vec<String>,
    sources: Vec<Arc<str>>,
    generation: u64,
}

impl Default for Registry {
    fn default() -> Self {
        Self { parts: Mutex::default(), now: watch::Sender::new(Arc::default()) }
    }
}

impl Registry {
    /// The tools that are part of the program.
    pub fn builtin() -> Self {
        Self::of(builtin())
    }

    /// A registry of these tools. One that cannot be built is told about and left out; the others are there.
    pub fn of(builds: Vec<(&'static str, Build)>) -> Self {
        let registry = Self::default();
        registry.change(|parts| {
            for (name, build) in builds {
                match catch_unwind(build) {
                    Ok(Ok(tool)) => parts.own.push(tool),
                    Ok(Err(why)) => parts.problems.push(format!("tool {name} is left out: {why}")),
                    Err(_) => parts.problems.push(format!("tool {name} is left out: it broke while it was made")),
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
                Some(why) => problems.push(format!("{source}: a tool is left out: {why}")),
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
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
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
        return Some("it broke while it was asked what it is".into());
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

impl Snapshot {
    /// The later of two with one name wins.
    fn add(&mut self, tool: &Arc<dyn Tool>, source: Option<&Arc<str>>) {
        let spec = tool.spec();
        let name = spec.name.to_string();
        if let Some(earlier) = self.tools.insert(name.clone(), Arc::clone(tool)) {
            let other = &earlier.spec().toolset;
            self.warnings.push(format!("tool {name} of toolset {} replaces the one of toolset {other}", spec.toolset));
        }
        match source {
            Some(source) => self.origins.insert(name, Arc::clone(source)),
            None => self.origins.remove(&name),
        };
    }

    /// Counts changes; the same number means the same tools.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What went wrong while tools were registered.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Names of the sources that published or reported, in that order.
    pub fn sources(&self) -> &[Arc<str>] {
        &self.sources
    }

    /// The source that published a tool; `None` for the program's own.
    pub fn origin(&self, name: &str) -> Option<&Arc<str>> {
        self.origins.get(name)
    }

    /// The tool of that exact name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.tools.keys().map(String::as_str)
    }

    /// All specs, sorted by name.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|tool| tool.spec())
    }

    /// The tools that cannot be used now, with the reason. Each check runs once, all at the same time.
    pub async fn unavailable(&self) -> BTreeMap<String, String> {
        let needed: BTreeSet<&CheckId> = self.specs().filter_map(|spec| spec.check.as_ref()).collect();
        let results = futures::future::join_all(needed.into_iter().map(|id| async move {
            let result = match self.checks.get(id) {
                Some(check) => run_check(Arc::clone(check)).await,
                None => Err(format!("its check `{}` does not exist", id.0)),
            };
            (id, result)
        }))
        .await;
        let failed: HashMap<&CheckId, String> =
            results.into_iter().filter_map(|(id, result)| Some((id, result.err()?))).collect();
        self.specs()
            .filter_map(|spec| Some((spec.name.to_string(), failed.get(spec.check.as_ref()?)?.clone())))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Fake, Step};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn builtin_tools_are_sorted_and_described() {
        let registry = Registry::builtin().snapshot();
        assert!(registry.warnings().is_empty());
        assert!(registry.names().is_sorted());
        for spec in registry.specs() {
            let words = spec.description.split_whitespace().count();
            assert!(spec.description.len() > 20 && words <= 180, "{}", spec.name);
            assert_eq!(spec.schema["type"], "object", "{}", spec.name);
            assert!(spec.pinned, "{}", spec.name);
        }
    }

    /// The model reads all of it with every request. About 4.3 bytes make a token.
    #[test]
    fn the_file_tools_are_light() {
        let registry = Registry::builtin().snapshot();
        let ours = ["clarify", "patch", "read_file", "search_files", "todo", "write_file"];
        let weight = |spec: &ToolSpec| spec.name.len() + spec.description.len() + spec.schema.to_string().len();
        let bytes: usize = registry.specs().filter(|spec| ours.contains(&&*spec.name)).map(weight).sum();
        assert!(bytes < 4_700, "{bytes} bytes");
    }

    #[test]
    fn the_later_of_two_wins_with_a_warning() {
        let registry = Registry::builtin();
        registry.register(Arc::new(Fake::new("patch", "mine", Step::Ok)));
        let registry = registry.snapshot();
        assert_eq!(registry.get("patch").unwrap().spec().toolset, "mine");
        assert!(registry.warnings()[0].contains("patch"), "{:?}", registry.warnings());
    }

    #[tokio::test]
    async fn checks_run_once_and_faults_mean_unavailable() {
        let registry = Registry::default();
        for (name, check) in
            [("a", "ok"), ("b", "ok"), ("c", "panics"), ("d", "errs"), ("e", "missing"), ("f", "hangs")]
        {
            registry.register(Arc::new(Fake::new(name, "t", Step::Ok).checked(check)));
        }
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        registry.add_check(
            CheckId("ok".into()),
            Arc::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }),
        );
        registry.add_check(CheckId("panics".into()), Arc::new(|| panic!("boom")));
        registry.add_check(CheckId("errs".into()), Arc::new(|| Err("no key".into())));
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        registry.add_check(
            CheckId("hangs".into()),
            Arc::new(move || held.lock().unwrap().recv().map_err(|e| e.to_string())),
        );
        let unavailable = registry.snapshot().unavailable().await;
        drop(hold);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(unavailable.keys().collect::<Vec<_>>(), ["c", "d", "e", "f"]);
        assert_eq!(unavailable["d"], "no key");
        assert!(unavailable["f"].contains("2 s"));
    }

    fn fake(name: &'static str, toolset: &'static str) -> Arc<dyn Tool> {
        Arc::new(Fake::new(name, toolset, Step::Ok))
    }

    #[test]
    fn a_tool_that_cannot_be_built_is_left_out() {
        let registry = Registry::of(vec![
            ("fine", || Ok(fake("fine", "t"))),
            ("needy", || Err("no library".into())),
            ("broken", || panic!("boom")),
        ]);
        let now = registry.snapshot();
        assert_eq!(now.names().collect::<Vec<_>>(), ["fine"]);
        assert_eq!(now.warnings().len(), 2, "{:?}", now.warnings());
        assert!(now.warnings()[0].contains("needy is left out: no library"));
    }

    #[test]
    fn sources_come_and_go() {
        let registry = Registry::builtin();
        let before = registry.snapshot();
        let mut told = registry.subscribe();
        registry
            .publish("mcp-gh", vec![fake("mcp__gh__find", "mcp-gh"), fake("todo", "mcp-gh"), fake("a b", "mcp-gh")]);
        registry.publish("shout", vec![fake("shout", "shout")]);
        registry.report("shout", vec!["tool whisper has no schema".into()]);
        let now = registry.snapshot();
        assert!(told.has_changed().unwrap() && told.borrow_and_update().generation() == now.generation());
        assert_eq!((now.get("todo").unwrap().spec().toolset.as_ref(), now.sources().len()), ("mcp-gh", 2));
        assert_eq!(now.origin("shout").map(|name| &**name), Some("shout"));
        assert!(now.origin("patch").is_none());
        let warnings = now.warnings().join("\n");
        for words in ["tool todo of toolset mcp-gh replaces", "its name `a b`", "shout: tool whisper has no schema"] {
            assert!(warnings.contains(words), "{warnings}");
        }
        // A list that changed keeps its place among the sources.
        registry.publish("mcp-gh", vec![fake("shout", "mcp-gh")]);
        assert_eq!(registry.snapshot().get("shout").unwrap().spec().toolset, "shout");
        for source in ["shout", "mcp-gh", "nobody"] {
            registry.withdraw(source);
        }
        let after = registry.snapshot();
        assert!(after.names().eq(before.names()) && after.warnings().is_empty() && after.sources().is_empty());
        assert!(before.get("mcp__gh__find").is_none(), "a snapshot never changes");
    }

    /// 300 tools of 20 sources, three of them dead: nothing is checked until somebody asks for a listing.
    #[tokio::test]
    async fn nothing_is_checked_before_it_is_asked_for() {
        let registry = Registry::builtin();
        let runs = Arc::new(AtomicUsize::new(0));
        for server in 0..20 {
            let (source, id) = (format!("mcp-s{server}"), CheckId(format!("server {server}").into()));
            registry.expect(&source);
            let counted = Arc::clone(&runs);
            registry.add_check(
                id.clone(),
                Arc::new(move || {
                    counted.fetch_add(1, Ordering::SeqCst);
                    if server < 3 { Err("dead".into()) } else { Ok(()) }
                }),
            );
            let tool = |n| {
                let tool = Fake::remote(&format!("mcp__s{server}__t{n}"), &source).checked(format!("server {server}"));
                Arc::new(tool) as Arc<dyn Tool>
            };
            registry.publish(&source, (0..15).map(tool).collect());
        }
        let offer = crate::tools::offer::Offer::default();
        let now = registry.snapshot();
        assert!(offer.offered(&now).searched.values().sum::<usize>() == 300 && now.warnings().is_empty());
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        assert_eq!(now.unavailable().await.len(), 45);
        assert_eq!(runs.load(Ordering::SeqCst), 20, "once for all tools that share it");
    }
}

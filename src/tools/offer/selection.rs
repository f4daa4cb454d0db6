//! What a session is offered: the tools it may use, those that stand in its requests, and those that it searches for.

use super::toolset::{self, Choice};
use super::{catalog, small, wording};
use crate::config::{CodeExecutionConfig, Config, ToolsConfig};
use crate::llm::ToolSchema;
use crate::lock::lock;
use crate::policy::Intent;
use crate::tools::builtin::{execute_code, tool_call, tool_describe, tool_search};
use crate::tools::input::repair;
use crate::tools::registry::Snapshot;
use crate::tools::spec::{Call, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec};
use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// The tools that find and run others. They are there when something is to be found.
pub const SEARCH: [&str; 3] = [tool_call::NAME, tool_describe::NAME, tool_search::NAME];

/// The rules of a session. What they allow is worked out anew when tools come or go.
#[derive(Debug, Default)]
pub struct ToolSelection {
    choice: Choice,
    config: ToolsConfig,
    /// For a small model: the few tools that it can use, and no search.
    small: bool,
    /// What scripts may do.
    scripts: CodeExecutionConfig,
    /// Tools whose check failed when the session began.
    missing: BTreeMap<String, String>,
    /// What was worked out last, and for which generation of the registry.
    known: Mutex<Option<(u64, Arc<BTreeSet<String>>)>>,
}

/// All tools at one moment, as far as a session may use them.
#[derive(Clone)]
pub struct VisibleTools {
    snapshot: Arc<Snapshot>,
    allowed: Option<Arc<BTreeSet<String>>>,
    /// Results of a search: by default, and at most.
    pub limits: (usize, usize),
    /// Scripts may call tools of servers, and those that are searched for.
    pub code_mode: bool,
}

/// What stands in the requests of a session.
#[derive(Clone, Debug, Default)]
pub struct Offered {
    /// Sorted by name.
    pub schemas: Vec<ToolSchema>,
    /// Tools that are found by search, by toolset.
    pub searched: BTreeMap<String, usize>,
    /// One sentence for each name that means nothing.
    pub warnings: Vec<String>,
}

impl ToolSelection {
    /// The offer of a configuration. `toolsets` are those of the command line or the session.
    pub fn of_config(config: &Config, toolsets: Option<&[String]>, missing: BTreeMap<String, String>) -> Self {
        let choice = Choice {
            enabled: toolsets.map(<[String]>::to_vec).or_else(|| config.toolsets.clone()),
            disabled: config.agent.disabled_toolsets.clone(),
            custom: config.custom_toolsets.clone(),
        };
        Self { scripts: config.code_execution.clone(), ..Self::new(choice, config.tools.clone(), missing) }
    }

    /// `missing` are the tools that cannot be used, with the reason.
    pub fn new(choice: Choice, config: ToolsConfig, missing: BTreeMap<String, String>) -> Self {
        Self { choice, config, missing, ..Self::default() }
    }

    /// The same for a small model.
    pub fn small(mut self, small: bool) -> Self {
        self.small = small;
        self
    }

    /// The same for a model of which this is said: whether its scripts may call tools of servers. `None`: as usual.
    pub fn code_mode(mut self, on: Option<bool>) -> Self {
        self.scripts.mcp = on.unwrap_or(self.scripts.mcp);
        self
    }

    /// The tools that a session with this offer may use now.
    pub fn among(&self, snapshot: Arc<Snapshot>) -> VisibleTools {
        let mut known = lock(&self.known);
        let allowed = match &*known {
            Some((generation, allowed)) if *generation == snapshot.generation() => Arc::clone(allowed),
            _ => {
                let allowed = Arc::new(self.allowed(&snapshot));
                *known = Some((snapshot.generation(), Arc::clone(&allowed)));
                allowed
            }
        };
        let search = &self.config.tool_search;
        let limits = (search.search_default_limit.max(1), search.max_search_limit.max(1));
        VisibleTools { snapshot, allowed: Some(allowed), limits, code_mode: self.scripts.mcp }
    }

    fn allowed(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        let mut tools = self.selected(snapshot).tools;
        tools.retain(|name| !self.missing.contains_key(name) && !SEARCH.contains(&name.as_str()));
        if self.small {
            tools.retain(|name| small::has(name));
        } else if self.searches(snapshot, &tools) {
            tools.extend(SEARCH.map(str::to_owned));
        }
        tools
    }

    fn searches(&self, snapshot: &Snapshot, tools: &BTreeSet<String>) -> bool {
        match self.config.tool_search.enabled.as_str() {
            "off" => false,
            "on" => true,
            // Sources may publish later, and the requests of a session never change.
            _ => {
                !snapshot.sources().is_empty()
                    || snapshot.specs().any(|spec| tools.contains(&*spec.name) && !self.is_full(spec))
            }
        }
    }

    /// What the lists of this offer say now, available or not.
    pub fn selected(&self, snapshot: &Snapshot) -> toolset::Selection {
        toolset::select(&self.choice, snapshot)
    }

    /// Whether a session that began now could search for tools.
    pub fn searches_now(&self, snapshot: &Snapshot) -> bool {
        self.searches(snapshot, &self.selected(snapshot).tools)
    }

    /// Whether the schema of a tool stands in every request.
    pub fn is_full(&self, spec: &ToolSpec) -> bool {
        let pins = &self.config.pinned;
        spec.pinned
            || self.config.tool_search.enabled == "off"
            || pins.iter().any(|pin| *pin == spec.name || *pin == spec.toolset || spec.toolset == format!("mcp-{pin}"))
    }

    /// What stands in the requests of a session that begins now.
    pub fn offered(&self, snapshot: &Arc<Snapshot>) -> Offered {
        let among = self.among(Arc::clone(snapshot));
        let there = |name: &str| among.get(name).is_some();
        let (mut schemas, mut searched) = (Vec::new(), Vec::new());
        if self.small {
            let schemas = among.specs().filter_map(small::schema).collect();
            let warnings = self.selected(snapshot).warnings;
            return Offered { schemas, searched: BTreeMap::new(), warnings };
        }
        for spec in among.specs() {
            if self.is_full(spec) {
                schemas.push(ToolSchema {
                    name: spec.name.to_string(),
                    description: wording::fit(&spec.description, there),
                    parameters: wording::fit_schema(&spec.schema, there),
                });
            } else {
                searched.push(spec);
            }
        }
        if let Some(search) = schemas.iter_mut().find(|schema| schema.name == tool_search::NAME) {
            let list = catalog::list(&searched);
            if !list.is_empty() {
                search.description = format!("{}\n\n{list}", search.description);
            }
        }
        if let Some(scripts) = schemas.iter_mut().find(|schema| schema.name == execute_code::NAME) {
            scripts.description = execute_code::described(&scripts.description, &self.scripts, &among);
        }
        let mut offered = Offered { schemas, searched: BTreeMap::new(), warnings: self.selected(snapshot).warnings };
        for spec in searched {
            *offered.searched.entry(spec.toolset.to_string()).or_default() += 1;
        }
        offered
    }

    /// The tools that are found by search now, by toolset.
    pub fn searched(&self, snapshot: &Arc<Snapshot>) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        if self.small {
            return found;
        }
        let among = self.among(Arc::clone(snapshot));
        for spec in among.specs().filter(|spec| !self.is_full(spec)) {
            *found.entry(spec.toolset.to_string()).or_default() += 1;
        }
        found
    }
}

impl VisibleTools {
    /// All tools.
    pub fn all(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, allowed: None, limits: (5, 20), code_mode: false }
    }

    /// Names of the tools, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let allowed = self.allowed.as_deref();
        self.snapshot.names().filter(move |name| allowed.is_none_or(|tools| tools.contains(*name)))
    }

    /// Specs of the tools, sorted by name.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        let allowed = self.allowed.as_deref();
        self.snapshot.specs().filter(move |spec| allowed.is_none_or(|tools| tools.contains(&*spec.name)))
    }

    /// The tool of that exact name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.snapshot.get(name).filter(|_| self.allowed.as_deref().is_none_or(|tools| tools.contains(name)))
    }

    /// The tool that a model meant.
    pub fn meant(&self, written: &str) -> Option<&Arc<dyn Tool>> {
        self.get(written).or_else(|| self.get(repair::repair(written, self.names())?))
    }

    /// Words for a name that means nothing.
    pub fn unknown(&self, written: &str) -> String {
        repair::unknown(written, self.names())
    }
}

/// A call whose result is known when it is planned: it only looked at the list of tools.
struct Fixed {
    target: String,
    output: ToolOutput,
}

impl Call for Fixed {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        self.target.clone()
    }

    fn run(self: Box<Self>, _: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(self.output) })
    }
}

/// A call with this result.
pub(in crate::tools) fn fixed(target: String, output: ToolOutput) -> Box<dyn Call> {
    Box::new(Fixed { target, output })
}

/// The answer of a tool that works on the list of tools and was not given one.
pub(in crate::tools) fn without_list<'a>() -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
    Box::pin(async { Err(ToolError::Failed("no tool list here".into())) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::registry::Registry;
    use crate::tools::testing::Fake;

    fn remote(count: usize, toolset: &str) -> Vec<Arc<dyn Tool>> {
        let tool = |n| Arc::new(Fake::remote(&format!("{toolset}__tool_number_{n}"), toolset)) as Arc<dyn Tool>;
        (0..count).map(tool).collect()
    }

    fn names(offered: &Offered) -> Vec<&str> {
        offered.schemas.iter().map(|schema| schema.name.as_str()).collect()
    }

    fn config(enabled: &str, pinned: &[&str]) -> ToolsConfig {
        let mut config =
            ToolsConfig { pinned: pinned.iter().map(|pin| pin.to_string()).collect(), ..Default::default() };
        config.tool_search.enabled = enabled.into();
        config
    }

    #[test]
    fn search_is_there_when_something_is_to_be_found() {
        let registry = Registry::builtin();
        let core = registry.snapshot().names().filter(|name| !SEARCH.contains(name)).count();
        for (enabled, publish, want) in
            [("auto", false, 0), ("on", false, 3), ("off", false, 0), ("auto", true, 3), ("off", true, 2)]
        {
            registry.withdraw("mcp-a");
            if publish {
                registry.publish("mcp-a", remote(2, "mcp-a"));
            }
            let offer = ToolSelection::new(Choice::default(), config(enabled, &[]), BTreeMap::new());
            let offered = offer.offered(&registry.snapshot());
            assert_eq!(offered.schemas.len(), core + want, "{enabled} {publish}: {:?}", names(&offered));
            assert!(offered.schemas.is_sorted_by_key(|schema| schema.name.clone()));
        }
    }

    #[test]
    fn pins_and_missing_tools() {
        let registry = Registry::builtin();
        registry.publish("mcp-a", remote(2, "mcp-a"));
        registry.publish("mcp-b", remote(2, "mcp-b"));
        let missing = BTreeMap::from([("patch".to_owned(), "gone".to_owned())]);
        let offer = ToolSelection::new(Choice::default(), config("auto", &["a", "mcp-b__tool_number_1"]), missing);
        let offered = offer.offered(&registry.snapshot());
        let names = names(&offered);
        assert!(names.contains(&"mcp-a__tool_number_0") && names.contains(&"mcp-b__tool_number_1"), "{names:?}");
        assert!(!names.contains(&"mcp-b__tool_number_0") && !names.contains(&"patch"), "{names:?}");
        assert_eq!(offered.searched, BTreeMap::from([("mcp-b".to_owned(), 1)]));
        // No description names a tool that is not there.
        for schema in &offered.schemas {
            assert!(!schema.description.contains("patch"), "{}", schema.description);
        }
    }

    #[test]
    fn later_tools_are_allowed_as_the_lists_say() {
        let registry = Registry::builtin();
        let choice = Choice { disabled: vec!["mcp-b".into()], ..Choice::default() };
        let offer = ToolSelection::new(choice, ToolsConfig::default(), BTreeMap::new());
        let before = offer.among(registry.snapshot());
        registry.publish("mcp-a", remote(1, "mcp-a"));
        registry.publish("mcp-b", remote(1, "mcp-b"));
        let after = offer.among(registry.snapshot());
        assert!(before.get("mcp-a__tool_number_0").is_none() && after.get("mcp-a__tool_number_0").is_some());
        assert!(after.get("mcp-b__tool_number_0").is_none());
        assert_eq!(offer.searched(&registry.snapshot()).len(), 1);
    }

    /// Whatever is installed, the list of what can be searched for stays small.
    #[test]
    fn three_hundred_tools_fit() {
        let registry = Registry::builtin();
        let weigh = |registry: &Registry| -> usize {
            let offer = ToolSelection::new(Choice::default(), config("on", &[]), BTreeMap::new());
            let offered = offer.offered(&registry.snapshot());
            offered.schemas.iter().map(|s| s.name.len() + s.description.len() + s.parameters.to_string().len()).sum()
        };
        let bare = weigh(&registry);
        for (servers, each) in [(20, 15), (200, 3), (1, 2_000)] {
            for n in 0..servers {
                registry.publish(&format!("mcp-server{n}"), remote(each, &format!("mcp-server{n}")));
            }
            let more = weigh(&registry) - bare;
            assert!(more <= catalog::LIST_BYTES + 2, "{servers} servers: {more} bytes more");
            for n in 0..servers {
                registry.withdraw(&format!("mcp-server{n}"));
            }
        }
    }
}

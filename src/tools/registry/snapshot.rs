//! All tools at one moment, and which of them can be used.

use super::Check;
use crate::tools::registry::check::run_check;
use crate::tools::spec::{Access, CheckId, Tool, ToolSpec};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// All tools at one moment.
#[derive(Clone, Default)]
pub struct Snapshot {
    pub(super) tools: BTreeMap<String, Arc<dyn Tool>>,
    /// Which source a tool came from; the program's own are not in it.
    pub(super) origins: HashMap<String, Arc<str>>,
    pub(super) checks: HashMap<CheckId, Check>,
    pub(super) warnings: Vec<String>,
    pub(super) sources: Vec<Arc<str>>,
    pub(super) generation: u64,
}

impl Snapshot {
    /// The later of two with one name wins.
    pub(super) fn add(&mut self, tool: &Arc<dyn Tool>, source: Option<&Arc<str>>) {
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

    /// Tools that only read or keep the agent's own state: their plain calls are not in the audit log.
    pub fn quiet(&self) -> Vec<String> {
        let is_quiet = |tool: &&Arc<dyn Tool>| matches!(tool.spec().access, Access::Read | Access::Agent);
        self.tools.values().filter(is_quiet).map(|tool| tool.spec().name.to_string()).collect()
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

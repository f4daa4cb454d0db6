//! Which tools exist, and which of them can be used right now.

use super::spec::{CheckId, Tool, ToolSpec};
use super::{clarify, patch, process, read_file, search_files, terminal, todo, write_file};
use crate::llm::ToolSchema;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A check that takes longer counts as failed.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// Whether something that tools need is there; `Err` says what is missing. May block.
pub type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// All tools of this program, by name.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    checks: HashMap<CheckId, Check>,
    warnings: Vec<String>,
}

impl Registry {
    /// The tools that are part of the program: one line each.
    pub fn builtin() -> Self {
        let tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(clarify::Clarify),
            Arc::new(patch::Patch),
            process::process(),
            Arc::new(read_file::ReadFile),
            Arc::new(search_files::SearchFiles),
            terminal::terminal(),
            Arc::new(todo::TodoTool),
            Arc::new(write_file::WriteFile),
        ];
        let mut registry = Self::default();
        tools.into_iter().for_each(|tool| registry.register(tool));
        registry
    }

    /// Adds a tool. One of the same name is replaced, with a warning.
    pub fn register(&mut self, tool: Arc<dyn Tool>) {
        let spec = tool.spec();
        let (name, toolset) = (spec.name.to_string(), spec.toolset.to_string());
        if let Some(earlier) = self.tools.insert(name.clone(), tool) {
            let other = &earlier.spec().toolset;
            self.warnings.push(format!("tool {name} of toolset {toolset} replaces the one of toolset {other}"));
        }
    }

    /// Adds a check that specs name by `id`.
    pub fn add_check(&mut self, id: CheckId, check: Check) {
        self.checks.insert(id, check);
    }

    /// What went wrong while tools were registered.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
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

    /// The tools among `names` as the model sees them, sorted by name.
    pub fn schemas(&self, names: &BTreeSet<String>) -> Vec<ToolSchema> {
        let wanted = self.specs().filter(|spec| names.contains(spec.name.as_ref()));
        wanted
            .map(|spec| ToolSchema {
                name: spec.name.to_string(),
                description: spec.description.to_string(),
                parameters: Arc::clone(&spec.schema),
            })
            .collect()
    }

    /// The tools that cannot be used now, with the reason. Each check runs once, all at the same time.
    pub async fn unavailable(&self) -> BTreeMap<String, String> {
        let needed: BTreeSet<&str> = self.specs().filter_map(|spec| spec.check).map(|id| id.0).collect();
        let results = futures::future::join_all(needed.into_iter().map(|id| async move {
            let result = match self.checks.get(&CheckId(id)) {
                Some(check) => run_check(Arc::clone(check)).await,
                None => Err(format!("its check `{id}` does not exist")),
            };
            (id, result)
        }))
        .await;
        let failed: HashMap<&str, String> =
            results.into_iter().filter_map(|(id, result)| Some((id, result.err()?))).collect();
        self.specs().filter_map(|spec| Some((spec.name.to_string(), failed.get(spec.check?.0)?.clone()))).collect()
    }
}

/// A check in a thread of its own: one that hangs holds up neither the listing nor the end of the program.
async fn run_check(check: Check) -> Result<(), String> {
    let (tell, told) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("tool-check".into()).spawn(move || {
        // The receiver may have given up: then nobody is interested.
        let _ = tell.send(catch_unwind(AssertUnwindSafe(|| check())));
    });
    if let Err(error) = thread {
        return Err(format!("its check could not be started: {error}"));
    }
    match tokio::time::timeout(CHECK_LIMIT, told).await {
        Ok(Ok(Ok(result))) => result,
        Ok(Ok(Err(_)) | Err(_)) => Err("its check failed unexpectedly".into()),
        Err(_) => Err(format!("its check did not answer within {} s", CHECK_LIMIT.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Fake, Step};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn builtin_tools_are_sorted_and_described() {
        let registry = Registry::builtin();
        assert!(registry.warnings().is_empty());
        let all: BTreeSet<String> = registry.names().map(str::to_owned).collect();
        let schemas = registry.schemas(&all);
        assert!(schemas.is_sorted_by_key(|schema| schema.name.clone()));
        for schema in schemas {
            assert!(
                schema.description.len() > 20 && schema.description.split_whitespace().count() <= 180,
                "{}",
                schema.name
            );
            assert_eq!(schema.parameters["type"], "object", "{}", schema.name);
        }
    }

    /// The model reads all of it with every request. About 4.3 bytes make a token.
    #[test]
    fn the_file_tools_are_light() {
        let registry = Registry::builtin();
        let ours = ["clarify", "patch", "read_file", "search_files", "todo", "write_file"].map(str::to_owned);
        let weight =
            |schema: &ToolSchema| schema.name.len() + schema.description.len() + schema.parameters.to_string().len();
        let bytes: usize = registry.schemas(&ours.into()).iter().map(weight).sum();
        assert!(bytes < 4_700, "{bytes} bytes");
    }

    #[test]
    fn the_later_of_two_wins_with_a_warning() {
        let mut registry = Registry::builtin();
        registry.register(Arc::new(Fake::new("patch", "mine", Step::Ok)));
        assert_eq!(registry.get("patch").unwrap().spec().toolset, "mine");
        assert!(registry.warnings()[0].contains("patch"), "{:?}", registry.warnings());
    }

    #[tokio::test]
    async fn checks_run_once_and_faults_mean_unavailable() {
        let mut registry = Registry::default();
        for (name, check) in
            [("a", "ok"), ("b", "ok"), ("c", "panics"), ("d", "errs"), ("e", "missing"), ("f", "hangs")]
        {
            registry.register(Arc::new(Fake::new(name, "t", Step::Ok).checked(check)));
        }
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        registry.add_check(
            CheckId("ok"),
            Arc::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }),
        );
        registry.add_check(CheckId("panics"), Arc::new(|| panic!("boom")));
        registry.add_check(CheckId("errs"), Arc::new(|| Err("no key".into())));
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let held = std::sync::Mutex::new(held);
        registry.add_check(CheckId("hangs"), Arc::new(move || held.lock().unwrap().recv().map_err(|e| e.to_string())));
        let unavailable = registry.unavailable().await;
        drop(hold);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert_eq!(unavailable.keys().collect::<Vec<_>>(), ["c", "d", "e", "f"]);
        assert_eq!(unavailable["d"], "no key");
        assert!(unavailable["f"].contains("2 s"));
    }
}

//! The tools of a session: chosen once, kept with it, and the same again when it is resumed.

use super::Runner;
use super::session::Session;
use crate::llm::ToolSchema;
use crate::protocol::{AgentEvent, Level};
use crate::tools::builtin::tool_search;
use crate::tools::offer::selection::{Offered, ToolSelection};
use crate::tools::registry::Snapshot;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Toolsets whose coming and going is told at once.
const MAX_CHANGES: usize = 12;
/// The names of the session's facts.
const OFFER: &str = "offer";
const TOOLSETS: &str = "toolsets";

/// What stood in the requests of a session before it was left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    schemas: Vec<ToolSchema>,
    /// The server or plugin that a tool came from.
    origins: BTreeMap<String, String>,
    searched: BTreeMap<String, usize>,
}

impl Kept {
    /// What is offered now, to be stored.
    fn of(offered: &Offered, registry: &Snapshot) -> Self {
        let origin = |name: &str| Some((name.to_owned(), registry.origin(name)?.to_string()));
        Self {
            schemas: offered.schemas.clone(),
            origins: offered.schemas.iter().filter_map(|schema| origin(&schema.name)).collect(),
            searched: offered.searched.clone(),
        }
    }

    fn store(&self) -> Value {
        let schema = |schema: &ToolSchema| {
            let mut stored = json!({
                "name": schema.name,
                "description": schema.description,
                "parameters": *schema.parameters,
            });
            if let Some(origin) = self.origins.get(&schema.name) {
                stored["origin"] = json!(origin);
            }
            stored
        };
        json!({"tools": self.schemas.iter().map(schema).collect::<Vec<_>>(), "searched": self.searched})
    }

    /// What [`Kept::store`] wrote; `None` when there is nothing of use in it.
    pub(super) fn load(stored: &Value) -> Option<Self> {
        let mut kept =
            Self { searched: serde_json::from_value(stored.get("searched")?.clone()).ok()?, ..Self::default() };
        for tool in stored.get("tools")?.as_array()? {
            let text = |key: &str| tool.get(key).and_then(Value::as_str).map(str::to_owned);
            let name = text("name")?;
            if let Some(origin) = text("origin") {
                kept.origins.insert(name.clone(), origin);
            }
            let parameters = Arc::new(tool.get("parameters")?.clone());
            kept.schemas.push(ToolSchema { name, description: text("description")?, parameters });
        }
        (!kept.schemas.is_empty()).then_some(kept)
    }

    /// Why it cannot be offered again as it was; `None` when it can. A tool of a source that has not answered yet counts
    /// as there: the session knew it.
    fn misfit(&self, offered: &Offered, offer: &ToolSelection, registry: &Arc<Snapshot>) -> Option<String> {
        let among = offer.among(Arc::clone(registry));
        let searches = |schemas: &[ToolSchema]| schemas.iter().any(|schema| schema.name == tool_search::NAME);
        if searches(&offered.schemas) && !searches(&self.schemas) {
            return Some("tool search is now available".into());
        }
        for kept in &self.schemas {
            let awaited = || {
                let origin = self.origins.get(&kept.name);
                origin.is_some_and(|origin| {
                    registry.get(&kept.name).is_none() && registry.sources().iter().any(|source| **source == **origin)
                })
            };
            let Some(now) = offered.schemas.iter().find(|now| now.name == kept.name) else {
                if among.get(&kept.name).is_some() || awaited() {
                    continue;
                }
                return Some(format!("{} is missing", kept.name));
            };
            if now.parameters != kept.parameters {
                return Some(format!("{} takes other arguments", kept.name));
            }
        }
        None
    }
}

impl Runner {
    /// Chooses the tools of the session: those that it had when it was left, if they are still to be had. Their schemas
    /// never change afterwards; tools that come later can be searched for.
    pub(super) async fn offer_tools(&mut self) {
        let registry = self.deps.dispatch.registry().snapshot();
        let mut missing = registry.unavailable().await;
        missing.extend(self.spec.blocked.iter().map(|name| ((*name).to_owned(), "not in a child".to_owned())));
        if let Some(among) = &self.spec.among {
            let others = registry.names().filter(|name| !among.contains(*name));
            missing.extend(others.map(|name| (name.to_owned(), "your parent does not have it".to_owned())));
        }
        let toolsets = self.session.toolsets.as_deref();
        let offer = ToolSelection::of_config(&self.deps.loaded.config, toolsets, missing);
        let offer = Arc::new(offer.small(self.is_small()).code_mode(self.code_mode()));
        let mut offered = offer.offered(&registry);
        for warning in &offered.warnings {
            self.notice(Level::Warning, warning.clone()).await;
        }
        let kept = self.session.kept.take();
        let misfit = kept.as_ref().map(|kept| kept.misfit(&offered, &offer, &registry));
        match (kept, misfit) {
            (Some(kept), Some(None)) => (offered.schemas, offered.searched) = (kept.schemas, kept.searched),
            (_, misfit) => {
                if let Some(Some(why)) = misfit {
                    let text = format!("this session's tools changed ({why}); the prompt cache is reset");
                    self.notice(Level::Info, text).await;
                }
                self.keep(OFFER, Kept::of(&offered, &registry).store()).await;
                self.keep(TOOLSETS, json!(self.session.toolsets)).await;
            }
        }
        self.session.tools = offered.schemas.into();
        self.session.searched = offered.searched;
        self.gate.only(self.deps.dispatch.as_ref().clone().offering(Arc::clone(&offer)));
        self.session.offer = offer;
    }

    /// Before the first request of a session that goes on: what its size is estimated with.
    pub(super) fn expect_tools(&mut self) {
        let kept = self.session.kept.as_ref().map(|kept| kept.schemas.clone());
        let schemas = kept.unwrap_or_else(|| {
            let toolsets = self.session.toolsets.as_deref();
            let offer = ToolSelection::of_config(&self.deps.loaded.config, toolsets, BTreeMap::new());
            let offer = offer.small(self.is_small()).code_mode(self.code_mode());
            offer.offered(&self.deps.dispatch.registry().snapshot()).schemas
        });
        self.session.expected = schemas.into();
    }

    /// Takes other toolsets from the next turn on; none: those of the configuration.
    pub(super) async fn set_toolsets(&mut self, names: Vec<String>) {
        self.session.toolsets = (!names.is_empty()).then_some(names);
        let registry = self.deps.dispatch.registry().snapshot();
        let toolsets = self.session.toolsets.as_deref();
        let offer = ToolSelection::of_config(&self.deps.loaded.config, toolsets, BTreeMap::new());
        let selection = offer.selected(&registry);
        for warning in selection.warnings {
            self.notice(Level::Warning, warning).await;
        }
        self.keep(TOOLSETS, json!(self.session.toolsets)).await;
        self.session.tools_are_old = !self.session.tools.is_empty();
        // A resumed session that has not gone on yet: what it had is not wanted any more.
        self.session.kept = None;
        let count = offer.among(registry).names().count();
        let later = if self.session.tools_are_old { " from the next turn; this resets the prompt cache" } else { "" };
        self.notice(Level::Info, format!("{count} tools{later}")).await;
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
    }

    /// What came and went among the tools that can be searched for, in words; nothing when all is as it was.
    pub(super) fn tools_changed(&mut self) -> Option<String> {
        let now = self.session.offer.searched(&self.deps.dispatch.registry().snapshot());
        let before = std::mem::replace(&mut self.session.searched, now.clone());
        let mut changes: Vec<String> = Vec::new();
        for (toolset, count) in &now {
            match before.get(toolset) {
                None => changes.push(format!("{toolset} added ({count})")),
                Some(earlier) if earlier != count => changes.push(format!("{toolset} changed ({count})")),
                Some(_) => {}
            }
        }
        changes
            .extend(before.keys().filter(|toolset| !now.contains_key(*toolset)).map(|gone| format!("{gone} removed")));
        let more = changes.len().saturating_sub(MAX_CHANGES);
        changes.truncate(MAX_CHANGES);
        if more > 0 {
            changes.push(format!("{more} more"));
        }
        (!changes.is_empty()).then(|| format!("{}; use tool_search", changes.join(", ")))
    }
}

impl Session {
    /// Takes back what was stored of its tools. The toolsets of the command line, when it named some, hold instead.
    pub(super) fn restore_tools(&mut self, values: &mut BTreeMap<String, Value>, named: bool) {
        let toolsets = values.remove(TOOLSETS).and_then(|stored| serde_json::from_value(stored).ok());
        let kept = values.remove(OFFER).and_then(|stored| Kept::load(&stored));
        if named {
            return;
        }
        if let Some(toolsets) = toolsets {
            self.toolsets = toolsets;
        }
        self.kept = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::offer::toolset::Choice;
    use crate::tools::registry::Registry;
    use crate::tools::testing::Fake;

    fn offer(disabled: &[&str], missing: &[&str]) -> ToolSelection {
        let choice = Choice { disabled: disabled.iter().map(|name| name.to_string()).collect(), ..Choice::default() };
        let config = crate::config::ToolsConfig { pinned: vec!["gh".into()], ..Default::default() };
        ToolSelection::new(choice, config, missing.iter().map(|name| (name.to_string(), "gone".to_owned())).collect())
    }

    #[test]
    fn what_was_offered_is_offered_again_while_it_can_be_had() {
        let registry = Registry::builtin();
        registry.publish("mcp-gh", vec![Arc::new(Fake::remote("mcp__gh__find", "mcp-gh"))]);
        let begun = offer(&[], &[]).offered(&registry.snapshot());
        let kept = Kept::of(&begun, &registry.snapshot());
        assert_eq!(Kept::load(&kept.store()).as_ref(), Some(&kept));
        assert!(kept.schemas.iter().any(|schema| schema.name == "mcp__gh__find"));
        let misfit = |kept: &Kept, offer: &ToolSelection| {
            let now = registry.snapshot();
            kept.misfit(&offer.offered(&now), offer, &now)
        };
        assert_eq!(misfit(&kept, &offer(&[], &[])), None);
        // More tools than before, and words that changed with the program: as it was.
        registry.publish("more", vec![Arc::new(Fake::remote("more", "more"))]);
        let unsearched = Kept {
            schemas: kept.schemas.iter().filter(|schema| !schema.name.starts_with("tool_")).cloned().collect(),
            ..kept.clone()
        };
        assert_eq!(misfit(&unsearched, &offer(&[], &[])).as_deref(), Some("tool search is now available"));
        let mut other = kept.clone();
        other.schemas[0].description = "in other words".into();
        assert_eq!(misfit(&other, &offer(&[], &[])), None);
        // A server that is only expected will come.
        registry.withdraw("mcp-gh");
        registry.expect("mcp-gh");
        assert_eq!(misfit(&kept, &offer(&[], &[])), None);
        registry.withdraw("mcp-gh");
        assert_eq!(misfit(&kept, &offer(&[], &[])).as_deref(), Some("mcp__gh__find is missing"));
        let own = Kept { schemas: begun.schemas.iter().filter(|s| !s.name.contains("__")).cloned().collect(), ..kept };
        assert_eq!(misfit(&own, &offer(&[], &[])), None);
        assert_eq!(misfit(&own, &offer(&["todo"], &[])).as_deref(), Some("todo is missing"));
        assert_eq!(misfit(&own, &offer(&[], &["patch"])).as_deref(), Some("patch is missing"));
        let mut changed = own.clone();
        changed.schemas[1].parameters = Arc::new(json!({"type": "object"}));
        assert!(misfit(&changed, &offer(&[], &[])).unwrap().ends_with("takes other arguments"));
    }

    #[test]
    fn what_was_stored_otherwise_is_no_offer() {
        for stored in [
            json!(null),
            json!([]),
            json!({"tools": []}),
            json!({"tools": [], "searched": {}}),
            json!({"tools": [{"name": 1}], "searched": {}}),
        ] {
            assert_eq!(Kept::load(&stored), None, "{stored}");
        }
    }
}

//! Tools and toolsets as a person reads them: what is there, what is not and why, and what each costs.

use super::selection::{SEARCH, ToolSelection};
use crate::tools::registry::Snapshot;
use crate::tools::spec::{Access, ToolSpec};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Characters of a description or a reason in a row.
const WORDS: usize = 44;

/// One tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub toolset: String,
    pub emoji: String,
    pub access: Access,
    /// Why it cannot be used.
    pub reason: Option<String>,
    /// The lists of the configuration let the model have it.
    pub enabled: bool,
    /// Its schema stands in every request; else it is searched for.
    pub pinned: bool,
    /// What its schema costs, in tokens.
    pub tokens: usize,
    /// The server or plugin that it comes from.
    pub source: Option<String>,
    pub about: String,
}

/// One toolset that has tools here.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    pub name: String,
    pub tools: usize,
    pub unavailable: usize,
    /// Why none of its tools can be used.
    pub reason: Option<String>,
    pub tokens: usize,
}

/// All of it at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// By toolset, then by name.
    pub rows: Vec<Row>,
    pub sets: Vec<Set>,
    pub warnings: Vec<String>,
}

/// The word of an access.
pub fn access(access: Access) -> &'static str {
    match access {
        Access::Agent => "agent",
        Access::Read => "read",
        Access::Write => "write",
        Access::Execute => "execute",
    }
}

/// Lists the tools for a session with this offer. `missing` is what [`Snapshot::unavailable`] found.
pub fn listing(snapshot: &Snapshot, offer: &ToolSelection, missing: &BTreeMap<String, String>) -> Listing {
    let selection = offer.selected(snapshot);
    let searches = offer.searches_now(snapshot);
    let row = |spec: &ToolSpec| {
        let name = spec.name.to_string();
        Row {
            toolset: spec.toolset.to_string(),
            emoji: spec.emoji.to_string(),
            access: spec.access,
            reason: missing.get(&name).cloned(),
            enabled: if SEARCH.contains(&name.as_str()) { searches } else { selection.tools.contains(&name) },
            pinned: offer.is_full(spec),
            tokens: weight(spec),
            source: snapshot.origin(&name).map(|source| source.to_string()),
            about: super::catalog::one_line(&spec.description, WORDS),
            name,
        }
    };
    let mut rows: Vec<Row> = snapshot.specs().map(row).collect();
    rows.sort_by(|a, b| (&a.toolset, &a.name).cmp(&(&b.toolset, &b.name)));
    let sets = sets(&rows);
    Listing { rows, sets, warnings: snapshot.warnings().iter().cloned().chain(selection.warnings).collect() }
}

fn sets(rows: &[Row]) -> Vec<Set> {
    let group = |rows: &[Row]| {
        let unavailable = rows.iter().filter(|row| row.reason.is_some()).count();
        let mut reasons: Vec<&str> = rows.iter().filter_map(|row| row.reason.as_deref()).collect();
        reasons.dedup();
        Set {
            name: rows.first().map_or_else(String::new, |row| row.toolset.clone()),
            tools: rows.len(),
            unavailable,
            reason: (unavailable == rows.len()).then(|| reasons.join("; ")),
            tokens: rows.iter().map(|row| row.tokens).sum(),
        }
    };
    rows.chunk_by(|a, b| a.toolset == b.toolset).map(group).collect()
}

/// Tokens of a schema, about.
fn weight(spec: &ToolSpec) -> usize {
    crate::text::tokens::of_tool(&spec.name, &spec.description, &spec.schema.to_string()) as usize
}

impl Listing {
    /// Tools that the model can use, and those that it cannot though it should.
    pub fn counts(&self) -> (usize, usize) {
        let enabled = self.rows.iter().filter(|row| row.enabled);
        enabled.fold((0, 0), |(ready, missing), row| match row.reason {
            None => (ready + 1, missing),
            Some(_) => (ready, missing + 1),
        })
    }

    /// For the screen and the terminal.
    pub fn text(&self) -> String {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).min(40);
        let (ready, missing) = self.counts();
        let full: usize = self.rows.iter().filter(|row| row.used() && row.pinned).map(|row| row.tokens).sum();
        let mut out = format!("{ready} tools");
        if missing > 0 {
            let _ = write!(out, " · {missing} unavailable");
        }
        let _ = writeln!(out, " · about {full} tokens in every request");
        for set in &self.sets {
            let _ = write!(out, "\n{}", set.name);
            match &set.reason {
                Some(reason) => {
                    let _ = writeln!(out, " · unavailable: {reason}");
                }
                None if set.unavailable > 0 => {
                    let _ = writeln!(out, " · {} of {} unavailable", set.unavailable, set.tools);
                }
                None => out.push('\n'),
            }
            for row in self.rows.iter().filter(|row| row.toolset == set.name) {
                let _ = writeln!(
                    out,
                    "  {} {:width$}  {:8} {:>5}  {:7}  {}",
                    row.emoji,
                    row.name,
                    row.place(),
                    row.tokens,
                    access(row.access),
                    row.reason.as_ref().map_or_else(|| row.about.clone(), |reason| format!("unavailable: {reason}")),
                );
            }
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "\nwarning: {warning}");
        }
        out
    }
}

impl Row {
    fn used(&self) -> bool {
        self.enabled && self.reason.is_none()
    }

    /// Where the model finds it.
    pub fn place(&self) -> &'static str {
        match (self.enabled, self.reason.is_some(), self.pinned) {
            (false, _, _) => "off",
            (true, true, _) => "missing",
            (true, false, true) => "in full",
            (true, false, false) => "searched",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::offer::toolset::Choice;
    use crate::tools::registry::Registry;
    use crate::tools::testing::{Fake, Step};
    use std::sync::Arc;

    #[test]
    fn what_is_there_what_is_not_and_why() {
        let registry = Registry::builtin();
        let fake = |name| Arc::new(Fake::new(name, "web", Step::Ok)) as _;
        registry.publish("web", vec![fake("web_search"), fake("web_extract")]);
        registry.publish("mcp-gh", vec![Arc::new(Fake::remote("mcp__gh__find", "mcp-gh"))]);
        let choice = Choice { disabled: vec!["todo".into(), "flie".into()], ..Choice::default() };
        let offer = ToolSelection::new(choice, Default::default(), BTreeMap::new());
        let missing = ["web_search", "web_extract", "patch"].map(|name| (name.to_owned(), "no key".to_owned()));
        let listing = listing(&registry.snapshot(), &offer, &BTreeMap::from(missing));
        let place = |name: &str| listing.rows.iter().find(|row| row.name == name).map(Row::place);
        for (name, want) in [
            ("todo", "off"),
            ("patch", "missing"),
            ("read_file", "in full"),
            ("mcp__gh__find", "searched"),
            ("tool_search", "in full"),
        ] {
            assert_eq!(place(name), Some(want), "{name}");
        }
        let set = |name: &str| listing.sets.iter().find(|set| set.name == name).unwrap();
        assert_eq!((set("web").unavailable, set("web").reason.as_deref()), (2, Some("no key")));
        assert_eq!((set("file").unavailable, set("file").reason.as_deref()), (1, None));
        assert_eq!(listing.counts().1, 3);
        let text = listing.text();
        for words in
            ["· 3 unavailable ·", "web · unavailable: no key", "file · 1 of 4 unavailable", "did you mean `file`"]
        {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}

//! Toolsets for the screen.

use crate::app::model::toolsets::ToolsetRow;
use crate::tools::offer::listing::{Listing, Row};
use crate::tools::offer::selection::SEARCH;

/// The toolsets that have tools here, by name. Tools that search for others come by themselves: they are in none.
pub fn rows(listing: &Listing) -> Vec<ToolsetRow> {
    let own: Vec<&Row> = listing.rows.iter().filter(|row| !SEARCH.contains(&row.name.as_str())).collect();
    let row = |rows: &[&Row]| {
        let mut reasons: Vec<&str> = rows.iter().filter_map(|row| row.reason.as_deref()).collect();
        reasons.dedup();
        ToolsetRow {
            name: rows.first().map_or_else(String::new, |row| row.toolset.clone()),
            tools: rows.len(),
            on: rows.iter().filter(|row| row.enabled).count(),
            unavailable: rows.iter().filter(|row| row.reason.is_some()).count(),
            why: reasons.join("; "),
            tokens: rows.iter().map(|row| row.tokens as u64).sum(),
        }
    };
    own.chunk_by(|a, b| a.toolset == b.toolset).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::offer::listing::listing;
    use crate::tools::offer::selection::ToolSelection;
    use crate::tools::offer::toolset::Choice;
    use crate::tools::registry::Registry;
    use std::collections::BTreeMap;

    #[test]
    fn sets_are_counted_and_say_why_they_cannot_be_used() {
        let registry = Registry::builtin();
        let choice = Choice { disabled: vec!["todo".into()], ..Choice::default() };
        let offer = ToolSelection::new(choice, Default::default(), BTreeMap::new());
        let missing = ["terminal", "process"].map(|name| (name.to_owned(), "no shell".to_owned()));
        let listing = listing(&registry.snapshot(), &offer, &BTreeMap::from(missing));
        let rows = rows(&listing);
        let found = |name: &str| rows.iter().find(|row| row.name == name).expect("a set");
        assert_eq!((found("todo").on, found("todo").tools), (0, 1));
        let file = found("file");
        assert_eq!((file.on, file.tools, file.unavailable), (4, 4, 0));
        assert!(file.tokens > 100, "{file:?}");
        let terminal = found("terminal");
        assert_eq!((terminal.unavailable, terminal.why.as_str()), (2, "no shell"));
        assert!(rows.iter().all(|row| !row.name.is_empty()));
        assert!(!listing.rows.iter().any(|row| row.name == "tool_search") || rows.len() < listing.sets.len());
    }
}

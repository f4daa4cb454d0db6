//! What a parent gets of its children, within bounds.

use crate::fs;
use crate::text::format::plural;
use crate::tools::builtin::delegate_task;
use crate::tools::children::ChildResult;
use std::path::Path;

/// Characters that a summary may always have.
pub const SHORTEST: usize = 2_000;
/// Percent of the room for the beginning of a summary that is cut.
const HEAD: usize = 75;

/// A summary within `most` characters: beginning and end, and where all of it stands. Writes that, so not for an async
/// thread.
pub fn bounded(text: &str, most: usize, spill: &Path, number: u64) -> String {
    let text = text.trim();
    let chars = text.chars().count();
    if chars <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most * HEAD / 100).collect();
    let tail: String = text.chars().skip(chars - most * (100 - HEAD) / 100).collect();
    let head = head.rsplit_once('\n').map_or(head.as_str(), |(whole, _)| whole);
    let tail = tail.split_once('\n').map_or(tail.as_str(), |(_, whole)| whole);
    let left_out = chars - head.chars().count() - tail.chars().count();
    let file = spill.join(format!("child-{number}.md"));
    let saved = fs::ensure_dir(spill).and_then(|()| fs::write_whole(&file, text));
    let rest = match saved {
        Ok(()) => format!("read_file {}", file.display()),
        Err(error) => format!("it could not be saved: {error}; session_search finds it"),
    };
    format!("{head}\n\n[… {left_out} characters left out; all of it: {rest} …]\n\n{tail}")
}

/// Whose text the results may repeat.
pub fn strangers(results: &[ChildResult]) -> Vec<String> {
    let mut all: Vec<String> = results.iter().flat_map(|result| result.strangers.clone()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The message about children that worked in the background, and its gist for people.
pub fn message(results: &[ChildResult]) -> (String, String) {
    let states: Vec<String> =
        results.iter().map(|result| format!("{} {}", result.row.name, result.row.state.word())).collect();
    let gist = format!("{} ended: {}", plural(results.len() as u64, "child", "children"), states.join(", "));
    (format!("[{gist}]\n{}", delegate_task::output(results).content), gist)
}

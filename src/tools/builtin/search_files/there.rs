//! The same search on another machine, with the tools that are there.

use super::find::Names;
use super::grep::{FileHits, Mode, Query, Row};
use super::{Bounds, Kind, Reply, SearchCall};
use crate::backends::{Hit, Remote, Wanted, WantedMode};
use crate::tools::spec::{ToolError, ToolOutput};
use std::path::Path;
use std::time::Instant;

/// Searches there; what is left out here (secrets, other names) is left out of what comes back.
pub fn search(call: &SearchCall, there: &Remote, bounds: &Bounds) -> Result<ToolOutput, ToolError> {
    let root = &call.place.path;
    let failed = |error: std::io::Error| ToolError::Failed(format!("{}: {error}", call.place.shown));
    let left = || bounds.deadline.saturating_duration_since(Instant::now());
    let meant = |names: Option<&Names>, path: &Path| names.is_none_or(|names| names.matches(path, root));
    let mut result = Reply::default();
    match &call.kind {
        Kind::Files(names) => {
            let (mut files, whole) = there.files_below(root, call.reach, left()).map_err(failed)?;
            files.retain(|path| meant(Some(names), path));
            call.files(&files, &mut result);
            note(&mut result, whole, 0);
        }
        Kind::Content { query, names } => {
            let mode = match query.mode {
                Mode::Lines => WantedMode::Lines(query.context),
                Mode::Files => WantedMode::Files,
                Mode::Count => WantedMode::Count,
            };
            let wanted = Wanted { pattern: &query.pattern, reach: call.reach, across: query.multi_line, mode };
            let (mut hits, whole) = there.grep(root, &wanted, left()).map_err(failed)?;
            hits.retain(|hit| meant(names.as_ref(), &hit.path));
            let before = hits.len();
            hits.retain(|hit| !call.secrets.has(&hit.path));
            let secret = before - hits.len();
            let hits: Vec<FileHits> = hits.into_iter().map(|hit| rows(hit, query)).collect();
            call.hits(query, &hits, &mut result);
            note(&mut result, whole, secret);
        }
    }
    Ok(result.output(call.offset))
}

fn note(result: &mut Reply, whole: bool, secret: usize) {
    if !whole {
        result.notes.push("results were too large to fetch; name a folder".to_owned());
        result.more = true;
        result.partial = true;
    }
    match secret {
        0 => {}
        1 => result.notes.push("left out: 1 file with secrets".to_owned()),
        n => result.notes.push(format!("left out: {n} files with secrets")),
    }
}

/// Lines with the match that each is or stands around.
fn rows(hit: Hit, query: &Query) -> FileHits {
    let mut rows = Vec::new();
    let (mut found, mut last) = (0, None);
    for (number, text, is_match) in hit.lines {
        let near = |last: u64| number <= last + query.context as u64;
        let of = match (is_match, last) {
            (false, Some(last)) if near(last) => found - 1,
            _ => found,
        };
        if is_match {
            found += 1;
            last = Some(number);
        }
        let text = match text.char_indices().nth(query.line_chars()) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        };
        rows.push(Row { number, text, hit: is_match, of });
    }
    FileHits { path: hit.path, matches: hit.matches, rows }
}

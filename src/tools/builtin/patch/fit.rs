//! The lines that a hunk leaves in its place: context as the file has it, added lines indented like what they replace.

use super::fuzzy::leading_tabs;
use super::lines::indent;
use super::unicode;
use super::v4a::{Hunk, Line};
use std::collections::BTreeMap;

/// What stands in the place of `region` afterwards; `None` when the lines of the two cannot be paired.
pub fn fitted(region: &str, hunk: &Hunk, gaps: bool) -> Option<String> {
    let old = hunk.old_lines(gaps);
    let file: Vec<&str> = region.split('\n').collect();
    if old.len() != file.len() {
        return None;
    }
    // How the patch spells an indentation, and what the file has there.
    let mut table = BTreeMap::new();
    for (asked, have) in old.iter().zip(&file).filter(|(asked, _)| !asked.trim().is_empty()) {
        table.entry(indent(asked)).or_insert(indent(have));
    }
    let mut out: Vec<String> = Vec::new();
    let mut block = Block::default();
    let mut at = 0;
    for line in &hunk.lines {
        match line {
            Line::Gap if !gaps => {}
            Line::Context(_) | Line::Gap => {
                block.end(&table, &mut out);
                block.above = Some((old[at], file[at]));
                out.push(file[at].to_owned());
                at += 1;
            }
            Line::Remove(_) => {
                // A removed line after added ones begins another change.
                if !block.added.is_empty() {
                    block.end(&table, &mut out);
                }
                block.removed.push((old[at], file[at]));
                at += 1;
            }
            Line::Add(text) => block.added.push(text),
        }
    }
    block.end(&table, &mut out);
    Some(out.join("\n"))
}

/// Lines that are replaced together.
#[derive(Default)]
struct Block<'t> {
    /// The context line before, as the patch and as the file has it.
    above: Option<(&'t str, &'t str)>,
    removed: Vec<(&'t str, &'t str)>,
    added: Vec<&'t str>,
}

impl<'t> Block<'t> {
    fn end(&mut self, table: &BTreeMap<&'t str, &'t str>, out: &mut Vec<String>) {
        let removed = std::mem::take(&mut self.removed);
        let added = std::mem::take(&mut self.added);
        if added.is_empty() {
            return;
        }
        let region = removed.iter().map(|(_, have)| *have).collect::<Vec<_>>().join("\n");
        let mut text = added.join("\n");
        if region.contains('\t') {
            text = leading_tabs(&text).into_owned();
        }
        if shifts(&text, &removed, self.above) {
            // What they replace says more of them than lines further away.
            let mut table = table.clone();
            for (asked, have) in removed.iter().rev().filter(|(asked, _)| !asked.trim().is_empty()) {
                table.insert(indent(asked), indent(have));
            }
            text = text.split('\n').map(|line| shifted(line, &table)).collect::<Vec<_>>().join("\n");
        }
        if !unicode::is_plain(&region) && removed.iter().any(|(asked, have)| asked.trim() != have.trim()) {
            text = unicode::keep_typography(&region, &text);
        }
        out.extend(text.split('\n').map(str::to_owned));
    }
}

/// Whether the added lines are off by as much as the lines that they stand for.
fn shifts(added: &str, removed: &[(&str, &str)], above: Option<(&str, &str)>) -> bool {
    let spoken = |(asked, _): &&(&str, &str)| !asked.trim().is_empty();
    let Some((asked, have)) = removed.iter().find(spoken).or(above.as_ref()) else { return true };
    let Some(first) = added.split('\n').find(|line| !line.trim().is_empty()) else { return false };
    let (asked, have) = (indent(asked), indent(have));
    // Written where the file has the old line: it is right already.
    asked != have && (indent(first) == asked || indent(first) != have)
}

fn shifted(line: &str, table: &BTreeMap<&str, &str>) -> String {
    let own = indent(line);
    if line.trim().is_empty() {
        return line.to_owned();
    }
    if let Some(have) = table.get(own) {
        return format!("{have}{}", &line[own.len()..]);
    }
    // Deeper than any old line: on top of the deepest that it begins with.
    let base = table.iter().filter(|(asked, _)| own.starts_with(**asked)).max_by_key(|(asked, _)| asked.len());
    match base {
        Some((asked, have)) => format!("{have}{}", &line[asked.len()..]),
        None => {
            // Indented less than every old line: as much less than the file's.
            let Some((asked, have)) = table.iter().min_by_key(|(asked, _)| asked.len()) else { return line.to_owned() };
            let less = asked.chars().count().saturating_sub(own.chars().count());
            let kept: String = have.chars().take(have.chars().count().saturating_sub(less)).collect();
            format!("{kept}{}", &line[own.len()..])
        }
    }
}

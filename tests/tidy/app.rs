//! The house rules of `app`: what it may name of rooms that touch the world, and how it matches our enums.

use crate::sources::{fail_on, sources};
use regex::Regex;
use std::collections::BTreeSet;

/// All that `app` may name of rooms that touch the world: plain data, and functions that only compute.
const NAMES: &[&str] = &[
    "config::Config",
    "config::DisplayConfig",
    "config::keymap::Code",
    "config::keymap::Context",
    "config::keymap::Key",
    "config::keymap::Keymap",
    "config::keymap::Match",
    "config::keymap::display",
    "config::policy_files::version",
    "config::schema::BACKENDS",
    "config::schema::BUSY",
    "config::schema::INDICATORS",
    "config::skin::Appearance",
    "config::suggest::nearest",
    "config::trust::Project",
    "config::trust::Standing",
    "exec::Ask",
    "exec::AskId",
    "exec::Exit",
    "exec::ExitReason",
    "exec::Hidden",
    "exec::Hit",
    "exec::LINES",
    "exec::LogState",
    "exec::Origin",
    "exec::ProcessCommand",
    "exec::ProcessEvent",
    "exec::ProcessId",
    "exec::ProcessInfo",
    "exec::ProcessState",
    "exec::Scroll",
    "exec::Vitals",
    "exec::Way",
    "exec::key_bytes",
    "llm::local::ServerRefused",
    "llm::ready::is_provider",
    "llm::ready::key_variable",
    "llm::ready::pasteable",
    "llm::ready::title",
    "store::Branch",
    "store::QueuedPrompt",
    "store::SessionChange",
    "store::SessionRow",
    "store::Shelf",
    "store::StoreJob",
    "store::StoreReply",
    "store::filter::Fault",
    "store::filter::Filter",
    "store::tags_of",
];

/// The paths that a path with a group stands for: `a::{b, c::{d}}` is `a::b` and `a::c::d`.
fn spread(path: &str) -> Vec<String> {
    let Some((head, group)) = path.split_once('{') else { return vec![path.trim().to_owned()] };
    let group = group.trim_end().strip_suffix('}').unwrap_or(group);
    let (mut depth, mut from, mut all) = (0, 0, Vec::new());
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = group[from..at].trim();
                if !part.is_empty() {
                    all.extend(spread(&format!("{}{part}", head.trim())));
                }
                from = at + 1;
            }
            _ => {}
        }
    }
    all
}

#[test]
fn app_names_only_listed_types_of_rooms_that_touch_the_world() {
    let path = Regex::new(
        r"\bcrate::((?:exec|store|llm|config)\b(?:::\w+)*(?:::\{(?:[^{}]|\{[^{}]*\})*\}|::\*)?(?:\s+as\s+\w+)?)",
    )
    .unwrap();
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for source in sources().into_iter().filter(|source| source.room == "app") {
        for found in path.captures_iter(&source.code) {
            for named in spread(&found[1]) {
                let named = named.split(" as ").next().unwrap_or_default().to_owned();
                // What follows a type is its variant or function.
                let listed = NAMES.iter().find(|name| {
                    named.strip_prefix(**name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
                });
                match listed {
                    Some(name) => drop(used.insert(*name)),
                    None => faults.push(format!("{} names crate::{named}", source.path.display())),
                }
            }
        }
    }
    faults.extend(NAMES.iter().filter(|name| !used.contains(*name)).map(|name| format!("{name} is named nowhere")));
    fail_on("what `app` may name of rooms that touch the world", faults);
}

#[test]
fn groups_are_spread() {
    assert_eq!(spread("exec::Exit"), ["exec::Exit"]);
    assert_eq!(
        spread("config::{Config, keymap::{Key,\n Code}}"),
        ["config::Config", "config::keymap::Key", "config::keymap::Code"]
    );
}

/// Enums of which a match in `app` may leave the rest to `_`, and why.
const OPEN: &[(&str, &str)] = &[
    ("Action", "a layer takes the few that it knows and leaves the others to the next; `app/run.rs` lists all"),
    ("Code", "keys of a keyboard"),
];

/// The place of the first of `stops` behind `from` that stands in no bracket, or of the bracket that closes.
fn until(code: &str, from: usize, stops: &[&str]) -> usize {
    let mut depth = 0;
    for (at, c) in code[from..].char_indices().map(|(at, c)| (from + at, c)) {
        if depth == 0 && stops.iter().any(|stop| code[at..].starts_with(stop)) {
            return at;
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// The patterns of a match, with their guards, and where each begins. `from` is behind the opening brace.
fn patterns(code: &str, from: usize) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    let mut at = from;
    loop {
        at += code[at..].len() - code[at..].trim_start_matches([' ', '\n', ',']).len();
        if at >= code.len() || code[at..].starts_with('}') {
            return all;
        }
        let arrow = until(code, at, &["=>"]);
        all.push((at, code[at..arrow].trim()));
        let body = arrow + 2 + (code[arrow + 2..].len() - code[arrow + 2..].trim_start().len());
        at = if code[body..].starts_with('{') { until(code, body + 1, &[]) + 1 } else { until(code, body, &[","]) };
    }
}

/// Each `_`, or name that takes everything, in a match that names variants of these enums: its line, and an enum of the
/// match. A heuristic over the text: what a macro holds is not seen.
fn wildcards(code: &str, enums: &BTreeSet<String>) -> Vec<(usize, String)> {
    let variant = Regex::new(r"\b([A-Z]\w*)::[A-Z]\w*").unwrap();
    let all = Regex::new(r"^(?:_|[a-z]\w*|Some\((?:_|[a-z]\w*)\)|\((?:_|[a-z]\w*)(?:, *(?:_|[a-z]\w*))*\))$").unwrap();
    let mut found = Vec::new();
    for head in Regex::new(r"\bmatch ").unwrap().find_iter(code) {
        let block = until(code, head.end(), &["{"]);
        let arms = patterns(code, (block + 1).min(code.len()));
        let pattern = |arm: &str| arm.split(" if ").next().unwrap_or_default().to_owned();
        let ours = arms
            .iter()
            .flat_map(|(_, arm)| variant.captures_iter(&pattern(arm)).map(|hit| hit[1].to_owned()).collect::<Vec<_>>())
            .find(|name| enums.contains(name));
        let Some(ours) = ours else { continue };
        for (at, arm) in &arms {
            let bare = pattern(arm) == *arm;
            // Also as one of several: `Pane::Queue | _`.
            let takes_all =
                arm.split('|').map(str::trim).any(|one| all.is_match(one) && !matches!(one, "true" | "false"));
            if bare && takes_all {
                found.push((code[..*at].matches('\n').count() + 1, ours.clone()));
            }
        }
    }
    found
}

#[test]
fn app_matches_our_enums_without_wildcards() {
    let declared = Regex::new(r"\benum (\w+)").unwrap();
    let sources = sources();
    let mut enums: BTreeSet<String> = sources
        .iter()
        .flat_map(|source| declared.captures_iter(&source.code).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .collect();
    enums.insert("Self".to_owned());
    for (open, _) in OPEN {
        assert!(enums.remove(*open), "{open} is no enum of ours");
    }
    let faults = sources
        .iter()
        .filter(|source| source.room == "app")
        .flat_map(|source| {
            let found = wildcards(&source.code, &enums);
            found.into_iter().map(|(line, name)| format!("{}:{line}: a match on {name}", source.path.display()))
        })
        .collect();
    fail_on("a wildcard hides the variants to come: name them, or use `if let`", faults);
}

#[test]
fn wildcards_are_found() {
    let enums = BTreeSet::from(["Pane".to_owned()]);
    let lines = |code: &str| wildcards(code, &enums).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
    for (code, expected) in [
        ("match pane {\n    Pane::Queue => 1,\n    _ => 2,\n}", vec![3]),
        ("match (a, pane(|| { 1 })) {\n    (1, Some(Pane::Queue)) => { call(x, y) }\n    (_, _) => {}\n}", vec![3]),
        ("match pane {\n    Pane::Queue => 1,\n    other => other.len(),\n}", vec![3]),
        ("match pane {\n    Pane::Queue => 1,\n    Pane::Composer | _ => 2,\n}", vec![3]),
        ("match pane {\n    Pane::Queue => 1,\n    _ if wide => 2,\n    Pane::Composer => 3,\n}", vec![]),
        ("match key {\n    1 if pane == Pane::Queue => 1,\n    _ => 2,\n}", vec![]),
        ("match Pane::of(x) {\n    1 => 1,\n    _ => 2,\n}", vec![]),
        ("match a {\n    1 => match pane { Pane::Queue => 1, _ => 2 },\n    _ => 3,\n}", vec![2]),
    ] {
        assert_eq!(lines(code), expected, "{code}");
    }
}

//! What a tool line says of a call, from its name and arguments alone.

use serde_json::Value;
use std::path::Path;

/// Characters of an identifier in a preview: `proc_` and twelve digits, cut a little.
const ID_CHARS: usize = 16;

/// The target of a call that could not be planned (a planned one names its own). Empty when nothing is known.
pub fn target(name: &str, args: &Value) -> String {
    match name {
        "read_file" => {
            let path = text(args, "path").unwrap_or_default();
            range(args).map_or(path.to_owned(), |(first, last)| format!("{path} {first}-{last}"))
        }
        "patch" => match (text(args, "path"), text(args, "patch")) {
            (None, Some(patch)) => patch_target(patch),
            (path, _) => path.unwrap_or_default().to_owned(),
        },
        "search_files" => {
            let pattern = text(args, "pattern").unwrap_or_default();
            text(args, "path").map_or(pattern.to_owned(), |path| format!("{pattern} in {path}"))
        }
        "write_file" => text(args, "path").unwrap_or_default().to_owned(),
        _ => preview(name, args).unwrap_or_default(),
    }
}

/// A few words about a call.
pub fn preview(name: &str, args: &Value) -> Option<String> {
    let field = |key: &str| text(args, key).map(str::to_owned);
    match name {
        "terminal" => field("command").map(|command| first_line(&command)),
        "process" => {
            let action = field("action")?;
            Some(match text(args, "session_id") {
                Some(id) => format!("{action} {}", id.chars().take(ID_CHARS).collect::<String>()),
                None => action,
            })
        }
        "read_file" => {
            let path = base_name(text(args, "path")?);
            Some(range(args).map_or(path.clone(), |(first, last)| format!("{path} L{first}-{last}")))
        }
        "write_file" => text(args, "path").map(base_name),
        "patch" => match (text(args, "path"), text(args, "patch")) {
            (None, Some(patch)) => Some(patch_target(patch)),
            (path, _) => path.map(base_name),
        },
        "search_files" => field("pattern"),
        "todo" => Some(match args.get("todos").and_then(Value::as_array) {
            None => "reading tasks".to_owned(),
            Some(todos) if args.get("merge") == Some(&Value::Bool(true)) => format!("updating {} task(s)", todos.len()),
            Some(todos) => format!("planning {} task(s)", todos.len()),
        }),
        "clarify" => field("question").map(|question| first_line(&question)),
        // Whatever comes first says the most.
        _ => args.as_object()?.values().find_map(Value::as_str).map(first_line),
    }
}

/// A sentence for a status line: `Reading main.rs L10-29`.
pub fn label(name: &str, args: &Value) -> Option<String> {
    let verb = match name {
        "terminal" => "Running",
        "read_file" => "Reading",
        "write_file" => "Writing",
        "patch" => "Editing",
        "search_files" => "Searching files for",
        "todo" => "Updating tasks",
        "clarify" => "Asking",
        _ => return preview(name, args),
    };
    Some(preview(name, args).map_or(verb.to_owned(), |preview| format!("{verb} {preview}")))
}

fn text<'a>(args: &'a Value, key: &str) -> Option<&'a str> {
    args.get(key)?.as_str()
}

fn range(args: &Value) -> Option<(i64, i64)> {
    let number = |key: &str| args.get(key).and_then(Value::as_i64);
    if number("offset").is_none() && number("limit").is_none() {
        return None;
    }
    let first = number("offset").unwrap_or(1).max(1);
    Some((first, first.saturating_add(number("limit").unwrap_or(500).max(1)) - 1))
}

fn base_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}

/// The files that a V4A patch names.
fn patch_target(patch: &str) -> String {
    let mut files = patch
        .lines()
        .filter(|line| line.starts_with("***"))
        .filter_map(|line| Some(line.split_once("File:")?.1.trim()));
    let first = files.next().unwrap_or_default();
    match files.count() {
        0 => first.to_owned(),
        more => format!("{first} + {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cases_of_the_tools_here() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tool-line.jsonl"));
        let ours = ["process", "read_file", "patch", "search_files", "todo", "clarify", "mcp__gh__search"];
        let mut seen = 0;
        for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let name = row["tool"].as_str().unwrap();
            if ours.contains(&name) {
                seen += 1;
                assert_eq!(preview(name, &row["args"]).as_deref(), row["preview"].as_str(), "{row}");
                assert_eq!(label(name, &row["args"]).as_deref(), row["label"].as_str(), "{row}");
            }
        }
        assert_eq!(seen, 9);
    }

    #[test]
    fn targets() {
        for (name, args, want) in [
            ("read_file", json!({"path": "src/a.rs", "limit": 20}), "src/a.rs 1-20"),
            ("read_file", json!({"path": "src/a.rs"}), "src/a.rs"),
            ("patch", json!({"patch": "*** Begin Patch\n*** Update File: a\n-x\n*** Delete File: b\n"}), "a + 1 more"),
            ("search_files", json!({"pattern": "x", "path": "src"}), "x in src"),
            ("terminal", json!({"command": "make\nls"}), "make"),
            ("nope", json!([1]), ""),
        ] {
            assert_eq!(target(name, &args), want);
        }
    }
}

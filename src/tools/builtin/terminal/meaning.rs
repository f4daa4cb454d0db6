//! Exit codes that are not failures, in words.

use super::scan::{mask, segments, words};

/// What a non-zero exit code of this line usually means; `None` when nothing special is known.
pub fn exit_code_meaning(line: &str, code: i32) -> Option<&'static str> {
    let masked = mask(line);
    // The status of a line is that of its last command.
    let parts = segments(line, &masked, true);
    let words = words(parts.last()?);
    let program = words.first()?.rsplit('/').next()?;
    Some(match (program, code) {
        ("grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack", 1) => "No matches found (not an error)",
        ("diff" | "colordiff", 1) => "Files differ (expected, not an error)",
        ("find", 1) => "Some directories were inaccessible (partial results may still be valid)",
        ("test" | "[", 1) => "Condition evaluated to false (expected, not an error)",
        ("curl", 6) => "Could not resolve host",
        ("curl", 7) => "Failed to connect to host",
        ("curl", 22) => "HTTP response code indicated error (e.g. 404, 500)",
        ("curl", 28) => "Operation timed out",
        ("git", 1) => "Non-zero exit (often normal — e.g. 'git diff' returns 1 when files differ)",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/exit-code-meaning.jsonl"));
        for line in cases.lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let code = case["exit_code"].as_i64().unwrap() as i32;
            let meaning = super::exit_code_meaning(case["command"].as_str().unwrap(), code);
            assert_eq!(meaning, case["meaning"].as_str(), "{case}");
        }
    }
}

//! What the line of a call says before the call is planned.

use crate::tools::registry::Registry;
use crate::tools::spec::Tool;
use crate::tools::testing::{Fake, Step};
use serde_json::{Value, json};

fn target(name: &str, args: &Value) -> String {
    match Registry::builtin().snapshot().get(name) {
        Some(tool) => tool.target(args),
        None => Fake::new("fake", "fake", Step::Ok).target(args),
    }
}

#[test]
fn cases_of_the_tools_here() {
    let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tool-line.jsonl"));
    let ours = ["process", "patch", "search_files", "todo", "clarify", "mcp__gh__search"];
    let mut seen = 0;
    for row in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let name = row["tool"].as_str().unwrap();
        if ours.contains(&name) {
            seen += 1;
            assert_eq!(target(name, &row["args"]), row["preview"].as_str().unwrap(), "{row}");
        }
    }
    assert_eq!(seen, 8);
}

#[test]
fn targets() {
    for (name, args, want) in [
        ("read_file", json!({"path": "src/a.rs", "limit": 20}), "src/a.rs 1-20"),
        ("read_file", json!({"path": "src/a.rs", "offset": 10, "limit": 20}), "src/a.rs 10-29"),
        ("read_file", json!({"path": "src/a.rs"}), "src/a.rs"),
        ("patch", json!({"patch": "*** Begin Patch\n*** Update File: a\n-x\n*** Delete File: b\n"}), "a + 1 more"),
        ("search_files", json!({"pattern": "x", "path": "src"}), "x in src"),
        ("terminal", json!({"command": "make\nls"}), "make"),
        ("nope", json!([1]), ""),
    ] {
        assert_eq!(target(name, &args), want);
    }
}

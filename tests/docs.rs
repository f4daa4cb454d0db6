//! Generated pages are what the program says of itself. `UPDATE_DOCS=1 cargo test docs` writes them anew.

use hermes::app::docs;
use hermes::config::keymap::Keymap;
use hermes::config::schema;
use hermes::tools::offer::wording::fit;
use hermes::tools::registry::Registry;
use std::path::Path;

const NOTE: &str = "<!-- generated: UPDATE_DOCS=1 cargo test docs -->\n";

fn compare(page: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let wanted = format!("{NOTE}{}\n", text.trim());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == wanted, "docs/{page} is not what the program says; run: UPDATE_DOCS=1 cargo test docs");
}

#[test]
fn keys_page() {
    compare("KEYS.md", &docs::keys_markdown(&Keymap::defaults().unwrap()));
}

#[test]
fn commands_page() {
    compare("COMMANDS.md", &docs::commands_markdown());
}

#[test]
fn config_page() {
    compare("CONFIG.md", &schema::markdown());
}

/// How the page of tools begins.
const TOOLS: &str = "# Tools

What the model can call. Every call passes the gate (`docs/SECURITY.md`).

## Results

A result has at most `tool_output.max_tokens` (4,000) tokens, set per tool or toolset with `tool_output.tools`, per model window \
with `tool_output.windows`, and never more than 15 % of a small window. The estimate depends on the kind of text and is on the high \
side.

A longer result keeps 40 % of its budget for the head, 60 % for the tail, and up to 20 lines from the middle that look like errors or \
warnings, with their numbers; these count as well. A line has at most `tool_output.max_line_length` characters, a result at most \
`tool_output.max_bytes`.

Runs of the same line or of progress (`Compiling …`, percentages, `[3/90]`) are folded in long results. The full text is in a file \
that one line names and `read_file` pages through; for a background process, use `process log`. `read_file` itself returns pages \
and never cuts their middle.

Arguments of a wrong type are converted where that is certain, or refused with the argument's name; none is ignored.

## Names of other agents' tools

Models use the names they were trained with: `bash`, `shell`, `execute_command`, `python`, `Read`, `cat`, `view`, `Write`, \
`create_file`, `Edit`, `MultiEdit`, `str_replace_editor`, `apply_patch`, `Grep`, `Glob`, `LS`, `TodoWrite`, `search` and the like.

If their arguments say for certain what is meant, the call becomes one of the tools below and passes the same gate; otherwise the \
answer names our tool and its parameters.
";

#[test]
fn tools_page() {
    let mut text = String::from(TOOLS);
    for spec in Registry::builtin().snapshot().specs() {
        text.push_str(&format!(
            "\n## {} {}\n\n*{}*\n\n{}\n\n",
            spec.emoji,
            spec.name,
            spec.toolset,
            fit(&spec.description, |_| true)
        ));
        let required: Vec<&str> =
            spec.schema["required"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
        text.push_str("| parameter | type | |\n| --- | --- | --- |\n");
        for (name, about) in spec.schema["properties"].as_object().into_iter().flatten() {
            let kind = match about["enum"].as_array() {
                Some(words) => words.iter().filter_map(|w| w.as_str()).collect::<Vec<_>>().join(" \\| "),
                None => about["type"].as_str().unwrap_or("any").to_owned(),
            };
            let note = if required.contains(&name.as_str()) { "required" } else { "" };
            text.push_str(&format!("| `{name}` | {kind} | {note} |\n"));
        }
    }
    compare("TOOLS.md", &text);
}

#[test]
fn every_key_of_the_keymap_is_an_action() {
    for action in Keymap::defaults().unwrap().actions() {
        assert!(hermes::app::action::Action::from_name(action).is_some(), "{action} is no action");
    }
}

#[test]
fn the_events_of_the_plugins_page() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/PLUGINS.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (start, end) = ("<!-- events -->\n", "<!-- /events -->");
    let (before, rest) = page.split_once(start).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let wanted = format!("{before}{start}{}{end}{after}", hermes::plugins::event::markdown());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &wanted).unwrap();
    }
    assert!(page == wanted, "the events of docs/PLUGINS.md are others; run: UPDATE_DOCS=1 cargo test docs");
}

/// Names of all functions under `src` and `tests`.
fn functions() -> std::collections::BTreeSet<String> {
    let mut names = std::collections::BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(path).unwrap();
                let starts = text.lines().filter_map(|line| line.split_once("fn ")).map(|(_, rest)| rest);
                names.extend(starts.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.trim().to_owned()));
            }
        }
    }
    names
}

#[test]
fn each_claim_of_the_security_page_names_a_test_that_exists() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/SECURITY.md")).unwrap();
    let (_, section) = page.split_once("\n## Each claim and its test\n").expect("the section with the tests");
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<(&str, &str)> = section
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---") && !line.starts_with("| claim"))
        .map(|line| line.trim_end_matches(" |").rsplit_once(" | ").expect("a claim and its tests"))
        .collect();
    assert!(rows.len() > 20, "{}", rows.len());
    let known = functions();
    let mut wrong = Vec::new();
    for (claim, tests) in rows {
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            wrong.push(format!("no test for: {claim}"));
        }
        wrong
            .extend(named.iter().filter(|name| !known.contains(**name)).map(|name| format!("no test {name}: {claim}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

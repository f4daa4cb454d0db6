//! A session that goes to another home as a file of JSONL comes back as it was.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::{Value, json};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The ids of the sessions of a home, the newest first.
fn ids(home: &Home) -> Vec<String> {
    let list: Value = serde_json::from_str(&out(&home.run(&["sessions", "list", "--json"]))).unwrap();
    list["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_session_with_cards_a_compaction_and_a_fork_comes_back_whole() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "approvals: {mode: yolo}");
    std::fs::write(home.project().join("a.txt"), "one\n").unwrap();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "two"});
    mock.push(vec![
        Step::Calls("I look.".into(), vec![call("terminal", json!({"command": "seq 1 300; exit 3"}))]),
        Step::Calls(String::new(), vec![call("patch", edit)]),
        Step::Text("The zebra is striped.".into()),
    ]);
    term.send("look at the zebra\r").wait("The zebra is striped.");
    for n in 0..8 {
        let before = mock.count();
        term.paste(&format!("prompt {n} {}", "many words of it ".repeat(60))).send("\r");
        term.shows("answered", |text| mock.count() > before && !text.contains("to stop"));
    }
    term.send("/compact the stripes\r").wait("compacted");
    term.quit();
    term.ended();
    let id = ids(&home).remove(0);
    for args in [&["rename", &id, "Stripes"][..], &["tag", &id, "zoo"], &["pin", &id], &["fork", &id]] {
        assert!(home.run(&[&["sessions"], args].concat()).status.success(), "{args:?}");
    }
    let fork = ids(&home).into_iter().find(|other| *other != id).unwrap();
    let export = |home: &Home, id: &str| out(&home.run(&["sessions", "export", id, "--format", "jsonl"]));
    let (whole, forked) = (export(&home, &id), export(&home, &fork));

    let rows = lines(&whole);
    let head = &rows[0]["session"];
    assert_eq!((&head["title"], &head["tags"], &head["pinned"]), (&json!("Stripes"), &json!(["zoo"]), &json!(true)));
    assert_eq!(head["folder"], json!(home.project().canonicalize().unwrap()));
    assert!(head["model"].as_str().is_some_and(|model| model.contains(':')), "{head}");
    let card = rows.iter().find(|row| row["tool_name"] == "terminal").unwrap();
    assert_eq!((&card["entry"]["view"]["exit_code"], &card["entry"]["outcome"]), (&json!(3), &json!("failed")));
    let card = rows.iter().find(|row| row["tool_name"] == "patch").unwrap();
    assert!(card["entry"]["view"]["diffs"][0]["unified"].as_str().is_some_and(|diff| diff.contains("+two")), "{card}");
    let summary = rows.iter().find(|row| row["role"] == "summary").unwrap();
    assert!(summary["entry"]["from"].is_i64() && summary["entry"]["focus"] == "the stripes", "{summary}");
    assert!(rows.iter().any(|row| row["role"] == "note"), "{whole}");

    // The fork comes first: its parent is tied to it when that comes.
    let other = Home::with(&mock, "");
    for (name, text) in [("fork.jsonl", &forked), ("whole.jsonl", &whole)] {
        std::fs::write(other.project().join(name), text).unwrap();
    }
    let done = other.run(&["sessions", "import", "fork.jsonl"]);
    assert!(done.status.success() && out(&done).ends_with("from 1 session\n"), "{}{}", out(&done), err(&done));
    assert_eq!(export(&other, &fork), forked, "also without its parent");
    let done = out(&other.run(&["sessions", "import", "whole.jsonl"]));
    assert_eq!(done, format!("imported {} items from 1 session\n", rows.len() - 1));
    assert_eq!(export(&other, &id), whole);
    assert_eq!(export(&other, &fork), forked);
    let tree = |home: &Home| out(&home.run(&["sessions", "tree", &fork, "--json"]));
    assert_eq!(tree(&other), tree(&home), "the fork hangs below its parent");
    let said = |home: &Home, format: &str| out(&home.run(&["sessions", "export", &id, "--format", format]));
    for format in ["md", "html"] {
        assert_eq!(said(&other, format), said(&home, format), "{format}");
    }
    // It goes on from the summary.
    let mut term = Term::sized(&other, &["--resume", &id], (120, 40));
    let before = mock.count();
    term.wait("❯");
    term.send("and now?\r").shows("answered", |text| mock.count() > before && !text.contains("to stop"));
    let sent = mock.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("CONTEXT COMPACTION") && !sent.contains("prompt 2 many"), "{sent}");
    term.quit();
}

#[test]
fn a_file_of_an_older_version_still_comes_in() {
    let home = Home::empty();
    let row = |role: &str, content: &str, second: u32| {
        json!({
            "session_id": "20260101_101010_abcdef", "role": role, "content": content, "tool_name": null,
            "tool_calls": null, "at": format!("2026-01-01T10:10:{second:02}Z"),
        })
    };
    let mut rows =
        [row("user", "list it", 10), row("assistant", "", 11), row("tool", "a.txt", 12), row("assistant", "Done.", 13)];
    rows[1]["tool_calls"] = json!([{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\":\"ls\"}"}}]);
    rows[2]["tool_name"] = json!("terminal");
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(home.project().join("old.jsonl"), text).unwrap();
    let done = home.run(&["sessions", "import", "old.jsonl"]);
    assert_eq!(out(&done), "imported 4 items from 1 session\n", "{}", err(&done));
    let list = lines(&out(&home.run(&["sessions", "list", "--json"]))).remove(0);
    assert_eq!(list["sessions"][0]["started_at"], json!("2026-01-01T10:10:10Z"));
    assert_eq!(list["sessions"][0]["cwd"], json!(home.project().canonicalize().unwrap()));
}

#[test]
fn a_wrong_filter_is_said_while_it_is_typed_and_to_the_agent() {
    let mock = Mock::start(vec![Step::Text("about zebras".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("which animal?\r").wait("about zebras").wait("step ·");
    term.send("\x12").wait("Enter resume").wait("1 session");
    term.send("since:bogus").wait("`since:bogus` is no filter: use 2026-11-01, today, yesterday or 7d");
    // It goes when the word is put right.
    term.send("\x15since:7d").gone("is no filter").wait("1 session");
    term.resize(60, 20).send("\x15role:foo").wait("use role:user, role:assistant or role:tool");
    term.send("\x1b").gone("use role:user");
    mock.push(vec![
        Step::Calls(String::new(), vec![call("session_search", json!({"query": "zebra is:foo"}))]),
        Step::Text("I see.".into()),
    ]);
    term.send("look it up\r").wait("I see.");
    let sent = mock.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("`is:foo` is no filter: use is:pinned, is:archived or is:trashed; put words in"), "{sent}");
    term.quit();
}

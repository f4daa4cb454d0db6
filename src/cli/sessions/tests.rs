//! Tests of the commands, from arguments to output.

use super::*;
use crate::protocol::{AssistantBody, Body, Item, ItemId, ToolBody};
use crate::store::NewSession;
use clap::Parser;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: SessionsArgs,
}

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Exit code, output and messages of one command.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let line = Line::try_parse_from(std::iter::once("sessions").chain(words.iter().copied())).expect("arguments");
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = block(run(
            line.args,
            Store::spawn(self.path("home")),
            Path::new("/src/app"),
            &Secrets::default(),
            &mut out,
            &mut err,
        ));
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (code.expect("runs"), text(out), text(err))
    }

    fn json(&self, words: &[&str]) -> Value {
        let (code, out, err) = self.run(words);
        assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
        serde_json::from_str(&out).expect("json")
    }

    fn file(&self, name: &str, rows: &[Value]) -> String {
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        std::fs::write(self.path(name), text).expect("written");
        self.path(name).display().to_string()
    }
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

fn row(session: &str, role: &str, content: &str, at: Value) -> Value {
    json!({"session_id": session, "role": role, "content": content, "tool_name": null, "tool_calls": null, "at": at})
}

fn rich() -> Vec<Value> {
    let call = |id: &str, name: &str, args: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": args}});
    let calls = json!([call("c1", "terminal", "{\"command\": \"ls <dir>\"}"), call("c2", "terminal", "{broken")]);
    let at = |second: u32| json!(format!("2026-01-05T08:00:{second:02}Z"));
    let parts = json!([{"type": "text", "text": "what is this?\n"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]);
    let mut rows = vec![
        row("rich", "user", "list <b>files</b> & go\n```\nx", at(0)),
        row("rich", "assistant", "", at(1)),
        row("rich", "tool", "a\u{1b}[31m\n````\nb", at(2)),
        row("rich", "tool", "{\"error\": \"no\"}", at(3)),
        row(
            "rich",
            "assistant",
            "**Done** <script>alert(1)</script> [x](javascript:alert(1))",
            json!("2026-01-05T08:00:04.250Z"),
        ),
        row("rich", "user", "", at(5)),
    ];
    rows[1]["tool_calls"] = calls;
    rows[2]["tool_name"] = json!("terminal");
    rows[3]["tool_name"] = json!("terminal");
    rows[5]["content"] = parts;
    rows
}

#[test]
fn an_export_is_what_was_imported() {
    let (home, other) = (Home::new(), Home::new());
    let file = home.file("rich.jsonl", &rich());
    assert_eq!(home.run(&["import", &file]), (0, "imported 6 items from 1 session\n".to_owned(), String::new()));
    let (code, out, _) = home.run(&["export", "rich", "--format", "jsonl"]);
    let mut rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let keys: Vec<&str> = rows[1].as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["session_id", "role", "content", "tool_name", "tool_calls", "at", "entry"]);
    let head = rows.remove(0);
    assert_eq!((&head["role"], &head["session"]["folder"]), (&json!("session"), &json!("/src/app")));
    rows.iter_mut().filter_map(Value::as_object_mut).for_each(|row| drop(row.remove("entry")));
    assert_eq!((code, &rows), (0, &rich()), "what others read is as they wrote it");
    // And again through another home.
    std::fs::write(other.path("again.jsonl"), &out).expect("written");
    other.run(&["import", &other.path("again.jsonl").display().to_string()]);
    assert_eq!(other.run(&["export", "rich", "--format", "jsonl"]).1, out);
    let shown = home.json(&["show", "rich", "--json"]);
    assert_eq!((&shown["items"][2]["call_id"], &shown["items"][3]["call_id"]), (&json!("c1"), &json!("c2")));
}

#[test]
fn a_file_comes_in_once() {
    let home = Home::new();
    let mut rows: Vec<Value> =
        (0..6).map(|n| row("s", ["user", "assistant"][n % 2], &format!("word{n}"), json!(1_767_600_000 + n))).collect();
    let file = home.file("s.jsonl", &rows[..4]);
    home.run(&["import", &file]);
    let (code, out, err) = home.run(&["import", &file]);
    assert_eq!((code, out.as_str()), (0, "imported 0 items from 0 sessions\n"));
    assert!(err.contains("session s already exists"), "{err}");
    home.file("s.jsonl", &rows);
    assert_eq!(home.json(&["import", &file, "--json"])["files"][0]["result"], json!("extended"));
    rows[0]["content"] = json!("changed");
    home.file("s.jsonl", &rows);
    let (code, _, err) = home.run(&["import", &file]);
    assert!(code == 1 && err.contains("hermes sessions delete s"), "{err}");
    let list = home.json(&["list", "--json"]);
    assert_eq!((&list["version"], &list["sessions"][0]["items"]), (&json!(1), &json!(6)));
}

#[test]
fn files_without_times_ids_or_sense_are_taken_as_far_as_they_go() {
    let home = Home::new();
    let before = chrono::Utc::now().timestamp_millis();
    let rows: Vec<Value> = (0..4)
        .map(|n| json!({"session_id": "grown", "role": (["user", "assistant"][n % 2]), "content": format!("turn {n}"), "tool_name": null, "tool_calls": null}))
        .collect();
    let old = vec![row("old", "user", "first", json!("2026-01-05T08:00:00Z"))];
    let files = [home.file("grown.jsonl", &rows), home.file("old.jsonl", &old)];
    home.run(&["import", &files[0], &files[1]]);
    let list = home.json(&["--json"]);
    let ids: Vec<&str> =
        list["sessions"].as_array().expect("rows").iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, ["grown", "old"], "what has no time is new");
    assert_eq!(
        (&list["sessions"][1]["started_at"], &list["sessions"][0]["cwd"]),
        (&json!("2026-01-05T08:00:00Z"), &json!("/src/app"))
    );
    let shown = home.json(&["show", "grown", "--json"]);
    let at = chrono::DateTime::parse_from_rfc3339(shown["items"][3]["at"].as_str().expect("a time")).expect("a time");
    assert!(at.timestamp_millis() >= before && shown["items"][3]["turn"] == json!(2));

    let parsed = import::parse(
        "{\"role\":\"system\",\"content\":\"x\"}\n[1]\n{\"role\":\"user\",\"content\":\"hi\",\"at\":1.5}\n{\"ro",
        "name",
        7,
        &Secrets::default(),
    )
    .expect("a session");
    assert_eq!((parsed.session.as_str(), parsed.items.len(), parsed.items[0].at, parsed.skipped), ("name", 1, 1500, 2));
    assert_eq!(parsed.why.as_deref(), Some("line 2: not a JSON object"));
    let two = "{\"session_id\":\"a\",\"role\":\"user\"}\n{\"session_id\":\"b\",\"role\":\"user\"}";
    assert_eq!(
        import::parse(two, "", 0, &Secrets::default()).expect_err("two"),
        "line 2: a second session, b; one file holds one session"
    );
    assert_eq!(import::parse("", "x", 0, &Secrets::default()).expect_err("nothing"), "contains no items");
    let (code, _, err) = home.run(&["import", "/nowhere/x.jsonl", &files[1]]);
    assert!(code == 1 && err.contains("/nowhere/x.jsonl: can't be read: no such file"), "{err}");
}

#[test]
fn an_imported_file_brings_no_secret_no_endless_result_and_no_path() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let secrets = Secrets::default();
    secrets.learn(["correct-horse-battery-9".to_owned()]);
    let call = json!([{"id": "c", "function": {"name": "terminal", "arguments": json!({"command": token})}}]);
    let mut rows = vec![
        row("/../../x y", "user", &format!("use {token}"), json!(1)),
        row("/../../x y", "assistant", "it is correct-horse-battery-9", json!(2)),
        row("/../../x y", "tool", &format!("{token} {}", "long ".repeat(50_000)), json!(3)),
    ];
    rows[1]["tool_calls"] = call;
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let parsed = import::parse(&text, "", 0, &secrets).expect("a session");
    let all = serde_json::to_string(&parsed.items).expect("json");
    assert!(!all.contains(&token) && !all.contains("horse") && all.matches("«redacted:").count() >= 4, "{all}");
    assert!(all.len() < 42_000 && all.contains("bytes left out"), "{}", all.len());
    assert!(parsed.session.starts_with("....xy-"), "{}", parsed.session);
    let home = Home::new();
    home.run(&["import", &home.file("x.jsonl", &rows)]);
    let facts = block(async {
        let store = Store::spawn(home.path("home"));
        let facts = store.meta(&parsed.session.as_str().into()).await;
        store.close().await;
        facts.expect("reads")
    });
    assert_eq!(facts["untrusted"]["origins"], json!(["tools in an imported file"]));
}

#[test]
fn what_a_file_claims_beyond_its_text_is_bounded() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let mut head = row("s", "session", "t", json!(1));
    head["session"] = json!({
        "folder": "/gone", "title": format!("for {token}"), "tags": ["Red", "two words"], "started_at": 5,
        "parent": {"session": "s", "item": 1, "turn": 1, "at": 1}, "grants": ["everything"],
        "usage": [{"at": 9, "model": "a:b", "role": "summary", "input": u64::MAX, "cached": 0, "cache_write": 0, "output": 1,
            "reasoning": 0, "cost": null}],
    });
    let mut rows =
        vec![head, row("s", "user", "hi", json!(2)), row("s", "tool", "{}", json!(3)), row("s", "note", "x", json!(4))];
    rows[1]["entry"] = json!({"id": 7, "turn": 3, "origin": "program", "gist": format!("see {token}")});
    rows[2]["tool_name"] = json!("terminal");
    rows[2]["entry"] = json!({
        "id": i64::MAX, "turn": u32::MAX, "call_id": "c", "outcome": "failed", "duration_ms": 12,
        "view": {"output": token, "diffs": [{"path": "a", "added": 1, "removed": 0, "unified": token}]},
        "images": [{"media_type": "image/svg+xml", "data": "AAAA"}],
    });
    let home = Home::new();
    let (code, out, err) = home.run(&["import", &home.file("s.jsonl", &rows)]);
    assert_eq!((code, out.as_str()), (0, "imported 2 items from 1 session\n"));
    assert!(err.contains("unknown role `note`"), "a note without an entry is none: {err}");
    let (_, out, _) = home.run(&["export", "s", "--format", "jsonl", "--no-redact"]);
    assert!(!out.contains(&token) && !out.contains("svg") && !out.contains("everything"), "{out}");
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    assert_eq!(rows[0]["session"]["tags"], json!(["red", "two", "words"]));
    assert_eq!((&rows[1]["entry"]["id"], &rows[2]["entry"]["id"]), (&json!(7), &json!(8)));
    assert_eq!((&rows[2]["entry"]["turn"], &rows[2]["entry"]["duration_ms"]), (&json!(3), &json!(12)));
    let tree = home.run(&["tree", "s"]);
    assert!(tree.0 == 0 && tree.1.lines().count() <= 2, "no session is its own parent: {}", tree.1);
    assert_eq!(home.json(&["stats", "--json"])["sessions"], json!(1));
}

#[test]
fn a_search_prints_hits_as_an_array() {
    let home = Home::new();
    home.run(&["import", &home.file("rich.jsonl", &rich())]);
    let hits = home.json(&["search", "list", "files", "--json"]);
    let expected = json!([{
        "session_id": "rich", "title": null, "item_id": 1, "role": "user",
        "snippet": ">>>list<<< <b>>>>files<<<</b> & go ``` x", "at": "2026-01-05T08:00:00Z",
    }]);
    assert_eq!(hits, expected);
    assert_eq!(home.json(&["search", "nothing", "--json"]), json!([]));
    assert_eq!(home.json(&["search", "files", "--json", "--here"]).as_array().map(Vec::len), Some(1));
    let (code, out, err) = home.run(&["search", "nothing"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", "no matches for `nothing`\n"));
    assert!(home.run(&["search", "files"]).1.contains("rich  "));
}

#[test]
fn readable_exports_are_safe_and_whole() {
    let home = Home::new();
    home.run(&["import", &home.file("rich.jsonl", &rich())]);
    let (_, page, _) = home.run(&["export", "rich", "--format", "html"]);
    assert!(!page.contains("<script>") && !page.contains("javascript:") && !page.contains("<b>files"), "{page}");
    assert!(page.contains("<strong>Done</strong>") && page.contains("list &lt;b&gt;files"), "{page}");
    assert!(page.contains("data:image/png;base64,AAAA") && page.trim_end().ends_with("</html>"), "{page}");
    let (_, text, _) = home.run(&["export", "rich"]);
    assert!(text.starts_with("# list <b>files</b> & go ``` x\n"), "{text}");
    assert!(text.contains("`````text\na\n````\nb\n`````"), "a fence is longer than those inside: {text}");
    assert!(
        !text.contains('\u{1b}')
            && text.contains("<details><summary>✓ terminal {&quot;command&quot;: &quot;ls &lt;dir"),
        "{text}"
    );
    let (_, line, _) = home.run(&["export", "rich", "--format", "sharegpt"]);
    let value: Value = serde_json::from_str(&line).expect("json");
    let turns = value["conversations"].as_array().expect("turns");
    let from: Vec<&str> = turns.iter().filter_map(|turn| turn["from"].as_str()).collect();
    assert_eq!(from, ["human", "gpt", "tool", "gpt", "human"]);
    assert!(
        turns[1]["value"]
            .as_str()
            .is_some_and(|text| text.starts_with("<think>\n\n</think>") && text.matches("<tool_call>").count() == 2)
    );
    assert!(turns[2]["value"].as_str().is_some_and(|text| text.matches("</tool_response>").count() == 2));
    assert_eq!(value["completed"], json!(false));
}

#[test]
fn sessions_are_named_deleted_and_counted() {
    let home = Home::new();
    for name in ["20260101_080000_aaaaaa", "20260101_080001_bbbbbb"] {
        home.run(&["import", &home.file("s.jsonl", &[row(name, "user", "hello", json!(1_767_600_000))])]);
    }
    assert_eq!(home.run(&["rename", "bbbbbb", "Fix", "the", "test"]).1, "20260101_080001_bbbbbb: Fix the test\n");
    let (code, out, _) = home.run(&["list"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, lines.len()), (0, 3));
    assert!(
        lines[0].starts_with("ID ") && lines[1].starts_with("bbbbbb  ") && lines[1].ends_with("  app     Fix the test"),
        "{out}"
    );
    assert_eq!(home.json(&["stats", "--json"])["sessions"], json!(2));
    let fork = home.json(&["fork", "Fix the test", "--json"]);
    assert_eq!((&fork["title"], &fork["from"]), (&json!("Fix the test (fork)"), &json!("20260101_080001_bbbbbb")));
    let copy = fork["id"].as_str().expect("an id").to_owned();
    assert_eq!(home.json(&["stats", "--json"])["items"], json!(3));
    assert_eq!(home.run(&["delete", "--now", &copy]).0, 0);
    let (code, out, err) = home.run(&["delete", "Fix the test", "zzz"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("hermes: no session matches `zzz`"), "{err}");
    let moved = "moved to the trash: 20260101_080001_bbbbbb: Fix the test\n";
    assert_eq!(home.run(&["delete", "Fix the test"]).1, moved);
    assert_eq!(home.run(&["restore", "Fix the test"]).1, "restored 20260101_080001_bbbbbb: Fix the test\n");
    let gone = "deleted 20260101_080001_bbbbbb: Fix the test (1 items)\n";
    assert_eq!(home.run(&["delete", "--now", "Fix the test"]).1, gone);
    assert_eq!(home.json(&["list", "--json"])["sessions"].as_array().map(Vec::len), Some(1));
    assert!(home.run(&["repair"]).1.contains("state.db is intact"));
    assert_eq!(home.run(&["list", "--here"]).0, 0);
}

#[test]
fn a_show_of_a_living_session_changes_nothing() {
    let home = Home::new();
    let store = Store::spawn(home.path("home"));
    let call = crate::protocol::ToolCall { id: "a".to_owned(), name: "terminal".to_owned(), ..Default::default() };
    let bodies = [
        Body::Assistant(AssistantBody { text: "I look.".to_owned(), calls: vec![call], ..AssistantBody::default() }),
        Body::Tool(ToolBody { call_id: "other".to_owned(), content: "out\nput".to_owned(), ..ToolBody::default() }),
    ];
    let items = bodies.into_iter().map(|body| Item { id: ItemId(0), at: 0, turn: 1, body }).collect();
    let id = SessionId("s".to_owned());
    let source = "print".to_owned();
    let new = NewSession { id: id.clone(), cwd: "/x".to_owned(), model: "a:b".to_owned(), source, started_at: 0 };
    block(async {
        store.create(new).await.expect("created");
        store.append(&id, items).await.expect("kept");
        // A read of its own puts what waits into the database, where others see it.
        assert_eq!(store.whole(&id).await.expect("reads").items.len(), 2);
    });
    let (_, out, _) = home.run(&["show", "s"]);
    assert!(out.contains("s · /x · a:b · 2 items") && out.contains("I look.\n") && out.contains("  │ put"), "{out}");
    assert_eq!(block(store.whole(&id)).expect("reads").items.len(), 2);
}

//! Sessions that other agents left in the home folder, taken over by the built program.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::path::Path;

/// A file that a real agent wrote, with the project of this test as its folder.
fn fixture(home: &Home, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/elsewhere").join(name);
    std::fs::read_to_string(path).unwrap().replace("/home/sam/demo", &home.project().display().to_string())
}

fn put(home: &Home, path: &str, name: &str) {
    let path = home.user().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if name.ends_with(".sql") {
        rusqlite::Connection::open(path).unwrap().execute_batch(&fixture(home, name)).unwrap();
    } else {
        std::fs::write(path, fixture(home, name)).unwrap();
    }
}

/// The sessions of all agents, where each puts them.
fn agents(home: &Home) {
    put(home, ".claude/projects/-p/ec9f5c13-46bc-4e6c-b056-7533a2d7c084.jsonl", "claude.jsonl");
    put(home, CODEX, "codex.jsonl");
    put(home, ".local/share/opencode/opencode.db", "opencode.sql");
    put(
        home,
        ".pi/agent/sessions/--p--/2026-11-26T07-33-38-163Z_01a216c6-34f2-727f-b1ef-d2397b3398d7.jsonl",
        "pi.jsonl",
    );
}

const CODEX: &str = ".codex/sessions/2026/11/26/rollout-2026-11-26T07-33-35-01a216c6-2b67-7270-a94e-1f2f97568c68.jsonl";

fn value(home: &Home, args: &[&str]) -> Value {
    let output = home.run(args);
    serde_json::from_str(&out(&output)).unwrap_or_else(|_| panic!("{args:?}: {}{}", out(&output), err(&output)))
}

fn last(mock: &Mock) -> String {
    mock.requests().pop().unwrap()["messages"].to_string()
}

#[test]
fn the_newest_session_of_each_agent_goes_on() {
    for (agent, id) in [
        ("claude", "claude-ec9f5c13-46bc-4e6c-b056-7533a2d7c084"),
        ("codex", "codex-01a216c6-2b67-7270-a94e-1f2f97568c68"),
        ("opencode", "opencode-ses_de939a5f1ffe4FN3Cv80m7Vzcc"),
        ("pi", "pi-01a216c6-34f2-727f-b1ef-d2397b3398d7"),
        ("hermes-py", "20261126_073413_eee5b5"),
    ] {
        let mock = Mock::start(vec![Step::Text("going on".into()), Step::Text("and on".into())]);
        let home = Home::with(&mock, "");
        agents(&home);
        put(&home, ".hermes/state.db", "hermes-py.sql");
        let wish = format!("@{agent}");
        let said = home.run(&["-p", "which file was it?", "--resume", &wish, "--output", "json"]);
        assert!(said.status.success(), "{agent}: {}", err(&said));
        let said: Value = serde_json::from_str(&out(&said)).unwrap();
        assert_eq!((&said["session_id"], &said["result"]), (&json!(id), &json!("going on")), "{agent}");
        let sent = mock.requests().pop().unwrap()["messages"].clone();
        let text = sent.to_string();
        let parts = ["Print the file a.txt", "cat a.txt", "The file has two lines.", "which file was it?"];
        assert!(parts.iter().all(|part| text.contains(part)), "{agent}: {text}");
        // Calls are real calls, each with its result.
        let all = sent.as_array().unwrap();
        let calls = all.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        let mut calls: Vec<&str> = calls.filter_map(|call| call["id"].as_str()).collect();
        let mut results: Vec<&str> = all.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
        calls.sort_unstable();
        results.sort_unstable();
        assert!(!calls.is_empty() && calls == results, "{agent}: {text}");
        // The second time it is the same session, with what was said here.
        assert!(home.run(&["-p", "once more", "--resume", &wish]).status.success());
        assert!(last(&mock).contains("going on"), "{agent}");
        let list = value(&home, &["sessions", "list", "--json"]);
        assert_eq!(list["sessions"].as_array().map(Vec::len), Some(1), "{agent}: {list}");
        let exported = out(&home.run(&["sessions", "show", id]));
        assert!(exported.contains("[note: Taken over from"), "{agent}: {exported}");
    }
}

#[test]
fn a_folder_without_a_session_of_the_agent_says_how_to_name_one() {
    let mock = Mock::start(Vec::new());
    let home = Home::with(&mock, "");
    put(&home, CODEX, "codex.jsonl");
    let other = home.project().join("other");
    std::fs::create_dir(&other).unwrap();
    let output = home.command(&["-p", "x", "-r", "@codex"]).current_dir(&other).output().unwrap();
    assert!(err(&output).contains("-r @codex:ID (`hermes sessions elsewhere` lists them)"), "{}", err(&output));
    let output = home.run(&["-p", "x", "-r", "@nobody"]);
    assert!(err(&output).contains("no agent `@nobody`"), "{}", err(&output));
    assert_eq!(mock.count(), 0);
    let listed = out(&home.run(&["sessions", "elsewhere", "print"]));
    assert!(listed.starts_with("@codex:01a216c6-2b67-7270-a94e-1f2f97568c68  "), "{listed}");
    // On the screen they are listed to choose from.
    let mut term = Term::start(&home, &["--cwd", &other.display().to_string(), "-r", "@codex"]);
    term.wait("Sessions of other agents").wait("Print the file a.txt");
    term.send("\r");
    term.wait("Taken over from Codex");
    term.send("go on\r").wait("done");
    assert!(last(&mock).contains("Print the file a.txt"));
}

#[test]
fn the_browser_lists_and_takes_over_what_lies_elsewhere() {
    let mock = Mock::start(vec![Step::Text("a fresh answer".into())]);
    let home = Home::with(&mock, "");
    agents(&home);
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("\x12").wait("no sessions yet");
    term.send("\t").wait("Sessions of this folder");
    term.send("\t").wait("Sessions of other agents").wait("4 sessions");
    term.wait("opencode mock-model").wait("Codex mock-model").wait("Claude Code claude-sonnet-4-5");
    // What is typed narrows it, and the preview follows.
    term.send("@pi").wait("1 session").gone("Codex mock-model").wait("The file has two lines.");
    term.send("\x1b[3~").wait("only read");
    term.send("\r").gone("Sessions of other agents").wait("Taken over from pi").wait("And how many lines are that?");
    term.send("go on\r").wait("a fresh answer");
    let sent = last(&mock);
    assert!(sent.contains("Print the file a.txt") && sent.contains("go on"), "{sent}");
    // By its name, from the composer; nothing of its modes came along.
    term.send("/resume @codex\r").wait("Taken over from Codex").wait("cat a.txt");
    assert!(term.text().contains("ask") || !term.text().contains("yolo"), "{}", term.text());
}

#[test]
fn sessions_are_imported_by_file_by_agent_and_all() {
    let home = Home::empty();
    agents(&home);
    put(&home, "elsewhere/rollout.jsonl", "codex.jsonl");
    let file = home.user().join("elsewhere/rollout.jsonl").display().to_string();
    let one = value(&home, &["sessions", "import", &file, "--json"]);
    assert_eq!((&one["files"][0]["result"], &one["files"][0]["items"]), (&json!("new"), &json!(6)), "{one}");
    let claude = out(&home.run(&["sessions", "import", "@claude"]));
    assert_eq!(claude, "1 session of Claude Code brought over (9 entries)\n");
    let all = value(&home, &["sessions", "import", "--all", "--json"]);
    let counts: Vec<(&str, u64, u64)> = all["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["from"].as_str().unwrap(), row["new"].as_u64().unwrap(), row["same"].as_u64().unwrap()))
        .collect();
    let expected = [("@claude", 0, 1), ("@codex", 0, 1), ("@opencode", 1, 0), ("@pi", 1, 0), ("@hermes-py", 0, 0)];
    assert_eq!(counts, expected);
    let hits = value(&home, &["sessions", "search", "print", "--json"]);
    assert_eq!(hits.as_array().map(Vec::len), Some(4), "{hits}");
    let wrong = home.run(&["sessions", "import", "@nobody", "@pi:zz"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        err(&wrong).contains("@nobody: no such agent") && err(&wrong).contains("no session of pi"),
        "{}",
        err(&wrong)
    );
}

/// A Python Hermes of so many sessions in the home of this one.
fn python(home: &Home, count: usize) {
    put(home, ".hermes/state.db", "hermes-py.sql");
    let conn = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.execute_batch(&format!(
        "CREATE INDEX messages_by_session ON messages(session_id, timestamp);
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
         INSERT INTO sessions (id, source, started_at) SELECT 'many' || n, 'cli', n FROM n;
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30)
         INSERT INTO messages (session_id, role, content, timestamp)
           SELECT id, iif(n % 2, 'user', 'assistant'), 'word ' || n || ' of ' || id, started_at + n
             FROM sessions, n WHERE id LIKE 'many%';"
    ))
    .unwrap();
}

#[test]
fn a_migration_that_is_killed_goes_on_where_it_was() {
    let home = Home::empty();
    python(&home, 1200);
    let before = std::fs::read(home.hermes().join("state.db")).unwrap();
    let dry = value(&home, &["migrate-sessions", "--dry-run", "--json"]);
    assert_eq!((&dry["migrated"]["new"], &dry["dry_run"]), (&json!(1201), &json!(true)), "{dry}");
    assert_eq!(value(&home, &["sessions", "stats", "--json"])["sessions"], json!(0));
    for _ in 0..3 {
        let known = value(&home, &["sessions", "stats", "--json"])["sessions"].as_i64().unwrap();
        let mut run = home.command(&["migrate-sessions"]).spawn().unwrap();
        let there = || {
            let conn = rusqlite::Connection::open(home.hermes().join("hermes.db")).unwrap();
            conn.query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0)).unwrap_or_default()
        };
        let mut ended = false;
        until("some came over", || {
            ended = run.try_wait().unwrap().is_some();
            ended || there() > known + 60
        });
        let _ = run.kill();
        run.wait().unwrap();
        if ended {
            break;
        }
    }
    let rest = value(&home, &["migrate-sessions", "--json"]);
    let count = |key: &str| rest["migrated"][key].as_u64().unwrap();
    assert_eq!(count("new") + count("same"), 1201, "{rest}");
    let stats = value(&home, &["sessions", "stats", "--json"]);
    assert_eq!((&stats["sessions"], &stats["items"]), (&json!(1201), &json!(1200 * 30 + 9)));
    let again = out(&home.run(&["migrate-sessions"]));
    assert_eq!(again, "0 sessions of Python Hermes brought over (0 entries); 1,201 were here already\n");
    assert_eq!(std::fs::read(home.hermes().join("state.db")).unwrap(), before, "theirs is as it was");
    let nothing = home.run(&["migrate-sessions", "--from", &home.project().display().to_string()]);
    assert!(err(&nothing).contains("holds no sessions of a Python Hermes"), "{}", err(&nothing));
}

#[test]
fn the_first_start_brings_over_earlier_sessions_once() {
    let mock = Mock::start(Vec::new());
    let home = Home::with(&mock, "");
    python(&home, 40);
    let mut term = Term::start(&home, &[]);
    term.wait("41 sessions of Python Hermes brought over");
    term.send("\x12").wait("Bench session");
    term.send("\x1b");
    term.quit();
    term.ended();
    // It is done: what is new over there waits for a word.
    let conn = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    conn.execute_batch(
        "INSERT INTO sessions (id, source, started_at) VALUES ('later', 'cli', 1);
         INSERT INTO messages (session_id, role, content, timestamp) VALUES ('later', 'user', 'later', 1);",
    )
    .unwrap();
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("\x12").wait("41 sessions");
    assert!(!term.text().contains("brought over"));
    assert_eq!(
        out(&home.run(&["migrate-sessions"])).split(';').next(),
        Some("1 session of Python Hermes brought over (1 entries)")
    );
}

#[test]
fn the_setting_leaves_earlier_sessions_where_they_are() {
    let mock = Mock::start(vec![Step::Text("an answer".into())]);
    let home = Home::with(&mock, "elsewhere:\n  import_python: false\n");
    python(&home, 3);
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("hello\r").wait("an answer");
    term.send("\x12").wait("1 session");
    assert!(!home.hermes().join("imported.json").exists());
    // They are still there to be taken one by one.
    term.send("\t\t").wait("Sessions of other agents").wait("4 sessions");
}

//! Readers against sessions that the agents made (`tests/fixtures/elsewhere`), and against files that are not what they
//! seem.

mod hostile;
mod taking;

use super::*;
use crate::protocol::{Body, Outcome};
use serde_json::{Value, json};

/// A file that a real agent wrote, with its folder renamed.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/elsewhere").join(name)
}

/// A home with the sessions of all agents, each where its agent puts them.
fn machine() -> (tempfile::TempDir, Places) {
    let root = tempfile::tempdir().expect("a folder");
    let put = |path: &str, name: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::copy(fixture(name), path).expect("copied");
    };
    put(".claude/projects/-home-sam-demo/ec9f5c13-46bc-4e6c-b056-7533a2d7c084.jsonl", "claude.jsonl");
    put(
        ".codex/sessions/2026/11/26/rollout-2026-11-26T07-33-35-01a216c6-2b67-7270-a94e-1f2f97568c68.jsonl",
        "codex.jsonl",
    );
    put(
        ".pi/agent/sessions/--home-sam-demo--/2026-11-26T07-33-38-163Z_01a216c6-34f2-727f-b1ef-d2397b3398d7.jsonl",
        "pi.jsonl",
    );
    database(&root.path().join("opencode/opencode.db"), "opencode.sql");
    database(&root.path().join("hermes/state.db"), "hermes-py.sql");
    let at = |path: &str| Some(root.path().join(path));
    let places = Places {
        claude: vec![root.path().join(".claude")],
        codex: at(".codex"),
        opencode: at("opencode"),
        pi: at(".pi/agent"),
        hermes_py: at("hermes"),
    };
    (root, places)
}

/// A database of these statements.
fn database(path: &Path, name: &str) -> rusqlite::Connection {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    let conn = rusqlite::Connection::open(path).expect("opens");
    conn.execute_batch(&std::fs::read_to_string(fixture(name)).expect("a fixture")).expect("runs");
    conn
}

fn everything(shelf: &Shelf) -> Vec<Found> {
    shelf.list(&Wanted { limit: 99, ..Wanted::default() }).found
}

/// The entries in short: turn, who, what; calls with their arguments; ids that a result belongs to.
fn shown(items: &[Item]) -> Vec<String> {
    let line = |item: &Item| match &item.body {
        Body::User { text, .. } => format!("{} user {text}", item.turn),
        Body::Assistant(a) => {
            let calls: Vec<String> = a.calls.iter().map(|c| format!(" [{} {} {}]", c.id, c.name, c.args)).collect();
            let thought = if a.reasoning.is_empty() { String::new() } else { format!(" ({})", a.reasoning) };
            format!("{} {}{thought} {}{}", item.turn, a.model, a.text, calls.concat())
        }
        Body::Tool(t) => {
            let outcome = if t.outcome == Outcome::Ok { "" } else { t.outcome.word() };
            format!("{} {} {}{outcome}: {} <{}>", item.turn, t.call_id, t.name, t.content, t.view.target)
        }
        Body::Summary(s) => format!("{} summary of {}-{}: {}", item.turn, s.from.0, s.to.0, s.text),
        Body::Note { text, .. } => format!("{} note {text}", item.turn),
    };
    items.iter().map(line).collect()
}

fn of(agent: Agent) -> (Found, Conversation) {
    let (_root, places) = machine();
    let shelf = Shelf::new(places);
    let found = shelf.newest(agent, "/home/sam/demo").expect("found");
    let conversation = read(&found, &Secrets::default()).expect("reads");
    assert!(conversation.items.iter().enumerate().all(|(at, item)| item.id.0 == at as i64 + 1));
    (found, conversation)
}

#[test]
fn a_session_of_codex_is_read() {
    let (found, conversation) = of(Agent::Codex);
    assert_eq!(
        (found.id.as_str(), found.prompt.as_str(), found.model.as_str(), found.messages, found.started_at),
        ("01a216c6-2b67-7270-a94e-1f2f97568c68", "Print the file a.txt", "mock-model", Some(5), 1_795_678_415_733)
    );
    assert_eq!(
        shown(&conversation.items),
        [
            "1 user Print the file a.txt",
            "1 mock-model  [call_1_0 terminal {\"command\":\"cat a.txt\"}]",
            "1 call_1_0 terminal: Chunk ID: 958b67\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token \
             count: 2\nOutput:\none\ntwo\n <cat a.txt>",
            "1 mock-model The file has two lines.",
            "2 user And how many lines are that?",
            "2 mock-model ok",
        ]
    );
    assert_eq!(conversation.left_out.get("text of the program"), Some(&2));
    assert_eq!(conversation.items[0].at, 1_795_678_415_837);
}

#[test]
fn a_session_of_claude_code_is_read() {
    let (found, conversation) = of(Agent::Claude);
    assert_eq!(
        (found.id.as_str(), found.prompt.as_str(), found.model.as_str(), found.cwd.as_str(), found.messages),
        (
            "ec9f5c13-46bc-4e6c-b056-7533a2d7c084",
            "Print the file a.txt",
            "claude-sonnet-4-5",
            "/home/sam/demo",
            Some(10)
        )
    );
    assert_eq!(
        shown(&conversation.items),
        [
            "1 user Print the file a.txt",
            "1 claude-sonnet-4-5  [toolu_1_0 terminal {\"command\":\"cat a.txt\"}] \
             [toolu_1_1 read_file {\"path\":\"/home/sam/demo/a.txt\"}]",
            "1 toolu_1_1 read_file: 1\tone\n2\ttwo\n3\t </home/sam/demo/a.txt>",
            "1 toolu_1_0 terminal: one\ntwo <cat a.txt>",
            "1 claude-sonnet-4-5  [toolu_2_0 patch {\"mode\":\"replace\",\"path\":\"/home/sam/demo/a.txt\",\
             \"old_string\":\"two\",\"new_string\":\"2\"}]",
            "1 toolu_2_0 patch: The file /home/sam/demo/a.txt has been updated successfully. (file state is current in your \
             context — no need to Read it back) </home/sam/demo/a.txt>",
            "1 claude-sonnet-4-5 The file has two lines.",
            "2 user And how many lines are that?",
            "2 claude-sonnet-4-5 ok",
        ]
    );
    assert_eq!(conversation.left_out.get("attachment"), Some(&2));
}

#[test]
fn a_session_of_pi_is_read() {
    let (found, conversation) = of(Agent::Pi);
    assert_eq!((found.prompt.as_str(), found.messages), ("Print the file a.txt", Some(9)));
    assert_eq!(
        shown(&conversation.items),
        [
            "1 user Print the file a.txt",
            "1 mock-model  [call_1_0 terminal {\"command\":\"cat a.txt\"}] [call_1_1 read_file {\"path\":\"/home/sam/demo/a.txt\"}]",
            "1 call_1_0 terminal: one\ntwo\n <cat a.txt>",
            "1 call_1_1 read_file: one\ntwo\n </home/sam/demo/a.txt>",
            "1 mock-model  [call_2_0 patch {\"mode\":\"replace\",\"path\":\"/home/sam/demo/a.txt\",\
             \"old_string\":\"two\",\"new_string\":\"2\"}]",
            "1 call_2_0 patchfailed: edits[0] and edits[1] overlap in /home/sam/demo/a.txt. Merge them into one edit or target \
             disjoint regions. </home/sam/demo/a.txt>",
            "1 mock-model The file has two lines.",
            "2 user And how many lines are that?",
            "2 mock-model ok",
        ]
    );
}

#[test]
fn a_session_of_opencode_is_read() {
    let (found, conversation) = of(Agent::OpenCode);
    assert_eq!(
        (found.title.as_deref(), found.prompt.as_str(), found.model.as_str(), found.messages),
        (Some("Bench session"), "\"Print the file a.txt\"", "mock-model", Some(6))
    );
    let lines = shown(&conversation.items);
    assert_eq!(lines[0], "1 user \"Print the file a.txt\"");
    assert_eq!(
        lines[1],
        "1 mock-model  [call_2_0 terminal {\"command\":\"cat a.txt\"}] [call_2_1 read_file {\"path\":\"/home/sam/demo/a.txt\"}]"
    );
    assert_eq!(lines[2], "1 call_2_0 terminal: one\ntwo\n <cat a.txt>");
    assert!(lines[3].starts_with("1 call_2_1 read_file: <path>/home/sam/demo/a.txt</path>"), "{}", lines[3]);
    assert!(lines[4].contains("call_3_0 patch") && lines[5].contains("Edit applied successfully."), "{lines:?}");
    assert_eq!(
        lines[6..],
        ["1 mock-model The file has two lines.", "2 user \"And how many lines are that?\"", "2 mock-model ok"]
    );
}

#[test]
fn a_session_of_python_hermes_is_read() {
    let (found, conversation) = of(Agent::HermesPy);
    assert_eq!(
        (found.id.as_str(), found.title.as_deref(), found.messages, found.started_at),
        ("20261126_073413_eee5b5", Some("Bench session"), Some(9), 1_795_678_463_637)
    );
    let lines = shown(&conversation.items);
    assert_eq!(lines.len(), 9);
    assert_eq!(
        lines[2],
        "1 call_1_0 terminal: {\"output\": \"one\\ntwo\", \"exit_code\": 0, \"error\": null} <cat a.txt>"
    );
    assert_eq!(
        lines[4],
        "1 mock-model  [call_2_0 patch {\"mode\":\"replace\",\"path\":\"/home/sam/demo/a.txt\",\
         \"old_string\":\"two\",\"new_string\":\"2\"}]"
    );
    let Body::Tool(tool) = &conversation.items[2].body else { panic!("a result") };
    assert_eq!((tool.view.output.as_str(), tool.view.exit_code), ("one\ntwo", Some(0)));
}

/// A transcript in a file of an agent, read.
fn read_lines(agent: Agent, name: &str, lines: &[Value]) -> Conversation {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join(name);
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).expect("written");
    let found = match agent {
        Agent::HermesPy => Found::new(agent, "old".to_owned(), Place::File(path)),
        _ => Shelf::of_path(&path).expect("a transcript"),
    };
    assert_eq!(found.agent, agent);
    read(&found, &Secrets::default()).expect("reads")
}

#[test]
fn what_claude_code_went_back_from_is_left_out() {
    let record = |uuid: &str, parent: Value, kind: &str, content: Value| {
        json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
               "message": {"role": kind, "id": format!("m{uuid}"), "content": content}})
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let mut summary = record("f", Value::Null, "user", json!("What was done."));
    (summary["isCompactSummary"], summary["logicalParentUuid"]) = (true.into(), "e".into());
    let mut aside = record("x", json!("a"), "assistant", text("of a subagent"));
    aside["isSidechain"] = true.into();
    let thinking = json!([{"type": "thinking", "thinking": "Let me see.", "signature": "x"}]);
    let fetch = json!([{"type": "tool_use", "id": "t1", "name": "WebFetch", "input": {"url": "https://example.org"}}]);
    let fetched =
        json!([{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a page"}]}]);
    let mut more = record("d", json!("c"), "assistant", fetch);
    more["message"]["id"] = "mc".into();
    let conversation = read_lines(
        Agent::Claude,
        "s.jsonl",
        &[
            json!({"type": "summary", "summary": "A title", "leafUuid": "e"}),
            record("a", Value::Null, "user", json!("first")),
            record("b", json!("a"), "assistant", text("wrong way")),
            record("b2", json!("b"), "user", json!("taken back")),
            aside,
            record("c", json!("a"), "assistant", thinking),
            more,
            record("e", json!("d"), "user", fetched),
            summary,
            record("g", json!("f"), "user", json!("<command-name>/clear</command-name>")),
            record("h", json!("g"), "user", json!("go on")),
            record(
                "i",
                json!("h"),
                "assistant",
                json!([{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}]),
            ),
        ],
    );
    assert_eq!(
        shown(&conversation.items),
        [
            "1 user first",
            "1  wrong way",
            "1  (Let me see.) Used the tool WebFetch: {\"url\":\"https://example.org\"}\n\nWebFetch returned:\na page",
            "1 summary of 1-3: What was done.",
            "2 user go on",
            "2   [t2 terminal {\"command\":\"ls\"}]",
            &format!("2 t2 terminalinterrupted: {} <ls>", crate::store::INTERRUPTED_RESULT),
        ]
    );
    assert_eq!((conversation.as_text, conversation.about.title.as_deref()), (1, Some("A title")));
    assert_eq!(conversation.left_out.get("entries that were rewound"), Some(&1));
    assert_eq!(conversation.left_out.get("entries of subagents"), Some(&1));
}

#[test]
fn what_codex_took_back_compacted_and_patched_is_as_it_left_it() {
    let item =
        |payload: Value| json!({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload});
    let user = |text: &str| {
        item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}))
    };
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch";
    let conversation = read_lines(
        Agent::Codex,
        "rollout-2025-05-07T17-24-21-abc.jsonl",
        &[
            json!({"type": "session_meta", "payload": {"id": "abc", "cwd": "/home/sam", "timestamp": "2026-01-01T00:00:00Z"}}),
            user("<environment_context>…"),
            user("one"),
            item(json!({"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": patch})),
            item(json!({"type": "custom_tool_call_output", "call_id": "p",
                        "output": "{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"})),
            item(json!({"type": "function_call", "call_id": "s", "name": "shell",
                        "arguments": "{\"command\":[\"bash\",\"-lc\",\"false\"],\"workdir\":\"/tmp\"}"})),
            item(json!({"type": "function_call_output", "call_id": "s", "output": "Exit code: 1\nOutput:\n"})),
            json!({"type": "compacted", "payload": {"message": "", "replacement_history": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "All so far."}]}]}}),
            user("two"),
            item(
                json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"}),
            ),
            item(json!({"type": "function_call", "call_id": "u", "name": "update_plan", "arguments": "{\"plan\":[]}"})),
            item(json!({"type": "function_call_output", "call_id": "u", "output": "Plan updated"})),
            user("three"),
            json!({"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}),
            user("four"),
            json!({"type": "a kind of the future", "payload": {}}),
        ],
    );
    assert_eq!(
        shown(&conversation.items),
        [
            "1 user one".to_owned(),
            format!(
                "1   [p patch {}] [s terminal {{\"command\":\"false\",\"workdir\":\"/tmp\"}}]",
                json!({"mode": "patch", "patch": patch})
            )
            .replace(" [s terminal {\"command\":\"false\",\"workdir\":\"/tmp\"}]", ""),
            "1 p patch: Success <a.txt>".to_owned(),
            "1   [s terminal {\"command\":\"false\",\"workdir\":\"/tmp\"}]".to_owned(),
            "1 s terminalfailed: Exit code: 1\nOutput:\n <false>".to_owned(),
            "1 summary of 1-5: All so far.".to_owned(),
            "2 user two".to_owned(),
            "2  (Hm.) Used the tool update_plan: {\"plan\":[]}\n\nupdate_plan returned:\nPlan updated".to_owned(),
            "3 user four".to_owned(),
        ]
    );
    assert_eq!(conversation.left_out.get("a kind of the future"), Some(&1));
    assert_eq!(conversation.left_out.get("entries that were rewound"), Some(&1));
}

#[test]
fn the_branch_of_pi_that_is_open_is_read() {
    let entry = |id: &str, parent: Value, more: Value| {
        let mut entry = json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00Z"});
        entry.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        entry
    };
    let user = |text: &str| json!({"message": {"role": "user", "content": text}});
    let conversation = read_lines(
        Agent::Pi,
        "t_1.jsonl",
        &[
            json!({"type": "session", "version": 3, "id": "1", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/home/sam"}),
            entry("a", Value::Null, user("one")),
            entry("b", json!("a"), user("left")),
            entry(
                "c",
                json!("a"),
                json!({"message": {"role": "bashExecution", "command": "make", "output": "no", "exitCode": 2, "timestamp": 5}}),
            ),
            entry("d", json!("c"), user("kept")),
            entry("e", json!("d"), json!({"type": "compaction", "summary": "Made it.", "firstKeptEntryId": "d"})),
            entry("f", json!("e"), json!({"type": "session_info", "name": "A name"})),
            entry("g", json!("f"), json!({"type": "label", "targetId": "a"})),
        ],
    );
    assert_eq!(
        shown(&conversation.items),
        [
            "1 user one",
            "1   [bash_5 terminal {\"command\":\"make\"}]",
            "1 bash_5 terminalfailed: no <make>",
            "2 user kept",
            "2 summary of 1-3: Made it.",
        ]
    );
    assert_eq!(conversation.about.title.as_deref(), Some("A name"));
    assert_eq!(conversation.left_out.get("entries of other branches"), Some(&1));
}

#[test]
fn what_python_hermes_compacted_and_took_back_is_told_apart() {
    let (root, places) = machine();
    let conn = rusqlite::Connection::open(root.path().join("hermes/state.db")).expect("opens");
    conn.execute_batch(
        "INSERT INTO sessions (id, source, started_at, title, parent_session_id, model_config, archived)
           VALUES ('c', 'telegram', 100.5, 'Compacted', '20261126_073413_eee5b5', '{\"_branched_from\": \"x\"}', 1),
                  ('sub', 'subagent', 100, NULL, 'c', NULL, 0), ('empty', 'cli', 1, NULL, NULL, NULL, 0),
                  ('dele', 'cli', 1, NULL, NULL, '{\"_delegate_from\": \"c\"}', 0);
         INSERT INTO messages (session_id, role, content, timestamp, active, compacted, observed) VALUES
           ('c', 'user', 'old', 101, 0, 1, 0), ('c', 'assistant', 'old answer', 102, 0, 1, 0),
           ('c', 'user', '[summary] what was done', 103, 1, 0, 0), ('c', 'assistant', 'go on', 104, 1, 0, 0),
           ('c', 'user', 'taken back', 105, 0, 0, 0), ('c', 'user', 'to others', 106, 1, 0, 1),
           ('c', 'user', char(0) || 'json:[{\"type\": \"text\", \"text\": \"with a picture\"}]', 107, 1, 0, 0),
           ('sub', 'user', 'x', 1, 1, 0, 0), ('dele', 'user', 'x', 1, 1, 0, 0);",
    )
    .expect("runs");
    drop(conn);
    let shelf = Shelf::new(places);
    let ids: Vec<String> =
        everything(&shelf).into_iter().filter(|f| f.agent == Agent::HermesPy).map(|f| f.id).collect();
    assert_eq!(ids, ["20261126_073413_eee5b5", "c"]);
    let conversation = read(&shelf.by_id(Agent::HermesPy, "c").expect("found"), &Secrets::default()).expect("reads");
    let lines = shown(&conversation.items);
    assert_eq!(lines[..2], ["1 user old", "1  old answer"]);
    assert!(lines[2].starts_with("1 summary of 1-2: Python Hermes compacted"), "{}", lines[2]);
    assert_eq!(lines[3..], ["2 user [summary] what was done", "2  go on", "3 user with a picture"]);
    assert_eq!(conversation.left_out.get("entries that were rewound"), Some(&1));
    assert_eq!(conversation.left_out.get("messages of others in a group"), Some(&1));
    let row = hermes_py::list(&root.path().join("hermes")).expect("lists").into_iter().find(|row| row.found.id == "c");
    let lineage =
        json!({"source": "telegram", "parent": "20261126_073413_eee5b5", "kind": "branched", "archived": true});
    assert_eq!(row.map(|row| row.lineage), Some(lineage));
}

#[test]
fn older_schemas_and_older_files_of_python_hermes_are_read() {
    let root = tempfile::tempdir().expect("a folder");
    let home = root.path();
    let conn = rusqlite::Connection::open(home.join("state.db")).expect("opens");
    conn.execute_batch(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL);
         INSERT INTO sessions VALUES ('first', 'cli', 100);
         INSERT INTO messages VALUES (1, 'first', 'user', 'hello', 101), (2, 'first', 'assistant', 'hi', 102);",
    )
    .expect("runs");
    std::fs::create_dir(home.join("sessions")).expect("a folder");
    let lines = [
        json!({"role": "session_meta", "model": "m"}),
        json!({"role": "user", "content": "from a file", "timestamp": "2025-01-01T00:00:00Z"}),
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "web_search", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": "1", "content": "found"}),
    ];
    std::fs::write(home.join("sessions/older.jsonl"), lines.map(|line| line.to_string()).join("\n")).expect("written");
    let rows = hermes_py::list(home).expect("lists");
    let ids: Vec<&str> = rows.iter().map(|row| row.found.id.as_str()).collect();
    assert_eq!(ids, ["older", "first"]);
    let texts = |at: usize| shown(&read(&rows[at].found, &Secrets::default()).expect("reads").items);
    assert_eq!(texts(0), ["1 user from a file", "1  Used the tool web_search: {}\n\nweb_search returned:\nfound"]);
    assert_eq!(texts(1), ["1 user hello", "1  hi"]);
}

#[test]
fn what_opencode_reverted_is_left_out_and_older_files_are_read() {
    let (root, places) = machine();
    let conn = rusqlite::Connection::open(root.path().join("opencode/opencode.db")).expect("opens");
    let second = "(SELECT id FROM message WHERE json_extract(data, '$.role') = 'user' ORDER BY id DESC LIMIT 1)";
    conn.execute(&format!("UPDATE session SET revert = json_object('messageID', {second})"), []).expect("runs");
    drop(conn);
    let shelf = Shelf::new(places);
    let found = shelf.newest(Agent::OpenCode, "/home/sam/demo").expect("found");
    let conversation = read(&found, &Secrets::default()).expect("reads");
    assert_eq!(shown(&conversation.items).last().map(String::as_str), Some("1 mock-model The file has two lines."));
    assert_eq!(conversation.left_out.get("entries that were rewound"), Some(&2));

    let old = tempfile::tempdir().expect("a folder");
    let put = |path: &str, value: Value| {
        let path = old.path().join("storage").join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, value.to_string()).expect("written");
    };
    put(
        "session/p/ses_1.json",
        json!({"id": "ses_1", "directory": "/home/sam", "title": "Old", "time": {"created": 5_000_000_000_000_i64}}),
    );
    put("message/ses_1/msg_1.json", json!({"role": "user", "time": {"created": 5}}));
    put("part/msg_1/prt_1.json", json!({"type": "text", "text": "hello"}));
    put("part/msg_1/prt_2.json", json!({"type": "text", "text": "a reminder", "synthetic": true}));
    let shelf = Shelf::new(Places { opencode: Some(old.path().to_owned()), ..Places::default() });
    let found = shelf.by_id(Agent::OpenCode, "ses_").expect("found");
    assert_eq!((found.title.as_deref(), found.cwd.as_str()), (Some("Old"), "/home/sam"));
    assert_eq!(shown(&read(&found, &Secrets::default()).expect("reads").items), ["1 user hello"]);
}

#[test]
fn the_shelf_lists_finds_and_names() {
    let (_root, places) = machine();
    let shelf = Shelf::new(places);
    let found = everything(&shelf);
    let agents: Vec<&str> = found.iter().map(|found| found.agent.word()).collect();
    // Files of this test are newer than what their databases say.
    assert_eq!(agents.len(), 5);
    let list = |words: &str, here: Option<&str>| -> Vec<&'static str> {
        let wanted = Wanted { words: words.to_owned(), here: here.map(str::to_owned), limit: 9 };
        let mut found: Vec<&str> = shelf.list(&wanted).found.iter().map(|found| found.agent.word()).collect();
        found.sort_unstable();
        found
    };
    assert_eq!(list("print A.TXT", None).len(), 5);
    assert_eq!(list("bench", None), ["hermes-py", "opencode"]);
    assert_eq!(list("@codex", None), ["codex"]);
    assert_eq!(list("@codex nothing", None), Vec::<&str>::new());
    assert_eq!(list("", Some("/home/sam/demo/")).len(), 5);
    assert_eq!(list("", Some("/home/sam")), Vec::<&str>::new());
    assert_eq!(
        shelf.by_id(Agent::Codex, "01a2").map(|found| found.key()),
        Ok("@codex:01a216c6-2b67-7270-a94e-1f2f97568c68".into())
    );
    assert_eq!(shelf.by_id(Agent::Pi, "77").map(|found| found.id), Err("no session of pi starts with `77`".to_owned()));
    for agent in Agent::ALL {
        assert_eq!(Agent::of_word(agent.word()), Some(agent));
    }
}

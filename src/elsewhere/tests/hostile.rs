//! Files that are not what they seem: nothing waits, panics, or keeps the others out.

use super::*;
use crate::elsewhere::build::{Answer, Call};
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn pipes_links_and_closed_folders_keep_no_one_waiting() {
    let (root, places) = machine();
    let sessions = root.path().join(".codex/sessions");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        sessions.join("rollout-2026-01-01T00-00-00-pipe.jsonl"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("a pipe");
    symlink(&sessions, sessions.join("loop")).expect("a link");
    symlink("/dev/zero", sessions.join("rollout-2026-01-01T00-00-00-zero.jsonl")).expect("a link");
    let closed = sessions.join("closed");
    std::fs::create_dir(&closed).expect("a folder");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).expect("closed");
    std::fs::write(sessions.join("rollout-2026-01-01T00-00-00-empty.jsonl"), "").expect("written");
    std::fs::write(root.path().join("opencode/opencode.db"), b"SQLite format 3\0 but no more").expect("written");
    let shelf = Shelf::new(places);
    let listed = shelf.list(&Wanted { limit: 99, ..Wanted::default() });
    assert_eq!(listed.found.len(), 4, "{listed:?}");
    assert!(!listed.more && listed.problems.len() == 1 && listed.problems[0].contains("opencode.db"), "{listed:?}");
    for name in ["rollout-2026-01-01T00-00-00-pipe.jsonl", "rollout-2026-01-01T00-00-00-zero.jsonl"] {
        let found = Found::new(Agent::Codex, "x".to_owned(), Place::File(sessions.join(name)));
        let why = read(&found, &Secrets::default()).expect_err("refused");
        assert!(why.ends_with("not a regular file"), "{why}");
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).expect("open");
}

#[test]
fn long_lines_broken_lines_and_bytes_that_are_no_text_are_counted() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("s.jsonl");
    let user = |text: &str| {
        format!(
            "{}\n",
            json!({"type": "user", "sessionId": "s", "cwd": "/home/sam", "timestamp": "2026-01-01T00:00:00Z",
                               "message": {"role": "user", "content": text}})
        )
    };
    let mut bytes = user("hello").into_bytes();
    bytes.extend(user(&"x".repeat(10 << 20)).into_bytes());
    bytes.extend(b"{\"type\": \"user\", \"message\"\n\xff\xfe\x00\n[]\n\n");
    bytes.extend(user("b\u{fffd}d").replace('\u{fffd}', "?").replace('?', "\u{1}").replace('\u{1}', "?").into_bytes());
    let raw = user("ZZ").into_bytes();
    let at = raw.windows(2).position(|pair| pair == b"ZZ").expect("there");
    bytes.extend([&raw[..at], b"\xff\xfe", &raw[at + 2..]].concat());
    bytes.extend(br#"{"type": "user", "sessionId": "s", "message": {"role": "user", "content": "cut"#);
    std::fs::write(&path, bytes).expect("written");
    let found = Shelf::of_path(&path).expect("a transcript");
    assert_eq!((found.prompt.as_str(), found.messages), ("hello", None));
    let conversation = read(&found, &Secrets::default()).expect("reads");
    assert_eq!(shown(&conversation.items), ["1 user hello", "2 user b?d", "3 user \u{fffd}\u{fffd}"]);
    assert_eq!(conversation.left_out, BTreeMap::from([("broken lines".to_owned(), 5)]));
}

#[test]
fn records_of_any_shape_are_read() {
    let shapes = [
        json!({"type": "user"}),
        json!({"type": "assistant", "message": {"content": [{}, 1, null, {"type": "tool_use"}]}}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result"}, {"type": "image", "source": 1}]}}),
        json!({"type": "response_item", "payload": {"type": "function_call"}}),
        json!({"payload": {}}),
        json!({"type": "response_item", "payload": {"type": "message", "role": "user", "content": "x"}}),
        json!({"type": "message", "id": "a", "parentId": "a", "message": {"role": "assistant", "content": [{"type": "toolCall"}]}}),
        json!({"type": "compaction", "id": "b", "parentId": "a"}),
        json!({"type": 7}),
        json!({"uuid": "u", "parentUuid": "u", "type": "user"}),
        json!({"role": "assistant", "tool_calls": "[{}]"}),
        json!({"role": "tool"}),
    ];
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("rollout-x.jsonl");
    std::fs::write(&path, shapes.map(|shape| shape.to_string()).join("\n")).expect("written");
    for agent in [Agent::Claude, Agent::Codex, Agent::Pi, Agent::HermesPy] {
        let found = Found::new(agent, "x".to_owned(), Place::File(path.clone()));
        if let Ok(conversation) = read(&found, &Secrets::default()) {
            answered(&conversation.items);
        }
    }
}

/// Every call has a result, after it.
fn answered(items: &[Item]) {
    let mut open = std::collections::HashSet::new();
    for item in items {
        match &item.body {
            Body::Assistant(body) => open.extend(body.calls.iter().map(|call| call.id.clone())),
            Body::Tool(body) => assert!(open.remove(&body.call_id), "{}", body.call_id),
            Body::User { .. } | Body::Summary(_) | Body::Note { .. } => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn ids_of_calls_that_look_like_ours_hang_nothing_and_get_their_own_results() {
    let secrets = Secrets::default();
    let mut builder = Builder::new(&secrets, 0);
    let call = |builder: &mut Builder<'_>, id: &str, path: &str| {
        let args = json!({"path": path});
        builder.call(None, None, "", &Call { id, name: "read", args });
    };
    let result = |builder: &mut Builder<'_>, id: &str, text: &str| {
        builder.result(None, id, Answer { text: text.to_owned(), ..Answer::default() });
    };
    builder.user(None, "one", Vec::new());
    // The name that `a` would get the second time is taken already.
    for id in ["a_4", "a", "call_1", "call_1_x"] {
        call(&mut builder, id, id);
    }
    // One id begins as the other does.
    result(&mut builder, "call_1", "of call_1");
    result(&mut builder, "call_1_x", "of call_1_x");
    builder.user(None, "two", Vec::new());
    for id in ["a", "a", ""] {
        call(&mut builder, id, "again");
    }
    result(&mut builder, "", "of no id");
    result(&mut builder, "a", "of a");
    let found = Found::new(Agent::Pi, "x".to_owned(), Place::File("/x".into()));
    let conversation = builder.finish(&found).expect("reads");
    answered(&conversation.items);
    let results = conversation.items.iter().filter_map(|item| match &item.body {
        Body::Tool(body) => Some((body.view.target.as_str(), body.content.lines().next().unwrap_or_default())),
        _ => None,
    });
    let stopped = crate::store::INTERRUPTED_RESULT.lines().next().unwrap_or_default();
    assert_eq!(
        results.collect::<Vec<_>>(),
        [
            ("call_1", "of call_1"),
            ("call_1_x", "of call_1_x"),
            ("a_4", stopped),
            ("a", stopped),
            ("again", "of no id"),
            ("again", "of a"),
        ]
    );
    assert_eq!(conversation.left_out, BTreeMap::from([("a call that was repeated".to_owned(), 1)]));
}

#[test]
fn a_database_is_asked_again_only_when_it_has_changed() {
    let (root, places) = machine();
    let shelf = Shelf::new(places);
    let list = || {
        let wanted = Wanted { words: "@opencode".to_owned(), here: None, limit: 9 };
        shelf
            .list(&wanted)
            .found
            .into_iter()
            .map(|found| (found.title, found.prompt.chars().count()))
            .collect::<Vec<_>>()
    };
    let before = list();
    assert_eq!(before.len(), 1);
    let answers = shelf.answers();
    assert_eq!((list(), shelf.answers()), (before, answers.clone()));
    let conn = rusqlite::Connection::open(root.path().join("opencode/opencode.db")).expect("opens");
    let long = json!({"type": "text", "text": "long ".repeat(5_000)}).to_string();
    conn.execute("UPDATE session SET title = ?1", ["x".repeat(9_000)]).expect("runs");
    conn.execute("UPDATE part SET data = ?1 WHERE data LIKE '%\"text\"%'", [&long]).expect("runs");
    assert_eq!(list(), [(Some("x".repeat(400)), 400)]);
    assert_ne!(shelf.answers(), answers);
}

#[test]
fn records_that_hang_together_in_any_order_are_read_in_one_walk() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("s.jsonl");
    // Children before their parents, and at last a circle.
    let record = |number: usize, parent: usize| {
        json!({"type": "assistant", "sessionId": "s", "uuid": format!("u{number}"), "parentUuid": format!("u{parent}"),
               "message": {"id": format!("m{number}"), "content": [{"type": "text", "text": "x"}]}})
        .to_string()
    };
    let count = 30_000;
    let mut lines: Vec<String> = (0..count).rev().map(|number| record(number, (number + 1) % count)).collect();
    lines.push(json!({"type": "user", "uuid": "p", "message": {"content": "hello"}}).to_string());
    std::fs::write(&path, lines.join("\n")).expect("written");
    let found = Found::new(Agent::Claude, "s".to_owned(), Place::File(path));
    let conversation = read(&found, &Secrets::default()).expect("reads");
    assert_eq!(shown(&conversation.items), ["1 user hello"]);
    assert_eq!(conversation.left_out, BTreeMap::from([("entries that were rewound".to_owned(), 30_000)]));
}

#[test]
fn ids_of_sessions_become_plain_names() {
    for (id, plain) in [
        ("01a216c6-2b67", "01a216c6-2b67"),
        ("20260101_120000_abc", "20260101_120000_abc"),
        ("", ""),
        ("/../../../notes", "......notes-2e0d5e6d"),
        ("é", "4a99557e"),
    ] {
        assert_eq!(plain_id(id), plain);
    }
    assert_ne!(plain_id("a/b"), plain_id("a b"));
    assert_eq!(plain_id(&"x".repeat(500)).len(), 129);
    assert_eq!(Agent::Pi.our_id("a/b"), format!("pi-{}", plain_id("a/b")));
}

#[test]
fn secrets_do_not_come_along() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("s.jsonl");
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let known = "correct-horse-battery-9";
    let lines = [
        json!({"type": "user", "sessionId": "s", "message": {"content": format!("my token is {token} and {known}")}}),
        json!({"type": "custom-title", "customTitle": format!("about {known}")}),
        json!({"type": "assistant", "message": {"id": "1", "content": [
            {"type": "text", "text": token}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": format!("curl -H {known} x")}},
            {"type": "tool_use", "id": "u", "name": "mcp__x__y", "input": {"key": token}}]}}),
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t", "content": token}, {"type": "tool_result", "tool_use_id": "u", "content": known}]}}),
    ];
    std::fs::write(&path, lines.map(|line| line.to_string()).join("\n")).expect("written");
    let secrets = Secrets::default();
    secrets.learn([known.to_owned()]);
    let conversation = read(&Shelf::of_path(&path).expect("a transcript"), &secrets).expect("reads");
    let all = serde_json::to_string(&conversation.items).expect("json");
    assert!(!all.contains(&token) && !all.contains(known) && all.contains("«redacted:"), "{all}");
    assert_eq!(conversation.items.len(), 3);
    let title = conversation.about.title.expect("a title");
    assert!(title.starts_with("about «redacted:"), "{title}");
}

#[test]
fn thousands_of_files_are_listed_look_by_look() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("sessions/2026/01/01");
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = std::fs::read(fixture("codex.jsonl")).expect("a fixture");
    let text = String::from_utf8(text).expect("text");
    for number in 0..500 {
        let id = format!("01a216c6-0000-7270-a94e-{number:012}");
        let name = format!("rollout-2026-01-01T00-00-00-{id}.jsonl");
        std::fs::write(folder.join(name), text.replace("01a216c6-2b67-7270-a94e-1f2f97568c68", &id)).expect("written");
    }
    let shelf = Shelf::new(Places { codex: Some(root.path().to_owned()), ..Places::default() });
    // The first page reads what is on it: how many others there are costs their names only.
    let page = shelf.list(&Wanted { limit: 20, ..Wanted::default() });
    assert_eq!((page.found.len(), page.more, shelf.remembered()), (20, false, 20));
    let wanted = Wanted { words: "print".to_owned(), here: None, limit: 9999 };
    let mut looks = 0;
    while shelf.list(&wanted).more {
        looks += 1;
        assert!(looks < 1000, "each look goes on where the last one ended");
    }
    assert_eq!(shelf.list(&wanted).found.len(), 500);
}

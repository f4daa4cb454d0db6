//! Bad input: each has a clear message, nothing panics, nothing is lost.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::json;

#[test]
fn broken_yaml_is_named_and_the_program_starts() {
    let home = Home::empty();
    home.config("model:\n  default: [unclosed\n");
    let done = home.run(&["config", "check"]);
    let text = format!("{}{}", out(&done), err(&done));
    assert!(text.contains("config.yaml") && !done.status.success(), "{text}");
    // The screen says so too, and goes on with the defaults.
    let term = Term::start(&home, &[]);
    term.wait("config.yaml:2:").wait("using defaults").wait("config.yaml cannot be read").wait("/reload");
    assert_eq!(term.text().matches("config.yaml:2").count(), 1, "the place is named once:\n{}", term.text());
    assert!(!term.text().contains("Welcome"), "this is no first day");
    assert_eq!(std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap(), "model:\n  default: [unclosed\n");
}

#[test]
fn unknown_keys_warn_with_the_nearest() {
    let home = Home::empty();
    home.config("modle:\n  default: x\ndisplay:\n  skinn: slate\n");
    let text = out(&home.run(&["config", "check"]));
    assert!(text.contains("modle") && text.contains("skinn"), "{text}");
    assert!(text.contains("model") && text.contains("display.skin"), "{text}");
    Term::start(&home, &[]).wait("modle").wait("skinn");
}

#[test]
fn no_model_shows_the_card_and_typing_is_kept() {
    let home = Home::empty();
    let mut term = Term::start(&home, &[]);
    term.wait("offline");
    term.send("typed before anything was set up");
    term.wait("typed before anything was set up");
}

#[test]
fn an_unreachable_server_is_named() {
    let home = Home::empty();
    home.config("model:\n  default: m\n  provider: custom\n  base_url: http://127.0.0.1:9/v1\n  api_key: k\nagent:\n  api_max_retries: 0\n");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("hello\r").wait("127.0.0.1:9");
}

#[test]
fn a_corrupt_database_is_kept_and_told() {
    let mock = Mock::start(vec![Step::Text("still works".into())]);
    let home = Home::with(&mock, "");
    let garbage = b"SQLite format 3\0this is not a database at all".repeat(100);
    std::fs::write(home.hermes().join("state.db"), &garbage).unwrap();
    let mut term = Term::start(&home, &[]);
    term.wait("state.db").wait("belongs to another program");
    term.send("hello\r").wait("still works");
    term.quit();
    assert_eq!(term.ended(), 0);
    assert_eq!(std::fs::read(home.hermes().join("state.db")).unwrap(), garbage);
    assert!(out(&home.run(&["sessions", "list", "--json"])).contains("hello"), "it was saved beside it");
}

#[test]
fn a_database_of_ours_that_was_damaged_is_kept_and_its_repair_named() {
    let mock = Mock::start(vec![Step::Text("before".into()), Step::Text("after".into())]);
    let home = Home::with(&mock, "");
    assert!(home.run(&["-p", "an early question"]).status.success());
    let file = home.hermes().join("state.db");
    let mut bytes = std::fs::read(&file).unwrap();
    // The first page says whose it is; the rest is rubbish.
    bytes.iter_mut().skip(4096).for_each(|byte| *byte = 0xa5);
    std::fs::write(&file, &bytes).unwrap();
    let mut term = Term::start(&home, &[]);
    term.wait("is damaged").wait("hermes sessions repair");
    term.send("a later question\r").wait("after");
    term.quit();
    assert_eq!(term.ended(), 0);
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "the damaged file was written to");
    assert!(out(&home.run(&["sessions", "list", "--json"])).contains("a later question"));
}

#[test]
fn another_programs_database_is_never_written_to() {
    for id in [0, 0x5eed] {
        let mock = Mock::start(vec![Step::Text("fine".into())]);
        let home = Home::with(&mock, "");
        let file = home.hermes().join("state.db");
        let foreign = rusqlite::Connection::open(&file).unwrap();
        // The tables of Python Hermes, as far as a careless reader would take them for ours; then somebody else's id.
        let tables = "CREATE TABLE schema_version(version INTEGER NOT NULL); INSERT INTO schema_version VALUES(17);
             CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT, started_at REAL); INSERT INTO sessions VALUES('theirs','cli',1.0);
             CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT);";
        foreign.execute_batch(tables).unwrap();
        foreign.execute_batch(&format!("PRAGMA application_id = {id}")).unwrap();
        drop(foreign);
        let before = std::fs::read(&file).unwrap();
        let done = home.run(&["-p", "hello"]);
        assert!(done.status.success());
        assert!(
            err(&done).contains("belongs to another program") && err(&done).contains("hermes.db"),
            "{}",
            err(&done)
        );
        assert_eq!(std::fs::read(&file).unwrap(), before);
        assert!(out(&home.run(&["sessions", "list", "--json"])).contains("hello"));
    }
}

#[test]
fn every_size_of_terminal_works() {
    let mock = Mock::start(vec![Step::Text("an answer with 日本語 and 🎉 in it".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (1, 1));
    term.drawn_after(0);
    for (cols, rows) in [(5, 2), (39, 11), (40, 12), (80, 24), (300, 100), (1, 1), (120, 40)] {
        let before = term.frames();
        term.resize(cols, rows).drawn_after(before);
        if cols >= 40 {
            term.wait("❯");
        }
    }
    term.send("hello\r").wait("日本語");
}

#[test]
fn a_huge_paste_is_instant_and_whole() {
    let mock = Mock::start(vec![]);
    let home = Home::empty();
    home.window(&mock, 2_000_000, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    let text = "a line of a large file\n".repeat(100_000);
    term.paste(&text).wait("Pasted");
    term.send(" please look\r").wait("done");
    let sent = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(sent.len() > 2_000_000 && sent.contains("please look"), "{} bytes", sent.len());
}

#[test]
fn wild_output_of_commands() {
    let command = r"printf 'bad \xff\xfe bytes\n'; printf 'progress 1\rprogress 2\rprogress 3\n'; head -c 3000000 /dev/zero | tr '\0' x; echo; echo the-end";
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])]);
    let home = Home::with(&mock, "");
    assert!(home.run(&["-p", "go"]).status.success());
    let messages = mock.requests().pop().unwrap()["messages"].clone();
    let result = messages.as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(result.contains("the-end") && result.contains("progress 3") && !result.contains("progress 2"));
    assert!(result.len() < 100_000, "{} bytes", result.len());
}

#[test]
fn what_is_no_news_is_said_once() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let env = home.hermes().join(".env");
    std::fs::write(&env, "MY_KEY=value-of-my-key\n").unwrap();
    std::fs::set_permissions(&env, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(home.hermes().join("state.db"), b"SQLite format 3\0somebody else's".repeat(100)).unwrap();
    let said = |number: usize| {
        let done = home.run(&["-p", "hello"]);
        assert!(done.status.success(), "{number}: {}", err(&done));
        err(&done)
    };
    let first = said(1);
    assert!(first.contains("chmod 600") && first.contains("state.db"), "{first}");
    assert_eq!(said(2), "", "the second run has nothing new to say");
}

#[test]
fn a_dead_server_is_not_told_in_the_same_words_at_each_try() {
    let home = Home::empty();
    home.config("model:\n  default: m\n  provider: custom\n  base_url: http://127.0.0.1:9/v1\n  api_key: k\nagent:\n  api_max_retries: 3\n");
    let said = err(&home.run(&["-p", "hello"]));
    assert_eq!(said.matches("cannot reach").count(), 2, "at the first failure and at the end:\n{said}");
    assert_eq!(said.matches("still failing").count(), 2, "{said}");
}

#[test]
fn a_wrong_key_is_told_with_the_way_to_a_right_one() {
    let refusal = r#"{"error":{"message":"no such key"}}"#;
    let mock = Mock::start(vec![Step::Error(401, refusal.into(), None)]);
    let mut home = Home::empty();
    home.set("OPENROUTER_BASE_URL", &format!("{}/v1", mock.url()));
    home.set("OPENROUTER_API_KEY", "sk-or-wrong-one");
    let said = err(&home.run(&["-p", "hello", "-m", "openrouter:m"]));
    let file = home.hermes().join(".env").display().to_string();
    for part in ["/login openrouter", "OPENROUTER_API_KEY", file.as_str()] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
}

#[test]
fn without_a_model_the_doctor_does_not_end_well() {
    let home = Home::empty();
    let done = home.run(&["doctor"]);
    assert!(out(&done).contains("fail  model"), "{}", out(&done));
    assert_eq!(done.status.code(), Some(1));
}

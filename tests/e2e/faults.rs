//! Faults of the database under the built program: locked, flipped, lost, no room. Each is said, and nothing is lost.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, Term, until};
use std::fs;
use std::path::Path;

fn finds(home: &Home, word: &str) -> bool {
    out(&home.run(&["sessions", "search", word, "--json"])).contains("session_id")
}

/// A prompt and its answer in a session.
fn said(home: &Home, prompt: &str) {
    let done = home.run(&["-p", prompt]);
    assert!(done.status.success(), "{}", err(&done));
}

fn lock(home: &Home) -> rusqlite::Connection {
    let conn = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    conn.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    conn
}

#[test]
fn a_locked_database_is_a_red_line_until_it_is_free_and_nothing_is_lost() {
    let mock = Mock::start(vec![Step::Text("answer-before".into()), Step::Text("answer-meanwhile".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("zebra\r").wait("answer-before");
    until("it is saved", || finds(&home, "zebra"));
    let held = lock(&home);
    term.send("giraffe\r").wait("answer-meanwhile");
    term.wait("✗ sessions").wait("another hermes is writing").wait("until then items go to");
    // No key puts it away.
    term.send("words").wait("words").wait("✗ sessions");
    held.execute_batch("COMMIT").unwrap();
    drop(held);
    term.gone("✗ sessions");
    until("what was said meanwhile is saved", || finds(&home, "giraffe"));
    term.send("\x15").quit();
    assert_eq!(term.ended(), 0);
}

#[test]
fn what_was_said_while_the_database_was_locked_survives_the_end_of_the_program() {
    let mock = Mock::start(vec![Step::Text("answer-before".into()), Step::Text("answer-meanwhile".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("zebra\r").wait("answer-before");
    until("it is saved", || finds(&home, "zebra"));
    let held = lock(&home);
    term.send("giraffe\r").wait("answer-meanwhile");
    term.kill();
    drop(held);
    assert!(finds(&home, "giraffe"), "the journal has it");
}

fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let pages = bytes.len() / 4096;
    for page in (4..pages).step_by(3) {
        bytes[page * 4096..page * 4096 + 2000].fill(0xa5);
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn flipped_bytes_in_the_database_are_said_and_a_repair_brings_everything_back() {
    let words = ["zebra", "giraffe", "okapi"];
    let mock = Mock::start(words.iter().map(|word| Step::Text(format!("answer-{word}"))).collect());
    let home = Home::with(&mock, "");
    words.iter().for_each(|word| said(&home, word));
    damage(&home.hermes().join("state.db"));
    let repaired = home.run(&["sessions", "repair"]);
    assert!(repaired.status.success(), "{}{}", out(&repaired), err(&repaired));
    assert!(out(&repaired).contains("state.db.before-"), "{}", out(&repaired));
    for word in words {
        assert!(finds(&home, word) && finds(&home, &format!("\"answer-{word}\"")), "{word}: {}", out(&repaired));
    }
    let again = home.run(&["sessions", "repair"]);
    assert!(out(&again).contains("is intact"), "{}", out(&again));
}

#[test]
fn a_check_after_a_kill_finds_damage_and_names_the_remedy() {
    let mock = Mock::start(vec![Step::Text("answer".into()); 40]);
    let home = Home::with(&mock, "");
    let long = "a long prompt with many words ".repeat(300);
    (0..12).for_each(|number| said(&home, &format!("zebra {number} {long}")));
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("giraffe\r").wait("answer");
    term.kill();
    // Only what a start does not read.
    let path = home.hermes().join("state.db");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 8192 * 4096;
    bytes[middle..middle + 8192].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("✗ sessions").wait("is damaged").wait("hermes sessions repair");
    term.quit();
    term.ended();
    assert!(home.run(&["sessions", "repair"]).status.success());
    assert!(finds(&home, "giraffe"));
}

#[test]
fn a_lost_database_is_said_and_made_anew_from_the_journals() {
    let mock = Mock::start(vec![Step::Text("answer-one".into()), Step::Text("answer-two".into())]);
    let home = Home::with(&mock, "");
    said(&home, "zebra");
    said(&home, "giraffe");
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(home.hermes().join(name));
    }
    let listed = home.run(&["sessions", "list"]);
    assert!(err(&listed).contains("journals of 2 sessions") && err(&listed).contains("hermes sessions repair"));
    let repaired = out(&home.run(&["sessions", "repair"]));
    assert!(repaired.contains("items from the journal"), "{repaired}");
    assert!(finds(&home, "zebra") && finds(&home, "\"answer-two\""));
    let shown = out(&home.run(&["sessions", "list"]));
    assert!(shown.contains("zebra") && shown.contains("giraffe"), "{shown}");
}

#[test]
fn a_database_that_may_not_grow_loses_nothing() {
    let mock = Mock::start(vec![Step::Text("answer-one".into()), Step::Text("answer-two".into())]);
    let home = Home::with(&mock, "");
    said(&home, "zebra");
    // As full as a disk can be for a large file, without a disk: no file may grow over 60 KB.
    let long = format!("giraffe {}", "many words of a long prompt ".repeat(4_000));
    let mut command = home.command(&[]);
    let program = command.get_program().to_owned();
    command = {
        let mut limited = std::process::Command::new("bash");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 60; exec \"$0\" -p \"$1\""]).arg(program).arg(&long);
        limited.env_clear().envs(home.environment()).current_dir(home.project()).stdin(std::process::Stdio::null());
        limited
    };
    let done = command.output().unwrap();
    assert_eq!(out(&done), "answer-two\n", "{}", err(&done));
    assert!(err(&done).contains("could not save"), "{}", err(&done));
    assert!(finds(&home, "giraffe") && finds(&home, "\"answer-two\""));
}

#[test]
fn the_home_is_counted_by_kind() {
    let mock = Mock::start(vec![Step::Text("an answer".into())]);
    let home = Home::with(&mock, "");
    said(&home, "zebra");
    let stats = out(&home.run(&["sessions", "stats"]));
    assert!(stats.contains("database") && stats.contains("journals"), "{stats}");
    let json: serde_json::Value = serde_json::from_str(&out(&home.run(&["sessions", "stats", "--json"]))).unwrap();
    assert!(json["disk"]["bytes"].as_u64().unwrap() > 0);
    let doctor = out(&home.run(&["doctor"]));
    assert!(doctor.lines().any(|line| line.contains("disk") && line.contains("journals")), "{doctor}");
}

#[test]
fn a_session_that_began_under_a_lock_is_saved_whole_once_it_is_free() {
    let mock = Mock::start(vec![Step::Text("answer-first".into()), Step::Text("answer-second".into())]);
    let home = Home::with(&mock, "");
    // The file is there before anybody locks it.
    home.run(&["sessions", "list"]);
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    let held = lock(&home);
    term.send("giraffe\r").wait("answer-first").wait("✗ sessions");
    held.execute_batch("COMMIT").unwrap();
    drop(held);
    term.gone("✗ sessions");
    term.send("okapi\r").wait("answer-second");
    until("what was said is saved", || finds(&home, "giraffe") && finds(&home, "okapi"));
    let conn = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    let about: (String, String, i64) = conn
        .query_row("SELECT cwd, model, item_count FROM sessions", [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    assert!(!about.0.is_empty() && !about.1.is_empty() && about.2 >= 4, "{about:?}");
    term.quit();
    assert_eq!(term.ended(), 0);
}

//! Several sessions in one window: one streams, one asks, one runs a server; killed, they come back.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::json;
use std::time::Duration;

/// Ctrl-X N, Ctrl-X B, Ctrl-X K.
const NEW: &str = "\x18N";
const RESTORE: &str = "\x18B";
const CLOSE: &str = "\x18K";

fn tab(number: usize) -> String {
    format!("\x1b{number}")
}

/// The title row.
fn row(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Sends three prompts in three tabs: a long answer that streams, a command that asks, a server.
fn three(term: &mut Term) {
    term.wait("❯");
    term.send("tell me a story\r").wait("w000001");
    term.send(NEW).shows("a second tab", |text| row(text).contains('2'));
    term.send("clean up\r").wait("Approve").wait("Esc: decide later");
    // It was looked at and put aside; the session goes on waiting.
    term.send("\x1b").gone("Approve");
    term.send(NEW).shows("a third tab", |text| row(text).contains('3'));
    term.send("start the server\r").wait("the server is up");
    term.shows("what the others do", |text| row(text).contains('●') && row(text).contains('?'));
}

fn mock() -> Mock {
    let long: String = (1..6000).map(|n| format!("w{n:06} ")).collect();
    Mock::start(vec![
        Step::Slow(long, Duration::from_millis(4)),
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "rm -rf build" }))]),
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "sleep 512", "background": true }))]),
        Step::Text("the server is up".into()),
    ])
}

#[test]
fn three_tabs_work_at_once_and_come_back_after_kill_nine() {
    let mock = mock();
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    three(&mut term);
    // Each tab has its own conversation and draft.
    term.send("half a thought").wait("half a thought");
    term.send(&tab(1)).wait("w000").gone("half a thought").gone("the server is up");
    // One key goes to the question, wherever it is; nothing of it has run.
    term.send("\x1bOS").wait("rm -rf build").wait("Esc: decide later");
    assert!(home.project().join("build").exists());
    term.send("\x1b").gone("Approve");
    term.send(&tab(3)).wait("half a thought").wait("the server is up");
    until("the draft is saved", || {
        std::thread::yield_now();
        std::fs::read_dir(home.hermes().join("run")).is_ok_and(|files| files.count() > 0)
    });
    term.kill();

    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("when hermes was killed");
    term.send(RESTORE).shows("all of them", |text| row(text).contains('4'));
    term.send(&tab(2)).wait("tell me a story").wait("w000001");
    term.send(&tab(3)).wait("clean up");
    term.send(&tab(4)).wait("the server is up");
    assert!(home.project().join("build").exists(), "what was asked about did not run");
    // They are sessions like any other.
    mock.push(vec![Step::Text("still here".into())]);
    term.send("\x15are you there?\r").wait("still here");
    term.quit();
}

#[test]
fn a_tab_is_closed_after_a_word_about_what_runs_in_it() {
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "sleep 513", "background": true }))]),
        Step::Text("it runs".into()),
        Step::Text("hello from the second".into()),
    ]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("start it\r").wait("it runs");
    term.send(NEW).shows("a second tab", |text| row(text).contains('2'));
    term.send("hello\r").wait("hello from the second");
    term.send(&tab(1)).wait("it runs");
    term.send(CLOSE).wait("Close this tab").wait("sleep 513");
    term.send("y\r").wait("hello from the second");
    term.shows("one tab", |text| row(text).contains("Hermes"));
    let running = || {
        let table = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
        String::from_utf8_lossy(&table.stdout).lines().any(|line| line.trim() == "sleep 513")
    };
    until("the server ended with its tab", || !running());
    term.quit();
    assert_eq!(term.ended(), 0);
    // All tabs of the last window, by name.
    let mut term = Term::sized(&home, &["-c", "--all"], (100, 30));
    term.wait("hello from the second");
    term.quit();
}

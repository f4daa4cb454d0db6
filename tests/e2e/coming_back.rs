//! What is there again after the program was killed or left, and what must not be.

use crate::harness::home::out;
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;

/// The prompts of people that reached the model, each once.
fn prompts(mock: &Mock) -> Vec<String> {
    let last = mock.requests().last().cloned().unwrap_or_default();
    let users = last["messages"].as_array().cloned().unwrap_or_default().into_iter().filter(|m| m["role"] == "user");
    users.map(|m| m["content"].as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned()).collect()
}

/// A turn that never ends by itself, with two prompts behind it.
fn two_waiting(home: &Home) -> Term {
    let mut term = Term::start(home, &[]);
    term.wait("❯");
    term.send("first\r").wait("begun");
    term.send("second one\r").wait("queued 1");
    term.send("third one\r").wait("queued 2");
    term
}

fn comes_back(home: &Home, mock: &Mock) {
    let before = mock.count();
    let mut term = Term::start(home, &["-c"]);
    term.wait("queued 2").wait("held").wait("second one");
    term.send("x").wait("❯ x");
    term.send("\x7f").gone("❯ x");
    assert_eq!(mock.count(), before, "nothing is sent by itself");
    mock.push(vec![Step::Text("one answered".into()), Step::Text("two answered".into())]);
    term.send("\r").wait("one answered").wait("two answered");
    term.gone("queued");
    let told = prompts(mock);
    assert_eq!(told[told.len() - 2..], ["second one", "third one"]);
}

#[test]
fn a_queue_survives_kill_9_in_order_and_waits_for_enter() {
    let mock = Mock::start(vec![Step::Slow(format!("begun {}", "slowly ".repeat(2000)), Duration::from_millis(20))]);
    let home = Home::with(&mock, "");
    let mut term = two_waiting(&home);
    // nothing on the screen tells when the store is done
    until("the queue is stored", || {
        let database = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
        let count = "SELECT count(*) FROM drafts WHERE place LIKE 'queue:session:%' AND text LIKE '%third one%'";
        database.query_row(count, [], |row| row.get::<_, i64>(0)).is_ok_and(|count| count == 1)
    });
    term.kill();
    comes_back(&home, &mock);
}

#[test]
fn a_queue_survives_quitting() {
    let mock = Mock::start(vec![Step::Slow(format!("begun {}", "slowly ".repeat(2000)), Duration::from_millis(20))]);
    let home = Home::with(&mock, "");
    let mut term = two_waiting(&home);
    term.signal(Signal::TERM);
    term.ended();
    comes_back(&home, &mock);
}

#[test]
fn a_cut_stream_is_one_line_that_opens() {
    let mock = Mock::start(vec![Step::Cut("half of the".into()), Step::Text(" answer".into())]);
    let home = Home::with(&mock, "agent:\n  api_max_retries: 3\n");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("hello\r").wait("connection lost, continued").wait("1 step");
    assert!(!term.text().contains("cut off in transit"), "{}", term.text());
    term.send("\x18O").wait("cut off in transit");
}

/// A call of the shell, so that its folder is there, and the one where programs ask.
fn shell() -> Vec<Step> {
    let run = |line: &str| Step::Calls(String::new(), vec![call("terminal", json!({ "command": line }))]);
    vec![run("echo shell-$((40+2))"), Step::Text("all done".into())]
}

#[test]
fn no_folder_stays_behind_after_any_end_that_can_clean_up() {
    let mock = Mock::start(shell());
    let home = Home::with(&mock, "");
    assert!(out(&home.run(&["-p", "go"])).contains("all done"));
    assert_eq!(home.leftovers(), [""; 0], "-p");
    for (name, signal) in [("SIGTERM", Some(Signal::TERM)), ("quit", None)] {
        mock.push(shell());
        let mut term = Term::start(&home, &[]);
        term.wait("❯");
        term.send("go\r").wait("all done");
        assert_eq!(home.leftovers().len(), 2, "{name}: {:?}", home.leftovers());
        match signal {
            Some(signal) => term.signal(signal),
            None => drop(term.send("\x04")),
        }
        term.ended();
        assert_eq!(home.leftovers(), [""; 0], "{name}");
    }
}

#[test]
fn the_next_start_removes_what_a_killed_one_left() {
    let mock = Mock::start(shell());
    let home = Home::with(&mock, "");
    let mut killed = Term::start(&home, &[]);
    killed.wait("❯");
    killed.send("go\r").wait("all done");
    let mut demo = Term::start(&home, &["--demo"]);
    demo.wait("❯");
    assert_eq!(home.leftovers().len(), 3, "{:?}", home.leftovers());
    killed.kill();
    demo.kill();
    std::fs::create_dir(home.tmp().join("hermes-shell-notours")).unwrap();
    let alive = Term::start(&home, &[]);
    alive.wait("❯");
    until("they are removed", || home.leftovers() == ["hermes-shell-notours"]);
}

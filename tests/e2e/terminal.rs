//! Panes, pickers and modals on the real screen.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::json;

fn ready(mock: &Mock) -> (Home, Term) {
    let home = Home::with(mock, "");
    let term = Term::start(&home, &[]);
    term.wait("❯");
    (home, term)
}

#[test]
fn the_terminal_pane_shows_a_running_command_and_takes_keys() {
    let command = "printf 'your name? '; read name; echo hello-$name";
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])]);
    let (_home, mut term) = ready(&mock);
    term.send("ask me\r").wait("needs input");
    // F9 moves the keyboard into the agent's own command.
    term.send("\x1b[20~").wait("F9 return");
    term.send("ada\r").wait("hello-ada");
    term.wait("done");
    let requests = mock.requests();
    assert!(requests.last().unwrap()["messages"].to_string().contains("hello-ada"));
}

#[test]
fn pickers_open_filter_and_close() {
    let mock = Mock::start(vec![]);
    let (home, mut term) = ready(&mock);
    term.send("\x10").wait("palette");
    term.send("skin").wait("❯ skin");
    term.send("\x1b").gone("❯ skin");
    // The skin picker previews live and saves on Enter.
    term.send("\x1b[19~").wait("poseidon");
    term.send("poseidon").wait("❯ poseidon");
    term.send("\r").gone("❯ poseidon");
    let saved = || std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap_or_default().contains("poseidon");
    crate::harness::until("the skin is saved", saved);
    term.send("\x1bOP").wait("Help").wait("Send");
}

#[test]
fn keys_typed_as_a_modal_opens_answer_nothing() {
    let mock =
        Mock::start(vec![Step::Calls(String::new(), vec![call("terminal", json!({ "command": "rm -rf build" }))])]);
    let (home, mut term) = ready(&mock);
    std::fs::create_dir(home.project().join("build")).unwrap();
    term.send("clean\r");
    // Typing goes on while the modal appears; none of it is an answer, none of it is lost.
    let mut n = 0;
    while !term.text().contains("Approve") {
        term.send("y");
        n += 1;
        std::thread::park_timeout(std::time::Duration::from_millis(20));
        assert!(n < 500);
    }
    term.send("yyy").wait("Esc: decide later");
    assert!(home.project().join("build").exists());
    // What was typed is in the composer.
    term.send("\x1b").gone("Esc: decide later").shows("all of it", |text| text.matches('y').count() >= n.min(100) + 3);
    assert!(home.project().join("build").exists());
}

#[test]
fn queue_and_history() {
    let slow = "a slow answer ".repeat(60);
    let mock =
        Mock::start(vec![Step::Slow(slow, std::time::Duration::from_millis(4)), Step::Text("second-answer".into())]);
    let (_home, mut term) = ready(&mock);
    term.send("first\r").wait("a slow answer");
    term.send("second\r").wait("queued");
    term.wait("second-answer");
    term.send("\x1b[A").wait("❯ second");
}

#[test]
fn the_demo_runs_offline() {
    let home = Home::empty();
    let mut term = Term::sized(&home, &["--demo"], (140, 45));
    term.wait("❯");
    term.send("tour\r").wait("Esc: decide later");
    term.send("y").wait("Enter confirms");
    term.send("\r").gone("Approve");
}

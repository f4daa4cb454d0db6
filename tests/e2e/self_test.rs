//! The self-test of a chosen model, behind the screen: what it shows, and what follows from it.

use crate::harness::mock::call;
use crate::harness::{Home, Hub, MODEL, Mock, Served, Step, Term, UNTESTED, has};
use serde_json::json;
use std::time::Duration;

/// Takes the server that was found on the card.
fn choose(term: &mut Term, mock: &Mock) {
    let row = format!("server on port {}", mock.url().rsplit(':').next().unwrap_or_default());
    term.wait("Without an account").gone("looking for keys");
    let chosen = |text: &str| text.lines().any(|line| line.contains("▸") && line.contains(&row));
    while !chosen(&term.text()) {
        let before = term.text();
        term.send("\x1b[B").shows("the selection moves", |text| *text != before);
    }
    term.send("\r");
}

#[test]
fn a_chosen_model_is_tested_once_and_what_it_does_is_shown() {
    let booked = call("book_room", json!({"room": "Blue", "people": 3, "screen": true}));
    // What comes at once does not show that it streams.
    let slow = Step::Slow("I am a model of a test".into(), Duration::from_millis(20));
    let steps = vec![Step::Calls(String::new(), vec![booked]), slow];
    let mock = Mock::start(steps);
    let mut home = Home::empty();
    home.set("LM_BASE_URL", &format!("{}/v1", mock.url()));
    let mut term = Term::start(&home, &[]);
    choose(&mut term, &mock);
    term.wait("mock-model: streams").wait("calls tools");
    assert_eq!(mock.count(), 2);
    let asked = mock.requests();
    assert!(asked.iter().all(|request| request["tools"][0]["function"]["name"] == "book_room"), "{asked:?}");
    // It is known from now on.
    term.send("/model custom:mock-model\r");
    mock.push(vec![Step::Text("the first answer".into())]);
    term.send("hello\r").wait("the first answer");
    assert_eq!(mock.count(), 3);
}

#[test]
fn the_self_test_says_what_mends_a_server_that_calls_no_tools() {
    let mock = Mock::start(vec![Step::Text("I can't do that".into()), Step::Text("hello".into())]);
    let mut home = Home::empty();
    home.set("LM_BASE_URL", &format!("{}/v1", mock.url()));
    let mut term = Term::start(&home, &[]);
    choose(&mut term, &mock);
    term.wait("did not call a tool").wait("models.small_profile");
    // The picker has it, too.
    term.send("/model \r").wait("no tool calls · small profile");
}

#[test]
fn what_a_test_finds_holds_from_the_next_turn_on() {
    let mock = Mock::start(vec![Step::Text("the first answer".into())]);
    let home = Home::empty();
    let model = format!("model:\n  provider: llamacpp\n  default: mock-model\n  base_url: {}/v1\n", mock.url());
    home.config(&format!("{model}{UNTESTED}"));
    let mut term = Term::start(&home, &[]);
    term.wait("mock-model");
    term.send("hello\r").wait("the first answer");
    // A test from another shell, in which it calls no tool.
    mock.push(vec![Step::Text("what tool?".into()), Step::Text("hi".into()), Step::Text("the second answer".into())]);
    assert!(home.run(&["models", "test"]).status.success());
    term.send("again\r").wait("the second answer");
    let held: Vec<bool> = mock.requests().iter().map(|request| !request["grammar"].is_null()).collect();
    assert_eq!(held, [false, false, false, true], "its calls are held by a grammar from the next turn on");
}

#[test]
fn a_model_of_this_computer_is_tested_on_its_own_server_once_it_is_here() {
    if !has("a_model_of_this_computer_is_tested_on_its_own_server_once_it_is_here", "python3") {
        return;
    }
    let hub = Hub::start(300);
    let mut home = Home::empty();
    let served = Served::in_home(&home);
    home.config(&served.config().replace("self_test: false", "self_test: true"));
    hub.offer(&mut home);
    served.behave(&json!({"able": true}));
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("Get Tiny Test").gone("looking for keys");
    // Keys that came before the card was full get nothing.
    term.send("\x1b[B\x1b[A\r").gone("Welcome");
    term.wait("Tiny Test: ").wait("calls tools");
    let asked = |line: &serde_json::Value| line["request"]["tools"][0]["function"]["name"] == "book_room";
    assert_eq!(served.heard().iter().filter(|line| asked(line)).count(), 2, "{:?}", served.heard());
    assert_eq!(served.started().len(), 1, "the first prompt finds the server loaded");
    term.send("say it is known by now\r").shows("the answer", |text| text.matches("it is known by now").count() >= 2);
    assert_eq!(served.started().len(), 1);
    // The picker has it, too, and nobody tests it again.
    term.send(&format!("/model local:{MODEL}\r/model \r")).wait("This computer");
    assert_eq!(served.heard().iter().filter(|line| asked(line)).count(), 2);
}

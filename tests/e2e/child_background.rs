//! Children that work on without the call that began them: their end comes once, whatever ended the program.

use crate::harness::home::out;
use crate::harness::mock::{call, last_result};
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};

fn calls(name: &str, args: Value) -> Step {
    Step::Calls(String::new(), vec![call(name, args)])
}

fn text(text: &str) -> Step {
    Step::Text(text.into())
}

/// A command that ends once the test says so.
fn waits(signal: &str) -> Step {
    calls("terminal", json!({ "command": format!("while [ ! -e ../{signal} ]; do sleep 0.05; done; echo heard") }))
}

fn signal(home: &Home, name: &str) {
    std::fs::write(home.project().parent().unwrap().join(name), "").unwrap();
}

/// How often the last request of a conversation holds these words.
fn told(mock: &Mock, conversation: &str, words: &str) -> usize {
    let last = mock.requests_of(conversation).pop().unwrap();
    last["messages"].to_string().matches(words).count()
}

#[test]
fn a_key_moves_a_batch_to_the_background_and_its_end_comes_as_one_message() {
    for keys in ["\x18b", "/background\r"] {
        let mock = Mock::start(vec![])
            .scene(
                "fan out",
                vec![
                    calls("delegate_task", json!({ "tasks": [{"goal": "listen well"}, {"goal": "say hello"}] })),
                    text("I go on."),
                    text("Both are back."),
                ],
            )
            .scene("listen well", vec![waits("signal"), text("Done. I heard it.")])
            .scene("say hello", vec![text("Done. Hello.")]);
        let home = Home::with(&mock, "approvals: {mode: yolo}\n");
        let mut term = Term::sized(&home, &[], (140, 40));
        term.wait("❯");
        term.send("fan out\r").wait("● child 1 listen well").wait("✓ child 2 say hello");
        term.send(keys);
        if keys.starts_with('/') {
            // The menu completes it first.
            term.wait("❯ /bg");
            term.send("\r");
        }
        term.wait("I go on.");
        let moved = last_result(mock.requests_of("fan out").last().unwrap());
        assert!(moved.contains("moved to the background by the user"), "{moved}");
        signal(&home, "signal");
        term.wait("Both are back.").wait("2 children ended: child 1 completed, child 2 completed");
        assert_eq!(mock.requests_of("fan out").len(), 3);
        for words in ["Done. I heard it.", "Done. Hello.", "2 children ended"] {
            assert_eq!(told(&mock, "fan out", words), 1, "{keys:?}: {words}");
        }
        term.quit();
    }
}

#[test]
fn a_child_in_the_background_hears_a_word_and_is_waited_for_once() {
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![
                calls("delegate_task", json!({ "goal": "listen well", "background": true })),
                calls("agents", json!({ "action": "send", "agent": "child 1", "message": "the word is blue" })),
                calls("agents", json!({ "action": "wait" })),
                text("I know the word."),
            ],
        )
        .scene("listen well", vec![waits("signal"), text("Done. It is blue.")]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    // The word is sent once it works: before, it would be refused.
    term.send("fan out\r");
    until("it waits", || mock.requests_of("fan out").len() == 3);
    let begun = last_result(&mock.requests_of("fan out")[1]);
    assert!(begun.contains("running in background"), "{begun}");
    signal(&home, "signal");
    term.wait("I know the word.");
    let word = mock.requests_of("listen well").pop().unwrap()["messages"].to_string();
    assert!(word.contains("the word is blue"), "{word}");
    assert!(last_result(mock.requests_of("fan out").last().unwrap()).contains("Done. It is blue."));
    // What the call told comes by no message: the next prompt holds it once.
    term.send("and now\r").wait("done");
    assert_eq!(told(&mock, "fan out", "Done. It is blue."), 1);
    assert_eq!(told(&mock, "fan out", "1 child ended"), 0);
    term.quit();
}

#[test]
fn where_nobody_hears_a_message_the_call_waits_for_its_children() {
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![calls("delegate_task", json!({ "goal": "say hello", "background": true })), text("I see.")],
        )
        .scene("say hello", vec![text("Done. Hello.")]);
    let home = Home::with(&mock, "");
    assert_eq!(out(&home.run(&["-p", "fan out"])), "I see.\n");
    let result = last_result(mock.requests_of("fan out").last().unwrap());
    assert!(result.contains("Done. Hello."), "{result}");
}

#[test]
fn after_kill_9_a_resumed_session_is_told_once_what_came_of_its_children() {
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![
                calls(
                    "delegate_task",
                    json!({ "tasks": [{"goal": "listen well"}, {"goal": "say hello"}], "background": true }),
                ),
                text("They work."),
            ],
        )
        .scene("listen well", vec![waits("never")])
        .scene("say hello", vec![text("Done. Hello from the child.")]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("They work.").wait("✓ child 2 say hello").wait("● child 1 listen well");
    assert_eq!(told(&mock, "fan out", "Hello from the child"), 0);
    term.kill();
    let before = mock.count();
    let mut term = Term::sized(&home, &["-c"], (140, 40));
    term.wait("2 children ended: child 1 stopped, child 2 completed");
    assert_eq!(mock.count(), before, "nothing is asked of the model by itself");
    term.send("what came of it\r").wait("done");
    let request = mock.requests_of("fan out").pop().unwrap()["messages"].to_string();
    assert_eq!(request.matches("Done. Hello from the child.").count(), 1, "{request}");
    assert!(request.contains("Hermes ended while it worked; what it did stands in session"), "{request}");
    term.quit();
    // Another start tells nothing again.
    let mut term = Term::sized(&home, &["-c"], (140, 40));
    term.wait("2 children ended").wait("what came of it");
    term.send("once more\r");
    until("it is asked", || mock.count() == before + 2);
    assert_eq!(told(&mock, "fan out", "Done. Hello from the child."), 1);
    term.quit();
}

#[test]
fn after_kill_9_a_call_that_waited_is_told_of_what_its_children_did() {
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![calls("delegate_task", json!({ "tasks": [{"goal": "listen well"}, {"goal": "say hello"}] }))],
        )
        .scene("listen well", vec![waits("never")])
        .scene("say hello", vec![text("Done. Hello from the child.")]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("✓ child 2 say hello").wait("● child 1 listen well");
    term.kill();
    let mut term = Term::sized(&home, &["-c"], (140, 40));
    term.wait("2 children ended: child 1 stopped, child 2 completed");
    term.send("what came of it\r").wait("done");
    assert_eq!(told(&mock, "fan out", "Done. Hello from the child."), 1);
    term.quit();
}

//! What ends with a child, and what it hands on; what ends with the program, killed; and how deep children go.

use super::children::running;
use crate::harness::home::{err, out};
use crate::harness::mock::{call, last_result};
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn calls(name: &str, args: Value) -> Step {
    Step::Calls(String::new(), vec![call(name, args)])
}

fn text(text: &str) -> Step {
    Step::Text(text.into())
}

/// A command line that no other test has.
fn sleep(n: u32) -> String {
    format!("sleep {n}.{}", std::process::id())
}

fn result(request: &Value) -> Value {
    let last = last_result(request);
    serde_json::from_str::<Value>(&last).unwrap_or_else(|_| panic!("{last}"))["results"][0].clone()
}

#[test]
fn processes_of_a_child_end_with_it_unless_they_are_handed_over() {
    let start = |n: u32| calls("terminal", json!({ "command": sleep(n), "background": true }));
    let hand_over = Step::Of(|request| {
        let begun: Value = serde_json::from_str(&last_result(request)).unwrap();
        calls("process", json!({ "action": "hand_over", "session_id": begun["session_id"] }))
    });
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![
                calls("delegate_task", json!({ "goal": "start both" })),
                calls("process", json!({ "action": "list" })),
                text("I have one of them."),
            ],
        )
        .scene("start both", vec![start(1300), start(1301), hand_over, text("Done. Both run.")]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("I have one of them.");
    let requests = mock.requests_of("fan out");
    let processes = result(&requests[1])["processes"].to_string();
    assert!(processes.contains(&format!("ended with it: `{}`", sleep(1300))), "{processes}");
    assert!(processes.contains("handed to you: proc_") && processes.contains(&sleep(1301)), "{processes}");
    assert_eq!((running(&sleep(1300)), running(&sleep(1301))), (0, 1));
    let list = last_result(&requests[2]);
    assert!(list.contains(&sleep(1301)) && !list.contains(&sleep(1300)), "{list}");
    term.send("\x04").wait("Still running");
    term.kill();
}

#[test]
fn kill_9_ends_busy_children_and_their_commands() {
    let line = sleep(1302);
    let busy = || vec![calls("terminal", json!({ "command": sleep(1302) })), text("never asked for")];
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![calls(
                "delegate_task",
                json!({ "tasks": [{"goal": "be one"}, {"goal": "be two"}, {"goal": "be three"}] }),
            )],
        )
        .scene("be one", busy())
        .scene("be two", busy())
        .scene("be three", busy());
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r");
    until("all three sleep", || running(&line) == 3);
    term.kill();
    let killed = Instant::now();
    until("nothing sleeps", || running(&line) == 0);
    // A second, and what a busy machine adds to it.
    assert!(killed.elapsed() < Duration::from_secs(3), "{:?}", killed.elapsed());
    assert_eq!(mock.count(), 4, "nothing was asked since");
}

#[test]
fn only_an_orchestrator_delegates_and_not_below_the_last_level() {
    let give = |goal: &str, role: &str| calls("delegate_task", json!({ "goal": goal, "role": role }));
    let mock = Mock::start(vec![])
        .scene("begin", vec![give("lead the work", "orchestrator"), text("All done.")])
        .scene("lead the work", vec![give("do a part", "orchestrator"), text("Done. Led.")])
        .scene("do a part", vec![give("do less", "leaf"), text("Done. Alone.")]);
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "begin"]);
    assert_eq!(out(&done), "All done.\n", "{}", err(&done));
    let has = |request: &Value| request["tools"].to_string().contains("\"delegate_task\"");
    assert!(has(&mock.requests_of("lead the work")[0]) && !has(&mock.requests_of("do a part")[0]));
    let refused = last_result(&mock.requests_of("do a part")[1]);
    assert!(refused.contains("delegate_task") && refused.contains("error"), "{refused}");
    assert_eq!(mock.requests_of("do less").len(), 0);
    // Each has the name of its parent before its number.
    let nested = result(&mock.requests_of("lead the work")[1]);
    assert_eq!(nested["agent"], "child 1.1");
}

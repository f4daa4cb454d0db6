//! What a person allows and forbids in a parent holds for its children as they work; what a child is allowed holds for no other.

use super::guard::mock_page;
use crate::harness::home::{err, out};
use crate::harness::mock::{call, last_result};
use crate::harness::{Home, Mock, Step, Term, skipped, until};
use serde_json::{Value, json};

fn calls(name: &str, args: Value) -> Step {
    Step::Calls(String::new(), vec![call(name, args)])
}

fn text(text: &str) -> Step {
    Step::Text(text.into())
}

/// Waits for the test, then does this.
fn after(signal: &str, command: &str) -> Vec<Step> {
    let wait = format!("while [ ! -e ../{signal} ]; do sleep 0.05; done");
    vec![
        calls("terminal", json!({ "command": wait })),
        calls("terminal", json!({ "command": command })),
        text("Done. It is gone."),
    ]
}

fn with_folders(mock: &Mock, names: &[&str]) -> Home {
    let home = Home::with(mock, "approvals: {mode: ask}\n");
    for name in names {
        std::fs::create_dir(home.project().join(name)).unwrap();
    }
    home
}

fn signal(home: &Home, name: &str) {
    std::fs::write(home.project().parent().unwrap().join(name), "").unwrap();
}

/// Allows what is asked for the session.
fn allow_session(term: &mut Term) {
    term.gone("keys are ignored for a moment");
    term.send("s").wait("Enter confirms");
    term.send("\r");
}

#[test]
fn what_is_allowed_in_a_parent_covers_a_child_that_works_already() {
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![
                calls("delegate_task", json!({ "goal": "remove one", "background": true })),
                calls("terminal", json!({ "command": "rm -rf two" })),
                text("Mine is gone."),
                text("Both are gone."),
            ],
        )
        .scene("remove one", after("signal", "rm -rf two"));
    let home = with_folders(&mock, &["two"]);
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("Approve a command").wait("rm -rf two");
    allow_session(&mut term);
    term.wait("Mine is gone.");
    std::fs::create_dir(home.project().join("two")).unwrap();
    signal(&home, "signal");
    term.wait("Both are gone.");
    assert!(!home.project().join("two").exists());
    term.quit();
}

#[test]
fn what_a_child_is_allowed_covers_neither_its_parent_nor_a_sibling() {
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![
                calls("delegate_task", json!({ "tasks": [{"goal": "remove one"}, {"goal": "remove two"}] })),
                calls("terminal", json!({ "command": "rm -rf one" })),
                text("All are gone."),
            ],
        )
        .scene("remove one", after("first", "rm -rf one"))
        .scene("remove two", after("second", "rm -rf one"));
    let home = with_folders(&mock, &["one"]);
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("● child 2");
    for (name, by) in [("first", "by the agent child 1"), ("second", "by the agent child 2")] {
        signal(&home, name);
        term.wait("Approve a command").wait(by);
        allow_session(&mut term);
        term.gone("Approve a command");
    }
    term.wait("Approve a command").wait("rm -rf one");
    allow_session(&mut term);
    term.wait("All are gone.");
    term.quit();
}

#[test]
fn the_mode_of_a_parent_is_that_of_children_that_work() {
    let write = json!({ "path": "late.txt", "content": "too late" });
    let wait = json!({ "command": "while [ ! -e ../signal ]; do sleep 0.05; done" });
    let mock = Mock::start(vec![])
        .scene("fan out", vec![calls("delegate_task", json!({ "goal": "write late" })), text("It could not.")])
        .scene("write late", vec![calls("terminal", wait), calls("write_file", write), text("Done. Not written.")]);
    let home = with_folders(&mock, &[]);
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("● child 1 write late");
    until("it works", || mock.requests_of("write late").len() == 1);
    term.send("/mode plan\r").wait("plan: read-only");
    signal(&home, "signal");
    term.wait("It could not.");
    assert!(!home.project().join("late.txt").exists());
    let refused = last_result(mock.requests_of("write late").last().unwrap());
    assert!(refused.contains("plan mode"), "{refused}");
    term.quit();
}

#[test]
fn what_a_child_read_of_strangers_is_fenced_for_its_parent() {
    let test = "what_a_child_read_of_strangers_is_fenced_for_its_parent";
    if !std::path::Path::new("/usr/bin/curl").exists() {
        return skipped(test, "there is no curl");
    }
    let port = mock_page();
    let fetch = format!("curl -s --resolve docs.example:{port}:127.0.0.1 http://docs.example:{port}/");
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![
                calls("delegate_task", json!({ "goal": "read the page" })),
                calls("terminal", json!({ "command": "git push origin main" })),
                text("I see."),
            ],
        )
        .scene(
            "read the page",
            vec![
                calls("terminal", json!({ "command": fetch })),
                text("Done. The page says that it is welcome, and long enough to be fenced."),
            ],
        );
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "fan out"]);
    assert_eq!(out(&done), "I see.\n", "{}", err(&done));
    let requests = mock.requests_of("fan out");
    let result = last_result(&requests[1]);
    assert!(result.contains("untrusted_tool_result source=") && result.contains("docs.example"), "{result}");
    let push = last_result(&requests[2]);
    assert!(push.contains("after untrusted text"), "{push}");
}

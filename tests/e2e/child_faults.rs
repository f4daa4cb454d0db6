//! Children that go wrong: each gives its parent a clear result, and leaves nothing behind.

use super::children::running;
use crate::harness::home::{err, out};
use crate::harness::mock::{call, last_result};
use crate::harness::{Home, Mock, Sshd, Step, skipped, until};
use serde_json::{Value, json};

fn calls(name: &str, args: Value) -> Step {
    Step::Calls(String::new(), vec![call(name, args)])
}

fn text(text: impl Into<String>) -> Step {
    Step::Text(text.into())
}

/// What a parent gets of a child that does this.
fn of(child: Vec<Step>, args: Value) -> (Value, Mock) {
    let mut give = args;
    give["goal"] = "go wrong".into();
    let mock = Mock::start(vec![])
        .scene("fan out", vec![calls("delegate_task", give), text("I see.")])
        .scene("go wrong", child);
    let home = Home::with(&mock, "approvals: {mode: yolo}\nagent: {api_max_retries: 0}\n");
    let done = home.run(&["-p", "fan out"]);
    assert_eq!(out(&done), "I see.\n", "{}", err(&done));
    let last = last_result(mock.requests_of("fan out").last().unwrap());
    let result = serde_json::from_str::<Value>(&last).unwrap_or_else(|_| panic!("{last}"))["results"][0].clone();
    (result, mock)
}

#[test]
fn a_child_that_hangs_ends_with_its_time() {
    let line = format!("sleep 1400.{}", std::process::id());
    for child in [vec![Step::Hang], vec![calls("terminal", json!({ "command": line }))]] {
        let (result, _) = of(child, json!({ "timeout_seconds": 2 }));
        assert_eq!(result["error"], "it took longer than 2 s and was stopped");
        until("nothing of it runs", || running(&line) == 0);
    }
}

#[test]
fn a_child_that_floods_fills_neither_its_window_nor_its_parent() {
    let noise = calls("terminal", json!({ "command": "head -c 30000000 /dev/zero | tr '\\0' x" }));
    let (result, mock) = of(vec![noise, text("word ".repeat(100_000))], json!({}));
    let summary = result["summary"].as_str().unwrap();
    assert!(
        summary.len() < 30_000 && summary.contains("characters left out; all of it: read_file"),
        "{}",
        summary.len()
    );
    let flood = last_result(&mock.requests_of("go wrong")[1]);
    assert!(flood.len() < 200_000, "{}", flood.len());
}

#[test]
fn a_child_whose_model_fails_or_says_nothing_is_told_as_failed() {
    let (result, _) = of(vec![Step::Error(401, "no such key".into(), None)], json!({}));
    assert!(result["status"].as_str().unwrap().starts_with("failed in "), "{result}");
    assert!(result["error"].as_str().unwrap().contains("no such key"), "{result}");
    let (result, _) = of(vec![text(""), text(""), text("")], json!({}));
    assert!(result["error"].as_str().unwrap().contains("empty answers"), "{result}");
}

#[test]
fn a_child_whose_command_is_killed_hears_of_it_and_goes_on() {
    let (result, mock) =
        of(vec![calls("terminal", json!({ "command": "kill -9 $$" })), text("Done. It was killed.")], json!({}));
    assert_eq!(result["summary"], "Done. It was killed.");
    let killed = last_result(&mock.requests_of("go wrong")[1]);
    assert!(killed.contains("137") || killed.contains("SIGKILL"), "{killed}");
}

#[test]
fn a_child_that_loses_its_backend_hears_of_it_and_its_parent_gets_a_result() {
    let test = "a_child_that_loses_its_backend_hears_of_it_and_its_parent_gets_a_result";
    let Ok(sshd) = Sshd::start().map_err(|why| skipped(test, &why)) else { return };
    let mock = Mock::start(vec![])
        .scene("fan out", vec![calls("delegate_task", json!({ "goal": "go wrong" })), text("I see.")])
        .scene(
            "go wrong",
            vec![
                calls("terminal", json!({ "command": "touch running; sleep 600" })),
                text("Done. The machine is gone."),
            ],
        );
    let words = sshd.client_config().display().to_string();
    let ssh = format!("terminal:\n  backend: ssh\n  ssh_host: there\n  ssh_extra_args: [-F, {words}]\n");
    let home = Home::with(&mock, &format!("approvals: {{mode: yolo}}\n{ssh}"));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            until("the command runs", || sshd.home().join("running").exists());
            sshd.cut();
        });
        home.run(&["-p", "fan out"])
    });
    assert_eq!(out(&done), "I see.\n", "{}", err(&done));
    let lost = last_result(&mock.requests_of("go wrong")[1]);
    assert!(lost.contains("ssh there") && lost.contains("error"), "{lost}");
    assert!(last_result(mock.requests_of("fan out").last().unwrap()).contains("The machine is gone."));
}

#[test]
fn a_child_that_gives_its_goal_to_itself_is_refused() {
    let again = calls("delegate_task", json!({ "goal": "go wrong" }));
    let (result, mock) = of(vec![again, text("Done. I did it myself.")], json!({}));
    assert_eq!(result["summary"], "Done. I did it myself.");
    assert_eq!(mock.requests_of("go wrong").len(), 2);
    let refused = last_result(&mock.requests_of("go wrong")[1]);
    assert!(refused.contains("error"), "{refused}");
}

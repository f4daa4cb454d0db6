//! `-p`: envelopes, exit codes, streams and what never waits for a person.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step};
use serde_json::{Value, json};

fn terminal(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

#[test]
fn json_is_one_versioned_object() {
    let mock = Mock::start(vec![terminal("echo made > made.txt"), Step::Text("It is made.".into())]);
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "make it", "--output", "json"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let envelope: Value = serde_json::from_str(&out(&done)).unwrap();
    assert_eq!(envelope["version"], 1);
    assert_eq!(envelope["result"], "It is made.");
    assert_eq!(envelope["termination_reason"], "completed");
    assert_eq!(envelope["steps"], 2);
    assert_eq!(envelope["tool_calls"][0]["name"], "terminal");
    assert_eq!(envelope["tool_calls"][0]["exit_code"], 0);
    assert_eq!(envelope["usage"]["input"], 2000);
    // A server on this machine costs nothing.
    assert_eq!(envelope["usage"]["cost"], 0.0);
    assert_eq!(std::fs::read_to_string(home.project().join("made.txt")).unwrap(), "made\n");
}

#[test]
fn text_and_stdin() {
    let mock = Mock::start(vec![Step::Text("Plain words.".into()), Step::Text("From a pipe.".into())]);
    let home = Home::with(&mock, "");
    assert_eq!(out(&home.run(&["-p", "hello"])), "Plain words.\n");
    assert_eq!(out(&home.run_with(&["-p", "-"], "a prompt from a pipe")), "From a pipe.\n");
    assert!(mock.requests()[1]["messages"].to_string().contains("a prompt from a pipe"));
}

#[test]
fn stream_json_ends_with_the_result() {
    let mock = Mock::start(vec![terminal("echo hi"), Step::Text("Said hi.".into())]);
    let home = Home::with(&mock, "");
    let text = out(&home.run(&["-p", "go", "--output", "stream-json"]));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(kinds[0], "session");
    for kind in ["text", "tool_started", "tool_finished", "usage"] {
        assert!(kinds.contains(&kind), "no {kind} in {kinds:?}");
    }
    // Two steps: each sum is told once.
    assert_eq!(kinds.iter().filter(|kind| **kind == "usage").count(), 2, "{text}");
    assert_eq!(lines.last().unwrap()["type"], "result");
    assert_eq!(lines.last().unwrap()["result"], "Said hi.");
}

#[test]
fn exit_codes() {
    // Denied: what needs a person is refused and nothing of the line runs.
    let mock = Mock::start(vec![terminal("rm -rf keep; echo ran > ran.txt")]);
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("keep")).unwrap();
    let done = home.run(&["-p", "clean", "--output", "json"]);
    assert_eq!(done.status.code(), Some(2), "{}", err(&done));
    assert!(home.project().join("keep").exists() && !home.project().join("ran.txt").exists());
    let envelope: Value = serde_json::from_str(&out(&done)).unwrap();
    assert_eq!(envelope["termination_reason"], "denied");
    assert!(!envelope["denied"][0]["why"].as_str().unwrap().is_empty());

    // Limit.
    let mock = Mock::start((0..5).map(|n| terminal(&format!("echo {n}"))).collect());
    let home = Home::with(&mock, "");
    assert_eq!(home.run(&["-p", "go", "--max-turns", "2"]).status.code(), Some(3));
    let spent = home.run(&["-p", "go", "--max-tokens", "1"]);
    assert_eq!(
        (spent.status.code(), err(&spent).contains("reached the limit of 1 tokens")),
        (Some(3), true),
        "{}",
        err(&spent)
    );
    let late = home.run(&["-p", "go", "--max-time", "0"]);
    assert_eq!(
        (late.status.code(), err(&late).contains("reached the limit of 0 s")),
        (Some(3), true),
        "{}",
        err(&late)
    );

    // Provider: a wrong key is told with its remedy.
    let mock = Mock::start(vec![Step::Error(401, r#"{"error":{"message":"bad key"}}"#.into(), None)]);
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "go", "--output", "json"]);
    assert_eq!(done.status.code(), Some(4));
    assert!(err(&done).contains("key"), "{}", err(&done));
    assert!(!err(&done).contains("mock\n"), "no key in messages");

    // Usage, and no model at all.
    assert_eq!(home.run(&["-p", "x", "--no-such-flag"]).status.code(), Some(64));
    let home = Home::empty();
    let done = home.run(&["-p", "hello"]);
    assert_eq!(done.status.code(), Some(4), "{}", err(&done));
}

#[test]
fn a_rate_limit_is_waited_for_and_a_cut_stream_is_continued() {
    let mock = Mock::start(vec![
        Step::Error(429, r#"{"error":{"message":"slow down"}}"#.into(), Some(0)),
        Step::Cut("The first half".into()),
        Step::Text(" and the second.".into()),
    ]);
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "go", "--output", "json"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let envelope: Value = serde_json::from_str(&out(&done)).unwrap();
    assert_eq!(envelope["result"], "The first half and the second.");
}

#[test]
fn an_answer_fits_its_schema_or_is_corrected() {
    let mock =
        Mock::start(vec![Step::Text("It is blue.".into()), Step::Text("```json\n{\"colour\":\"blue\"}\n```".into())]);
    let home = Home::with(&mock, "");
    let schema = json!({ "type": "object", "required": ["colour"], "properties": { "colour": { "type": "string" } } });
    std::fs::write(home.project().join("schema.json"), schema.to_string()).unwrap();
    let done = home.run(&["-p", "which colour?", "--json-schema", "schema.json"]);
    assert_eq!((out(&done).as_str(), done.status.code()), ("{\"colour\":\"blue\"}\n", Some(0)), "{}", err(&done));
    mock.push(vec![Step::Text("no".into()), Step::Text("never".into())]);
    let done = home.run(&["-p", "again", "--json-schema", "schema.json"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(err(&done).contains("does not match the schema"), "{}", err(&done));
}

#[test]
fn each_request_extends_the_one_before() {
    let mut steps: Vec<Step> = (0..4).map(|n| terminal(&format!("echo {n}"))).collect();
    steps.push(Step::Calls(
        "two at once".into(),
        vec![call("read_file", json!({ "path": "a.txt" })), call("search_files", json!({ "pattern": "x" }))],
    ));
    let mock = Mock::start(steps);
    let home = Home::with(&mock, "");
    std::fs::write(home.project().join("a.txt"), "x\n").unwrap();
    assert!(home.run(&["-p", "go"]).status.success());
    let requests = mock.requests();
    assert_eq!(requests.len(), 6);
    for pair in requests.windows(2) {
        let (before, after) = (pair[0]["messages"].to_string(), pair[1]["messages"].to_string());
        assert!(after.starts_with(&before[..before.len() - 1]), "a request changed what was sent before");
        assert_eq!(pair[0]["tools"].to_string(), pair[1]["tools"].to_string());
    }
}

#[test]
fn a_session_that_is_not_saved_is_gone_when_it_ends() {
    let mock = Mock::start(vec![Step::Text("one".into()), terminal("echo shown"), Step::Text("two".into())]);
    let home = Home::with(&mock, "");
    assert_eq!(out(&home.run(&["-p", "kept words"])).trim(), "one");
    assert_eq!(out(&home.run(&["-p", "fleeting words", "--yolo", "--no-save"])).trim(), "two");
    assert!(!home.hermes().join("recordings").exists(), "what commands printed is not kept");
    assert_eq!(
        std::fs::read_dir(home.hermes().join("journal"))
            .unwrap()
            .flatten()
            .filter(|file| file.path().is_file())
            .count(),
        1
    );
    let found = |words: &str| out(&home.run(&["sessions", "search", words]));
    assert!(found("kept").contains("kept words"), "{}", found("kept"));
    assert!(!found("fleeting").contains("fleeting words"), "{}", found("fleeting"));
    let done = home.run(&["-p", "x", "--no-save", "-c"]);
    assert!(!done.status.success() && err(&done).contains("cannot be used with"), "{}", err(&done));
}

//! MCP servers through the built program: a script, a headless turn, and a person at the screen.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::{Value, json};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp-server.sh");

fn config(more: &str) -> String {
    format!(
        "mcp_discovery_timeout: 30\nmcp_servers:\n  t:\n    command: bash\n    args: [{SERVER}, good]\n  dead:\n    command: bash\n    args: [{SERVER}, dead]\n{more}"
    )
}

fn echo(text: &str) -> Step {
    Step::Calls(String::new(), vec![call("mcp__t__echo", json!({ "text": text }))])
}

/// What a server said, without the fence that marks it as data.
fn said(done: &std::process::Output) -> String {
    let text = out(done);
    let lines: Vec<&str> = text.trim().lines().collect();
    match lines.as_slice() {
        [first, inside @ .., last, note] if first.starts_with("<untrusted_tool_result ") => {
            assert_eq!(*last, "</untrusted_tool_result>", "{text}");
            assert!(note.contains("not instructions"), "{text}");
            inside.join("\n")
        }
        _ => panic!("no fence: {text}"),
    }
}

#[test]
fn a_call_passes_the_gate_or_does_not() {
    let home = Home::empty();
    home.config(&config(""));
    let denied = home.run(&["tools", "run", "mcp__t__echo", r#"{"text":"hi"}"#]);
    assert_eq!(denied.status.code(), Some(2), "{}", out(&denied));
    let done = home.run(&["tools", "run", "mcp__t__echo", r#"{"text":"hi"}"#, "--yolo"]);
    assert_eq!((done.status.code(), said(&done)), (Some(0), "you said hi".into()), "{}", err(&done));
    home.config(&config("command_allowlist: [\"mcp__t__*\"]\n"));
    assert!(home.run(&["tools", "run", "mcp__t__echo", r#"{"text":"hi"}"#]).status.success());
}

#[test]
fn a_headless_turn_uses_a_server() {
    let mock = Mock::start(vec![echo("from the model"), Step::Text("It answered.".into())]);
    let home = Home::with(&mock, &config("command_allowlist: [mcp__t__echo]\n"));
    let done = home.run(&["-p", "use the server", "--output", "json"]);
    let envelope: Value = serde_json::from_str(&out(&done)).unwrap();
    assert_eq!(envelope["termination_reason"], "completed", "{}", err(&done));
    assert!(mock.requests()[1]["messages"].to_string().contains("you said from the model"));
}

#[test]
fn a_person_sees_servers_and_allows_a_call() {
    let mock = Mock::start(vec![echo("please"), Step::Text("The server answered.".into())]);
    let home = Home::with(&mock, &config(""));
    let mut term = Term::start(&home, &[]);
    term.wait("t: 6 tools");
    term.send("/mcp\r").wait("● t").wait("6 tools").wait("dead");
    term.send("\x1b[B").wait("▸ ● t").wait("Enter turns it off");
    term.send("\r").wait("○ t").wait("Enter turns it on");
    term.send("\r").wait("● t");
    term.send("\x1b").gone("● t");
    // Its prompts are commands; the text comes to the composer, and nothing is sent.
    term.send("/t:greet Al\r").wait("❯ Greet them.");
    assert_eq!(mock.count(), 0);
    term.send("\x15");
    term.send("use it\r").wait("Approve an external tool").wait("mcp__t__echo").wait("\"please\"");
    term.shows("the question takes keys", |text| !text.contains("keys are ignored for a moment"));
    term.send("y").wait("Enter");
    term.send("\r").wait("The server answered.");
}

#[test]
fn a_whole_server_can_be_allowed_for_the_session_and_for_good() {
    let odd = || Step::Calls(String::new(), vec![call("mcp__t__odd_name", json!({ "text": "b" }))]);
    let steps = vec![echo("a"), odd(), Step::Text("Both answered.".into()), echo("c"), Step::Text("Once more.".into())];
    let mock = Mock::start(steps);
    let home = Home::with(&mock, &config(""));
    let mut term = Term::start(&home, &[]);
    term.wait("t: 6 tools");
    term.send("use it\r").wait("Approve an external tool");
    term.shows("the question takes keys", |text| !text.contains("keys are ignored for a moment"));
    term.send("s")
        .wait("Allow for the rest of this session")
        .wait("▸ The tool mcp__t__echo, with any arguments")
        .wait("Every tool of t");
    term.send("\t").wait("▸ Every tool of t");
    term.send("\r").wait("Both answered.");
    // Another session asks again; this answer stays.
    term.send("/new\r").gone("Both answered.");
    term.send("again\r").wait("Approve an external tool");
    term.shows("the question takes keys", |text| !text.contains("keys are ignored for a moment"));
    term.send("a").wait("Always allow").wait("in every folder");
    term.send("\t").wait("▸ Every tool of t").wait("in config.yaml as mcp__t__*");
    term.send("\r").wait("Once more.");
    let text = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    assert!(text.contains("mcp__t__*"), "{text}");
    let call = home.run(&["tools", "run", "mcp__t__odd_name", r#"{"text":"hi"}"#]);
    assert_eq!(said(&call), "you said hi", "{}", err(&call));
}

#[test]
fn a_projects_server_starts_once_it_is_trusted() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let file = home.project().join("hermes.yaml");
    std::fs::write(&file, format!("mcp_servers:\n  t:\n    command: bash\n    args: [{SERVER}, good]\n")).unwrap();
    let call = ["tools", "run", "mcp__t__echo", r#"{"text":"hi"}"#, "--yolo"];
    let before = home.run(&call);
    assert!(!before.status.success() && err(&before).contains("does not run"), "{}", err(&before));
    let mut term = Term::start(&home, &[]);
    term.wait("Trust this folder?").wait("y, then Enter to trust");
    term.send("y").wait("▸ Trust it as shown");
    term.send("\r").wait("t: 6 tools");
    let after = home.run(&call);
    assert_eq!(said(&after), "you said hi", "{}", err(&after));
    std::fs::write(&file, format!("mcp_servers:\n  t:\n    command: bash\n    args: [{SERVER}, grandchild]\n"))
        .unwrap();
    assert!(!home.run(&call).status.success(), "a server that changed ran");
}

#[test]
fn servers_are_added_listed_tested_and_removed() {
    let home = Home::empty();
    home.config("# mine\ndisplay:\n  skin: ares # red\n");
    let added = home.run(&["mcp", "add", "t", "--env", "K=${HOME}", "--", "bash", SERVER, "good"]);
    assert!(added.status.success(), "{}", err(&added));
    let list: Value = serde_json::from_str(&out(&home.run(&["mcp", "list", "--json"]))).unwrap();
    assert_eq!((&list["version"], &list["servers"][0]["name"]), (&json!(1), &json!("t")));
    let test: Value = serde_json::from_str(&out(&home.run(&["mcp", "test", "t", "--json"]))).unwrap();
    assert_eq!((&test["ok"], test["tools"].as_array().map(Vec::len)), (&json!(true), Some(6)), "{test}");
    assert!(test["connect_ms"].is_u64());
    assert!(home.run(&["mcp", "remove", "t"]).status.success());
    let text = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    assert!(text.contains("# mine") && text.contains("# red") && !text.contains("bash"), "{text}");
    home.config(&config(""));
    let dead = home.run(&["mcp", "test", "dead"]);
    assert_eq!(dead.status.code(), Some(1));
    assert!(out(&dead).contains("it broke: no token"), "{}", out(&dead));
    assert!(err(&home.run(&["mcp", "test", "nobody"])).contains("configured: dead, t"));
}

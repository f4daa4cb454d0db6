//! What the model gets back: long output within its bound, calls of other agents' tools, and a window that is never overfilled.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::{Value, json};

fn calls(name: &str, args: Value) -> Step {
    Step::Calls(String::new(), vec![call(name, args)])
}

/// The results of tools in the newest request.
fn results(mock: &Mock) -> Vec<String> {
    let requests = mock.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    messages.iter().filter(|m| m["role"] == "tool").map(|m| m["content"].as_str().unwrap().to_owned()).collect()
}

fn last(mock: &Mock) -> Value {
    serde_json::from_str(results(mock).last().unwrap()).unwrap()
}

/// Bytes by which the newest request is longer than the one before.
fn grown(mock: &Mock) -> usize {
    let sizes: Vec<usize> = mock.requests().iter().map(|request| request.to_string().len()).collect();
    sizes[sizes.len() - 1] - sizes[sizes.len() - 2]
}

#[test]
fn long_output_is_bounded_and_all_of_it_can_be_read() {
    let mock = Mock::start(vec![calls("terminal", json!({"command": "seq 1 100000"}))]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("count\r").wait("done");
    assert!(grown(&mock) < 12_000, "{} bytes fed back", grown(&mock));
    let output = last(&mock)["output"].as_str().unwrap().to_owned();
    assert!(output.starts_with("1\n2\n3\n") && output.ends_with("99999\n100000"), "{output}");
    // The words name a file that the gate lets the model read, with the lines that are missing.
    let path = output.split_once("read_file ").unwrap().1.split(" (").next().unwrap().to_owned();
    mock.push(vec![
        calls("read_file", json!({"path": path, "offset": 50_000, "limit": 2})),
        Step::Text("Read.".into()),
    ]);
    term.send("go on\r").wait("Read.");
    assert_eq!(last(&mock)["content"], "50000|50000\n50001|50001");
}

#[test]
fn one_error_in_the_middle_of_a_build_is_in_the_result() {
    let log = "seq 1 5000 | sed -e 's/^[0-9]*$/step & of the build wrote a file/' -e '2500s/.*/ERROR: linker failed/'";
    let mock = Mock::start(vec![calls("terminal", json!({"command": log}))]);
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "build"]);
    assert!(done.status.success(), "{}", err(&done));
    let output = last(&mock)["output"].as_str().unwrap().to_owned();
    assert!(output.contains("\n2500: ERROR: linker failed\n"), "{output}");
    assert!(grown(&mock) < 20_000, "{}", grown(&mock));
    // A setting by tool, one by window.
    for (more, most) in [
        ("tool_output:\n  tools: {terminal: 600}\n", 3_500),
        ("tool_output:\n  windows: {100000: 600, 300000: 9000}\n", 3_500),
    ] {
        let mock = Mock::start(vec![calls("terminal", json!({"command": log}))]);
        let home = Home::with(&mock, more);
        assert!(home.run(&["-p", "build"]).status.success());
        assert!(grown(&mock) < most && results(&mock)[0].contains("2500: ERROR"), "{more}: {}", grown(&mock));
    }
}

#[test]
fn other_agents_tools_become_ours_and_pass_the_same_gate() {
    let steps = vec![
        calls("Bash", json!({"command": "echo $((40+2)) > made.txt", "description": "Make it"})),
        calls("Read", json!({"file_path": "made.txt"})),
        calls("Edit", json!({"file_path": "made.txt", "old_string": "42", "new_string": "43"})),
        calls("MultiEdit", json!({"file_path": "made.txt", "edits": []})),
        calls("shell", json!({"command": ["bash", "-lc", "rm -rf ~/precious"]})),
    ];
    let mock = Mock::start(steps);
    let home = Home::with(&mock, "");
    std::fs::create_dir_all(home.user().join("precious")).unwrap();
    let done = home.run(&["-p", "go", "--output", "json"]);
    let told: Value = serde_json::from_str(&out(&done)).unwrap();
    assert_eq!(std::fs::read_to_string(home.project().join("made.txt")).unwrap(), "43\n", "{told}");
    let results = results(&mock);
    assert!(results[1].contains("1|42"), "{}", results[1]);
    assert!(results[3].contains("use `patch`") && results[3].contains("old_string"), "{}", results[3]);
    assert!(results[4].contains("blocked") && home.user().join("precious").is_dir(), "{}", results[4]);
    // The model reads its calls as ours.
    let request = mock.requests().last().unwrap().to_string();
    assert!(request.contains("\"name\":\"terminal\"") && !request.contains("\"name\":\"Bash\""), "{request}");
}

/// A window of 12,000 tokens: a prompt that cannot fit is not sent, many that fill it are compacted, and the session goes on.
#[test]
fn a_small_window_is_never_overfilled() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let text = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    home.config(&text.replace("context_length: 200000", "context_length: 12000"));
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    // One prompt that is larger than the window.
    term.paste(&"many words of one prompt\n".repeat(2_500)).send("\r").wait("not sent: the request needs about");
    term.wait("/new");
    assert_eq!(mock.count(), 0);
    // It is back in the composer, to be shortened.
    term.wait("[Pasted text");
    term.send("\x15/new\r").gone("not sent:");
    term.send("hello\r").wait("done");
    // Many that fill it: what is old becomes a summary, and all of them are sent.
    let part = "words that fill the window of this model ".repeat(100);
    for _ in 0..20 {
        term.shows("idle", |text| !text.contains("to stop"));
        let before = mock.count();
        term.paste(&part).send("\r");
        term.shows("sent", |_| mock.count() > before);
    }
    term.shows("idle", |text| !text.contains("to stop"));
    assert!(!term.text().contains("not sent:"), "{}", term.text());
    assert!(mock.requests().iter().any(|request| request["messages"].to_string().contains("<entries>")));
    // No request was larger than the window, by any measure of ours.
    for request in mock.requests() {
        let parts = request["messages"].to_string().len() + request["tools"].to_string().len();
        assert!(parts / 4 < 14_000, "{parts}");
    }
}

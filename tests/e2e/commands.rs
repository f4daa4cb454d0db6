//! The other commands.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, Term};
use serde_json::Value;

#[test]
fn sessions_go_out_and_come_back() {
    let mock = Mock::start(vec![Step::Text("The answer is a zebra.".into())]);
    let home = Home::with(&mock, "");
    assert!(home.run(&["-p", "which animal?"]).status.success());
    let hits: Value = serde_json::from_str(&out(&home.run(&["sessions", "search", "zebra", "--json"]))).unwrap();
    let id = hits[0]["session_id"].as_str().unwrap().to_owned();
    let exported = out(&home.run(&["sessions", "export", &id, "--format", "jsonl"]));
    assert!(exported.contains("which animal?") && exported.contains("zebra"));
    let other = Home::with(&mock, "");
    std::fs::write(other.project().join("one.jsonl"), &exported).unwrap();
    let done = other.run(&["sessions", "import", "one.jsonl"]);
    assert!(done.status.success(), "{}", err(&done));
    assert_eq!(out(&other.run(&["sessions", "export", &id, "--format", "jsonl"])), exported);
}

#[test]
fn tools_run_through_the_gate() {
    let home = Home::empty();
    std::fs::write(home.project().join("a.txt"), "one\n").unwrap();
    let done = home.run(&["tools", "run", "read_file", r#"{"path":"a.txt"}"#]);
    assert!(done.status.success() && out(&done).contains("1|one"), "{}", out(&done));
    assert_eq!(home.run(&["tools", "run", "read_file", r#"{"path":"none.txt"}"#]).status.code(), Some(1));
    assert_eq!(home.run(&["tools", "run", "terminal", r#"{"command":"rm -rf x"}"#]).status.code(), Some(2));
    let refused = home.run(&["tools", "run", "terminal", r#"{"command":"mkfs.ext4 /dev/hermes-none"}"#, "--yolo"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(out(&home.run(&["tools", "list", "--json"])).contains("search_files"));
    assert!(out(&home.run(&["tools", "schema", "terminal"])).contains("workdir"));
}

#[test]
fn tools_are_listed_with_what_keeps_them_away() {
    let home = Home::empty();
    home.config("toolsets: [file, mine, flie]\ncustom_toolsets:\n  mine: [todo]\n");
    let listed: Value = serde_json::from_str(&out(&home.run(&["tools", "list", "--json"]))).unwrap();
    let tool = |name: &str| listed["tools"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    for (name, enabled) in [("read_file", true), ("todo", true), ("terminal", false)] {
        assert_eq!(tool(name)["enabled"], enabled, "{name}");
        assert_eq!(tool(name)["available"], true, "{name}");
    }
    assert!(listed["toolsets"].as_array().unwrap().iter().any(|set| set["name"] == "file" && set["tools"] == 4));
    assert!(listed["warnings"].to_string().contains("did you mean `file`"), "{listed}");
    let text = out(&home.run(&["tools", "list"]));
    assert!(text.contains("\nfile\n") && text.contains("in full") && text.contains("off"), "{text}");
    let todo = home.run(&["tools", "run", "todo", "{}"]);
    assert_eq!(todo.status.code(), Some(1));
    assert!(out(&todo).contains(r#"{"error":"Error executing todo: its state belongs to the agent"#), "{}", out(&todo));
    assert!(out(&home.run(&["doctor"])).contains("did you mean `file`"));
}

#[test]
fn the_judge_answers_in_order() {
    let home = Home::empty();
    let lines =
        "{\"command\":\"ls\"}\n{\"command\":\"rm -rf /\"}\n{\"command\":\"git push\",\"given\":[\"deny git push*\"]}\n";
    let done = home.run_with(&["approvals", "check", "--home", "/home/alice"], lines);
    let verdicts: Vec<String> = out(&done)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(verdicts, ["allow", "refuse", "denied-by-rule"]);
}

#[test]
fn config_keeps_comments() {
    let home = Home::empty();
    home.config("# mine\ndisplay:\n  skin: ares # red\n");
    assert!(home.run(&["config", "set", "display.skin", "slate"]).status.success());
    let text = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    assert!(text.contains("# mine") && text.contains("slate") && text.contains("# red"), "{text}");
    assert_eq!(out(&home.run(&["config", "get", "display.skin"])).trim(), "slate");
}

#[test]
fn lists_and_help() {
    let home = Home::empty();
    for args in [
        vec!["skins"],
        vec!["keys"],
        vec!["doctor"],
        vec!["completion", "bash"],
        vec!["--help"],
        vec!["--version"],
        vec!["sessions", "list"],
    ] {
        let done = home.run(&args);
        assert!(!out(&done).is_empty(), "{args:?} says nothing: {}", err(&done));
    }
    assert!(out(&home.run(&["skins"])).contains("charizard"));
}

#[test]
fn the_screen_tells_of_its_tools() {
    let mock = Mock::start(vec![Step::Text("Hello.".into()), Step::Text("Hello again.".into())]);
    let home = Home::with(&mock, "agent:\n  disabled_toolsets: [todo]\n");
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯").wait("ready");
    term.send("/tools\r").wait("tokens in every request").wait("in full").wait("off");
    term.send("\x1b").gone("tokens in every request");
    term.send("hello\r").wait("Hello.");
    term.send("/toolsets file\r").wait("prompt cache");
    term.send("again\r").wait("Hello again.");
    let requests = mock.requests();
    let names = |at: usize| requests[at]["tools"].to_string();
    assert!(names(0).contains("terminal") && !names(0).contains("todo"), "{}", names(0));
    assert!(names(1).contains("read_file") && !names(1).contains("terminal\""), "{}", names(1));
}

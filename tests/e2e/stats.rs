//! Figures over time, on the command line and on the screen.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::{Value, json};

fn stats(home: &Home, args: &[&str]) -> Value {
    let done = home.run(&[&["sessions", "stats", "--json"], args].concat());
    assert!(done.status.success(), "{done:?}");
    serde_json::from_str(&out(&done)).unwrap()
}

#[test]
fn tokens_tools_and_projects_are_counted_once_and_stay_when_sessions_go() {
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "true" }))]),
        Step::Calls(String::new(), vec![call("read_file", json!({ "path": "nowhere.txt" }))]),
        Step::Text("done".into()),
    ]);
    let home = Home::with(&mock, "");
    assert!(home.run(&["-p", "do it", "--yolo"]).status.success());
    let figures = stats(&home, &[])["figures"].clone();
    let tool = |figures: &Value, name: &str| {
        let tools = figures["tools"].as_array().unwrap().clone();
        tools.into_iter().find(|tool| tool["name"] == name).unwrap_or_default()
    };
    assert_eq!((&tool(&figures, "terminal")["calls"], &tool(&figures, "terminal")["failed"]), (&json!(1), &json!(0)));
    assert_eq!(tool(&figures, "read_file")["failed"], 1, "{figures}");
    let days = figures["days"].as_array().unwrap();
    assert_eq!((days.len(), days[0]["calls"].as_u64()), (1, Some(3)), "{figures}");
    assert_eq!(figures["projects"][0]["sessions"], 1);
    // A fork ran nothing, and what is deleted was used all the same.
    let id = serde_json::from_str::<Value>(&out(&home.run(&["sessions", "list", "--json"]))).unwrap();
    let id = id["sessions"][0]["id"].as_str().unwrap().to_owned();
    assert!(home.run(&["sessions", "fork", &id]).status.success());
    assert_eq!(tool(&stats(&home, &[])["figures"], "terminal")["calls"], 1);
    assert!(home.run(&["sessions", "delete", &id, "--now"]).status.success());
    let after = stats(&home, &["--since", "today"])["figures"].clone();
    assert_eq!((&tool(&after, "terminal")["calls"], after["days"][0]["calls"].as_u64()), (&json!(1), Some(3)));
    let text = out(&home.run(&["sessions", "stats", "--since", "7d"]));
    for words in ["Tokens by day", "Tools", "terminal", "Cost by model", "mock-model", "Sessions by project"] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let wrong = home.run(&["sessions", "stats", "--since", "soon"]);
    assert!(!wrong.status.success() && err(&wrong).contains("is no day"), "{}", err(&wrong));
}

#[test]
fn charts_on_the_screen() {
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "true" }))]),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, "approvals:\n  mode: \"off\"\n");
    for size in [(120, 40), (60, 20)] {
        let mut term = Term::sized(&home, &[], size);
        term.wait("❯");
        if size.0 == 120 {
            term.send("/stats\r").wait("Nothing was used in these days.");
            term.send("\x1b").gone("Nothing was used");
            term.send("run it\r").wait("all done");
        }
        term.send("/stats all\r").wait("[all]").wait("█").wait("calls of models");
        term.send("\t").wait("terminal").wait("failed");
        term.send("\t").wait("median");
        term.send("\x1b[C").wait("mock-model");
        term.send("\x1b[C").wait("project").wait("sessions");
        term.send("7").wait("[7 days]").wait("project");
        term.send("q").gone("[7 days]");
        term.quit();
        assert_eq!(term.ended(), 0);
    }
}

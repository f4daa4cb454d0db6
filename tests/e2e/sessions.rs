//! Changing sessions while an answer streams: each keeps its own words.

use crate::harness::home::out;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::Value;
use std::time::Duration;

fn stream(word: &str) -> Step {
    Step::Slow(format!("{word} words that keep coming, one after another. ").repeat(400), Duration::from_millis(4))
}

/// What the store has of the session that a word of its prompt finds.
fn stored(home: &Home, prompt: &str) -> String {
    let hits: Value = serde_json::from_str(&out(&home.run(&["sessions", "search", prompt, "--json"]))).unwrap();
    let Some(id) = hits[0]["session_id"].as_str() else { return String::new() };
    out(&home.run(&["sessions", "export", id, "--format", "jsonl"]))
}

#[test]
fn a_new_session_in_the_middle_of_an_answer() {
    let mock = Mock::start(vec![stream("earlier"), Step::Text("a fresh answer".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("zebra question\r").wait("earlier words");
    // It is asked first, since a turn runs.
    term.send("/clear\r").wait("Stop it and start a new session");
    term.send("\x1b[B").shows("yes is selected", |text| {
        text.lines().any(|line| line.contains("▸") && line.contains("Stop it and start"))
    });
    term.send("\r").gone("earlier words");
    term.send("giraffe question\r").wait("a fresh answer");
    assert!(!term.text().contains("earlier words"), "{}", term.text());
    let second = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(!second.contains("earlier words") && !second.contains("zebra"), "{second}");
    until("both are stored, apart", || {
        let (first, second) = (stored(&home, "zebra"), stored(&home, "giraffe"));
        assert!(!second.contains("earlier words") && !first.contains("fresh answer"), "{first}\n{second}");
        first.contains("earlier words") && second.contains("a fresh answer")
    });
    // Coming back shows what had come, and the model reads it.
    term.send("\x12").wait("Enter resume");
    term.send("zebra").shows("only the first is listed", |text| text.contains("1 session") && text.contains("⌕ zebra"));
    term.send("\r").wait("earlier words").gone("a fresh answer");
    term.send("go on\r").wait("done");
    let last = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(last.contains("earlier words") && last.contains("go on") && !last.contains("giraffe"), "{last}");
}

#[test]
fn another_session_is_resumed_in_the_middle_of_an_answer() {
    let mock =
        Mock::start(vec![Step::Text("an old answer".into()), stream("running"), Step::Text("older goes on".into())]);
    let home = Home::with(&mock, "");
    assert!(home.run(&["-p", "giraffe question"]).status.success());
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("zebra question\r").wait("running words");
    term.send("\x12").wait("Enter resume");
    term.send("giraffe")
        .shows("only the old one is listed", |text| text.contains("1 session") && text.contains("⌕ giraffe"));
    term.send("\r").wait("an old answer").gone("running words");
    term.send("go on\r").wait("older goes on");
    let last = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(last.contains("an old answer") && !last.contains("running words") && !last.contains("zebra"), "{last}");
    assert!(!stored(&home, "giraffe").contains("running words"));
    term.send("\x12").wait("Enter resume");
    term.send("zebra").shows("only the other is listed", |text| text.contains("1 session") && text.contains("⌕ zebra"));
    term.send("\r").wait("running words").gone("older goes on");
}

#[test]
fn a_session_that_is_open_in_another_window_can_be_read_or_forked() {
    let mock = Mock::start(vec![Step::Text("said in the first window".into()), Step::Text("said in the copy".into())]);
    let home = Home::with(&mock, "");
    let mut first = Term::start(&home, &[]);
    first.wait("❯");
    first.send("hello\r").wait("said in the first window");
    let mut second = Term::start(&home, &["-c"]);
    second.wait("Open in another window");
    // Reading is what is marked: it changes nothing.
    second.send("\r").wait("said in the first window");
    second.send("q");
    assert_eq!(mock.count(), 1);
    second.quit();
    second.ended();
    let mut third = Term::start(&home, &["-c"]);
    third.wait("Open in another window");
    third.send("y\r").gone("Open in another window").wait("said in the first window");
    third.send("go on\r").wait("said in the copy");
    assert!(!first.text().contains("said in the copy"), "the first window has its own conversation");
}

#[test]
fn keys_in_prompts_are_masked_in_exports_and_titles() {
    const KEY: &str = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let mock = Mock::start(vec![Step::Text("I see".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send(&format!("my key is {KEY} ok\r")).wait("I see").wait("step ·");
    term.quit();
    let said = |args: &[&str]| String::from_utf8_lossy(&home.run(args).stdout).into_owned();
    let list = said(&["sessions", "--json"]);
    assert!(!list.contains(KEY), "{list}");
    let id =
        serde_json::from_str::<serde_json::Value>(&list).unwrap()["sessions"][0]["id"].as_str().unwrap().to_owned();
    for format in ["md", "jsonl", "html", "sharegpt"] {
        let text = said(&["sessions", "export", &id, "--format", format]);
        assert!(text.contains("my key is") && !text.contains(KEY), "{format}: {text}");
    }
    assert!(said(&["sessions", "export", &id, "--format", "jsonl", "--no-redact"]).contains(KEY));
}

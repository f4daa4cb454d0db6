//! A long conversation on the screen: compacted by a person, read, undone; what fills its window, changed.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::json;

#[test]
fn a_person_compacts_reads_undoes_and_sees_what_fills_the_window() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    for n in 0..8 {
        let before = mock.count();
        term.paste(&format!("prompt {n} {}", "many words of it ".repeat(60))).send("\r");
        term.shows("answered", |text| mock.count() > before && !text.contains("to stop"));
    }
    term.send("/compact the lexer\r").wait("compacted").wait("/compact show, edit, undo");
    assert_eq!(term.text().matches("/compact show").count(), 1, "what can be done is said once: {}", term.text());
    let asked = mock.requests().last().unwrap()["messages"].to_string();
    assert!(asked.contains("<entries>") && asked.contains("the lexer"), "{asked}");
    term.send("/compact show\r").wait("What the summary stands for");
    term.send("\x1b").gone("What the summary stands for");
    let before = mock.count();
    term.send("and now?\r").shows("answered", |text| mock.count() > before && !text.contains("to stop"));
    let sent = mock.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("CONTEXT COMPACTION") && !sent.contains("prompt 3 many"), "{sent}");
    term.send("/compact undo\r").wait("undid the compaction");
    term.send("/context\r").wait("Next request:").wait("session · ≈");
    term.send("\x1b").gone("Next request:");
    let before = mock.count();
    term.send("once more\r").shows("answered", |text| mock.count() > before && !text.contains("to stop"));
    let sent = mock.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("prompt 3 many") && !sent.contains("CONTEXT COMPACTION"), "{sent}");
}

#[test]
fn shortened_output_is_said_and_marked_and_the_newest_is_whole() {
    let run = |n: usize| {
        let command = format!("seq {n}000 {n}999; echo end{n}");
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
    };
    let mock = Mock::start(vec![]);
    let home = Home::empty();
    home.window(&mock, 12_000, "approvals: {mode: yolo}\ncompression: {enabled: true}\n");
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    for n in 1..=16 {
        mock.push(vec![run(n), Step::Text(format!("answer {n}"))]);
        term.send(&format!("prompt {n}\r")).wait(&format!("answer {n}"));
        term.shows("at rest", |text| !text.contains("to stop"));
        if term.text().contains("shortened ") {
            break;
        }
    }
    term.wait("shortened ").wait(" tokens · /context marks them");
    let last = mock.requests().last().unwrap()["messages"].to_string();
    let newest = last.rsplit("\"role\":\"tool\"").next().unwrap();
    assert!(!newest.contains("left out: they do not fit"), "{newest}");
    term.send("/context\r").wait("Next request:").wait("shortened");
}

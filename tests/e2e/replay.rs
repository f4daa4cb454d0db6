//! A session seen again: a command that painted over time, the plan of that time, and the same as an asciicast.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::{Value, json};

const PAINTS: &str = "for n in one two three; do printf '\\033[2J\\033[Hphase %s of it' $n; sleep 1.2; done; printf '\\033[2J\\033[Hpainted'";

fn plan(status: &str) -> Step {
    let todos = json!([{ "id": "1", "content": "paint the wall", "status": status }]);
    Step::Calls(String::new(), vec![call("todo", json!({ "todos": todos }))])
}

#[test]
fn the_middle_of_a_command_is_seen_again_with_the_plan_of_that_time() {
    let mock = Mock::start(vec![
        plan("in_progress"),
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": PAINTS }))]),
        plan("completed"),
        Step::Text("the wall is painted".into()),
    ]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &["--yolo"], (120, 40));
    term.wait("❯");
    term.send("paint it\r").wait("the wall is painted").wait("steps ·");
    term.send("\x03\x04");
    assert_eq!(term.ended(), 0);

    let list: Value = serde_json::from_str(&out(&home.run(&["sessions", "list", "--json"]))).unwrap();
    let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();

    // By the command line, over a new session.
    let mut term = Term::sized(&home, &["sessions", "replay", &id], (120, 40));
    term.wait("Replay · paint it").wait("the wall is painted").wait("✓ paint the wall").wait("painted");
    // From the prompt down, past the plan and the call, screen by screen, to the middle.
    term.send("g").gone("the wall is painted");
    term.send("jjjj").wait("phase one of it");
    term.send("j").wait("phase two of it").wait("▸ paint the wall");
    assert!(!term.text().contains("the wall is painted"), "{}", term.text());
    term.send("G").wait("✓ paint the wall").gone("phase two of it");
    term.send("\x1b").gone("Replay ·");
    term.send("\x03\x04");
    assert_eq!(term.ended(), 0);

    // From the session itself, by its command.
    let mut term = Term::sized(&home, &["-c"], (120, 40));
    term.wait("the wall is painted");
    term.send("/replay\r").wait("Replay · paint it");
    term.send("q").gone("Replay ·");
    term.send("\x03\x04");
    assert_eq!(term.ended(), 0);

    // The same as an asciicast, which plays the same text.
    let cast = out(&home.run(&["sessions", "export", &id, "--format", "asciicast", "--terminal", "1"]));
    let mut lines = cast.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    let size = |name: &str| u16::try_from(header[name].as_u64().unwrap()).unwrap();
    let mut parser = vt100::Parser::new(
        std::num::NonZeroU16::new(size("height")).unwrap(),
        std::num::NonZeroU16::new(size("width")).unwrap(),
        0,
    );
    let mut shown = Vec::new();
    for event in lines.filter(|event| event[1] == "o") {
        parser.process(event[2].as_str().unwrap().as_bytes());
        shown.push(parser.screen().contents());
    }
    assert!(shown.iter().any(|screen| screen.trim() == "phase two of it"), "{shown:?}");
    assert_eq!(shown.last().map(|screen| screen.trim()), Some("painted"));

    // Gone with the session.
    assert!(home.hermes().join("recordings").join(&id).exists());
    home.run(&["sessions", "delete", "--now", &id]);
    assert!(!home.hermes().join("recordings").join(&id).exists());
}

#[test]
fn where_nothing_is_recorded_the_export_says_what_to_do() {
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "echo unseen" }))]),
        Step::Text("done here".into()),
    ]);
    let home = Home::with(&mock, "recordings:\n  enabled: false\n");
    let mut term = Term::sized(&home, &["--yolo"], (100, 30));
    term.wait("❯");
    term.send("say it\r").wait("done here").wait("steps ·");
    term.send("\x03\x04");
    assert_eq!(term.ended(), 0);
    let done = home.run(&["sessions", "export", "say it", "--format", "asciicast"]);
    let list: Value = serde_json::from_str(&out(&home.run(&["sessions", "list", "--json"]))).unwrap();
    let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    let by_id = home.run(&["sessions", "export", &id, "--format", "asciicast"]);
    assert_eq!((done.status.code().is_some(), by_id.status.code()), (true, Some(1)));
    assert!(err(&by_id).contains("[no recording]") && err(&by_id).contains("recordings.enabled"), "{}", err(&by_id));
    assert!(!home.hermes().join("recordings").exists());
}

#[test]
fn a_turn_that_was_rewound_is_seen_where_it_was() {
    let mock = Mock::start(vec![Step::Text("the first way".into()), Step::Text("a better plan".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    // Idle: a turn that still ends can't be undone.
    term.send("begin\r").wait("the first way").wait("step ·").wait("Ctrl-P palette");
    // The last exchange goes, with its prompt back in the composer.
    // While it looks for files its modal hides the conversation: gone is not undone.
    term.send("/undo\r").wait("What shall we work on?").gone("Undo the last exchange").wait("❯ begin");
    term.send("\x15begin again\r").wait("a better plan").wait("step ·");
    term.send("/replay\r").wait("Replay ·").wait("a better plan");
    term.send("g").wait("begin").gone("a better plan");
    term.send("j").wait("the first way").wait("rewound later");
    term.send("f").wait("a rewind left this moment out");
    term.send("G").wait("a better plan").gone("the first way");
    term.send("\x1b").gone("Replay ·");
    term.quit();
}

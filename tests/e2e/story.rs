//! The main job, end to end: ask, watch, approve, look at the terminal, quit, resume; and the same with kill -9.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::json;
use std::time::Duration;

/// On the screen once a question takes answers: its keys have been quiet.
const AWAKE: &str = "Esc: decide later";

fn terminal(command: &str) -> (String, serde_json::Value) {
    call("terminal", json!({ "command": command }))
}

#[test]
fn a_session_from_question_to_resume() {
    let mock = Mock::start(vec![
        Step::Calls(
            "I'll look first.".into(),
            vec![
                call("todo", json!({ "todos": [{ "id": "1", "content": "look around", "status": "in_progress" }] })),
                call("read_file", json!({ "path": "notes.txt" })),
            ],
        ),
        Step::Calls("Now I clean up.".into(), vec![terminal("rm -rf build && echo cleaned-up")]),
        Step::Text("# Done\n\nThe folder is **clean**.\n\n| what | how |\n| --- | --- |\n| build | removed |\n".into()),
    ]);
    let home = Home::with(&mock, "");
    std::fs::write(home.project().join("notes.txt"), "remember the milk\n").unwrap();
    std::fs::create_dir(home.project().join("build")).unwrap();
    std::fs::write(home.project().join("build/old.o"), "x").unwrap();

    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("clean up here, please\r");
    term.wait("look around").wait("notes.txt");
    // The dangerous command waits for a person; nothing has run.
    term.wait("Approve").wait("rm -rf build").wait("recursive delete");
    assert!(home.project().join("build/old.o").exists());
    term.wait(AWAKE);
    term.send("y").wait("Enter confirms");
    assert!(home.project().join("build/old.o").exists(), "one key must not be enough");
    term.send("\r");
    term.wait("Done").wait("clean");
    until("the folder is gone", || !home.project().join("build").exists());
    // What the tools gave back went to the model, each to its call.
    let requests = mock.requests();
    let text = requests[2]["messages"].to_string();
    assert!(text.contains("remember the milk") && text.contains("cleaned-up"), "{text}");

    // Quit, and tomorrow: the browser finds it, the model knows it.
    term.quit();
    assert_eq!(term.ended(), 0);
    for sequence in ["hermes -r", "\x1b[?1049l"] {
        until(sequence, || String::from_utf8_lossy(&term.raw()).contains(sequence));
    }

    mock.push(vec![Step::Text("You asked me to clean up.".into())]);
    let mut term = Term::sized(&home, &["-c"], (140, 45));
    term.wait("The folder is").wait("clean up here");
    term.send("what did I ask?\r").wait("You asked me to clean up.");
    let last = mock.requests().pop().unwrap();
    let first = &requests[0]["messages"];
    assert_eq!(last["messages"][0], first[0], "the system prompt is the same, byte for byte");
    assert!(last["messages"].to_string().contains("remember the milk"));
}

/// The last of the numbered words on the screen.
fn last_word(text: &str) -> usize {
    let words = text.split_whitespace().filter_map(|word| word.strip_prefix("w")?.parse().ok());
    words.max().unwrap_or(0)
}

#[test]
fn kill_nine_loses_at_most_the_last_second() {
    /// Two pieces of a word each, and a pause after each piece.
    const PAUSE: Duration = Duration::from_millis(4);
    /// Words that take a second to come, and as many for a machine that does much else.
    const SECOND: usize = 250;
    let long: String = (1..3000).map(|n| format!("w{n:06} ")).collect();
    let mock = Mock::start(vec![Step::Slow(long, PAUSE)]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("tell me a very long story\r").wait("w000001");
    term.send("a draft that was not sent");
    term.wait("a draft that was not sent");
    term.shows("some of the story", |text| last_word(text) > SECOND);
    let shown = last_word(&term.text());
    term.shows("more than a second of it", |text| last_word(text) > shown + SECOND);
    term.kill();

    let mut term = Term::start(&home, &["-c"]);
    term.wait("a draft that was not sent");
    term.shows("what was there a second before the end", |text| last_word(text) >= shown);
    term.send("\x15go on\r").wait("done");
}

#[test]
fn a_call_cut_off_by_a_crash_gets_its_result() {
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![terminal("echo began; sleep 300")])]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("run it\r").wait("sleep 300");
    until("the session is on disk", || {
        let listed = home.run(&["sessions", "search", "run it", "--json"]);
        String::from_utf8_lossy(&listed.stdout).contains("session_id")
    });
    term.kill();
    let mut term = Term::start(&home, &["-c"]);
    term.wait("run it");
    term.send("and now?\r").wait("done");
    let last = mock.requests().pop().unwrap();
    assert!(last["messages"].to_string().contains("interrupted"), "{last}");
}

#[test]
fn stop_is_visible_at_once_and_ends_the_whole_group() {
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![terminal("sh run.sh")])]);
    let home = Home::with(&mock, "");
    std::fs::write(home.project().join("run.sh"), "sleep 302 &\necho $! > pid\nsleep 301\n").unwrap();
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("go\r");
    let file = home.project().join("pid");
    until("the command runs", || std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
    let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    term.send("\x1b");
    let alive = || rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap()).is_ok();
    until("the command is gone", || !alive());
    term.wait("stopped");
    // The call has its result, and the next turn works.
    term.send("and now?\r").wait("done");
}

#[test]
fn denying_tells_the_model_why() {
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![terminal("rm -rf build")])]);
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("clean\r").wait(AWAKE);
    term.send("d").wait("Why not?");
    term.send("keep the artifacts\r").wait("done");
    assert!(home.project().join("build").exists());
    let last = mock.requests().pop().unwrap();
    assert!(last["messages"].to_string().contains("keep the artifacts"), "{last}");
}

#[test]
fn a_session_grant_covers_the_class_and_always_is_written_with_comments_kept() {
    let steps = |n: usize| Step::Calls(String::new(), vec![terminal(&format!("rm -rf build{n} && echo gone-{n}"))]);
    let mock = Mock::start(vec![steps(1), steps(2), Step::Text("both-are-gone".into())]);
    let home = Home::with(&mock, "# a comment to keep\ndisplay:\n  skin: slate\n");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("clean\r").wait(AWAKE);
    // This very command comes first; Tab widens it to its words, and to the class.
    term.send("s").wait("▸ Exactly this, here");
    term.send("\t").wait("▸ Exactly “rm -rf build1”");
    term.send("\t").wait("▸ Anything that asks only because of: recursive delete");
    term.send("\r").wait("both-are-gone");

    mock.push(vec![steps(3), Step::Text("third-is-gone".into())]);
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("clean\r").wait(AWAKE);
    // The narrowest comes first, the class last.
    term.send("a").wait("▸ Exactly this, here");
    term.send("\t\t\t").wait("▸ Anything that asks only because of: recursive delete, in every folder");
    term.send("\r").wait("third-is-gone");
    let config = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    assert!(config.contains("# a comment to keep"), "{config}");
    assert!(config.contains("command_allowlist") && config.contains("recursive delete"), "{config}");
}

//! Far too much of everything: the screen stays, and memory and time stay bounded.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::json;

const MIB: u64 = 1 << 20;

fn ready(mock: &Mock) -> (Home, Term) {
    let home = Home::with(mock, "");
    let term = Term::start(&home, &[]);
    term.wait("❯");
    (home, term)
}

fn terminal(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

/// Runs a command on the screen; what the model read of it, and by how many bytes the peak of memory grew.
fn grown_by(command: &str) -> (String, u64) {
    // The same tool once before: what every first call loads is not the flood's.
    let mock = Mock::start(vec![terminal("echo warm"), Step::Text("all-is-warm".into()), terminal(command)]);
    let (_home, mut term) = ready(&mock);
    term.send("warm up\r").wait("all-is-warm");
    let before = term.peak();
    mock.push(vec![Step::Text("it-is-over".into())]);
    term.send("go\r").wait("it-is-over");
    let grown = term.peak() - before;
    let last = mock.requests().pop().unwrap();
    let result = last["messages"].as_array().unwrap().iter().rev().find(|m| m["role"] == "tool").unwrap().to_string();
    (result, grown)
}

#[test]
fn a_hundred_megabytes_of_lines_leave_memory_flat() {
    let (result, grown) = grown_by("yes 'a line of some words that repeats' | head -c 100000000; echo; echo the-end");
    assert!(result.contains("the-end") && result.len() < 100_000, "{} bytes", result.len());
    assert!(grown < 20 * MIB, "{} MiB", grown / MIB);
}

#[test]
fn one_line_of_a_hundred_megabytes_leaves_memory_flat() {
    let (result, grown) = grown_by("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the-end");
    assert!(result.contains("the-end") && result.len() < 100_000, "{} bytes", result.len());
    assert!(grown < 20 * MIB, "{} MiB", grown / MIB);
}

#[test]
fn bytes_that_are_no_text_harm_nothing() {
    // Half characters, NULs, a terminal's own orders, and an end in the middle of one of them.
    let command = r"printf 'bad \xff\xfe\xc3 bytes\n\0\n\x1b[?1049l\x1b]2;stolen title\x07\x1bc\n'; head -c 200000 /dev/urandom; printf '\nthe-end\x1b['";
    let mock = Mock::start(vec![terminal(command), Step::Text("it-is-over".into())]);
    let (_home, mut term) = ready(&mock);
    let modes = term.modes();
    term.send("go\r").wait("it-is-over");
    let result = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(result.contains("the-end"));
    assert_eq!(term.modes(), modes, "a command reached the real terminal");
    assert!(!String::from_utf8_lossy(&term.raw()).contains("stolen title"));
    // Opened in full it is as harmless.
    term.send("\x0f").wait("❯");
    assert_eq!(term.modes(), modes);
}

#[test]
fn a_paste_of_ten_megabytes_is_whole_and_cheap() {
    let mock = Mock::start(vec![]);
    let home = Home::empty();
    home.window(&mock, 10_000_000, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    let before = term.peak();
    let text = "a line of a large file\n".repeat(450_000);
    term.paste(&text).wait("Pasted");
    term.send(" please look").wait("please look");
    let pasted = term.peak() - before;
    term.send("\r").wait("done");
    let last = mock.requests().pop().unwrap();
    let sent = last["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(sent.len() > 10_000_000 && sent.contains("please look"), "{} bytes", sent.len());
    assert!(pasted < 100 * MIB, "{} MiB for the paste", pasted / MIB);
    assert!(term.peak() - before < 300 * MIB, "{} MiB in all", (term.peak() - before) / MIB);
}

#[test]
fn one_cell_and_back_keeps_everything() {
    let mock = Mock::start(vec![Step::Text("an answer to see again".into())]);
    let (_home, mut term) = ready(&mock);
    term.send("hello\r").wait("an answer to see again");
    term.send("a draft").wait("❯ a draft");
    let before = term.frames();
    term.resize(1, 1).drawn_after(before);
    // Typing is not lost, though nothing shows.
    term.send(" goes on");
    term.resize(100, 30).wait("an answer to see again").wait("❯ a draft goes on");
}

#[test]
fn five_hundred_resizes_end_at_the_last_one() {
    let mock = Mock::start(vec![Step::Text("an answer to see again".into())]);
    let (_home, mut term) = ready(&mock);
    term.send("hello\r").wait("an answer to see again");
    let (peak, frames) = (term.peak(), term.frames());
    for n in 0..500u16 {
        term.resize(30 + n * 7 % 200, 5 + n * 3 % 60);
    }
    term.resize(100, 30);
    term.send("a draft").wait("an answer to see again").wait("❯ a draft");
    assert!(term.frames() - frames <= 501, "{} frames", term.frames() - frames);
    assert!(term.peak() - peak < 20 * MIB, "{} MiB", (term.peak() - peak) / MIB);
}

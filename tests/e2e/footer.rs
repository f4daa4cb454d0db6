//! From the line at the end of a turn to what the turn did, by keys and by mouse; and what fills the window, in layers.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::json;

/// A turn with an edit, many lines of output after it, and a check that fails.
fn worked() -> (Mock, Home) {
    let edit = call("write_file", json!({ "path": "made.txt", "content": "line one\nline two\n" }));
    let run = |command: &str| Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))]);
    let long = (1..120).map(|n| format!("- reason {n}\n")).collect::<String>();
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![edit]),
        run("seq 1 9 && echo counted"),
        run("make check"),
        Step::Text(format!("{long}\nthe end")),
    ]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    (mock, home)
}

#[test]
fn files_that_a_command_changed_are_counted() {
    let line = "echo more >>kept; rm gone; mv here there; mkdir -p d; echo x >d/f; chmod 755 run; echo ran";
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": line }))]),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    for name in ["kept", "gone", "here", "run"] {
        std::fs::write(home.project().join(name), "one\n").unwrap();
    }
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("5 files +2 −1 · 1 command · unverified");
    term.send("/turn\r").wait("What the turn did").wait("d/f").wait("there").wait("gone");
}

/// Zero-based column and row of a text on the screen.
fn place(term: &Term, what: &str) -> (usize, usize) {
    let text = term.text();
    let found = text.lines().enumerate().find_map(|(row, line)| {
        let at = line.find(what)?;
        Some((line[..at].chars().count(), row))
    });
    found.unwrap_or_else(|| panic!("no {what}: {text}"))
}

fn click(term: &mut Term, what: &str) {
    let (column, row) = place(term, what);
    for end in ['M', 'm'] {
        term.send(&format!("\x1b[<0;{};{}{end}", column + 1, row + 1));
    }
}

#[test]
fn the_line_at_the_end_of_a_turn_leads_to_its_files_and_commands() {
    let (_mock, home) = worked();
    for size in [(100, 30), (60, 20)] {
        let is_first = size.0 == 100;
        let args: &[&str] = if is_first { &[] } else { &["--continue"] };
        let mut term = Term::sized(&home, args, size);
        term.wait("❯");
        if is_first {
            term.send("go\r");
        }
        term.wait("the end").wait("unverified");
        // By keys: the last command, from the list that the line opens.
        term.send("/turn\r").wait("What the turn did").wait("made.txt").wait("+2 −0").wait("make check");
        term.wait("exit 2");
        term.send("make").send("\r").gone("What the turn did").wait("make check").gone("the end");
        // By mouse: the line, then the file and its diff.
        term.send("\x1b").send("\x1b[1;5F").wait("the end");
        click(&mut term, "unverified");
        term.wait("What the turn did");
        // The first row is selected: a click takes it.
        click(&mut term, "made.txt");
        term.gone("What the turn did").wait("line one").gone("the end");
        term.quit();
    }
}

#[test]
fn layers_over_their_maximum_are_cut_with_a_word_and_shown() {
    let mock = Mock::start(vec![Step::Text("hello".into())]);
    let home = Home::with(&mock, "context: {project_tokens: 300, memory_tokens: 60}\n");
    let rules = (0..200).map(|n| format!("Rule {n}: keep paragraph {n} whole.\n\n")).collect::<String>();
    std::fs::write(home.project().join("AGENTS.md"), rules).unwrap();
    std::fs::create_dir_all(home.hermes().join("memories")).unwrap();
    std::fs::write(home.hermes().join("memories/MEMORY.md"), "note of the agent\n".repeat(60)).unwrap();
    let mut term = Term::sized(&home, &[], (110, 40));
    term.wait("❯");
    term.send("hi\r").wait("hello").wait("not all of it fits into the prompt: project files");
    let request = mock.requests().last().unwrap()["messages"].to_string();
    assert!(request.contains("Rule 3: keep paragraph 3 whole.") && !request.contains("Rule 150"), "{request}");
    assert!(request.contains("[project files: ") && request.contains("AGENTS.md: read it there]"), "{request}");
    assert!(request.contains("[memory: ") && request.contains("MEMORY.md: read it there]"), "{request}");
    term.send("/context\r").wait("Next request:").wait("of at most 300 tokens · cut from");
    term.wait("identity · ≈").wait("tools · ≈").wait("session · ≈");
    term.wait("project files, cut:");
}

#[test]
fn a_fork_knows_what_its_next_request_holds_before_it_is_sent() {
    let mock = Mock::start(vec![Step::Text("has begun".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    let tools = |term: &mut Term| {
        term.send("/context\r").wait("Next request:").wait(" tools ");
        let text = term.text();
        let line = text.lines().find(|line| line.contains("■") && line.contains(" tools ")).unwrap().to_owned();
        term.send("\x1b").gone("Next request:");
        line.split(" tools ").next().unwrap().trim().to_owned()
    };
    term.wait("❯");
    term.send("go\r").wait("has begun").wait("step ·");
    let known = tools(&mut term);
    assert!(!known.ends_with(" 0"), "{known}");
    term.send("/fork\r").wait("(fork)");
    assert_eq!(tools(&mut term), known);
}

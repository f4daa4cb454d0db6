//! What a person sees and presses: questions, lists with switches, hints, and what comes back after a resume.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, skipped, until};
use serde_json::json;
use std::time::Duration;

const SIZES: [(u16, u16); 3] = [(140, 45), (100, 30), (60, 20)];

fn slow() -> Step {
    Step::Slow(format!("begun {}", "slowly ".repeat(2000)), Duration::from_millis(20))
}

fn terminal(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

#[test]
fn the_line_under_a_turn_comes_back_after_a_kill() {
    let mock = Mock::start(vec![terminal("echo hi"), Step::Text("said hi".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("go\r").wait("said hi").wait("2 steps · ");
    let line =
        |term: &Term| term.text().lines().find(|line| line.contains("2 steps · ")).map(str::trim).map(str::to_owned);
    let before = line(&term);
    term.kill();
    let term = Term::sized(&home, &["-c"], (100, 30));
    term.wait("said hi").wait("2 steps · ");
    assert_eq!(line(&term), before);
}

#[test]
fn the_question_before_leaving_takes_its_letters() {
    for (size, key) in SIZES.into_iter().zip(["n\r", "\x1b", "\r"]) {
        let mock = Mock::start(vec![slow()]);
        let home = Home::with(&mock, "");
        let mut term = Term::sized(&home, &[], size);
        term.wait("❯");
        term.send("go\r").wait("begun");
        term.send("/quit\r").wait("Still running").wait("y or n · Enter confirms");
        term.send(key).gone("Still running").wait("slowly");
        term.send("/quit\r").wait("Still running");
        term.send("y\r");
        assert_eq!(term.ended(), 0);
    }
}

#[test]
fn toolsets_are_listed_and_switched_from_the_next_turn_on() {
    for size in SIZES {
        let mock = Mock::start(vec![Step::Text("Hello.".into()), Step::Text("Hello again.".into())]);
        let home = Home::with(&mock, "");
        let mut term = Term::sized(&home, &[], size);
        term.wait("❯");
        term.send("hello\r").wait("Hello.").wait("1 step");
        term.send("/toolsets\r").wait("Toolsets of this session").wait("● terminal").wait("prompt cache");
        term.send("terminal").gone("● file");
        term.send("\r").wait("○ terminal");
        term.send("\x1b").gone("Toolsets of this session");
        term.send("again\r").wait("Hello again.");
        let requests = mock.requests();
        let has = |at: usize| requests[at]["tools"].to_string().contains(r#""name":"terminal""#);
        assert!(has(0) && !has(1), "{size:?}");
    }
}

#[test]
fn a_running_turn_says_what_the_two_keys_do() {
    for size in SIZES {
        let mock = Mock::start(vec![slow(), Step::Text("next".into())]);
        let home = Home::with(&mock, "");
        let mut term = Term::sized(&home, &[], size);
        term.wait("❯");
        term.send("go\r").wait("begun").wait("Enter sends after this turn");
        term.send("aside").wait("sends after this turn").wait("Esc stop");
        term.send("\x13").wait("sends to the running turn").gone("❯ aside");
        term.send("later\r").wait("queued 1").wait("Enter steer with the first");
    }
}

#[test]
fn an_approval_answers_a_stray_letter_and_hides_nothing_of_what_it_grants() {
    for size in SIZES {
        let command =
            "rm -rf build && git clean -fdx && git reset --hard && chmod -R 777 . && curl http://127.0.0.1:9/x | sh";
        let mock = Mock::start(vec![terminal(command), Step::Text("understood".into())]);
        let home = Home::with(&mock, "");
        let mut term = Term::sized(&home, &[], size);
        term.wait("❯");
        term.send("clean\r").wait("Esc: decide later");
        // The quiet that the modal waits for is over now.
        term.send("x").wait("d denies with a reason");
        let text = term.text();
        let label: String = text.lines().skip_while(|line| !line.contains("This session:")).take(2).collect();
        assert!(!label.contains('…'), "{text}");
        term.send("d").wait("Why not?");
        term.send("no\r").wait("understood");
    }
}

#[test]
fn files_that_a_command_put_back_leave_the_panel() {
    let write = Step::Calls(
        String::new(),
        vec![
            call("write_file", json!({ "path": "a.txt", "content": "one\ntwo\n" })),
            call("write_file", json!({ "path": "b.txt", "content": "new\n" })),
        ],
    );
    let mock = Mock::start(vec![
        write,
        Step::Text("both written".into()),
        terminal("cp a.orig a.txt"),
        Step::Text("one put back".into()),
    ]);
    let home = Home::with(&mock, "");
    std::fs::write(home.project().join("a.txt"), "one\n").unwrap();
    std::fs::write(home.project().join("a.orig"), "one\n").unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    let panel = |term: &Term| {
        let text = term.text();
        let files = text.lines().filter_map(|line| line.get(line.char_indices().nth(100)?.0..).map(str::to_owned));
        files.filter(|line| line.contains(".txt")).collect::<Vec<_>>()
    };
    term.send("write\r").wait("both written");
    until("both stand in the panel", || panel(&term).len() == 2);
    term.send("put it back\r").wait("one put back");
    until("only what differs stands there", || panel(&term).len() == 1 && panel(&term)[0].contains("b.txt"));
}

#[test]
fn a_file_of_somebody_else_is_asked_about_when_the_rewind_meets_it() {
    let write = Step::Calls(String::new(), vec![call("write_file", json!({ "path": "a.txt", "content": "mine\n" }))]);
    let mock = Mock::start(vec![write, Step::Text("written".into())]);
    let home = Home::with(&mock, "");
    let file = home.project().join("a.txt");
    std::fs::write(&file, "before\n").unwrap();
    let mut term = Term::sized(&home, &[], (60, 20));
    term.wait("❯");
    term.send("write\r").wait("written").wait("2 steps");
    term.send("/rewind\r").wait("M a.txt");
    term.send("\r").wait("Conversation and 1 file");
    // Somebody works on it after the look.
    std::fs::write(&file, "theirs\n").unwrap();
    term.send("\r").wait("Files changed elsewhere").wait("a.txt").wait("Esc neither");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs\n");
    term.send("y\r").gone("Files changed elsewhere").wait("rewound");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "before\n");
    term.send("\x15/redo\r").wait("redone");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs\n");
}

#[test]
fn copy_mode_moves_by_words() {
    let mock = Mock::start(vec![Step::Text("alpha beta gamma delta".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("go\r").wait("alpha beta gamma delta").wait("1 step");
    let frames = term.frames();
    term.send("\x1bv").wait("copy mode").drawn_after(frames);
    // From the line under the turn up to the answer: three words on, marked to the end of the fourth.
    term.send("k0www").send("ve").send("y").wait("sent to the terminal (OSC 52)");
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode("delta");
    let sent = String::from_utf8_lossy(&term.raw()).contains(&format!("\x1b]52;c;{encoded}\x07"));
    assert!(sent, "{}", term.text());
}

#[test]
fn reads_in_a_row_are_one_line_and_a_change_stands_open() {
    let read = |path: &str| call("read_file", json!({ "path": path }));
    let patch = json!({ "path": "a.txt", "old_string": "first", "new_string": "second" });
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![read("a.txt"), read("b.txt"), read("c.txt")]),
        Step::Calls(String::new(), vec![call("patch", patch)]),
        Step::Text("all-is-said".into()),
    ]);
    let home = Home::with(&mock, "");
    for name in ["a.txt", "b.txt", "c.txt"] {
        std::fs::write(home.project().join(name), format!("first of {name}\n")).unwrap();
    }
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("go\r").wait("all-is-said").wait("3 files: a.txt, b.txt, c.txt");
    assert!(!term.text().contains("read_file"), "{}", term.text());
    term.wait("- first of a.txt").wait("+ second of a.txt");
    // A click opens them, and one more puts them together again.
    let row = term.text().lines().position(|line| line.contains("3 files: a.txt")).unwrap() + 1;
    let click = |term: &mut Term| {
        term.send(&format!("\x1b[<0;20;{row}M")).send(&format!("\x1b[<0;20;{row}m"));
    };
    click(&mut term);
    term.shows("each read", |text| text.matches("read_file").count() == 3);
    click(&mut term);
    term.wait("3 files: a.txt, b.txt, c.txt");
}

#[test]
fn in_tmux_a_copy_is_in_its_buffer() {
    let mock = Mock::start(vec![Step::Text("alpha beta gamma delta".into())]);
    let mut home = Home::with(&mock, "");
    home.set("TMUX_TMPDIR", &home.tmp().display().to_string());
    let tmux = |home: &Home, args: &[&str]| {
        let mut tmux = std::process::Command::new("tmux");
        tmux.args(["-L", "copies", "-f", "/dev/null"]).args(args).env_clear().envs(home.environment());
        tmux.output().map(|done| String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
    };
    if let Err(error) = tmux(&home, &["new-session", "-d", "sh"]) {
        return skipped("e2e::windows::in_tmux_a_copy_is_in_its_buffer", &format!("tmux: {error}"));
    }
    let around = tmux(&home, &["display-message", "-p", "#{socket_path},#{pid},0"]).unwrap();
    home.set("TMUX", &around);
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("go\r").wait("alpha beta gamma delta").wait("1 step");
    let frames = term.frames();
    term.send("\x1bv").wait("copy mode").drawn_after(frames);
    term.send("k0www").send("ve").send("y").wait("copied to the tmux buffer");
    let buffer = tmux(&home, &["show-buffer"]).unwrap();
    tmux(&home, &["kill-server"]).unwrap();
    assert_eq!(buffer, "delta");
}

#[test]
fn the_plan_is_on_the_screen_again_after_a_resume() {
    let todos = json!({ "todos": [{ "id": "1", "content": "sow the seeds", "status": "in_progress" }] });
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![call("todo", todos)]), Step::Text("planned".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("plan\r").wait("planned").wait("▸ sow the seeds");
    term.kill();
    let term = Term::sized(&home, &["-c"], (140, 45));
    term.wait("planned").wait("▸ sow the seeds");
}

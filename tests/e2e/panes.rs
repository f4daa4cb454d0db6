//! Panes under the hands of a person: borders, selections, programs that want keys and mouse, the external editor.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn terminal(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command, "pty": true }))])
}

/// Presses, drags and releases the left button, from one cell to another (from 0).
fn drag(term: &mut Term, from: (usize, usize), to: (usize, usize)) {
    let at =
        |code: u8, (column, row): (usize, usize), end: char| format!("\x1b[<{code};{};{}{end}", column + 1, row + 1);
    // As slow as a hand: a frame shows the selection before the button is let go.
    term.send(&at(0, from, 'M')).send(&at(32, to, 'M'));
    term.send(&at(0, to, 'm'));
}

/// Column and row where a text stands.
fn find(term: &Term, text: &str) -> (usize, usize) {
    let screen = term.text();
    let backends = screen
        .lines()
        .enumerate()
        .filter_map(|(row, line)| line.find(text).map(|at| (line[..at].chars().count(), row)));
    backends.last().unwrap_or_else(|| panic!("no {text:?} on the screen:\n{screen}"))
}

/// Whether this text was sent to the clipboard of the terminal.
fn copied(term: &Term, text: &str) -> bool {
    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    String::from_utf8_lossy(&term.raw()).contains(&format!("\x1b]52;c;{encoded}\x07"))
}

/// Prints what it is sent, after it asked for what full-screen programs ask for.
fn greedy(home: &Home) -> PathBuf {
    let script = home.project().join("greedy.sh");
    let text = "printf '\\033[?1h\\033[?2004h\\033[?1000h\\033[?1006h'\nstty raw -echo\necho primed\ncat -v\n";
    std::fs::write(&script, text).unwrap();
    script
}

#[test]
fn a_program_gets_keys_pastes_and_the_mouse_as_it_asked() {
    let mock = Mock::start(vec![terminal("sh greedy.sh")]);
    let home = Home::with(&mock, "");
    greedy(&home);
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("run it\r").wait(" Terminal ").wait("primed");
    term.send("\x1b[20~").wait("TAKEN OVER");
    term.send("\x1b[A").wait("^[OA");
    term.send("\x1b[H").wait("^[OH");
    term.paste("two words").wait("^[[200~two words^[[201~");
    let (column, row) = find(&term, "primed");
    drag(&mut term, (column, row), (column + 5, row));
    term.wait("^[[<0;1;1M").wait("^[[<0;6;1m");
    // With Shift the drag is ours.
    let at = |code: u8, column: usize, end: char| format!("\x1b[<{};{};{}{end}", code + 4, column + 1, row + 1);
    term.send(&at(0, column, 'M')).send(&at(32, column + 5, 'M')).send(&at(0, column + 5, 'm'));
    term.wait("OSC 52");
    assert!(copied(&term, "primed"));
}

#[test]
fn a_program_that_asked_for_nothing_gets_plain_keys_and_no_mouse() {
    let mock = Mock::start(vec![terminal("stty raw -echo; echo pri''med; cat -v")]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("run it\r").wait("primed");
    term.send("\x1b[20~").wait("TAKEN OVER");
    term.send("\x1b[A").wait("^[[A");
    term.paste("two words").wait("two words");
    let (column, row) = find(&term, "primed");
    drag(&mut term, (column, row), (column + 5, row));
    term.wait("OSC 52");
    assert!(copied(&term, "primed"));
    assert!(!term.text().contains("200~") && !term.text().contains("[<0"), "{}", term.text());
}

#[test]
fn text_is_copied_from_the_scrollback_of_a_terminal() {
    let mock = Mock::start(vec![terminal("for i in $(seq 1 200); do echo line-$i; done; read x")]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("run it\r").wait("line-200");
    // The wheel scrolls the pane back; what is dragged over there is copied.
    let (column, row) = find(&term, "line-200");
    for _ in 0..20 {
        term.send(&format!("\x1b[<64;{};{}M", column + 1, row + 1));
    }
    term.wait("↑ 60 lines");
    let (column, first) = find(&term, "line-135");
    let (_, last) = find(&term, "line-137");
    drag(&mut term, (column, first), (column + 7, last));
    until("the lines are copied", || copied(&term, "line-135\nline-136\nline-137"));
    // Copy mode goes further than the screen: 30 lines up from where it begins.
    let before = term.frames();
    term.send("\x1b").drawn_after(before);
    term.send("\x1bv").wait("copy mode");
    term.send("V").send(&"k".repeat(30)).send("y");
    until("31 lines are copied", || {
        let lines = |last: u32| (last - 30..=last).map(|n| format!("line-{n}")).collect::<Vec<_>>().join("\n");
        (130..=145).any(|last| copied(&term, &lines(last)))
    });
}

#[test]
fn the_border_of_the_terminal_pane_follows_the_mouse() {
    let mock = Mock::start(vec![terminal("echo here-it-is; read x")]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("run it\r").wait(" Terminal ").wait("here-it-is");
    let (column, row) = find(&term, " Terminal ");
    drag(&mut term, (column + 60, row), (column + 60, row - 8));
    until("the border has moved", || find(&term, " Terminal ").1 == row - 8);
    term.send("\x18-");
    until("the border has moved back", || find(&term, " Terminal ").1 > row - 8);
}

/// A home where this script is the editor.
fn with_editor(mock: &Mock, script: &str) -> (Home, Vec<(String, String)>) {
    let home = Home::with(mock, "");
    let file = home.user().join("editor.sh");
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let set = vec![("VISUAL".into(), file.display().to_string())];
    (home, set)
}

#[test]
fn the_editor_stands_beside_the_conversation_and_its_text_becomes_the_draft() {
    let words = "words that keep coming, one after another. ".repeat(200);
    let mock = Mock::start(vec![Step::Slow(words, Duration::from_millis(5))]);
    let script = "cat \"$1\"; printf ' your edit? '; read line; printf '%s' \"$line\" > \"$1\"";
    let (home, set) = with_editor(&mock, script);
    let mut term = Term::with_env(&home, &[], (120, 40), &set);
    term.wait("❯");
    term.send("tell me\r").wait("words that keep coming");
    term.send("the old draft").wait("the old draft");
    term.send("\x07").wait("your edit?").wait("TAKEN OVER");
    // The conversation is there, and goes on.
    let before = mock.requests().len();
    term.wait("words that keep coming");
    term.send("the new draft").wait("the new draft");
    term.send("\r").gone("your edit?").gone("TAKEN OVER");
    term.wait("the new draft");
    assert!(!term.text().contains("the old draft"), "{}", term.text());
    // The keys are ours again.
    term.send(", longer").wait("the new draft, longer");
    assert_eq!(mock.requests().len(), before);
}

#[test]
fn an_editor_that_fails_leaves_the_draft() {
    let mock = Mock::start(vec![]);
    let (home, set) = with_editor(&mock, "echo gone > \"$1\"; exit 3");
    let mut term = Term::with_env(&home, &[], (120, 40), &set);
    term.wait("❯");
    term.send("a draft to keep").wait("a draft to keep");
    term.send("\x07").wait("exited with 3");
    term.wait("a draft to keep");
    term.send(" and go on").wait("a draft to keep and go on");
    let set = vec![("VISUAL".into(), "no-such-editor".into())];
    let mut term = Term::with_env(&home, &[], (120, 40), &set);
    term.wait("❯");
    term.send("\x07").wait("set VISUAL or EDITOR");
}

#[test]
fn vim_edits_the_draft() {
    let Some(vim) = ["/usr/bin/vim.tiny", "/usr/bin/vim"].into_iter().find(|path| Path::new(path).exists()) else {
        crate::harness::skipped("e2e::panes::vim_edits_the_draft", "vim is not installed");
        return;
    };
    for size in [(120, 40), (60, 20)] {
        let mock = Mock::start(vec![]);
        let home = Home::with(&mock, "");
        let set = vec![("VISUAL".into(), format!("{vim} -u NONE -n"))];
        let mut term = Term::with_env(&home, &[], size, &set);
        term.wait("❯");
        term.send("first line").wait("first line");
        // Tildes stand below the end of the text in vim.
        term.send("\x07").wait("returns").wait("\n  ~");
        term.send("A and more\x1b").wait("first line and more");
        // An arrow moves within vim: it is not typed.
        term.send("osecond\x1b[A\x1b[D!\x1b").wait("!");
        term.send(":wq\r").gone("returns");
        term.wait("second").gone("~");
    }
}

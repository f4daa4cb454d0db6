//! Ctrl-Z and `fg` under a real shell: the terminal is the shell's in between, and everything is drawn again after.

use crate::harness::{Home, Mock, Modes, Step, Term, binary, until};
use std::time::Duration;

/// A shell with job control and no line editor of its own, so that what it finds is what was left to it.
fn shell(mock: &Mock) -> (Home, Term) {
    let mut home = Home::with(mock, "");
    home.set("PS1", "shell-is-here> ");
    let mut term = Term::run(&home, "sh", &["-i"], (100, 30), &[]);
    term.wait("shell-is-here>");
    assert_eq!(term.modes(), Modes::SHELL);
    term.send(&format!("{}\r", binary())).wait("❯");
    let taken = term.modes();
    assert!(!taken.cooked && !taken.main_screen && taken.bracketed_paste && taken.keys == 1, "{taken:?}");
    (home, term)
}

/// The shell has the terminal back and works.
fn suspended(term: &mut Term, marker: &str) {
    until("the terminal is the shell's", || term.modes() == Modes::SHELL);
    // What the shell prints is the sum, what is typed is not: an answer, not an echo.
    term.send(&format!("echo {marker}-$((6*7))\r")).wait(&format!("{marker}-42"));
    assert_eq!(term.modes(), Modes::SHELL);
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_draws_everything_again() {
    let mock = Mock::start(vec![Step::Text("an answer to see again".into()), Step::Text("it-goes-on".into())]);
    let (_home, mut term) = shell(&mock);
    term.send("hello\r").wait("an answer to see again");
    term.send("a draft half written").wait("a draft half written");
    for round in ["first", "second"] {
        let before = term.modes();
        term.send("\x1a");
        suspended(&mut term, round);
        term.send("fg\r").wait("an answer to see again").wait("❯ a draft half written").gone("shell-is-here");
        assert_eq!(term.modes(), before);
    }
    // A smaller window while it slept is found out.
    term.send("\x1a");
    suspended(&mut term, "third");
    term.resize(60, 20);
    term.send("fg\r").wait("an answer to see again").wait("❯ a draft half written").gone("shell-is-here");
    // The keys are its own again.
    term.send(", now sent\r").wait("it-goes-on");
    let last = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(last.contains("a draft half written, now sent"), "{last}");
    term.quit().wait("shell-is-here>");
    suspended(&mut term, "left");
}

#[test]
fn ctrl_z_while_an_answer_streams_loses_none_of_it() {
    let words: String = (0..400).map(|n| format!("word-{n} ")).collect();
    let mock = Mock::start(vec![Step::Slow(words, Duration::from_millis(2)), Step::Text("all-there".into())]);
    let (_home, mut term) = shell(&mock);
    term.send("tell me\r").wait("word-20 ");
    term.send("\x1a");
    suspended(&mut term, "asleep");
    term.send("fg\r").wait("word-399").gone("shell-is-here");
    term.send("more\r").wait("all-there");
    let last = mock.requests().pop().unwrap()["messages"].to_string();
    assert!((0..400).all(|n| last.contains(&format!("word-{n} ")) || last.contains(&format!("word-{n}\""))), "{last}");
}

//! Agents on the screen: a child as a tab, the files that relatives changed, and the sessions of other windows.

use crate::harness::{Home, Term, until};

const TALKER: &str = r#"
chunk: 200
scenes:
  - when: 'fan out'
    steps:
      - calls: [{name: delegate_task, args: {tasks: [{goal: talk to the program}, {goal: wait for the end}]}}]
      - text: Both are back.
  - when: 'talk to the program'
    steps:
      - calls: [{name: terminal, args: {command: "read line; echo got $line; while [ ! -e ../first ]; do sleep 0.05; done"}}]
      - calls: [{name: terminal, args: {command: "while [ ! -e ../second ]; do sleep 0.05; done"}}]
      - text: Done. It talked.
  - when: 'wait for the end'
    steps:
      - calls: [{name: terminal, args: {command: "while [ ! -e ../third ]; do sleep 0.05; done"}}]
      - text: Done. It ended.
"#;

/// The list of agents, narrowed to one; Enter opens it.
fn open(term: &mut Term, goal: &str) {
    term.send("/agents\r").wait("─ Agents ─");
    term.send(goal).wait("1 of");
    term.send("\r").gone("─ Agents ─");
}

#[test]
fn a_child_is_read_written_to_taken_over_closed_and_stopped_in_a_tab() {
    let home = Home::empty();
    home.config("approvals: {mode: yolo}\n");
    let script = home.plays(TALKER);
    let signal = |name: &str| std::fs::write(home.project().parent().unwrap().join(name), "").unwrap();
    let mut term = Term::sized(&home, &["-m", &script], (120, 36));
    term.wait("❯");
    term.send("fan out\r").wait("● child 1 talk to the program").wait("● child 2 wait for the end");
    // Its tab: what runs in it runs there, and its terminal takes what is typed.
    open(&mut term, "talk to");
    term.wait("❯ talk to the program").wait("read line; echo got").wait("needs input").gone("■ stopped");
    term.send("\x1b[20~").wait("TAKEN OVER");
    term.send("hello\r").wait("got hello");
    term.send("\x1b[20~").gone("TAKEN OVER");
    // What is written goes to its running turn.
    term.wait("Enter sends to the running turn");
    term.send("also say more\r");
    signal("first");
    term.wait("❯ also say more");
    // Closed, it goes on for its parent, whose tab is as it was.
    term.send("\x18K").wait("delegate_task").wait("● child 1 talk to the program").wait("● child 2 wait for the end");
    term.gone("❯ also say more");
    signal("second");
    term.wait("✓ child 1 talk to the program").wait("● child 2");
    // The other one is stopped in its tab; that one stays open to go on, and the parent hears of it.
    open(&mut term, "wait for");
    term.wait("third");
    term.send("\x1b").wait("child 2 has ended").wait("■ stopped");
    term.send("\x1b[5;5~").wait("■ child 2 wait for the end").wait("✓ child 1").wait("Both are back.");
    term.quit();
}

const WRITERS: &str = r#"
scenes:
  - when: 'fan out'
    steps:
      - calls: [{name: delegate_task, args: {tasks: [{goal: make the file}]}}]
      - text: It is back.
  - when: 'make the file'
    steps:
      - calls: [{name: write_file, args: {path: made.txt, content: "child\n"}}]
      - text: Done. Made.
"#;

#[test]
fn the_sidebar_names_the_child_that_changed_a_file() {
    let home = Home::empty();
    home.config("approvals: {mode: yolo}\n");
    let script = home.plays(WRITERS);
    let mut term = Term::sized(&home, &["-m", &script], (120, 36));
    term.wait("❯");
    term.send("fan out\r").wait("✓ child 1").wait("made.txt").wait("by child 1");
    // A person has no name here, and what they did is said.
    until("the turn is over", || term.text().contains("─ "));
    std::fs::write(home.project().join("mine.txt"), "mine\n").unwrap();
    term.wait("mine.txt").wait("created");
    term.quit();
}

const ASKER: &str = r#"
scenes:
  - when: 'remove it'
    steps:
      - calls: [{name: terminal, args: {command: "rm -rf ../victim"}}]
      - text: It is gone.
  - when: 'hello'
    steps: [{text: Hello there.}]
"#;

#[test]
fn sessions_of_other_windows_are_listed_and_shown_in_their_window() {
    let home = Home::empty();
    home.config("approvals: {mode: ask}\n");
    std::fs::create_dir(home.project().parent().unwrap().join("victim")).unwrap();
    let script = home.plays(ASKER);
    let mut other = Term::sized(&home, &["-m", &script], (120, 36));
    other.wait("❯");
    other.send("remove it\r").wait("Approve a command");
    // Another tab of that window comes in view, so that it is seen which one is asked for.
    let mut term = Term::sized(&home, &["-m", &script], (120, 36));
    term.wait("❯");
    term.send("hello\r").wait("Hello there.");
    term.send("/agents\r").wait("needs an answer · other window").wait(&format!("process {}", other.pid()));
    // What waits comes first.
    term.send("\x1b[H\r").wait("“remove it”").wait("Runs in").wait("on /dev/");
    term.send("\x1b[B\r").wait("# remove it");
    term.send("\x1b").gone("# remove it");
    term.send("/agents\r").wait("other window");
    term.send("\x1b[H\r").wait("Show it in its window");
    term.send("\r").wait("it is in view in its window now");
    other.wait("Approve a command");
    // Over there it is closed: what was listed can be resumed here.
    other.kill();
    term.send("/agents\r").wait("─ Agents ─").gone("other window");
    term.send("\x1b").quit();
}

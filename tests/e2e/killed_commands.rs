//! A command that runs while the program is killed can be undone, and so can the commands that a fork carries.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::json;
use std::path::Path;

const CONFIG: &str = "approvals: {mode: yolo}\n";

fn run(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

fn read(project: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(project.join(name)).ok()
}

/// Ends it as a power loss would.
fn kill(mut term: Term) {
    let pid = rustix::process::Pid::from_raw(term.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    term.ended();
}

#[test]
fn a_command_that_ran_when_the_program_was_killed_is_undone() {
    let mock = Mock::start(vec![
        run("echo one >earlier"),
        run("echo bad >a; rm gone; mv here there; echo x >made; until [ -e never ]; do sleep 0.05; done"),
    ]);
    let home = Home::with(&mock, CONFIG);
    let project = home.project();
    for name in ["a", "gone", "here"] {
        std::fs::write(project.join(name), format!("{name}\n")).unwrap();
    }
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r");
    until("it has changed the files", || project.join("made").exists());
    kill(term);

    let mut term = Term::sized(&home, &["-c"], (120, 40));
    term.wait("❯").wait("go");
    // What it changed is found in the background.
    let database = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    let running =
        || database.query_row("SELECT count(*) FROM commands WHERE running = 1", [], |row| row.get::<_, i64>(0));
    until("it is settled", || running().is_ok_and(|count| count == 0));
    term.send("/undo-command\r").wait("echo bad").wait("there → here").wait("A gone").wait("M a").wait("D made");
    term.wait("Hermes was killed while it ran");
    let text = term.text();
    assert!(!text.contains("earlier"), "{text}");
    term.send("\x1b").gone("Undo a command");
    // A rewind covers it, too.
    term.send("/rewind\r").wait("Go back to a prompt").wait("D earlier").wait("A gone");
    term.send("\x1b").gone("Go back to a prompt");
    term.send("/undo-command\r").wait("echo bad").wait("restores 4 files");
    term.send("\r").gone("Undo a command");
    until("all is as it was", || {
        let as_before = ["a", "gone", "here"].iter().all(|name| read(&project, name) == Some(format!("{name}\n")));
        as_before && !project.join("made").exists() && !project.join("there").exists()
    });
    assert_eq!(read(&project, "earlier").as_deref(), Some("one\n"));
    let left = std::fs::read_dir(home.hermes().join("cache/trees")).unwrap().flatten();
    let runs = left.filter(|entry| entry.file_name().to_string_lossy().ends_with(".run")).count();
    assert!(runs <= 2, "{runs} files of folders as they were");
}

#[test]
fn a_command_whose_folder_was_not_saved_stays_with_a_word_of_that() {
    let mock = Mock::start(vec![run("echo bad >a; until [ -e never ]; do sleep 0.05; done")]);
    let home = Home::with(&mock, &format!("{CONFIG}checkpoints: {{baseline_bytes: 0}}\n"));
    let project = home.project();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r");
    until("it has changed a file", || project.join("a").exists());
    kill(term);
    let mut term = Term::sized(&home, &["-c"], (120, 40));
    term.wait("❯").wait("go");
    term.send("/undo-command\r").wait("echo bad").wait("what it changed");
    assert!(project.join("a").exists());
}

#[test]
fn a_fork_undoes_the_commands_that_it_carries_and_sees_what_its_parent_did_since() {
    let mock = Mock::start(vec![run("echo one >a; echo one >b; echo first"), Step::Text("all done".into())]);
    let home = Home::with(&mock, CONFIG);
    let project = home.project();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("steps ·").wait("Ctrl-P palette");
    term.send("/fork\r").wait("(fork)");
    // The parent goes on, in its tab.
    let other = Mock::start(vec![run("echo two >a; echo second"), Step::Text("parent went on".into())]);
    home.model(&other, CONFIG);
    let done = home.run(&["-p", "more", "--resume", "go"]);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(read(&project, "a").as_deref(), Some("two\n"));

    term.send("/undo-command\r").wait("echo first").wait("changed later by another session").wait("D b");
    term.send("\r").wait("skipped, changed elsewhere");
    until("the other file is gone", || read(&project, "b").is_none());
    assert_eq!(read(&project, "a").as_deref(), Some("two\n"));
    term.send("/redo\r");
    until("it is back", || read(&project, "b").as_deref() == Some("one\n"));
    term.send("/rewind\r").wait("Go back to a prompt").wait("D b");
}

//! What others change while a session works is told to the model once, in an entry of its own, and marked for the person.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::path::Path;

const YOLO: &str = "approvals: {mode: yolo}\n";

fn run(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

fn read(path: &str) -> Step {
    Step::Calls(String::new(), vec![call("read_file", json!({ "path": path }))])
}

/// All that the model was sent with the last request.
fn sent(mock: &Mock) -> String {
    mock.requests().last().map(|request| request["messages"].to_string()).unwrap_or_default()
}

/// The baseline of the project is there: from then on the watch knows everything.
fn watched(home: &Home) {
    let trees = home.hermes().join("cache");
    until("the folder is known", || find(&trees, "tree"));
}

fn find(folder: &Path, what: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let path = entry.path();
        path.is_dir() && find(&path, what) || path.is_file() && path.display().to_string().contains(what)
    })
}

/// The messages of each request begin with those of the one before it.
fn extends(requests: &[Value]) {
    for two in requests.windows(2) {
        let (before, after) = (two[0]["messages"].as_array().unwrap(), two[1]["messages"].as_array().unwrap());
        assert!(after.len() > before.len() && after[..before.len()] == before[..], "{two:?}");
    }
}

#[test]
fn an_outside_edit_between_steps_is_told_once_and_marked() {
    let mock = Mock::start(vec![
        read("src/main.rs"),
        run("echo mine >>src/lib.rs; echo ran"),
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "rm -rf build" }))]),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, "");
    let project = home.project();
    std::fs::write(project.join(".gitignore"), "*.log\n").unwrap();
    for (name, text) in [("src/main.rs", "fn main() {}\n"), ("src/lib.rs", ""), ("notes", "n"), ("build/x", "")] {
        std::fs::create_dir_all(project.join(name).parent().unwrap()).unwrap();
        std::fs::write(project.join(name), text).unwrap();
    }
    let mut term = Term::sized(&home, &[], (130, 40));
    term.wait("❯");
    term.send("go\r").wait("rm -rf build").wait("Esc: decide later");
    watched(&home);
    std::fs::write(project.join("src/main.rs"), "fn main() { changed() }\n").unwrap();
    std::fs::rename(project.join("notes"), project.join("notes.md")).unwrap();
    std::fs::create_dir_all(project.join("node_modules/x")).unwrap();
    std::fs::write(project.join("node_modules/x/i.js"), "x").unwrap();
    std::fs::write(project.join("server.log"), "x").unwrap();
    term.send("y").wait("Enter confirms");
    term.send("\r").wait("all done").wait("steps ·");
    let told = sent(&mock);
    assert_eq!(told.matches("src/main.rs was modified externally").count(), 1, "{told}");
    assert!(told.contains("notes.md (renamed from notes)"), "{told}");
    // Neither what its own commands did nor what programs make.
    assert!(!told.contains("lib.rs was") && !told.contains("server.log") && !told.contains("node_modules"), "{told}");
    extends(&mock.requests());
    term.wait("2 files were changed externally; the model was notified");
    term.wait("≠ src/main.rs").wait("≠ notes.md");

    // Between turns, too; and not again.
    std::fs::remove_file(project.join("src/main.rs")).unwrap();
    mock.push(vec![Step::Text("I see".into())]);
    term.send("and now?\r").wait("I see").wait("≠ src/main.rs");
    let told = sent(&mock);
    assert_eq!(told.matches("src/main.rs was removed externally").count(), 1, "{told}");
    assert_eq!(told.matches("src/main.rs was modified externally").count(), 1, "{told}");
    mock.push(vec![Step::Text("nothing new".into())]);
    term.send("again\r").wait("nothing new").gone("≠ ");
    assert_eq!(sent(&mock).matches("was removed externally").count(), 1);
    extends(&mock.requests());
}

#[test]
fn a_branch_and_a_commit_of_others_are_told_and_those_of_a_command_are_not() {
    let git = |folder: &Path, args: &[&str]| {
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
    };
    let mock = Mock::start(vec![
        run("git checkout -q -b mine && git checkout -q main && echo switched"),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, YOLO);
    let project = home.project();
    std::fs::write(project.join("a"), "a").unwrap();
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-q", "-m", "one"]);
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("steps ·");
    watched(&home);
    assert!(!sent(&mock).contains("externally"), "{}", sent(&mock));
    git(&project, &["commit", "-q", "--allow-empty", "-m", "two"]);
    mock.push(vec![Step::Text("a commit".into())]);
    term.send("and now?\r").wait("a commit");
    assert!(sent(&mock).contains("git HEAD moved externally on main"), "{}", sent(&mock));
    git(&project, &["checkout", "-q", "mine"]);
    mock.push(vec![Step::Text("a branch".into())]);
    term.send("and now?\r").wait("a branch").wait("switched externally to mine");
    let told = sent(&mock);
    assert!(
        told.contains("the git branch was switched externally to mine (was main); git status: mine, clean"),
        "{told}"
    );
}

#[test]
fn two_tabs_on_one_file_see_each_other() {
    let mock = Mock::start(vec![read("shared.txt"), Step::Text("first has read".into())]);
    let home = Home::with(&mock, YOLO);
    let project = home.project();
    std::fs::write(project.join("shared.txt"), "one\n").unwrap();
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("read it\r").wait("first has read").wait("steps ·");
    watched(&home);
    let write = call("write_file", json!({ "path": "shared.txt", "content": "two\n" }));
    mock.push(vec![Step::Calls(String::new(), vec![write]), Step::Text("second has written".into())]);
    term.send("\x18N").shows("a second tab", |text| text.lines().next().unwrap_or_default().contains('2'));
    term.send("write it\r")
        .shows("work or a question", |text| text.contains("second has written") || text.contains("another session"));
    if !term.text().contains("second has written") {
        term.send("\r").wait("second has written");
    }
    assert!(!sent(&mock).contains("externally"), "its own change is none of others");
    mock.push(vec![Step::Text("first has seen".into())]);
    term.send("\x1b1").wait("first has read");
    term.send("go on\r").wait("first has seen").wait("≠ shared.txt").wait("by write it");
    let told = sent(&mock);
    assert!(told.contains("shared.txt was modified by another session: “write it”"), "{told}");
    term.quit();
}

#[test]
fn with_the_setting_off_nothing_is_told() {
    let mock = Mock::start(vec![read("a"), Step::Text("has read".into())]);
    let home = Home::with(&mock, "checkpoints: {tell_changes: false}\n");
    std::fs::write(home.project().join("a"), "one\n").unwrap();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("has read").wait("steps ·");
    watched(&home);
    std::fs::write(home.project().join("a"), "two\n").unwrap();
    mock.push(vec![Step::Text("nothing seen".into())]);
    term.send("on\r").wait("nothing seen");
    assert!(!sent(&mock).contains("externally"));
}

#[test]
fn without_a_watch_the_files_that_were_read_are_compared() {
    let mock = Mock::start(vec![read("a"), run("echo x >>b; echo ran"), read("b"), Step::Text("has read".into())]);
    // The folder is not saved, and so not watched.
    let home = Home::with(&mock, "approvals: {mode: yolo}\ncheckpoints: {baseline_bytes: 0}\n");
    let project = home.project();
    for name in ["a", "b", "c"] {
        std::fs::write(project.join(name), "one\n").unwrap();
    }
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("has read").wait("steps ·");
    for name in ["a", "c"] {
        std::fs::write(project.join(name), "other\n").unwrap();
    }
    mock.push(vec![Step::Text("I see".into())]);
    term.send("on\r").wait("I see");
    let told = sent(&mock);
    assert!(told.contains("Note: a was modified externally"), "{told}");
    assert_eq!(told.matches("externally").count(), 1, "{told}");
}

#[test]
fn what_a_rewound_turn_knew_of_changes_is_told_again() {
    let mock = Mock::start(vec![read("told"), Step::Text("has read".into())]);
    let home = Home::with(&mock, YOLO);
    let project = home.project();
    for name in ["told", "a.txt"] {
        std::fs::write(project.join(name), "one\n").unwrap();
    }
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("begin\r").wait("has read").wait("steps ·");
    watched(&home);
    std::fs::write(project.join("told"), "two\n").unwrap();
    mock.push(vec![run("echo agent >>a.txt; echo ran"), Step::Text("appended".into())]);
    term.send("second\r").wait("appended");
    assert!(sent(&mock).contains("Note: told was modified externally"), "{}", sent(&mock));
    term.shows("two turns", |text| text.matches("steps ·").count() == 2);
    let appended = std::fs::read_to_string(project.join("a.txt")).unwrap() + "user\n";
    std::fs::write(project.join("a.txt"), appended).unwrap();
    std::fs::write(project.join("n.txt"), "n\n").unwrap();
    // Enter goes on once it is known what would happen.
    term.send("/rewind\r").wait("Go back to a prompt").wait("Left out of the conversation");
    term.send("\r").wait("nothing has changed yet");
    term.send("c").wait("▸ Conversation only");
    term.send("\r").gone("nothing has changed yet");
    mock.push(vec![Step::Text("I see".into())]);
    // The prompt came back to the composer.
    term.send("\x15third\r").wait("I see");
    let told = sent(&mock);
    for note in [
        "Note: told was modified externally",
        "a.txt was modified externally",
        "n.txt (created)",
        "no longer in this conversation changed these, and they were left so: a.txt (modified)",
    ] {
        assert_eq!(told.matches(note).count(), 1, "{note}: {told}");
    }
    mock.push(vec![Step::Text("nothing new".into())]);
    term.send("again\r").wait("nothing new");
    assert_eq!(sent(&mock).matches("externally").count(), told.matches("externally").count(), "once");
}

#[test]
fn an_idle_window_shows_what_others_change_and_counts_only_its_own_lines() {
    let write = json!({ "path": "a.txt", "content": "one\ntwo\n" });
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("write_file", write)]),
        run("echo ran"),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, YOLO);
    let project = home.project();
    std::fs::write(project.join("b.txt"), "b\n").unwrap();
    let mut term = Term::sized(&home, &[], (130, 40));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("steps ·").wait("+2 −0");
    watched(&home);
    let requests = mock.requests().len();
    // Nobody sends a prompt.
    std::fs::write(project.join("b.txt"), "others\n").unwrap();
    term.wait("≠ b.txt");
    std::fs::write(project.join("a.txt"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
    term.wait("≠ a.txt").shows("its own lines in one row", |text| {
        let rows: Vec<&str> = text.lines().filter(|row| row.contains("a.txt") && row.contains("+2 −0")).collect();
        rows.iter().filter(|row| row.contains("≠ a.txt")).count() == 1 && !text.contains("+5")
    });
    assert_eq!(mock.requests().len(), requests, "the model hears of it with the next prompt");
    mock.push(vec![Step::Text("I see".into())]);
    term.send("go on\r").wait("I see");
    let told = sent(&mock);
    assert!(told.contains("a.txt was modified externally") && told.contains("b.txt (modified)"), "{told}");
}

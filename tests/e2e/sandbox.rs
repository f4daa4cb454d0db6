//! The sandbox of commands: what it holds, what it says, and the one way around it. Skipped by name where the kernel lacks it.

use crate::harness::home::out;
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};

/// On the screen once a question takes answers: its keys have been quiet.
const AWAKE: &str = "Esc: decide later";

/// What `hermes doctor` says of it; `None`: this kernel cannot.
fn able(home: &Home, test: &str) -> bool {
    let report: Value = serde_json::from_str(&out(&home.run(&["doctor", "--json"]))).unwrap();
    let rows = report["checks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["check"] == "sandbox").expect("a row of its own");
    let can = row["status"] == "ok" && !row["found"].as_str().unwrap().contains("has no Landlock");
    if !can {
        crate::harness::skipped(test, &row.to_string());
    }
    can
}

fn run(home: &Home, command: &str) -> Value {
    let args = json!({ "command": command }).to_string();
    let done = home.run(&["tools", "run", "terminal", &args, "--yolo"]);
    serde_json::from_str(out(&done).trim()).unwrap_or_else(|error| panic!("{command}: {error}: {}", out(&done)))
}

#[test]
fn a_command_of_the_command_line_is_held_and_told_so() {
    let home = Home::empty();
    home.config("sandbox:\n  mode: workspace-write\n  network: off\n");
    if !able(&home, "a_command_of_the_command_line_is_held_and_told_so") {
        return;
    }
    let hooks = home.project().join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    let made = run(&home, "echo x > made && cat made");
    assert_eq!((&made["exit_code"], &made["output"], &made["sandbox"]), (&json!(0), &json!("x"), &Value::Null));
    for (command, blocked) in [
        ("echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit, which other programs run later"),
        ("cd .git && echo x > hooks/pre-commit", "hooks/pre-commit"),
        ("exec 3<>/dev/tcp/127.0.0.1/80", "the network, localhost included"),
        ("echo x > .envrc", ".envrc.sandboxed"),
    ] {
        let held = run(&home, command);
        let said = held["sandbox"].as_str().unwrap_or_default();
        assert!(said.contains(blocked) && said.contains("workspace-write, network off"), "{command}: {held}");
        assert!(held["note"].as_str().is_some_and(|note| note.contains("no one can approve here")), "{held}");
    }
    assert_eq!(std::fs::read_dir(&hooks).unwrap().count(), 0);
    assert!(!home.project().join(".envrc").exists() && home.project().join(".envrc.sandboxed").exists());
    home.config("sandbox: read-only\n");
    let held = run(&home, "echo x > other");
    assert!(held["sandbox"].as_str().is_some_and(|said| said.contains("read-only")), "{held}");
    assert!(!home.project().join("other").exists());
}

#[test]
fn a_person_sees_the_sandbox_and_may_run_a_command_again_without() {
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "echo one > first" }))]),
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "echo two > second" }))]),
        Step::Text("That is all.".into()),
    ]);
    let home = Home::with(&mock, "sandbox:\n  mode: read-only\n  network: off\n");
    if !able(&home, "a_person_sees_the_sandbox_and_may_run_a_command_again_without") {
        return;
    }
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯").wait("sandbox ro").wait("no net");
    term.send("write two files\r");
    term.wait("echo one > first").wait("the sandbox blocked writing").wait("Run again without the sandbox").wait(AWAKE);
    assert!(!home.project().join("first").exists());
    term.send("y").wait("Enter confirms");
    term.send("\r");
    until("the first file is written", || home.project().join("first").exists());
    term.wait("echo two > second").wait("Run again without the sandbox").wait(AWAKE);
    term.send("\r");
    until("the denial reached the model", || {
        mock.count() >= 3 || {
            // A denial may be given with words: Enter leaves them out.
            term.send("\r");
            false
        }
    });
    term.wait("That is all.");
    assert!(!home.project().join("second").exists());
    let last = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(last.contains("the user allowed a rerun without") && last.contains("the user keeps the sandbox"), "{last}");
}

#[test]
fn a_background_command_that_was_blocked_is_told_by_a_notice_and_a_row() {
    let background = json!({ "command": "sleep 0.1; echo x > made-in-background", "background": true });
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", background)]),
        Step::Text("It is on its way.".into()),
    ]);
    let home = Home::with(&mock, "sandbox: read-only\n");
    if !able(&home, "a_background_command_that_was_blocked_is_told_by_a_notice_and_a_row") {
        return;
    }
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("write it\r").wait("It is on its way.").wait("blocked writing");
    drop(term);
    assert!(!home.project().join("made-in-background").exists());
    // The row is an item of the session, written before the notice is shown.
    let database = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    let count = "SELECT count(*) FROM items WHERE CAST(body AS TEXT) LIKE '%the sandbox (read-only) blocked writing%'";
    assert_eq!(database.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[test]
fn what_a_command_leaves_running_is_watched_to_its_end() {
    let calls = vec![call("terminal", json!({ "command": "sh later.sh" }))];
    let mock = Mock::start(vec![Step::Calls(String::new(), calls), Step::Text("all-said".into())]);
    let home = Home::with(&mock, "approvals:\n  mode: \"off\"\nsandbox: workspace-write\n");
    if !able(&home, "what_a_command_leaves_running_is_watched_to_its_end") {
        return;
    }
    let project = home.project();
    std::fs::create_dir_all(project.join(".git/hooks")).unwrap();
    let script = "(until [ -e go ]; do sleep 0.05; done; echo x > .envrc) &\n";
    std::fs::write(project.join("later.sh"), script).unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯").wait("sandbox rw");
    term.send("go on\r").wait("all-said");
    std::fs::write(project.join("go"), "").unwrap();
    term.wait("blocked creating");
    until("it is put aside", || project.join(".envrc.sandboxed").exists());
    assert!(!project.join(".envrc").exists());
}

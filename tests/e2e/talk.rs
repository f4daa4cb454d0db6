//! Windows that talk: listed, asked, answered and brought to the front from another terminal; what a command of an agent asks
//! needs a yes. And two sessions in one checkout.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Ctrl-X N.
const NEW: &str = "\x18N";

fn windows(home: &Home) -> Vec<Value> {
    let done = home.run(&["windows", "--json"]);
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    report["windows"].as_array().unwrap().clone()
}

/// The sessions of the one window, with their states.
fn sessions(home: &Home) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = windows(home);
    let all = found.iter().flat_map(|window| window["sessions"].as_array().unwrap());
    all.map(|session| (text(&session["session"]), text(&session["state"]))).collect()
}

fn out(done: &std::process::Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr))
}

#[test]
fn a_window_is_listed_asked_answered_and_brought_to_the_front() {
    let mock = Mock::start(vec![
        Step::Text("hello from the first".into()),
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "rm -rf build" }))]),
        Step::Text("cleaned".into()),
        Step::Text("forty-two".into()),
    ]);
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    assert!(out(&home.run(&["windows"])).contains("no window is open"));
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    until("the window can be found", || sessions(&home).len() == 1);
    let run = home.hermes().join("run");
    let socket = std::fs::read_dir(&run).unwrap().flatten().find(|e| e.path().extension().is_some_and(|e| e == "sock"));
    assert_eq!(socket.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    term.send("hi\r").wait("hello from the first");
    let first = sessions(&home)[0].0.clone();
    term.send(NEW).shows("a second tab", |text| text.lines().next().is_some_and(|row| row.contains('2')));
    until("both are listed", || sessions(&home).len() == 2);
    let second = sessions(&home).into_iter().map(|(id, _)| id).find(|id| *id != first).unwrap();

    // The form is one line of JSON; who says that no more follows hears the reply all the same.
    let found = std::fs::read_dir(&run).unwrap().flatten().map(|entry| entry.path());
    let socket = found.into_iter().find(|path| path.extension().is_some_and(|e| e == "sock")).unwrap();
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    let call = format!("{{\"version\":{},\"request\":{{\"type\":\"status\"}}}}\n", hermes::protocol::VERSION);
    stream.write_all(call.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!((&reply["reply"]["type"], &reply["reply"]["data"]["sessions"]), (&json!("status"), &json!(2)));

    // A prompt, what it waits for, and the answer, all from the other terminal.
    let done = home.run(&["windows", "ask", &second, "clean up"]);
    assert!(done.status.success(), "{}", out(&done));
    term.wait("clean up").wait("Approve");
    until("it waits", || sessions(&home).contains(&(second.clone(), "needs_answer".into())));
    assert!(out(&home.run(&["windows"])).contains("rm -rf build"));
    assert!(home.project().join("build").exists());
    let done = home.run(&["windows", "answer", &second, "yes"]);
    assert!(!done.status.success() && out(&done).contains("--allow or --deny"), "{}", out(&done));
    assert!(!home.run(&["windows", "answer", &second, "--allow"]).status.success(), "an approval is named");
    let listed = windows(&home);
    let waiting = listed[0]["sessions"].as_array().unwrap().iter().find(|one| one["session"] == json!(second)).unwrap();
    let number = waiting["waiting"][0]["id"]["data"].to_string();
    let done = home.run(&["windows", "answer", &second, "--allow", "--number", &number]);
    assert!(done.status.success(), "{}", out(&done));
    term.wait("cleaned");
    assert!(!home.project().join("build").exists());

    // The answer comes back to who waits, and the tab is brought to the front.
    let done = home.run(&["windows", "ask", &first, "what is it?", "--wait"]);
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "forty-two", "{}", out(&done));
    let done = home.run(&["windows", "focus", &first]);
    assert!(done.status.success(), "{}", out(&done));
    term.wait("hello from the first").wait("forty-two");
    assert!(out(&home.run(&["windows", "focus", "nobody"])).contains("no open session with the id or title nobody"));
    term.quit();
    assert_eq!(term.ended(), 0);
    assert!(windows(&home).is_empty());
}

#[test]
fn what_a_command_of_an_agent_asks_of_a_window_needs_a_yes() {
    let hermes = env!("CARGO_BIN_EXE_hermes");
    // It drops the mark and its parents: it is known all the same.
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "sh ./look.sh" }))]),
        Step::Text("done".into()),
    ]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    let script =
        format!("setsid -f env -i HOME=$HOME HERMES_HOME=$HERMES_HOME {hermes} windows --json > listed\necho went\n");
    std::fs::write(home.project().join("look.sh"), script).unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    until("the window can be found", || sessions(&home).len() == 1);
    term.send("look around\r").wait("A command talks to this window");
    let listed = || std::fs::read_to_string(home.project().join("listed")).unwrap_or_default();
    assert_eq!(listed(), "", "nothing is told before a yes");
    // No is the default.
    term.wait("confirms");
    term.send("\r").gone("A command talks to this window");
    until("it ended without a window", || listed().contains("\"windows\": []"));
    term.quit();
}

#[test]
fn a_second_session_in_a_checkout_is_asked_where_it_works() {
    let git = |folder: &std::path::Path, args: &[&str]| {
        let done = Command::new("git").arg("-C").arg(folder).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", out(&done));
    };
    let mock = Mock::start(vec![Step::Text("hello".into()), Step::Text("over here".into())]);
    let home = Home::with(&mock, "");
    let project = home.project();
    git(&project, &["init", "-q"]);
    std::fs::write(project.join("a.txt"), "one").unwrap();
    git(&project, &["add", "."]);
    git(&project, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]);
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("hi\r").wait("hello");
    term.send(NEW).shows("a second tab", |text| text.lines().next().is_some_and(|row| row.contains('2')));
    until("who else is there is known", || sessions(&home).len() == 2);
    term.send("try something\r").wait("New worktree");
    // Keys count once the person could have read it.
    term.gone("keys are ignored");
    term.send("\x1b[B\r").wait("on branch hermes/").wait("try something");
    term.send("\r").wait("over here");
    let beside = |entry: &std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(&format!("{}-", project.file_name().unwrap().to_string_lossy()))
    };
    let made: Vec<_> =
        std::fs::read_dir(home.user().join(".hermes-worktrees")).unwrap().flatten().filter(beside).collect();
    assert_eq!(made.len(), 1);
    assert_eq!(std::fs::read_to_string(made[0].path().join("a.txt")).unwrap(), "one");
    let placed = |window: &Value| {
        let sessions = window["sessions"].as_array().unwrap().clone();
        sessions.iter().any(|session| session["cwd"] == json!(made[0].path().canonicalize().unwrap()))
    };
    assert!(windows(&home).iter().any(placed), "{:?}", windows(&home));
    term.quit();
}

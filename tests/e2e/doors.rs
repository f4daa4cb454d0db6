//! Doors through which calls come to the gate without a screen.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step};
use serde_json::Value;

/// The answer of a command that must end by itself, long before the time limit of a tool.
fn soon(home: &Home, args: &[&str]) -> std::process::Output {
    let child = home.command(args).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let (ended, end) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || ended.send(child.wait_with_output().unwrap()));
    let done = end.recv_timeout(std::time::Duration::from_secs(60)).unwrap_or_else(|_| {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("{args:?} never ended");
    });
    waiting.join().unwrap().unwrap();
    done
}

#[test]
fn every_headless_door_runs_a_command_and_comes_back() {
    let home = Home::empty();
    let long = r#"{"command":"for i in 1 2 3; do echo line $i; done; exit 3","timeout":100}"#;
    for (name, args, code, said) in [
        ("terminal", r#"{"command":"echo hi"}"#, 0, r#""exit_code":0"#),
        ("terminal", long, 1, r#""exit_code":3"#),
        ("terminal", r#"{"command":"echo hi","pty":true}"#, 0, "hi"),
        ("terminal", r#"{"command":"echo hi","background":true}"#, 0, "session_id"),
        ("tool_call", r#"{"name":"terminal","arguments":{"command":"echo hi"}}"#, 0, r#""exit_code":0"#),
    ] {
        let done = soon(&home, &["tools", "run", name, args]);
        assert_eq!(done.status.code(), Some(code), "{name} {args}: {}{}", out(&done), err(&done));
        let answer: Value = serde_json::from_str(out(&done).trim()).unwrap_or_else(|e| panic!("{name} {args}: {e}"));
        assert!(answer.to_string().contains(said), "{name} {args}: {answer}");
    }
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![("terminal".into(), serde_json::json!({"command": "echo hi"}))]),
        Step::Text("It said hi.".into()),
    ]);
    home.model(&mock, "");
    let done = soon(&home, &["-p", "greet"]);
    assert!(done.status.success() && out(&done).contains("It said hi."), "{}{}", out(&done), err(&done));
}

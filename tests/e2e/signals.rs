//! SIGTERM, SIGHUP and SIGINT: the terminal is given back, commands end, nothing is lost.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Modes, Step, Term, until};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

const SIGNALS: [Signal; 3] = [Signal::TERM, Signal::HUP, Signal::INT];

#[test]
fn signals_restore_the_terminal() {
    for signal in SIGNALS {
        let mock = Mock::start(vec![]);
        let home = Home::with(&mock, "");
        let mut term = Term::start(&home, &[]);
        term.wait("❯");
        term.signal(signal);
        term.ended();
        // The last bytes may still be on their way through the PTY.
        until(&format!("{signal:?} gives the terminal back"), || term.modes() == Modes::SHELL);
    }
}

/// A home whose model runs a command that never ends, with a child; the file that says which child.
fn running(args: &[&str]) -> (Mock, Home, std::process::Child, Pid) {
    let step = Step::Calls("I run it.".into(), vec![call("terminal", json!({ "command": "sh run.sh" }))]);
    let mock = Mock::start(vec![step]);
    let home = Home::with(&mock, "");
    std::fs::write(home.project().join("run.sh"), "sleep 304 &\necho $! > pid\necho begun\nsleep 303\n").unwrap();
    let child = home.command(args).spawn().unwrap();
    let file = home.project().join("pid");
    until("the command runs", || std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
    let pid = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    (mock, home, child, Pid::from_raw(pid).unwrap())
}

#[test]
fn a_signal_ends_an_answer_without_a_screen_in_order() {
    for (signal, output) in SIGNALS.into_iter().zip(["json", "stream-json", "text"]) {
        let (_mock, home, child, command) = running(&["-p", "run the thing", "--output", output]);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(130), "{signal:?}: {}", err(&done));
        until("the command's child is gone", || test_kill_process(command).is_err());

        let text = out(&done);
        match output {
            "text" => assert_eq!(text, ""),
            _ => {
                let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                let last = lines.last().unwrap();
                assert_eq!(last["termination_reason"], "stopped", "{last}");
                assert_eq!(last["tool_calls"][0]["status"], "interrupted", "{last}");
                assert_eq!(lines.len() == 1, output == "json");
            }
        }
        // The session is there, whole, and can be gone on with.
        let listed: Value = serde_json::from_str(&out(&home.run(&["sessions", "list", "--json"]))).unwrap();
        let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
        let exported = out(&home.run(&["sessions", "export", &id, "--format", "jsonl"]));
        assert!(exported.contains("run the thing") && exported.contains("interrupted"), "{exported}");
        let more = home.run(&["-r", &id, "-p", "and now?"]);
        assert_eq!((out(&more).as_str(), more.status.code()), ("done\n", Some(0)), "{}", err(&more));
    }
}

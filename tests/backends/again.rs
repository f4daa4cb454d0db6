//! Work that goes on on another machine when the program ends, and is found again by the next one.

use crate::harness::engine::IMAGE;
use crate::harness::mock::call;
use crate::harness::sshd::runs;
use crate::harness::{Engine, Home, Mock, Sshd, Step, Term, skipped, until};
use serde_json::{Value, json};
use std::path::Path;

/// A home whose commands run over ssh.
fn ssh_home(sshd: &Sshd, mock: &Mock) -> Home {
    let home = Home::empty();
    let words = sshd.client_config().display().to_string();
    let terminal = format!("terminal:\n  backend: ssh\n  ssh_host: there\n  ssh_extra_args: [-F, {words}]\n");
    home.model(mock, &terminal);
    home
}

/// A program at a screen whose model makes one call a prompt.
struct Run<'a> {
    term: Term,
    mock: &'a Mock,
    calls: usize,
}

impl<'a> Run<'a> {
    fn start(home: &Home, mock: &'a Mock, args: &[&str]) -> Self {
        let term = Term::sized(home, &[&["--yolo"], args].concat(), (140, 45));
        term.wait("❯");
        Self { term, mock, calls: 0 }
    }

    fn call(&mut self, name: &str, args: Value) -> Value {
        self.calls += 1;
        let done = format!("call-{}-of-{}-done.", self.calls, self.term.pid());
        self.mock.push(vec![Step::Calls(String::new(), vec![call(name, args)]), Step::Text(done.clone())]);
        self.term.send("go\r").wait(&done).wait("Ask anything");
        let last = self.mock.requests().pop().unwrap();
        let messages = last["messages"].as_array().unwrap();
        let answer = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
        serde_json::from_str(answer["content"].as_str().unwrap()).unwrap()
    }

    fn begins(&mut self, line: &str) -> String {
        let started = self.call("terminal", json!({ "command": line, "background": true }));
        started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
    }
}

fn registered(home: &Home) -> Vec<Value> {
    let text = std::fs::read_to_string(home.hermes().join("processes.json")).unwrap_or_default();
    let contents: Value = serde_json::from_str(&text).unwrap_or_default();
    contents["processes"].as_array().cloned().unwrap_or_default()
}

fn number(file: &Path) -> u32 {
    until("its number", || std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')));
    std::fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// Prints until it is told to end.
const SERVER: &str = "echo $$ >pid; echo first-words; until [ -e go ]; do sleep 0.05; done; echo last-words; exit 4";

fn server(test: &str) -> Option<(Sshd, Mock)> {
    match Sshd::start() {
        Ok(sshd) => Some((sshd, Mock::start(vec![]))),
        Err(why) => {
            skipped(test, &why);
            None
        }
    }
}

#[test]
fn work_over_ssh_is_found_after_a_crash_followed_and_ended() {
    let Some((sshd, mock)) = server("work_over_ssh_is_found_after_a_crash_followed_and_ended") else { return };
    let home = ssh_home(&sshd, &mock);
    let mut run = Run::start(&home, &mock, &[]);
    run.begins(SERVER);
    let server = number(&sshd.home().join("pid"));
    until("it is in the register", || registered(&home).len() == 1);
    let far = registered(&home)[0]["far"].clone();
    assert_eq!((&far["kind"], &far["label"]), (&json!("ssh"), &json!("ssh there")), "{far}");
    let folder = far["folder"].as_str().unwrap().to_owned();
    assert!(Path::new(&folder).join("log").is_file(), "{folder}");
    run.term.kill();
    let term = Term::sized(&home, &[], (140, 45));
    let mut term = term;
    term.wait("is still running on ssh there, from an earlier session");
    assert!(runs(server), "it outlived the program");
    // What it printed before is read again from its log there, and what comes is followed.
    term.send("\x14").wait("on ssh there").wait("no typing").wait("first-words");
    std::fs::write(sshd.home().join("go"), "").unwrap();
    term.wait("last-words").wait("✗ 4");
    until("it is forgotten", || registered(&home).is_empty());
    until("nothing of it is left there", || !Path::new(&folder).exists());
    term.quit();
    // Told once.
    let term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    assert!(!term.text().contains("ssh there, from"), "{}", term.text());
}

#[test]
fn work_over_ssh_that_goes_on_after_quit_can_be_ended_by_the_next_program() {
    let test = "work_over_ssh_that_goes_on_after_quit_can_be_ended_by_the_next_program";
    let Some((sshd, mock)) = server(test) else { return };
    let home = ssh_home(&sshd, &mock);
    let mut run = Run::start(&home, &mock, &[]);
    let id = run.begins("echo $$ >pid; echo it-is-up; exec sleep 600");
    let server = number(&sshd.home().join("pid"));
    run.term.send("\x04").wait("Still running").wait("killed");
    run.term.send(" ").wait("keeps running");
    run.term.send("\r").ended();
    until("it says what goes on", || String::from_utf8_lossy(&run.term.raw()).contains("on ssh there"));
    assert!(runs(server) && registered(&home).len() == 1);
    // The agent of the resumed session finds it by its id.
    let mut run = Run::start(&home, &mock, &["-c"]);
    run.term.wait("is still running on ssh there, from an earlier session");
    // Its output comes over the link.
    run.term.send("\x14").wait("no typing").shows("its output", |text| text.matches("it-is-up").count() >= 2);
    let log = run.call("process", json!({ "action": "log", "session_id": id }));
    assert_eq!(
        (&log["on"], &log["detached"], &log["output"]),
        (&json!("ssh there"), &json!(true), &json!("it-is-up")),
        "{log}"
    );
    run.call("process", json!({ "action": "kill", "session_id": id }));
    until("it is ended there", || !runs(server));
    until("and forgotten", || registered(&home).is_empty());
}

#[test]
fn work_that_ended_meanwhile_is_told_once_with_its_code() {
    let Some((sshd, mock)) = server("work_that_ended_meanwhile_is_told_once_with_its_code") else { return };
    let home = ssh_home(&sshd, &mock);
    let mut run = Run::start(&home, &mock, &[]);
    let id = run.begins(SERVER);
    let server = number(&sshd.home().join("pid"));
    until("it is in the register", || registered(&home).len() == 1);
    run.term.kill();
    std::fs::write(sshd.home().join("go"), "").unwrap();
    until("it ends", || !runs(server));
    let mut run = Run::start(&home, &mock, &["-c"]);
    until("it is forgotten", || registered(&home).is_empty());
    let ended = run.call("process", json!({ "action": "log", "session_id": id }));
    assert_eq!((&ended["exit_code"], &ended["output"]), (&json!(4), &json!("first-words\nlast-words")), "{ended}");
}

#[test]
fn a_machine_that_is_away_is_named_and_asked_again_when_somebody_looks() {
    let test = "a_machine_that_is_away_is_named_and_asked_again_when_somebody_looks";
    let Some((sshd, mock)) = server(test) else { return };
    let home = ssh_home(&sshd, &mock);
    let mut run = Run::start(&home, &mock, &[]);
    let id = run.begins(SERVER);
    number(&sshd.home().join("pid"));
    until("it is in the register", || registered(&home).len() == 1);
    let folder = registered(&home)[0]["far"]["folder"].as_str().unwrap().to_owned();
    run.term.kill();
    sshd.cut();
    let mut run = Run::start(&home, &mock, &["-c"]);
    run.term.wait("and may still be running");
    let asked = run.call("process", json!({ "action": "poll", "session_id": id }));
    let why = asked["elsewhere"].as_str().unwrap_or_else(|| panic!("{asked}"));
    assert!(why.contains("on ssh there") && why.contains(&folder), "{why}");
    assert_eq!(asked["status"], "unknown", "{asked}");
    let killed = run.call("process", json!({ "action": "kill", "session_id": id }));
    assert!(killed["error"].as_str().is_some_and(|why| why.contains("on ssh there")), "{killed}");
    // Leaving does not drop it, and asks nothing about it.
    run.term.quit();
    assert_eq!(run.term.ended(), 0);
    assert_eq!(registered(&home).len(), 1);
    let mut run = Run::start(&home, &mock, &["-c"]);
    run.term.wait("and may still be running");
    sshd.mend();
    run.term.send("\x14").wait("is still running on ssh there, from an earlier session").wait("first-words");
    run.term.send("\x1b[20~").wait("no typing");
    run.term.send("K").wait("Kill a command");
    run.term.send("y\r");
    until("it is forgotten", || registered(&home).is_empty());
}

#[test]
fn work_in_a_container_is_found_again_and_none_is_made_to_look_for_it() {
    let test = "work_in_a_container_is_found_again_and_none_is_made_to_look_for_it";
    let mock = Mock::start(vec![]);
    let home = Home::empty();
    let engine = match Engine::find(&home.hermes()) {
        Ok(engine) => engine,
        Err(why) => return skipped(test, &why),
    };
    let terminal = format!(
        "terminal:\n  backend: podman\n  docker_program: {}\n  docker_image: {IMAGE}\n  docker_network: false\n",
        engine.program()
    );
    home.model(&mock, &terminal);
    let workspace = home.hermes().join("sandboxes/docker/default/workspace");
    let mut run = Run::start(&home, &mock, &[]);
    run.begins(SERVER);
    number(&workspace.join("pid"));
    until("it is in the register", || registered(&home).len() == 1);
    run.term.kill();
    let mut run = Run::start(&home, &mock, &[]);
    run.term.wait("is still running on podman hermes-test, from an earlier session");
    run.term.send("\x14").wait("first-words");
    std::fs::write(workspace.join("go"), "").unwrap();
    run.term.wait("last-words").wait("✗ 4");
    until("it is forgotten", || registered(&home).is_empty());
    // Its container goes with it: nothing is left to look at, and none is made for that.
    std::fs::remove_file(workspace.join("go")).unwrap();
    std::fs::remove_file(workspace.join("pid")).unwrap();
    run.begins(SERVER);
    number(&workspace.join("pid"));
    until("it is in the register", || registered(&home).len() == 1);
    run.term.kill();
    for name in engine.containers() {
        engine.run(&["rm", "-f", "-t", "0", &name]).unwrap();
    }
    let run = Run::start(&home, &mock, &[]);
    run.term.wait("exited (exit status unknown)");
    until("it is forgotten", || registered(&home).is_empty());
    assert_eq!(engine.containers(), [] as [String; 0]);
}

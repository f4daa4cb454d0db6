//! Commands that wait for input: passwords that nobody else sees, questions, and whose the keyboard is.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const SECRET: &str = "open-sesame-4711";

fn terminal(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

/// The result of the last tool call that the model was told.
fn told(mock: &Mock) -> Value {
    let requests = mock.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    serde_json::from_str(result["content"].as_str().unwrap()).unwrap()
}

/// Files below a folder that hold these bytes.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                let bytes = std::fs::read(entry.path()).unwrap_or_default();
                if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                    found.push(entry.path().display().to_string());
                }
            }
        }
    }
    found
}

/// Processes whose words hold this text.
fn saying(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let words = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    words.map(|words| String::from_utf8_lossy(&words).into_owned()).filter(|words| words.contains(text)).collect()
}

/// The secret is in no file of this home, in no process and in nothing that the model got.
fn is_nowhere(home: &Home, mock: &Mock, term: &Term) {
    let root = home.hermes().parent().unwrap().parent().unwrap().to_owned();
    assert_eq!(holding(&root, SECRET), [] as [String; 0]);
    assert_eq!(saying(SECRET), [] as [String; 0]);
    assert!(!mock.requests().iter().any(|request| request.to_string().contains(SECRET)));
    assert!(!String::from_utf8_lossy(&term.raw()).contains(SECRET));
}

#[test]
fn a_password_is_typed_into_a_masked_field_and_seen_nowhere() {
    // It stays until the secret was looked for.
    let command = "read -r -s -p 'pass: ' x; echo; echo length-${#x}; until [ -e over ]; do sleep 0.05; done";
    // The command itself has the word `done`.
    let mock = Mock::start(vec![terminal(command), Step::Text("all-is-said".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("ask me\r").wait("asks for a password").wait("pass:").wait("Ctrl-C no answer");
    term.send(SECRET).wait(&"•".repeat(SECRET.len()));
    assert!(!term.text().contains("sesame"));
    is_nowhere(&home, &mock, &term);
    term.send("\r").gone("asks for a password").wait(&format!("length-{}", SECRET.len()));
    is_nowhere(&home, &mock, &term);
    std::fs::write(home.project().join("over"), "").unwrap();
    term.wait("all-is-said");
    let result = told(&mock);
    assert!(result["output"].as_str().unwrap().contains(&format!("length-{}", SECRET.len())), "{result}");
    assert_eq!(result["note"], "the user typed into this command's terminal");
    // A prompt that is recalled later, the history and the store are on disk by now.
    term.quit().ended();
    is_nowhere(&home, &mock, &term);
}

#[test]
fn sudo_asks_by_its_helper_and_what_ran_is_told() {
    let mock = Mock::start(vec![terminal("sudo echo it-is-in")]);
    let mut home = Home::with(&mock, "");
    let bin = home.project().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = -n ] && exit 1\n[ \"$1\" = -A ] && shift\n\
         [ \"$(\"$SUDO_ASKPASS\" '[sudo] password for ada:')\" = {SECRET} ] && exec \"$@\"\nexit 1\n"
    );
    // The stand-in knows the password, so the search has to leave it out.
    let outside = tempfile::tempdir().unwrap();
    let program = outside.path().join("sudo");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.set("PATH", &format!("{}:{}", outside.path().display(), std::env::var("PATH").unwrap_or_default()));
    // Started from a shell, as a person does: this PATH comes before that of a login.
    home.set("SHLVL", "1");
    let mut term = Term::start(&home, &["--yolo"]);
    term.wait("❯");
    term.send("be root\r").wait("asks for a password").wait("says: “[sudo] password for ada:”");
    term.wait("Ctrl-C no answer");
    term.send(SECRET).wait(&"•".repeat(SECRET.len()));
    term.send("\r").wait("done");
    let result = told(&mock);
    assert_eq!((&result["output"], &result["ran"]), (&json!("it-is-in"), &json!("sudo -A echo it-is-in")));
    // The line that was judged and kept is the model's own.
    assert!(mock.requests().last().unwrap()["messages"].to_string().contains("sudo echo it-is-in"));
    is_nowhere(&home, &mock, &term);
}

#[test]
fn the_agent_answers_a_command_that_waits_for_input() {
    let mock = Mock::start(vec![terminal("read -p 'your name? ' x; echo hello-$x > greeting")]);
    let home = Home::with(&mock, "terminal:\n  on_input: ask-agent\n");
    let mut term = Term::start(&home, &["--yolo"]);
    term.wait("❯");
    term.send("begin\r").wait("done");
    let result = told(&mock);
    assert_eq!((&result["waiting_for_input"], &result["exit_code"]), (&json!(true), &json!(null)), "{result}");
    assert!(result["output"].as_str().unwrap().contains("your name?"), "{result}");
    let answer = json!({ "action": "submit", "session_id": result["session_id"], "data": "ada" });
    mock.push(vec![Step::Calls(String::new(), vec![call("process", answer)]), Step::Text("all-answered".into())]);
    term.send("go on\r").wait("all-answered");
    let greeting = home.project().join("greeting");
    until("the command went on", || std::fs::read_to_string(&greeting).is_ok_and(|text| text == "hello-ada\n"));
}

#[test]
fn the_person_is_asked_when_they_want_to_be() {
    let mock = Mock::start(vec![terminal("read -p 'your name? ' x; echo hello-$x")]);
    let home = Home::with(&mock, "terminal:\n  on_input: ask-user\n");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("begin\r").wait("bash asks").wait("Ctrl-C no answer");
    // Put aside and back; what is typed is shown.
    term.send("\x1b").wait("reopens the field");
    term.send("\x1bOS").wait("Ctrl-C no answer");
    term.send("ada").wait("❯ ada");
    term.send("\r").wait("done");
    assert!(told(&mock)["output"].as_str().unwrap().contains("hello-ada"));
}

#[test]
fn the_agent_waits_while_the_person_has_the_keys() {
    let command = "read -p 'one? ' a; read -p 'two? ' b; echo $a-$b";
    let step = Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))]);
    let mock = Mock::start(vec![step]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("ask me\r").wait("needs input");
    term.send("\x1b[20~").wait("returns");
    term.send("ada\r").wait("two?");
    term.send("eve\r").wait("done");
    let result = told(&mock);
    assert_eq!(result["exit_code"], 0, "{result}");
    assert!(result["output"].as_str().unwrap().contains("ada-eve"), "{result}");
    assert_eq!(result["note"], "the user typed into this command's terminal");
}

#[test]
fn a_run_without_a_person_waits_for_nothing() {
    let line = "printf 'protocol=https\\nhost=git.example\\n\\n' | git -c credential.helper= credential fill; read -p 'x? ' x; echo code-$?";
    let mock = Mock::start(vec![terminal(line)]);
    let home = Home::with(&mock, "");
    let done = home.run(&["--yolo", "-p", "go"]);
    assert!(done.status.success(), "{}", crate::harness::home::err(&done));
    let output = told(&mock)["output"].as_str().unwrap().to_owned();
    assert!(output.contains("no one can answer") && output.contains("code-1"), "{output}");
}

#[test]
#[cfg(target_os = "linux")]
fn su_in_a_session_of_its_own_asks_by_the_masked_field() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    // The superuser is not asked.
    let user = if rustix::process::geteuid().is_root() { "setpriv --reuid=65534 --clear-groups " } else { "" };
    if !has("su") || !has("setsid") || !user.is_empty() && !has("setpriv") {
        return crate::harness::skipped("e2e::waits::su_in_a_session_of_its_own", "su, setsid or setpriv is missing");
    }
    for how in ["", "setsid -w ", "setsid "] {
        let mock = Mock::start(vec![terminal(&format!("{user}{how}su -c id")), Step::Text("all-is-said".into())]);
        let home = Home::with(&mock, "approvals:\n  mode: \"off\"\n");
        let mut term = Term::start(&home, &[]);
        term.wait("❯");
        term.send("be root\r").wait("asks for a password").wait("Password:").wait("Ctrl-C no answer");
        term.send(SECRET).wait(&"•".repeat(SECRET.len()));
        term.send("\r").gone("asks for a password");
        // Without `-w` its command is over by then, and the pane has closed.
        if how != "setsid " {
            term.wait("Authentication failure");
        }
        term.wait("all-is-said");
        is_nowhere(&home, &mock, &term);
    }
}

//! Sessions that the real agents make now, with their packages: read and taken over. `tests/fixtures/agents/install.sh`
//! installs them into a folder that `HERMES_TEST_AGENTS` names; what is not there is skipped by name.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, skipped};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An agent makes a session in this home; `false`, with a word, when it is not installed.
fn session(test: &str, home: &Home, agent: &str, program: &str) -> bool {
    let folder = std::env::var_os("HERMES_TEST_AGENTS").map(PathBuf::from).unwrap_or_default();
    if folder.as_os_str().is_empty() || !folder.join(program).exists() {
        skipped(test, &format!("{agent} is not installed (tests/fixtures/agents/install.sh installs it)"));
        return false;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents/sessions.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(agent).arg(folder).arg(home.user()).arg(home.project());
    let made = command.output().unwrap();
    assert!(made.status.success(), "{agent}: {}", err(&made));
    true
}

fn goes_on(test: &str, agent: &str, program: &str) {
    let mock = Mock::start(vec![Step::Text("going on".into())]);
    let home = Home::empty();
    if !session(test, &home, agent, program) {
        return;
    }
    home.model(&mock, "");
    let listed = out(&home.run(&["sessions", "elsewhere", "--json"]));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let sessions = listed["sessions"].as_array().unwrap();
    let folder = home.project().display().to_string();
    assert_eq!((sessions.len(), sessions[0]["cwd"].as_str()), (1, Some(folder.as_str())), "{listed}");
    assert!(sessions[0]["prompt"].as_str().unwrap().contains("Print the file a.txt"), "{listed}");
    let said = home.run(&["-p", "which file was it?", "--resume", &format!("@{agent}")]);
    assert_eq!(out(&said).trim(), "going on", "{}", err(&said));
    let sent = mock.requests().pop().unwrap()["messages"].clone();
    let all = sent.as_array().unwrap();
    let call = all.iter().find_map(|message| message["tool_calls"].as_array()).unwrap();
    let result = all.iter().find(|message| message["role"] == "tool").unwrap();
    assert_eq!(call[0]["function"]["name"], "terminal", "{sent}");
    assert!(call[0]["function"]["arguments"].as_str().unwrap().contains("cat a.txt"), "{sent}");
    assert!(result["content"].to_string().contains("two") && result["tool_call_id"] == call[0]["id"], "{sent}");
    let text = sent.to_string();
    assert_eq!(text.matches("The file has two lines.").count(), 2, "{sent}");
    assert!(text.contains("And how many lines are that?") && text.contains("which file was it?"), "{sent}");
}

#[test]
fn a_session_that_codex_makes_goes_on() {
    goes_on("a_session_that_codex_makes_goes_on", "codex", "node_modules/.bin/codex");
}

#[test]
fn a_session_that_claude_code_makes_goes_on() {
    goes_on("a_session_that_claude_code_makes_goes_on", "claude", "node_modules/.bin/claude");
}

#[test]
fn a_session_that_opencode_makes_goes_on() {
    goes_on("a_session_that_opencode_makes_goes_on", "opencode", "node_modules/.bin/opencode");
}

#[test]
fn a_session_that_pi_makes_goes_on() {
    goes_on("a_session_that_pi_makes_goes_on", "pi", "node_modules/.bin/pi");
}

#[test]
fn a_session_that_python_hermes_makes_goes_on() {
    goes_on("a_session_that_python_hermes_makes_goes_on", "hermes-py", "venv/bin/hermes");
}

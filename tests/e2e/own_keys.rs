//! What the program keeps of its own (keys, its environment, its memory) is out of reach of the commands that it runs.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step};
use serde_json::json;
use std::process::Command;

/// A key by its name, one that only the configuration calls a key, and the login of another agent.
const KEYS: [(&str, &str); 3] = [
    ("OPENROUTER_API_KEY", "sk-or-of-the-environment-1"),
    ("WORK_LLM", "work-value-of-the-environment-2"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "login-of-the-environment-3"),
];

/// What a command that means us harm tries, each with the file that it leaves.
const TRIES: [(&str, &str); 6] = [
    ("environ", "tr '\\0' '\\n' < /proc/$PPID/environ > environ"),
    ("maps", "cat /proc/$PPID/maps > maps"),
    ("mem", "exec 3< /proc/$PPID/mem && echo open > mem"),
    ("fds", "ls /proc/$PPID/fd > fds"),
    ("gcore", "gcore -o core $PPID && mv core.* gcore; [ -s gcore ]"),
    ("gdb", "gdb -batch -p $PPID -ex 'info proc' 2>&1 | grep -q '^process' && echo attached > gdb"),
];

fn home(mock: &Mock) -> Home {
    let mut home = Home::with(
        mock,
        "approvals:\n  mode: \"off\"\nproviders:\n  lab:\n    base_url: http://127.0.0.1:9/v1\n    key_env: WORK_LLM\n",
    );
    for (name, value) in KEYS {
        home.set(name, value);
    }
    home
}

fn steps() -> Vec<Step> {
    let lines = TRIES.iter().map(|(_, line)| (*line).to_owned()).chain(["env > own-env".to_owned()]);
    let calls = lines.map(|line| call("terminal", json!({ "command": line })));
    calls.map(|call| Step::Calls(String::new(), vec![call])).chain([Step::Text("all tried".into())]).collect()
}

/// Runs one conversation in which all of it is tried. `as_user`: as one without any right.
fn tried(as_user: bool) -> Option<Home> {
    let mock = Mock::start(steps());
    let home = home(&mock);
    let mut command = home.command(&["-p", "try", "--yolo"]);
    if as_user {
        let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(home.user().parent().unwrap()).status();
        let mut dropped = Command::new("setpriv");
        dropped.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(crate::harness::binary());
        dropped.args(["-p", "try", "--yolo"]).env_clear().envs(home.environment()).current_dir(home.project());
        if !owned.is_ok_and(|done| done.success()) || dropped.output().is_err() {
            crate::harness::skipped("own_keys", "no setpriv here");
            return None;
        }
    } else {
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    assert!(mock.count() > TRIES.len(), "not all was tried: {}", mock.count());
    Some(home)
}

fn left(home: &Home, name: &str) -> String {
    let bytes = std::fs::read(home.project().join(name)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Root may look into every process: what is then found in our environment is no key.
#[test]
fn our_keys_are_in_no_environment_that_a_command_can_read() {
    let Some(home) = tried(false) else { return };
    for (name, value) in KEYS {
        assert!(!left(&home, "environ").contains(value), "{name} stands in our environment");
    }
    let own = left(&home, "own-env");
    assert!(own.contains("PATH="), "{own}");
    for (name, value) in &KEYS[..2] {
        assert!(!own.contains(value), "{name} stands in a command's environment");
    }
    // The login of another agent goes on to commands, as ever.
    assert!(own.contains(KEYS[2].1), "{own}");
}

#[test]
fn a_command_of_the_same_user_reads_nothing_of_ours_and_attaches_to_nothing() {
    if !rustix::process::geteuid().is_root() {
        let Some(home) = tried(false) else { return };
        return nothing_was_read(&home);
    }
    if let Some(home) = tried(true) {
        nothing_was_read(&home);
    }
}

fn nothing_was_read(home: &Home) {
    assert!(left(home, "own-env").contains("PATH="));
    for (name, line) in TRIES {
        assert_eq!(left(home, name), "", "{line}");
    }
}

/// The keys still work: the model is asked with the one that the environment holds.
#[test]
fn a_key_of_the_environment_reaches_the_provider_and_nobody_else() {
    let mock = Mock::start(vec![Step::Text("hello".into())]);
    let mut home = Home::empty();
    home.config(&format!(
        "model:\n  default: mock-model\n  provider: lab\n  context_length: 200000\nproviders:\n  lab:\n    base_url: {}/v1\n    key_env: WORK_LLM\n",
        mock.url()
    ));
    home.set("WORK_LLM", "work-value-of-the-environment-2");
    let ran = home.command(&["-p", "hi"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(mock.keys(), ["Bearer work-value-of-the-environment-2"]);
}

//! One gate for every door: each way to run something is tried with what is refused, asked about, denied by a rule and
//! free, and with everything that a model could send to loosen the gate.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::{Value, json};

/// The ways by which a command or a stranger's tool comes to run. `tidy::processes_start_in_few_places` keeps new ones
/// from being opened unnoticed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Door {
    Foreground,
    Background,
    Pty,
    /// Through `tool_call`.
    Indirect,
    /// `process write` into a running shell.
    Typed,
    /// `process submit` into a running shell.
    Submitted,
    /// `process send_keys` into a running shell.
    Keys,
    /// `hermes tools run`.
    CommandLine,
    /// `!command` in the composer.
    Person,
    /// A tool of an MCP server: what it does is not known, so the call itself is what is judged.
    Server,
    /// A tool of a plugin, likewise.
    Plugin,
}

impl Door {
    /// Each after the one before: a new door has its place here, or this does not compile.
    fn next(self) -> Option<Self> {
        match self {
            Door::Foreground => Some(Door::Background),
            Door::Background => Some(Door::Pty),
            Door::Pty => Some(Door::Indirect),
            Door::Indirect => Some(Door::Typed),
            Door::Typed => Some(Door::Submitted),
            Door::Submitted => Some(Door::Keys),
            Door::Keys => Some(Door::CommandLine),
            Door::CommandLine => Some(Door::Person),
            Door::Person => Some(Door::Server),
            Door::Server => Some(Door::Plugin),
            Door::Plugin => None,
        }
    }

    fn all() -> impl Iterator<Item = Self> {
        std::iter::successors(Some(Door::Foreground), |door| door.next())
    }
}

/// Every tool of the program, with a call that needs no question and what that call is to the gate. A new tool fails the test
/// below until it stands here.
const TOOLS: &[(&str, &str, Gated)] = &[
    ("agents", r#"{"action":"list"}"#, Gated::Own),
    ("checkpoint", r#"{"name":"before"}"#, Gated::Own),
    ("clarify", r#"{"question":"which?"}"#, Gated::Own),
    ("delegate_task", r#"{"goal":"x"}"#, Gated::Own),
    ("execute_code", r#"{"code":"import os; os.system('rm -rf build')"}"#, Gated::Script),
    ("patch", r#"{"path":".git/hooks/pre-commit","old_string":"a","new_string":"b"}"#, Gated::Path),
    ("plan_mode", r#"{"action":"enter"}"#, Gated::Own),
    ("process", r#"{"action":"list"}"#, Gated::Own),
    ("read_file", r#"{"path":".env"}"#, Gated::Path),
    ("restore", r#"{"name":"before"}"#, Gated::Path),
    ("search_files", r#"{"pattern":"x","file_glob":"id_rsa"}"#, Gated::Path),
    ("session_search", r#"{"query": "x"}"#, Gated::Own),
    ("terminal", r#"{"command":"rm -rf build"}"#, Gated::Line),
    ("todo", "{}", Gated::Own),
    ("tool_call", r#"{"name":"terminal","arguments":{"command":"rm -rf build"}}"#, Gated::Line),
    ("tool_describe", r#"{"name":"terminal"}"#, Gated::Own),
    ("tool_search", r#"{"query":"files"}"#, Gated::Own),
    ("write_file", r#"{"path":".git/hooks/pre-commit","content":"x"}"#, Gated::Path),
];

/// Every action of `process`, and what it is to the gate.
const ACTIONS: &[(&str, Gated)] = &[
    ("close", Gated::Own),
    ("hand_over", Gated::Own),
    ("kill", Gated::Own),
    ("list", Gated::Own),
    ("log", Gated::Own),
    ("poll", Gated::Own),
    ("resize", Gated::Own),
    // Judged as the command that it starts again; here there is none.
    ("restart", Gated::Own),
    ("screen", Gated::Own),
    ("send_keys", Gated::Line),
    ("signal", Gated::Own),
    ("submit", Gated::Line),
    ("wait", Gated::Own),
    ("write", Gated::Line),
];

/// What a call is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gated {
    /// It touches the agent's own state, or what the agent itself has started.
    Own,
    /// By its path.
    Path,
    /// By its line of shell.
    Line,
    /// By its text.
    Script,
}

/// What is tried: a line that only this home's owner would miss, if the gate failed.
#[derive(Clone, Copy, Debug)]
enum Try {
    Refused,
    Asked,
    Denied,
    Free,
}

const DENY: &str = "approvals:\n  deny: [\"*made-by-denied*\", \"mcp__t__odd*\", \"plugin__p__odd*\"]\n";

impl Try {
    fn line(self) -> &'static str {
        match self {
            // The home of this test is a folder of its own.
            Try::Refused => "rm -rf ~",
            Try::Asked => "rm -rf build",
            Try::Denied => "touch made-by-denied",
            Try::Free => "touch made-by-free",
        }
    }
}

/// Words that other programs take as a permission; a model may send them all.
fn loosened(mut args: Value) -> Value {
    for name in ["force", "approved", "yolo", "skip_approval", "dangerously_skip_permissions"] {
        args[name] = json!(true);
    }
    args["env"] = json!({ "HERMES_YOLO_MODE": "1", "HERMES_EXEC_ASK": "0" });
    args["mode"] = json!("off");
    args
}

/// The calls that bring `line` through a door; the last one is judged.
fn calls(door: Door, line: &str) -> Vec<(String, Value)> {
    let shell = || call("terminal", json!({ "command": "sh", "background": true, "pty": true }));
    let terminal = |more: Value| {
        let mut args = loosened(json!({ "command": line }));
        for (name, value) in more.as_object().unwrap() {
            args[name] = value.clone();
        }
        args
    };
    match door {
        Door::Foreground => vec![call("terminal", terminal(json!({})))],
        Door::Background => vec![call("terminal", terminal(json!({ "background": true })))],
        Door::Pty => vec![call("terminal", terminal(json!({ "pty": true })))],
        Door::Indirect => vec![call("tool_call", json!({ "name": "terminal", "arguments": terminal(json!({})) }))],
        Door::Typed => {
            let typed = loosened(json!({ "action": "write", "session_id": "PROCESS", "data": format!("{line}\n") }));
            vec![shell(), call("process", typed)]
        }
        Door::Submitted => {
            vec![
                shell(),
                call("process", loosened(json!({ "action": "submit", "session_id": "PROCESS", "data": line }))),
            ]
        }
        Door::Keys => {
            let keys = json!({ "action": "send_keys", "session_id": "PROCESS", "keys": [line, "Enter"] });
            vec![shell(), call("process", loosened(keys))]
        }
        Door::Server => vec![call(stranger("mcp__t__", line), json!({ "text": line }))],
        Door::Plugin => vec![call(stranger("plugin__p__", line), json!({ "text": line }))],
        Door::CommandLine | Door::Person => Vec::new(),
    }
}

/// A stranger's tool can't be judged by its words: the rule denies one by name, the other is asked about.
fn stranger(prefix: &str, line: &str) -> &'static str {
    match (prefix, line == Try::Denied.line()) {
        ("mcp__t__", false) => "mcp__t__echo",
        ("mcp__t__", true) => "mcp__t__odd_name",
        (_, false) => "echo",
        (_, true) => "odd",
    }
}

fn home() -> Home {
    let home = Home::empty();
    std::fs::create_dir_all(home.project().join("build")).unwrap();
    std::fs::write(home.user().join("kept"), "x").unwrap();
    home
}

/// A plugin with two tools that only answer.
const PLUGIN: &str = r#"#!/bin/sh
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    tool() { printf '{"name":"%s","description":"says it again","parameters":{"type":"object","properties":{}}}' "$1"; }
    case $line in
    *'"method":"initialize"'*) result="{\"protocol\":1,\"tools\":[$(tool echo),$(tool odd)]}" ;;
    *'"method":"tool.call"'*) result='{"content":"the plugin ran"}' ;;
    *'"method":"shutdown"'*) exit 0 ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp-server.sh");

fn config() -> String {
    format!(
        "mcp_discovery_timeout: 30\nplugins:\n  enabled: [p]\nmcp_servers:\n  t:\n    command: bash\n    args: [{SERVER}, good]\n{DENY}"
    )
}

fn with_plugin(home: &Home) {
    let folder = home.hermes().join("plugins/p");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("plugin.yaml"), "name: p\nversion: 1.0.0\ndescription: Echo\n").unwrap();
    std::fs::write(folder.join("run.sh"), PLUGIN).unwrap();
}

/// The word of the gate for each call of a headless run, in order: `blocked`, or what came of it.
fn headless(home: &Home, mode: &[&str], tried: &[(String, Value)]) -> Vec<Value> {
    let step = |call: &(String, Value)| Step::Calls(String::new(), vec![call.clone()]);
    let mock = Mock::start(tried.iter().map(step).chain([Step::Text("Done.".into())]).collect());
    home.model(&mock, &config());
    let done = home.run(&[mode, &["-p", "go"]].concat());
    assert!(out(&done).contains("Done."), "{}{}", out(&done), err(&done));
    let last = mock.requests().pop().unwrap();
    let messages = last["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let seen = |message: &Value| {
        let text = message["content"].as_str().unwrap();
        serde_json::from_str(text).unwrap_or_else(|_| json!({ "content": text }))
    };
    messages.map(seen).collect()
}

#[test]
fn every_door_leads_through_the_gate() {
    for (mode, asks) in [(&[][..], true), (&["--yolo"][..], false)] {
        let home = home();
        with_plugin(&home);
        let mut tried: Vec<(Door, Try, (String, Value))> = Vec::new();
        for door in Door::all().filter(|door| !matches!(door, Door::CommandLine | Door::Person)) {
            for what in [Try::Refused, Try::Asked, Try::Denied, Try::Free] {
                // Under yolo a question is a yes, and what it was about would be done.
                if !asks && matches!(what, Try::Asked)
                    || matches!((door, what), (Door::Server | Door::Plugin, Try::Refused))
                {
                    continue;
                }
                let judged = calls(door, what.line()).pop().unwrap();
                tried.push((door, what, judged));
            }
        }
        let order: Vec<(String, Value)> = tried.iter().map(|(_, _, call)| call.clone()).collect();
        let seen = headless(&home, mode, &order);
        assert_eq!(seen.len(), tried.len(), "{seen:?}");
        for ((door, what, call), seen) in tried.iter().zip(&seen) {
            // What a process is that does not run nobody knows, like what a stranger's tool does.
            let stranger = matches!(door, Door::Server | Door::Plugin | Door::Typed | Door::Submitted | Door::Keys);
            let blocked = match what {
                Try::Refused | Try::Asked | Try::Denied => true,
                Try::Free => stranger && asks,
            };
            assert_eq!(seen["status"] == "blocked", blocked, "{mode:?} {door:?} {what:?} {call:?}: {seen}");
        }
        for kept in [home.user().join("kept"), home.project().join("build")] {
            assert!(kept.exists(), "{} is gone", kept.display());
        }
        assert!(!home.project().join("made-by-denied").exists());
        assert!(home.project().join("made-by-free").exists());
    }
}

#[test]
fn every_tool_and_every_action_is_known_to_this_test_and_judged_as_it_says() {
    let home = home();
    std::fs::create_dir_all(home.project().join(".git/hooks")).unwrap();
    for (name, text) in [(".git/hooks/pre-commit", "a"), (".env", "KEY=1"), ("id_rsa", "x")] {
        std::fs::write(home.project().join(name), text).unwrap();
    }
    let listed: Value = serde_json::from_str(&out(&home.run(&["tools", "list", "--json"]))).unwrap();
    let mut names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, TOOLS.iter().map(|(name, ..)| *name).collect::<Vec<_>>(), "a tool without its line here");
    let schema: Value = serde_json::from_str(&out(&home.run(&["tools", "schema", "process", "--json"]))).unwrap();
    let enumerated = schema["tool"]["parameters"]["properties"]["action"]["enum"].as_array().unwrap();
    let mut actions: Vec<&str> = enumerated.iter().map(|action| action.as_str().unwrap()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ACTIONS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "an action without its line here");
    let judged = |name: &str, args: &str| {
        let done = home.run(&["approvals", "test", "--json", "--tool", name, "--args", args]);
        let told: Value = serde_json::from_str(&out(&done)).unwrap_or_else(|_| json!({ "verdict": err(&done) }));
        told["verdict"].as_str().unwrap().to_owned()
    };
    for (name, args, gated) in TOOLS {
        // The agent's own tools are planned in a conversation only.
        if matches!(*name, "agents" | "clarify" | "delegate_task" | "restore" | "session_search" | "todo") {
            assert!(judged(name, args).contains("conversation"), "{name}");
            continue;
        }
        let want = if *gated == Gated::Own { "allow" } else { "ask" };
        assert_eq!(judged(name, args), want, "{name} {args}");
    }
    for (action, gated) in ACTIONS {
        let typed = "rm -rf build";
        let (keys, size) = ([typed, "Enter"], 80);
        let mut args = json!({ "action": action, "session_id": "proc_0", "data": typed, "signal": "USR1" });
        (args["keys"], args["columns"], args["rows"]) = (json!(keys), json!(size), json!(size));
        let args = args.to_string();
        assert_eq!(judged("process", &args), if *gated == Gated::Own { "allow" } else { "ask" }, "{action}");
    }
}

#[test]
fn the_command_line_is_a_door_like_the_others() {
    let home = home();
    home.config(DENY);
    for (what, mode, code) in [
        (Try::Refused, "manual", 2),
        (Try::Refused, "--yolo", 2),
        (Try::Asked, "manual", 2),
        (Try::Denied, "manual", 2),
        (Try::Denied, "--yolo", 2),
        (Try::Free, "manual", 0),
    ] {
        let args = loosened(json!({ "command": what.line() })).to_string();
        let mut call = vec!["tools", "run", "terminal", args.as_str()];
        call.extend(Some(mode).filter(|mode| mode.starts_with("--")));
        let done = home.run(&call);
        assert_eq!(done.status.code(), Some(code), "{what:?} {mode}: {}{}", out(&done), err(&done));
    }
    assert!(home.user().join("kept").exists() && home.project().join("build").exists());
    assert!(!home.project().join("made-by-denied").exists() && home.project().join("made-by-free").exists());
}

#[test]
fn a_person_has_no_door_of_their_own() {
    let mock = Mock::start(Vec::new());
    let home = home();
    home.model(&mock, DENY);
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    for (what, said) in
        [(Try::Refused, "refused"), (Try::Denied, "denied by the user's rule"), (Try::Free, "touch made-by-free")]
    {
        term.send(&format!("!{}\r", what.line())).wait(said);
    }
    crate::harness::until("the free one ran", || home.project().join("made-by-free").exists());
    term.send(&format!("!{}\r", Try::Asked.line())).wait("Approve");
    assert!(home.user().join("kept").exists() && home.project().join("build").exists());
    assert!(!home.project().join("made-by-denied").exists());
}

//! `hermes hooks`, and what a hook that fails means.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};

fn script(home: &Home, name: &str, text: &str) {
    std::fs::write(home.project().join(name), text).unwrap();
}

#[test]
fn hooks_are_listed_accepted_and_revoked() {
    let home = Home::empty();
    home.config(
        "hooks:\n  PreToolUse:\n  - matcher: Bash\n    command: sh guard.sh\n    timeout: 5\n  subagent_stop:\n  - command: bell\n  Stopp:\n  - command: x\n",
    );
    script(&home, "guard.sh", "exit 0\n");
    let rows = || -> Vec<Value> {
        let listed = home.run(&["hooks", "list", "--json"]);
        let all: Value = serde_json::from_str(&out(&listed)).unwrap();
        all["hooks"].as_array().unwrap().clone()
    };
    let state = |rows: &[Value]| -> Vec<String> {
        rows.iter()
            .map(|row| format!("{} {}", row["event"].as_str().unwrap(), row["state"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(state(&rows()), ["pre_tool_call not approved", "subagent_stop not approved"]);
    assert_eq!(rows()[0]["matcher"], "Bash");
    assert_eq!(rows()[0]["timeout"], 5.0);
    assert_eq!(rows()[1]["reached"], false);
    let listed = home.run(&["hooks", "list"]);
    assert_eq!(listed.status.code(), Some(1), "an event that does not exist is a problem");
    assert!(err(&listed).contains("hooks.Stopp: no such event; did you mean Stop"), "{}", err(&listed));
    assert!(err(&listed).contains("subagent_stop is not triggered yet"), "{}", err(&listed));
    assert!(out(&listed).contains("pre_tool_call on Bash  sh guard.sh  [not approved: run: hermes hooks accept]"));

    let accepted = home.run(&["hooks", "accept"]);
    assert!(out(&accepted).contains("allowed: PreToolUse sh guard.sh"), "{}", out(&accepted));
    assert_eq!(state(&rows()), ["pre_tool_call allowed", "subagent_stop allowed"]);
    script(&home, "guard.sh", "exit 2\n");
    assert!(rows()[0]["detail"].as_str().unwrap().contains("its script changed since approval"));
    let revoked = home.run(&["hooks", "revoke"]);
    assert!(out(&revoked).contains("revoked 2"), "{}", out(&revoked));
    assert_eq!(state(&rows()), ["pre_tool_call not approved", "subagent_stop not approved"]);
}

/// A hook that crashes, is not there, hangs or talks nonsense lets the call pass, with a row and a warning; a guard that
/// does blocks it.
#[test]
fn a_hook_that_fails_lets_pass_and_a_guard_does_not() {
    for (command, why) in [
        ("echo oops >&2; exit 1", "exit 1: oops"),
        ("./gone.sh", "exit 127"),
        ("sleep 600", "timed out after 0.3 s"),
        ("echo '{nonsense'", "its answer is not JSON"),
    ] {
        for guards in [false, true] {
            let mock = Mock::start(vec![
                Step::Calls(String::new(), vec![call("terminal", json!({"command": "touch made"}))]),
                Step::Text("done".into()),
            ]);
            let on_error = if guards { "block" } else { "allow" };
            let home = Home::with(
                &mock,
                &format!(
                    "hooks_auto_accept: true\nhooks:\n  pre_tool_call:\n  - command: {}\n    timeout: 0.3\n    on_error: {on_error}\n",
                    json!(command)
                ),
            );
            let done = home.run(&["-p", "go", "--output", "stream-json"]);
            let all = out(&done);
            assert_eq!(home.project().join("made").exists(), !guards, "{command}: {all}");
            let messages = mock.requests()[1]["messages"].to_string();
            assert_eq!(messages.contains("it is required to pass"), guards, "{command}: {messages}");
            let row = all.lines().find(|line| line.contains("\"hook\"")).unwrap_or_default();
            assert!(row.contains("failed: ") && row.contains(why), "{command}: {all}");
            let warned =
                (all + &err(&done)).contains("a hook failed and blocked nothing (`on_error: block` changes that)");
            assert_eq!(warned, !guards, "{command}: {}", err(&done));
        }
    }
}

/// A plugin's guard goes on guarding when the plugin is off.
#[test]
fn a_plugins_guard_blocks_when_the_plugin_is_gone() {
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({"command": "touch made"}))]),
        Step::Text("done".into()),
    ]);
    let home = Home::with(&mock, "plugins:\n  enabled: [guard]\n");
    let dir = home.hermes().join("plugins/guard");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("plugin.yaml"), "name: guard\n").unwrap();
    let hello = r#"{"protocol":1,"hooks":[{"event":"pre_tool_call","matcher":"terminal","on_error":"block"}]}"#;
    // The first question ends it for good.
    let run = format!("read -r line\necho '{{\"id\":1,\"result\":{hello}}}'\nread -r line\nyes rubbish\n");
    std::fs::write(dir.join("run.sh"), run).unwrap();
    let done = home.run(&["-p", "go"]);
    assert!(!home.project().join("made").exists(), "{}", err(&done));
    let messages = mock.requests()[1]["messages"].to_string();
    assert!(messages.contains("the hook plugin guard failed") && messages.contains("it is required to pass"));
    mock.push(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({"command": "touch made"}))]),
        Step::Calls(String::new(), vec![call("terminal", json!({"command": "touch made"}))]),
        Step::Text("done".into()),
    ]);
    home.run(&["-p", "go"]);
    assert!(!home.project().join("made").exists());
}

/// Agent-level tools, then hooks, through the whole program.
#[test]
fn hooks_do_not_see_the_agents_own_tools() {
    let todo = json!({"todos": [{"id": "1", "content": "look", "status": "pending"}]});
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("todo", todo)]),
        Step::Calls(String::new(), vec![call("read_file", json!({"path": "x"}))]),
        Step::Text("done".into()),
    ]);
    let home =
        Home::with(&mock, "hooks_auto_accept: true\nhooks:\n  pre_tool_call:\n  - command: echo no >&2; exit 2\n");
    home.run(&["-p", "go"]);
    let last = |request: usize| {
        let messages = mock.requests()[request]["messages"].as_array().unwrap().clone();
        messages.last().unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert!(!last(1).contains("blocked by a hook"), "{}", last(1));
    assert!(last(2).contains("blocked by a hook: no"), "{}", last(2));
    // Called directly there is no agent whose state they could work on.
    let direct = home.run(&["tools", "run", "todo", "{}"]);
    assert!(out(&direct).contains("Error executing todo: its state belongs to the agent"), "{}", out(&direct));
    assert_eq!(direct.status.code(), Some(1));
}

#[test]
fn a_failing_hook_on_the_screen() {
    let mock = Mock::start(vec![Step::Text("hello back".into())]);
    let home =
        Home::with(&mock, "hooks_auto_accept: true\nhooks:\n  prompt_submitted:\n  - command: echo oops >&2; exit 1\n");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("hello\r");
    term.wait("failed: exit 1: oops")
        .wait("hello back")
        .wait("a hook failed and blocked nothing (`on_error: block` changes that)");
}

/// Every event of the page that can happen does, in one conversation of a person.
#[test]
fn every_event_happens() {
    let terminal = |args: Value| Step::Calls(String::new(), vec![call("terminal", args)]);
    let mock = Mock::start(vec![
        Step::Error(400, r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#.into(), None),
        terminal(json!({"command": "rm -rf build && echo cleaned-up"})),
        terminal(json!({"command": "echo bye-bye", "background": true, "notify_on_complete": true})),
        Step::Text("all done here".into()),
    ]);
    let events: Vec<(&str, bool)> = hermes::plugins::event::EVENTS.iter().map(|row| (row.name, row.reached)).collect();
    let mut config = String::from("hooks_auto_accept: true\nhooks:\n");
    for (name, _) in &events {
        config
            .push_str(&format!("  {name}:\n  - command: cat >> \"$HOME/seen.jsonl\"; echo >> \"$HOME/seen.jsonl\"\n"));
    }
    let home = Home::with(&mock, &config);
    let seen = || -> std::collections::BTreeSet<String> {
        let text = std::fs::read_to_string(home.user().join("seen.jsonl")).unwrap_or_default();
        let names = text.split("\"hook_event_name\":\"").skip(1).filter_map(|rest| rest.split('"').next());
        names.map(str::to_owned).collect()
    };
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("too long\r");
    until("the request fails", || seen().contains("api_request_error") && seen().contains("turn_end"));
    term.send("clean up\r");
    term.wait("Approve").wait("rm -rf build");
    term.gone("keys are ignored for a moment");
    term.send("y");
    term.send("\r");
    term.wait("all done here");
    until("the process ends", || seen().contains("process_exit"));
    // The end of the process begins a turn of its own, which may still run.
    term.send("/clear\r");
    until("a session or a question", || {
        seen().contains("on_session_reset") || term.text().contains("A turn is running")
    });
    if !seen().contains("on_session_reset") {
        term.send("y\r");
    }
    until("a new session", || seen().contains("on_session_reset"));
    term.quit().ended();
    let wanted: std::collections::BTreeSet<String> =
        events.iter().filter(|(_, reached)| *reached).map(|(name, _)| (*name).to_owned()).collect();
    let missing: Vec<&String> = wanted.iter().filter(|name| !seen().contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(seen().is_subset(&wanted), "{:?}", seen());
}

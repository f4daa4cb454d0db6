//! Work that the agent gives to children: they work at once, ask through one inbox, can be opened, and end with their parent.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A script whose scenes are found by the prompts of parent and children.
const SCRIPT: &str = r#"
chunk: 200
scenes:
  - when: 'fan out'
    steps:
      - calls:
          - name: delegate_task
            args:
              tasks:
                - {goal: look at the file, context: it is seed.txt}
                - {goal: wait for the signal}
                - {goal: remove the folder}
      - text: All three are back.
  - when: 'look at the file'
    steps:
      - calls: [{name: read_file, args: {path: seed.txt}}]
      - text: Done. It holds a seed.
  - when: 'wait for the signal'
    steps:
      - calls: [{name: terminal, args: {command: "while [ ! -e ../signal ]; do sleep 0.05; done; echo heard"}}]
      - text: Done. I heard it.
  - when: 'remove the folder'
    steps:
      - calls: [{name: terminal, args: {command: "rm -rf ../victim"}}]
      - text: Done. It is gone.
"#;

fn scripted() -> (Home, PathBuf) {
    let home = Home::empty();
    home.config("approvals: {mode: ask}\n");
    let script = home.hermes().join("children.yaml");
    std::fs::write(&script, SCRIPT).unwrap();
    std::fs::write(home.project().join("seed.txt"), "a seed\n").unwrap();
    (home, script)
}

fn model(script: &std::path::Path) -> String {
    format!("scripted:{}", script.display())
}

#[test]
fn three_children_work_at_once_and_one_asks_in_the_inbox_of_its_parent() {
    let (home, script) = scripted();
    let victim = home.project().parent().unwrap().join("victim");
    std::fs::create_dir(&victim).unwrap();
    let mut term = Term::sized(&home, &["-m", &model(&script)], (120, 36));
    term.wait("❯");
    term.send("fan out\r").wait("Approve a command").wait("by the agent child 3");
    // Each has its row: one is done, one works, one waits for the person.
    term.wait("✓ child 1 look at the file").wait("completed").wait("● child 2 wait for the signal");
    term.wait("⚠ child 3 remove the folder").wait("needs an answer");
    assert!(victim.exists());
    term.gone("keys are ignored for a moment");
    term.send("y").wait("Enter confirms");
    term.send("\r").wait("✓ child 3");
    assert!(!victim.exists());
    std::fs::write(home.project().parent().unwrap().join("signal"), "").unwrap();
    term.wait("All three are back.").wait("3 completed");
    // What the model got: a summary of each, in the order of the tasks, that starts with its status.
    term.send("/agents\r").wait("Agents").wait("child 2: wait for the signal");
    term.send("look at").send("\r").gone("Agents").wait("Done. It holds a seed.");
    term.send("\x1b[5;5~").quit();
    let shown = out(&home.run(&["sessions", "list"]));
    assert!(shown.contains("fan out") && !shown.contains("look at the file"), "{shown}");
    let found = out(&home.run(&["sessions", "search", "seed on:child"]));
    assert!(found.contains("look at the file"), "{found}");
}

#[test]
fn a_child_gets_no_more_than_its_parent_has() {
    let give = call("delegate_task", json!({ "goal": "read the web", "toolsets": ["web"] }));
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![give]), Step::Text("I see.".into())]);
    let home = Home::with(&mock, "");
    assert_eq!(out(&home.run(&["-p", "go"])), "I see.\n");
    let refused = mock.requests()[1]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(refused.contains("there is no toolset web here; there are: ") && refused.contains("file"), "{refused}");
}

#[test]
fn a_child_is_told_its_goal_and_lacks_what_only_its_parent_has() {
    let give = call("delegate_task", json!({ "goal": "count the words", "context": "they are in words.txt" }));
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![give]),
        Step::Text("Done. There are 7 words.".into()),
        Step::Text("The child counted.".into()),
    ]);
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "go", "--output", "json"]);
    let envelope: Value = serde_json::from_str(&out(&done)).unwrap_or_else(|_| panic!("{}", err(&done)));
    assert_eq!(envelope["result"], "The child counted.");
    let requests = mock.requests();
    let child = requests[1].to_string();
    for part in ["count the words", "they are in words.txt", "You work for another agent"] {
        assert!(child.contains(part), "no {part}: {child}");
    }
    let names = |request: &Value| -> Vec<String> {
        let tools = request["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&requests[0]).contains(&"delegate_task".to_owned()), "{:?}", names(&requests[0]));
    for name in ["clarify", "delegate_task", "agents", "restore"] {
        assert!(!names(&requests[1]).contains(&name.to_owned()), "{name} in {:?}", names(&requests[1]));
    }
    let result = requests[2]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["results"][0]["summary"], "Done. There are 7 words.");
    let status = result["results"][0]["status"].as_str().unwrap();
    assert!(status.starts_with("completed in ") && status.contains("1 step"), "{status}");
}

#[test]
fn a_stop_ends_the_whole_tree() {
    let sleep = format!("sleep 1000.{}", std::process::id());
    let tasks = json!({ "tasks": [{"goal": "one"}, {"goal": "two"}, {"goal": "three"}, {"goal": "four"}] });
    let run = || Step::Calls(String::new(), vec![call("terminal", json!({ "command": sleep }))]);
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("delegate_task", tasks)]),
        run(),
        run(),
        run(),
        Step::Text("never asked for".into()),
    ]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    let mut term = Term::sized(&home, &[], (120, 36));
    term.wait("❯");
    term.send("go\r").wait("○ child 4 four").wait("waiting");
    until("all three sleep", || running(&sleep) == 3);
    term.send("\x1b").wait("stopped");
    until("nothing sleeps", || running(&sleep) == 0);
    // Nothing was asked of the model since, and the fourth never began.
    assert_eq!(mock.count(), 4);
    term.quit();
    assert_eq!(mock.count(), 4);
}

/// Processes with this command line.
pub fn running(line: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let words: Vec<&str> = line.split(' ').collect();
    all.filter(|entry| {
        let read = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let args: Vec<String> =
            read.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
        args.iter().map(String::as_str).filter(|arg| !arg.is_empty()).eq(words.iter().copied())
    })
    .count()
}

#[test]
fn a_question_beside_the_turn_is_answered_and_forgotten_and_a_session_begins_behind() {
    let slow = Step::Slow("working on it ".repeat(60), std::time::Duration::from_millis(40));
    let mock = Mock::start(vec![slow, Step::Text("Because of the seed.".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 36));
    term.wait("❯");
    term.send("go\r").wait("working on it");
    term.send("/btw why so slow\r").wait("By the way").wait("Because of the seed.");
    term.send("\x1b").gone("By the way");
    let requests = mock.requests();
    // The same beginning, so that the provider's cache holds it.
    assert_eq!(requests[0]["messages"][0], requests[1]["messages"][0]);
    assert_eq!(requests[0]["tools"], requests[1]["tools"]);
    assert!(requests[1]["messages"].to_string().contains("why so slow"));
    mock.push(vec![Step::Text("Done behind.".into())]);
    term.send("/background look around\r").wait("started in tab 2");
    until("the second session asks", || mock.count() == 3);
    let behind = mock.requests()[2]["messages"].to_string();
    assert!(behind.contains("look around") && !behind.contains("why so slow"), "{behind}");
    term.send("\x1b[6;5~").wait("Done behind.");
}

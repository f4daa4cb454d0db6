//! Brakes: a budget that stops a whole tree and asks once, modes that can't be left by a side door, tools that are not lent on.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::time::Duration;

fn calls(name: &str, args: Value) -> Step {
    Step::Calls(String::new(), vec![call(name, args)])
}

/// Far more than any budget here allows.
fn flood() -> Step {
    Step::Paced("word ".repeat(40_000), 20)
}

#[test]
fn a_budget_stops_the_whole_tree_and_asks_once() {
    let tasks = json!({ "tasks": [{ "goal": "write one" }, { "goal": "write two" }] });
    let mock = Mock::start(vec![calls("delegate_task", tasks), flood(), flood()]);
    let home = Home::with(&mock, "budget:\n  session: {hard_tokens: 40000}\n");
    let mut term = Term::sized(&home, &[], (110, 40));
    term.wait("What shall we work on?");
    term.send("go\r").wait("The budget of this session").wait("Raise by");
    until("both children were asked for", || mock.count() == 3);
    term.gone("keys are ignored for a moment");
    // One question for all of them, and a no ends all of them.
    term.send("3").gone("Raise by").wait("─ stopped").gone("(F4)");
    assert_eq!(mock.count(), 3, "no request is sent any more");
    term.quit();
}

#[test]
fn a_run_says_what_its_children_did_and_were_refused() {
    let tasks = json!({ "tasks": [{ "goal": "write the file" }, { "goal": "remove the folder" }] });
    let home = Home::empty();
    home.config("approvals: {mode: ask}\n");
    std::fs::create_dir(home.project().parent().unwrap().join("victim")).unwrap();
    let script = home.hermes().join("run.yaml");
    let yaml = format!(
        "scenes:\n  - when: '\\Ago\\b'\n    steps:\n      - calls: [{{name: delegate_task, args: {tasks}}}]\n      - text: Both are back.\n  \
         - when: 'write the file'\n    steps:\n      - calls: [{{name: write_file, args: {{path: kid.txt, content: x}}}}]\n        \
         usage: {{input: 500, output: 50}}\n      - text: Done.\n  \
         - when: 'remove the folder'\n    steps:\n      - calls: [{{name: terminal, args: {{command: rm -rf ../victim}}}}]\n      - text: It was refused.\n"
    );
    std::fs::write(&script, yaml).unwrap();
    let model = format!("scripted:{}", script.display());
    let done = home.run(&["-p", "go", "-m", &model, "--output", "json"]);
    let envelope: Value = serde_json::from_str(&out(&done)).unwrap_or_else(|_| panic!("{}", err(&done)));
    assert_eq!((envelope["termination_reason"].as_str(), done.status.code()), (Some("denied"), Some(2)), "{envelope}");
    assert_eq!(envelope["denied"][0]["by"], "child 2");
    assert!(envelope["denied"][0]["why"].as_str().is_some_and(|why| !why.is_empty()), "{envelope}");
    assert!(envelope["files_changed"].to_string().contains("kid.txt"), "{envelope}");
    let children = envelope["children"].as_array().unwrap();
    assert_eq!(children.iter().map(|child| child["status"].as_str().unwrap()).collect::<Vec<_>>(), ["completed"; 2]);
    assert_eq!(children[0]["usage"]["input"], 500, "{envelope}");
    let lines = out(&home.run(&["-p", "go", "-m", &model, "--output", "stream-json"]));
    let told = lines.lines().filter(|line| line.contains(r#""type":"child""#)).count();
    assert!(told >= 4, "each child begins and ends: {lines}");
}

#[test]
fn plan_mode_is_not_left_by_a_restart() {
    let mock = Mock::start(vec![
        Step::Text("I look around.".into()),
        calls("write_file", json!({ "path": "made.txt", "content": "x" })),
        Step::Text("It was refused.".into()),
    ]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (110, 36));
    term.wait("What shall we work on?");
    term.send("/mode plan\r").wait("plan");
    term.send("go\r").wait("I look around.");
    term.quit();
    let mut term = Term::sized(&home, &["-c"], (110, 36));
    term.wait("I look around.");
    term.send("now do it\r").wait("It was refused.");
    assert!(!home.project().join("made.txt").exists());
    term.quit();
}

#[test]
fn children_get_no_tool_that_their_parent_lacks() {
    let mock = Mock::start(vec![calls("delegate_task", json!({ "goal": "look" })), Step::Text("Done.".into())]);
    let home = Home::with(&mock, "agent:\n  disabled_toolsets: [terminal_tools]\n");
    home.run(&["-p", "go"]);
    let names = |request: &Value| -> Vec<String> {
        let tools = request["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let requests = mock.requests();
    let (parent, child) = (names(&requests[0]), names(&requests[1]));
    assert!(!parent.contains(&"terminal".to_owned()), "{parent:?}");
    assert!(child.contains(&"read_file".to_owned()), "{child:?}");
    assert!(child.iter().all(|name| parent.contains(name)), "{child:?} of {parent:?}");
    assert!(!child.contains(&"plan_mode".to_owned()), "its card would be taken for its parent's: {child:?}");
}

#[test]
fn esc_pauses_a_goal_while_it_is_judged() {
    let slow = Step::Slow("NOT YET ".repeat(400), Duration::from_millis(50));
    let mock = Mock::start(vec![Step::Text("The first half is done.".into()), slow]);
    let home = Home::with(&mock, "");
    // Too narrow for the sidebar: the status line tells.
    let mut term = Term::sized(&home, &[], (90, 30));
    term.wait("What shall we work on?");
    term.send("/goal write both halves\r").wait("goal: judging, Esc pauses");
    until("the judge is asked", || mock.count() == 2);
    term.send("\x1b").wait("goal paused: /goal");
    assert_eq!(mock.count(), 2, "no turn follows");
    term.quit();
}

/// Three children read twenty files and edit five; their parent sees their summaries.
#[test]
fn what_three_children_did_grows_their_parent_by_little() {
    let tasks =
        json!({ "tasks": [{ "goal": "child work 0" }, { "goal": "child work 1" }, { "goal": "child work 2" }] });
    let mock = Mock::start(vec![calls("delegate_task", tasks)]);
    mock.answers(|request| {
        let messages = request["messages"].as_array()?;
        let asked = messages.iter().find(|message| message["role"] == "user")?.to_string();
        let mine = (0..3).find(|n| asked.contains(&format!("child work {n}")))?;
        let tools = messages.iter().filter(|message| message["role"] == "tool").count();
        let files: Vec<usize> = (0..20).filter(|n| n % 3 == mine).collect();
        let edits: Vec<usize> = files.iter().copied().filter(|n| n % 4 == 0).collect();
        let path = |n: usize| format!("file{n}.py");
        let edit = |n: usize| json!({ "path": path(n), "old_string": "# TODO: rename", "new_string": "# renamed" });
        Some(match (files.get(tools), edits.get(tools.wrapping_sub(files.len()))) {
            (Some(n), _) => calls("read_file", json!({ "path": path(*n) })),
            (None, Some(n)) => calls("patch", edit(*n)),
            (None, None) => Step::Text(format!(
                "Done. I read {} files and renamed in {}. {}",
                files.len(),
                edits.len(),
                "What I saw. ".repeat(60)
            )),
        })
    });
    let home = Home::with(&mock, "");
    for n in 0..20 {
        let body: String = (0..60).map(|line| format!("value_{line} = compute({line}, {n})\n")).collect();
        let todo = if n % 4 == 0 { "# TODO: rename\n" } else { "" };
        std::fs::write(home.project().join(format!("file{n}.py")), format!("{todo}{body}")).unwrap();
    }
    home.run(&["-p", "rename them"]);
    let requests = mock.requests();
    let sizes = [&requests[0], requests.last().unwrap()].map(|request| request["messages"].to_string().len());
    let renamed = |n: usize| std::fs::read_to_string(home.project().join(format!("file{n}.py"))).unwrap();
    assert!((0..20).step_by(4).all(|n| renamed(n).contains("# renamed")));
    assert_eq!(requests.len(), 2 + 20 + 5 + 3);
    // Four bytes a token, as English and JSON have it.
    let grew = (sizes[1] - sizes[0]) / 4;
    assert!(grew <= 2_500, "the parent grew by {grew} tokens");
    println!("the parent grew by {grew} tokens");
}

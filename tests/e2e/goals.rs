//! Goals: the session goes on by itself until they are met; and plans, which a person approves before anything changes.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::json;

fn run(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

#[test]
fn a_goal_goes_on_until_a_model_says_it_is_met() {
    let mock = Mock::start(vec![
        Step::Text("The first half is done.".into()),
        Step::Text("NOT YET: the second half".into()),
        Step::Text("Both halves are done.".into()),
        Step::Text("MET: both halves are there".into()),
    ]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 36));
    term.wait("What shall we work on?");
    term.send("/goal write both halves\r").wait("Both halves are done.").wait("goal met: both halves are there");
    term.wait("✓ write both halves").wait("met · 2 turns");
    let requests = mock.requests();
    assert_eq!(requests.len(), 4);
    let judged = requests[1].to_string();
    assert!(judged.contains("write both halves") && judged.contains("The first half is done."), "{judged}");
    let on = requests[2]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(on.contains("Missing: the second half"), "{on}");
    term.quit();
}

#[test]
fn commands_decide_where_a_goal_names_them_and_nothing_goes_on_after_a_restart() {
    let slow = Step::Slow("still at work ".repeat(200), std::time::Duration::from_millis(50));
    let mock = Mock::start(vec![Step::Text("I think it is done.".into()), slow]);
    let home = Home::with(&mock, "approvals: {mode: yolo}\n");
    let mut term = Term::sized(&home, &[], (120, 36));
    term.wait("What shall we work on?");
    // Two lines: a paste keeps them in one prompt.
    term.paste("/goal make the file\ncheck: test -e made.txt").send("\r");
    term.wait("goal not met yet").wait("exited with 1");
    crate::harness::until("the second turn asks", || mock.count() == 2);
    term.send("\x1b").wait("the turn was stopped").wait("paused");
    term.quit();
    mock.push(vec![run("touch made.txt"), Step::Text("Now it is there.".into())]);
    let mut term = Term::sized(&home, &["-c"], (120, 36));
    term.wait("paused").wait("make the file");
    assert_eq!(mock.count(), 2, "nothing was asked of the model by itself");
    term.send("/goal resume\r").wait("Now it is there.").wait("goal met: 1 of 1 checks passed");
    term.quit();
}

#[test]
fn a_plan_is_approved_on_its_card_and_changes_nothing_before() {
    let plan = "# Move the file\n1. make it\n2. check it";
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("plan_mode", json!({ "action": "enter" }))]),
        run("touch too-early"),
        Step::Calls(String::new(), vec![call("plan_mode", json!({ "action": "present", "plan": plan }))]),
        run("touch made"),
        Step::Text("It is made.".into()),
    ]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 36));
    term.wait("❯");
    term.send("go\r").wait("asks to plan first").wait("Plan first");
    term.gone("keys are ignored for a moment");
    term.send("\r").wait("Move the file").wait("Approve: go on in ask mode");
    assert!(!home.project().join("too-early").exists());
    term.gone("keys are ignored for a moment");
    term.send("\r").wait("It is made.").wait("approved · ask mode");
    assert!(home.project().join("made").exists());
    let plans: Vec<_> = std::fs::read_dir(home.hermes().join("plans")).unwrap().flatten().collect();
    assert_eq!(plans.len(), 1);
    assert_eq!(std::fs::read_to_string(plans[0].path()).unwrap(), plan);
    term.quit();
}

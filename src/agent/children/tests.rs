//! What a child is opened with, and what is made of its answer.

use super::{Now, outcome, task};
use crate::agent::spec::SessionLimits;
use crate::config::DelegationConfig;
use crate::tools::children::Task;
use std::time::Duration;

fn now() -> Now {
    Now { toolsets: vec!["file".into(), "terminal".into()], ..Now::default() }
}

#[test]
fn a_task_asks_for_no_more_than_its_parent_has() {
    let task = |toolsets: &[&str]| Task {
        toolsets: toolsets.iter().map(|name| (*name).to_owned()).collect(),
        ..Task::default()
    };
    assert_eq!(task::check(&task(&["file"]), &now().toolsets), Ok(()));
    let refused = task::check(&task(&["file", "web"]), &now().toolsets);
    assert_eq!(refused.unwrap_err(), "there is no toolset web here; there are: file, terminal");
    let whole = task::spec(&task(&[]), &now(), 1);
    assert_eq!(whole.toolsets, Some(now().toolsets));
    assert_eq!(task::spec(&task(&["file"]), &now(), 1).toolsets, Some(vec!["file".to_owned()]));
    assert!(whole.blocked.contains(&"clarify") && whole.blocked.contains(&"delegate_task"), "{:?}", whole.blocked);
}

#[test]
fn only_an_orchestrator_above_the_last_level_delegates() {
    for (orchestrates, depth, may) in [(true, 1, true), (true, 2, false), (false, 1, false)] {
        let task = Task { orchestrates, ..Task::default() };
        let spec = task::spec(&task, &now(), depth);
        assert_eq!(!spec.blocked.contains(&"delegate_task"), may, "{orchestrates} at {depth}");
        assert_eq!(spec.instructions.contains("delegate_task"), may, "{orchestrates} at {depth}");
    }
}

#[test]
fn limits_are_the_least_of_the_settings_and_what_is_left() {
    let config = DelegationConfig { max_tokens: 1_000, max_cost: Some(2.0), max_iterations: 50, ..Default::default() };
    let left =
        SessionLimits { steps: Some(7), tokens: Some(5_000), cost: Some(0.5), time: Some(Duration::from_secs(9)) };
    let limits = |left| task::spec(&Task::default(), &Now { config: config.clone(), left, ..now() }, 1).limits;
    let expected =
        SessionLimits { steps: Some(7), tokens: Some(1_000), cost: Some(0.5), time: Some(Duration::from_secs(9)) };
    assert_eq!(limits(left), expected);
    let expected = SessionLimits { steps: Some(50), tokens: Some(1_000), cost: Some(2.0), time: None };
    assert_eq!(limits(SessionLimits::default()), expected);
}

#[test]
fn a_long_summary_keeps_both_ends_and_says_where_the_rest_is() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(outcome::bounded(" done \n", 100, root.path(), 1), "done");
    let lines: Vec<String> = (0..400).map(|n| format!("line {n}")).collect();
    let short = outcome::bounded(&lines.join("\n"), 1_000, root.path(), 7);
    assert!(short.chars().count() < 1_200 && short.starts_with("line 0\n") && short.ends_with("line 399"), "{short}");
    let file = root.path().join("child-7.md");
    assert!(short.contains(&format!("all of it: read_file {}", file.display())), "{short}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), lines.join("\n"));
}

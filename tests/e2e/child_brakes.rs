//! What holds a child back: it asks when it repeats itself, and its limits end it, from the settings and from the call.

use crate::harness::home::{err, out};
use crate::harness::mock::{call, last_result};
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};

fn calls(name: &str, args: Value) -> Step {
    Step::Calls(String::new(), vec![call(name, args)])
}

fn text(text: &str) -> Step {
    Step::Text(text.into())
}

fn read(path: &str) -> Step {
    calls("read_file", json!({ "path": path }))
}

fn give(args: Value) -> Step {
    calls("delegate_task", args)
}

fn files(home: &Home, names: &[&str]) {
    for name in names {
        std::fs::write(home.project().join(name), format!("this is {name}\n")).unwrap();
    }
}

/// The first result of the batch that the last request tells.
fn result(mock: &Mock) -> Value {
    let last = last_result(mock.requests().last().unwrap());
    serde_json::from_str::<Value>(&last).unwrap_or_else(|_| panic!("{last}"))["results"][0].clone()
}

#[test]
fn a_child_that_repeats_itself_asks_and_only_it_waits() {
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![
                give(json!({ "tasks": [{"goal": "look again and again"}, {"goal": "say hello"}] })),
                text("Both are back."),
            ],
        )
        .scene("look again and again", vec![read("a.txt"), read("a.txt"), read("a.txt"), text("Done. I stopped.")])
        .scene("say hello", vec![text("Done. Hello.")]);
    let home = Home::with(&mock, "");
    files(&home, &["a.txt"]);
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("child 1 repeats itself: read_file a.txt gave the same result 3 times");
    term.wait("✓ child 2 say hello").wait("⚠ child 1 look again");
    // Put aside, it still waits, and nothing else does: the person goes on typing.
    term.gone("keys are ignored for a moment");
    term.send("\x1b").wait("the question is still pending");
    assert_eq!(mock.requests_of("look again").len(), 3);
    term.send("/approvals\r").wait("Answer in your own words");
    term.gone("keys are ignored for a moment");
    term.send("say what you know\r").wait("Both are back.").wait("2 completed");
    let last =
        mock.requests_of("look again").pop().unwrap()["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("say what you know"), "{last}");
    term.quit();
}

#[test]
fn steps_that_bring_nothing_new_are_asked_about_and_can_be_stopped() {
    let names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];
    let again = names.iter().chain(&names[..3]).map(|name| read(name)).collect();
    let mock = Mock::start(vec![])
        .scene("fan out", vec![give(json!({ "goal": "look at all" })), text("It was stopped.")])
        .scene("look at all", again);
    let home = Home::with(&mock, "");
    files(&home, &names);
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("the last 3 steps made only calls that it had made");
    term.gone("keys are ignored for a moment");
    term.send("\x1b[B\r").wait("It was stopped.").wait("■ child 1");
    assert_eq!(mock.requests_of("look at all").len(), 8);
    let result = result(&mock);
    assert!(result["status"].as_str().unwrap().starts_with("stopped in "), "{result}");
    let error = result["error"].as_str().unwrap();
    assert!(error.starts_with("stopped by the user, since it repeats itself: the last 3 steps"), "{error}");
    term.quit();
}

#[test]
fn where_nobody_answers_a_child_that_repeats_itself_ends_with_that_reason() {
    let mock = Mock::start(vec![])
        .scene("fan out", vec![give(json!({ "goal": "look again" })), text("I see.")])
        .scene("look again", vec![read("a.txt"), read("a.txt"), read("a.txt"), text("never asked for")]);
    let home = Home::with(&mock, "");
    files(&home, &["a.txt"]);
    assert_eq!(out(&home.run(&["-p", "fan out"])), "I see.\n");
    assert_eq!(mock.requests_of("look again").len(), 3);
    let error = result(&mock)["error"].to_string();
    let expected = "it repeats itself: read_file a.txt gave the same result 3 times; nobody could be asked";
    assert!(error.contains(expected), "{error}");
}

/// Runs one child with these settings and arguments of its call; what the parent got.
fn limited(settings: &str, mut args: Value, child: Vec<Step>) -> Value {
    args["goal"] = "look at all".into();
    let mock = Mock::start(vec![]).scene("fan out", vec![give(args), text("I see.")]).scene("look at all", child);
    let home = Home::with(&mock, settings);
    files(&home, &["a.txt", "b.txt", "c.txt"]);
    let done = home.run(&["-p", "fan out"]);
    assert_eq!(out(&done), "I see.\n", "{}", err(&done));
    result(&mock)
}

/// Three steps of 1,020 tokens each, 20 of them of the reply, and one that would end it.
fn three() -> Vec<Step> {
    vec![read("a.txt"), read("b.txt"), read("c.txt"), text("Done. All read.")]
}

#[test]
fn limits_of_the_settings_end_a_child() {
    for (settings, error, steps) in [
        ("max_tokens: 1500", "reached the limit of 1500 tokens", 2),
        ("max_output_tokens: 30", "reached the limit of 30 output tokens", 2),
        ("max_iterations: 1", "the budget of 1 steps is used up", 2),
    ] {
        let result = limited(&format!("delegation: {{{settings}}}\n"), json!({}), three());
        assert_eq!(result["error"], error, "{settings}");
        let status = result["status"].as_str().unwrap();
        assert!(status.starts_with("limit reached in "), "{settings}: {status}");
        assert!(status.contains(&format!("{steps} step")), "{settings}: {status}");
    }
    let hangs = limited("delegation: {child_timeout_seconds: 1}\n", json!({}), vec![Step::Hang]);
    assert_eq!(hangs["error"], "it took longer than 1 s and was stopped");
}

#[test]
fn limits_of_the_call_end_a_child_and_are_cut_to_what_is_left() {
    for (args, error) in [
        (json!({ "max_tokens": 1500 }), "reached the limit of 1500 tokens"),
        (json!({ "max_output_tokens": 30 }), "reached the limit of 30 output tokens"),
        (json!({ "max_steps": 1 }), "the budget of 1 steps is used up"),
        (json!({ "tasks": [{"goal": "look at all"}], "max_steps": 1 }), "the budget of 1 steps is used up"),
    ] {
        assert_eq!(limited("", args.clone(), three())["error"], error, "{args}");
    }
    let hangs = limited("", json!({ "timeout_seconds": 1 }), vec![Step::Hang]);
    assert_eq!(hangs["error"], "it took longer than 1 s and was stopped");
    let cut = limited("delegation: {max_iterations: 9}\n", json!({ "max_steps": 100 }), three());
    assert_eq!(cut["note"], "asked for 100 steps, got the 9 steps that were left");
    assert!(cut["status"].as_str().unwrap().starts_with("completed in "), "{cut}");
}

#[test]
fn a_cost_that_is_known_ends_a_child_too() {
    let home = Home::empty();
    home.config("delegation: {max_cost: 0.001}\n");
    let script = home.hermes().join("priced.yaml");
    let usage = "usage: {input: 1000, output: 100}";
    let text = format!(
        "price: [1.0, 0.1, 10.0]\nscenes:\n  - when: 'fan out'\n    steps:\n      - calls: [{{name: delegate_task, args: {{goal: look at all}}}}]\n      - text: I see.\n  - when: 'look at all'\n    steps:\n      - calls: [{{name: read_file, args: {{path: a.txt}}}}]\n        {usage}\n      - text: never\n        {usage}\n"
    );
    std::fs::write(&script, text).unwrap();
    files(&home, &["a.txt"]);
    let done = home.run(&["-p", "fan out", "-m", &format!("scripted:{}", script.display()), "--output", "stream-json"]);
    assert!(out(&done).contains("reached the limit of $0.001"), "{}{}", out(&done), err(&done));
}

#[test]
fn the_time_in_which_a_child_waits_for_a_person_does_not_count() {
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![
                give(json!({ "tasks": [{"goal": "remove the folder", "timeout_seconds": 4}, {"goal": "take long"}] })),
                text("Both are back."),
            ],
        )
        .scene(
            "remove the folder",
            vec![calls("terminal", json!({ "command": "rm -rf ../victim" })), text("Done. Gone.")],
        )
        // It takes longer than the other one may.
        .scene("take long", vec![calls("terminal", json!({ "command": "sleep 5" })), text("Done. At last.")]);
    let home = Home::with(&mock, "approvals: {mode: ask}\n");
    let victim = home.project().parent().unwrap().join("victim");
    std::fs::create_dir(&victim).unwrap();
    let mut term = Term::sized(&home, &[], (140, 40));
    term.wait("❯");
    term.send("fan out\r").wait("by the agent child 1").wait("✓ child 2 take long").wait("⚠ child 1");
    term.gone("keys are ignored for a moment");
    term.send("y").wait("Enter confirms");
    term.send("\r").wait("Both are back.").wait("2 completed");
    until("the folder is gone", || !victim.exists());
    term.quit();
}

//! Commands that the person gives: `!ls` in the composer runs where the agent's commands run, through the same gate.

use crate::harness::{Home, Mock, Step, Term, until};

#[test]
fn a_command_of_the_person_runs_in_the_agents_shell_and_the_model_knows_of_it() {
    let mock = Mock::start(vec![Step::Text("You are in sub.".into())]);
    let home = Home::with(&mock, "");
    std::fs::create_dir_all(home.project().join("sub")).unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("!mkdir -p sub && cd sub && export WHO=me && echo it is $WHO\r").wait("it is me");
    assert!(mock.requests().is_empty(), "no model is asked");
    // The same shell: folder and variables stay.
    term.send("!echo $WHO in ${PWD##*/}\r").wait("me in sub");
    term.send("where am I?\r").wait("You are in sub.");
    let request = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(request.contains("!echo $WHO in ${PWD##*/}") && request.contains("me in sub"), "{request}");
}

#[test]
fn a_dangerous_command_of_the_person_is_asked_about_too() {
    let mock = Mock::start(Vec::new());
    let home = Home::with(&mock, "");
    std::fs::create_dir_all(home.project().join("build")).unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("!rm -rf build\r").wait("Approve").wait("recursive delete").wait("you asked for it");
    term.wait("Esc: decide later");
    assert!(!term.text().contains("main agent"), "{}", term.text());
    assert!(home.project().join("build").exists());
    term.send("y").wait("Enter confirms");
    term.send("\r");
    until("the folder is gone", || !home.project().join("build").exists());
    // What no mode runs is refused to a person as well.
    term.send("!rm -rf /\r").wait("refused");
}

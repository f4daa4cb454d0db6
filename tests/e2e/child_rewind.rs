//! Going back in a session takes back what its children did, and a redo brings it again.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::json;

#[test]
fn what_a_child_changed_goes_back_with_the_prompt_that_began_it() {
    let write = json!({ "path": "notes.txt", "content": "of the child" });
    let step = |name: &str, args| Step::Calls(String::new(), vec![call(name, args)]);
    let mock = Mock::start(vec![])
        .scene(
            "fan out",
            vec![step("delegate_task", json!({ "goal": "take notes" })), Step::Text("It took notes.".into())],
        )
        .scene("take notes", vec![step("write_file", write), Step::Text("Done. They are in notes.txt.".into())]);
    let home = Home::with(&mock, "");
    let file = home.project().join("notes.txt");
    std::fs::write(&file, "mine\n").unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("fan out\r").wait("It took notes.").wait("2 steps");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "of the child");
    term.send("/rewind\r").wait("Go back to a prompt").wait("1 file changed since");
    term.send("\r").wait("M notes.txt").wait("Conversation and 1 file");
    term.send("\r").wait("rewound").gone("It took notes.");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
    term.send("\x15/redo\r").wait("It took notes.");
    until("the notes are there again", || std::fs::read_to_string(&file).unwrap() == "of the child");
    term.quit();
}

//! Going back at the screen: look first, choose, undo, redo, quit and resume.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::json;

fn write(content: &str) -> Step {
    Step::Calls(String::new(), vec![call("write_file", json!({ "path": "notes.txt", "content": content }))])
}

#[test]
fn a_file_edited_twice_comes_back_byte_for_byte_and_goes_again() {
    let original: &[u8] = b"first\r\n\xff\xfe no newline at the end";
    let mock = Mock::start(vec![
        write("second"),
        Step::Text("wrote it once".into()),
        write("third"),
        Step::Text("wrote it twice".into()),
    ]);
    let home = Home::with(&mock, "");
    let file = home.project().join("notes.txt");
    std::fs::write(&file, original).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let has = |bytes: &[u8]| std::fs::read(&file).is_ok_and(|now| now == bytes);

    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("alpha request\r").wait("wrote it once");
    term.send("beta request\r").wait("wrote it twice");
    term.shows("both turns have ended", |text| text.matches("steps ·").count() == 2);
    assert!(has(b"third"));

    // The list, the first prompt, what it means; nothing has happened.
    term.send("/rewind\r").wait("Go back to a prompt").wait("1 file changed since");
    term.send("\x1b[B").wait("2 prompts, ").wait("M notes.txt");
    term.send("\r").wait("nothing has changed yet").wait("Conversation and 1 file");
    assert!(has(b"third"));
    term.send("\r").wait("rewound").gone("wrote it twice").gone("wrote it once");
    term.wait("alpha request");
    assert!(has(original));
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap());
    assert_eq!(mode & 0o777, 0o640);

    // Redo brings both again, and the prompt leaves the composer.
    term.send("\x15/redo\r").wait("wrote it once").wait("wrote it twice");
    until("the file is as it was before", || has(b"third"));

    // Undo takes the last exchange, after a look.
    term.send("/undo\r").wait("Undo the last exchange").wait("Conversation and 1 file");
    term.send("\r").gone("wrote it twice").wait("wrote it once").wait("beta request");
    assert!(has(b"second"));

    // Quit with the prompt in the composer: tomorrow it is all as it was left, and redo still works.
    term.send("\x03\x04");
    assert_eq!(term.ended(), 0);
    let mut term = Term::sized(&home, &["-c"], (140, 45));
    term.wait("alpha request").wait("wrote it once");
    assert!(!term.text().contains("wrote it twice"), "{}", term.text());
    let export = home.run(&["sessions", "search", "beta request", "--json"]);
    assert!(String::from_utf8_lossy(&export.stdout).contains("session_id"), "what was left out is still found");
    term.send("/redo\r").wait("wrote it twice");
    until("the file is as it was before", || has(b"third"));
}

#[test]
fn a_rewind_that_was_killed_in_the_middle_is_completed_by_the_next() {
    // What a crash leaves: some files put back, the conversation untouched.
    let mock = Mock::start(vec![
        Step::Calls(
            String::new(),
            vec![
                call("write_file", json!({ "path": "a.txt", "content": "new a" })),
                call("write_file", json!({ "path": "b.txt", "content": "new b" })),
            ],
        ),
        Step::Text("both written".into()),
    ]);
    let home = Home::with(&mock, "");
    let (a, b) = (home.project().join("a.txt"), home.project().join("b.txt"));
    std::fs::write(&a, "old a").unwrap();
    std::fs::write(&b, "old b").unwrap();
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("write both\r").wait("both written");
    term.kill();
    std::fs::write(&a, "old a").unwrap();
    let mut term = Term::sized(&home, &["-c"], (100, 30));
    term.wait("both written");
    term.send("/rewind\r").wait("a.txt").wait("restored");
    term.send("\r").wait("Conversation and 2 files");
    term.send("\r").wait("rewound").gone("both written");
    assert_eq!((std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap()), (b"old a".to_vec(), b"old b".to_vec()));
}

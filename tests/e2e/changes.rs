//! The changes that a worktree holds, on the screen: taken in part and whole, never over work that is there, and dropped after
//! a yes that names what is lost.

use crate::harness::home::{err, out};
use crate::harness::{Home, Term, git, until};
use std::path::PathBuf;

/// Forty lines, two of which may be others.
fn numbers(third: &str, thirtieth: &str) -> String {
    let line = |n: usize| match n {
        3 => third.to_owned(),
        30 => thirtieth.to_owned(),
        n => n.to_string(),
    };
    (1..=40).map(|n| line(n) + "\n").collect()
}

fn home() -> Home {
    let home = Home::empty();
    home.config("approvals: {mode: yolo}\n");
    home.commits(&[("a.txt", "seed\n"), ("long.txt", &numbers("3", "30"))]);
    home
}

fn trees(home: &Home) -> PathBuf {
    home.user().join(".hermes-worktrees")
}

fn read(home: &Home, path: &str) -> String {
    std::fs::read_to_string(home.project().join(path)).unwrap_or_default()
}

const ONE_WRITER: &str = r#"
scenes:
  - when: 'fan out'
    steps:
      - calls: [{name: delegate_task, args: {goal: write the files, isolation: worktree}}]
      - text: It is back.
  - when: 'write the files'
    steps:
      - calls: [{name: write_file, args: {path: a.txt, content: "child\n"}}]
      - calls: [{name: terminal, args: {command: "sed -i -e '3s/.*/three/' -e '30s/.*/thirty/' long.txt && git commit -qam all"}}]
      - calls: [{name: write_file, args: {path: new.txt, content: "new\n"}}]
      - text: Done. Written.
"#;

/// Worktrees that are there.
fn left(home: &Home) -> usize {
    std::fs::read_dir(trees(home)).unwrap().flatten().filter(|entry| entry.path().is_dir()).count()
}

#[test]
fn changes_of_a_child_are_taken_by_hunk_and_whole_rewound_and_dropped() {
    let home = home();
    let script = home.plays(ONE_WRITER);
    let mut term = Term::sized(&home, &["-m", &script], (120, 36));
    term.wait("❯");
    term.send("fan out\r").wait("It is back.").wait("hermes/");
    // What a person changed meanwhile is not lost.
    std::fs::write(home.project().join("a.txt"), "mine\n").unwrap();
    term.send("/diff 1\r").wait("Changes of child 1 in hermes/").wait("new.txt").wait("3 files +4 −3");
    term.send("a").wait("not taken: a.txt: it was changed here too, around line 1");
    until("the rest is taken", || read(&home, "new.txt") == "new\n");
    assert_eq!((read(&home, "a.txt"), read(&home, "long.txt")), ("mine\n".into(), numbers("three", "thirty")));
    // Undone as one.
    term.send("\x1b").gone("Changes of child 1");
    term.send("/undo-command\r").wait("take from hermes/").wait("Enter restores 2 files");
    term.send("\r").wait("undone: 2 files");
    assert_eq!((read(&home, "new.txt"), read(&home, "long.txt")), (String::new(), numbers("3", "30")));
    std::fs::write(home.project().join("a.txt"), "seed\n").unwrap();
    // The second hunk of one file alone.
    term.send("\x18W").wait("Changes of child 1").wait("long.txt");
    term.send("j").wait("line 27");
    term.send("\tj").wait("t takes the hunk");
    term.send("t").wait("✓ this folder has it");
    assert_eq!((read(&home, "a.txt"), read(&home, "long.txt")), ("seed\n".into(), numbers("3", "thirty")));
    // And then all the rest.
    term.send("\x1b").gone("takes the hunk");
    term.send("a");
    until("all is taken", || {
        read(&home, "new.txt") == "new\n" && read(&home, "long.txt") == numbers("three", "thirty")
    });
    assert_eq!(read(&home, "a.txt"), "child\n");
    // The worktree goes with a yes that names what is lost.
    term.wait("✓ a.txt");
    term.send("D").wait("lost for good: 1 untracked file, 1 commit");
    term.send("\r").gone("lost for good");
    assert_eq!(left(&home), 1);
    term.send("D").wait("lost for good");
    term.send("y\r").wait("removed hermes/");
    assert_eq!(left(&home), 0);
    assert_eq!(git(&home.project(), &["branch", "--list", "hermes/*"]), "");
    // A rewind takes back what was taken.
    term.send("/rewind\r").wait("Go back to a prompt");
    term.send("\r").wait("Conversation and");
    term.send("\r").wait("❯ fan out");
    until("the files are back", || read(&home, "long.txt") == numbers("3", "30"));
    assert_eq!((read(&home, "a.txt"), read(&home, "new.txt")), ("seed\n".into(), String::new()));
}

#[test]
fn what_a_session_by_hand_left_is_taken_into_a_session_in_which_nothing_was_said() {
    let home = home();
    let script = home.plays(
        r#"
scenes:
  - when: 'write'
    steps:
      - calls: [{name: write_file, args: {path: a.txt, content: "by hand\n"}}]
      - text: Written.
"#,
    );
    let done = home.run(&["-m", &script, "-p", "write", "--worktree", "fix"]);
    assert_eq!(out(&done), "Written.\n", "{}", err(&done));
    let mut term = Term::sized(&home, &["-m", &script], (60, 20));
    term.wait("❯");
    term.send("/diff nothing\r").wait("there is no worktree nothing; there are");
    term.send("\x1b").gone("no worktree");
    term.send("/diff fix\r").wait("Changes in hermes/fix").wait("a.txt");
    term.send("t").wait("✓ a.txt");
    assert_eq!(read(&home, "a.txt"), "by hand\n");
    // It vanishes under the pane.
    std::fs::remove_dir_all(trees(&home).join("project-fix")).unwrap();
    term.send("r").wait("there is no worktree fix");
    term.send("\x1b").wait("took 1 file from hermes/fix: a.txt");
    term.quit();
}

//! Git worktrees: children that write the same file lose nothing, nothing that is nowhere else is ever removed, and without
//! them a file that another child changed is not overwritten.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, Term, git, until};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A home whose project is a repository with one commit, with a name for commits in its own settings.
fn with_repository() -> Home {
    let home = Home::empty();
    home.config("approvals: {mode: yolo}\n");
    home.commits(&[("a.txt", "seed\n")]);
    home
}

fn trees(home: &Home) -> PathBuf {
    home.user().join(".hermes-worktrees")
}

/// What `hermes worktrees list` knows of each, by name.
fn listed(home: &Home) -> Vec<(String, String)> {
    let shown = home.run(&["worktrees", "list", "--json"]);
    let all: Value = serde_json::from_str(&out(&shown)).unwrap_or_else(|_| panic!("{}", err(&shown)));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let why = |row: &Value| row["stays"].as_array().unwrap().iter().map(text).collect::<Vec<_>>().join(", ");
    all["worktrees"].as_array().unwrap().iter().map(|row| (text(&row["name"]), why(row))).collect()
}

const TWO_WRITERS: &str = r#"
scenes:
  - when: 'fan out'
    steps:
      - calls:
          - name: delegate_task
            args:
              isolation: worktree
              tasks: [{goal: write the first}, {goal: write the second}, {goal: only look}]
      - calls: [{name: terminal, args: {command: "git merge -q $(git branch --format='%(refname:short)' --list 'hermes/*-1')"}}]
      - text: One is merged.
  - when: 'write the first'
    steps:
      - calls: [{name: write_file, args: {path: a.txt, content: "first\n"}}]
      - calls: [{name: terminal, args: {command: "git commit -qam first"}}]
      - text: Done. First.
  - when: 'write the second'
    steps:
      - calls: [{name: write_file, args: {path: a.txt, content: "second\n"}}]
      - calls: [{name: terminal, args: {command: "git commit -qam second && echo more > new.txt"}}]
      - text: Done. Second.
  - when: 'only look'
    steps:
      - calls: [{name: read_file, args: {path: a.txt}}]
      - text: Done. It holds a seed.
"#;

#[test]
fn two_children_write_the_same_file_nothing_is_lost_and_one_is_merged() {
    let home = with_repository();
    let script = home.plays(TWO_WRITERS);
    // What is not committed stays where it is, and is in nobody's way.
    std::fs::write(home.project().join("mine.txt"), "mine\n").unwrap();
    let done = home.run(&["-m", &script, "-p", "fan out"]);
    assert_eq!(out(&done), "One is merged.\n", "{}", err(&done));
    assert_eq!(std::fs::read_to_string(home.project().join("a.txt")).unwrap(), "first\n");
    assert_eq!(std::fs::read_to_string(home.project().join("mine.txt")).unwrap(), "mine\n");
    // The child that only looked left nothing; of the others one is merged and one has what is nowhere else.
    let all = listed(&home);
    let [(first, kept_of_first), (second, kept_of_second)] = &all[..] else { panic!("{all:?}") };
    assert!(first.ends_with("-1") && second.ends_with("-2"), "{all:?}");
    assert_eq!(kept_of_first, "");
    assert_eq!(kept_of_second, "1 untracked file, 1 commit neither merged nor pushed");
    let folder = trees(&home).join(second);
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "second\n");
    assert_eq!(git(&home.project(), &["branch", "--list", "hermes/*"]).lines().count(), 2);
    let shown = out(&home.run(&["worktrees", "list"]));
    assert!(shown.contains("nothing in it: can be removed") && shown.contains("stays: 1 untracked file"), "{shown}");
    let refused = home.run(&["worktrees", "remove", second]);
    assert!(!refused.status.success() && err(&refused).contains("neither merged nor pushed"), "{}", err(&refused));
    assert_eq!(out(&home.run(&["worktrees", "remove", first])), format!("removed {first}\n"));
    assert!(folder.join("new.txt").exists() && !trees(&home).join(first).exists());
    assert_eq!(listed(&home).len(), 1);
}

#[test]
fn what_a_parent_is_told_of_worktrees() {
    let home = with_repository();
    let give = |goal: &str| ("delegate_task".to_owned(), serde_json::json!({"goal": goal, "isolation": "worktree"}));
    let write = ("write_file".to_owned(), serde_json::json!({"path": "b.txt", "content": "b\n"}));
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![give("write b.txt")]),
        Step::Calls(String::new(), vec![write]),
        Step::Text("Done.".into()),
        Step::Text("I see.".into()),
    ]);
    // What a child writes in its worktree is inside its folder: nobody is asked.
    home.model(&mock, "approvals: {mode: ask}\n");
    let done = home.run(&["-p", "go"]);
    assert_eq!(out(&done), "I see.\n", "{}", err(&done));
    let requests = mock.requests();
    let child = requests[1].to_string();
    assert!(child.contains("You have a git worktree that nobody else changes") && child.contains("hermes/"), "{child}");
    let result = requests[3]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    let result: Value = serde_json::from_str(&result).unwrap();
    let left = &result["results"][0]["worktree"];
    let (branch, folder) = (left["branch"].as_str().unwrap(), left["folder"].as_str().unwrap());
    assert_eq!(left["has"], "1 untracked file");
    let merge = left["merge"].as_str().unwrap();
    assert!(merge.starts_with(&format!("first commit what is not: git -C {folder} add -A")), "{merge}");
    assert!(merge.ends_with(&format!("git merge {branch}")), "{merge}");
    assert!(Path::new(folder).join("b.txt").exists() && !home.project().join("b.txt").exists());
}

#[test]
fn without_a_repository_a_child_with_isolation_does_not_begin() {
    let give = ("delegate_task".to_owned(), serde_json::json!({"goal": "write", "isolation": "worktree"}));
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![give]), Step::Text("I see.".into())]);
    let home = Home::with(&mock, "");
    assert_eq!(out(&home.run(&["-p", "go"])), "I see.\n");
    let told = mock.requests()[1]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("no worktree: ") && told.contains("is in no git repository"), "{told}");
}

#[test]
fn a_worktree_by_hand_is_removed_for_no_reason_that_keeps_it() {
    let home = with_repository();
    let write = ("write_file".to_owned(), serde_json::json!({"path": "a.txt", "content": "changed\n"}));
    let mock = Mock::start(vec![
        Step::Text("Hello.".into()),
        Step::Calls(String::new(), vec![write]),
        Step::Text("Written.".into()),
        Step::Text("Again.".into()),
    ]);
    home.model(&mock, "approvals: {mode: yolo}\n");
    let done = home.run(&["-p", "hi", "--worktree", "fix"]);
    assert_eq!(out(&done), "Hello.\n", "{}", err(&done));
    assert!(err(&done).contains("project-fix on branch hermes/fix"), "{}", err(&done));
    let folder = trees(&home).join("project-fix");
    assert!(err(&done).contains("project-fix: nothing in it: removed") && !folder.exists(), "{}", err(&done));
    // One in which something is stays, and its name leads back into it.
    let done = home.run(&["-p", "write", "--worktree", "fix"]);
    assert!(err(&done).contains("project-fix stays: it has 1 file with uncommitted changes"), "{}", err(&done));
    let done = home.run(&["-p", "again", "--worktree", "fix"]);
    assert_eq!(out(&done), "Again.\n", "{}", err(&done));
    assert!(err(&done).contains("project-fix on branch hermes/fix"), "{}", err(&done));
    let refused = |why: &str| {
        let refused = home.run(&["worktrees", "remove", "fix"]);
        assert!(!refused.status.success() && err(&refused).contains(why), "{why}: {}", err(&refused));
        assert!(folder.join("a.txt").exists(), "{why}");
    };
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "changed\n");
    refused("1 file with uncommitted changes");
    git(&folder, &["commit", "-qam", "two"]);
    refused("1 commit neither merged nor pushed");
    git(&folder, &["checkout", "-q", "--detach"]);
    git(&home.project(), &["branch", "-D", "hermes/fix"]);
    let named = home.run(&["worktrees", "remove", "project-fix"]);
    assert!(err(&named).contains("1 commit on a detached HEAD"), "{}", err(&named));
    git(&folder, &["switch", "-q", "-c", "hermes/fix"]);
    git(&home.project(), &["merge", "-q", "hermes/fix"]);
    std::fs::write(folder.join("new.txt"), "").unwrap();
    refused("1 untracked file");
    std::fs::remove_file(folder.join("new.txt")).unwrap();
    assert_eq!(out(&home.run(&["worktrees", "remove", "fix"])), "removed project-fix\n");
    assert!(!folder.exists());
    assert_eq!(git(&home.project(), &["branch", "--format=%(refname:short)"]), "main");
    let unknown = home.run(&["worktrees", "remove", "fix"]);
    assert!(err(&unknown).contains("there is no worktree fix"), "{}", err(&unknown));
    let bad = home.run(&["-p", "hi", "--worktree", "a b"]);
    assert!(!bad.status.success() && err(&bad).contains("can't name a worktree"), "{}", err(&bad));
}

#[test]
fn a_session_in_a_worktree_is_opened_on_the_screen_and_keeps_it() {
    let home = with_repository();
    let script = home.plays("scenes:\n  - when: 'hi'\n    steps: [{text: Hello there.}]\n");
    let mut term = Term::sized(&home, &["-m", &script], (120, 36));
    term.wait("❯");
    term.send("hi\r").wait("Hello there.");
    term.send("/worktree fix\r").wait("on branch hermes/fix").gone("Hello there.");
    until("the worktree is open", || listed(&home).iter().any(|(_, why)| why.contains("is open in it")));
    let refused = home.run(&["worktrees", "remove", "fix"]);
    assert!(err(&refused).contains("close it first"), "{}", err(&refused));
    term.quit();
    assert_eq!(listed(&home), [("project-fix".to_owned(), String::new())]);
}

const SAME_FILE: &str = r#"
scenes:
  - when: 'fan out'
    steps:
      - calls: [{name: delegate_task, args: {tasks: [{goal: change it late}, {goal: change it now}]}}]
      - text: Both are back.
  - when: 'change it late'
    steps:
      - calls: [{name: read_file, args: {path: a.txt}}]
      - calls: [{name: terminal, args: {command: "touch ready; while [ ! -e signal ]; do sleep 0.05; done"}}]
      - calls: [{name: write_file, args: {path: a.txt, content: "late\n"}}]
      - calls: [{name: read_file, args: {path: a.txt}}]
      - calls: [{name: patch, args: {path: a.txt, old_string: "now", new_string: "now and late"}}]
      - text: Done. I had to read it again.
  - when: 'change it now'
    steps:
      - calls: [{name: terminal, args: {command: "while [ ! -e ready ]; do sleep 0.05; done"}}]
      - calls: [{name: write_file, args: {path: a.txt, content: "now\n"}}]
      - calls: [{name: terminal, args: {command: "touch signal"}}]
      - text: Done. Changed.
"#;

#[test]
fn without_worktrees_a_child_does_not_overwrite_what_its_sibling_changed() {
    let home = with_repository();
    // Notes of what others changed would name the goals, by which the scenes are found.
    home.config("approvals: {mode: yolo}\ncheckpoints: {tell_changes: false}\n");
    let script = home.plays(SAME_FILE);
    let done = home.run(&["-m", &script, "-p", "fan out"]);
    assert_eq!(out(&done), "Both are back.\n", "{}", err(&done));
    // The write was refused; after it was read again the patch was not.
    assert_eq!(std::fs::read_to_string(home.project().join("a.txt")).unwrap(), "now and late\n");
    let said = b"refused: a.txt was changed by child 2 since you read it; read it again";
    let holds = |entry: std::fs::DirEntry| {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        bytes.windows(said.len()).any(|part| part == said)
    };
    let kept = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().any(holds);
    assert!(kept(home.hermes()) || kept(home.hermes().join("journal")), "nothing says who changed it");
}

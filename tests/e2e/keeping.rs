//! How sessions are kept and found again: summaries, tags, pins, the archive, the trash, forks, and where one stopped.

use crate::harness::home::out;
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};

const TELLER: &str = "auxiliary:\n  summary:\n    provider: main\nsessions:\n  rest_minutes: 0.01\n";

fn rows(home: &Home, args: &[&str]) -> Vec<Value> {
    let listed: Value = serde_json::from_str(&out(&home.run(&[&["sessions", "--json"], args].concat()))).unwrap();
    listed["sessions"].as_array().unwrap().clone()
}

fn leave(term: &mut Term) {
    term.send("\x03\x04");
    assert_eq!(term.ended(), 0);
}

#[test]
fn a_session_that_rests_is_summarized_found_by_it_and_shown_in_the_browser() {
    let told = "The wombat was tamed.\nKeywords: quokka, marsupial";
    let mock = Mock::start(vec![Step::Text("an answer".into()), Step::Text(told.into())]);
    let home = Home::with(&mock, TELLER);
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("a question\r").wait("an answer");
    until("it is summarized", || rows(&home, &[]).iter().any(|row| row["summary"] == "The wombat was tamed."));
    let asked = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(asked.contains("You file a session") && asked.contains("a question"), "{asked}");
    let hits: Value = serde_json::from_str(&out(&home.run(&["sessions", "search", "quokka", "--json"]))).unwrap();
    assert_eq!((hits.as_array().unwrap().len(), &hits[0]["role"]), (1, &json!("summary")));
    term.send("\x12").wait("1 session");
    term.send("quokka").wait("wombat").wait("quokka");
    term.send("\x1b").gone("1 session");
    leave(&mut term);
    assert_eq!(mock.count(), 2, "nothing new was said, so nothing is summarized again");
    assert_eq!(rows(&home, &[])[0]["summary"], "The wombat was tamed.", "an extract does not replace it");
}

#[test]
fn a_session_that_is_left_at_once_has_an_extract_and_the_next_start_does_better() {
    let mock = Mock::start(vec![Step::Text("It is done. More words.".into())]);
    let home = Home::with(&mock, "");
    assert!(home.run(&["-p", "paint the fence"]).status.success());
    assert_eq!(rows(&home, &[])[0]["summary"], "paint the fence → It is done.");
    assert_eq!(mock.count(), 1, "without a model that is named for it none is asked");
    let mock = Mock::start(vec![Step::Text("The fence is green.\nKeywords: paint".into())]);
    home.model(&mock, TELLER);
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    until("the earlier one is summarized", || rows(&home, &[])[0]["summary"] == "The fence is green.");
    leave(&mut term);
}

#[test]
fn tags_pins_the_archive_and_the_trash_on_the_screen_and_on_the_command_line() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    for prompt in ["alpha task", "beta task"] {
        assert!(home.run(&["-p", prompt]).status.success());
    }
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.wait("mock-model");
    // The older one is tagged and pinned: it stands first.
    term.send("\x12").wait("2 sessions").wait("alpha task");
    term.send("\x1b[B\x1bt").wait("Tags, with commas or spaces between");
    term.send("Red, blue\r").wait("#red #blue");
    term.send("\x1bp").shows("the pinned one is first", |text| {
        let at = |word: &str| text.find(word).unwrap_or(usize::MAX);
        text.contains("◆ alpha task") && at("alpha task") < at("  beta task")
    });
    let row = rows(&home, &["list", "--tag", "red"]);
    assert_eq!((row.len(), &row[0]["tags"], &row[0]["pinned"]), (1, &json!(["red", "blue"]), &json!(true)));
    term.send("tag:blue").wait("1 session");
    term.send("\x15").wait("2 sessions");
    // Into the trash and back, by the key that the notice names.
    term.send("\x1b[3~").wait("moved to the trash: Alt-U restores it").wait("1 session");
    term.send("\x1bu").wait("2 sessions");
    // The archive has a scope of its own.
    term.send("\x1ba").wait("1 session");
    term.send("\t\t\t").wait("Archived sessions").wait("beta task");
    term.send("\x1ba").wait("nothing is archived");
    term.send("\t\t").wait("2 sessions");
    term.send("\x1b").gone("2 sessions");
    leave(&mut term);

    let said = |args: &[&str]| {
        let done = home.run(&[&["sessions"], args].concat());
        assert!(done.status.success(), "{done:?}");
        out(&done)
    };
    let alpha = rows(&home, &[]).into_iter().find(|row| row["preview"] == "alpha task").unwrap();
    let id = alpha["id"].as_str().unwrap();
    assert!(said(&["tag", id, "green"]).contains("#red #blue #green"));
    assert!(said(&["tag", id, "red", "--remove"]).contains("#blue #green"));
    said(&["pin", id, "--off"]);
    said(&["archive", id]);
    assert_eq!((rows(&home, &[]).len(), rows(&home, &["list", "--archived"]).len()), (1, 1));
    said(&["archive", id, "--off"]);
    assert!(said(&["delete", id]).contains("moved to the trash"));
    assert!(said(&["trash"]).contains("alpha task") && rows(&home, &[]).len() == 1);
    let found: Value = serde_json::from_str(&said(&["search", "alpha", "--json"])).unwrap();
    assert_eq!(found, json!([]), "what lies in the trash is not found");
    said(&["restore", id]);
    assert_eq!(rows(&home, &[]).len(), 2);
    said(&["delete", id]);
    assert!(said(&["trash", "--empty"]).contains("deleted 1 session"));
    assert!(said(&["trash"]).contains("the trash is empty"));
}

#[test]
fn the_tree_of_forks_leads_back_to_where_they_came_from() {
    let mock = Mock::start(vec![
        Step::Text("first answer".into()),
        Step::Text("second answer".into()),
        Step::Text("another way".into()),
    ]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("alpha plan\r").wait("first answer");
    term.send("beta plan\r").wait("second answer");
    term.shows("both turns have ended", |text| text.matches("step ·").count() == 2);
    // A fork at the second prompt: it stays behind, and comes into the composer.
    term.send("/rewind\r").wait("Go back to a prompt").wait("2 prompts");
    term.send("\x1by");
    term.gone("second answer").wait("first answer").wait("beta plan");
    term.send("\x15gamma plan\r").wait("another way");
    let sent = mock.requests().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("alpha plan") && sent.contains("gamma plan") && !sent.contains("beta plan"), "{sent}");
    term.send("/tree\r").wait("Tree of 1 fork").wait("after turn 1").wait("└");
    term.send("\x1b[A").wait("switches to it");
    term.send("\r").gone("Tree of 1 fork").wait("second answer");
    // The browser has the same tree.
    term.send("\x12").wait("2 sessions");
    term.send("\x1bg").wait("Tree of 1 fork");
    term.send("\x1b").gone("Tree of 1 fork");
    term.send("\x1b").gone("2 sessions");
    leave(&mut term);
    let fork = rows(&home, &[]).into_iter().find(|row| row["title"].as_str().is_some_and(|it| it.contains("fork")));
    let fork = fork.unwrap()["id"].as_str().unwrap().to_owned();
    assert!(out(&home.run(&["sessions", "tree", &fork])).contains("after turn 1"));
}

#[test]
fn a_resumed_session_says_where_it_stopped_and_what_changed_since() {
    let write = call("write_file", json!({ "path": "notes.txt", "content": "ours" }));
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![write]), Step::Text("wrote it".into())]);
    let home = Home::with(&mock, "");
    let git = |args: &[&str], at: Option<i64>| {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(home.project()).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        if let Some(at) = at {
            git.env("GIT_COMMITTER_DATE", format!("@{at} +0000"));
        }
        assert!(git.output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "-q", "-b", "main"], None);
    git(&["commit", "-q", "--allow-empty", "-m", "before"], Some(1_700_000_000));
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("write the notes\r").wait("wrote it").wait("steps ·");
    // A busy machine may tell the branch too late for a prompt: then the next one has it.
    let found = || out(&home.run(&["sessions", "search", "notes branch:main", "--json"])).contains("session_id");
    for n in 0..9 {
        if found() {
            break;
        }
        term.send(&format!("note {n}\r")).shows("answered", |text| text.matches("1 step ·").count() == n + 1);
    }
    let ended = |text: &str| text.split_once("❯ read the notes").is_some_and(|(_, rest)| rest.contains("step ·"));
    term.send("read the notes\r").shows("answered", ended);
    leave(&mut term);
    std::fs::write(home.project().join("notes.txt"), "theirs").unwrap();
    git(&["switch", "-q", "-c", "fix"], None);
    let later = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 60;
    git(&["commit", "-q", "--allow-empty", "-m", "after"], Some(i64::try_from(later).unwrap()));
    let mut term = Term::sized(&home, &["-c"], (120, 40));
    term.wait("resumed, last used").wait("last prompt: “read the notes”");
    term.wait("branch fix (was main) · 1 commit since").wait("notes.txt (changed)");
    leave(&mut term);
}

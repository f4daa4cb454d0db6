//! What commands change is undone: everything by a rewind, one command at a time, and again by a redo.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::json;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn run(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

/// Every file, link and folder with what it holds and its mode. One that goes meanwhile is left out.
fn state(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(about) = std::fs::symlink_metadata(&path) else { continue };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let what = if about.is_symlink() {
                format!("-> {}", std::fs::read_link(&path).unwrap_or_default().display())
            } else if about.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else {
                format!("{:?}", std::fs::read(&path).unwrap_or_default())
            };
            found.push(format!("{name} {:o} {what}", about.permissions().mode() & 0o7777));
        }
    }
    found.sort();
    found
}

const CONFIG: &str = "approvals: {mode: yolo}\n";

#[test]
fn a_command_is_undone_and_redone_with_modes_links_and_moves() {
    let line = "printf new >edited && rm gone && mv here there && chmod 755 run.sh && mkdir -p made/deep && \
                echo x >made/deep/f && ln -sf run.sh link && rm -r old && echo changed";
    let mock = Mock::start(vec![run(line), Step::Text("all done".into())]);
    let home = Home::with(&mock, CONFIG);
    let project = home.project();
    for (name, mode) in [("edited", 0o640), ("gone", 0o600), ("here", 0o644), ("run.sh", 0o644)] {
        std::fs::write(project.join(name), format!("{name}\r\n\u{0}")).unwrap();
        std::fs::set_permissions(project.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    std::fs::create_dir_all(project.join("old/er")).unwrap();
    std::fs::write(project.join("old/er/f"), "deep").unwrap();
    symlink("edited", project.join("link")).unwrap();
    let before = state(&project);

    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("steps ·");
    let after = state(&project);
    assert_ne!(before, after);

    term.send("/undo-command\r").wait("Undo a command").wait("there → here").wait("run.sh (mode 755 → 644)");
    term.wait("Never undone");
    assert_eq!(state(&project), after, "nothing has happened yet");
    term.send("\r").gone("Undo a command");
    until("all is as it was", || state(&project) == before);

    term.send("/redo\r");
    until("the command's changes are back", || state(&project) == after);

    // A rewind covers it, too.
    term.send("/rewind\r").wait("Go back to a prompt").wait("M edited");
    term.send("\r").wait("nothing has changed yet");
    term.send("\r");
    until("all is as it was", || state(&project) == before);
}

#[test]
fn what_was_edited_since_is_kept_unless_it_is_named_and_an_older_command_is_reached() {
    let mock = Mock::start(vec![
        run("echo one >a; echo one >b; echo first"),
        run("echo two >c; echo second"),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, CONFIG);
    let project = home.project();
    let read = |name: &str| std::fs::read_to_string(project.join(name)).ok();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("steps ·");
    std::fs::write(project.join("a"), "by hand").unwrap();

    term.send("/undo-command 2\r").wait("echo first").wait("changed elsewhere since");
    term.send("\r").wait("skipped, changed elsewhere");
    assert_eq!((read("a").as_deref(), read("b"), read("c").as_deref()), (Some("by hand"), None, Some("two\n")));

    term.send("/undo-command 2\r").wait("changed elsewhere since");
    term.send("o").wait("restores 1 file");
    term.send("\r").gone("Undo a command");
    until("the file is gone", || read("a").is_none());
    term.send("/redo\r");
    until("what was written by hand is back", || read("a").as_deref() == Some("by hand"));
}

#[test]
fn a_command_in_the_background_is_recorded_when_it_ends() {
    let background = json!({ "command": "echo begun >a; until [ -e go ]; do sleep 0.05; done; echo late >b",
                             "background": true });
    let mock =
        Mock::start(vec![Step::Calls(String::new(), vec![call("terminal", background)]), Step::Text("it runs".into())]);
    let home = Home::with(&mock, CONFIG);
    let project = home.project();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("it runs").wait("steps ·");
    std::fs::write(project.join("go"), "").unwrap();
    until("it ended", || project.join("b").exists());
    let database = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    let recorded =
        || database.query_row("SELECT count(*) FROM commands WHERE running = 0", [], |row| row.get::<_, i64>(0));
    until("it is recorded", || recorded().is_ok_and(|count| count == 1));
    term.send("/undo-command\r").wait("D a").wait("D b");
    term.send("\r");
    until("both are gone", || !project.join("a").exists() && !project.join("b").exists());
}

#[test]
fn what_can_t_be_undone_is_said() {
    let mock = Mock::start(vec![
        run("mkdir -p node_modules/x && echo 1 >node_modules/x/i.js && echo y >f && echo did"),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, CONFIG);
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("steps ·");
    term.send("/undo-command\r").wait("Can't be restored").wait("node_modules is left out").wait("D f");
    term.send("\x1b").gone("Undo a command");
    term.send("/rewind\r").wait("Not undone, or not all");
}

#[test]
fn a_named_checkpoint_is_compared_and_restored() {
    let home = Home::empty();
    let project = home.project();
    std::fs::write(project.join("a"), "one\n").unwrap();
    std::fs::create_dir(project.join("sub")).unwrap();
    std::fs::write(project.join("sub/b"), "two\n").unwrap();
    let before = state(&project);
    let text = |args: &[&str]| {
        let done = home.run(args);
        (done.status.code(), String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap())
    };
    let (code, said) = text(&["checkpoints", "create", "before"]);
    assert_eq!((code, said.starts_with("saved 3 files")), (Some(0), true), "{said}");
    assert!(text(&["checkpoints", "create", "before"]).1.contains("already"));
    assert!(text(&["checkpoints", "create", "../x"]).1.contains("no name for a checkpoint"));
    std::fs::write(project.join("a"), "changed\n").unwrap();
    std::fs::remove_dir_all(project.join("sub")).unwrap();
    std::fs::write(project.join("new"), "x").unwrap();
    let (_, said) = text(&["checkpoints", "diff", "before"]);
    for line in ["M a  +1 −1", "A sub/b", "D new"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(text(&["checkpoints", "restore", "before"]).1.contains("--yes"));
    let changed = state(&project);
    let (code, said) = text(&["checkpoints", "restore", "before", "--yes"]);
    assert_eq!((code, state(&project)), (Some(0), before.clone()), "{said}");
    // The restore is undone, and done again.
    let undo = said.lines().find_map(|line| line.split_once("to undo it: hermes checkpoints restore "));
    let (_, undo) = undo.unwrap_or_else(|| panic!("{said}"));
    assert_eq!((text(&["checkpoints", "restore", undo, "--yes"]).0, state(&project)), (Some(0), changed));
    assert_eq!((text(&["checkpoints", "restore", "before", "--yes"]).0, state(&project)), (Some(0), before));
    assert!(text(&["checkpoints", "list"]).1.contains(undo));
    assert!(text(&["checkpoints", "prune", "--older-than", "0"]).1.contains("deleted 4 checkpoints"));
    assert!(text(&["checkpoints", "restore", "before"]).1.contains("there is no checkpoint before"));
}

#[test]
fn the_agent_goes_back_to_its_own_checkpoint_with_files_and_conversation() {
    let tool = |name: &str| Step::Calls(String::new(), vec![call(name, json!({ "name": "before" }))]);
    let mock = Mock::start(vec![
        run("echo good >a; echo first"),
        tool("checkpoint"),
        run("echo bad >a; echo extra >b; rm keep; echo attempt-that-failed"),
        tool("restore"),
        Step::Text("another way".into()),
    ]);
    let home = Home::with(&mock, CONFIG);
    let project = home.project();
    std::fs::write(project.join("keep"), "kept").unwrap();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("another way").wait("steps ·");
    let read = |name: &str| std::fs::read_to_string(project.join(name)).ok();
    assert_eq!((read("a").as_deref(), read("b"), read("keep").as_deref()), (Some("good\n"), None, Some("kept")));
    let last = mock.requests().last().unwrap()["messages"].to_string();
    assert!(last.contains("echo first") && last.contains("Restored the checkpoint before"), "{last}");
    assert!(!last.contains("attempt-that-failed"), "{last}");
    assert!(!term.text().contains("attempt-that-failed"), "{}", term.text());
    // What the restore changed is a change like others: a rewind to the prompt covers it.
    let shelf = home.hermes().join("checkpoints");
    let session = std::fs::read_dir(&shelf).unwrap().next().unwrap().unwrap().path();
    assert!(session.join("before.json").is_file());
    term.send("/rewind\r").wait("Go back to a prompt").wait("D a");
}

#[test]
fn a_command_that_still_runs_when_its_session_is_closed_is_written_down() {
    let server = json!({ "command": "echo started >made; sleep 60", "background": true });
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", server)]),
        run("until grep -q started made; do :; done"),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, CONFIG);
    let done = home.run(&["-p", "go"]);
    assert!(done.status.success(), "{done:?}");
    let database = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    let sql = "SELECT commands.gaps, (SELECT count(*) FROM changes WHERE command = commands.key)
               FROM commands WHERE line LIKE '%sleep 60%'";
    let (gaps, files) =
        database.query_row(sql, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))).unwrap();
    assert_eq!((gaps.as_str(), files), ("[\"what it changed after its session was closed\"]", 1));
}

#[test]
fn a_restore_is_taken_back_with_files_and_conversation() {
    let tool = |name: &str| Step::Calls(String::new(), vec![call(name, json!({ "name": "before" }))]);
    let mock = Mock::start(vec![tool("checkpoint"), Step::Text("is saved".into())]);
    let home = Home::with(&mock, CONFIG);
    let project = home.project();
    std::fs::write(project.join("a"), "good\n").unwrap();
    let read = |name: &str| std::fs::read_to_string(project.join(name)).ok();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("first\r").wait("is saved").wait("steps ·");
    mock.push(vec![run("echo bad >a; echo extra >b; echo attempt"), Step::Text("is tried".into())]);
    term.send("second\r").wait("is tried").wait("1 command");
    mock.push(vec![tool("restore"), Step::Text("went elsewhere".into())]);
    term.send("third\r").wait("went elsewhere").gone("is tried").wait("steps ·").wait("Ctrl-P palette");
    assert_eq!((read("a").as_deref(), read("b")), (Some("good\n"), None));

    term.send("/redo\r").wait("is tried").gone("went elsewhere");
    until("the files are back", || (read("a").as_deref(), read("b").as_deref()) == (Some("bad\n"), Some("extra\n")));
    mock.push(vec![Step::Text("goes on".into())]);
    term.send("\x15fourth\r").wait("goes on");
    let sent = mock.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("is tried") && sent.contains("third"), "{sent}");
    assert!(!sent.contains("went elsewhere") && !sent.contains("Restored the checkpoint"), "{sent}");
    assert!(!sent.contains("externally") && !sent.contains("left so"), "{sent}");
    term.send("/redo\r").wait("nothing to redo");
    term.send("/rewind\r").wait("Go back to a prompt").wait("second");
}

#[test]
fn what_a_later_command_changed_is_said_to_be_its_work_and_a_move_counts_once() {
    let mock = Mock::start(vec![
        run("echo one >a; mv here there; mkdir d; echo x >d/f; mkfifo pipe; echo first"),
        run("echo two >>a; echo second"),
        Step::Text("all done".into()),
    ]);
    let home = Home::with(&mock, CONFIG);
    let project = home.project();
    std::fs::write(project.join("here"), "moved").unwrap();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("steps ·");
    term.send("/undo-command 2\r").wait("echo first").wait("changed later by `echo two >>a");
    term.wait("pipe is neither a file nor a link nor a folder");
    term.send("\x1b").gone("Undo a command");
    // Somebody else's file is in the folder: it stays.
    std::fs::write(project.join("d/mine"), "mine").unwrap();
    term.send("/undo-command 2\r").wait("it is not empty").wait("restores 2 files");
    term.send("\r").wait("undone: 2 files");
    until("the move is undone", || project.join("here").exists() && !project.join("d/f").exists());
    mock.push(vec![Step::Text("I see".into())]);
    term.send("go on\r").wait("I see").wait("the model was notified: The user undid what this command had changed");
    assert!(project.join("d/mine").exists());
}

#[test]
fn a_rewind_names_no_file_that_stays_as_it_is() {
    let tool = |name: &str| Step::Calls(String::new(), vec![call(name, json!({ "name": "before" }))]);
    let mock = Mock::start(vec![
        tool("checkpoint"),
        run("echo bad >a; echo extra >b; echo attempt"),
        tool("restore"),
        Step::Text("another way".into()),
    ]);
    let home = Home::with(&mock, CONFIG);
    std::fs::write(home.project().join("a"), "good\n").unwrap();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("go\r").wait("another way").wait("steps ·");
    term.send("/rewind\r").wait("Go back to a prompt").wait("Left out of the conversation");
    term.send("\r").wait("nothing has changed yet");
    term.send("\r").wait("rewound: ");
    let text = term.text();
    let line = text.lines().find(|line| line.contains("rewound: ")).unwrap();
    assert!(!line.contains("file"), "{line}");
}

#[test]
fn a_preview_shows_the_lines_and_a_long_command_in_full() {
    let long = format!("printf 'new line\\n' >a; echo {} ; echo the-end", "word ".repeat(40));
    let mock = Mock::start(vec![run("echo x >b"), run(&long), Step::Text("all done".into())]);
    let home = Home::with(&mock, CONFIG);
    std::fs::write(home.project().join("a"), "old line\n").unwrap();
    let mut term = Term::sized(&home, &[], (120, 45));
    term.wait("❯");
    term.send("go\r").wait("all done").wait("steps ·");
    term.send("/undo-command\r").wait("M a +1 −1").wait("the-end").wait("What that changes in them");
    term.send("\x1b[6~").wait("-new line").wait("+old line").wait("↓ older");
    assert!(!term.text().contains("newer"), "{}", term.text());
    term.send("\x1b[B").wait("echo x >b").wait("newer").gone("↓ older");
    term.send("\x1b").gone("Undo a command");
    term.send("/rewind\r").wait("Go back to a prompt").wait("M a");
    term.send("\x1b[6~\x1b[6~").wait("+old line");
    term.send("\x1b").gone("Go back to a prompt");
}

#[test]
fn the_card_of_a_restore_names_the_turns_that_would_go() {
    let tool = |name: &str| Step::Calls(String::new(), vec![call(name, json!({ "name": "before" }))]);
    let mock = Mock::start(vec![tool("checkpoint"), Step::Text("is saved".into())]);
    let home = Home::with(&mock, "");
    let project = home.project();
    std::fs::write(project.join("a"), "good\n").unwrap();
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("first\r").wait("is saved").wait("steps ·");
    mock.push(vec![Step::Text("is tried".into())]);
    term.send("try the other way\r").wait("is tried").wait("Ctrl-P palette");
    std::fs::write(project.join("a"), "bad\n").unwrap();
    mock.push(vec![tool("restore"), Step::Text("went back".into())]);
    term.send("back\r")
        .wait("turns would leave the conversation")
        .wait("· “try the other way”")
        .wait("Esc: decide later");
    term.send("y").wait("Enter confirms");
    term.send("\r").wait("went back").wait("restored the checkpoint before");
    assert_eq!(std::fs::read_to_string(project.join("a")).unwrap(), "good\n");
}

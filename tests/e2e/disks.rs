//! Homes that can't be written to: a full disk, a read-only folder. The conversation goes on and a person knows.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Disk, Home, Mock, Step, Term, until};
use serde_json::json;

#[test]
fn a_full_disk_stops_no_conversation() {
    let mock = Mock::start(vec![
        Step::Text("saved before".into()),
        Step::Text("the-first-unsaved".into()),
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": "echo it-still-runs" }))]),
        Step::Text("the-second-unsaved".into()),
        Step::Text("there-is-room".into()),
    ]);
    let home = Home::empty();
    let Some(disk) = Disk::small("a_full_disk_stops_no_conversation", &home.hermes(), 3) else { return };
    home.model(&mock, "");
    let mut term = Term::sized(&home, &[], (200, 45));
    term.wait("❯");
    term.send("first\r").wait("saved before");
    let ballast = disk.fill();
    // More than the room that the database has taken already.
    term.paste(&"a line of a large file\n".repeat(12_000)).wait("Pasted");
    term.send(" second\r").wait("the-first-unsaved");
    // What can't be saved, where, and what to do: in a line that stays.
    term.wait("✗ sessions").wait("could not").wait("free some disk");
    term.send("third\r").wait("the-second-unsaved");
    assert!(mock.requests().last().unwrap()["messages"].to_string().contains("it-still-runs"));

    std::fs::remove_file(ballast).unwrap();
    term.send("fourth\r").wait("there-is-room").gone("✗ sessions");
    term.quit();
    assert_eq!(term.ended(), 0);
    // Nothing of it is lost: what the full disk refused is there too.
    let mut term = Term::start(&home, &["-c"]);
    term.wait("there-is-room");
    let found = |word: &str| out(&home.run(&["sessions", "search", word, "--json"])).contains("session_id");
    for word in ["first", "fourth", "second", "third"] {
        until(&format!("{word} is stored"), || found(word));
    }
    term.quit();
    assert_eq!(term.ended(), 0);
}

#[test]
fn a_start_on_a_full_disk_says_so_and_works() {
    let mock = Mock::start(vec![Step::Text("an answer all the same".into())]);
    let home = Home::empty();
    let Some(disk) = Disk::small("a_start_on_a_full_disk_says_so_and_works", &home.hermes(), 3) else { return };
    home.model(&mock, "");
    disk.fill();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("sessions are not saved").wait("free some");
    term.send("hello\r").wait("an answer all the same");
    term.quit();
    assert_eq!(term.ended(), 0);
}

#[test]
fn a_read_only_home_still_answers() {
    let name = "a_read_only_home_still_answers";
    let mock = Mock::start(vec![Step::Text("read-only is fine".into()), Step::Text("on the screen too".into())]);
    let home = Home::empty();
    // A folder's permissions do not bind root; a read-only file system does.
    let root = rustix::process::geteuid().is_root();
    let disk = if root { Disk::small(name, &home.hermes(), 3) } else { None };
    if root && disk.is_none() {
        return;
    }
    home.model(&mock, "");
    match &disk {
        Some(disk) => disk.read_only(),
        None => {
            let mut permissions = std::fs::metadata(home.hermes()).unwrap().permissions();
            permissions.set_readonly(true);
            std::fs::set_permissions(home.hermes(), permissions).unwrap();
        }
    }
    let done = home.run(&["-p", "hello"]);
    assert_eq!(out(&done), "read-only is fine\n");
    let folder = home.hermes().display().to_string();
    let told =
        |text: &str| text.contains("not saved") && text.contains(&folder) && text.contains("make the folder writable");
    assert!(told(&err(&done)), "{}", err(&done));

    let mut term = Term::sized(&home, &[], (220, 50));
    term.shows("the folder and the remedy", told);
    term.send("hello\r").wait("on the screen too");
    // What is changed says that it can't be kept.
    term.send("/skin slate\r");
    term.quit();
    assert_eq!(term.ended(), 0);
}

#[test]
fn a_log_that_fills_the_disk_stops_neither_its_command_nor_anybody_else() {
    let name = "a_log_that_fills_the_disk_stops_neither_its_command_nor_anybody_else";
    // More than the disk has, and after it a wait, so that the screen can be looked at.
    let flood = "echo the-first-line; seq 1 2000000; echo the-last-line; read x; exit 5";
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": flood }))]),
        Step::Text("it-went-on".into()),
        Step::Text("saved-again".into()),
    ]);
    let home = Home::empty();
    let Some(disk) = Disk::small(name, &home.hermes(), 8) else { return };
    home.model(&mock, "");
    let mut term = Term::sized(&home, &["--yolo"], (200, 45));
    term.wait("❯");
    term.send("go\r").wait("disk full:").wait("the-last-line");
    // Nobody else is short of room for it.
    let spilled = home.hermes().join("cache/spill");
    until("the space is given back", || {
        let mut folders = vec![spilled.clone()];
        let mut bytes = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let about = entry.metadata().unwrap();
                if about.is_dir() { folders.push(entry.path()) } else { bytes += about.len() }
            }
        }
        bytes < 1024 * 1024
    });
    // The screen is alive: the person types into the very command, and its end is told with both ends of its output.
    term.send("\x1b[20~").wait("keys go to");
    term.send("\r").wait("it-went-on");
    let told = mock.requests().last().unwrap()["messages"].to_string();
    assert!(told.contains("the-first-line") && told.contains("the-last-line") && told.contains("2000000"), "{told}");
    assert!(told.contains("\\\"exit_code\\\":5") || told.contains("exit_code\\\": 5"), "{told}");
    term.send("\x1b[20~").wait("Ask anything");
    term.send("more\r").wait("saved-again");
    term.quit();
    assert_eq!(term.ended(), 0);
    drop(disk);
}

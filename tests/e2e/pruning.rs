//! Exporting all sessions, deleting old ones, what that frees, and the budget.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What a folder takes on the disk.
fn du(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| {
        let about = entry.metadata().unwrap();
        if about.is_dir() { du(&entry.path()) } else { about.blocks() * 512 }
    };
    entries.map(size).sum()
}

/// Takes a session in whose entries are of this day.
fn import(home: &Home, id: &str, day: &str, rows: usize) {
    let text = |at: usize| format!("{id} entry {at} {}", "lorem ipsum dolor sit amet ".repeat(20));
    let row = |at: usize| {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"session_id": id, "role": role, "content": text(at), "at": format!("{day}T10:00:{:02}Z", at % 60)})
    };
    let file = home.tmp().join(format!("{id}.jsonl"));
    std::fs::write(&file, (0..rows).map(|at| format!("{}\n", row(at))).collect::<String>()).unwrap();
    let done = home.run(&["sessions", "import", file.to_str().unwrap()]);
    assert!(done.status.success(), "{done:?}");
}

fn json_of(home: &Home, args: &[&str]) -> Value {
    let done = home.run(&[&["sessions"], args, &["--json"]].concat());
    assert!(done.status.success(), "{done:?}");
    serde_json::from_str(&out(&done)).unwrap()
}

fn ids(home: &Home) -> Vec<String> {
    let listed = json_of(home, &["list"]);
    let mut ids: Vec<String> =
        listed["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn all_sessions_are_exported_a_file_each_without_secrets() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz";
    assert!(home.run(&["-p", &format!("use {key} please")]).status.success());
    let typed = ids(&home).remove(0);
    for id in ["one", "two", "three"] {
        import(&home, id, "2026-01-02", 4);
    }
    assert!(home.run(&["sessions", "tag", "one", "red"]).status.success());
    assert!(home.run(&["sessions", "archive", "two"]).status.success());
    assert!(home.run(&["sessions", "delete", "three"]).status.success());

    let folder = home.tmp().join("out");
    let to = folder.to_str().unwrap();
    let told = json_of(&home, &["export", "--all", "--out", to]);
    assert_eq!(told["exported"].as_array().unwrap().len(), 3, "the archive comes along, the trash does not: {told}");
    let names: Vec<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().any(|name| name.ends_with(".one.md")), "{names:?}");
    let secret = names.iter().find(|name| name.contains(&typed)).unwrap();
    let text = std::fs::read_to_string(folder.join(secret)).unwrap();
    assert!(text.contains("please") && !text.contains(key), "{text}");

    // What is there stays, and each that does is named.
    let again = home.run(&["sessions", "export", "--all", "--out", to]);
    assert_eq!(again.status.code(), Some(1));
    assert!(err(&again).contains("one was not exported") && err(&again).contains("--force"), "{}", err(&again));
    assert!(home.run(&["sessions", "export", "--all", "--out", to, "--force"]).status.success());

    // Filters, and one stream.
    let lines = out(&home.run(&["sessions", "export", "--all", "tag:red", "--format", "jsonl", "--out", "-"]));
    assert_eq!((lines.lines().count(), lines.contains("one entry 3")), (5, true), "{lines}");
    let none = home.run(&["sessions", "export", "--all", "wombat"]);
    assert!(!none.status.success() && err(&none).contains("is no filter"), "{}", err(&none));
    let raw = out(&home.run(&["sessions", "export", &typed, "--no-redact"]));
    assert!(raw.contains(key));
    let one = folder.join("one.html");
    assert!(home.run(&["sessions", "export", "one", "-f", "html", "--out", one.to_str().unwrap()]).status.success());
    assert!(std::fs::read_to_string(one).unwrap().contains("<html"));
}

#[test]
fn old_sessions_go_with_all_of_theirs_and_the_disk_has_what_is_said() {
    let home = Home::empty();
    for number in 0..24 {
        import(&home, &format!("old{number}"), "2026-01-02", 160);
    }
    import(&home, "pinned", "2026-01-02", 4);
    import(&home, "parent", "2026-01-02", 6);
    let today = chrono::Utc::now().format("%Y-%m-%d").to_string();
    import(&home, "young", &today, 40);
    assert!(home.run(&["sessions", "pin", "pinned"]).status.success());
    let fork = json_of(&home, &["fork", "parent"])["id"].as_str().unwrap().to_owned();
    let recordings = home.hermes().join("recordings");
    std::fs::create_dir_all(recordings.join("old3")).unwrap();
    std::fs::write(recordings.join("old3/1.rec"), vec![7; 50_000]).unwrap();
    // The index is up to date, and the log is in the database.
    assert!(out(&home.run(&["sessions", "search", "ipsum"])).contains("ipsum"));

    let refused = home.run(&["sessions", "prune", "--older-than", "90d"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("--yes"), "{}", err(&refused));
    assert_eq!(ids(&home).len(), 28);
    let plan = json_of(&home, &["prune", "--older-than", "12w", "--dry-run"]);
    assert_eq!(plan["sessions"].as_array().unwrap().len(), 25);
    assert_eq!(plan["kept"]["pinned"], 1);
    assert_eq!(plan["deleted"], Value::Null);
    let said = json_of(&home, &["stats"])["prune"]["older_than_90d"].as_u64().unwrap();

    let before = du(&home.hermes());
    let done = json_of(&home, &["prune", "--older-than", "90d", "--yes"]);
    let freed = before - du(&home.hermes());
    let close = |a: u64, b: u64, percent: u64| a.abs_diff(b) * 100 <= b * percent + 100 * 64_000;
    assert!(freed > 2_000_000, "{freed} of {before}");
    assert!(close(done["freed"].as_u64().unwrap(), freed, 3), "said {}, freed {freed}", done["freed"]);
    assert!(close(said, freed, 20), "promised {said}, freed {freed}");
    assert_eq!(done["waits"], Value::Null);

    let mut left = vec!["pinned".to_owned(), "young".to_owned(), fork.clone()];
    left.sort();
    assert_eq!(ids(&home), left);
    let journals: Vec<_> = std::fs::read_dir(home.hermes().join("journal")).unwrap().flatten().collect();
    assert!(!journals.iter().any(|file| file.file_name().to_string_lossy().starts_with("old")));
    assert!(!recordings.join("old3").exists());
    // A fork has its own copy, and no longer a parent.
    assert!(out(&home.run(&["sessions", "show", &fork])).contains("parent entry 5"));
    assert_eq!(json_of(&home, &["tree", &fork])["tree"].as_array().unwrap().len(), 1);
    let hits = |word: &str| {
        let found: Value = serde_json::from_str(&out(&home.run(&["sessions", "search", word, "--json"]))).unwrap();
        found.as_array().unwrap().len()
    };
    assert_eq!((hits("old3"), hits("parent") > 0, hits("young") > 0), (0, true, true));
    assert!(out(&home.run(&["sessions", "repair"])).contains("is intact"));
    let again = out(&home.run(&["sessions", "prune", "--older-than", "90d", "--yes"]));
    assert!(again.contains("old ones that stay: 1 pinned"), "{again}");
}

#[test]
fn pruning_asks_and_never_takes_what_is_open_or_not_sent() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    for id in ["gone", "open", "unsent"] {
        import(&home, id, "2026-01-02", 4);
    }
    let mut term = Term::start(&home, &["--resume", "unsent"]);
    term.wait("unsent entry 3");
    term.send("words that wait");
    term.wait("words that wait");
    until("the draft is kept", || {
        let count = "SELECT count(*) FROM drafts WHERE place = 'session:unsent' AND text LIKE '%that wait%'";
        let found = rusqlite::Connection::open(home.hermes().join("state.db"));
        found.and_then(|db| db.query_row(count, [], |row| row.get::<_, i64>(0))).is_ok_and(|count| count == 1)
    });
    term.kill();
    let mut term = Term::start(&home, &["--resume", "open"]);
    term.wait("open entry 3");

    let mut asked = Term::sized(&home, &["sessions", "prune", "--older-than", "1d"], (120, 30));
    asked.wait("1 session would go for good").wait("1 open").wait("Delete these? [y/N]");
    asked.send("\r").wait("nothing deleted");
    assert_eq!(asked.ended(), 1);
    assert_eq!(ids(&home).len(), 3);
    let mut asked = Term::sized(&home, &["sessions", "prune", "--older-than", "1d"], (120, 30));
    asked.wait("Delete these? [y/N]");
    asked.send("y\r");
    asked.wait("deleted 1 session");
    assert_eq!(asked.ended(), 0);
    assert_eq!(ids(&home), ["open", "unsent"]);
    term.quit();
    assert_eq!(term.ended(), 0);
}

#[test]
fn over_the_budget_nothing_is_lost_and_a_person_is_told_once() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "sessions:\n  budget_bytes: 50000\n");
    import(&home, "big", "2026-01-02", 200);
    let mut term = Term::sized(&home, &[], (160, 40));
    term.wait("more than sessions.budget_bytes").wait("hermes sessions prune --older-than 90d");
    term.quit();
    assert_eq!(term.ended(), 0);
    assert_eq!(ids(&home), ["big"]);
    let doctor = out(&home.run(&["doctor"]));
    assert!(doctor.contains("budget") && doctor.contains("more than sessions.budget_bytes"), "{doctor}");
    let stats = out(&home.run(&["sessions", "stats"]));
    assert!(stats.contains("`hermes sessions prune` frees about") && stats.contains("more than"), "{stats}");
}

#[test]
fn the_setting_deletes_old_sessions_at_a_start() {
    let mock = Mock::start(vec![Step::Text("an answer".into())]);
    let home = Home::with(&mock, "sessions:\n  prune_after_days: 30\n");
    import(&home, "ancient", "2026-01-02", 4);
    let mut term = Term::sized(&home, &[], (160, 40));
    term.wait("deleted 1 session not used for 30 days");
    until("it is gone", || ids(&home).is_empty());
    term.send("a question\r").wait("an answer");
    term.quit();
    assert_eq!(term.ended(), 0);
    assert_eq!(ids(&home).len(), 1);
}

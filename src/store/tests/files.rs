//! Files: other programs' and damaged ones are left alone, failures are told, the journal steps in.

use super::*;
use std::fs;

fn lines(home: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(home)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    names
}

async fn keep_one(store: &Store, session: &str) {
    store.append(&id(session), vec![item(1, user("hello"))]).await.expect("kept");
}

#[test]
fn a_new_home_is_private_and_the_file_is_ours_from_its_header_on() {
    let folder = home();
    let home = folder.path().join("deep/home");
    run(async {
        let store = Store::spawn(&home);
        let opened = store.opened().await;
        assert_eq!(opened, Opened { path: home.join("state.db").display().to_string(), warning: None });
        keep_one(&store, "a").await;
        assert_eq!(
            (mode(&home), mode(&home.join("state.db")), mode(&home.join("state.db-wal"))),
            (0o700, 0o600, 0o600)
        );
        // Before any checkpoint.
        let head = fs::read(home.join("state.db")).expect("a file");
        assert_eq!(head[68..72], APPLICATION_ID.to_be_bytes());
        store.sync().await.expect("synced");
        store.close().await;
    });
    assert_eq!(lines(&home), ["journal", "state.db"]);
}

#[test]
fn a_state_db_of_another_program_is_not_touched() {
    let home = home();
    let theirs = home.path().join("state.db");
    let other = rusqlite::Connection::open(&theirs).expect("opens");
    other.execute_batch("CREATE TABLE sessions(id); INSERT INTO sessions VALUES ('theirs')").expect("runs");
    drop(other);
    let before =
        (fs::read(&theirs).expect("reads"), fs::metadata(&theirs).expect("is there").modified().expect("a time"));
    run(async {
        let store = Store::spawn(home.path());
        let opened = store.opened().await;
        assert!(opened.path.ends_with("/hermes.db"), "{opened:?}");
        let warning = opened.warning.expect("a warning");
        assert!(warning.contains("state.db belongs to another program") && warning.contains("hermes.db"), "{warning}");
        keep_one(&store, "a").await;
        store.repair().await.expect("repairs");
        store.close().await;
    });
    let after =
        (fs::read(&theirs).expect("reads"), fs::metadata(&theirs).expect("is there").modified().expect("a time"));
    assert!(before == after, "the file was touched");
    assert_eq!(lines(home.path()), ["hermes.db", "journal", "state.db"]);
    run(async {
        let again = Store::spawn(home.path());
        assert_eq!(again.latest(None).await.expect("looks"), Some(id("a")));
    });
}

#[test]
fn anything_that_is_no_database_is_left_alone_too() {
    for content in [&b"not a database at all"[..], &[0; 4096]] {
        let home = home();
        fs::write(home.path().join("state.db"), content).expect("written");
        run(async {
            let store = Store::spawn(home.path());
            assert!(store.opened().await.path.ends_with("/hermes.db"));
            keep_one(&store, "a").await;
        });
        assert_eq!(fs::read(home.path().join("state.db")).expect("reads"), content);
    }
}

/// A home whose `state.db` is ours and broken from its second page on.
fn damaged(home: &Path, page: usize, count: usize) -> Vec<u8> {
    run(async {
        let store = Store::spawn(home);
        for session in 0..40 {
            let text = format!("session {session} {}", "filler words ".repeat(60));
            let items = (1..=10).map(|n| item(n, user(&format!("{text} {n}")))).collect();
            store.append(&id(&format!("s{session:02}")), items).await.expect("kept");
        }
        store.set_prompt(&id("s01"), "the prompt".to_owned()).await.expect("kept");
        store.set_title(&id("s01"), "Named").await.expect("kept");
        store.job(StoreJob::AddHistory("typed".to_owned())).await;
        store.job(StoreJob::SaveDraft { session: None, cwd: "/x".to_owned(), text: "draft".to_owned() }).await;
        store.close().await;
    });
    let path = home.join("state.db");
    let mut bytes = fs::read(&path).expect("reads");
    bytes[page * 4096..(page + count) * 4096].fill(0xa5);
    fs::write(&path, &bytes).expect("written");
    bytes
}

#[test]
fn a_damaged_database_is_kept_and_a_new_one_stands_beside_it() {
    let home = home();
    // All but the header.
    let bytes = damaged(home.path(), 0, 0);
    let mut bytes = bytes;
    bytes[100..].fill(0xa5);
    fs::write(home.path().join("state.db"), &bytes).expect("written");
    run(async {
        let store = Store::spawn(home.path());
        let opened = store.opened().await;
        assert!(opened.path.contains("/hermes-20"), "{opened:?}");
        let warning = opened.warning.expect("a warning");
        assert!(warning.contains("state.db is damaged") && warning.contains("hermes sessions repair"), "{warning}");
        keep_one(&store, "fresh").await;
        store.close().await;
        assert_eq!(fs::read(home.path().join("state.db")).expect("reads"), bytes);
        // The next start finds the same one.
        let again = Store::spawn(home.path());
        assert_eq!(again.latest(None).await.expect("looks"), Some(id("fresh")));
        let repaired = again.repair().await.expect("repairs");
        assert_eq!(repaired.kept.len(), 2, "{repaired:?}");
        assert!(repaired.kept.iter().any(|path| fs::read(path).expect("kept") == bytes), "the damaged file is kept");
        keep_one(&again, "later").await;
        again.close().await;
        let last = Store::spawn(home.path());
        assert_eq!(
            last.opened().await,
            Opened { path: home.path().join("state.db").display().to_string(), warning: None }
        );
        // Those of the damaged file come from its journals.
        assert_eq!(last.list("", None, 99).await.expect("lists").len(), 42);
        assert_eq!(last.search("hello", None, 9).await.expect("searches").rows.len(), 2);
    });
}

#[test]
fn a_repair_saves_what_is_readable() {
    let home = home();
    // Past the pages of the tables themselves.
    damaged(home.path(), 72, 3);
    // The database alone, as older versions left it.
    fs::remove_dir_all(home.path().join("journal")).expect("removed");
    run(async {
        let store = Store::spawn(home.path());
        let repaired = store.repair().await.expect("repairs");
        assert_eq!(repaired.kept.len(), 1, "{repaired:?}");
        let stats = store.stats().await.expect("counts");
        assert!((370..400).contains(&stats.items), "{stats:?} {repaired:?}");
        for row in store.list("", None, 100).await.expect("lists") {
            store.open_session(&SessionId(row.id), 100, Vec::new()).await.expect("opens");
        }
        assert!(store.search("filler", None, 9).await.expect("searches").rows.len() == 9);
        assert_eq!(store.resolve("Named").await, Ok(id("s01")));
        assert_eq!(store.prompt(&id("s01")).await, Ok(Some("the prompt".to_owned())));
        assert_eq!(store.history(9).await, Ok(vec!["typed".to_owned()]));
        let draft = StoreJob::LoadDraft { session: None, cwd: "/x".to_owned() };
        assert_eq!(store.job(draft).await, Some(StoreReply::Draft { session: None, text: "draft".to_owned() }));
        store.close().await;
        let again = Store::spawn(home.path());
        assert_eq!(again.opened().await.warning, None);
        assert!(again.repair().await.expect("sound").kept.is_empty());
    });
}

#[test]
fn a_newer_schema_is_not_written_to() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        keep_one(&store, "a").await;
        store.sql("PRAGMA user_version = 99").await;
        store.close().await;
        let before = fs::read(home.path().join("state.db")).expect("reads");
        let older = Store::spawn(home.path());
        let warning = older.opened().await.warning.expect("a warning");
        assert!(warning.contains("schema 99") && warning.contains("update this one"), "{warning}");
        keep_one(&older, "b").await;
        older.close().await;
        assert!(fs::read(home.path().join("state.db")).expect("reads") == before);
    });
}

#[test]
fn without_a_place_to_write_sessions_live_in_memory_and_it_is_said() {
    let folder = home();
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    run(async {
        let store = Store::spawn(file.join("home"));
        let opened = store.opened().await;
        let warning = opened.warning.expect("a warning");
        assert_eq!(opened.path, ":memory:");
        assert!(warning.starts_with("sessions are not saved: ") && warning.contains("writable"), "{warning}");
        keep_one(&store, "a").await;
        store.sync().await.expect("nothing to do");
        assert_eq!(store.search("hello", None, 9).await.expect("searches").rows.len(), 1);
        store.close().await;
    });
}

#[test]
fn a_read_only_database_is_shown_from_memory() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        keep_one(&store, "a").await;
        store.close().await;
        let path = home.path().join("state.db");
        let mut notes = Vec::new();
        let conn = super::super::open::memory(&path, &mut notes).expect("memory");
        let count: i64 = conn.query_row("SELECT count(*) FROM items", [], |row| row.get(0)).expect("counts");
        assert_eq!((count, notes), (1, Vec::new()));
        assert_eq!(lines(home.path()), ["journal", "state.db"]);
    });
}

#[test]
fn what_the_database_refuses_goes_to_the_journal_and_comes_back_in_order() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("a/../b", "/src")).await.expect("created");
        store.append(&id("a/../b"), vec![item(1, user("one"))]).await.expect("kept");
        assert_eq!(store.trouble(), None);
        // As full as a disk can be.
        store.sql("PRAGMA max_page_count = 1").await;
        let big = "x".repeat(100_000);
        let ids = store.append(&id("a/../b"), vec![item(2, user(&big))]).await.expect("in the journal");
        assert_eq!(ids, [ItemId(2)]);
        // The first read finds out.
        store.stats().await.expect("counts");
        let trouble = store.trouble().expect("told");
        assert!(trouble.contains("full") && trouble.contains("state.db") && trouble.contains("journal"), "{trouble}");
        let journal = home.path().join("journal");
        assert_eq!((mode(&journal), lines(&journal)), (0o700, vec!["a%2f%2e%2e%2fb.journal".into(), "open".into()]));
        assert_eq!((mode(&journal.join("open")), mode(&journal.join("a%2f%2e%2e%2fb.journal"))), (0o700, 0o600));
        let again = Store::spawn(home.path());
        let opening = again.open_session(&id("a/../b"), 10, Vec::new()).await.expect("opens");
        assert_eq!(words(&opening.items), ["user one".to_owned(), format!("user {big}")]);
        store.sql("PRAGMA max_page_count = 100000").await;
        store.append(&id("a/../b"), vec![item(3, user("three"))]).await.expect("kept");
        assert_eq!(store.whole(&id("a/../b")).await.expect("reads").items.len(), 3);
        assert_eq!(store.trouble(), None);
        assert_eq!(store.whole(&id("a/../b")).await.expect("reads").items.len(), 3);
    });
}

#[test]
fn lines_of_a_journal_that_cannot_be_read_are_kept() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("a", "/src")).await.expect("created");
        store.append(&id("a"), vec![item(1, user("one"))]).await.expect("kept");
        let journal = home.path().join("journal");
        fs::write(journal.join("a.jsonl"), b"{\"session\": \"a\", ha\xff\n").expect("written");
        for _ in 0..2 {
            let store = Store::spawn(home.path());
            store.open_session(&id("a"), 10, Vec::new()).await.expect("opens");
            assert_eq!(store.trouble(), None);
            assert_eq!(lines(&journal), ["a.journal", "a.jsonl.bad", "open"]);
        }
        assert_eq!(fs::read(journal.join("a.jsonl.bad")).expect("reads"), b"{\"session\": \"a\", ha\xff\n");
    });
}

#[test]
fn when_the_journal_fails_too_the_error_names_file_and_remedy() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        keep_one(&store, "a").await;
        fs::remove_dir_all(home.path().join("journal")).expect("removed");
        fs::write(home.path().join("journal"), "in the way").expect("written");
        store.sql("PRAGMA max_page_count = 1").await;
        let error = store.append(&id("a"), vec![item(2, user(&"x".repeat(100_000)))]).await.expect_err("full");
        let text = error.to_string();
        assert!(text.contains("could not save the item in ") && text.contains("state.db"), "{text}");
        assert!(text.contains("full; free some disk space"), "{text}");
        assert_eq!(store.whole(&id("a")).await.expect("reads").items.len(), 1);
    });
}

#[test]
fn a_journaled_item_takes_its_own_place() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for n in [1, 2, 4] {
            store.append(&id("a"), vec![item(n, user(&format!("{n}")))]).await.expect("kept");
        }
        store.close().await;
        let entry = |session: &str, n: i64| {
            let item = serde_json::to_value(item(n, user(&format!("{n}")))).expect("json");
            format!("{}\n", serde_json::json!({"session": session, "cwd": "/q", "item": item}))
        };
        let text = format!("{}{}half a li", entry("a", 3), entry("a", 4));
        fs::write(home.path().join("journal/a.jsonl"), text).expect("written");
        fs::write(home.path().join("journal/new.jsonl.77"), entry("new", 1)).expect("written");
        // Claimed twice by processes that are gone.
        fs::write(home.path().join("journal/old.jsonl.77.88"), entry("old", 1)).expect("written");
        let again = Store::spawn(home.path());
        let all = again.whole(&id("a")).await.expect("reads").items;
        assert_eq!(words(&all), ["user 1", "user 2", "user 3", "user 4"]);
        assert_eq!(again.about(&id("a")).await.expect("known").last_item, ItemId(4));
        assert_eq!(again.about(&id("new")).await.expect("known").row.cwd, "/q");
        assert_eq!(again.about(&id("old")).await.expect("known").row.cwd, "/q");
        let left = lines(&home.path().join("journal")).into_iter().filter(|name| name.contains(".jsonl"));
        assert_eq!(left.collect::<Vec<_>>(), ["a.jsonl.bad"]);
    });
}

#[test]
fn programs_that_start_together_make_one_database() {
    let home = home();
    run(async {
        let stores: Vec<Store> = (0..8).map(|_| Store::spawn(home.path())).collect();
        let keep = stores.iter().enumerate().map(|(n, store)| async move {
            let opened = store.opened().await;
            assert_eq!(opened.warning, None);
            keep_one(store, &format!("s{n}")).await;
        });
        futures::future::join_all(keep).await;
        assert_eq!(stores[0].list("", None, 99).await.expect("lists").len(), 8);
    });
}

//! Rewinds and undos in journals that are taken in again: the database is believed.

use super::*;
use std::fs;

/// The next start takes a program for killed that began at the start of this journal.
fn left_behind(home: &Path, session: &str) {
    let folder = home.join("journal/open");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("999999999.1.7"), format!("0 {session}.journal\n")).expect("written");
}

fn undo(command: i64) -> Rewind {
    let moved = RewoundFile {
        place: String::new(),
        path: "/w/a".into(),
        was: FileState { hash: Some("b".repeat(64)), mode: None },
        became: FileState::default(),
    };
    Rewind { files: vec![moved], command: Some(command), ..Rewind::default() }
}

fn back_to(number: i64) -> Rewind {
    Rewind { item: ItemId(number), conversation: true, ..Rewind::default() }
}

async fn three(store: &Store) {
    store.create(new("a", "/src")).await.expect("created");
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        store.append(&id("a"), vec![item(number, user(text))]).await.expect("kept");
    }
}

async fn shown(store: &Store) -> usize {
    store.whole(&id("a")).await.expect("reads").items.len()
}

async fn last(store: &Store) -> i64 {
    store.last_rewind(&id("a")).await.expect("reads").expect("one").key
}

#[test]
fn a_newer_undo_is_not_taken_back_by_the_redo_of_an_older_one() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store).await;
        let change = FileChange {
            turn: 1,
            at: 5,
            call: "c".into(),
            place: String::new(),
            path: "/w/a".into(),
            before: FileState::default(),
            size: 0,
            after: FileState { hash: Some("b".repeat(64)), mode: None },
            command: None,
        };
        let command = Command { turn: 1, at: 5, call: "c".into(), line: "touch a".into(), ..Command::default() };
        store.record_command(&id("a"), command, vec![change]).await.expect("kept");
        let key = store.commands(&id("a"), 0).await.expect("reads")[0].key;
        store.rewind(&id("a"), undo(key)).await.expect("undone");
        let first = last(&store).await;
        store.redo(&id("a"), first).await.expect("redone");
        assert_eq!(store.last_rewind(&id("a")).await, Ok(None));
        store.rewind(&id("a"), undo(key)).await.expect("undone");
        assert!(last(&store).await > first, "a number is given once");
        // The same with the conversation.
        store.rewind(&id("a"), back_to(3)).await.expect("back");
        let first = last(&store).await;
        store.redo(&id("a"), first).await.expect("redone");
        store.rewind(&id("a"), back_to(2)).await.expect("back");
        let newest = last(&store).await;
        assert!(newest > first);
        store.close().await;
        left_behind(home.path(), "a");
        let again = Store::spawn(home.path());
        assert_eq!((last(&again).await, shown(&again).await), (newest, 1));
        assert_eq!(again.changes_of(&id("a"), key).await, Ok(Vec::new()), "it is undone");
        // A repair of a sound database reads the journals, too.
        again.repair().await.expect("repairs");
        assert_eq!((last(&again).await, shown(&again).await), (newest, 1));
    });
}

#[test]
fn what_came_back_stays_when_the_program_died_before_it_told_the_journal() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store).await;
        store.rewind(&id("a"), back_to(2)).await.expect("back");
        store.redo(&id("a"), last(&store).await).await.expect("redone");
        store.close().await;
        let path = home.path().join("journal/a.journal");
        let mut bytes = fs::read(&path).expect("reads");
        bytes.truncate(memchr::memmem::rfind(&bytes, b"\n~1").expect("the record of the redo"));
        fs::write(&path, bytes).expect("written");
        left_behind(home.path(), "a");
        let again = Store::spawn(home.path());
        assert_eq!(shown(&again).await, 3);
        again.repair().await.expect("repairs");
        assert_eq!((shown(&again).await, again.last_rewind(&id("a")).await), (3, Ok(None)));
    });
}

#[test]
fn a_program_that_runs_in_another_container_is_alive_by_its_lock() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store).await;
        store.close().await;
        // Its number is nobody's here.
        let marker = home.path().join("journal/open/999999999.1.7");
        left_behind(home.path(), "a");
        let held = fs::File::open(&marker).expect("is there");
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).expect("locked");
        let here = Store::spawn(home.path());
        let theirs = "INSERT INTO live SELECT key, 999999999, 1, '999999999.1.7' FROM sessions";
        here.sql(theirs).await;
        let opening = here.open_session(&id("a"), 9, Vec::new()).await.expect("opens");
        assert_eq!(opening.live_elsewhere, Some(999_999_999));
        assert!(here.delete(&id("a")).await.is_err());
        let again = Store::spawn(home.path());
        assert_eq!(shown(&again).await, 3);
        assert!(marker.exists(), "its journals are its own while it runs");
        drop(held);
        let last = Store::spawn(home.path());
        assert_eq!(last.open_session(&id("a"), 9, Vec::new()).await.expect("opens").live_elsewhere, None);
        assert!(!marker.exists());
    });
}

//! What a locked, full or damaged home refuses: kept until it is taken, or told.

use super::super::journal::{self, Record, records};
use super::*;
use std::fs;

/// As in a window that has waited long enough.
async fn impatient(home: &Path) -> Store {
    let store = Store::spawn(home);
    let set = store.ask(|db| {
        db.tries = 0;
        Ok(())
    });
    set.await.expect("set");
    store
}

fn locked(home: &Path) -> rusqlite::Connection {
    let other = rusqlite::Connection::open(home.join("state.db")).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("has the lock");
    other
}

fn command(line: &str) -> (Command, FileChange) {
    let command = Command { turn: 1, at: 5, call: "c".into(), line: line.into(), ..Command::default() };
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
    (command, change)
}

#[test]
fn a_session_that_began_while_the_database_was_locked_knows_its_folder_and_model() {
    let home = home();
    run(async {
        let store = impatient(home.path()).await;
        let held = locked(home.path());
        assert!(store.create(new("a", "/src")).await.is_err());
        store.append(&id("a"), vec![item(1, user("one"))]).await.expect("in the journal");
        held.execute_batch("ROLLBACK").expect("free");
        assert_eq!(store.whole(&id("a")).await.expect("reads").items.len(), 1);
        assert_eq!(store.about(&id("a")).await.expect("known").row.cwd, "");
        store.create(new("a", "/src")).await.expect("made");
        let row = store.about(&id("a")).await.expect("known").row;
        assert_eq!((row.cwd.as_str(), row.model.as_str(), row.items), ("/src", "test:model", 1));
        let mut heads = records(home.path(), &id("a")).into_iter().filter_map(|record| match record {
            Record::Session(head) => Some((head.cwd, head.model)),
            _ => None,
        });
        assert_eq!(heads.next_back(), Some(("/src".to_owned(), "test:model".to_owned())));
        // A folder that is known stays.
        store.create(new("a", "/elsewhere")).await.expect("is there");
        assert_eq!(store.about(&id("a")).await.expect("known").row.cwd, "/src");
        store.close().await;
    });
}

#[test]
fn what_a_command_changed_while_the_database_was_locked_can_be_undone() {
    let home = home();
    run(async {
        let store = impatient(home.path()).await;
        store.create(new("a", "/src")).await.expect("made");
        store.append(&id("a"), vec![item(1, user("one"))]).await.expect("kept");
        store.stats().await.expect("flushed");
        let held = locked(home.path());
        let (command, change) = command("touch a");
        store.record_command(&id("a"), command, vec![change]).await.expect("it waits");
        held.execute_batch("ROLLBACK").expect("free");
        let commands = store.commands(&id("a"), 0).await.expect("reads");
        assert_eq!((commands[0].line.as_str(), commands[0].standing), ("touch a", 1));
        assert_eq!(commands.len(), 1);
    });
}

#[test]
fn any_command_is_found_by_its_number_however_many_came_after_it() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.append(&id("a"), vec![item(1, user("one"))]).await.expect("kept");
        let (first, change) = command("touch a");
        store.record_command(&id("a"), first, vec![change]).await.expect("kept");
        let key = store.commands(&id("a"), 0).await.expect("reads")[0].key;
        store
            .sql(
                "INSERT INTO commands (session, turn, at, call, line, gaps)
                 WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 600)
                 SELECT (SELECT key FROM sessions), 1, 6, 'c', 'true', '[]' FROM n",
            )
            .await;
        assert!(!store.commands(&id("a"), 0).await.expect("reads").iter().any(|known| known.key == key));
        let found = store.command(&id("a"), key).await.expect("reads").expect("it is there");
        assert_eq!((found.line.as_str(), found.files, found.standing), ("touch a", 1, 1));
        store.append(&id("b"), vec![item(1, user("two"))]).await.expect("kept");
        assert_eq!(store.command(&id("b"), key).await, Ok(None));
    });
}

#[test]
fn a_journal_that_did_not_reach_the_disk_is_tried_again() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for name in ["a", "b"] {
            store.append(&id(name), vec![item(1, user("one"))]).await.expect("kept");
        }
        let (path, aside) = (home.path().join("journal/a.journal"), home.path().join("aside"));
        fs::rename(&path, &aside).expect("moved");
        // A link to itself can't be opened.
        std::os::unix::fs::symlink(&path, &path).expect("linked");
        let sync = async || store.ask(|db| Ok((journal::sync(db).is_ok(), journal::unsynced(db)))).await;
        assert_eq!(sync().await, Ok((false, 1)));
        fs::rename(&aside, &path).expect("moved");
        assert_eq!(sync().await, Ok((true, 0)));
    });
}

#[test]
fn no_journal_begins_without_what_was_before() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("a", "/src")).await.expect("made");
        store.append(&id("a"), vec![item(1, user("one"))]).await.expect("kept");
        store.close().await;
        fs::remove_dir_all(home.path().join("journal")).expect("removed");
        let store = Store::spawn(home.path());
        store.open_session(&id("a"), 9, Vec::new()).await.expect("opens");
        store.sql("ALTER TABLE items RENAME COLUMN rewound TO damaged").await;
        store.append(&id("a"), vec![item(2, user("two"))]).await.expect("in the database");
        assert!(records(home.path(), &id("a")).is_empty());
        store.sql("ALTER TABLE items RENAME COLUMN damaged TO rewound").await;
        store.append(&id("a"), vec![item(3, user("three"))]).await.expect("kept");
        let items = records(home.path(), &id("a")).into_iter().filter_map(|record| match record {
            Record::Item(item) => Some(item.id.0),
            _ => None,
        });
        assert_eq!(items.collect::<Vec<_>>(), [1, 2, 3]);
        // Half of a beginning counts for nothing, and goes with its session.
        let half = home.path().join("journal/a.journal.new");
        fs::write(&half, "half").expect("written");
        assert_eq!(store.delete(&id("a")).await, Ok(true));
        assert!(!half.exists());
    });
}

#[test]
fn a_session_whose_journal_stays_is_not_deleted_and_one_that_goes_leaves_no_checkpoints() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.append(&id("a"), vec![item(1, user("walrus"))]).await.expect("kept");
        store.index().await.expect("indexed");
        let (path, aside) = (home.path().join("journal/a.journal"), home.path().join("aside"));
        fs::rename(&path, &aside).expect("moved");
        fs::create_dir(&path).expect("in the way");
        let checkpoint = home.path().join("checkpoints/a/before.json");
        fs::create_dir_all(checkpoint.parent().expect("a folder")).expect("made");
        fs::write(&checkpoint, "{}").expect("written");
        let error = store.delete(&id("a")).await.expect_err("its journal stays").to_string();
        assert!(error.contains("a.journal"), "{error}");
        assert_eq!(store.search("walrus", None, 9).await.expect("searches").rows.len(), 1);
        assert!(checkpoint.exists());
        fs::remove_dir(&path).expect("out of the way");
        fs::rename(&aside, &path).expect("moved");
        assert_eq!(store.delete(&id("a")).await, Ok(true));
        assert!(!checkpoint.exists() && !path.exists());
        store.repair().await.expect("repairs");
        assert!(store.list("", None, 9).await.expect("lists").is_empty());
    });
}

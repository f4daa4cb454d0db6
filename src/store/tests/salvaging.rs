//! What a repair brings over from one database to another, and what ends it.

use super::super::{open, salvage};
use super::*;
use std::fs;

/// A session with a command that was undone, one that was not, an edit, and a rewind.
async fn worked(store: &Store) {
    store.create(new("a", "/src")).await.expect("made");
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        store.append(&id("a"), vec![item(number, user(text))]).await.expect("kept");
    }
    let change = |path: &str, at| FileChange {
        turn: 1,
        at,
        call: "c".into(),
        place: String::new(),
        path: path.into(),
        before: FileState::default(),
        size: 0,
        after: FileState { hash: Some("b".repeat(64)), mode: Some(0o755) },
        command: None,
    };
    for (line, path, at) in [("touch a", "/w/a", 5), ("touch b", "/w/b", 6)] {
        let command = Command {
            turn: 1,
            at,
            call: "c".into(),
            line: line.into(),
            gaps: vec!["the net".into()],
            ..Command::default()
        };
        store.record_command(&id("a"), command, vec![change(path, at)]).await.expect("kept");
    }
    store.record_changes(&id("a"), vec![change("/w/c", 7)]).await.expect("kept");
    let first = store.commands(&id("a"), 0).await.expect("reads")[1].key;
    let moved = RewoundFile {
        place: String::new(),
        path: "/w/a".into(),
        was: FileState { hash: Some("b".repeat(64)), mode: None },
        became: FileState::default(),
    };
    let undo = Rewind { files: vec![moved], command: Some(first), ..Rewind::default() };
    store.rewind(&id("a"), undo).await.expect("undone");
    let back = Rewind { item: ItemId(3), conversation: true, ..Rewind::default() };
    store.rewind(&id("a"), back).await.expect("back");
    let spent =
        |item| Spent { at: 9, item, model: "m".into(), role: "answer", usage: Usage { input: 3, ..Usage::default() } };
    store.spent(&id("a"), spent(None)).await.expect("kept");
    store.append(&id("gone"), vec![item(1, user("x"))]).await.expect("kept");
    store.spent(&id("gone"), spent(Some(ItemId(1)))).await.expect("kept");
    store.delete(&id("gone")).await.expect("deleted");
    store.change_session(&id("a"), SessionChange::Tags(vec!["red".into()])).await.expect("kept");
    store.change_session(&id("a"), SessionChange::Pinned(true)).await.expect("kept");
}

/// A second database of another day, so that a repair merges; no journals.
fn two(home: &Path) {
    fs::copy(home.join("state.db"), home.join("hermes-20260101.db")).expect("copied");
    fs::remove_dir_all(home.join("journal")).expect("removed");
}

async fn figures(store: &Store) -> String {
    let commands = store.commands(&id("a"), 0).await.expect("reads");
    let shown: Vec<_> = commands.iter().map(|known| (&known.line, &known.gaps, known.files, known.standing)).collect();
    let mut text = format!("{shown:?}\n");
    for known in &commands {
        text += &format!("{:?}\n", store.changes_of(&id("a"), known.key).await.expect("reads"));
    }
    let last = store.last_rewind(&id("a")).await.expect("reads").expect("one");
    text += &format!("{last:?}\n{:?}\n", store.whole(&id("a")).await.expect("reads").items.len());
    let row = store.about(&id("a")).await.expect("known").row;
    text + &format!("{:?} {}", row.tags, row.pinned)
}

#[test]
fn commands_changes_and_rewinds_come_over_and_can_be_undone_and_redone() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        worked(&store).await;
        let wanted = figures(&store).await;
        let usage = "SELECT count(*) || ' ' || sum(input) FROM usage";
        let used = store.sql_of(usage).await;
        assert_eq!(used, "2 6");
        store.close().await;
        two(home.path());
        let store = Store::spawn(home.path());
        let repaired = store.repair().await.expect("repairs");
        assert_eq!(repaired.kept.len(), 2, "{repaired:?}");
        assert!(repaired.done.iter().all(|line| !line.contains("items, 1")), "{repaired:?}");
        assert!(
            repaired.done[0].contains("0 rows unreadable") && repaired.done[1].contains("0 rows unreadable"),
            "{repaired:?}"
        );
        assert_eq!(figures(&store).await, wanted);
        assert_eq!(store.sql_of(usage).await, used);
        let back = store.last_rewind(&id("a")).await.expect("reads").expect("one");
        store.redo(&id("a"), back.key).await.expect("redone");
        assert_eq!(store.whole(&id("a")).await.expect("reads").items.len(), 3);
        let undone = store.last_rewind(&id("a")).await.expect("reads").expect("one");
        store.redo(&id("a"), undone.key).await.expect("redone");
        assert_eq!(store.changes(&id("a")).await.expect("reads").len(), 3);
    });
}

#[test]
fn a_key_that_makes_no_sense_costs_no_time() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.append(&id("a"), vec![item(1, user("one"))]).await.expect("kept");
        store.sql("INSERT INTO history (key, text) VALUES (7, 'first'), (1152921504606846976, 'last')").await;
        store.sql("INSERT INTO history (key, text) VALUES (9223372036854775807, 'very last')").await;
        store.close().await;
        two(home.path());
        let store = Store::spawn(home.path());
        store.repair().await.expect("repairs");
        let history = store.history(9).await.expect("reads");
        assert_eq!(history[..3], ["first", "last", "very last"]);
    });
}

#[test]
fn a_new_database_that_is_full_is_an_error_and_no_damage_of_the_old_one() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.append(&id("a"), vec![item(1, user(&"x".repeat(500_000)))]).await.expect("kept");
        store.close().await;
    });
    let mut fresh = open::fresh(&home.path().join("fresh.tmp")).expect("opens");
    fresh.query_row("PRAGMA max_page_count = 1", [], |_| Ok(())).expect("full");
    let error = salvage::copy(&home.path().join("state.db"), home.path(), &mut fresh).expect_err("no room").to_string();
    assert!(error.contains("full"), "{error}");
}

impl Store {
    /// The one value of a query.
    async fn sql_of(&self, sql: &str) -> String {
        let sql = sql.to_owned();
        self.ask(move |db| db.read("test", |conn| conn.query_row(&sql, [], |row| row.get(0)))).await.expect("reads")
    }
}

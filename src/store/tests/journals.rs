//! The journal: what it holds, what comes back from it, and what stays gone.

use super::super::journal::{Record, records};
use super::*;
use std::fs;

fn of(home: &Path, session: &str) -> Vec<String> {
    let word = |record: Record| match record {
        Record::Session(head) => format!("session {}", head.title.unwrap_or(head.cwd)),
        Record::Item(item) => words(&[item]).remove(0),
        Record::Stream { text, .. } => format!("stream {text}"),
        Record::Rewind { first, last, .. } => format!("rewind {} to {}", first.0, last.0),
        Record::Redo { .. } => "redo".to_owned(),
        Record::Fact { name, value } => format!("fact {name} {value}"),
        Record::Command { command, changes } => match changes {
            Some(changes) => format!("ended {}: {}", command.line, changes.len()),
            None => format!("began {}", command.line),
        },
    };
    records(home, &id(session)).into_iter().map(word).collect()
}

/// Three items in a session that this process works in.
async fn three(store: &Store, session: &str) {
    store.create(new(session, "/src")).await.expect("created");
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        store.append(&id(session), vec![item(number, user(text))]).await.expect("kept");
    }
}

async fn all(store: &Store, session: &str) -> Vec<String> {
    words(&store.whole(&id(session)).await.expect("reads").items)
}

/// The database goes, the journals stay; a repair brings back what they hold.
async fn rebuilt(home: &Path) -> (Store, Repaired) {
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(home.join(name));
    }
    let store = Store::spawn(home);
    assert_eq!(store.list("", None, 9).await.expect("lists"), Vec::new());
    let repaired = store.repair().await.expect("repairs");
    (store, repaired)
}

#[test]
fn an_append_is_one_record_and_every_read_sees_it_at_once() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store, "a").await;
        assert_eq!(of(home.path(), "a"), ["session /src", "user one", "user two", "user three"]);
        assert_eq!(all(&store, "a").await, ["user one", "user two", "user three"]);
        assert_eq!(store.list("", None, 9).await.expect("lists")[0].items, 3);
        assert_eq!(store.search("two", None, 9).await.expect("searches").rows.len(), 1);
        // Another process sees them soon, without anybody asking here.
        store.append(&id("a"), vec![item(4, user("four"))]).await.expect("kept");
        let other = Store::spawn(home.path());
        until("the other process sees it", async || all(&other, "a").await.len() == 4).await;
        store.close().await;
        other.close().await;
        assert_eq!(fs::read_dir(home.path().join("journal/open")).expect("a folder").count(), 0);
    });
}

#[test]
fn a_lost_database_is_made_anew_from_the_journals() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store, "a").await;
        three(&store, "b").await;
        store.set_title(&id("a"), "Named").await.expect("kept");
        store.set_cwd(&id("b"), "/elsewhere").await.expect("kept");
        store.close().await;
        let (again, repaired) = rebuilt(home.path()).await;
        assert!(repaired.done.iter().any(|line| line == "recovered 6 items from the journal"), "{repaired:?}");
        assert_eq!(all(&again, "a").await, ["user one", "user two", "user three"]);
        assert_eq!(again.resolve("Named").await, Ok(id("a")));
        assert_eq!(again.about(&id("b")).await.expect("known").row.cwd, "/elsewhere");
        assert_eq!(again.search("three", None, 9).await.expect("searches").rows.len(), 2);
        // And once is enough.
        let more = again.repair().await.expect("repairs");
        assert!(!more.done.iter().any(|line| line.contains("recovered")), "{more:?}");
    });
}

#[test]
fn a_damaged_record_costs_itself_alone() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store, "a").await;
        store.close().await;
        let path = home.path().join("journal/a.journal");
        let mut bytes = fs::read(&path).expect("reads");
        let at = bytes.windows(3).position(|part| part == b"two").expect("it is there");
        bytes[at] ^= 1;
        bytes.truncate(bytes.len() - 3);
        fs::write(&path, bytes).expect("written");
        let (again, repaired) = rebuilt(home.path()).await;
        assert_eq!(all(&again, "a").await, ["user one"]);
        assert!(repaired.done.iter().any(|line| line.contains("the journal is damaged in 1 places")), "{repaired:?}");
    });
}

#[test]
fn what_was_left_out_stays_out_and_a_fork_has_a_journal() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store, "a").await;
        let rewind = |number| Rewind { item: ItemId(number), conversation: true, ..Rewind::default() };
        assert_eq!(store.rewind(&id("a"), rewind(3)).await, Ok(true));
        assert_eq!(store.rewind(&id("a"), rewind(2)).await, Ok(true));
        let last = store.last_rewind(&id("a")).await.expect("reads").expect("one");
        store.redo(&id("a"), last.key).await.expect("redone");
        store.fork(&id("a"), &id("f"), None).await.expect("forked");
        store.append(&id("f"), vec![item(4, user("on"))]).await.expect("kept");
        let wanted = all(&store, "a").await;
        assert_eq!(wanted, ["user one", "user two"]);
        store.close().await;
        assert_eq!(of(home.path(), "a")[4..], ["rewind 3 to 3", "rewind 2 to 3", "redo"]);
        let (again, _) = rebuilt(home.path()).await;
        assert_eq!(all(&again, "a").await, wanted);
        assert_eq!(all(&again, "f").await, ["user one", "user two", "user on"]);
    });
}

#[test]
fn a_deleted_session_stays_gone_and_an_import_is_kept() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store, "a").await;
        assert_eq!(store.delete(&id("a")).await, Ok(true));
        assert!(!home.path().join("journal/a.journal").exists());
        let session = |items: &[&str]| {
            let items = (1..).zip(items).map(|(number, text)| item(number, user(text))).collect();
            vec![Incoming {
                new: new("i", "/from"),
                items,
                title: Some("From elsewhere".to_owned()),
                facts: Vec::new(),
                carried: None,
            }]
        };
        store.import(session(&["x", "y"])).await.expect("imported");
        let more = store.import(session(&["x", "y", "z"])).await.expect("imported");
        assert_eq!(more, [Imported::Extended(1)]);
        store.close().await;
        let (again, _) = rebuilt(home.path()).await;
        assert_eq!(again.list("", None, 9).await.expect("lists").len(), 1);
        assert_eq!(all(&again, "i").await, ["user x", "user y", "user z"]);
        assert_eq!(again.resolve("From elsewhere").await, Ok(id("i")));
    });
}

#[test]
fn a_session_from_before_gets_its_journal_with_its_next_item() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store, "a").await;
        store
            .rewind(&id("a"), Rewind { item: ItemId(3), conversation: true, ..Rewind::default() })
            .await
            .expect("back");
        store.close().await;
        fs::remove_dir_all(home.path().join("journal")).expect("removed");
        let again = Store::spawn(home.path());
        again.open_session(&id("a"), 9, Vec::new()).await.expect("opens");
        again.append(&id("a"), vec![item(4, user("four"))]).await.expect("kept");
        let held = ["session /src", "user one", "user two", "user three", "rewind 3 to 3", "user four"];
        assert_eq!(of(home.path(), "a"), held);
        again.close().await;
    });
}

#[test]
fn what_a_killed_program_had_not_put_into_the_database_comes_back() {
    let home = home();
    let died = home.path().join("journal/open/999999999.1.7");
    run(async {
        let store = Store::spawn(home.path());
        three(&store, "a").await;
        store.stats().await.expect("flushed");
        let from = fs::metadata(home.path().join("journal/a.journal")).expect("is there").len();
        store.append(&id("a"), vec![item(4, user("four"))]).await.expect("kept");
        store.append(&id("a"), vec![item(5, user("five"))]).await.expect("kept");
        store.close().await;
        let damage = "DELETE FROM items WHERE id > 3; UPDATE sessions SET last_item = 3, item_count = 3";
        let meddler = Store::spawn(home.path());
        meddler.sql(damage).await;
        meddler.close().await;
        fs::write(&died, format!("{from} a.journal\n")).expect("written");
        let again = Store::spawn(home.path());
        assert_eq!(all(&again, "a").await.len(), 5);
        assert!(!died.exists());
        assert_eq!(again.search("five", None, 9).await.expect("searches").rows.len(), 1);
    });
}

#[test]
fn an_item_whose_number_was_taken_comes_back_once() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        three(&store, "a").await;
        store.stats().await.expect("flushed");
        store.append(&id("a"), vec![item(4, user("mine"))]).await.expect("kept");
        // Another process is quicker.
        let other = Store::spawn(home.path());
        other.append(&id("a"), vec![item(4, user("theirs"))]).await.expect("kept");
        other.stats().await.expect("flushed");
        let both = all(&store, "a").await;
        assert_eq!(both.len(), 5, "{both:?}");
        store.close().await;
        other.close().await;
        let again = Store::spawn(home.path());
        again.repair().await.expect("repairs");
        assert_eq!(all(&again, "a").await, both);
    });
}

#[test]
fn plan_and_grants_come_back_from_the_journal_and_the_database_is_believed_over_it() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("a", "/src")).await.expect("created");
        store.set_meta(&id("a"), "plan", serde_json::json!(["first"])).await.expect("kept");
        store.append(&id("a"), vec![item(1, user("one"))]).await.expect("kept");
        store.set_meta(&id("a"), "grants", serde_json::json!(["ls"])).await.expect("kept");
        store.set_meta(&id("a"), "effort", serde_json::json!("high")).await.expect("kept");
        store.set_meta(&id("a"), "effort", serde_json::Value::Null).await.expect("removed");
        let wanted = store.meta(&id("a")).await.expect("reads");
        assert_eq!(wanted.len(), 2);
        store.close().await;
        let (again, _) = rebuilt(home.path()).await;
        assert_eq!(again.meta(&id("a")).await.expect("reads"), wanted);
        again.sql("DELETE FROM session_meta WHERE name = 'grants'").await;
        again.repair().await.expect("repairs");
        assert_eq!(again.meta(&id("a")).await.expect("reads").len(), 1, "what was taken back stays so");
    });
}

//! The clock goes back while a session is worked in: order is that of numbers, and nothing is turned round.

use super::*;

/// A change of `/w/a` at a time, from one content to another.
fn change(at: i64, turn: u32, before: &str, after: &str, command: Option<i64>) -> FileChange {
    let state = |hash: &str| FileState { hash: Some(hash.repeat(64)), mode: Some(0o644) };
    FileChange {
        turn,
        at,
        call: "c".into(),
        place: String::new(),
        path: "/w/a".into(),
        before: state(before),
        size: 1,
        after: state(after),
        command,
    }
}

fn chain(changes: &[FileChange]) -> String {
    let letter = |state: &FileState| state.hash.as_ref().map_or(String::new(), |hash| hash[..1].to_owned());
    changes.iter().map(|change| format!("{}{}", letter(&change.before), letter(&change.after))).collect()
}

#[test]
fn edits_are_undone_in_the_order_in_which_they_were_made() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.append(&id("one"), vec![item(1, user("edit"))]).await.expect("kept");
        // An hour ago by the clock of now.
        let later = now() + 3_600_000;
        store.record_changes(&id("one"), vec![change(later, 1, "a", "b", None)]).await.expect("kept");
        store.record_changes(&id("one"), vec![change(now(), 1, "b", "c", None)]).await.expect("kept");
        let command = Command { turn: 1, at: now(), call: "d".into(), line: "sed".into(), ..Command::default() };
        store.record_command(&id("one"), command, vec![change(now(), 1, "c", "d", None)]).await.expect("kept");
        assert_eq!(chain(&store.changes(&id("one")).await.expect("reads")), "abbccd");
    });
}

#[test]
fn what_a_file_tool_did_while_a_command_ran_stays_between() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.append(&id("one"), vec![item(1, user("edit"))]).await.expect("kept");
        store.record_changes(&id("one"), vec![change(50, 1, "b", "c", None)]).await.expect("kept");
        let command = Command { turn: 1, at: 40, call: "d".into(), line: "sed".into(), ..Command::default() };
        let both = vec![change(40, 1, "a", "b", None), change(60, 1, "c", "d", None)];
        store.record_command(&id("one"), command, both).await.expect("kept");
        assert_eq!(chain(&store.changes(&id("one")).await.expect("reads")), "abbccd");
    });
}

#[test]
fn items_pages_rewinds_and_lists_keep_their_order() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("one", "/src")).await.expect("made");
        store.create(new("two", "/src")).await.expect("made");
        let said = |number: i64, at: i64| Item { id: ItemId(number), at, turn: 1, body: user("x") };
        let day = 24 * 3_600_000;
        let now = now();
        store.append(&id("one"), vec![said(1, now)]).await.expect("kept");
        store.append(&id("two"), vec![said(1, now + 1)]).await.expect("kept");
        for number in 2..=4 {
            store.append(&id("one"), vec![said(number, now - number * day)]).await.expect("kept");
        }
        let numbers = |items: Vec<Item>| items.iter().map(|item| item.id.0).collect::<Vec<_>>();
        assert_eq!(numbers(store.whole(&id("one")).await.expect("reads").items), [1, 2, 3, 4]);
        let page = store.older(&id("one"), ItemId(4), 2).await.expect("reads");
        assert_eq!((numbers(page.items), page.more), (vec![2, 3], true));
        let row = store.about(&id("one")).await.expect("known").row;
        assert_eq!(row.updated_at, now, "never before what was said already");
        let rows = store.list("", None, 9).await.expect("lists");
        assert_eq!(rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["two", "one"]);
        // A redo takes back the newest rewind, whatever the clock said at each.
        let back = |number| Rewind { item: ItemId(number), conversation: true, ..Rewind::default() };
        let ahead = "INSERT INTO rewinds (key, session, at, item, conversation, last_item, context_from)
                     SELECT 9000000000000, key, 9000000000000, 1, 1, 1, 1 FROM sessions WHERE id = 'two'";
        store.sql(ahead).await;
        store.rewind(&id("one"), back(4)).await.expect("back");
        store.rewind(&id("one"), back(2)).await.expect("back");
        for left in [vec![1, 2, 3], vec![1, 2, 3, 4]] {
            let last = store.last_rewind(&id("one")).await.expect("reads").expect("one");
            store.redo(&id("one"), last.key).await.expect("redone");
            assert_eq!(numbers(store.whole(&id("one")).await.expect("reads").items), left);
        }
        store.close().await;
        // The journal has the same order.
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            let _ = std::fs::remove_file(home.path().join(name));
        }
        let again = Store::spawn(home.path());
        again.repair().await.expect("repairs");
        assert_eq!(numbers(again.whole(&id("one")).await.expect("reads").items), [1, 2, 3, 4]);
    });
}

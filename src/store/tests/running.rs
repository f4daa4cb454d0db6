//! Commands that run: written down when they begin, completed when they end, and kept through a kill.

use super::super::journal::{Record, records};
use super::*;

fn command(call: &str) -> Command {
    let (call, line) = (call.to_owned(), format!("run {call}"));
    Command { turn: 1, at: 5, call, line, base: Some("tree 7".into()), ..Command::default() }
}

fn change(path: &std::ffi::OsStr) -> FileChange {
    FileChange {
        turn: 1,
        at: 5,
        call: "c".into(),
        place: String::new(),
        path: path.into(),
        before: FileState::default(),
        size: 0,
        after: FileState { hash: Some("b".repeat(64)), mode: None },
        command: None,
    }
}

fn locked(home: &Path) -> rusqlite::Connection {
    let other = rusqlite::Connection::open(home.join("state.db")).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("has the lock");
    other
}

async fn begun(home: &Path) -> Store {
    let store = Store::spawn(home);
    let set = store.ask(|db| {
        db.tries = 0;
        Ok(())
    });
    set.await.expect("set");
    store.create(new("a", "/src")).await.expect("made");
    store.append(&id("a"), vec![item(1, user("one"))]).await.expect("kept");
    store
}

/// What the journal tells of commands.
fn told(home: &Path) -> Vec<(String, Option<usize>)> {
    let all = records(home, &id("a")).into_iter();
    let of = |record: Record| match record {
        Record::Command { command, changes } => Some((command.call, changes.map(|changes| changes.len()))),
        _ => None,
    };
    all.filter_map(of).collect()
}

#[test]
fn a_command_is_in_the_journal_before_it_starts_and_is_completed_when_it_ends() {
    let home = home();
    run(async {
        let store = begun(home.path()).await;
        store.begin_command(&id("a"), command("c")).await.expect("written down");
        assert_eq!(told(home.path()), [("c".to_owned(), None)]);
        // A program that opens the session after a kill knows it.
        let next = Store::spawn(home.path());
        next.open_session(&id("a"), 9, Vec::new()).await.expect("opens");
        let running = next.running_commands(&id("a")).await.expect("reads");
        assert_eq!((running.len(), running[0].base.as_deref()), (1, Some("tree 7")));
        assert_eq!(next.bases().await.expect("reads"), ["tree 7"]);
        let gaps = next.commands(&id("a"), 0).await.expect("reads").remove(0).gaps;
        assert!(gaps[0].contains("it still runs, or its program was killed"), "{gaps:?}");

        let ended = Command { gaps: vec!["a gap".into()], ..command("c") };
        let odd = std::os::unix::ffi::OsStrExt::from_bytes(b"/w/\xff");
        store.record_command(&id("a"), ended, vec![change(odd)]).await.expect("kept");
        let all = store.commands(&id("a"), 0).await.expect("reads");
        assert_eq!((all.len(), all[0].standing, all[0].running), (1, 1, false));
        assert_eq!((all[0].gaps.as_slice(), &all[0].base), (["a gap".to_owned()].as_slice(), &None));
        assert!(store.running_commands(&id("a")).await.expect("reads").is_empty());
        store.close().await;
        next.close().await;
    });
}

#[test]
fn a_kill_while_the_database_refuses_loses_no_command() {
    let home = home();
    run(async {
        let store = begun(home.path()).await;
        store.stats().await.expect("flushed");
        let held = locked(home.path());
        let odd = std::os::unix::ffi::OsStrExt::from_bytes(b"/w/\xff");
        store.begin_command(&id("a"), command("c")).await.expect("written down");
        store.record_command(&id("a"), command("c"), vec![change(odd)]).await.expect("it waits");
        store.begin_command(&id("a"), command("d")).await.expect("written down");
        let both = [("c".to_owned(), None), ("c".to_owned(), Some(1)), ("d".to_owned(), None)];
        assert_eq!(told(home.path()), both);
        held.execute_batch("ROLLBACK").expect("free");
        let next = Store::spawn(home.path());
        next.open_session(&id("a"), 9, Vec::new()).await.expect("opens");
        let all = next.commands(&id("a"), 0).await.expect("reads");
        let states: Vec<_> = all.iter().map(|known| (known.call.as_str(), known.running, known.standing)).collect();
        assert_eq!(states, [("d", true, 0), ("c", false, 1)]);
        assert_eq!(next.changes(&id("a")).await.expect("reads")[0].path.as_os_str(), odd);
        // What waits in the first one is there already.
        assert_eq!(store.commands(&id("a"), 0).await.expect("reads").len(), 2);
        store.close().await;
        next.close().await;
    });
}

#[test]
fn a_fork_has_the_commands_of_the_turns_that_it_carries() {
    let home = home();
    run(async {
        let store = begun(home.path()).await;
        let path = std::ffi::OsStr::new("/w/a");
        store.record_command(&id("a"), command("c"), vec![change(path)]).await.expect("kept");
        store.begin_command(&id("a"), command("d")).await.expect("written down");
        let second = Item { turn: 2, ..item(2, user("two")) };
        store.append(&id("a"), vec![second]).await.expect("kept");
        let late = Command { turn: 2, ..command("e") };
        store.record_command(&id("a"), late, vec![change(path)]).await.expect("kept");
        store.fork(&id("a"), &id("b"), Some(ItemId(2))).await.expect("forked");
        let all = store.commands(&id("b"), 0).await.expect("reads");
        let states: Vec<_> = all.iter().map(|known| (known.call.as_str(), known.running, known.standing)).collect();
        assert_eq!(states, [("d", false, 0), ("c", false, 1)]);
        assert!(all[0].gaps[0].contains("still ran when the session was forked"), "{:?}", all[0].gaps);
        assert_eq!(store.changes_of(&id("b"), all[1].key).await.expect("reads").len(), 1);
        // Nobody takes what was copied for the work of the fork.
        let wrote = store.wrote_lately(&id("a"), 0).await.expect("reads");
        assert!(wrote.is_empty(), "{wrote:?}");
        store.fork(&id("a"), &id("c"), None).await.expect("forked");
        assert_eq!(store.commands(&id("c"), 0).await.expect("reads").len(), 3);
        store.close().await;
    });
}

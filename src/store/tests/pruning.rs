//! Which sessions are old, what goes with them, which journals nobody needs, and figures over time.

use super::*;
use crate::protocol::{Outcome, Spending, ToolUse, Usage};
use crate::store::{Aged, Cut, aged_at};
use std::time::{Duration, SystemTime};

const BEFORE: Cut = Cut { used_before: Some(1000), trashed_before: Some(1000), journals_before: None };

/// A store with old sessions of these names, which no program works in.
async fn old(home: &Path, names: &[&str]) -> Store {
    let store = Store::spawn(home);
    for name in names {
        store.create(new(name, "/x")).await.expect("made");
        store.append(&id(name), vec![item(1, user(&format!("zebra {name}")))]).await.expect("kept");
    }
    store.close().await;
    let store = Store::spawn(home);
    store.sql("UPDATE sessions SET updated_at = 5, started_at = 5, ended_at = NULL").await;
    store
}

fn names(aged: &Aged) -> Vec<&str> {
    let mut names: Vec<&str> = aged.sessions.iter().map(|row| row.id.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn what_is_pinned_open_or_not_sent_stays_and_the_trash_goes_past_its_time() {
    let home = home();
    run(async {
        let all = ["a", "b", "pinned", "open", "draft", "queue", "left", "trashed", "new-in-trash"];
        let store = old(home.path(), &all).await;
        store.change_session(&id("pinned"), SessionChange::Pinned(true)).await.expect("pinned");
        store.open_session(&id("open"), 9, Vec::new()).await.expect("opened");
        let (cwd, text) = ("/x".to_owned(), "later".to_owned());
        store.job(StoreJob::SaveDraft { session: Some(id("draft")), cwd: cwd.clone(), text: text.clone() }).await;
        let prompts = vec![Arc::new(QueuedPrompt { text, images: Vec::new() })];
        store.job(StoreJob::SaveQueue { session: Some(id("queue")), cwd, prompts }).await;
        // Looked at after its last entry.
        store.sql("UPDATE sessions SET ended_at = 2000 WHERE id = 'left'").await;
        store.sql("UPDATE sessions SET trashed_at = 5, pinned_at = 1, updated_at = 9000 WHERE id = 'trashed'").await;
        store.sql("UPDATE sessions SET trashed_at = 9000, updated_at = 9000 WHERE id = 'new-in-trash'").await;
        let aged = store.aged(BEFORE).await.expect("looks");
        assert_eq!(names(&aged), ["a", "b", "trashed"]);
        assert_eq!((aged.pinned, aged.open, aged.unsent), (1, 1, 2));
        assert_eq!(names(&aged_at(home.path(), BEFORE).expect("reads")), ["a", "b", "trashed"]);
        let sizes = (aged.journals, aged.bytes, aged.taken);
        // So few entries fit into what an empty database takes.
        assert!(sizes.0 > 0 && sizes.1 == 0 && sizes.2 > sizes.0, "{sizes:?}");

        // What happened since is seen in the transaction that deletes.
        store.change_session(&id("b"), SessionChange::Pinned(true)).await.expect("pinned");
        for (name, goes) in [("a", true), ("b", false), ("trashed", true), ("open", false), ("nobody", false)] {
            assert_eq!(store.prune(&id(name), BEFORE).await.expect("done").is_some(), goes, "{name}");
        }
        assert!(!home.path().join("journal/a.journal").exists() && home.path().join("journal/b.journal").exists());
        let nothing = store.aged(Cut::default()).await.expect("looks");
        assert_eq!((names(&nothing), nothing.pinned), (vec![], 0));
    });
}

#[test]
fn names_of_bytes_go_only_with_their_last_session() {
    let home = home();
    run(async {
        let store = old(home.path(), &["a", "b"]).await;
        for (session, before, after) in [("a", "only-a", "both"), ("b", "both", "only-b")] {
            let sql = format!(
                "INSERT INTO changes (session, turn, at, call, path, before, size, after, place)
                 SELECT key, 1, 1, 'c', x'2f', '{before}', 1, '{after}', '' FROM sessions WHERE id = '{session}'"
            );
            store.sql(&sql).await;
        }
        store.sql("UPDATE sessions SET updated_at = 9000 WHERE id = 'b'").await;
        let aged = store.aged(BEFORE).await.expect("looks");
        assert_eq!(aged.hashes.into_iter().collect::<Vec<_>>(), ["only-a"]);
        let pruned = store.prune(&id("a"), BEFORE).await.expect("done").expect("it was old");
        assert_eq!(pruned.hashes.len(), 2);
        let known = store.known_hashes().await.expect("reads");
        assert!(!known.contains("only-a") && known.contains("both") && known.contains("only-b"));
        assert_eq!(store.shrink(pruned, u64::MAX).await.expect("done"), None);
    });
}

#[test]
fn a_journal_goes_only_when_the_database_has_all_of_it() {
    let home = home();
    run(async {
        let store = old(home.path(), &["kept", "lost", "rested"]).await;
        store.sql("DELETE FROM sessions WHERE id = 'lost'").await;
        store.sql("UPDATE sessions SET updated_at = 9000 WHERE id = 'kept'").await;
        let folder = home.path().join("journal");
        std::fs::write(folder.join("empty.journal"), "").expect("written");
        for name in ["kept", "lost", "rested", "empty"] {
            let file =
                std::fs::File::options().write(true).open(folder.join(format!("{name}.journal"))).expect("there");
            file.set_modified(SystemTime::now() - Duration::from_secs(3 * 24 * 3600)).expect("aged");
        }
        let spare = async |journals_before| {
            let cut = Cut { journals_before, ..Cut::default() };
            let found = store.aged(cut).await.expect("looks").spare_journals;
            let mut names: Vec<String> = found.iter().map(|journal| journal.name().to_owned()).collect();
            names.sort();
            names
        };
        // What the lost one holds is all that is left of its session.
        assert_eq!(spare(None).await, ["empty.journal"]);
        store.sql("INSERT OR REPLACE INTO state VALUES ('checked', -1)").await;
        assert_eq!(spare(Some(1000)).await, ["empty.journal"], "a damaged database may need them all");
        store.sql("INSERT OR REPLACE INTO state VALUES ('checked', 1)").await;
        assert_eq!(spare(Some(1000)).await, ["empty.journal", "rested.journal"]);
        let cut = Cut { journals_before: Some(1000), ..Cut::default() };
        for journal in store.aged(cut).await.expect("looks").spare_journals {
            assert!(journal.remove(home.path()).expect("removed"));
        }
        // The next entry begins it anew, with what was said before.
        store.create(new("rested", "/x")).await.expect("opened");
        store.append(&id("rested"), vec![item(2, user("again"))]).await.expect("kept");
        store.sync().await.expect("written");
        let records = crate::store::journal::records(home.path(), &id("rested"));
        let items = records.iter().filter(|record| matches!(record, crate::store::journal::Record::Item(_))).count();
        assert_eq!(items, 2);
    });
}

#[test]
fn the_database_gives_back_what_was_in_it() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for name in ["big", "small"] {
            store.create(new(name, "/x")).await.expect("made");
        }
        let text = |number: i64| format!("{number} {}", "many words that are said again ".repeat(30));
        let items = (1..600).map(|number| item(number, user(&text(number)))).collect();
        store.append(&id("big"), items).await.expect("kept");
        store.append(&id("small"), vec![item(1, user("little zebra"))]).await.expect("kept");
        store.index().await.expect("indexed");
        store.close().await;
        let store = Store::spawn(home.path());
        store.sql("UPDATE sessions SET updated_at = 5, ended_at = NULL WHERE id = 'big'").await;
        store.sql("PRAGMA wal_checkpoint(TRUNCATE)").await;
        let size = || std::fs::metadata(home.path().join("state.db")).expect("there").len();
        let (before, said) = (size(), store.aged(BEFORE).await.expect("looks").bytes);
        let pruned = store.prune(&id("big"), BEFORE).await.expect("done").expect("it was old");
        assert!(store.shrink(pruned.clone(), 1).await.expect("done").is_some(), "it is larger than that");
        assert_eq!(store.shrink(pruned, u64::MAX).await.expect("done"), None);
        let freed = before - size();
        assert!(freed > 500_000 && said.abs_diff(freed) * 5 < freed, "{before}: said {said}, freed {freed}");
        let hits = store.search("zebra", None, 9).await.expect("searches").rows;
        assert_eq!((hits.len(), store.search("words", None, 9).await.expect("searches").rows.len()), (1, 0));
        assert!(store.repair().await.expect("checked").done.iter().any(|line| line.contains("is intact")));
    });
}

#[test]
fn figures_count_each_call_once_with_its_failures_and_times() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("one", "/src/app")).await.expect("made");
        let at = now();
        let call = |name: &str, ms: u64, outcome| {
            Body::Tool(ToolBody { name: name.into(), duration_ms: ms, outcome, ..ToolBody::default() })
        };
        let answer = |cost| {
            let usage = Usage { input: 100, cached: 50, output: 10, cost, ..Usage::default() };
            Body::Assistant(AssistantBody { usage: Some(usage), model: "a:one".into(), ..AssistantBody::default() })
        };
        let mut bodies: Vec<Body> =
            (1..=20).map(|ms| call("terminal", ms, if ms > 18 { Outcome::Failed } else { Outcome::Ok })).collect();
        bodies.extend([call("read_file", 7, Outcome::Denied), answer(Some(0.5)), answer(None)]);
        let items = bodies.into_iter().map(|body| Item { id: ItemId(0), at, turn: 1, body }).collect();
        store.append(&id("one"), items).await.expect("kept");
        store.fork(&id("one"), &id("fork"), None).await.expect("forked");
        // All of this happens in a millisecond.
        store.sql("UPDATE sessions SET started_at = started_at + 5000 WHERE id = 'fork'").await;
        for _ in 0..2 {
            let figures = store.figures(None).await.expect("counts");
            let tool = |name: &str, calls, failed, median, p95, total| ToolUse {
                name: name.into(),
                calls,
                failed,
                median,
                p95,
                total,
            };
            assert_eq!(figures.tools, [tool("terminal", 20, 2, 10, 19, 210), tool("read_file", 1, 1, 7, 7, 7)]);
            let spent = Spending { calls: 2, input: 200, cached: 100, output: 20, cost: 0.5, unpriced: 1 };
            assert_eq!((figures.sum(), &figures.models[..]), (spent, &[("a:one".to_owned(), spent)][..]));
            assert_eq!((figures.projects[0].folder.as_str(), figures.projects[0].sessions), ("/src/app", 2));
        }
        let later = store.figures(Some(at + 1)).await.expect("counts");
        assert!(later.tools.is_empty() && later.models.is_empty() && later.days.is_empty());
        let week = store.figures(Some(at - 6 * 24 * 3_600_000)).await.expect("counts");
        assert_eq!(week.days.len(), 7, "days without a call are shown");
        // Keys that are given out again are counted again, and nothing is counted twice.
        assert!(store.delete(&id("fork")).await.expect("gone"));
        let more = Item { id: ItemId(0), at: now(), turn: 2, body: call("read_file", 1, Outcome::Ok) };
        store.append(&id("one"), vec![more]).await.expect("kept");
        let figures = store.figures(None).await.expect("counts");
        assert_eq!((figures.tools[0].calls, figures.tools[1].calls), (20, 2));
    });
}

#[test]
fn figures_need_no_entry_but_new_ones() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("one", "/x")).await.expect("made");
        let plan = async |sql: &'static str| {
            let read = move |db: &mut crate::store::db::Db| {
                db.read("test", |conn| {
                    let sql = format!("EXPLAIN QUERY PLAN {sql}");
                    conn.prepare(&sql)?.query_map([], |row| row.get::<_, String>(3))?.collect()
                })
            };
            let lines: Vec<String> = store.ask(read).await.expect("reads");
            lines.join("; ")
        };
        let tools = plan("SELECT name, ms, failed FROM tool_uses WHERE at >= 5 ORDER BY name, ms").await;
        assert!(tools.contains("COVERING INDEX tool_uses_by_name") && !tools.contains("TEMP"), "{tools}");
        let counted = plan("SELECT max(key) FROM (SELECT key FROM items WHERE key > 7 ORDER BY key LIMIT 9)").await;
        assert!(counted.contains("rowid>"), "{counted}");
        let usage = plan("SELECT at / 900000, model, count(*) FROM usage WHERE at >= 5 GROUP BY 1, 2").await;
        assert!(usage.contains("usage_by_time"), "{usage}");
    });
}

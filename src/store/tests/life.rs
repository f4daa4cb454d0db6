//! How sessions are kept, what they say in short, where forks come from, and what calls used.

use super::*;
use crate::store::filter::Filter;
use crate::store::{Claim, DayOf, Worst};

async fn said(store: &Store, name: &str, bodies: Vec<Body>) {
    store.create(new(name, "/x")).await.expect("made");
    let at = now();
    let items =
        bodies.into_iter().zip(1..).map(|(body, turn)| Item { id: ItemId(0), at: at + i64::from(turn), turn, body });
    store.append(&id(name), items.collect()).await.expect("kept");
}

fn ids(rows: &[SessionRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

async fn text(store: &Store, sql: &str) -> Vec<String> {
    let sql = sql.to_owned();
    let read = move |db: &mut crate::store::db::Db| {
        db.read("test", |conn| conn.prepare(&sql)?.query_map([], |row| row.get::<_, String>(0))?.collect())
    };
    store.ask(read).await.expect("reads")
}

#[test]
fn pinned_come_first_and_what_is_put_away_is_found_only_when_asked_for() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for name in ["one", "two", "three"] {
            said(&store, name, vec![user(&format!("zebra {name}"))]).await;
        }
        let change = async |name: &str, change| store.change_session(&id(name), change).await.expect("changed");
        change("one", SessionChange::Pinned(true)).await;
        change("one", SessionChange::Tags(vec!["Red".into(), "blue".into()])).await;
        let rows = store.list("", None, 9).await.expect("lists");
        assert_eq!(
            (ids(&rows), &rows[0].tags[..]),
            (vec!["one", "three", "two"], &["red".to_owned(), "blue".into()][..])
        );
        assert_eq!(store.latest(None).await.expect("looks"), Some(id("three")), "a pin is not a use");
        for (query, found) in [("tag:red", vec!["one"]), ("is:pinned zebra", vec!["one"]), ("tag:green", vec![])] {
            assert_eq!(ids(&store.list(query, None, 9).await.expect("lists")), found, "{query}");
        }
        change("two", SessionChange::Archived(true)).await;
        change("three", SessionChange::Trashed(true)).await;
        for (query, found) in [
            ("", vec!["one"]),
            ("zebra", vec!["one"]),
            ("three", vec![]),
            ("is:archived", vec!["two"]),
            ("is:archived zebra", vec!["two"]),
            ("is:trashed", vec!["three"]),
        ] {
            assert_eq!(ids(&store.list(query, None, 9).await.expect("lists")), found, "{query}");
            let hits = store.search("zebra", None, 9).await.expect("searches").rows;
            assert_eq!(hits.len(), 1, "the tool and the command line see no more");
            for narrow in ["zebra role:user", "zebra in:x", "zebra on:tui since:1970-01-01", "ebr"] {
                assert_eq!(store.search(narrow, None, 9).await.expect("searches").rows.len(), 1, "{narrow}");
            }
        }
        assert_eq!(store.latest(None).await.expect("looks"), Some(id("one")));
        change("two", SessionChange::Archived(false)).await;
        change("three", SessionChange::Trashed(false)).await;
        assert_eq!(store.search("zebra", None, 9).await.expect("searches").rows.len(), 3);
    });
}

#[test]
fn the_trash_is_emptied_of_what_lies_there_long_enough() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for name in ["old", "young", "kept"] {
            said(&store, name, vec![user("x")]).await;
        }
        for name in ["old", "young"] {
            store.ended(&id(name)).await.expect("left");
            store.change_session(&id(name), SessionChange::Trashed(true)).await.expect("moved");
        }
        store.sql("UPDATE sessions SET trashed_at = 5 WHERE id = 'old'").await;
        assert_eq!(store.empty_trash(10).await.expect("emptied"), 1);
        let trash = Filter { shelf: Shelf::Trashed, ..Filter::default() };
        assert_eq!(ids(&store.fitting(trash.clone(), 9).await.expect("lists")), ["young"]);
        assert_eq!(store.empty_trash(i64::MAX).await.expect("emptied"), 1);
        assert!(store.fitting(trash, 9).await.expect("lists").is_empty());
        assert_eq!(ids(&store.list("", None, 9).await.expect("lists")), ["kept"]);
    });
}

#[test]
fn a_summary_is_found_by_its_words_and_replaced_by_a_better_one() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        said(&store, "one", vec![user("hello")]).await;
        said(&store, "two", vec![user("hello")]).await;
        let summary = |text: &str, by: &str, upto| Summary {
            text: text.into(),
            keywords: vec!["quokka".into(), "字典检查".into()],
            by: by.into(),
            upto: ItemId(upto),
        };
        let save = async |summary| store.save_summary(&id("one"), summary, None).await.expect("saved");
        save(summary("an extract", Summary::EXTRACT, 1)).await;
        save(summary("fixed the wombat", "acme:small", 1)).await;
        save(summary("an extract again", Summary::EXTRACT, 1)).await;
        let kept = store.summary(&id("one")).await.expect("reads").expect("one");
        assert_eq!((kept.text.as_str(), kept.by.as_str(), kept.keywords.len()), ("fixed the wombat", "acme:small", 2));
        for (query, found) in [
            ("wombat", vec!["one"]),
            ("quokka", vec!["one"]),
            ("quok", vec!["one"]),
            ("字典", vec!["one"]),
            ("extract", vec![]),
        ] {
            assert_eq!(ids(&store.list(query, None, 9).await.expect("lists")), found, "{query}");
        }
        let hits = store.search("wombat", None, 9).await.expect("searches").rows;
        assert_eq!((hits.len(), hits[0].role.as_str(), hits[0].item), (1, "summary", ItemId(1)));
        assert_eq!(hits[0].session.snippet.as_deref(), Some("fixed the >>>wombat<<<"));
        assert!(store.search("wombat role:tool", None, 9).await.expect("searches").rows.is_empty());
        let rows = store.list("", None, 9).await.expect("lists");
        assert_eq!(rows.iter().find(|row| row.id == "one").and_then(|row| row.summary.clone()), Some(kept.text));
        save(summary("said more", Summary::EXTRACT, 2)).await;
        assert!(store.list("wombat", None, 9).await.expect("lists").is_empty(), "the index follows");
        store.delete(&id("one")).await.expect("deleted");
        assert!(store.list("quokka", None, 9).await.expect("lists").is_empty());
    });
}

#[test]
fn sessions_without_a_summary_by_a_model_are_told_once() {
    let home = home();
    {
        run(async {
            let store = Store::spawn(home.path());
            for name in ["one", "two", "three"] {
                said(&store, name, vec![user("hello")]).await;
            }
            let by = |by: &str| Summary { text: "x".into(), by: by.into(), upto: ItemId(1), ..Summary::default() };
            store.save_summary(&id("one"), by(Summary::EXTRACT), None).await.expect("saved");
            store.save_summary(&id("two"), by("acme:small"), None).await.expect("saved");
            assert!(store.unsummarized(0, i64::MAX, 0, 9).await.expect("looks").is_empty(), "they are worked in");
            store.close().await;
        });
    }
    run(async {
        let store = Store::spawn(home.path());
        let mut found = store.unsummarized(0, i64::MAX, 60_000, 9).await.expect("looks");
        found.sort();
        assert_eq!(found, [id("one"), id("three")]);
        assert!(store.unsummarized(0, i64::MAX, 60_000, 9).await.expect("looks").is_empty());
        let rows = store.list("", None, 9).await.expect("lists");
        let three = rows.iter().find(|row| row.id == "three").expect("it");
        assert_eq!(three.summary, None, "nothing was written yet");
    });
}

#[test]
fn a_fork_at_a_turn_ends_there_and_is_in_the_tree() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let bodies =
            ["a", "b", "c"].into_iter().flat_map(|word| [user(word), assistant(&format!("re {word}"), &[])]).collect();
        said(&store, "one", bodies).await;
        store.set_title(&id("one"), "zoo").await.expect("named");
        let one = id("one");
        store.fork(&one, &id("two"), Some(ItemId(3))).await.expect("forks");
        store.fork(&id("two"), &id("three"), None).await.expect("forks");
        store.fork(&one, &id("four"), Some(ItemId(4))).await.expect("forks");
        store.fork(&one, &id("five"), Some(ItemId(1))).await.expect("forks");
        let all = async |name: &str| words(&store.whole(&id(name)).await.expect("reads").items);
        assert_eq!(all("two").await, ["user a", "assistant re a"], "the prompt stays behind");
        assert_eq!(all("four").await.len(), 4, "the turn comes along to its end");
        assert_eq!(all("five").await.len(), 0);
        let about = store.about(&id("two")).await.expect("there");
        assert_eq!((about.last_item, about.last_turn, about.row.items), (ItemId(2), 2, 2));
        let tree = store.tree(&id("three")).await.expect("a tree");
        let seen: Vec<(&str, usize, u32)> =
            tree.iter().map(|branch| (branch.row.id.as_str(), branch.depth, branch.turn)).collect();
        assert_eq!(seen, [("one", 0, 0), ("two", 1, 1), ("three", 2, 1), ("four", 1, 2), ("five", 1, 0)]);
        store.delete(&one).await.expect("deleted");
        let seen = store.tree(&id("three")).await.expect("a tree");
        assert_eq!(seen.iter().map(|branch| branch.row.id.as_str()).collect::<Vec<_>>(), ["two", "three"]);
    });
}

#[test]
fn each_call_that_was_paid_for_is_a_row_and_stays() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let usage = Usage { input: 10, output: 2, cost: Some(0.5), ..Usage::default() };
        let answer = AssistantBody {
            text: "x".into(),
            model: "acme:big".into(),
            usage: Some(usage),
            ..AssistantBody::default()
        };
        said(&store, "one", vec![user("hello"), Body::Assistant(answer), tool("1", "terminal", "out")]).await;
        let spent = Spent { at: 9, item: None, model: "acme:small".into(), role: "summary", usage };
        let summary = Summary { text: "x".into(), by: "acme:small".into(), upto: ItemId(2), ..Summary::default() };
        store.save_summary(&id("one"), summary, Some(spent.clone())).await.expect("saved");
        store.spent(&id("one"), Spent { model: String::new(), role: "compaction", ..spent }).await.expect("saved");
        let rows = "SELECT concat_ws(' ', role, model, input, output, cost, item) FROM usage ORDER BY key";
        let expected = ["answer acme:big 10 2 0.5 2", "summary acme:small 10 2 0.5", "compaction test:model 10 2 0.5"];
        assert_eq!(text(&store, rows).await, expected);
        assert_eq!(store.about(&id("one")).await.expect("there").usage.input, 30);
        let counts = "SELECT concat_ws(' ', message_count, tool_call_count, ended_at IS NULL) FROM sessions";
        assert_eq!(text(&store, counts).await, ["2 1 1"]);
        store.ended(&id("one")).await.expect("kept");
        assert_eq!(text(&store, counts).await, ["2 1 0"]);
        let view = "SELECT concat_ws(' ', role, content, tool_name, tokens_used) FROM messages ORDER BY id";
        assert_eq!(text(&store, view).await, ["user hello", "assistant x 12", "tool out terminal"]);
        store.delete(&id("one")).await.expect("deleted");
        assert_eq!(text(&store, "SELECT count(*) || '' FROM usage WHERE session IS NULL").await, ["3"]);
    });
}

#[test]
fn what_was_spent_is_summed_by_model_and_purpose_and_since_a_time() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        said(&store, "one", vec![user("hello")]).await;
        said(&store, "two", vec![user("hello")]).await;
        let spent = |at, model: &str, role, cost| {
            let usage = Usage { input: 100, cached: 80, output: 10, cost, ..Usage::default() };
            Spent { at, item: None, model: model.into(), role, usage }
        };
        for (session, spent) in [
            ("one", spent(10, "a:b", "answer", Some(0.25))),
            ("one", spent(20, "a:b", "answer", None)),
            ("one", spent(20, "a:b", "approval", Some(0.5))),
            ("one", spent(30, "c:d", "answer", None)),
            ("two", spent(30, "a:b", "answer", Some(1.0))),
        ] {
            store.spent(&id(session), spent).await.expect("saved");
        }
        store.spent_apart(spent(40, "a:b", "sampling", Some(2.0))).await.expect("saved");
        let calls = store.calls_of(&id("one")).await.expect("read");
        let seen: Vec<_> = calls
            .iter()
            .map(|c| {
                (c.model.as_str(), c.role.as_str(), c.calls, c.usage.input, c.usage.cached, c.usage.cost, c.unpriced)
            })
            .collect();
        let expected = [
            ("a:b", "answer", 2, 200, 160, Some(0.25), 1),
            ("a:b", "approval", 1, 100, 80, Some(0.5), 0),
            ("c:d", "answer", 1, 100, 80, None, 1),
        ];
        assert_eq!(seen, expected);
        let of = |tally: Tally| (tally.tokens, tally.cost, tally.unpriced);
        assert_eq!(of(store.spent_in(&id("one")).await.expect("read")), (440, 0.75, 2));
        assert_eq!(of(store.spent_in(&id("none")).await.expect("read")), (0, 0.0, 0));
        assert_eq!(of(store.spent_since(20).await.expect("read")), (550, 3.5, 2), "also what belongs to no session");
        assert_eq!(of(store.spent_since(41).await.expect("read")), (0, 0.0, 0));
        // Another process of the same home sees the same day, and so does a deleted session's.
        let other = Store::spawn(home.path());
        store.delete(&id("two")).await.expect("deleted");
        assert_eq!(of(other.spent_since(30).await.expect("read")), (330, 3.0, 1));
        // A fork brings no raise along.
        store.set_meta(&id("one"), "budget", serde_json::json!({ "raise": { "cost": 5.0 } })).await.expect("kept");
        store.fork(&id("one"), &id("copy"), None).await.expect("forked");
        assert!(!store.meta(&id("copy")).await.expect("read").contains_key("budget"));
    });
}

#[test]
fn a_database_of_before_gets_its_counts_its_branch_and_its_usage() {
    let home = home();
    let path = home.path().join("state.db");
    let usage = Usage { input: 7, cached: 3, output: 2, cost: Some(0.25), ..Usage::default() };
    {
        let mut conn = rusqlite::Connection::open(&path).expect("opens");
        let tx = conn.transaction().expect("begins");
        crate::store::schema::migrate_to(&tx, 5).expect("migrates");
        let answer =
            Body::Assistant(AssistantBody { usage: Some(usage), model: "m:1".into(), ..AssistantBody::default() });
        let answer = serde_json::to_string(&answer).expect("json");
        tx.execute_batch(
            "INSERT INTO sessions (key, id, source, cwd, model, started_at, updated_at, item_count, last_item)
               VALUES (1, 'one', 'tui', '/x', 'm:0', 1, 9, 3, 3);
             INSERT INTO session_meta VALUES (1, 'branch', '\"fix\"');
             INSERT INTO items (session, id, at, turn, role, body) VALUES (1, 1, 5, 1, 'user', '{\"role\":\"user\",\"text\":\"hi\"}');
             INSERT INTO items (session, id, at, turn, role, body) VALUES (1, 2, 0, 1, 'assistant', 'no json');",
        )
        .expect("filled");
        tx.execute(
            "INSERT INTO items (session, id, at, turn, role, body) VALUES (1, 3, 6, 1, 'assistant', ?1)",
            [answer],
        )
        .expect("filled");
        tx.commit().expect("kept");
    }
    run(async {
        let store = Store::spawn(home.path());
        let about = store.about(&id("one")).await.expect("there");
        assert_eq!(about.branch.as_deref(), Some("fix"));
        let rows = "SELECT concat_ws(' ', role, model, item, input, cached, output, cost) FROM usage";
        assert_eq!(text(&store, rows).await, ["answer m:1 3 7 3 2 0.25"]);
        assert_eq!(text(&store, "SELECT message_count || ' ' || tool_call_count FROM sessions").await, ["3 0"]);
    });
}

#[test]
fn what_is_worked_in_is_taken_out_of_the_trash_and_left_is_free_for_others() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        said(&store, "one", vec![user("hello")]).await;
        store.ended(&id("one")).await.expect("left");
        assert!(text(&store, "SELECT 'pid ' || pid FROM live").await.is_empty(), "any window may have it");
        store.change_session(&id("one"), SessionChange::Trashed(true)).await.expect("moved");
        store.open_session(&id("one"), 9, Vec::new()).await.expect("opens");
        let trash = Filter { shelf: Shelf::Trashed, ..Filter::default() };
        assert!(store.fitting(trash, 9).await.expect("lists").is_empty());
        // Thrown away while it is open in this window.
        store.change_session(&id("one"), SessionChange::Trashed(true)).await.expect("moved");
        assert_eq!(store.empty_trash(i64::MAX).await, Ok(0));
        store.ended(&id("one")).await.expect("left");
        assert_eq!(store.empty_trash(i64::MAX).await, Ok(1));
        // One without items leaves with its window.
        store.create(new("two", "/x")).await.expect("made");
        store.ended(&id("two")).await.expect("left");
        assert!(text(&store, "SELECT id FROM sessions").await.is_empty());
    });
}

#[test]
fn programs_that_were_killed_work_in_nothing_and_those_that_run_keep_their_empty_sessions() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for name in ["dead", "alive"] {
            said(&store, name, vec![user("hello")]).await;
        }
        let child = std::process::Command::new("sleep").arg("60").spawn();
        let mut child = child.expect("a process");
        let born = crate::store::db::birth(child.id().into()).expect("it lives");
        let session = |name| format!("(SELECT key FROM sessions WHERE id = '{name}')");
        store.sql(&format!("UPDATE live SET pid = 999999999, marker = '' WHERE session = {}", session("dead"))).await;
        let other = format!(
            "UPDATE live SET pid = {}, born = {born}, marker = '' WHERE session = {}",
            child.id(),
            session("alive")
        );
        store.sql(&other).await;
        let again = Store::spawn(home.path());
        assert_eq!(text(&again, "SELECT id FROM sessions JOIN live ON session = key").await, ["alive"]);
        // Its plan and grants are in the row.
        again.sql("DELETE FROM items; UPDATE sessions SET item_count = 0, started_at = 1").await;
        again.create(new("new", "/x")).await.expect("made");
        assert_eq!(text(&again, "SELECT id FROM sessions ORDER BY key").await, ["alive", "new"]);
        child.kill().expect("killed");
        child.wait().expect("ended");
    });
}

#[test]
fn what_requests_reserved_is_seen_by_all_and_counted_when_their_program_was_killed() {
    let home = home();
    run(async {
        let (here, there) = (Store::spawn(home.path()), Store::spawn(home.path()));
        let claim =
            |input| Claim { at: 50, model: "a:b".into(), input: Usage { input, cost: Some(0.5), ..Usage::default() } };
        let worst = |tokens| Worst { tokens, cost: 2.0 };
        let wants = |tokens| move |_: DayOf| Ok::<_, DayOf>(worst(tokens));
        let (first, taken) = here.reserve(0, claim(100), wants(900)).await.expect("asked").expect("reserved");
        assert_eq!(taken, worst(900));
        here.reserve(0, claim(70), wants(300)).await.expect("asked").expect("reserved");
        let look = async |store: &Store| store.reserve(0, claim(1), Err::<Worst, _>).await.expect("asked").unwrap_err();
        let reserved = |tokens, cost| DayOf { reserved: Tally { tokens, cost, unpriced: 0 }, ..DayOf::default() };
        assert_eq!(look(&there).await, reserved(1_200, 4.0));
        here.release(first);
        assert_eq!(look(&here).await, reserved(300, 2.0));
        // What was sent is paid for, whatever came of it.
        here.sql("UPDATE reservations SET pid = 999999999, marker = ''").await;
        let spent = Tally { tokens: 70, cost: 0.5, unpriced: 0 };
        assert_eq!(look(&there).await, DayOf { spent, ..DayOf::default() });
        assert_eq!(look(&here).await, DayOf { spent, ..DayOf::default() }, "once");
        assert_eq!(text(&there, "SELECT role FROM usage").await, ["estimate"]);
    });
}

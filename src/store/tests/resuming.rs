//! Items are kept as they come, and every session opens again.

use super::super::audit::{AuditBy, Wanted};
use super::super::journal::Record;
use super::*;

#[test]
fn items_survive_without_a_close_and_keep_their_order() {
    let home = home();
    run(async {
        let first = Store::spawn(home.path());
        first.create(new("one", "/src")).await.expect("created");
        let ids = first.append(&id("one"), vec![item(1, user("hello  \n there"))]).await.expect("kept");
        assert_eq!(ids, [ItemId(1)]);
        let answer = vec![item(2, assistant("hi", &[("a", "terminal")])), item(3, tool("a", "terminal", "done"))];
        first.append(&id("one"), answer.clone()).await.expect("kept");
        // The first store is still open: this is what another process sees after a kill.
        let second = Store::spawn(home.path());
        let opening = second.open_session(&id("one"), 2, Vec::new()).await.expect("opens");
        assert_eq!(opening.items, answer);
        assert!(opening.more && opening.skipped == 0 && opening.live_elsewhere.is_none());
        assert_eq!(opening.meta.row.preview, "hello there");
        assert_eq!((opening.meta.row.items, opening.meta.last_item, opening.meta.last_turn), (3, ItemId(3), 1));
        let older = second.older(&id("one"), answer[0].id, 10).await.expect("reads");
        assert_eq!(words(&older.items), ["user hello  \n there"]);
        assert!(!older.more);
    });
}

#[test]
fn a_session_killed_in_its_tools_gets_interrupted_results_once() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let items = vec![
            item(1, user("go")),
            item(2, assistant("", &[("a", "terminal"), ("b", "read_file"), ("c", "terminal")])),
            item(3, tool("a", "terminal", "first")),
        ];
        store.append(&id("one"), items).await.expect("kept");
        let again = Store::spawn(home.path());
        let opening = again.open_session(&id("one"), 100, vec!["read_file".into()]).await.expect("opens");
        let expected =
            ["user go", "assistant ", "tool a Ok", "tool b Interrupted", "tool c Interrupted", "note Interrupted"];
        assert_eq!(words(&opening.items), expected);
        assert_eq!(opening.items[3].id, ItemId(4));
        assert_eq!(opening.meta.last_item, ItemId(6));
        let third = Store::spawn(home.path());
        assert_eq!(words(&third.open_session(&id("one"), 100, Vec::new()).await.expect("opens").items), expected);
        assert_eq!(words(&third.all_items(&id("one")).await.expect("reads")), expected);
        // Plain reads are not in the log; of the other one nobody knows whether it ran, and nobody judged it.
        let rows = third.audit_rows(Wanted { limit: 10, ..Wanted::default() }).await.expect("reads");
        let rows: Vec<_> = rows.into_iter().map(|row| row.record).collect();
        assert_eq!(rows.iter().map(|row| row.call.as_str()).collect::<Vec<_>>(), ["c"]);
        assert_eq!((rows[0].verdict.as_str(), &rows[0].by), ("", &AuditBy::Nobody));
        assert!(rows[0].why.ends_with("unknown"), "{}", rows[0].why);
    });
}

#[test]
fn streamed_text_becomes_an_item_when_the_program_dies() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.append(&id("one"), vec![item(1, user("tell me"))]).await.expect("kept");
        for end in 1..=11 {
            store.streamed(&id("one"), 1, &"Once upon a"[..end], "thinking");
        }
        let look = Store::spawn(home.path());
        until("the stream is on disk", async || {
            streamed(home.path()).is_some_and(|(text, reasoning)| text == "Once upon a" && reasoning == "thinking")
        })
        .await;
        let opening = look.open_session(&id("one"), 100, Vec::new()).await.expect("opens");
        assert_eq!(words(&opening.items), ["user tell me", "assistant Once upon a", "note Interrupted"]);
        let Body::Assistant(body) = &opening.items[1].body else { panic!("an answer") };
        assert_eq!((body.stop.clone(), body.reasoning.as_str()), (StopReason::Cancelled, "thinking"));
    });
}

#[test]
fn a_finished_answer_leaves_no_streamed_text_behind() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.append(&id("one"), vec![item(1, user("tell me"))]).await.expect("kept");
        store.streamed(&id("one"), 1, "half", "");
        until("the stream is on disk", async || streamed(home.path()).is_some()).await;
        let note = Body::Note { kind: NoteKind::Info, text: "meanwhile".to_owned() };
        store.append(&id("one"), vec![item(2, note)]).await.expect("kept");
        store.streamed(&id("one"), 1, "half and more", "");
        store.append(&id("one"), vec![item(3, assistant("whole", &[]))]).await.expect("kept");
        store.close().await;
        let again = Store::spawn(home.path());
        let opening = again.open_session(&id("one"), 100, Vec::new()).await.expect("opens");
        assert_eq!(words(&opening.items), ["user tell me", "note Info", "assistant whole"]);
    });
}

#[test]
fn rows_that_make_no_sense_are_counted_and_skipped() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let items = (1..=4).map(|n| item(n, user(&format!("word{n}")))).collect();
        store.append(&id("one"), items).await.expect("kept");
        store.sql("UPDATE items SET body = '{\"role\":\"martian\"}' WHERE id = 2; UPDATE items SET body = 'x' WHERE id = 3")
            .await;
        let opening = store.open_session(&id("one"), 10, Vec::new()).await.expect("opens");
        assert_eq!(words(&opening.items), ["user word1", "user word4"]);
        assert_eq!(opening.skipped, 2);
        assert_eq!(store.search("word4", None, 5).await.expect("searches").rows.len(), 1);
    });
}

#[test]
fn what_belongs_to_a_session_comes_back_with_it() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("one", "/src")).await.expect("created");
        store.set_prompt(&id("one"), "You are …".to_owned()).await.expect("kept");
        store.set_meta(&id("one"), "plan", serde_json::json!([1, "x"])).await.expect("kept");
        store.set_meta(&id("one"), "gone", serde_json::json!(true)).await.expect("kept");
        store.set_meta(&id("one"), "gone", serde_json::Value::Null).await.expect("removed");
        store.set_model(&id("one"), "b:c").await.expect("kept");
        let usage = Usage { input: 10, output: 3, cost: Some(0.5), ..Usage::default() };
        let body = AssistantBody { usage: Some(usage), ..AssistantBody::default() };
        let items = (1..=3).map(|n| item(n, Body::Assistant(body.clone()))).collect();
        store.append(&id("one"), items).await.expect("kept");
        store.sql("UPDATE sessions SET context_from = 3 WHERE id = 'one'").await;
        assert_eq!(store.all_items(&id("one")).await.expect("reads").len(), 1);
        assert_eq!(store.whole(&id("one")).await.expect("reads").items.len(), 3);
        let opening = store.open_session(&id("one"), 10, Vec::new()).await.expect("opens");
        assert_eq!(opening.prompt.as_deref(), Some("You are …"));
        assert_eq!(opening.values.into_iter().collect::<Vec<_>>(), [("plan".to_owned(), serde_json::json!([1, "x"]))]);
        assert_eq!(opening.meta.row.model, "b:c");
        assert_eq!(opening.meta.usage, Usage { input: 30, output: 9, cost: Some(1.5), ..Usage::default() });
        let error = store.set_model(&id("none"), "x").await.expect_err("there is none");
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    });
}

#[test]
fn two_stores_on_one_file_share_a_session_without_losing_items() {
    let home = home();
    run(async {
        let stores = [Store::spawn(home.path()), Store::spawn(home.path())];
        let write = async |store: &Store, who: &str| {
            for n in 1..=60 {
                let ids = store.append(&id("one"), vec![item(n, user(&format!("{who}{n}")))]).await.expect("kept");
                assert_eq!(ids.len(), 1);
            }
        };
        futures::join!(write(&stores[0], "a"), write(&stores[1], "b"));
        let all = stores[0].all_items(&id("one")).await.expect("reads");
        assert_eq!(all.len(), 120);
        assert!(all.windows(2).all(|pair| pair[0].id < pair[1].id));
        for who in ["a", "b"] {
            let mine: Vec<String> =
                words(&all).into_iter().filter(|word| word.starts_with(&format!("user {who}"))).collect();
            assert_eq!(mine, (1..=60).map(|n| format!("user {who}{n}")).collect::<Vec<_>>());
        }
        assert_eq!(stores[1].about(&id("one")).await.expect("known").row.items, 120);
    });
}

#[test]
fn a_session_that_another_process_works_in_is_left_as_it_is() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("one", "/src")).await.expect("created");
        store.append(&id("one"), vec![item(1, assistant("", &[("a", "terminal")]))]).await.expect("kept");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        let pid = i64::from(child.id());
        let born = super::super::db::birth(pid).expect("it lives");
        store.sql(&format!("UPDATE live SET pid = {pid}, born = {born}, marker = ''")).await;
        let opening = store.open_session(&id("one"), 10, Vec::new()).await.expect("opens");
        assert_eq!((opening.live_elsewhere, opening.items.len()), (Some(pid), 1));
        let session = "one".to_owned();
        assert_eq!(store.delete(&id("one")).await, Err(StoreError::InUse { session, pid }));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let opening = store.open_session(&id("one"), 10, Vec::new()).await.expect("opens");
        assert_eq!((opening.live_elsewhere, opening.items.len()), (None, 3));
        assert_eq!(store.delete(&id("one")).await, Ok(true));
    });
}

#[test]
fn an_empty_session_is_not_listed_and_goes_with_its_program() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store.create(new("one", "/src")).await.expect("created");
        assert_eq!(store.list("", None, 10).await.expect("lists"), []);
        assert_eq!(store.latest(None).await.expect("looks"), None);
        store.close().await;
        assert_eq!(store.list("", None, 10).await, Err(StoreError::Closed));
        let again = Store::spawn(home.path());
        assert!(again.about(&id("one")).await.is_err());
    });
}

/// Tells the child of the next test that it is the child, and its home.
const KILLED_HOME: &str = "HERMES_TEST_KILLED_HOME";

#[test]
fn a_program_that_is_killed_loses_nothing_it_was_told_is_kept() {
    if let Ok(home) = std::env::var(KILLED_HOME) {
        run(async {
            let store = Store::spawn(home);
            store.create(new("one", "/src")).await.expect("created");
            for n in 1.. {
                let name = format!("c{n}");
                store.append(&id("one"), vec![item(0, assistant("", &[(&name, "terminal")]))]).await.expect("kept");
                store.streamed(&id("one"), 1, "half an answer", "");
                store.append(&id("one"), vec![item(0, tool(&name, "terminal", "done"))]).await.expect("kept");
                println!("kept {n}");
            }
        });
        return;
    }
    use std::io::BufRead;
    let home = home();
    let mut child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "store::tests::resuming::a_program_that_is_killed_loses_nothing_it_was_told_is_kept",
            "--nocapture",
        ])
        .env(KILLED_HOME, home.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a process");
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let reached = lines.by_ref().any(|line| line.ends_with("kept 50"));
    child.kill().expect("killed");
    let last = lines.filter_map(|line| line.rsplit_once("kept ")?.1.parse().ok()).last().unwrap_or(50_usize);
    child.wait().expect("ended");
    assert!(reached);
    run(async {
        let store = Store::spawn(home.path());
        assert_eq!(store.opened().await.warning, None);
        let opening = store.open_session(&id("one"), usize::MAX, Vec::new()).await.expect("opens");
        assert_eq!((opening.live_elsewhere, opening.skipped), (None, 0));
        let mut lost: Vec<String> = (1..=last).map(|n| format!("c{n}")).collect();
        for item in &opening.items {
            if let Body::Tool(body) = &item.body {
                lost.retain(|name| *name != body.call_id);
            }
        }
        assert!(lost.is_empty(), "{lost:?} of {last} are lost");
        // Every call has a result, the last one perhaps an interrupted one.
        let asked =
            opening.items.iter().filter(|item| matches!(&item.body, Body::Assistant(body) if !body.calls.is_empty()));
        let told = opening.items.iter().filter(|item| matches!(item.body, Body::Tool(_)));
        assert_eq!(asked.count(), told.count());
    });
}

/// The streamed text of session `one` in the journal.
fn streamed(home: &Path) -> Option<(String, String)> {
    let mut found: Option<(String, String)> = None;
    for record in super::super::journal::records(home, &id("one")) {
        match record {
            Record::Stream { keep, text, reasoning, .. } => {
                let (mut old, mut thought) = found.take().unwrap_or_default();
                old.truncate(keep[0]);
                thought.truncate(keep[1]);
                found = Some((old + &text, thought + &reasoning));
            }
            Record::Item(item) if !matches!(item.body, Body::Note { .. }) => found = None,
            _ => {}
        }
    }
    found
}

impl Store {
    /// Changes the database behind the store's back.
    pub(super) async fn sql(&self, sql: &str) {
        let sql = sql.to_owned();
        self.ask(move |db| db.conn.execute_batch(&sql).map_err(|error| db.fault("test", &error))).await.expect("runs");
    }
}

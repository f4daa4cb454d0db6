//! Sessions are listed, found and named; drafts and history come back.

use super::*;

async fn say(store: &Store, session: &str, cwd: &str, at: i64, bodies: Vec<Body>) {
    store.create(new(session, cwd)).await.expect("created");
    let items = bodies.into_iter().map(|body| Item { id: ItemId(0), at, turn: 1, body }).collect();
    store.append(&id(session), items).await.expect("kept");
}

fn ids(rows: &[SessionRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

#[test]
fn lists_are_newest_first_and_by_folder() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for (at, name, cwd) in [(3, "c", "/x"), (1, "a", "/x"), (2, "b", "/y")] {
            say(&store, name, cwd, now() + at * 1000, vec![user(&format!("prompt of {name}"))]).await;
        }
        assert_eq!(ids(&store.list("", None, 10).await.expect("lists")), ["c", "b", "a"]);
        assert_eq!(ids(&store.list("", Some("/x"), 1).await.expect("lists")), ["c"]);
        assert_eq!(store.latest(Some("/y")).await.expect("looks"), Some(id("b")));
        assert_eq!(store.latest(Some("/z")).await.expect("looks"), None);
        let plan = store.sql_text("EXPLAIN QUERY PLAN SELECT id FROM sessions s WHERE ?1 IS NULL AND s.item_count > 0 ORDER BY s.updated_at DESC, s.key DESC LIMIT 9").await;
        assert!(plan.contains("sessions_by_time"), "{plan}");
    });
}

#[test]
fn words_narrow_what_is_found() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let (early, late) = (1_000, 90_000_000_000);
        for (name, cwd, model) in [("one", "/src/hermes", "acme:big"), ("two", "/src/other", "acme:small")] {
            say(&store, name, cwd, early, vec![user("the zebra")]).await;
            say(&store, name, cwd, late, vec![tool("1", "terminal", "a zebra ran")]).await;
            store.set_model(&id(name), model).await.expect("named");
        }
        store.set_branch(&id("two"), "fix").await.expect("kept");
        for (query, hits) in [
            ("zebra", 4),
            ("zebra role:user", 2),
            ("zebra role:tool in:hermes", 1),
            ("zebra tool:terminal", 2),
            ("zebra tool:read_file", 0),
            ("zebra model:small on:tui", 2),
            ("zebra on:print", 0),
            ("zebra since:1972-01-01", 2),
            ("zebra before:1972-01-01", 2),
            ("zebra branch:fix", 2),
            ("zebra has:edits", 0),
        ] {
            assert_eq!(store.search(query, None, 20).await.expect("searches").rows.len(), hits, "{query}");
        }
        for (query, sessions) in
            [("in:hermes", 1), ("role:tool", 2), ("tool:read_file", 0), ("since:1972-01-01 model:big", 1)]
        {
            assert_eq!(store.list(query, None, 20).await.expect("lists").len(), sessions, "{query}");
        }
        let found = store.item(&id("one"), ItemId(2)).await.expect("reads").expect("is there");
        assert_eq!(found.body, tool("1", "terminal", "a zebra ran"));
        assert_eq!(store.item(&id("one"), ItemId(9)).await.expect("reads"), None);
    });
}

#[test]
fn a_search_finds_what_was_said_called_and_returned() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let bodies = vec![
            user("please fix the flaky_resume test"),
            assistant("Looking.", &[("1", "terminal")]),
            tool("1", "terminal", "thread 'main' panicked at src/main.rs:7"),
        ];
        say(&store, "a", "/x", now(), bodies).await;
        say(&store, "b", "/y", now(), vec![user("the zebra crossing, and resume later")]).await;
        let search = async |query: &str| {
            let hits = store.search(query, None, 10).await.expect("searches").rows;
            hits.into_iter().map(|hit| format!("{} {} {}", hit.session.id, hit.item.0, hit.role)).collect::<Vec<_>>()
        };
        assert_eq!(search("flaky_resume").await, ["a 1 user"]);
        assert_eq!(search("zebra stripes").await, ["a 2 assistant"]);
        assert_eq!(search("src/main.rs").await, ["a 3 tool"]);
        assert_eq!(search("terminal").await.len(), 2);
        assert_eq!(search("resume NOT zebra").await, ["a 1 user"]);
        assert_eq!(search("secretcontext").await, Vec::<String>::new());
        assert_eq!(search("'\"(").await, Vec::<String>::new());
        let hit = &store.search("panicked", None, 1).await.expect("searches").rows[0];
        assert_eq!(hit.session.snippet.as_deref(), Some("terminal thread 'main' >>>panicked<<< at src/main.rs:7"));
        assert_eq!(store.search("zebra", Some("/y"), 9).await.expect("searches").rows.len(), 1);
        // While typing: one row a session, the last word as a prefix, names first.
        store.set_title(&id("b"), "Flaky streets").await.expect("kept");
        let rows = store.list("flak", None, 10).await.expect("lists");
        assert_eq!(ids(&rows), ["b", "a"]);
        assert!(rows[1].snippet.as_deref().is_some_and(|text| text.contains(">>>flaky")), "{rows:?}");
        assert!(rows[1].hit.is_some(), "{rows:?}");
    });
}

#[test]
fn chinese_japanese_and_korean_are_found_inside_their_runs() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        say(&store, "a", "/x", now(), vec![user("请修复恢复会话的测试"), user("plain text")]).await;
        say(&store, "b", "/x", now(), vec![assistant("テストを修正しました", &[])]).await;
        for (query, session) in [("恢复会话", "a"), ("修复", "a"), ("修正しま", "b"), ("恢复会话 不在", "")]
        {
            let hits = store.search(query, None, 10).await.expect("searches").rows;
            assert_eq!(hits.first().map_or("", |hit| hit.session.id.as_str()), session, "{query}");
        }
        let hit = &store.search("恢复会话", None, 1).await.expect("searches").rows[0];
        assert_eq!(hit.session.snippet.as_deref(), Some("请修复>>>恢复会话<<<的测试"));
    });
}

#[test]
fn what_no_word_begins_with_is_found_inside_of_words() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let bodies =
            [user("open loadConfigFile at 100% of src/my_file.rs"), tool("1", "terminal", "only unlikelyWord")];
        say(&store, "a", "/x", now(), bodies.to_vec()).await;
        say(&store, "b", "/x", now(), vec![user("a config of its own, and my-file")]).await;
        let search = async |query: &str| {
            let hits = store.search(query, None, 9).await.expect("searches").rows;
            hits.into_iter().map(|hit| (hit.session.id, hit.session.snippet.unwrap_or_default())).collect::<Vec<_>>()
        };
        assert_eq!(search("config").await.len(), 1, "whole words go before");
        let hit = "open load>>>Config<<<File at 100% of src/my_file.rs".to_owned();
        assert_eq!(
            search("dConfigF").await,
            [("a".to_owned(), hit.replace(">>>Config<<<", "Config").replace("dConfigF", ">>>dConfigF<<<"))]
        );
        assert_eq!(search("y_file.r").await.len(), 1, "an underline stands for itself");
        assert_eq!(search("likelyWo").await.len(), 0, "of results only whole words are found");
        assert_eq!(search("onfigFil zzz").await.len(), 0);
        assert_eq!(search("onfigFil OR zzz").await.len(), 1);
        assert_eq!(search("onfigFil NOT zzz").await.len(), 0);
        assert_eq!(ids(&store.list("oadConf", None, 9).await.expect("lists")), ["a"]);
    });
}

#[test]
fn an_index_of_an_older_form_is_made_again() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for n in 0..70 {
            say(&store, &format!("s{n}"), "/x", now() + n, vec![user(&format!("zebra number{n}")), user("more")]).await;
        }
        store.index().await.expect("indexed");
        store.sql("UPDATE state SET value = -1 WHERE name = 'indexed'").await;
        assert_eq!(store.search("zebra number3", None, 9).await.expect("searches").rows.len(), 1);
        assert_eq!(store.search("zebra", None, 99).await.expect("searches").rows.len(), 50, "each entry once");
        let parts = store.sql_text("SELECT cast(count(*) AS TEXT) FROM search_parts").await;
        assert!(parts.contains('3'), "{parts}");
    });
}

#[test]
fn many_entries_out_of_sight_are_left_out_of_a_search() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for (n, name) in ["kept", "old", "gone"].into_iter().enumerate() {
            say(&store, name, "/x", now() + n as i64, vec![user("zebra"); 60]).await;
        }
        for name in ["old", "gone"] {
            store.change_session(&id(name), SessionChange::Archived(true)).await.expect("kept");
        }
        let found = store.search("zebra", None, 99).await.expect("searches");
        assert!(
            found.rows.iter().all(|hit| hit.session.id == "kept") && found.rows.len() == 50,
            "{}",
            found.rows.len()
        );
        assert_eq!(ids(&store.list("zebra", None, 9).await.expect("lists")), ["kept"]);
    });
}

#[test]
fn a_deleted_session_is_gone_from_everywhere() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for name in ["a", "b"] {
            say(&store, name, "/x", now(), vec![user("quokka 修复测试"), user("more")]).await;
        }
        assert_eq!(store.search("quokka", None, 9).await.expect("searches").rows.len(), 2);
        let draft = StoreJob::SaveDraft { session: Some(id("b")), cwd: "/x".to_owned(), text: "draft".to_owned() };
        assert_eq!(store.job(draft).await, None);
        assert_eq!(store.delete(&id("b")).await, Ok(true));
        assert_eq!(store.delete(&id("b")).await, Ok(false));
        assert_eq!(store.search("quokka", None, 9).await.expect("searches").rows.len(), 1);
        // Keys are given out again; what gets them must be found.
        say(&store, "c", "/x", now(), vec![user("wombat 修复测试")]).await;
        assert_eq!(store.search("wombat", None, 9).await.expect("searches").rows.len(), 1);
        assert_eq!(store.search("修复测试", None, 9).await.expect("searches").rows.len(), 2);
        let draft = StoreJob::LoadDraft { session: Some(id("b")), cwd: "/x".to_owned() };
        assert_eq!(store.job(draft).await, Some(StoreReply::Draft { session: Some(id("b")), text: String::new() }));
        assert_eq!(store.repair().await.expect("sound").kept, Vec::<String>::new());
    });
}

#[test]
fn sessions_are_meant_by_id_start_or_title() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        for name in ["20260101_080000_aaaaaa", "20260101_080000_bbbbbb", "20260202_080000_cccccc"] {
            say(&store, name, "/x", now(), vec![user("flaky test")]).await;
        }
        assert_eq!(store.set_title(&id("20260101_080000_aaaaaa"), " Fix\tit ").await, Ok(Some("Fix it".to_owned())));
        let second = store.set_title(&id("20260101_080000_bbbbbb"), "Fix it").await;
        assert_eq!(second, Ok(Some("Fix it #2".to_owned())));
        assert_eq!(store.set_title(&id("20260101_080000_bbbbbb"), "Fix it").await, second, "its own name is free");
        let a = Ok(id("20260101_080000_aaaaaa"));
        for query in ["20260101_080000_aaaaaa", "20260101_080000_a", "aaaaaa", "Fix it", "fix IT", " Fix it "] {
            assert_eq!(store.resolve(query).await, a, "{query}");
        }
        assert_eq!(store.resolve("202602").await, Ok(id("20260202_080000_cccccc")));
        assert_eq!(store.resolve("fix it #").await, Ok(id("20260101_080000_bbbbbb")));
        let error = store.resolve("2026").await.expect_err("several");
        assert!(matches!(&error, StoreError::Ambiguous { matches, .. } if matches.len() == 3), "{error}");
        let error = store.resolve("flaky tests").await.expect_err("none");
        assert!(matches!(&error, StoreError::NotFound { near, .. } if near.len() == 3), "{error}");
        let error = store.resolve("100%_zzz").await.expect_err("none");
        assert_eq!(error.to_string(), "no session matches `100%_zzz`; `hermes sessions list` shows what there is");
        assert_eq!(store.set_title(&id("20260101_080000_aaaaaa"), "").await, Ok(None));
    });
}

#[test]
fn drafts_and_history_come_back_without_a_close() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let save = |session: Option<&str>, cwd: &str, text: &str| StoreJob::SaveDraft {
            session: session.map(id),
            cwd: cwd.to_owned(),
            text: text.to_owned(),
        };
        for job in
            [save(Some("a"), "/x", "in a"), save(None, "/x", "old"), save(None, "/x", "in x"), save(None, "/y", "y")]
        {
            assert_eq!(store.job(job).await, None);
        }
        assert_eq!(store.job(save(None, "/y", "")).await, None);
        for prompt in ["one", "two", "two", " ", "one"] {
            assert_eq!(store.job(StoreJob::AddHistory(prompt.to_owned())).await, None);
        }
        let again = Store::spawn(home.path());
        for (session, cwd, expected) in [(Some("a"), "/z", "in a"), (None, "/x", "in x"), (None, "/y", "")] {
            let session = session.map(id);
            let reply = again.job(StoreJob::LoadDraft { session: session.clone(), cwd: cwd.to_owned() }).await;
            assert_eq!(reply, Some(StoreReply::Draft { session, text: expected.to_owned() }));
        }
        let history = again.job(StoreJob::LoadHistory { limit: 2 }).await;
        assert_eq!(history, Some(StoreReply::History(vec!["two".to_owned(), "one".to_owned()])));
    });
}

#[test]
fn the_history_is_bounded() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        store
            .sql(&format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {HISTORY_KEPT})
             INSERT INTO history (text) SELECT 'prompt ' || i FROM n"
            ))
            .await;
        store.job(StoreJob::AddHistory("last".to_owned())).await;
        let history = store.history(usize::MAX).await.expect("reads");
        assert_eq!(history.len() as i64, HISTORY_KEPT);
        assert_eq!((history[0].as_str(), history.last().map(String::as_str)), ("prompt 2", Some("last")));
    });
}

#[test]
fn previews_and_older_pages_answer_the_screen() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let bodies = (0..30).map(|n| user(&format!("{n}"))).collect();
        say(&store, "a", "/x", now(), bodies).await;
        let Some(StoreReply::Preview { items, .. }) =
            store.job(StoreJob::Preview { session: id("a"), hit: None }).await
        else {
            panic!("one")
        };
        assert_eq!((items.len(), words(&items)[0].as_str()), (20, "user 10"));
        // Around a hit: what came before it, and a little after it.
        let job = StoreJob::Preview { session: id("a"), hit: Some(ItemId(5)) };
        let Some(StoreReply::Preview { items, .. }) = store.job(job).await else { panic!("one") };
        assert_eq!((words(&items)[0].as_str(), items.len()), ("user 0", 10));
        let job = StoreJob::LoadOlder { session: id("a"), before: ItemId(6), limit: 5 };
        let Some(StoreReply::Older { items, more, .. }) = store.job(job).await else { panic!("one") };
        assert_eq!((words(&items)[0].as_str(), items.len(), more), ("user 0", 5, false));
        let job =
            StoreJob::ListSessions { query: String::new(), here: Some("/x".to_owned()), shelf: Shelf::Shown, limit: 3 };
        let Some(StoreReply::Sessions { rows, .. }) = store.job(job).await else { panic!("one") };
        assert_eq!((ids(&rows), rows[0].items, rows[0].preview.as_str()), (vec!["a"], 30, "0"));
    });
}

#[test]
fn an_imported_session_comes_once_and_may_grow() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let items: Vec<Item> = (1..=4).map(|n| item(n, user(&format!("word{n}")))).collect();
        let import = async |items: &[Item]| {
            let new = NewSession { source: "import".to_owned(), ..new("a", "/x") };
            let facts = vec![("origin".to_owned(), items.len().into()), ("untrusted".to_owned(), items.len().into())];
            let title = Some("from elsewhere".to_owned());
            store
                .import(vec![Incoming { new, items: items.to_vec(), title, facts, carried: None }])
                .await
                .expect("imports")[0]
        };
        assert_eq!(import(&items[..3]).await, Imported::New(3));
        assert_eq!(import(&items[..3]).await, Imported::Same);
        assert_eq!(import(&items[..2]).await, Imported::Same);
        assert_eq!(import(&items).await, Imported::Extended(1));
        assert_eq!(import(&items[1..]).await, Imported::Differs);
        assert_eq!(store.whole(&id("a")).await.expect("reads").items, items);
        assert_eq!(store.search("word4", None, 9).await.expect("searches").rows.len(), 1);
        assert_eq!(store.about(&id("a")).await.expect("reads").row.title.as_deref(), Some("from elsewhere"));
        let fact = async |name: &str| store.facts(name).await.expect("reads").get(&id("a")).cloned();
        assert_eq!((fact("origin").await, fact("untrusted").await), (Some(4.into()), Some(3.into())));
    });
}

impl Store {
    /// The last column of each row of a query, joined.
    async fn sql_text(&self, sql: &str) -> String {
        let sql = sql.to_owned();
        let read = move |db: &mut super::super::db::Db| {
            let mut statement = db.conn.prepare(&sql).map_err(|error| db.fault("test", &error))?;
            let last = statement.column_count() - 1;
            let parameters = vec![None::<String>; statement.parameter_count()];
            let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get::<_, String>(last));
            let rows: Result<Vec<_>, _> = rows.and_then(Iterator::collect);
            rows.map(|rows| rows.join("\n")).map_err(|error| db.fault("test", &error))
        };
        self.ask(read).await.expect("reads")
    }
}

#[test]
fn a_search_goes_over_all_parts_of_the_index_and_ranks_the_newest() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        // In tests a part holds 64 entries and 50 are ranked.
        for (session, cwd) in [("a", "/x"), ("b", "/y"), ("c", "/x")] {
            let bodies = (0..100).map(|n| match n % 2 {
                0 => user(&format!("common {session}{n} words")),
                _ => assistant(&format!("common answer {session}{n}"), &[]),
            });
            say(&store, session, cwd, now(), bodies.collect()).await;
        }
        say(&store, "d", "/z", now(), vec![user("rare at the end"), user("rare again")]).await;
        let found = async |query: &str, here: Option<&str>| {
            let found = store.search(query, here, 500).await.expect("searches");
            let mut sessions: Vec<String> = found.rows.iter().map(|hit| hit.session.id.clone()).collect();
            sessions.dedup();
            (found.rows.len(), found.only_newest, sessions.join(" "))
        };
        store.index().await.expect("indexed");
        let parts = store.sql_text("SELECT group_concat(name) FROM search_parts").await;
        assert_eq!(parts.split(',').count(), 5, "{parts}");
        // What stands everywhere is ranked among the newest, and said.
        assert_eq!(found("common", None).await, (50, true, "c".into()));
        assert_eq!(found("comm*", None).await, (50, true, "c".into()));
        // What is rare is found wherever it is.
        assert_eq!(found("a7", None).await, (1, false, "a".into()));
        assert_eq!(found("rare", None).await, (2, false, "d".into()));
        // A filter goes on until enough fits.
        assert_eq!(found("common", Some("/y")).await, (50, true, "b".into()));
        assert_eq!(found("common role:user", Some("/y")).await, (50, false, "b".into()));
        assert_eq!(found("common role:tool", None).await, (0, false, String::new()));
        let rows = store.list("common in:y", None, 9).await.expect("lists");
        assert_eq!(ids(&rows), ["b"]);
        assert!(rows[0].snippet.as_deref().is_some_and(|text| text.contains(">>>common<<<")), "{rows:?}");
        // A deleted session is gone from all of them; its keys may be given again.
        for gone in ["b", "d"] {
            assert!(store.delete(&id(gone)).await.expect("deleted"));
        }
        say(&store, "e", "/y", now(), vec![user("common at last")]).await;
        assert_eq!(found("common", Some("/y")).await, (1, false, "e".into()));
        assert_eq!(found("rare", None).await, (0, false, String::new()));
        assert!(store.repair().await.is_ok());
        assert_eq!(found("a7", None).await, (1, false, "a".into()));
        assert_eq!(found("common at last", None).await, (1, false, "e".into()));
    });
}

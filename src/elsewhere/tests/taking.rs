//! Sessions that become ours: once, with what the source has more, without rights, stopped and killed anywhere.

use super::*;
use crate::protocol::{ItemId, SessionId};
use crate::store::Store;

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

async fn taken(store: &Store, shelf: &Shelf, wish: &str) -> Result<Taken, String> {
    take(store, shelf, &Secrets::default(), wish, "/home/sam/demo").await
}

#[test]
fn a_session_is_taken_over_once_and_grows_with_its_source() {
    let (root, places) = machine();
    let (shelf, home) = (Shelf::new(places), tempfile::tempdir().expect("a folder"));
    block(async {
        let store = Store::spawn(home.path());
        let Ok(Taken::Session(id, told)) = taken(&store, &shelf, "@codex").await else { panic!("taken") };
        assert_eq!(id.0, "codex-01a216c6-2b67-7270-a94e-1f2f97568c68");
        assert!(told.starts_with("Taken over from Codex: 6 entries of session 01a216c6"), "{told}");
        assert!(told.contains("2 text of the program") && told.ends_with("The original is unchanged."), "{told}");
        let about = store.about(&id).await.expect("there");
        assert_eq!(
            (about.source.as_str(), about.row.cwd.as_str(), about.row.started_at, about.row.model.as_str()),
            ("import", "/home/sam/demo", 1_795_678_415_733, "")
        );
        let meta = store.meta(&id).await.expect("reads");
        assert_eq!(meta.keys().map(String::as_str).collect::<Vec<_>>(), ["origin"], "no grants, no mode");
        assert_eq!((&meta["origin"]["agent"], &meta["origin"]["model"]), (&json!("codex"), &json!("mock-model")));
        // The same again, by a start of its id.
        let Ok(Taken::Session(again, _)) = taken(&store, &shelf, "@codex:01a216c6").await else { panic!("taken") };
        assert_eq!((&again, store.whole(&id).await.expect("reads").items.len()), (&id, 7));
        // Codex went on meanwhile.
        let folder = root.path().join(".codex/sessions/2026/11/26");
        let file = std::fs::read_dir(folder).expect("a folder").next().expect("a file").expect("a file").path();
        let user = json!({"type": "response_item", "payload": {"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "And then?"}]}});
        let text = std::fs::read_to_string(&file).expect("reads");
        std::fs::write(&file, format!("{text}{user}\n")).expect("written");
        let Ok(Taken::Session(_, told)) = taken(&store, &shelf, "@codex").await else { panic!("taken") };
        assert!(told.starts_with("Added 1 entry from Codex"), "{told}");
        let lines = shown(&store.whole(&id).await.expect("reads").items);
        assert_eq!((lines.len(), lines[7].as_str()), (9, "3 user And then?"));
        // It went on here, too: both stay as they are.
        let own = Item { id: ItemId(0), at: 1, turn: 4, body: Body::Assistant(Default::default()) };
        store.append(&id, vec![own]).await.expect("kept");
        std::fs::write(&file, format!("{text}{user}\n{}\n", user.to_string().replace("then", "now"))).expect("written");
        let Ok(Taken::Session(_, told)) = taken(&store, &shelf, "@codex").await else { panic!("taken") };
        assert!(told.contains("nothing was added"), "{told}");
        store.close().await;
    });
}

#[test]
fn a_wish_that_nothing_fits_says_what_there_is() {
    let (_root, places) = machine();
    let (shelf, home) = (Shelf::new(places), tempfile::tempdir().expect("a folder"));
    block(async {
        let store = Store::spawn(home.path());
        let secrets = Secrets::default();
        let other = take(&store, &shelf, &secrets, "@pi", "/somewhere").await;
        assert_eq!(other, Ok(Taken::Choose("@pi".to_owned())));
        let why = taken(&store, &shelf, "@cursor").await.expect_err("none");
        assert!(why.contains("@claude, @codex, @opencode, @pi, @hermes-py"), "{why}");
        assert!(taken(&store, &shelf, "@pi:zzz").await.is_err());
        store.close().await;
    });
}

#[test]
fn nothing_of_theirs_changes() {
    let (root, places) = machine();
    let files = || {
        let mut all: Vec<(PathBuf, Vec<u8>)> = super::super::files::walk(root.path(), |_| true)
            .into_iter()
            .map(|entry| (entry.path.clone(), std::fs::read(entry.path).expect("reads")))
            .collect();
        all.sort();
        all
    };
    let before = files();
    let (shelf, home) = (Shelf::new(places), tempfile::tempdir().expect("a folder"));
    block(async {
        let store = Store::spawn(home.path());
        for agent in Agent::ALL {
            assert!(matches!(taken(&store, &shelf, &format!("@{}", agent.word())).await, Ok(Taken::Session(..))));
        }
        let migration = Migration::of_python(root.path().join("hermes"));
        migration.run(&store, &Secrets::default(), false, |_| {}).await.expect("runs");
        store.close().await;
    });
    assert_eq!(files(), before);
}

/// A Python Hermes with many sessions in a database whose log is not folded in yet.
fn many(home: &Path, count: usize) -> rusqlite::Connection {
    let conn = database(&home.join("state.db"), "hermes-py.sql");
    conn.pragma_update(None, "journal_mode", "WAL").expect("a log");
    conn.execute_batch(&format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
         INSERT INTO sessions (id, source, started_at, title) SELECT 'many' || n, iif(n % 10 = 0, 'subagent', 'cli'), n, 'Title ' || n FROM n;
         INSERT INTO messages (session_id, role, content, timestamp) SELECT id, 'user', 'prompt of ' || id, started_at FROM sessions;"
    ))
    .expect("runs");
    conn
}

#[test]
fn thousands_come_over_once_and_the_rest_after_a_stop() {
    let (theirs, ours) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let conn = many(theirs.path(), 500);
    let migration = Migration::of_python(theirs.path().to_owned());
    block(async {
        let store = Store::spawn(ours.path());
        let dry = migration.run(&store, &Secrets::default(), true, |_| {}).await.expect("counts");
        assert_eq!((dry.new, dry.skipped.get("sessions of subagents")), (451, Some(&50)));
        assert_eq!(store.stats().await.expect("figures").sessions, 0, "a dry run writes nothing");
        // Stopped after a part of it: what came over is whole.
        let secrets = Secrets::default();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let mut stop = Some(stop);
        let run = migration.run(&store, &secrets, false, |at| {
            if at.done >= 100
                && let Some(stop) = stop.take()
            {
                stop.send(()).expect("heard");
            }
        });
        tokio::select! {
            biased;
            _ = stopped => {}
            _ = run => {}
        }
        let part = store.stats().await.expect("figures").sessions;
        assert!(part >= 90, "{part}");
        let done = migration.run(&store, &secrets, false, |_| {}).await.expect("runs");
        assert_eq!(done.new + done.same + done.extended, 451, "{done:?}");
        assert!(done.same >= 90, "{done:?}");
        let again = migration.run(&store, &secrets, false, |_| {}).await.expect("runs");
        assert_eq!((again.new, again.same, again.items), (0, 451, 0));
        let about = store.about(&SessionId("many7".to_owned())).await.expect("there").row;
        assert_eq!((about.title.as_deref(), about.started_at, about.updated_at), (Some("Title 7"), 7000, 7000));
        // One went on over there.
        conn.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('many7', 'assistant', 'more', 9)",
            [],
        )
        .expect("runs");
        let more = migration.run(&store, &secrets, false, |_| {}).await.expect("runs");
        assert_eq!((more.extended, more.items, more.same), (1, 1, 450));
        assert_eq!(
            more.line("Python Hermes", false),
            "0 sessions of Python Hermes brought over (1 entries); 1 got more entries; \
                   450 were here already; left out: 50 sessions of subagents"
        );
        store.close().await;
    });
}

#[test]
fn the_first_migration_is_one() {
    let home = tempfile::tempdir().expect("a folder");
    assert!(!waits(home.path()));
    drop(many(home.path(), 30));
    assert!(waits(home.path()));
    block(async {
        let store = Store::spawn(home.path());
        let secrets = Secrets::default();
        let both = tokio::join!(first(home.path(), &store, &secrets), first(home.path(), &store, &secrets));
        let done: Vec<Migrated> = [both.0, both.1].into_iter().flatten().map(|done| done.expect("runs")).collect();
        assert_eq!(done.iter().map(|done| done.new).collect::<Vec<_>>(), [28], "one of two windows does it");
        assert!(!waits(home.path()) && first(home.path(), &store, &secrets).await.is_none());
        assert_eq!(store.stats().await.expect("figures").sessions, 28);
        store.close().await;
    });
}

#[test]
fn a_first_migration_that_left_sessions_behind_is_tried_again_and_not_for_ever() {
    let home = tempfile::tempdir().expect("a folder");
    let conn = many(home.path(), 10);
    let role = |role: &str| {
        let sql = "UPDATE messages SET role = ?1 WHERE session_id IN ('many3', 'many4')";
        conn.execute(sql, [role]).expect("runs");
    };
    role("system");
    conn.execute("UPDATE sessions SET archived = 1 WHERE id = 'many5'", []).expect("runs");
    block(async {
        let (store, secrets) = (Store::spawn(home.path()), Secrets::default());
        let next = async || first(home.path(), &store, &secrets).await.map(|done| done.expect("runs"));
        let done = next().await.expect("it runs");
        assert_eq!((done.new, done.failed.len()), (8, 2), "{done:?}");
        for (id, archived) in [("many5", true), ("many6", false)] {
            assert_eq!(store.about(&id.into()).await.expect("there").row.archived, archived, "{id}");
        }
        // Whole meanwhile.
        conn.execute("UPDATE messages SET role = 'user' WHERE session_id = 'many3'", []).expect("runs");
        let done = next().await.expect("it is tried again");
        assert_eq!((done.new, done.same, done.failed.len()), (1, 8, 1), "{done:?}");
        assert!(next().await.is_some() && !waits(home.path()) && next().await.is_none(), "the third is the last");
        store.close().await;
    });
}

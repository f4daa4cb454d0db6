//! Going back: nothing is lost, and what is left out is out for everyone but the search.

use super::*;

fn at(number: i64, turn: u32, body: Body) -> Item {
    Item { id: ItemId(number), at: number, turn, body }
}

/// Two exchanges, the second with a command.
fn talk() -> Vec<Item> {
    vec![
        at(1, 1, user("plant a walrus")),
        at(2, 1, assistant("planted", &[])),
        at(3, 2, user("paint an okapi")),
        at(4, 2, assistant("", &[("c", "terminal")])),
        at(5, 2, tool("c", "terminal", "painted")),
        at(6, 2, assistant("all painted", &[])),
    ]
}

fn change(turn: u32, path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        turn,
        at: 7,
        call: "c".into(),
        place: String::new(),
        path: path.into(),
        before: FileState { hash: before.map(str::to_owned), mode: before.map(|_| 0o640) },
        size: 3,
        after: FileState { hash: after.map(str::to_owned), mode: None },
        command: None,
    }
}

fn to(item: i64, conversation: bool, paths: &[&str]) -> Rewind {
    let file = |path: &&str| RewoundFile {
        place: String::new(),
        path: path.into(),
        was: FileState { hash: Some("was".into()), mode: Some(0o600) },
        became: FileState::default(),
    };
    Rewind { key: 0, item: ItemId(item), conversation, files: paths.iter().map(file).collect(), command: None }
}

async fn visible(store: &Store) -> Vec<i64> {
    store.whole(&id("one")).await.expect("reads").items.iter().map(|item| item.id.0).collect()
}

async fn counts(store: &Store) -> Vec<(i64, u64)> {
    let (prompts, _) = store.prompts(&id("one")).await.expect("reads");
    prompts.iter().map(|prompt| (prompt.item.id.0, prompt.files)).collect()
}

#[test]
fn a_summary_between_takes_no_redo_away() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.append(&one, talk()).await.expect("kept");
        assert!(store.rewind(&one, to(3, true, &[])).await.expect("rewinds"));
        let summary =
            crate::protocol::SummaryBody { text: "s".into(), from: ItemId(1), to: ItemId(2), ..Default::default() };
        store.append(&one, vec![at(7, 2, Body::Summary(Box::new(summary)))]).await.expect("kept");
        let last = store.last_rewind(&one).await.expect("looks").expect("can be redone");
        store.redo(&one, last.key).await.expect("redone");
        assert_eq!(visible(&store).await, [1, 2, 3, 4, 5, 6, 7]);
        assert!(store.rewind(&one, to(3, true, &[])).await.expect("rewinds"));
        store.append(&one, vec![at(8, 2, user("something else"))]).await.expect("kept");
        assert!(store.last_rewind(&one).await.expect("looks").is_none());
    });
}

#[test]
fn what_is_left_out_is_kept_found_and_comes_back() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.append(&one, talk()).await.expect("kept");
        assert!(store.rewind(&one, to(3, true, &[])).await.expect("rewinds"));
        // Another process, as after a kill.
        let again = Store::spawn(home.path());
        assert_eq!(visible(&again).await, [1, 2]);
        let opening = again.open_session(&one, 100, Vec::new()).await.expect("opens");
        assert_eq!(words(&opening.items), ["user plant a walrus", "assistant planted"], "no call dangles");
        assert_eq!((opening.meta.last_item, opening.meta.last_turn), (ItemId(6), 2), "numbers are not given twice");
        assert_eq!(again.list("okapi", None, 10).await.expect("finds").len(), 1, "still found");
        // Redone, and undone again to the first prompt: the session is still there.
        let last = again.last_rewind(&one).await.expect("reads").expect("one");
        assert_eq!((last.item, last.conversation), (ItemId(3), true));
        again.redo(&one, last.key).await.expect("redone");
        assert_eq!(visible(&again).await, [1, 2, 3, 4, 5, 6]);
        assert_eq!(again.last_rewind(&one).await.expect("reads"), None);
        again.rewind(&one, to(3, true, &[])).await.expect("rewinds");
        again.rewind(&one, to(1, true, &[])).await.expect("rewinds");
        assert!(visible(&again).await.is_empty());
        again.create(new("two", "/src")).await.expect("created");
        assert_eq!(again.list("", None, 10).await.expect("lists").len(), 1, "an emptied session is not an empty one");
        // Both come back, the last first.
        for left in [vec![1, 2], vec![1, 2, 3, 4, 5, 6]] {
            let last = again.last_rewind(&one).await.expect("reads").expect("one");
            again.redo(&one, last.key).await.expect("redone");
            assert_eq!(visible(&again).await, left);
        }
        again.close().await;
    });
}

#[test]
fn what_was_said_since_ends_the_redo_and_only_prompts_are_gone_back_to() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.append(&one, talk()).await.expect("kept");
        assert!(!store.rewind(&one, to(4, true, &[])).await.expect("answers"), "an answer is no prompt");
        store.rewind(&one, to(3, true, &[])).await.expect("rewinds");
        assert!(!store.rewind(&one, to(3, true, &[])).await.expect("answers"), "it is left out already");
        store.append(&one, vec![at(7, 3, user("something else"))]).await.expect("kept");
        assert_eq!(store.last_rewind(&one).await.expect("reads"), None);
        assert_eq!(visible(&store).await, [1, 2, 7]);
    });
}

#[test]
fn changes_are_those_in_effect_from_the_prompt_on() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.append(&one, talk()).await.expect("kept");
        let changes = vec![
            change(1, "/w/a", None, Some("A")),
            change(2, "/w/a", Some("A"), Some("B")),
            change(2, "/w/b", Some("X"), None),
        ];
        let keys = store.record_changes(&one, changes.clone()).await.expect("kept");
        assert_eq!(counts(&store).await, [(3, 2), (1, 2)]);
        let since = store.since(&one, ItemId(3)).await.expect("reads");
        assert_eq!((since.items.len(), since.changes.as_slice()), (4, &changes[1..]));
        // One file put back, the conversation as it was.
        store.rewind(&one, to(3, false, &["/w/a"])).await.expect("rewinds");
        assert_eq!(counts(&store).await, [(3, 1), (1, 2)]);
        let last = store.last_rewind(&one).await.expect("reads").expect("one");
        assert_eq!(last.files, to(3, false, &["/w/a"]).files);
        store.redo(&one, last.key).await.expect("redone");
        assert_eq!(store.since(&one, ItemId(1)).await.expect("reads").changes, changes);
        store.forget_changes(keys[1..].to_vec()).await.expect("forgotten");
        assert_eq!(counts(&store).await, [(3, 0), (1, 1)]);
        store.delete(&one).await.expect("deleted");
        assert!(store.prompts(&one).await.is_err());
    });
}

#[test]
fn what_children_changed_goes_back_with_the_turn_that_began_them() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.create(new("one", "/w")).await.expect("made");
        store.append(&one, talk()).await.expect("kept");
        let prompt = store.item(&one, ItemId(3)).await.expect("reads").expect("one").at;
        let below =
            [("early", &one, prompt - 1, "/w"), ("late", &one, prompt, "/w"), ("tree", &one, prompt, "/h-worktrees/x")];
        let late = id("late");
        for (name, parent, started_at, cwd) in below.into_iter().chain([("deep", &late, prompt + 1, "/w")]) {
            let (model, source) = ("m".to_owned(), "child".to_owned());
            let new = NewSession { id: id(name), cwd: cwd.into(), model, source, started_at };
            store.create(new).await.expect("made");
            store.append(&id(name), vec![item(1, user(name))]).await.expect("kept");
            store.adopt(&id(name), parent).await.expect("adopted");
            let path = format!("/w/{name}");
            store.record_changes(&id(name), vec![change(1, &path, None, Some("A"))]).await.expect("kept");
        }
        let paths = |changes: Vec<FileChange>| -> Vec<String> {
            let mut all: Vec<String> = changes.iter().map(|change| change.path.display().to_string()).collect();
            all.sort();
            all
        };
        let since = store.since(&one, ItemId(3)).await.expect("reads");
        assert_eq!(since.children, [id("late"), id("deep")]);
        assert_eq!(paths(since.changes), ["/w/deep", "/w/late"]);
        assert_eq!(counts(&store).await, [(3, 2), (1, 3)]);
        store.rewind(&one, to(3, true, &["/w/late"])).await.expect("rewinds");
        assert_eq!(store.changes(&late).await.expect("reads"), []);
        assert_eq!(paths(store.since(&one, ItemId(1)).await.expect("reads").changes), ["/w/deep", "/w/early"]);
        let last = store.last_rewind(&one).await.expect("reads").expect("one");
        store.redo(&one, last.key).await.expect("redone");
        assert_eq!(paths(store.changes(&late).await.expect("reads")), ["/w/late"]);
        assert_eq!(store.changes(&id("tree")).await.expect("reads").len(), 1);
    });
}

#[test]
fn a_fork_has_the_same_conversation_prompt_and_changes_and_nothing_else() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let (one, two) = (id("one"), id("two"));
        store.append(&one, talk()).await.expect("kept");
        store.set_title(&one, "zoo").await.expect("named");
        store.set_prompt(&one, "be kind\n".into()).await.expect("kept");
        store.set_meta(&one, "plan", serde_json::json!([])).await.expect("kept");
        store.set_meta(&one, "grants", serde_json::json!(["recursive delete"])).await.expect("kept");
        let made = vec![change(1, "/w/a", None, Some("A"))];
        store.record_changes(&one, made.clone()).await.expect("kept");
        store.rewind(&one, to(3, true, &[])).await.expect("rewinds");
        assert_eq!(store.fork(&one, &two, None).await.expect("forks").as_deref(), Some("zoo (fork)"));
        let opening = store.open_session(&two, 100, Vec::new()).await.expect("opens");
        assert_eq!(opening.items, talk()[..2]);
        assert_eq!(opening.prompt.as_deref(), Some("be kind\n"));
        assert_eq!(opening.values.keys().collect::<Vec<_>>(), ["plan"]);
        assert_eq!(store.since(&two, ItemId(1)).await.expect("reads").changes, made);
        // The copy goes its own way.
        store.append(&two, vec![at(7, 3, user("on"))]).await.expect("kept");
        assert_eq!(visible(&store).await, [1, 2]);
        assert_eq!(store.fork(&one, &id("three"), None).await.expect("forks").as_deref(), Some("zoo (fork) #2"));
    });
}

#[test]
fn a_database_of_the_first_schema_gets_the_new_tables() {
    let home = home();
    let path = home.path().join("state.db");
    let old = rusqlite::Connection::open(&path).expect("a file");
    old.pragma_update(None, "application_id", APPLICATION_ID).expect("named");
    old.execute_batch(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/migrations/0001_sessions.sql")))
        .expect("the first schema");
    old.pragma_update(None, "user_version", 1).expect("numbered");
    drop(old);
    run(async {
        let store = Store::spawn(home.path());
        assert_eq!(store.opened().await.warning, None);
        store.append(&id("one"), talk()).await.expect("kept");
        store.rewind(&id("one"), to(3, true, &[])).await.expect("rewinds");
        assert_eq!(visible(&store).await, [1, 2]);
        // What was there before is there still; a new database needs no copy.
        let copies: Vec<_> = std::fs::read_dir(home.path().join("backups")).expect("a folder").flatten().collect();
        let [copy] = copies.as_slice() else { panic!("one copy: {copies:?}") };
        let old = rusqlite::Connection::open(copy.path()).expect("a file");
        assert_eq!(old.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)), Ok(1));
    });
}

#[test]
fn what_was_paid_for_counts_also_when_it_was_left_out_and_a_copy_counts_its_own() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.append(&one, talk()).await.expect("kept");
        store.rewind(&one, to(3, true, &[])).await.expect("rewinds");
        let ids = |items: Vec<Item>| items.iter().map(|item| item.id.0).collect::<Vec<_>>();
        assert_eq!(ids(store.answers(&one).await.expect("reads")), [2, 4, 6]);
        store.fork(&one, &id("two"), None).await.expect("forks");
        assert_eq!(ids(store.answers(&id("two")).await.expect("reads")), [0i64; 0]);
    });
}

#[test]
fn tools_that_ran_are_told_with_the_prompts() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.append(&one, talk()).await.expect("kept");
        let mut refused = tool("d", "terminal", "no");
        if let Body::Tool(body) = &mut refused {
            body.outcome = crate::protocol::Outcome::Refused;
        }
        store.append(&one, vec![at(7, 2, refused)]).await.expect("kept");
        let (_, ran) = store.prompts(&one).await.expect("reads");
        assert_eq!(ran, [(ItemId(5), "terminal".to_owned())]);
    });
}

#[test]
fn rewound_turns_do_not_count_where_a_fork_branched() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.append(&one, talk()).await.expect("kept");
        store.rewind(&one, to(3, true, &[])).await.expect("rewinds");
        store.append(&one, vec![at(7, 3, user("another way")), at(8, 3, assistant("done", &[]))]).await.expect("kept");
        store.fork(&one, &id("two"), None).await.expect("forks");
        let tree = store.tree(&id("two")).await.expect("a tree");
        assert_eq!(tree.iter().map(|branch| branch.turn).collect::<Vec<_>>(), [0, 2]);
    });
}

#[test]
fn a_restore_is_redone_until_a_prompt_is_sent() {
    let home = home();
    run(async {
        let store = Store::spawn(home.path());
        let one = id("one");
        store.append(&one, talk()).await.expect("kept");
        let step = vec![
            at(7, 3, user("try")),
            at(8, 3, assistant("", &[("r", "restore")])),
            at(9, 3, tool("r", "restore", "ok")),
        ];
        store.append(&one, step).await.expect("kept");
        let file = to(3, true, &["/w/a"]).files;
        store.leave_out(&one, (ItemId(3), ItemId(8), ItemId(9)), file.clone()).await.expect("left out");
        store.append(&one, vec![at(10, 3, assistant("another way", &[]))]).await.expect("kept");
        assert_eq!(visible(&store).await, [1, 2, 10]);
        let last = store.last_rewind(&one).await.expect("reads").expect("a restore");
        assert!(last.is_restore() && last.files == file, "{last:?}");
        store.redo(&one, last.key).await.expect("redone");
        assert_eq!(visible(&store).await, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(store.last_rewind(&one).await.expect("reads"), None);
        store.append(&one, vec![at(11, 4, user("on"))]).await.expect("kept");
        store.leave_out(&one, (ItemId(7), ItemId(11), ItemId(11)), Vec::new()).await.expect("left out");
        store.append(&one, vec![at(12, 5, user("a prompt since"))]).await.expect("kept");
        assert_eq!(store.last_rewind(&one).await.expect("reads"), None);
    });
}

//! Keys and facts to effects: which worktree is meant, what is taken, what is dropped, and the yes before it goes.

use super::*;
use crate::app::msg::{LoadReply, Msg};
use crate::app::session::tabs;
use crate::app::tests::{opened, ready, script};
use crate::app::update;
use crate::protocol::{AgentEvent, ChildState, ChildTree, FileKind, Opens, ToolStart, TreeHunk};

fn file(path: &str) -> TreeFile {
    TreeFile {
        path: path.into(),
        from: None,
        kind: FileKind::Modified,
        added: 2,
        removed: 1,
        binary: false,
        loose: false,
        here: false,
        stuck: None,
    }
}

fn changes(files: Vec<TreeFile>) -> TreeChanges {
    TreeChanges {
        name: "app-1".into(),
        folder: "/w/app-1".into(),
        branch: Some("hermes/1".into()),
        base: "b".into(),
        files,
        more: 0,
        stays: vec!["1 untracked file".into()],
        mark: "m".into(),
    }
}

fn swap(at: usize) -> Swap {
    Swap { old: (at, at + 1), new: (at, at + 2) }
}

fn hunks(path: &str, at: &[usize]) -> TreeHunks {
    let hunk = |at: &usize| TreeHunk {
        swaps: vec![swap(*at)],
        old: *at,
        new: *at,
        lines: vec!["-a".into(), "+b".into(), "+c".into()],
        here: false,
    };
    TreeHunks { path: path.into(), seen: "s".into(), hunks: at.iter().map(hunk).collect(), note: String::new() }
}

/// The pane with these files, and hunks at two places of the first.
fn open_at(files: &[&str]) -> Model {
    let mut model = ready();
    let effects = script(&mut model, "/diff app-1<ret>");
    assert_eq!(effects.last(), Some(&Effect::Load(LoadRequest::TreeChanges { wanted: "app-1".into() })));
    see(&mut model, "app-1", files);
    model
}

fn see(model: &mut Model, wanted: &str, files: &[&str]) -> Vec<Effect> {
    let result = Ok(Box::new(changes(files.iter().map(|path| file(path)).collect())));
    let effects = update(model, 0, Msg::Loaded(LoadReply::TreeChanges { wanted: wanted.into(), result }));
    if let Some(first) = modal(model).and_then(|modal| modal.file().map(|file| file.path.clone())) {
        let result = Ok(Box::new(hunks(&first, &[3, 30])));
        update(model, 0, Msg::Loaded(LoadReply::TreeHunks { path: first, result }));
    }
    effects
}

fn pick(path: &str, part: Option<&[usize]>) -> Pick {
    let part = part.map(|at| ("s".to_owned(), at.iter().map(|at| swap(*at)).collect()));
    Pick { path: path.into(), from: None, part }
}

/// What an effect takes.
fn takes(effects: &[Effect]) -> Vec<Pick> {
    let picks = effects.iter().filter_map(|effect| match effect {
        Effect::Agent(AgentCommand::Take(order)) => Some(order.picks.clone()),
        _ => None,
    });
    picks.flatten().collect()
}

#[test]
fn keys_take_and_drop_what_is_selected() {
    for (keys, want) in [
        ("t", vec![pick("a", None)]),
        ("<down>t", vec![pick("b", None)]),
        ("<up>t", vec![pick("c", None)]),
        ("a", vec![pick("a", None), pick("b", None), pick("c", None)]),
        // A hunk, and the one after it.
        ("<tab>t", vec![pick("a", Some(&[3]))]),
        ("<ret><down>t", vec![pick("a", Some(&[30]))]),
        ("<right><down><left><down>t", vec![pick("b", None)]),
        // Dropped from the list: not taken with the rest.
        ("xa", vec![pick("b", None), pick("c", None)]),
        ("xxxa", vec![]),
        ("<tab>xa", vec![pick("a", Some(&[30])), pick("b", None), pick("c", None)]),
        ("<tab>xxa", vec![pick("b", None), pick("c", None)]),
        // Once more from the beginning: all is back.
        ("<tab>x<esc>r", vec![]),
        // While it is taken nothing else is.
        ("tt", vec![pick("a", None)]),
    ] {
        let mut model = open_at(&["a", "b", "c"]);
        assert_eq!(takes(&script(&mut model, keys)), want, "{keys}");
    }
    let mut model = open_at(&["a", "b", "c"]);
    script(&mut model, "xr");
    see(&mut model, "app-1", &["a", "b", "c"]);
    assert_eq!(takes(&script(&mut model, "a")).len(), 3);
}

#[test]
fn keys_go_to_hunks_that_are_on_their_way() {
    let mut model = open_at(&["a", "b"]);
    script(&mut model, "<down><tab>");
    let reply = |found: TreeHunks| Msg::Loaded(LoadReply::TreeHunks { path: "b".into(), result: Ok(Box::new(found)) });
    update(&mut model, 0, reply(hunks("b", &[7])));
    assert_eq!(takes(&script(&mut model, "t")), [pick("b", Some(&[7]))]);
    // There are none: they stay with the files.
    let mut model = open_at(&["a", "b"]);
    script(&mut model, "<down><tab>");
    update(&mut model, 0, reply(hunks("b", &[])));
    assert_eq!(takes(&script(&mut model, "t")), [pick("b", None)]);
}

#[test]
fn escape_leaves_the_hunks_and_then_the_pane() {
    let mut model = open_at(&["a"]);
    script(&mut model, "<tab><esc>");
    assert!(modal(&mut model).is_some_and(|modal| !modal.in_hunks));
    script(&mut model, "<esc>");
    assert!(model.tab.modals.is_empty());
}

#[test]
fn what_came_of_it_is_said_and_looked_at_again() {
    let mut model = open_at(&["a", "b"]);
    script(&mut model, "a");
    let left = vec![("b".to_owned(), "it was changed here too, around line 3".to_owned())];
    let taken = Taken { folder: "/w/app-1".into(), files: vec!["a".into()], left };
    let effects = update(&mut model, 0, Msg::Agent(AgentEvent::Taken(taken)));
    assert!(effects.contains(&Effect::Load(LoadRequest::TreeChanges { wanted: "app-1".into() })), "{effects:?}");
    assert!(model.notices.shown.iter().any(|notice| notice.text.starts_with("took a; ")), "{:?}", model.notices.shown);
    assert_eq!(modal(&mut model).map(|modal| modal.left.len()), Some(1));
    // What is here already is not taken again, nor what can't be.
    let mut files = vec![file("a"), file("b"), file("c")];
    files[0].here = true;
    files[2].stuck = Some("a submodule".into());
    let reply = LoadReply::TreeChanges { wanted: "app-1".into(), result: Ok(Box::new(changes(files))) };
    update(&mut model, 0, Msg::Loaded(reply));
    assert_eq!(takes(&script(&mut model, "a")), [pick("b", None)]);
}

#[test]
fn nothing_is_taken_while_a_turn_runs() {
    let mut model = open_at(&["a"]);
    update(&mut model, 0, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 0 }));
    assert_eq!(takes(&script(&mut model, "t")), []);
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("a turn is running")));
}

#[test]
fn a_worktree_goes_after_a_yes_that_names_what_is_lost() {
    let mut model = open_at(&["a", "b"]);
    script(&mut model, "D");
    let Some(Modal::Confirm(confirm)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
    assert!(
        confirm.text.contains("lost for good: 1 untracked file") && confirm.text.contains("Not in this folder: a, b")
    );
    assert!(!confirm.selected_yes);
    let drop = Effect::Load(LoadRequest::DropWorktree { folder: "/w/app-1".into(), mark: "m".into() });
    // Enter alone is a no.
    assert!(!script(&mut model, "<ret>").contains(&drop));
    assert!(script(&mut model, "Dy<ret>").contains(&drop));
    let gone = |result| Msg::Loaded(LoadReply::WorktreeDropped { folder: "/w/app-1".into(), result });
    // Another one wrote into it meanwhile: it is looked at again.
    let effects = update(&mut model, 0, gone(Err("it holds more".into())));
    assert!(effects.contains(&Effect::Load(LoadRequest::TreeChanges { wanted: "app-1".into() })));
    update(&mut model, 0, gone(Ok("removed hermes/1".into())));
    assert!(model.tab.modals.is_empty());
}

/// A call with these children.
fn delegated(model: &mut Model, rows: Vec<ChildRow>) {
    let start = ToolStart {
        call_id: "c".into(),
        name: "delegate_task".into(),
        emoji: String::new(),
        verb: String::new(),
        target: String::new(),
        at: 0,
        within: None,
    };
    update(model, 0, Msg::Agent(AgentEvent::ToolStarted(start)));
    update(model, 0, Msg::Agent(AgentEvent::Children { call_id: "c".into(), rows }));
}

fn child(number: u64, state: ChildState, tree: bool) -> ChildRow {
    let tree = tree.then(|| ChildTree { branch: format!("hermes/{number}"), folder: format!("/w/app-{number}") });
    let session = Some(format!("s{number}").as_str().into());
    ChildRow { name: format!("child {number}"), session, state, worktree: tree, ..ChildRow::default() }
}

#[test]
fn a_child_is_named_chosen_in_agents_or_found_by_the_key() {
    let looks = |effects: &[Effect], wanted: &str| {
        effects.contains(&Effect::Load(LoadRequest::TreeChanges { wanted: wanted.into() }))
    };
    let rows = vec![child(1, ChildState::Completed, false), child(2, ChildState::Completed, true)];
    for keys in ["/diff child 2<ret>", "/diff 2<ret>", "<C-x>W", "/agents<ret><down><down><ret>"] {
        let mut model = ready();
        opened(&mut model, "s", &[]);
        delegated(&mut model, rows.clone());
        assert!(looks(&script(&mut model, keys), "/w/app-2"), "{keys}");
        assert_eq!(modal(&mut model).map(|modal| modal.by.clone()), Some("child 2".into()), "{keys}");
    }
    let mut model = ready();
    opened(&mut model, "s", &[]);
    delegated(&mut model, rows);
    script(&mut model, "/diff 1<ret>");
    assert!(model.notices.shown.iter().any(|notice| notice.text.contains("child 1 has no worktree")));
    assert!(model.tab.modals.is_empty());
    // The other key of the list opens the tab of the child.
    let effects = script(&mut model, "/agents<ret><down><down><A-o>");
    let resumes = |effect: &Effect| matches!(effect, Effect::Open { opens: Opens::Resume(id), .. } if id.0 == "s2");
    assert!(effects.iter().any(resumes), "{effects:?}");
}

#[test]
fn what_is_gone_says_so_and_a_tab_that_comes_back_asks_again() {
    let mut model = ready();
    opened(&mut model, "s", &[]);
    script(&mut model, "/diff app-1<ret>");
    let asked = Effect::Load(LoadRequest::TreeChanges { wanted: "app-1".into() });
    let first = model.tab.id;
    tabs::open(&mut model, &mut Vec::new(), Opens::New);
    let mut out = Vec::new();
    tabs::show(&mut model, &mut out, first);
    assert!(out.contains(&asked), "{out:?}");
    let result = Err("app-1 is gone".to_owned());
    update(&mut model, 0, Msg::Loaded(LoadReply::TreeChanges { wanted: "app-1".into(), result }));
    assert!(modal(&mut model).is_some_and(|modal| modal.problem == "app-1 is gone" && modal.changes.is_none()));
    script(&mut model, "taxD<esc>");
    assert!(model.tab.modals.is_empty());
}

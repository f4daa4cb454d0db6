//! The changes of a worktree, and the rows of children: at each size, and with more than a screen holds.

use super::fixture::{NOW, busy, screen};
use crate::app::Model;
use crate::app::model::modal::Modal;
use crate::app::model::transcript::{CellKind, ToolCell, ToolState};
use crate::app::model::types::{FileKind, TreeFile, TreeHunk};
use crate::app::model::worktree::WorktreeModal;
use crate::protocol::{ChildRow, ChildState, ChildTree, Swap, TreeChanges, TreeHunks, Usage};
use crate::ui::cache::ViewCache;

fn file(path: &str, kind: FileKind, added: u32, removed: u32) -> TreeFile {
    TreeFile {
        path: path.into(),
        from: None,
        kind,
        added,
        removed,
        binary: false,
        loose: false,
        here: false,
        stuck: None,
    }
}

fn hunk(at: usize, lines: &[&str]) -> TreeHunk {
    let swaps = vec![Swap { old: (at, at + 1), new: (at, at + 2) }];
    TreeHunk { swaps, old: at, new: at, lines: lines.iter().map(|line| (*line).to_owned()).collect(), here: false }
}

/// A pane with a file of each kind.
pub fn pane() -> WorktreeModal {
    let files = vec![
        file("src/app/session/worktree.rs", FileKind::Modified, 12, 4),
        TreeFile { loose: true, ..file("notes.txt", FileKind::Added, 3, 0) },
        TreeFile { binary: true, ..file("assets/logo.png", FileKind::Modified, 0, 0) },
        TreeFile { from: Some("old.rs".into()), ..file("new.rs", FileKind::Moved, 0, 0) },
        TreeFile { here: true, ..file("README.md", FileKind::Modified, 1, 1) },
        TreeFile {
            stuck: Some("a submodule: merge the branch instead".into()),
            ..file("sub", FileKind::Modified, 1, 1)
        },
    ];
    let changes = TreeChanges {
        name: "app-b12-2".into(),
        folder: "/home/a/.hermes-worktrees/app-b12-2".into(),
        branch: Some("hermes/b12-2".into()),
        base: "b".into(),
        files,
        more: 0,
        stays: vec!["1 untracked file".into()],
        mark: "m".into(),
    };
    let first = [" fn open() {", "-    let all = 1;", "+    let all = 2;", "+    let more = all;", " }"];
    let second = [" ", "-old", "+new", "+newer", " "];
    let hunks = TreeHunks {
        path: "src/app/session/worktree.rs".into(),
        seen: "s".into(),
        hunks: vec![hunk(12, &first), TreeHunk { here: true, ..hunk(140, &second) }],
        note: String::new(),
    };
    WorktreeModal {
        wanted: "x".into(),
        by: "child 2".into(),
        changes: Some(changes),
        hunks: Some(hunks),
        ..Default::default()
    }
}

fn drawn(modal: WorktreeModal, size: (u16, u16)) -> String {
    let mut model = busy();
    model.tab.modals = vec![Modal::Worktree(Box::new(modal))];
    screen(&model, &mut ViewCache::default(), size.0, size.1).0
}

#[test]
fn the_pane_at_each_size() {
    for (columns, rows) in [(140, 45), (100, 30), (60, 20)] {
        insta::assert_snapshot!(format!("changes-{columns}x{rows}"), drawn(pane(), (columns, rows)));
        let left =
            vec![("src/app/session/worktree.rs".to_owned(), "it was changed here too, around line 12".to_owned())];
        let hunks = WorktreeModal { in_hunks: true, hunk: 1, scroll: 6, left, ..pane() };
        insta::assert_snapshot!(format!("changes-hunks-{columns}x{rows}"), drawn(hunks, (columns, rows)));
    }
}

#[test]
fn ten_thousand_lines_are_painted_where_they_are_in_view() {
    let lines: Vec<String> = (1..=10_000).map(|n| format!("+line {n}")).collect();
    let mut modal = pane();
    if let Some(hunks) = &mut modal.hunks {
        hunks.hunks = vec![TreeHunk { swaps: Vec::new(), old: 1, new: 1, lines, here: false }];
    }
    for (scroll, first, last) in [
        (0, " 1 + line 1 ", "24 + line 24"),
        (5_000, "5000 + line 5000", "5010 + line 5010"),
        (99_999, "", "10000 + line 10000"),
    ] {
        let text = drawn(WorktreeModal { scroll, ..modal.clone() }, (100, 30));
        assert!(text.contains(first) && text.contains(last), "{scroll}:\n{text}");
    }
}

#[test]
fn what_is_empty_gone_or_all_dropped_says_so() {
    let empty = WorktreeModal { changes: Some(TreeChanges::default()), ..WorktreeModal::default() };
    let gone = WorktreeModal { problem: "app-1 is gone; there is nothing to take".into(), ..WorktreeModal::default() };
    let mut dropped = pane();
    dropped.dropped = dropped.changes.iter().flat_map(|it| it.files.iter().map(|file| file.path.clone())).collect();
    for (modal, text) in [
        (empty, "It holds nothing that this folder lacks"),
        (gone, "app-1 is gone"),
        (dropped, "All was dropped from the list"),
        (WorktreeModal::default(), "Changes in a worktree"),
    ] {
        for size in [(140, 45), (60, 20), (40, 12)] {
            let shown = drawn(modal.clone(), size);
            assert!(shown.contains(text) || size.0 == 40, "{size:?}:\n{shown}");
        }
    }
}

/// A call with children in each state.
fn with_children() -> Model {
    let mut model = busy();
    let tree = |n: u32| Some(ChildTree { branch: format!("hermes/b12cd3-{n}"), folder: "/w".into() });
    let row = |name: &str, goal: &str, state| ChildRow {
        name: name.into(),
        goal: goal.into(),
        state,
        began: NOW - 65_000,
        steps: 12,
        used: Usage { input: 41_000, output: 2_000, cost: Some(0.21), ..Usage::default() },
        left: "57K tokens left".into(),
        ..ChildRow::default()
    };
    let children = vec![
        ChildRow {
            doing: "reading src/store/mod.rs".into(),
            worktree: tree(1),
            ..row("child 1", "find out why the resume test fails one run in ten", ChildState::Working)
        },
        ChildRow { worktree: tree(2), ..row("child 2", "write the changelog", ChildState::Asks) },
        ChildRow { ended: NOW - 5_000, worktree: tree(3), ..row("child 3", "format", ChildState::Completed) },
        ChildRow {
            began: 0,
            steps: 0,
            left: String::new(),
            ..row("child 4", "wait for the others", ChildState::Waiting)
        },
    ];
    let tool = ToolCell {
        call_id: "d".into(),
        name: "delegate_task".into(),
        emoji: "🔀".into(),
        target: "planning 4 task(s)".into(),
        state: ToolState::Running,
        started_at: NOW - 65_000,
        children,
        ..ToolCell::default()
    };
    model.tab.transcript.push(CellKind::Tool(Box::new(tool)), None, false);
    model
}

#[test]
fn rows_of_children_at_each_size() {
    for (columns, rows) in [(140, 45), (100, 30), (60, 20)] {
        let text = screen(&with_children(), &mut ViewCache::default(), columns, rows).0;
        insta::assert_snapshot!(format!("children-{columns}x{rows}"), text);
    }
}

//! Tables: the time line, and what a moment came to.

use super::*;
use crate::protocol::TodoStatus;

fn beat(item: i64, at: i64, turn: u32) -> Beat {
    Beat { item: ItemId(item), at, turn, prompt: false, usage: None, plan: None, files: Vec::new(), rewound: 0 }
}

fn terminal(changes: &[i64], ended_at: i64) -> RecordedTerminal {
    RecordedTerminal { changes: changes.to_vec(), ended_at, ..RecordedTerminal::default() }
}

#[test]
fn the_line_has_items_and_screens_in_order_and_short_pauses() {
    let beats = [beat(1, 1000, 1), beat(2, 1500, 1), beat(3, 90_000, 2), beat(4, 89_000, 2), beat(5, 90_400, 3)];
    let track = Track::of(&beats, &[terminal(&[500, 1200, 1500], 1600)]);
    let stops: Vec<(i64, Option<i64>, bool)> =
        track.stops.iter().map(|stop| (stop.at, stop.item.map(|id| id.0), stop.is_item)).collect();
    let want = [
        (1000, Some(1), true),
        (1200, Some(1), false),
        (1500, Some(2), true),
        (1500, Some(2), false),
        (90_000, Some(3), true),
        // The clock went back: time stands still.
        (90_000, Some(4), true),
        (90_400, Some(5), true),
    ];
    assert_eq!(stops, want);
    assert_eq!(track.offsets, [0, 200, 500, 501, 2501, 2621, 3021]);
    for (stop, cell) in [(0, 0), (2, 16), (4, 81), (6, 99)] {
        assert_eq!(track.cell(stop, 100), cell, "{stop}");
    }
    for (part, stop) in [(0, 0), (50, 1), (170, 3), (830, 4), (1000, 6)] {
        assert_eq!(track.nearest(part), stop, "{part}");
    }
    for (from, items, turns) in [
        (0, (None, Some(2)), (None, Some(4))),
        (3, (Some(2), Some(4)), (Some(0), Some(4))),
        (5, (Some(4), Some(6)), (Some(4), Some(6))),
        (6, (Some(5), None), (Some(4), None)),
    ] {
        assert_eq!((track.item_from(from, false), track.item_from(from, true)), items, "{from}");
        assert_eq!((track.turn_from(from, false), track.turn_from(from, true)), turns, "{from}");
    }
    assert_eq!((track.pause(0), track.pause(3), track.pause(6)), (Some(200), Some(2000), None));
    // The last screen of a command comes a moment after its result, but never what belongs to the next item.
    assert_eq!((track.screens_until(0), track.screens_until(1), track.screens_until(4)), (1300, 1200, 90_000));
    assert_eq!(Track::of(&[], &[]).nearest(500), 0);
}

#[test]
fn a_moment_is_the_sum_of_what_came_before_it() {
    let usage = |input, output, cost| Some(Usage { input, output, cost, ..Usage::default() });
    let plan = |status| Some(vec![Todo { id: "1".into(), content: "look".into(), status }]);
    let beats = [
        Beat { prompt: true, ..beat(1, 10, 1) },
        Beat { usage: usage(100, 5, Some(0.5)), ..beat(2, 20, 1) },
        Beat { plan: plan(TodoStatus::InProgress), files: vec![("a".into(), 3, 0)], ..beat(3, 30, 1) },
        Beat { usage: usage(150, 6, None), ..beat(4, 40, 1) },
        Beat {
            plan: plan(TodoStatus::Completed),
            files: vec![("a".into(), 1, 2), ("b".into(), 1, 0)],
            ..beat(5, 50, 1)
        },
    ];
    let changed = [(35, "made".to_owned()), (60, "later".to_owned())];
    let file = |path: &str, added, removed| (path.to_owned(), added, removed);
    for (upto, until, prompts, (input, context), cost, status, files) in [
        (0, 0, 0, (0, 0), Some(0.0), None, vec![]),
        (2, 20, 1, (100, 100), Some(0.5), None, vec![]),
        (3, 30, 1, (100, 100), Some(0.5), Some(TodoStatus::InProgress), vec![file("a", 3, 0)]),
        (4, 40, 1, (250, 150), None, Some(TodoStatus::InProgress), vec![file("a", 3, 0), file("made", 0, 0)]),
        (
            5,
            50,
            1,
            (250, 150),
            None,
            Some(TodoStatus::Completed),
            vec![file("a", 4, 2), file("b", 1, 0), file("made", 0, 0)],
        ),
    ] {
        let state = State::after(&beats[..upto], &changed, until);
        assert_eq!((state.prompts, state.usage.input, state.context), (prompts, input, context), "{upto}");
        assert_eq!((state.usage.cost, state.plan.first().map(|todo| todo.status)), (cost, status), "{upto}");
        assert_eq!(state.files, files, "{upto}");
    }
}

#[test]
fn terminals_of_a_moment_are_those_that_lived_or_the_last_one() {
    let mut modal = ReplayModal::new("s".into());
    modal.terminals = vec![terminal(&[10, 20], 25), terminal(&[15], 40), terminal(&[100], 110)];
    for (at, shown) in [(5, vec![]), (10, vec![0]), (20, vec![0, 1]), (30, vec![1]), (60, vec![1]), (105, vec![2])] {
        assert_eq!(modal.terminals_at(at), shown, "{at}");
    }
}

#[test]
fn a_fork_keeps_the_turn_of_its_moment() {
    let prompt = |item, at, turn| Beat { prompt: true, ..beat(item, at, turn) };
    let mut modal = ReplayModal::new("s".into());
    modal.beats = vec![prompt(1, 1, 1), beat(2, 2, 1), prompt(3, 3, 2), beat(4, 4, 2)];
    modal.track = Track::of(&modal.beats, &[]);
    for (at, item) in [(0, Some(1)), (1, Some(3)), (2, Some(3)), (3, None)] {
        modal.at = at;
        assert_eq!(modal.prompt_after(), item.map(ItemId), "{at}");
    }
}

#[test]
fn what_a_rewind_left_out_keeps_its_own_plan_and_files() {
    let edit = |item, path: &str, rewound| Beat { files: vec![(path.into(), 1, 0)], rewound, ..beat(item, item, 1) };
    let beats = [edit(1, "a", 0), edit(2, "b", 7), edit(3, "c", 0)];
    let files = |upto: usize| {
        let state = State::after(&beats[..upto], &[], i64::MAX);
        state.files.into_iter().map(|file| file.0).collect::<Vec<_>>()
    };
    assert_eq!((files(2), files(3)), (vec!["a".to_owned(), "b".into()], vec!["a".to_owned(), "c".into()]));
    let mut modal =
        ReplayModal { track: Track::of(&beats, &[]), beats: beats.to_vec(), ..ReplayModal::new("s".into()) };
    let mut left_out = Vec::new();
    for at in 0..3 {
        modal.at = at;
        left_out.push(modal.is_left_out());
    }
    assert_eq!(left_out, [false, true, false]);
}

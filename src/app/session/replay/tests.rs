//! Keys and facts to effects.

use super::*;
use crate::app::msg::{LoadReply, Msg};
use crate::app::tests::{ready, script};
use crate::app::update;
use crate::protocol::{Beat, ItemId, RecordedTerminal};

fn beat(item: i64, turn: u32, prompt: bool) -> Beat {
    Beat { item: ItemId(item), at: item * 1000, turn, prompt, usage: None, plan: None, files: Vec::new(), rewound: 0 }
}

fn open_with(model: &mut Model, more: bool) -> Vec<Effect> {
    let session: SessionId = "s".into();
    open(model, &mut Vec::new(), session.clone());
    let beats = vec![beat(3, 2, true), beat(4, 2, false), beat(5, 3, true), beat(6, 3, false)];
    let terminal =
        RecordedTerminal { key: ("p".into(), 1), ended_at: 9000, changes: vec![4500, 4700], ..Default::default() };
    let page = ReplayPage { title: "t".into(), beats, more, terminals: vec![terminal], changed: Vec::new() };
    update(model, model.now, Msg::Loaded(LoadReply::Replay { session, page: Ok(Box::new(page)) }))
}

fn at(model: &mut Model) -> (i64, i64) {
    let stop = modal(model).unwrap().stop().unwrap();
    (stop.item.unwrap().0, stop.at)
}

#[test]
fn keys_step_by_item_by_screen_by_turn_and_by_tenths() {
    let mut model = ready();
    let effects = open_with(&mut model, false);
    assert!(matches!(&effects[..], [Effect::Load(LoadRequest::ReplayMoment { .. })]), "{effects:?}");
    assert_eq!(at(&mut model), (6, 6000), "it opens at the end");
    for (keys, place) in [
        ("<left>", (5, 5000)),
        ("<left>", (4, 4000)),
        ("<down>", (4, 4500)),
        ("<down>", (4, 4700)),
        ("<up>", (4, 4500)),
        ("<right>", (5, 5000)),
        ("<pgup>", (3, 3000)),
        ("<S-right>", (5, 5000)),
        ("<home>", (3, 3000)),
        ("<end>", (6, 6000)),
        ("0", (3, 3000)),
        ("5", (4, 4500)),
    ] {
        script(&mut model, keys);
        assert_eq!(at(&mut model), place, "{keys}");
    }
    let last = script(&mut model, "<down>");
    let [Effect::Load(LoadRequest::ReplayMoment { until, terminals, .. })] = &last[..] else { panic!("{last:?}") };
    assert_eq!((*until, terminals.as_slice()), (4700, [(0, ("p".to_owned(), 1))].as_slice()));
    script(&mut model, "<esc>");
    assert!(model.tab.modals.is_empty());
}

#[test]
fn earlier_items_come_behind_the_view_and_leave_the_moment() {
    let mut model = ready();
    let effects = open_with(&mut model, true);
    let older = Effect::Load(LoadRequest::Replay { session: "s".into(), before: Some(ItemId(3)) });
    assert!(effects.contains(&older), "{effects:?}");
    script(&mut model, "<left>");
    let page = ReplayPage { beats: vec![beat(1, 1, true), beat(2, 1, false)], ..ReplayPage::default() };
    let reply = LoadReply::Replay { session: "s".into(), page: Ok(Box::new(page)) };
    let now = model.now;
    assert_eq!(update(&mut model, now, Msg::Loaded(reply)), []);
    assert_eq!(at(&mut model), (5, 5000));
    let modal = modal(&mut model).unwrap();
    assert_eq!((modal.beats.len(), modal.loading, modal.title.as_str()), (6, false, "t"));
}

#[test]
fn playing_goes_on_by_itself_to_the_end_and_no_timer_runs_after() {
    let mut model = ready();
    open_with(&mut model, false);
    script(&mut model, "<home><space>");
    let mut places = vec![at(&mut model)];
    for _ in 0..20 {
        let Some(due) = crate::app::window::wake::next_wake(&model) else { break };
        update(&mut model, due, Msg::Woke);
        places.push(at(&mut model));
    }
    places.dedup();
    assert_eq!(places, [(3, 3000), (4, 4000), (4, 4500), (4, 4700), (5, 5000), (6, 6000)]);
    assert_eq!(crate::app::window::wake::next_wake(&model), None);
    script(&mut model, "s");
    assert_eq!(modal(&mut model).unwrap().speed.times(), 4);
    assert_eq!(crate::app::window::wake::next_wake(&model), None, "it stands until it is played");
}

#[test]
fn enter_forks_at_the_moment() {
    let mut model = ready();
    open_with(&mut model, false);
    let effects = script(&mut model, "<home><right><ret>");
    let forks =
        |effect: &Effect| matches!(effect, Effect::Open { opens: Opens::ForkAt(id, ItemId(4)), .. } if id.0 == "s");
    assert!(effects.iter().any(forks), "{effects:?}");
    assert!(model.tab.modals.is_empty());
}

//! Keys and facts to effects: which command is shown, and what Enter does.

use super::*;
use crate::app::msg::{LoadReply, Msg};
use crate::app::tests::{ready, script};
use crate::app::update;
use crate::protocol::{Fate, FileBack, FileKind};

fn point(command: i64, call: &str, files: u64) -> UndoPoint {
    UndoPoint { command, at: 0, call: call.into(), line: "make".into(), files }
}

fn list(model: &mut Model, points: &[UndoPoint]) -> Vec<Effect> {
    update(model, 0, Msg::Loaded(LoadReply::UndoPoints(Ok(points.to_vec()))))
}

fn see(model: &mut Model, command: i64, fates: &[Fate]) {
    let file = |fate: &Fate| FileBack {
        path: "a".into(),
        kind: FileKind::Modified,
        added: 1,
        removed: 0,
        diff: String::new(),
        fate: fate.clone(),
    };
    let preview = UndoPreview { command, files: fates.iter().map(file).collect(), gaps: Vec::new() };
    update(model, 0, Msg::Loaded(LoadReply::UndoPreview { command, preview: Ok(Box::new(preview)) }));
}

fn asks(command: i64) -> Effect {
    Effect::Load(LoadRequest::UndoPreview { command })
}

fn order(command: i64, theirs: Theirs) -> Effect {
    Effect::Agent(AgentCommand::UndoCommand(UndoOrder { command, theirs }))
}

#[test]
fn the_newest_that_stands_the_nth_and_one_too_many() {
    let points = [point(9, "c", 0), point(5, "b", 2), point(2, "a", 1)];
    for (keys, shown) in [("<C-x>C", Some(5)), ("/undo-command 1<ret>", Some(9)), ("/undo-command 3<ret>", Some(2))] {
        let mut model = ready();
        assert_eq!(script(&mut model, keys).last(), Some(&Effect::Load(LoadRequest::UndoPoints)), "{keys}");
        assert_eq!(list(&mut model, &points), [asks(shown.unwrap())], "{keys}");
    }
    for keys in ["/undo-command 4<ret>", "/undo-command x<ret>"] {
        let mut model = ready();
        script(&mut model, keys);
        assert_eq!(list(&mut model, &points), [], "{keys}");
        assert!(model.tab.modals.is_empty(), "{keys}");
    }
    let mut model = ready();
    script(&mut model, "<C-x>C");
    list(&mut model, &[]);
    assert!(model.tab.modals.is_empty());
}

#[test]
fn enter_does_what_is_shown_and_nothing_before_it_is_known() {
    let foreign = || Fate::Foreign("changed".into());
    for (fates, keys, effects) in [
        (vec![Fate::Ready], "<ret>", vec![order(5, Theirs::Leave)]),
        (vec![Fate::Ready, foreign()], "<ret>", vec![order(5, Theirs::Leave)]),
        (vec![Fate::Ready, foreign()], "o<ret>", vec![order(5, Theirs::Overwrite)]),
        (vec![foreign()], "<ret>", vec![]),
        (vec![foreign()], "o<ret>", vec![order(5, Theirs::Overwrite)]),
        (vec![Fate::Lost("gone".into())], "o<ret>", vec![]),
        (vec![], "<ret>", vec![]),
        (vec![Fate::Ready], "<esc>", vec![]),
    ] {
        let mut model = ready();
        script(&mut model, "<C-x>C");
        list(&mut model, &[point(5, "b", 2)]);
        assert_eq!(script(&mut model, "<ret>"), [], "nothing is known yet");
        see(&mut model, 4, &[Fate::Ready]);
        assert_eq!(script(&mut model, "<ret>"), [], "that was about another one");
        see(&mut model, 5, &fates);
        assert_eq!(script(&mut model, keys), effects, "{fates:?} {keys}");
        assert_eq!(model.tab.modals.is_empty(), !effects.is_empty() || keys == "<esc>");
    }
}

#[test]
fn another_command_is_shown_anew() {
    let mut model = ready();
    script(&mut model, "<C-x>C");
    list(&mut model, &[point(5, "b", 2), point(2, "a", 1)]);
    see(&mut model, 5, &[Fate::Foreign("changed".into())]);
    script(&mut model, "o");
    assert_eq!(script(&mut model, "<down>"), [asks(2)]);
    assert_eq!(script(&mut model, "<down>"), [], "it does not go round");
    let shown = modal(&mut model).unwrap();
    assert!(!shown.overwrite && shown.preview.is_none());
}

#[test]
fn what_still_ran_is_looked_at_again_when_it_has_ended() {
    let mut model = ready();
    script(&mut model, "<C-x>C");
    list(&mut model, &[point(5, "b", 2)]);
    let preview = |gaps: &[&str]| {
        let gaps = gaps.iter().map(|gap| (*gap).to_owned()).collect();
        let preview = UndoPreview { command: 5, files: Vec::new(), gaps };
        Msg::Loaded(LoadReply::UndoPreview { command: 5, preview: Ok(Box::new(preview)) })
    };
    let ended = || {
        let mut info = crate::app::tests::process("p", true);
        let reason = crate::exec::ExitReason::Exited;
        let exit = crate::exec::Exit { code: 0, reason, duration: std::time::Duration::ZERO };
        info.state = crate::exec::ProcessState::Exited(exit);
        Msg::Process(crate::exec::ProcessEvent::Exited(info))
    };
    update(&mut model, 0, preview(&["what it changed: it still runs"]));
    assert!(update(&mut model, 0, ended()).contains(&asks(5)));
    update(&mut model, 0, preview(&[]));
    assert!(!update(&mut model, 0, ended()).contains(&asks(5)));
}

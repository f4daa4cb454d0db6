//! Keys and facts to effects: nothing happens before the last Enter.

use super::*;
use crate::app::msg::{LoadReply, Msg};
use crate::app::tests::{item, opened, ready, script, script_at, user};
use crate::app::update;
use crate::protocol::{AgentEvent, Body, Fate, FileBack, FileKind, NoteKind, Opens, RanCommands};

fn point(item: i64, text: &str) -> RewindPoint {
    RewindPoint { item: ItemId(item), at: 0, text: text.into(), files: 1, commands: 0 }
}

fn file(fate: Fate) -> FileBack {
    FileBack { path: "a.rs".into(), kind: FileKind::Modified, added: 1, removed: 2, diff: String::new(), fate }
}

fn preview(item: i64, fates: &[Fate]) -> RewindPreview {
    let files = fates.iter().cloned().map(file).collect();
    RewindPreview { item: ItemId(item), files, prompts: 1, items: 2, ..RewindPreview::default() }
}

fn list(model: &mut Model, points: &[RewindPoint]) -> Vec<Effect> {
    update(model, 0, Msg::Loaded(LoadReply::RewindPoints(Ok(points.to_vec()))))
}

fn see(model: &mut Model, preview: RewindPreview) -> Vec<Effect> {
    let item = preview.item;
    update(model, 0, Msg::Loaded(LoadReply::RewindPreview { item, preview: Ok(Box::new(preview)) }))
}

fn ask_for(item: i64) -> Effect {
    Effect::Load(LoadRequest::RewindPreview { item: ItemId(item) })
}

fn order(item: i64, conversation: bool, files: bool, overwrite: bool) -> Effect {
    let theirs = if overwrite { Theirs::Overwrite } else { Theirs::Ask };
    Effect::Agent(AgentCommand::Rewind(RewindOrder { item: ItemId(item), conversation, files, theirs }))
}

/// A model with the list open and the second prompt of two selected.
fn chosen(fates: &[Fate]) -> Model {
    let mut model = ready();
    script(&mut model, "<C-x>u");
    list(&mut model, &[point(5, "two"), point(1, "one")]);
    script(&mut model, "<down>");
    see(&mut model, preview(1, fates));
    model
}

#[test]
fn the_list_asks_for_a_preview_on_every_move_and_after_typing() {
    let mut model = ready();
    assert_eq!(script(&mut model, "<C-x>u").last(), Some(&Effect::Load(LoadRequest::RewindPoints)));
    assert_eq!(list(&mut model, &[point(5, "two"), point(1, "One")]), [ask_for(5)]);
    assert_eq!(script(&mut model, "<down>"), [ask_for(1)]);
    // An answer about another prompt is late, and Enter waits for the right one.
    see(&mut model, preview(5, &[]));
    assert_eq!(script(&mut model, "<ret>"), []);
    assert!(modal(&mut model).is_some_and(|modal| modal.confirm.is_none() && modal.preview.is_none()));
    assert_eq!(script(&mut model, "o"), [ask_for(5)], "both hold an o");
    assert_eq!(script(&mut model, "n"), [ask_for(1)]);
    assert_eq!(script(&mut model, "<esc>"), []);
    assert!(model.tab.modals.is_empty());
}

#[test]
fn every_choice_is_an_order_and_comes_with_the_second_enter() {
    let foreign = Fate::Foreign("changed".into());
    let lost = Fate::Lost("too large".into());
    for (fates, keys, effect) in [
        (vec![], "", order(1, true, false, false)),
        (vec![lost], "", order(1, true, false, false)),
        (vec![Fate::Ready], "", order(1, true, true, false)),
        (vec![Fate::Already], "", order(1, true, true, false)),
        (vec![Fate::Ready], "c", order(1, true, false, false)),
        (vec![Fate::Ready], "f", order(1, false, true, false)),
        (vec![Fate::Ready], "o", order(1, true, true, false)),
        (vec![Fate::Ready], "<down>", order(1, true, false, false)),
        (vec![Fate::Ready], "<down><down>", order(1, false, true, false)),
        (vec![Fate::Ready], "<up>b", order(1, true, true, false)),
        (vec![foreign.clone()], "", order(1, true, false, false)),
        (vec![foreign.clone()], "b", order(1, true, true, false)),
        (vec![foreign.clone(), Fate::Ready], "o", order(1, true, true, true)),
        (vec![foreign.clone(), Fate::Ready], "<up><ret><down>", order(1, true, true, true)),
        (vec![foreign.clone(), Fate::Ready], "oo", order(1, true, true, false)),
        (vec![foreign, Fate::Ready], "oc", order(1, true, false, false)),
    ] {
        let mut model = chosen(&fates);
        assert_eq!(script(&mut model, "<ret>"), [], "{fates:?} {keys}");
        assert_eq!(script(&mut model, keys), [], "{fates:?} {keys}");
        assert_eq!(script(&mut model, "<ret>"), [effect], "{fates:?} {keys}");
        assert!(model.tab.modals.is_empty());
    }
}

#[test]
fn esc_goes_back_to_the_list_and_then_out() {
    let mut model = chosen(&[Fate::Ready]);
    assert_eq!(script(&mut model, "<ret><esc>"), []);
    assert!(modal(&mut model).is_some_and(|modal| modal.confirm.is_none()));
    assert_eq!(script(&mut model, "<esc>"), []);
    assert!(model.tab.modals.is_empty());
}

#[test]
fn undo_asks_only_when_more_than_the_conversation_changes() {
    let commands = RewindPreview {
        commands: vec![RanCommands { prompt: "two".into(), commands: vec!["make".into()] }],
        ..preview(5, &[])
    };
    for (preview, asks) in [(preview(5, &[]), false), (preview(5, &[Fate::Ready]), true), (commands, true)] {
        let mut model = ready();
        assert_eq!(script(&mut model, "/undo<ret>").last(), Some(&Effect::Load(LoadRequest::RewindPoints)));
        assert_eq!(list(&mut model, &[point(5, "two"), point(1, "one")]), [ask_for(5)]);
        let files = !preview.files.is_empty();
        let effects = see(&mut model, preview);
        if asks {
            assert_eq!(effects, []);
            assert_eq!(script(&mut model, "<ret>"), [order(5, true, files, false)]);
        } else {
            assert_eq!(effects, [order(5, true, false, false)]);
        }
        assert!(model.tab.modals.is_empty());
    }
}

#[test]
fn nothing_of_it_while_a_turn_runs_and_nothing_to_go_back_to_is_said() {
    let mut model = ready();
    update(&mut model, 0, Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 0 }));
    for keys in ["<C-x>u", "<C-x>U", "<C-x>R", "<C-x>F"] {
        let effects = script(&mut model, keys);
        assert!(
            !effects.iter().any(|effect| matches!(effect, Effect::Agent(_) | Effect::Load(_))),
            "{keys} {effects:?}"
        );
        assert!(model.notices.shown.last().is_some_and(|notice| notice.text.contains("stop it first")), "{keys}");
        assert!(model.tab.modals.is_empty());
    }
    let mut model = ready();
    script(&mut model, "<C-x>u");
    list(&mut model, &[]);
    assert!(model.tab.modals.is_empty() && !model.notices.shown.is_empty());
}

#[test]
fn redo_and_fork_are_orders() {
    let mut model = ready();
    assert!(script(&mut model, "/redo<ret>").contains(&Effect::Agent(AgentCommand::Redo)));
    opened(&mut model, "s", &["a prompt"]);
    let effects = script(&mut model, "/branch<ret>");
    let forks = |effect: &Effect| matches!(effect, Effect::Open { opens: Opens::Fork(of), .. } if of.0 == "s");
    assert!(effects.iter().any(forks), "{effects:?}");
    assert!(model.tab.opening, "what is typed from now on belongs to the copy");
}

fn back(prompt: Option<&str>, taken: Option<&str>, items: Vec<crate::protocol::Item>) -> Msg {
    let prompt = prompt.map(|text| (text.to_owned(), vec![]));
    Msg::Agent(AgentEvent::Rewound(Box::new(Rewound { items, prompt, taken: taken.map(str::to_owned) })))
}

#[test]
fn the_prompt_comes_back_and_a_redo_takes_it_out_again() {
    let mut model = ready();
    opened(&mut model, "s", &["one", "two"]);
    script(&mut model, "draft");
    update(&mut model, 0, back(Some("two"), None, vec![user(1, "one")]));
    assert_eq!(composer::text(&model.tab.composer), "two");
    assert_eq!(model.tab.composer.drafts, ["draft"]);
    assert_eq!(model.tab.transcript.cells.len(), 1);
    let note = item(3, Body::Note { kind: NoteKind::Info, text: "n".into() });
    update(&mut model, 0, back(None, Some("two"), vec![user(1, "one"), user(2, "two"), note]));
    assert_eq!((composer::text(&model.tab.composer).as_str(), model.tab.transcript.cells.len()), ("", 3));
    // A prompt that was worked on stays.
    update(&mut model, 0, back(Some("two"), None, vec![user(1, "one")]));
    script(&mut model, "!");
    update(&mut model, 0, back(None, Some("two"), vec![user(1, "one"), user(2, "two")]));
    assert_eq!(composer::text(&model.tab.composer), "two!");
}

#[test]
fn files_of_somebody_else_are_asked_about_by_name_and_not_at_once() {
    let asked = RewindOrder { item: ItemId(1), conversation: true, files: true, theirs: Theirs::Ask };
    let event = || {
        let files = vec!["src/a.rs".into(), "b\u{1b}[2J.rs".into()];
        Msg::Agent(AgentEvent::RewindAsks { order: asked, files })
    };
    for (keys, theirs) in [
        ("y<ret>", Some(Theirs::Overwrite)),
        ("n<ret>", Some(Theirs::Leave)),
        ("<ret>", Some(Theirs::Leave)),
        ("<esc>", None),
    ] {
        let mut model = ready();
        let effects = update(&mut model, 1000, event());
        assert!(effects.contains(&Effect::WakeAt(1400)), "it is drawn again once it answers: {effects:?}");
        let Some(Modal::Confirm(confirm)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        assert!(confirm.text.contains("src/a.rs") && !confirm.text.contains('\u{1b}'), "{}", confirm.text);
        script_at(&mut model, 1100, "y");
        assert_eq!(model.tab.modals.len(), 1, "what was being typed answers nothing");
        let effects = script_at(&mut model, 2000, keys);
        let wanted: Vec<Effect> = theirs
            .map(|theirs| Effect::Agent(AgentCommand::Rewind(RewindOrder { theirs, ..asked })))
            .into_iter()
            .collect();
        let orders: Vec<Effect> = effects.into_iter().filter(|effect| matches!(effect, Effect::Agent(_))).collect();
        assert_eq!(orders, wanted, "{keys}");
        assert!(model.tab.modals.is_empty());
    }
}

#[test]
fn pages_read_on_in_the_preview_and_a_frame_says_where_it_ends() {
    let mut model = chosen(&[Fate::Ready]);
    let scroll = |model: &mut Model| modal(model).map_or(0, |modal| modal.scroll);
    script(&mut model, "<pgdn><pgdn>");
    assert_eq!(scroll(&mut model), 16);
    assert_eq!(modal(&mut model).map(|modal| modal.selected), Some(1), "the list stands still");
    let layout = crate::app::model::layout::Layout { rest: Some(5), ..Default::default() };
    update(&mut model, 0, Msg::Drawn(Box::new(layout)));
    assert_eq!(scroll(&mut model), 5);
    script(&mut model, "<ret><pgup>");
    assert_eq!(scroll(&mut model), 0);
    script(&mut model, "<pgdn><esc><up>");
    assert_eq!(scroll(&mut model), 0, "another prompt is read from its start");
}

#[test]
fn enter_before_the_preview_goes_on_once_it_is_there() {
    let confirms = |model: &mut Model| modal(model).is_some_and(|modal| modal.confirm.is_some());
    // Before the list, and before the preview.
    for early in [true, false] {
        let mut model = ready();
        script(&mut model, "<C-x>u");
        if early {
            script(&mut model, "<ret>");
        }
        list(&mut model, &[point(5, "two"), point(1, "one")]);
        if !early {
            script(&mut model, "<ret>");
        }
        assert!(!confirms(&mut model));
        see(&mut model, preview(5, &[Fate::Ready]));
        assert!(confirms(&mut model), "{early}");
    }
    // Another prompt was chosen meanwhile.
    let mut model = ready();
    script(&mut model, "<C-x>u");
    list(&mut model, &[point(5, "two"), point(1, "one")]);
    script(&mut model, "<ret><down>");
    see(&mut model, preview(1, &[Fate::Ready]));
    assert!(!confirms(&mut model));
}

//! Every key of a modal can be another one: it does the same, the screen names it, and without a key nothing is said of it.

use super::fixture::{NOW, approval, busy, first_run, model, screen, with_terminal};
use super::lists;
use super::modals::modals;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::{composer, edit, focus};
use crate::app::model::modal::*;
use crate::app::model::{CopyMode, Model, Pane};
use crate::app::msg::Msg;
use crate::app::update;
use crate::config::keymap::{Binding, Context, Key, Keymap, display, parse};
use crate::exec::{Ask, AskId, ProcessId};
use crate::ui::ViewCache;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A key that nothing is bound to.
const UNUSUAL: &str = "f19";

/// One modal of each kind, at rest: none of them waits for quiet, and all there is was seen.
fn rested() -> Vec<(String, Model)> {
    let mut all: Vec<(String, Model)> = modals()
        .into_iter()
        .filter(|(_, model)| !model.tab.modals.is_empty())
        .map(|(name, model)| (name.into(), model))
        .collect();
    let command = "rm -rf build/".to_owned();
    let stages = [
        ("choosing", ApprovalStage::Choosing),
        ("confirming", ApprovalStage::Confirming),
        ("reason", ApprovalStage::Reason("not now".into())),
        ("editing", ApprovalStage::Editing(command.clone())),
        ("confirming-edit", ApprovalStage::ConfirmingEdit(command, Judged::Unknown)),
        ("yolo", ApprovalStage::ConfirmingYolo),
    ];
    for (name, stage) in stages {
        let mut model = approval();
        if let Some(Modal::Approval(modal)) = model.tab.modals.last_mut() {
            modal.stage = stage;
            modal.read.folded = name == "choosing";
            modal.selected = if name == "confirming" { ApprovalChoice::Session } else { ApprovalChoice::Once };
        }
        all.push((format!("approval-{name}"), model));
    }
    let mut model = busy();
    model.tab.modals = vec![Modal::Quit(QuitModal {
        rows: ["a", "b"]
            .map(|text| QuitRow { id: Some(ProcessId(text.into())), text: text.into(), can_stay: true, keep: false })
            .into(),
        selected: 0,
    })];
    all.push(("quit".into(), model));
    let mut model = busy();
    let (lines, selected) = (vec![crate::text::Line::default(); 90], PolicyChoice::Later);
    model.tab.modals =
        vec![Modal::PolicyChanged(Box::new(PolicyChangedModal { lines, scroll: 3, inert_until: 0, selected }))];
    all.push(("policy".into(), model));
    all.push(("trust".into(), lists::trust()));
    let mut model = busy();
    let ask = Ask {
        id: AskId(1),
        process: ProcessId("p".into()),
        command: "sudo x".into(),
        who: "sudo".into(),
        path: None,
        prompt: "password:".into(),
        masked: true,
        again: false,
        stranger: false,
    };
    update(&mut model, NOW, Msg::Process(crate::exec::ProcessEvent::Asks(ask)));
    all.push(("password".into(), model));
    for (_, model) in &mut all {
        match model.tab.modals.last_mut() {
            Some(Modal::Approval(modal)) => {
                (modal.inert_until, modal.read.begun, modal.read.whole) = (0, true, true);
            }
            Some(Modal::Question(modal)) => modal.inert_until = 0,
            Some(Modal::Trust(modal)) => modal.inert_until = 0,
            Some(Modal::PolicyChanged(modal)) => modal.inert_until = 0,
            Some(Modal::Confirm(modal)) => modal.inert_until = 0,
            Some(Modal::Input(modal)) => {
                (modal.inert_until, modal.busy) = (0, false);
                modal.text = "words of mine".into();
                modal.cursor = 5;
            }
            Some(Modal::Picker(picker)) => picker.items.iter_mut().for_each(|item| item.hint.clear()),
            _ => {}
        }
    }
    all
}

/// The same modal again.
fn named(name: &str) -> Model {
    rested().into_iter().find(|(known, _)| known == name).map(|(_, model)| model).expect("a modal of this name")
}

fn context(model: &Model) -> Context {
    focus::modal_context(model.tab.modals.last().expect("a modal"))
}

/// What can be done in a modal, and a key that does it.
fn bound(model: &Model) -> Vec<(Context, String, Key)> {
    let own = context(model);
    let writes = focus::writes(model.tab.modals.last().expect("a modal"));
    let types = |key: Key| edit::printable(key).is_some();
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for binding in &model.keymap.bindings {
        let field = writes && binding.context == Context::Field && own != Context::Field;
        let edits = Action::from_name(&binding.action).is_some_and(|action| edit::Edit::of(action).is_some());
        let [key] = binding.keys[..] else { continue };
        let taken = field && model.keymap.bindings.iter().any(|other| other.context == own && other.keys == [key]);
        let counts = binding.context == own || (field && edits && !taken);
        if counts && !(writes && types(key)) && seen.insert(binding.action.clone()) {
            out.push((binding.context, binding.action.clone(), key));
        }
    }
    out
}

/// The keymap with one action on other keys.
fn rebound(keymap: &Keymap, context: Context, action: &str, keys: Option<&str>) -> Arc<Keymap> {
    let mut keymap = keymap.clone();
    keymap.bindings.retain(|binding| binding.context != context || binding.action != action);
    keymap.bindings.extend(keys.map(|keys| Binding { context, keys: parse(keys).unwrap(), action: action.into() }));
    Arc::new(keymap)
}

fn press(model: &mut Model, key: Key) -> Vec<Effect> {
    let now = model.now;
    update(model, now, Msg::Key(key))
}

fn shown(model: &Model) -> String {
    screen(model, &mut ViewCache::default(), 140, 45).0
}

/// All that a key can change in a modal.
fn state(model: &Model) -> String {
    let composer = composer::text(&model.tab.composer);
    // A letter that does nothing is noted, so that the edge of the card can say what to press; a function key is not.
    let modals = format!("{:?}", model.tab.modals).replace("stray: true", "stray: false");
    format!("{modals} {composer:?} {:?} {:?} {:?}", model.tab.approvals, model.first_run, model.tab.focus)
}

#[test]
fn every_action_of_a_modal_has_the_key_that_it_is_given() {
    let [unusual, idle] = [UNUSUAL, "f20"].map(|key| parse(key).unwrap()[0]);
    let mut walked = 0;
    for (name, model) in rested() {
        for (context, action, key) in bound(&model) {
            let mut usual = named(&name);
            let mut other = named(&name);
            other.keymap = rebound(&other.keymap, context, &action, Some(UNUSUAL));
            let at = format!("{name}: {action} on {} and {UNUSUAL}", display(&[key]));
            assert_eq!(press(&mut other, unusual), press(&mut usual, key), "{at}");
            assert_eq!(state(&other), state(&usual), "{at}");
            // What it was on before means no more than a key that means nothing. Where text is edited it may move in that.
            let edits = context != Context::Field && focus::writes(model.tab.modals.last().expect("a modal"));
            let letter = edit::printable(key).is_some();
            if !edits && !letter && name != "approval-confirming-edit" {
                let mut before = named(&name);
                before.keymap = rebound(&before.keymap, context, &action, Some(UNUSUAL));
                let mut nothing = named(&name);
                assert_eq!(press(&mut before, key), press(&mut nothing, idle), "{at}: the old key");
                assert_eq!(state(&before), state(&nothing), "{at}: the old key");
            }
            walked += 1;
        }
    }
    assert!(walked > 150, "{walked} actions were tried");
}

#[test]
fn what_the_screen_says_of_a_key_is_what_the_keymap_has() {
    let mut named_keys = BTreeSet::new();
    for (name, model) in rested() {
        let usual = shown(&model);
        for (context, action, _) in bound(&model) {
            let with = |keys| {
                let mut model = named(&name);
                model.keymap = rebound(&model.keymap, context, &action, keys);
                shown(&model)
            };
            let says = with(Some(UNUSUAL)).contains("F19");
            assert_eq!(says, with(None) != usual, "{name}: {action}");
            if says {
                named_keys.insert(format!("{} {action}", context.name()));
            }
        }
    }
    for known in [
        "approval accept",
        "approval allow-always",
        "approval allow-once",
        "approval allow-session",
        "approval close",
        "approval deny",
        "approval edit-command",
        "approval switch",
        "approval unfold",
        "field accept",
        "field close",
        "modal close",
        "modal no",
        "modal scroll-up",
        "modal yes",
        "picker accept",
        "picker next",
        "policy keep-policy",
        "policy take-policy",
        "question choose-2",
        "question close",
        "quit keep-all",
        "quit keep-process",
        "rewind rewind-both",
        "rewind scroll-down",
        "sessions delete-session",
        "sessions here",
    ] {
        assert!(named_keys.contains(known), "{known} is nowhere on the screen: {named_keys:?}");
    }
}

/// Words that name a key, wherever they stand alone.
const KEYS: [&str; 12] =
    ["Enter", "Esc", "Tab", "Shift-Tab", "Space", "Del", "PgUp", "PgDn", "Home", "↑↓", "(End)", "hjkl"];

#[test]
fn without_keys_no_screen_names_one() {
    let mut states: Vec<(String, Model)> = rested();
    states.extend(
        [("empty", model()), ("first-run", first_run()), ("terminal", with_terminal())]
            .map(|(name, model)| (name.to_owned(), model)),
    );
    let mut reading = busy();
    reading.tab.focus = Pane::Conversation;
    states.push(("reading".into(), reading));
    let mut copying = busy();
    copying.tab.focus = Pane::Conversation;
    copying.tab.copy_mode = Some(CopyMode::default());
    states.push(("copying".into(), copying));
    for (name, mut model) in states {
        model.keymap = Arc::new(Keymap::default());
        for (columns, rows) in [(140, 45), (60, 20)] {
            let text = screen(&model, &mut ViewCache::default(), columns, rows).0;
            let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || ",;·".contains(c)).collect();
            let found = KEYS.iter().find(|key| words.contains(key));
            let ctrl = words.iter().find(|word| word.starts_with("Ctrl-") || word.starts_with("Alt-"));
            assert_eq!((found, ctrl), (None, None), "{name}\n{text}");
        }
    }
}

#[test]
fn nothing_is_answered_before_the_quiet_whatever_the_keys_are() {
    for (action, key) in [("allow-once", "f19"), ("accept", "f19"), ("deny", "f19"), ("close", "f19")] {
        let mut model = approval();
        model.keymap = rebound(&model.keymap, Context::Approval, action, Some(key));
        let before = model.tab.modals.len();
        let effects = press(&mut model, parse(key).unwrap()[0]);
        let Some(Modal::Approval(modal)) = model.tab.modals.last() else { panic!("{action}: it is gone") };
        assert_eq!((&modal.stage, modal.selected), (&ApprovalStage::Choosing, ApprovalChoice::Deny), "{action}");
        let answers = effects.iter().any(|effect| matches!(effect, Effect::Agent(_)));
        assert_eq!((answers, model.tab.modals.len()), (false, before), "{action}: {effects:?}");
    }
}

#[test]
fn a_yes_takes_a_second_key_and_all_of_it_on_the_screen() {
    let keys = |model: &Model| {
        let once = rebound(&model.keymap, Context::Approval, "allow-once", Some("f19"));
        rebound(&once, Context::Approval, "accept", Some("f20"))
    };
    let [yes, enter] = ["f19", "f20"].map(|key| parse(key).unwrap()[0]);
    let mut model = named("approval-choosing");
    model.keymap = keys(&model);
    assert_eq!(press(&mut model, yes), press(&mut named("approval-choosing"), parse("y").unwrap()[0]));
    let answers = press(&mut model, enter);
    assert!(format!("{answers:?}").contains("Decide(ApprovalId(1), Once)"), "{answers:?}");
    let mut unread = named("approval-choosing");
    unread.keymap = keys(&unread);
    if let Some(Modal::Approval(modal)) = unread.tab.modals.last_mut() {
        modal.read.whole = false;
    }
    for key in [yes, enter] {
        let effects = press(&mut unread, key);
        assert!(!format!("{effects:?}").contains("Decide"), "it was not on the screen: {effects:?}");
    }
}

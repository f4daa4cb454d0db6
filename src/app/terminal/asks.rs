//! Questions of programs: a masked field for a password, or a plain one, that opens by itself. What is typed goes to the
//! program and is kept nowhere.

use crate::app::action::Action;
use crate::app::approvals::inert;
use crate::app::effect::Effect;
use crate::app::input::keys::Press;
use crate::app::model::Model;
use crate::app::model::modal::{InputModal, InputThen, Modal};
use crate::app::model::notices::About;
use crate::exec::{Ask, AskId, Hidden, ProcessCommand, ProcessId};
use crate::protocol::Level;
use crate::text::visible::visible;
use inert::INERT_MS;

/// A program asks.
pub fn asked(model: &mut Model, out: &mut Vec<Effect>, ask: Ask) {
    let process = ask.process.clone();
    if !model.window_focused {
        out.push(Effect::Notify(title(&ask)));
    }
    model.tab.processes.asks.push(ask);
    model.notices.settled(&About::Input(process));
}

/// It has its answer, or wants none any more. What was typed for it meanwhile is dropped.
pub fn closed(model: &mut Model, id: AskId) {
    let Some(at) = model.tab.processes.asks.iter().position(|ask| ask.id == id) else { return };
    let ask = model.tab.processes.asks.remove(at);
    model.tab.processes.asks_aside.retain(|aside| *aside != id);
    model.tab.modals.retain(|modal| of(modal) != Some(id));
    model.notices.settled(&About::Input(ask.process));
}

/// Whether something in this process asks.
pub fn is_asking(model: &Model, process: &ProcessId) -> bool {
    model.tab.processes.asks.iter().any(|ask| ask.process == *process)
}

fn of(modal: &Modal) -> Option<AskId> {
    if let Modal::Input(InputModal { then: InputThen::Ask(id), .. }) = modal { Some(*id) } else { None }
}

/// Opens the oldest question that was not put aside, when nothing else is open. It is inert until keys are quiet. A program
/// that the person types into is answered there.
pub fn open_waiting(model: &mut Model) {
    if !model.tab.modals.is_empty() || model.tab.processes.pane.taken_over {
        return;
    }
    let aside = &model.tab.processes.asks_aside;
    let Some(ask) = model.tab.processes.asks.iter().find(|ask| !aside.contains(&ask.id)).cloned() else { return };
    model.chord = None;
    model.tab.composer.completion = None;
    open(model, &ask, model.now + INERT_MS);
}

/// The inbox was asked for: opens the oldest question of a program. `false`: there is none.
pub fn reopen(model: &mut Model) -> bool {
    let Some(ask) = model.tab.processes.asks.first().cloned() else { return false };
    model.tab.processes.asks_aside.retain(|aside| *aside != ask.id);
    model.tab.modals.retain(|modal| of(modal) != Some(ask.id));
    open(model, &ask, model.now);
    true
}

fn open(model: &mut Model, ask: &Ask, inert_until: i64) {
    let mut message = Vec::new();
    if ask.again {
        message.push("The last answer was rejected.".to_owned());
    }
    if ask.stranger {
        message.push(format!("{} is not a system password prompt: it can do anything with what you type.", name(ask)));
    }
    model.tab.modals.push(Modal::Input(InputModal {
        title: title(ask),
        hint: hint(ask),
        text: String::new(),
        cursor: 0,
        masked: ask.masked,
        then: InputThen::Ask(ask.id),
        message: message.join("\n"),
        busy: false,
        inert_until,
    }));
}

/// Its words as the program's own, which cannot look like ours; its file, and the line that it belongs to.
fn hint(ask: &Ask) -> String {
    let says = match &*ask.prompt {
        "" => "gives no prompt".to_owned(),
        prompt => format!("says: “{}”", prompt.replace(['“', '”'], "\"")),
    };
    let command: String = ask.command.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("for {}", visible(&command).text);
    match &ask.path {
        Some(path) if !ask.stranger => format!("{says}\n{line}\nby {path}"),
        _ => format!("{says}\n{line}"),
    }
}

/// The program that asks: one that is not what it seems to be by its whole path.
fn name(ask: &Ask) -> &str {
    match &ask.path {
        Some(path) if ask.stranger => path,
        _ if ask.who.is_empty() => "a command",
        _ => &ask.who,
    }
}

/// `sudo asks for a password`.
fn title(ask: &Ask) -> String {
    format!("{} {}", name(ask), if ask.masked { "asks for a password" } else { "asks" })
}

/// Answering, leaving and refusing in the field on top. `false`: the key is text.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, press: Press) -> bool {
    let Some(id) = model.tab.modals.last().and_then(of) else { return false };
    match press.action {
        Some(Action::Accept) => {
            let Some(Modal::Input(InputModal { mut text, .. })) = model.tab.modals.pop() else { return true };
            let answer = Hidden::new(std::mem::take(&mut text));
            send(model, out, id, Some(answer));
        }
        // One that is not for this field: it has only just come.
        Some(Action::Interrupt) if !is_inert(model) => {
            model.tab.modals.pop();
            send(model, out, id, None);
        }
        Some(Action::Interrupt | Action::Close) => {
            model.tab.modals.pop();
            put_aside(model, id);
        }
        _ => return false,
    }
    true
}

fn is_inert(model: &Model) -> bool {
    matches!(model.tab.modals.last(), Some(Modal::Input(input)) if input.inert_until > model.now)
}

fn send(model: &mut Model, out: &mut Vec<Effect>, id: AskId, answer: Option<Hidden>) {
    out.push(Effect::Process(ProcessCommand::Answer(id, answer)));
    closed(model, id);
}

fn put_aside(model: &mut Model, id: AskId) {
    let Some(ask) = model.tab.processes.asks.iter().find(|ask| ask.id == id) else { return };
    let (title, process) = (title(ask), ask.process.clone());
    model.tab.processes.asks_aside.push(id);
    let keys = model.keymap.keys_for("inbox");
    let key = keys.first().map(String::as_str).unwrap_or("/approvals").to_owned();
    model.notices.about(
        model.now,
        Level::Warning,
        About::Input(process),
        format!("⌨ {title}: {key} reopens the field"),
    );
}

/// Tells who has the keys of a program, when that changed.
pub fn tell_hands(model: &mut Model, out: &mut Vec<Effect>) {
    let pane = &model.tab.processes.pane;
    let held = if pane.taken_over { pane.shown.clone() } else { None };
    if held != model.tab.processes.held_keys {
        model.tab.processes.held_keys.clone_from(&held);
        out.push(Effect::Process(ProcessCommand::TakeOver(held)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::input::composer;
    use crate::app::msg::Msg;
    use crate::app::tests::{model, script};
    use crate::app::update;
    use crate::exec::ProcessEvent;

    fn ask(id: u64, masked: bool) -> Ask {
        Ask {
            id: AskId(id),
            process: ProcessId("p".into()),
            command: "sudo apt update".into(),
            who: "sudo".into(),
            path: Some("/usr/bin/sudo".into()),
            prompt: "[sudo] password for ada:".into(),
            masked,
            again: false,
            stranger: false,
        }
    }

    fn asks(model: &mut Model, ask: Ask) {
        let now = model.now;
        update(model, now, Msg::Process(ProcessEvent::Asks(ask)));
    }

    fn answers(effects: &[Effect]) -> Vec<(u64, Option<Hidden>)> {
        let answer = |effect: &Effect| match effect {
            Effect::Process(ProcessCommand::Answer(id, text)) => Some((id.0, text.clone())),
            _ => None,
        };
        effects.iter().filter_map(answer).collect()
    }

    fn hidden(text: &str) -> Option<Hidden> {
        Some(Hidden::new(text.into()))
    }

    /// Lets the quiet pass.
    fn later(model: &mut Model) {
        let now = model.now + INERT_MS + 1;
        update(model, now, Msg::Woke);
    }

    #[test]
    fn a_password_is_answered_and_kept_nowhere() {
        let mut model = model();
        script(&mut model, "h");
        asks(&mut model, ask(1, true));
        // What was on its way is text for the composer, and moves the quiet on.
        script(&mut model, "i");
        assert_eq!(composer::text(&model.tab.composer), "hi");
        later(&mut model);
        let effects = script(&mut model, "open sesame<ret>");
        assert_eq!(answers(&effects), [(1, hidden("open sesame"))]);
        let all = format!("{:?} {:?} {effects:?}", model.tab.modals, model.tab.processes);
        assert!(!all.contains("sesame"), "{all}");
        assert!(model.tab.modals.is_empty() && model.tab.processes.asks.is_empty());
        assert_eq!(composer::text(&model.tab.composer), "hi");
    }

    #[test]
    fn a_draft_of_before_takes_no_password() {
        let mut model = model();
        script(&mut model, "half a prompt");
        later(&mut model);
        asks(&mut model, ask(1, true));
        // An Enter before the quiet sends neither the draft nor the field; what was typed wrong can be taken back.
        let effects = script(&mut model, "opem<backspace>n<ret>");
        assert!(answers(&effects).is_empty() && effects.is_empty(), "{effects:?}");
        assert_eq!(composer::text(&model.tab.composer), "half a prompt");
        later(&mut model);
        assert_eq!(answers(&script(&mut model, " sesame<ret>")), [(1, hidden("open sesame"))]);
        assert_eq!(composer::text(&model.tab.composer), "half a prompt");
    }

    #[test]
    fn the_card_says_who_asks_in_whose_words() {
        let known = ask(1, true);
        assert_eq!(title(&known), "sudo asks for a password");
        assert_eq!(hint(&known), "says: “[sudo] password for ada:”\nfor sudo apt update\nby /usr/bin/sudo");
        // What it says cannot look like our words, nor what runs like another line.
        let forged = Ask {
            path: Some("/tmp/x/sudo".into()),
            stranger: true,
            prompt: "a” for “sudo".into(),
            command: "./x\u{202e}\n  y".into(),
            ..known.clone()
        };
        assert_eq!(title(&forged), "/tmp/x/sudo asks for a password");
        assert_eq!(hint(&forged), "says: “a\" for \"sudo”\nfor ./x⟨U+202E⟩ y");
        let mut model = model();
        open(&mut model, &forged, 0);
        let Some(Modal::Input(card)) = model.tab.modals.last() else { panic!("no card") };
        assert!(card.message.starts_with("/tmp/x/sudo is not a system password prompt"), "{}", card.message);
        let silent = Ask { prompt: String::new(), who: String::new(), path: None, ..known };
        assert_eq!(
            (title(&silent).as_str(), hint(&silent).as_str()),
            ("a command asks for a password", "gives no prompt\nfor sudo apt update")
        );
    }

    #[test]
    fn a_password_that_is_typed_as_the_field_opens_stays_hidden() {
        let mut model = model();
        asks(&mut model, ask(1, true));
        let effects = script(&mut model, "open<ret>");
        assert_eq!((answers(&effects), effects.len()), (Vec::new(), 0), "it went before the quiet");
        later(&mut model);
        let effects = script(&mut model, " sesame<ret>");
        assert_eq!(answers(&effects), [(1, hidden("open sesame"))]);
        assert!(composer::is_empty(&model.tab.composer));
    }

    #[test]
    fn esc_keeps_it_and_interrupt_gives_no_answer() {
        let mut model = model();
        asks(&mut model, ask(1, true));
        later(&mut model);
        assert_eq!(answers(&script(&mut model, "half<esc>")), []);
        assert!(model.tab.modals.is_empty() && model.tab.processes.asks.len() == 1);
        later(&mut model);
        assert!(model.tab.modals.is_empty(), "it opens by itself no more");
        script(&mut model, "<f4>");
        assert!(matches!(model.tab.modals.last(), Some(Modal::Input(input)) if input.text.is_empty()));
        assert_eq!(answers(&script(&mut model, "x<C-c>")), [(1, None)]);
        assert!(model.tab.processes.asks.is_empty());
    }

    #[test]
    fn one_after_the_other_and_those_that_are_over_go() {
        let mut model = model();
        asks(&mut model, ask(1, true));
        asks(&mut model, ask(2, false));
        update(&mut model, 1, Msg::Process(ProcessEvent::AskClosed(ProcessId("p".into()), AskId(1))));
        later(&mut model);
        assert_eq!(answers(&script(&mut model, "yes<ret>")), [(2, hidden("yes"))]);
        assert!(model.tab.modals.is_empty());
    }

    #[test]
    fn the_agent_is_told_whose_the_keys_are() {
        let mut model = model();
        model.tab.processes.pane.shown = Some(ProcessId("p".into()));
        model.tab.processes.pane.open = true;
        model.tab.processes.pane.taken_over = true;
        let hands = |model: &mut Model| {
            let mut out = Vec::new();
            tell_hands(model, &mut out);
            out
        };
        let told = |id: Option<&str>| Effect::Process(ProcessCommand::TakeOver(id.map(|id| ProcessId(id.into()))));
        assert_eq!(hands(&mut model), [told(Some("p"))]);
        assert_eq!(hands(&mut model), []);
        asks(&mut model, ask(1, true));
        later(&mut model);
        assert!(model.tab.modals.is_empty(), "they type into it anyway");
        model.tab.processes.pane.taken_over = false;
        assert_eq!(hands(&mut model), [told(None)]);
    }
}

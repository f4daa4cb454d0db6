//! Find in the output of the shown command: `/`, then `n` up and `N` down, through memory and the log file.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::hint;
use crate::app::model::modal::{InputModal, InputThen, Modal};
use crate::app::model::processes::Seek;
use crate::app::model::{Model, Pane};
use crate::app::terminal::taking_over;
use crate::config::keymap::Context;
use crate::exec::{Hit, ProcessCommand, ProcessId, Way};
use crate::protocol::Level;

/// Whether a search is in the terminal pane.
pub fn here(model: &Model) -> bool {
    model.tab.focus == Pane::Terminal && model.tab.processes.pane.open && model.tab.processes.pane.shown.is_some()
}

/// Asks for the words.
pub fn open(model: &mut Model) {
    let text = model.tab.processes.pane.find.as_ref().map(|find| find.words.clone()).unwrap_or_default();
    let key = |action| hint::key_in(model, Context::Terminal, action);
    let hint = hint::sentence(&[
        (hint::field(model, Action::Accept), "goes to the newest line with it"),
        (key(Action::FindNext), "up"),
        (key(Action::FindPrevious), "down"),
    ]);
    model.tab.modals.push(Modal::Input(InputModal {
        title: "Find in the output".into(),
        hint,
        cursor: text.chars().count(),
        text,
        masked: false,
        then: InputThen::Seek,
        message: String::new(),
        busy: false,
        inert_until: 0,
    }));
}

/// Goes to the newest line with these words.
pub fn begin(model: &mut Model, out: &mut Vec<Effect>, words: String) {
    taking_over::follow(model, out);
    if words.is_empty() {
        return;
    }
    model.tab.processes.pane.find = Some(Seek { words, hit: None });
    step(model, out, Way::Up);
}

/// Goes to the next line with the words: up, or down again.
pub fn step(model: &mut Model, out: &mut Vec<Effect>, way: Way) {
    let pane = &mut model.tab.processes.pane;
    match (&pane.find, &pane.shown) {
        (Some(find), Some(id)) => {
            pane.touched = true;
            out.push(Effect::Process(ProcessCommand::Find(id.clone(), find.words.clone(), way)));
        }
        _ => open(model),
    }
}

/// The answer: which line it is, if there was another one.
pub fn found(model: &mut Model, id: &ProcessId, hit: Option<Hit>) {
    let pane = &mut model.tab.processes.pane;
    let Some(find) = pane.find.as_mut().filter(|_| pane.shown.as_ref() == Some(id)) else { return };
    if hit.is_some() {
        find.hit = hit;
        return;
    }
    let none = if pane.screen.as_ref().is_some_and(|screen| screen.alternate) {
        "full-screen programs have no output to search".to_owned()
    } else {
        format!("no other match for \"{}\"", find.words)
    };
    model.notices.add(model.now, Level::Info, none);
}

/// Forgets what is looked for where the focus is; the view stays where it is. Whether anything was.
pub fn leave(model: &mut Model) -> bool {
    model.tab.focus == Pane::Terminal && model.tab.processes.pane.find.take().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::Msg;
    use crate::app::tests::{process, ready, script};
    use crate::app::update;
    use crate::exec::ProcessEvent;

    #[test]
    fn words_are_looked_for_where_the_focus_is() {
        let mut model = ready();
        update(&mut model, 0, Msg::Process(ProcessEvent::Started(process("a", true))));
        script(&mut model, "<C-t>");
        model.tab.focus = Pane::Terminal;
        let find = |way| Effect::Process(ProcessCommand::Find(ProcessId("a".into()), "err".into(), way));
        assert!(script(&mut model, "/err<ret>").contains(&find(Way::Up)));
        assert!(script(&mut model, "n").contains(&find(Way::Up)));
        assert!(script(&mut model, "N").contains(&find(Way::Down)));
        assert_eq!(model.tab.transcript.find, None, "the conversation is left alone");
        let hit = Hit { nth: 3, of: 17 };
        update(&mut model, 0, Msg::Process(ProcessEvent::Found(ProcessId("a".into()), Some(hit))));
        assert_eq!(model.tab.processes.pane.find.as_ref().and_then(|find| find.hit), Some(hit));
        update(&mut model, 0, Msg::Process(ProcessEvent::Found(ProcessId("a".into()), None)));
        assert!(model.notices.shown.iter().any(|notice| notice.text.contains("no other match")));
        script(&mut model, "G");
        assert_eq!(model.tab.processes.pane.find, None, "at the end it is forgotten");
        script(&mut model, "/err<ret><esc>");
        assert_eq!(
            (model.tab.processes.pane.find.clone(), model.tab.focus),
            (None, Pane::Terminal),
            "the search alone"
        );
        script(&mut model, "<esc>");
        assert_eq!(model.tab.focus, Pane::Composer);
    }
}

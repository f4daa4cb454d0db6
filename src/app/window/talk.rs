//! Windows that talk: what another program wants of this window. A person gets what they ask for; what a command of an agent
//! wants needs a yes.

use crate::app::approvals::inert;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::model::modal::{Confirm, ConfirmThen, Modal};
use crate::app::session::tabs;
use crate::protocol::{SessionId, WindowRequest, WindowSays};

/// Counts up within a run of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AskedId(pub u64);

/// What is said to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The engine carries it out.
    CarryOut,
    /// It is done already.
    Done,
    /// Why not.
    Refuse(String),
}

/// A request came. `by`: the command of an agent that wants it.
pub fn asked(model: &mut Model, out: &mut Vec<Effect>, id: AskedId, request: WindowRequest, by: Option<String>) {
    let Some(command) = by else { return allowed(model, out, id, request) };
    let text = format!("{}\n\nThe command: {command}", wants(model, &request));
    let mut confirm =
        Confirm::new("A command talks to this window", text, "Allow once", ConfirmThen::Allow(id, Box::new(request)));
    confirm.no = Some(("Refuse".into(), ConfirmThen::Refuse(id)));
    confirm.inert_until = model.now + inert::INERT_MS;
    model.tab.modals.push(Modal::Confirm(confirm));
}

/// A person wants it, or said yes to it.
pub fn allowed(model: &mut Model, out: &mut Vec<Effect>, id: AskedId, request: WindowRequest) {
    let word = if let WindowRequest::Focus(session) = &request { focus(model, out, session) } else { Word::CarryOut };
    out.push(Effect::Window(id, word));
}

/// The person said no.
pub fn refused(out: &mut Vec<Effect>, id: AskedId) {
    out.push(Effect::Window(id, Word::Refuse("the user of that window refused".into())));
}

fn focus(model: &mut Model, out: &mut Vec<Effect>, session: &SessionId) -> Word {
    let found = model.tabs().find(|tab| tab.of.as_ref() == Some(session)).map(|tab| tab.id);
    match found {
        Some(tab) => {
            tabs::show(model, out, tab);
            Word::Done
        }
        None => Word::Refuse("this session is not open there".into()),
    }
}

/// What a request means, in words.
fn wants(model: &Model, request: &WindowRequest) -> String {
    let name = |id: &SessionId| {
        let tab = model.tabs().find(|tab| tab.of.as_ref() == Some(id));
        tab.map_or_else(|| id.0.clone(), |tab| tab.name())
    };
    match request {
        WindowRequest::List => "It wants the list of your sessions, with what waits in them.".into(),
        WindowRequest::Status => "It wants to know what this window does.".into(),
        WindowRequest::Focus(session) => format!("It wants to show {}.", name(session)),
        WindowRequest::Ask { session, text, .. } => format!("It wants to give {} this prompt:\n{text}", name(session)),
        WindowRequest::Answer { session, says, .. } => {
            let what = match says {
                WindowSays::Allow => "allow a call".to_owned(),
                WindowSays::Deny(_) => "deny a call".to_owned(),
                WindowSays::Text(text) => format!("answer a question with “{text}”"),
            };
            format!("It wants to {what} in {}.", name(session))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Msg;
    use crate::app::tests::{ready, script_at};
    use crate::app::update;
    use crate::protocol::Opens;

    fn words(effects: &[Effect]) -> Vec<Word> {
        let word = |effect: &Effect| if let Effect::Window(_, word) = effect { Some(word.clone()) } else { None };
        effects.iter().filter_map(word).collect()
    }

    #[test]
    fn a_person_goes_to_a_tab_and_a_command_needs_a_yes() {
        let mut model = ready();
        let first = model.tab.of.clone().expect("a session");
        tabs::open(&mut model, &mut Vec::new(), Opens::New);
        let shown = model.tab.id;
        let focus = WindowRequest::Focus(first.clone());
        let effects = update(&mut model, 1, Msg::Window(AskedId(1), focus.clone(), None));
        assert_eq!((words(&effects), model.tab.of.as_ref()), (vec![Word::Done], Some(&first)));
        let nowhere = WindowRequest::Focus("x".into());
        assert!(matches!(words(&update(&mut model, 1, Msg::Window(AskedId(2), nowhere, None)))[..], [Word::Refuse(_)]));
        tabs::show(&mut model, &mut Vec::new(), shown);

        let no = Word::Refuse("the user of that window refused".into());
        for (at, keys, want) in [(10_000, "y<ret>", Word::Done), (20_000, "<ret>", no)] {
            tabs::show(&mut model, &mut Vec::new(), shown);
            let command = Some("python3 steer.py".to_owned());
            let effects = update(&mut model, at, Msg::Window(AskedId(3), focus.clone(), command));
            assert_eq!((words(&effects), model.tab.id), (vec![], shown), "nothing happens before a yes");
            assert_eq!(words(&script_at(&mut model, at + 5_000, keys)), [want]);
        }
        assert_eq!(model.tab.id, shown);
    }
}

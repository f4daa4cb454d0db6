//! Windows that talk: what another program wants of this window. A person gets what they ask for; what a command of an agent
//! wants needs a yes.

use crate::app::approvals::inert;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::model::modal::{Confirm, ConfirmThen, Modal};
use crate::app::model::tab::Tab;
use crate::app::session::tabs;
use crate::protocol::{SessionId, WindowRequest};
use crate::text::visible::visible;

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

/// Requests of commands that wait for a person at most; more are refused.
const MAX_WAITING: usize = 4;
/// Characters of a prompt that a command may give: what is allowed is read in full.
const MAX_PROMPT: usize = 300;
/// Milliseconds after which whoever asked has left.
const PATIENCE_MS: i64 = 60_000;

/// What a command of an agent wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    pub id: AskedId,
    pub request: WindowRequest,
    pub command: String,
    /// When it came, in milliseconds since the epoch.
    pub at: i64,
}

/// A request came. `by`: the command of an agent that wants it.
pub fn asked(model: &mut Model, out: &mut Vec<Effect>, id: AskedId, request: WindowRequest, by: Option<String>) {
    let Some(command) = by else { return allowed(model, out, id, request) };
    let refuse = |why: &str| Effect::Window(id, Word::Refuse(why.into()));
    if model.wishes.len() >= MAX_WAITING {
        return out.push(refuse("too many commands wait for an answer there"));
    }
    if matches!(&request, WindowRequest::Ask { text, .. } if text.chars().count() > MAX_PROMPT) {
        return out.push(refuse("a command may give a prompt of at most 300 characters"));
    }
    model.wishes.push(Wish { id, request, command, at: model.now });
}

/// Shows the oldest wish, once nothing else is open; those whose command has left go.
pub fn open_waiting(model: &mut Model) {
    let now = model.now;
    model.wishes.retain(|wish| now - wish.at < PATIENCE_MS);
    let ids: Vec<AskedId> = model.wishes.iter().map(|wish| wish.id).collect();
    let left = |modal: &Modal| matches!(modal, Modal::Confirm(Confirm { then: ConfirmThen::Allow(id, _), .. }) if !ids.contains(id));
    for tab in model.parked.iter_mut().chain(std::iter::once(&mut model.tab)) {
        tab.modals.retain(|modal| !left(modal));
    }
    let is_shown = |tab: &Tab| {
        tab.modals.iter().any(|modal| matches!(modal, Modal::Confirm(Confirm { then: ConfirmThen::Allow(..), .. })))
    };
    if !model.tab.modals.is_empty() || model.tab.processes.pane.taken_over || model.parked.iter().any(is_shown) {
        return;
    }
    let Some(wish) = model.wishes.first().cloned() else { return };
    model.chord = None;
    model.tab.composer.completion = None;
    let shown = |text: &str| visible(text).text;
    let text = format!("The command: {}\n\n{}", shown(&wish.command), shown(&wants(model, &wish.request)));
    let then = ConfirmThen::Allow(wish.id, Box::new(wish.request));
    let mut confirm = Confirm::new("A command talks to this window", text, "Allow once", then);
    confirm.no = Some(("Refuse".into(), ConfirmThen::Refuse(wish.id)));
    confirm.inert_until = model.now + inert::INERT_MS;
    model.tab.modals.push(Modal::Confirm(confirm));
}

/// A person wants it, or said yes to it.
pub fn allowed(model: &mut Model, out: &mut Vec<Effect>, id: AskedId, request: WindowRequest) {
    model.wishes.retain(|wish| wish.id != id);
    let word = match &request {
        WindowRequest::Focus(session) => focus(model, out, session),
        WindowRequest::List | WindowRequest::Status | WindowRequest::Ask { .. } | WindowRequest::Answer { .. } => {
            Word::CarryOut
        }
    };
    out.push(Effect::Window(id, word));
}

/// Whoever asked has left.
pub fn gone(model: &mut Model, id: AskedId) {
    model.wishes.retain(|wish| wish.id != id);
}

/// The person said no.
pub fn refused(model: &mut Model, out: &mut Vec<Effect>, id: AskedId) {
    model.wishes.retain(|wish| wish.id != id);
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
        WindowRequest::Answer { session, .. } => format!("It wants to answer a question of {}.", name(session)),
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

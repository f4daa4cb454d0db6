//! Two sessions in one checkout: before the second one's first prompt, a card offers to go on, to work in a worktree, or to
//! change nothing. A window asks once about a checkout.

use super::{sessions, tabs, turn};
use crate::app::approvals::inert::INERT_MS;
use crate::app::approvals::mode;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::{composer, drafts};
use crate::app::lists::pickers;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::tab::Neighbours;
use crate::protocol::Level;

/// The values of the rows.
const GO_ON: &str = "go-on";
const WORKTREE: &str = "worktree";
const READ_ONLY: &str = "read-only";

/// Asks who else works in the checkout of a session in which nothing was said yet.
pub fn look(model: &Model, out: &mut Vec<Effect>) {
    if model.tab.session.is_some() && model.tab.transcript.cells.is_empty() {
        let from = model.tab.from.filter(|from| from.replaces);
        let except = from.and_then(|from| model.tabs().find(|tab| tab.id == from.tab)?.of.clone());
        out.push(Effect::Load(LoadRequest::Neighbours { except }));
    }
}

/// Who else works there.
pub fn found(model: &mut Model, neighbours: Option<Neighbours>) {
    model.tab.neighbours = neighbours.filter(|found| !found.names.is_empty());
}

/// Before the first prompt: whether the card is shown instead of sending it.
pub fn asks(model: &mut Model) -> bool {
    if !model.tab.transcript.cells.is_empty() {
        return false;
    }
    let Some(found) = &model.tab.neighbours else { return false };
    if model.shared_checkouts.contains(&found.checkout) {
        return false;
    }
    let who = match &found.names[..] {
        [one] => format!("“{one}” is also open"),
        names => format!("{} other sessions are also open", names.len()),
    };
    let item = |label: &str, detail: &str, value: &str| PickItem {
        label: label.into(),
        detail: detail.into(),
        value: value.into(),
        ..PickItem::default()
    };
    let items = vec![
        item("Continue here", "both change the same files", GO_ON),
        item("New worktree", "uncommitted edits stay here", WORKTREE),
        item("Plan only", "plan mode: read-only", READ_ONLY),
    ];
    let model_now = model.now;
    let title = format!("{who} in {}", model.shown_folder(&found.checkout));
    pickers::open(model, PickerKind::Checkout, &title, items);
    // Enter opened it: what is typed on, and a second Enter, are not for it.
    if let Some(picker) = pickers::top(model, PickerKind::Checkout) {
        picker.inert_until = model_now + INERT_MS;
    }
    true
}

/// A row of the card was taken.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    let Some(found) = model.tab.neighbours.take() else { return };
    match value {
        WORKTREE => {
            model.notices.add(model.now, Level::Info, "Creating a worktree");
            out.push(Effect::Load(LoadRequest::Worktree { checkout: found.checkout, name: None }));
        }
        READ_ONLY => {
            mode::choose(model, out, "plan");
            turn::enter(model, out);
        }
        _ => {
            model.shared_checkouts.push(found.checkout);
            turn::enter(model, out);
        }
    }
}

/// `/worktree [NAME]`: a session in a new worktree of the repository that this one works in.
pub fn begin(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    if model.tab.session.is_none() {
        model.notices.add(model.now, Level::Warning, "no session is open here yet");
        return;
    }
    model.notices.add(model.now, Level::Info, "Creating a worktree");
    let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    out.push(Effect::Load(LoadRequest::Worktree { checkout: sessions::cwd(model).to_owned(), name }));
}

/// A worktree is there, or why not, for the session of this tab.
pub fn made(model: &mut Model, result: Result<(String, String), String>) {
    model.tab.worktree = Some(result);
}

/// In view, a session in which nothing was said yet begins anew in its worktree, with what was typed; next to any other, a new
/// session opens.
pub fn settle(model: &mut Model, out: &mut Vec<Effect>) {
    match model.tab.worktree.take() {
        Some(Ok((folder, branch))) if !model.tab.transcript.cells.is_empty() => {
            tabs::open_at(model, out, folder.clone());
            let text = format!("A new session works in {} on branch {branch}", model.shown_folder(&folder));
            model.notices.add(model.now, Level::Info, text);
        }
        Some(Ok((folder, branch))) => {
            let typed = std::mem::take(&mut model.tab.composer);
            // It is no draft of this folder any more.
            drafts::touch(model);
            drafts::save(model, out);
            tabs::open_in(model, out, folder.clone());
            model.tab.composer = typed;
            composer::changed(model, out);
            let text = format!(
                "This session now works in {} on branch {branch}; send when ready",
                model.shown_folder(&folder)
            );
            model.notices.add(model.now, Level::Info, text);
        }
        Some(Err(why)) => model.notices.add(model.now, Level::Error, format!("no worktree: {why}")),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::modal::Modal;
    use crate::app::msg::{LoadReply, Msg};
    use crate::app::tests::{opened, ready, script, script_at};
    use crate::app::update;
    use crate::protocol::{AgentCommand, Mode, Opens};

    fn shared() -> Model {
        let mut model = ready();
        opened(&mut model, "s", &[]);
        let neighbours = Neighbours { checkout: "/p".into(), names: vec!["the other".into()] };
        found(&mut model, Some(neighbours));
        model
    }

    fn sent(effects: &[Effect]) -> Vec<&str> {
        let text = |effect: &'_ Effect| match effect {
            Effect::Agent(AgentCommand::Submit { text, .. }) => Some(text.clone().leak() as &str),
            _ => None,
        };
        effects.iter().filter_map(text).collect()
    }

    /// A prompt is sent, and keys follow when the card takes them.
    fn later(model: &mut Model, keys: &str) -> Vec<Effect> {
        script(model, "do it<ret>");
        let now = model.now + 2_000;
        script_at(model, now, keys)
    }

    #[test]
    fn the_card_comes_once_and_each_row_does_what_it_says() {
        // Go on: sent, and never asked again in this window.
        let mut model = shared();
        assert_eq!(sent(&script(&mut model, "do it<ret>")), [""; 0]);
        assert!(matches!(model.tab.modals.last(), Some(Modal::Picker(picker)) if picker.kind == PickerKind::Checkout));
        // A second Enter, and what is typed on, are not for the card.
        assert_eq!(sent(&script(&mut model, "<ret>")), [""; 0]);
        let now = model.now + 2_000;
        assert_eq!(sent(&script_at(&mut model, now, "<ret>")), ["do it"]);
        assert_eq!(model.shared_checkouts, ["/p"]);
        // Change nothing: plan mode, then sent.
        let mut model = shared();
        let effects = later(&mut model, "<down><down><ret>");
        assert!(effects.contains(&Effect::Agent(AgentCommand::SetMode(Mode::Plan))));
        assert_eq!(sent(&effects), ["do it"]);
        // Esc leaves everything as it was.
        let mut model = shared();
        assert_eq!(sent(&later(&mut model, "<esc>")), [""; 0]);
        assert_eq!(composer::whole(&model.tab.composer), "do it");
        // Nobody else works there.
        let mut model = shared();
        found(&mut model, None);
        assert_eq!(sent(&script(&mut model, "do it<ret>")), ["do it"]);
    }

    #[test]
    fn by_hand_a_worktree_opens_next_to_a_session_in_which_something_was_said() {
        let mut model = ready();
        opened(&mut model, "s", &["said"]);
        let effects = script(&mut model, "/worktree fix<ret>");
        let cwd = sessions::cwd(&model).to_owned();
        assert!(effects.contains(&Effect::Load(LoadRequest::Worktree { checkout: cwd, name: Some("fix".into()) })));
        let reply = Msg::Loaded(LoadReply::Worktree(Ok(("/w".into(), "hermes/fix".into()))));
        let now = model.now;
        let effects = update(&mut model, now, Msg::Of("s".into(), Box::new(reply)));
        let new = |effect: &Effect| matches!(effect, Effect::Open { cwd, opens: Opens::New, .. } if cwd == "/w");
        assert!(effects.iter().any(new), "{effects:?}");
        assert_eq!(model.tabs().count(), 2);
    }

    #[test]
    fn a_worktree_takes_what_was_typed_and_waits_until_its_tab_is_in_view() {
        let mut model = shared();
        let effects = later(&mut model, "<down><ret>");
        assert!(effects.contains(&Effect::Load(LoadRequest::Worktree { checkout: "/p".into(), name: None })));
        let image = crate::protocol::Image { media_type: "image/png".into(), data: String::new() };
        model.tab.composer.images.push(image);
        let first = model.tab.id;
        tabs::open(&mut model, &mut Vec::new(), Opens::New);
        let reply = Msg::Loaded(LoadReply::Worktree(Ok(("/p-1".into(), "hermes/1".into()))));
        let now = model.now;
        let effects = update(&mut model, now, Msg::Of("s".into(), Box::new(reply)));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Open { .. })), "{effects:?}");
        let mut out = Vec::new();
        tabs::show(&mut model, &mut out, first);
        let effects = update(&mut model, now, Msg::Woke);
        let opens = |effect: &Effect| matches!(effect, Effect::Open { cwd, .. } if cwd == "/p-1");
        assert!(effects.iter().any(opens), "{effects:?}");
        assert_eq!((composer::whole(&model.tab.composer), model.tab.composer.images.len()), ("do it".into(), 1));
    }
}

//! How much is asked: the modes of a session, by key, by command and by card.

use crate::app::effect::Effect;
use crate::app::lists::pickers;
use crate::app::model::Model;
use crate::app::model::modal::{Confirm, ConfirmThen, Modal, PickItem, PickerKind};
use crate::app::model::notices::About;
use crate::policy::Mode;
use crate::protocol::{AgentCommand, Level};

/// The mode of the session in view.
pub fn now(model: &Model) -> Mode {
    model.tab.session.as_ref().map_or(model.config.approvals.mode, |session| session.mode)
}

/// Shift-Tab: ask, review, plan, and ask again. Out of a plan mode that a command chose it goes back to the mode before; out
/// of auto and yolo to ask.
pub fn next(model: &mut Model, out: &mut Vec<Effect>) {
    let mode = match now(model) {
        Mode::Ask => Mode::Review,
        Mode::Review => Mode::Plan,
        Mode::Plan => model.tab.before_plan.take().unwrap_or(Mode::Ask),
        Mode::Auto | Mode::Yolo => Mode::Ask,
    };
    set(model, out, mode);
}

/// `/mode`: the list; with a word it goes there.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let argument = argument.trim();
    if !argument.is_empty() {
        return choose(model, out, argument);
    }
    let current = now(model);
    let items = Mode::ALL.map(|mode| PickItem {
        label: mode.word().to_owned(),
        detail: mode.about().to_owned(),
        hint: if mode == current { "now".to_owned() } else { String::new() },
        value: mode.word().to_owned(),
        current: mode == current,
        ..PickItem::default()
    });
    pickers::open(model, PickerKind::Modes, "Choose what needs approval in this session", items.to_vec());
}

/// A mode by its word. Yolo takes a yes.
pub fn choose(model: &mut Model, out: &mut Vec<Effect>, word: &str) {
    let Some(mode) = Mode::read(word) else {
        let words = Mode::ALL.map(Mode::word).join(", ");
        return model.notices.add(model.now, Level::Warning, format!("\"{word}\" is not a mode; use {words}"));
    };
    match (mode, now(model)) {
        (Mode::Yolo, Mode::Yolo) => {}
        (Mode::Yolo, _) => confirm(model),
        (Mode::Plan, before) => {
            model.tab.before_plan = Some(before).filter(|before| *before != Mode::Plan).or(model.tab.before_plan);
            set(model, out, mode);
        }
        (Mode::Review | Mode::Ask | Mode::Auto, _) => set(model, out, mode),
    }
}

/// `/yolo`: on after a yes, off at once.
pub fn yolo(model: &mut Model, out: &mut Vec<Effect>) {
    if now(model) == Mode::Yolo {
        set(model, out, Mode::Ask);
    } else {
        confirm(model);
    }
}

fn confirm(model: &mut Model) {
    model.tab.modals.push(Modal::Confirm(Confirm::new(
        "Run everything without asking",
        "Dangerous commands in this session run without asking. Commands that are never allowed stay refused; commands that always ask still ask.",
        "Do not ask in this session",
        ConfirmThen::Yolo,
    )));
}

/// Sets how questions are treated.
pub fn set(model: &mut Model, out: &mut Vec<Effect>, mode: Mode) {
    if let Some(session) = &mut model.tab.session {
        session.mode = mode;
    }
    if mode != Mode::Plan {
        model.tab.before_plan = None;
    }
    out.push(Effect::Agent(AgentCommand::SetMode(mode)));
    let reviewer = model.tab.session.as_ref().map(|session| &session.auto_approver);
    let (level, about) = match (mode, reviewer) {
        (Mode::Auto, Some(None)) => {
            (Level::Warning, "but no model is available: everything needs your approval".into())
        }
        (Mode::Auto, Some(Some(reviewer))) => (Level::Info, format!("{reviewer} approves low-risk commands")),
        (Mode::Yolo, _) => (Level::Warning, format!("{} in this session", mode.about())),
        (Mode::Plan | Mode::Review | Mode::Ask | Mode::Auto, _) => (Level::Info, mode.about().to_owned()),
    };
    model.notices.about(model.now, level, About::Setting("mode"), format!("{}: {about}", mode.word()));
}

//! How much is asked: ask, auto or yolo.

use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::model::modal::{Confirm, ConfirmThen, Modal};
use crate::app::model::notices::About;
use crate::policy::Mode;
use crate::protocol::{AgentCommand, Level};

/// Shift-Tab: between asking and auto; from yolo back to asking.
pub fn next_mode(model: &mut Model, out: &mut Vec<Effect>) {
    let mode = match mode(model) {
        Mode::Manual => Mode::Smart,
        Mode::Smart | Mode::Off => Mode::Manual,
    };
    set_mode(model, out, mode);
}

/// `/yolo`: off after a yes, back on at once.
pub fn yolo(model: &mut Model, out: &mut Vec<Effect>) {
    if mode(model) == Mode::Off {
        set_mode(model, out, Mode::Manual);
        return;
    }
    model.tab.modals.push(Modal::Confirm(Confirm::new(
        "Run everything without asking",
        "Dangerous commands in this session run without asking. Commands that are never allowed stay refused; commands that always ask still ask.",
        "Do not ask in this session",
        ConfirmThen::Yolo,
    )));
}

fn mode(model: &Model) -> Mode {
    model.tab.session.as_ref().map_or(model.config.approvals.mode, |session| session.mode)
}

/// Sets how questions are treated.
pub fn set_mode(model: &mut Model, out: &mut Vec<Effect>, mode: Mode) {
    if let Some(session) = &mut model.tab.session {
        session.mode = mode;
    }
    out.push(Effect::Agent(AgentCommand::SetMode(mode)));
    let (level, text) = match mode {
        Mode::Manual => (Level::Info, "approvals: ask, risky commands need your approval".to_owned()),
        Mode::Smart => match model.tab.session.as_ref().map(|session| &session.auto_approver) {
            Some(None) => (
                Level::Warning,
                "approvals: auto, but no model is available: everything needs your approval".to_owned(),
            ),
            Some(Some(auto_approver)) => {
                (Level::Info, format!("approvals: auto, {auto_approver} approves low-risk commands"))
            }
            None => (Level::Info, "approvals: auto, a model approves low-risk commands".to_owned()),
        },
        Mode::Off => {
            (Level::Warning, "approvals: yolo, only commands that always ask still ask in this session".to_owned())
        }
    };
    model.notices.about(model.now, level, About::Setting("approvals"), text);
}

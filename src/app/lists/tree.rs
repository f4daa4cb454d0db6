//! `/tree`: the forks around a session as an indented tree, to look at and to switch to.

use super::pickers;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::{drafts, hint};
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::session::{sessions, tabs};
use crate::protocol::{Level, Opens, SessionId};
use crate::store::{Branch, StoreJob};
use crate::text::format;

/// Depth from which on rows are indented no further.
const DEEPEST: usize = 8;

/// The tree around the session in view.
pub fn open(model: &mut Model, out: &mut Vec<Effect>) {
    match drafts::key(model) {
        Some(id) => open_of(model, out, id),
        None => model.notices.add(model.now, Level::Info, "no tree yet: this session has no prompt"),
    }
}

/// The tree around a session.
pub fn open_of(model: &mut Model, out: &mut Vec<Effect>, id: SessionId) {
    pickers::open(model, PickerKind::Tree, "Forks", Vec::new());
    if let Some(picker) = pickers::top(model, PickerKind::Tree) {
        picker.loading = true;
    }
    out.push(Effect::Store(StoreJob::Tree(id)));
}

/// The tree came.
pub fn listed(model: &mut Model, session: &SessionId, branches: Vec<Branch>) {
    let now = model.now;
    let items: Vec<PickItem> = branches.iter().map(|branch| item(branch, session, now)).collect();
    let Some(picker) = pickers::top(model, PickerKind::Tree) else { return };
    let forks = items.len().saturating_sub(1);
    picker.title = match forks {
        0 => "No forks yet".to_owned(),
        forks => format!("Tree of {}", format::plural(forks as u64, "fork", "forks")),
    };
    pickers::fill(picker, items);
    note(model);
}

fn item(branch: &Branch, session: &SessionId, now: i64) -> PickItem {
    let row = &branch.row;
    let arm =
        if branch.depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat(branch.depth.min(DEEPEST) - 1)) };
    let marks = match (row.trashed_at, row.archived) {
        (Some(_), _) => " (in the trash)",
        (None, true) => " (archived)",
        (None, false) => "",
    };
    let from = match (branch.depth, branch.turn) {
        (0, _) => None,
        (_, 0) => Some("from the start".to_owned()),
        (_, turn) => Some(format!("after turn {turn}")),
    };
    let said = Some(row.summary.as_ref().unwrap_or(&row.preview).replace('\n', " ")).filter(|said| !said.is_empty());
    PickItem {
        label: format!("{arm}{}{marks}", sessions::title_of(row)),
        detail: from.into_iter().chain(said).collect::<Vec<_>>().join(" · "),
        hint: format::age(now - row.updated_at),
        value: row.id.clone(),
        current: row.id == session.0,
        ..PickItem::default()
    }
}

/// What the selected session says in short, and what Enter does.
pub fn note(model: &mut Model) {
    let key = hint::picker(model, Action::Accept);
    let Some(picker) = pickers::top(model, PickerKind::Tree) else { return };
    let said = pickers::chosen(picker)
        .map(|item| if item.current { "this session".to_owned() } else { hint::sentence(&[(key, "switches to it")]) });
    let detail = pickers::chosen(picker).map(|item| item.detail.clone()).unwrap_or_default();
    picker.footnote =
        [detail, said.unwrap_or_default()].into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
}

/// Enter: the session is opened, or its tab shown; the browser below goes.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    sessions::leave_browser(model);
    tabs::open(model, out, Opens::Resume(value.into()));
}

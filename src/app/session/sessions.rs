//! Sessions: opening, switching, browsing, naming, leaving.

pub mod excerpt;
pub mod keeping;

use super::{checkout, elsewhere, items, queue, replay, rewind, tabs, turn};
use crate::app::action::Action;
use crate::app::approvals;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::edit::Edited;
use crate::app::input::keys::Press;
use crate::app::input::{composer, drafts, edit, hint, paste};
use crate::app::lists::{first_run, models, toolsets};
use crate::app::model::modal::{Confirm, ConfirmThen, InputModal, InputThen, Modal, SessionBrowser, SessionScope};
use crate::app::model::transcript::CellKind;
use crate::app::model::{Model, TurnStatus};
use crate::app::window::modals::Move;
use crate::app::window::{modals, sidebar};
use crate::protocol::{AgentCommand, Item, Level, NoteKind, Opens, ResumeCard, SessionId, SessionInfo};
use crate::store::filter::Filter;
use crate::store::{SessionRow, StoreJob};

/// Rows of a list at first; its end asks for four times as many, a few times.
const PAGE: usize = 60;
const PAGES: u32 = 5;
/// Milliseconds after the last key of a query until it is asked.
const DEBOUNCE: i64 = 120;

/// The working folder.
pub fn cwd(model: &Model) -> &str {
    model.tab.session.as_ref().map_or(&model.tab.cwd, |session| &session.cwd)
}

/// What to call this session.
pub fn name(model: &Model) -> String {
    model.tab.name()
}

/// Sets the window title when it changed: what asks comes first, then what runs.
pub fn window_title(model: &mut Model, out: &mut Vec<Effect>) {
    let mark = if !model.tab.approvals.entries.is_empty() {
        "? "
    } else if turn::is_running(model) {
        "… "
    } else {
        ""
    };
    let profile = model.profile.as_ref().map(|profile| format!(" ({profile})")).unwrap_or_default();
    let title = format!("{mark}{} — Hermes{profile}", name(model));
    if title != model.window_title {
        model.window_title.clone_from(&title);
        out.push(Effect::Title(title));
    }
}

/// The session of a tab is open.
pub fn opened(model: &mut Model, out: &mut Vec<Effect>, session: SessionInfo, page: Vec<Item>) {
    let typed = !model.tab.composer.area.is_empty() && !model.tab.composer.pristine;
    model.tab.opening = false;
    model.tab.of.get_or_insert_with(|| session.id.clone());
    approvals::session_changed(model);
    model.tab.modals.retain(|modal| !matches!(modal, Modal::Rewind(_) | Modal::Undo(_)));
    model.tab.sidebar.plan.clear();
    model.tab.sidebar.files.clear();
    model.tab.meter = Default::default();
    model.tab.turn = TurnStatus::Idle;
    model.tab.sends_after_stop = false;
    model.tab.session = Some(session.clone());
    items::opened(model, page);
    tabs::found(model);
    changed(model, out, session);
    if drafts::key(model).is_some() {
        if typed {
            // what was typed before it opened is its draft from now on
            drafts::touch(model);
        } else {
            let images = std::mem::take(&mut model.tab.composer.images);
            composer::clear(model);
            model.tab.composer.images = images;
        }
        out.push(drafts::load(model));
        queue::opened(model, out);
    }
    out.push(Effect::Load(LoadRequest::Knowledge));
    sidebar::look_again(model, out);
    checkout::look(model, out);
    queue::to_draft(model);
    queue::send_next(model, out);
}

/// Where the session stopped stands below what was said; it is not stored.
pub fn resumed(model: &mut Model, card: &ResumeCard) {
    let text = paste::harmless(&card.text(model.now)).into_owned();
    model.tab.transcript.push(CellKind::Note { kind: NoteKind::Info, text }, None, false);
}

/// Facts of the session changed.
pub fn changed(model: &mut Model, out: &mut Vec<Effect>, session: SessionInfo) {
    let has_model = !session.model.is_empty();
    let comes = has_model && model.tab.session.as_ref().is_some_and(|before| before.model.is_empty());
    models::remember(model, &session.model);
    model.tab.session = Some(session);
    toolsets::changed(model, out);
    if has_model {
        model.first_run = None;
    } else if model.first_run.is_none() {
        first_run::open(model, out);
    }
    window_title(model, out);
    if comes {
        queue::send_next(model, out);
    }
}

/// `/clear`: a new session in the place of this one; while a turn runs it is asked first.
pub fn clear(model: &mut Model, out: &mut Vec<Effect>) {
    if !turn::is_running(model) {
        return tabs::clear(model, out);
    }
    model.tab.modals.push(Modal::Confirm(Confirm::new(
        "Clear",
        "A turn is running. It is stopped, and its session can be resumed.",
        "Stop it and start a new session",
        ConfirmThen::Clear,
    )));
}

/// `/fork`: a tab with the conversation of this one.
pub fn fork(model: &mut Model, out: &mut Vec<Effect>) {
    if !rewind::is_quiet(model) {
        return;
    }
    match drafts::key(model) {
        Some(id) => tabs::open(model, out, Opens::Fork(id)),
        None => model.notices.add(model.now, Level::Info, "nothing to fork yet: this session has no prompt"),
    }
}

/// A session that was asked for is open in another process: it can be read, or its copy taken.
pub fn open_elsewhere(model: &mut Model, id: SessionId, title: &str, pid: i64) {
    let name = if title.is_empty() { &id.0 } else { title };
    let text = format!(
        "“{name}” is open in another window (process {pid}). Fork it to go on here with a copy of the conversation, or \
         read it as it is now."
    );
    let mut confirm = Confirm::new("Open in another window", text, "Fork", ConfirmThen::ForkOf(id.clone()));
    confirm.no = Some(("Read".into(), ConfirmThen::ReadSession(id)));
    model.tab.modals.push(Modal::Confirm(confirm));
}

/// The browser, with a query; one that names another agent takes over its newest session of this folder.
pub fn browse(model: &mut Model, out: &mut Vec<Effect>, query: &str) {
    if elsewhere::wished(model, out, query) {
        return;
    }
    show(model, out, query, SessionScope::All);
}

/// The browser with a query and a scope.
pub fn show(model: &mut Model, out: &mut Vec<Effect>, query: &str, scope: SessionScope) {
    let cursor = query.chars().count();
    let (query, fault) = (query.to_owned(), Filter::fault(query));
    let browser = SessionBrowser { query, cursor, fault, loading: true, scope, ..SessionBrowser::default() };
    model.tab.modals.push(Modal::Sessions(Box::new(browser)));
    ask(model, out);
}

/// The browser, when it is on top.
pub fn browser(model: &mut Model) -> Option<&mut SessionBrowser> {
    if let Some(Modal::Sessions(browser)) = model.tab.modals.last_mut() { Some(browser) } else { None }
}

fn ask(model: &mut Model, out: &mut Vec<Effect>) {
    let folder = cwd(model).to_owned();
    if let Some(browser) = browser(model) {
        browser.ask_at = None;
        browser.loading = true;
        let limit = limit(browser);
        let (query, shelf) = (browser.query.clone(), browser.scope.shelf());
        let here = match browser.scope {
            SessionScope::Here => Some(folder),
            SessionScope::Elsewhere => return out.push(Effect::Load(LoadRequest::Elsewhere { query })),
            SessionScope::All | SessionScope::Archived | SessionScope::Trashed => None,
        };
        out.push(Effect::Store(StoreJob::ListSessions { query, here, shelf, limit }));
    }
}

fn limit(browser: &SessionBrowser) -> usize {
    PAGE << (2 * browser.pages)
}

/// A wake-up: a query that was typed is asked.
pub fn woke(model: &mut Model, out: &mut Vec<Effect>) {
    let now = model.now;
    if browser(model).and_then(|browser| browser.ask_at).is_some_and(|at| at <= now) {
        ask(model, out);
    }
}

/// A list came.
pub fn listed(model: &mut Model, out: &mut Vec<Effect>, query: &str, rows: Vec<SessionRow>, of: Option<String>) {
    let Some(browser) = browser(model).filter(|browser| browser.scope != SessionScope::Elsewhere) else { return };
    if browser.query != query {
        return;
    }
    fill(model, out, rows, of);
}

/// Takes in the rows of a list, and of how many they are where there are more; the selection stays on its session.
pub fn fill(model: &mut Model, out: &mut Vec<Effect>, rows: Vec<SessionRow>, of: Option<String>) {
    let Some(browser) = browser(model) else { return };
    let selected = browser.rows.get(browser.selected).filter(|_| !browser.from_top).map(|row| row.id.clone());
    browser.from_top = false;
    let at = rows.iter().position(|row| Some(&row.id) == selected.as_ref());
    browser.rows = rows;
    browser.of = of;
    browser.loading = false;
    browser.selected = at.unwrap_or_default();
    preview(model, out);
}

fn preview(model: &mut Model, out: &mut Vec<Effect>) {
    if let Some(browser) = browser(model) {
        browser.preview.clear();
        browser.preview_hit = None;
        if let Some(row) = browser.rows.get(browser.selected) {
            if browser.scope == SessionScope::Elsewhere {
                return out.push(Effect::Load(LoadRequest::ElsewherePreview { key: row.id.clone() }));
            }
            out.push(Effect::Store(StoreJob::Preview { session: row.id.as_str().into(), hit: row.hit }));
        }
    }
}

/// A change of a session was kept: the list is read again.
pub fn changed_elsewhere(model: &mut Model, out: &mut Vec<Effect>) {
    ask(model, out);
}

/// What to call a session in a list.
pub fn title_of(row: &SessionRow) -> &str {
    let name = row.title.as_deref().unwrap_or(&row.preview);
    if name.is_empty() { &row.id } else { name }
}

/// The browser is closed, if it is open.
pub fn leave_browser(model: &mut Model) {
    model.tab.modals.retain(|modal| !matches!(modal, Modal::Sessions(_)));
}

/// A part of a session came, for the preview.
pub fn previewed(model: &mut Model, session: &SessionId, items: &[Item]) {
    let Some(browser) = browser(model) else { return };
    if let Some(row) = browser.rows.get(browser.selected).filter(|row| row.id == session.0) {
        (browser.preview, browser.preview_hit) = excerpt::of(items, row.hit, &browser.query);
        excerpt::with_summary(row, &mut browser.preview, &mut browser.preview_hit);
    }
}

/// A key for the browser.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    if let Some(movement) = modals::movement(press.action) {
        return step(model, out, movement);
    }
    let Some(browser) = browser(model) else { return };
    match press.action {
        Some(Action::Close) => {
            model.tab.modals.pop();
        }
        Some(Action::Accept) => accept(model, out),
        Some(Action::Here) => {
            let before = browser.scope;
            browser.scope = before.next();
            browser.selected = 0;
            (browser.from_top, browser.pages) = (true, 0);
            if [before, browser.scope].contains(&SessionScope::Elsewhere) {
                // Sessions of other agents can't be resumed as they are, nor ours be taken over.
                browser.rows.clear();
                browser.of = None;
                browser.preview.clear();
            }
            ask(model, out);
        }
        Some(Action::Replay) => replay_selected(model, out),
        Some(action) if keeping::act(model, out, action) => {}
        _ => {
            let Some(browser) = self::browser(model) else { return };
            if edit::line(&mut browser.query, &mut browser.cursor, press) == Edited::Changed {
                typed(model);
            }
        }
    }
}

fn replay_selected(model: &mut Model, out: &mut Vec<Effect>) {
    if let Some(id) = browser(model).and_then(|browser| browser.rows.get(browser.selected)).map(|row| row.id.clone()) {
        replay::open(model, out, id.as_str().into());
    }
}

/// The query was changed: it is asked once the keys rest.
pub fn typed(model: &mut Model) {
    let now = model.now;
    if let Some(browser) = browser(model) {
        browser.ask_at = Some(now + DEBOUNCE);
        browser.fault = Filter::fault(&browser.query);
        (browser.from_top, browser.pages) = (true, 0);
    }
}

/// Pasted text joins the query.
pub fn paste(model: &mut Model, text: &str) {
    if let Some(browser) = browser(model) {
        edit::insert(&mut browser.query, &mut browser.cursor, text.trim_end());
    }
    typed(model);
}

/// Moves the selection.
pub fn step(model: &mut Model, out: &mut Vec<Effect>, movement: Move) {
    let Some(browser) = browser(model) else { return };
    let to = modals::moved(browser.selected, browser.rows.len(), movement);
    if to == browser.selected {
        return;
    }
    browser.selected = to;
    let is_end = to + 1 == browser.rows.len() && to + 1 >= limit(browser);
    let asks = is_end && !browser.loading && browser.pages < PAGES && browser.scope != SessionScope::Elsewhere;
    browser.pages += u32::from(asks);
    preview(model, out);
    if asks {
        ask(model, out);
    }
}

/// A click selects a row, on the selected one it resumes it.
pub fn click(model: &mut Model, out: &mut Vec<Effect>, row: usize) {
    let Some(browser) = browser(model) else { return };
    if browser.selected == row {
        accept(model, out);
    } else if row < browser.rows.len() {
        browser.selected = row;
        preview(model, out);
    }
}

fn accept(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(browser) = browser(model) else { return };
    let Some(id) = browser.rows.get(browser.selected).map(|row| row.id.clone()) else { return };
    let is_elsewhere = browser.scope == SessionScope::Elsewhere;
    model.tab.modals.pop();
    if is_elsewhere {
        return elsewhere::take(model, out, id);
    }
    tabs::open(model, out, Opens::Resume(id.as_str().into()));
}

/// Deletes a session for good; the browser under the question loses its row.
pub fn delete(model: &mut Model, out: &mut Vec<Effect>, id: SessionId) {
    if let Some(browser) = browser(model) {
        browser.rows.retain(|row| row.id != id.0);
        browser.selected = browser.selected.min(browser.rows.len().saturating_sub(1));
    }
    out.push(Effect::Store(StoreJob::DeleteSession(id)));
}

/// `/title`: sets it, or asks for it.
pub fn title(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    if !text.is_empty() {
        out.push(Effect::Agent(AgentCommand::SetTitle(text.to_owned())));
        return;
    }
    let text = model.tab.session.as_ref().and_then(|session| session.title.clone()).unwrap_or_default();
    model.tab.modals.push(Modal::Input(InputModal {
        title: "Title of the session".into(),
        hint: hint::sentence(&[(hint::field(model, Action::Accept), "sets it")]),
        cursor: text.chars().count(),
        text,
        masked: false,
        then: InputThen::Title,
        message: String::new(),
        busy: false,
        inert_until: 0,
    }));
}

/// Leaves; drafts and queues of all tabs are stored first. The engine closes the sessions.
pub fn leave(model: &mut Model, out: &mut Vec<Effect>) {
    tabs::each(model, out, |model, out| {
        model.tab.opening = false;
        drafts::save(model, out);
        queue::settle(model, out);
    });
    out.push(Effect::Quit(0));
}

#[cfg(test)]
mod tests;

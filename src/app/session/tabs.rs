//! Tabs: several sessions at once. One is in view; the others are parked, and hear of everything that is theirs.

mod routing;

pub use routing::{each, of, process, store};

use super::{checkout, queue, sessions, turn, worktree};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::{composer, drafts};
use crate::app::lists::{agents, pickers};
use crate::app::model::modal::{Confirm, ConfirmThen, Modal, PickItem, PickerKind};
use crate::app::model::notices::About;
use crate::app::model::tab::{From, KeptTab, Tab, TabId, TabState};
use crate::app::model::{Model, TurnStatus};
use crate::app::reading::select;
use crate::app::terminal::processes;
use crate::app::window::sidebar;
use crate::exec::ProcessCommand;
use crate::protocol::{Level, Opens, SessionId};
use crate::store::QueuedPrompt;
use crate::text::format::plural;
use routing::address;
use std::sync::Arc;

/// Where a key leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    Next,
    Previous,
    /// Counted from 0.
    Nth(usize),
}

impl Tab {
    /// A tab without a session, in a folder.
    pub fn new(id: TabId, cwd: String) -> Self {
        Self {
            id,
            of: None,
            session: None,
            opening: false,
            from: None,
            by_the_way: None,
            unread: false,
            failed: false,
            turn: TurnStatus::Idle,
            meter: Default::default(),
            context: Default::default(),
            compacting: None,
            budget: None,
            transcript: Default::default(),
            composer: composer::new(),
            queue: Default::default(),
            approvals: Default::default(),
            processes: processes::new(),
            sidebar: Default::default(),
            policy: Default::default(),
            modals: Vec::new(),
            focus: Default::default(),
            pane_selection: None,
            copy_mode: None,
            copying: None,
            cwd,
            neighbours: None,
            worktree: None,
            before_plan: None,
            sends_after_stop: false,
            queue_selected: 0,
            held: Vec::new(),
            sent: None,
        }
    }

    /// What the title row says of it.
    pub fn state(&self) -> TabState {
        if !self.processes.asks.is_empty() {
            TabState::NeedsPassword
        } else if !self.approvals.entries.is_empty() {
            TabState::NeedsAnswer
        } else if self.turn != TurnStatus::Idle {
            TabState::Working
        } else if self.failed {
            TabState::Failed
        } else if self.unread {
            TabState::Unread
        } else {
            TabState::Idle
        }
    }

    /// What to call it: the title of its session, else its folder.
    pub fn name(&self) -> String {
        let title = self.session.as_ref().and_then(|session| session.title.clone());
        title.filter(|title| !title.is_empty()).unwrap_or_else(|| {
            let cwd = self.session.as_ref().map_or(&self.cwd, |session| &session.cwd);
            let folder = cwd.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if folder.is_empty() { "Hermes".into() } else { folder.to_owned() }
        })
    }

    /// Nothing was said in it, and nothing runs.
    fn is_untouched(&self) -> bool {
        self.transcript.cells.is_empty()
            && self.turn == TurnStatus::Idle
            && self.queue.is_empty()
            && !self.processes.rows.iter().any(processes::is_running)
    }
}

impl Model {
    /// All tabs, in the order of the title row.
    pub fn tabs(&self) -> impl Iterator<Item = &Tab> {
        let (before, after) = self.parked.split_at(self.at.min(self.parked.len()));
        before.iter().chain(std::iter::once(&self.tab)).chain(after)
    }
}

/// Opens a session in a tab of its own and shows it.
pub fn open(model: &mut Model, out: &mut Vec<Effect>, opens: Opens) {
    if let Opens::Resume(id) = &opens {
        let tab = model.tabs().find(|tab| tab.of.as_ref() == Some(id)).map(|tab| tab.id);
        match tab {
            Some(tab) if tab == model.tab.id => {
                return model.notices.add(model.now, Level::Info, "this session is already open");
            }
            Some(tab) => return show(model, out, tab),
            None => {}
        }
    }
    // What nothing was said in makes room.
    let replaces = !matches!(opens, Opens::New) && model.tab.is_untouched() && !model.tab.opening;
    begin(model, out, opens, replaces);
}

/// A new session in the place of the one in view.
pub fn clear(model: &mut Model, out: &mut Vec<Effect>) {
    begin(model, out, Opens::Cleared, true);
}

/// A new session in another folder, in the place of the one in view.
pub fn open_in(model: &mut Model, out: &mut Vec<Effect>, folder: String) {
    begin_in(model, out, Opens::Cleared, true, folder);
}

/// A new session in another folder, next to the others.
pub fn open_at(model: &mut Model, out: &mut Vec<Effect>, folder: String) {
    begin_in(model, out, Opens::New, false, folder);
}

fn begin(model: &mut Model, out: &mut Vec<Effect>, opens: Opens, replaces: bool) {
    let folder = sessions::cwd(model).to_owned();
    begin_in(model, out, opens, replaces, folder);
}

fn begin_in(model: &mut Model, out: &mut Vec<Effect>, opens: Opens, replaces: bool, folder: String) {
    let mut tab = fresh(model, folder);
    tab.opening = true;
    tab.from = Some(From { tab: model.tab.id, replaces });
    let (id, cwd, parent) = (tab.id, tab.cwd.clone(), model.tab.of.clone());
    // What is resumed has a model of its own.
    let chosen = model.tab.session.as_ref().map(|session| session.model.clone()).filter(|model| !model.is_empty());
    let chosen = chosen.filter(|_| !matches!(opens, Opens::Resume(_)));
    // In the place of the one that goes, else at the end.
    let at = if replaces { model.at } else { model.parked.len() };
    model.parked.insert(at, tab);
    show(model, out, id);
    out.push(Effect::Open { tab: id, opens, cwd, model: chosen, parent });
}

/// A session that begins with a prompt, in a tab behind the one in view.
pub fn behind(model: &mut Model, out: &mut Vec<Effect>, prompt: &str) {
    let mut tab = fresh(model, sessions::cwd(model).to_owned());
    tab.opening = true;
    tab.queue.prompts.push(Arc::new(QueuedPrompt { text: prompt.to_owned(), images: Vec::new() }));
    let (id, cwd) = (tab.id, tab.cwd.clone());
    let chosen = model.tab.session.as_ref().map(|session| session.model.clone()).filter(|model| !model.is_empty());
    let parent = model.tab.of.clone();
    model.parked.push(tab);
    out.push(Effect::Open { tab: id, opens: Opens::New, cwd, model: chosen, parent });
    let at = model.parked.len() + 1;
    model.notices.add(model.now, Level::Info, format!("started in tab {at}; it asks and answers there"));
}

/// A tab that nothing has happened in, with the prompts of this window to look back at.
fn fresh(model: &mut Model, cwd: String) -> Tab {
    model.tab_count += 1;
    let mut tab = Tab::new(TabId(model.tab_count), cwd);
    tab.composer.history.entries.clone_from(&model.tab.composer.history.entries);
    tab.sidebar.knowledge.clone_from(&model.tab.sidebar.knowledge);
    tab
}

/// Adds tabs for sessions of an earlier run, behind the one in view.
pub fn restore(model: &mut Model, out: &mut Vec<Effect>, kept: Vec<KeptTab>) {
    let open = |model: &Model, id: &SessionId| model.tabs().any(|tab| tab.of.as_ref() == Some(id));
    for one in kept {
        let (cwd, opens, draft) = match one {
            KeptTab::Session(id) if open(model, &id) => continue,
            KeptTab::Session(id) => (model.tab.cwd.clone(), Opens::Resume(id), String::new()),
            // It came back as the draft of the folder.
            KeptTab::Draft { text, .. } if drafts::encoded(&model.tab.composer) == text => continue,
            KeptTab::Draft { cwd, text } => (cwd, Opens::New, text),
        };
        let mut tab = fresh(model, cwd.clone());
        tab.opening = true;
        composer::refill(&mut tab.composer, &draft);
        let id = tab.id;
        model.parked.push(tab);
        out.push(Effect::Open { tab: id, opens, cwd, model: None, parent: None });
    }
}

/// The engine has given a tab its session: its facts come from now on.
pub fn bound(model: &mut Model, tab: TabId, session: SessionId) {
    // Its commands were shown with those of its parent until now.
    let mut rows = Vec::new();
    for other in std::iter::once(&mut model.tab).chain(&mut model.parked).filter(|other| other.id != tab) {
        rows.extend(processes::leave(&mut other.processes, &session.0));
    }
    let all = std::iter::once(&mut model.tab).chain(&mut model.parked);
    if let Some(tab) = all.into_iter().find(|other| other.id == tab) {
        tab.processes.rows.extend(rows);
    }
    if model.tab.id == tab {
        model.tab.of = Some(session);
    } else if let Some(tab) = model.parked.iter_mut().find(|parked| parked.id == tab) {
        tab.of = Some(session);
    }
}

/// Orders wait until their session is there, and go out with it.
pub fn hold(model: &mut Model, out: &mut Vec<Effect>) {
    if model.tab.of.is_none() && model.tab.session.is_none() {
        let held = out.extract_if(.., |effect| matches!(effect, Effect::Agent(_)));
        let orders = held.filter_map(|effect| if let Effect::Agent(order) = effect { Some(order) } else { None });
        model.tab.held.extend(orders);
    } else {
        out.extend(model.tab.held.drain(..).map(Effect::Agent));
    }
}

/// The key of a tab.
pub fn go(model: &mut Model, out: &mut Vec<Effect>, to: Go) {
    let count = model.parked.len() + 1;
    let at = match to {
        Go::Next => (model.at + 1) % count,
        Go::Previous => (model.at + count - 1) % count,
        Go::Nth(at) => at,
    };
    let found = model.tabs().nth(at).map(|tab| tab.id);
    match found {
        Some(_) if count == 1 => {
            let keys = model.keymap.keys_for("new-session");
            let how = keys.first().map(|keys| format!(": {keys} opens another")).unwrap_or_default();
            model.notices.add(model.now, Level::Info, format!("this is the only tab{how}"));
        }
        Some(id) => show(model, out, id),
        None => model.notices.add(model.now, Level::Info, format!("there is no tab {}", at + 1)),
    }
}

/// Goes to the next tab that waits for an answer; `false`: none does.
pub fn go_to_waiting(model: &mut Model, out: &mut Vec<Effect>) -> bool {
    let waits = |tab: &&Tab| matches!(tab.state(), TabState::NeedsAnswer | TabState::NeedsPassword);
    let after = model.parked.iter().skip(model.at).chain(model.parked.iter().take(model.at));
    match after.into_iter().find(waits).map(|tab| tab.id) {
        Some(id) => {
            show(model, out, id);
            true
        }
        None => false,
    }
}

/// Puts a tab in view; the one before it is parked and goes on.
pub fn show(model: &mut Model, out: &mut Vec<Effect>, id: TabId) {
    let Some(at) = model.parked.iter().position(|tab| tab.id == id) else { return };
    leave(model, out);
    let shown = model.parked.remove(at);
    let before = std::mem::replace(&mut model.tab, shown);
    // Those left of the one in view come first among the parked.
    let (place, now) = if at < model.at { (model.at - 1, at) } else { (model.at, at + 1) };
    model.parked.insert(place, before);
    model.at = now;
    entered(model, out);
}

/// The one in view is about to be parked or closed: what is the window's own of it ends.
fn leave(model: &mut Model, out: &mut Vec<Effect>) {
    select::clear(model);
    model.chord = None;
    model.tab.composer.completion = None;
    drafts::save(model, out);
    queue::settle(model, out);
    let processes = &mut model.tab.processes;
    processes.pane.taken_over = false;
    if processes.held_keys.take().is_some() {
        out.push(Effect::Process(ProcessCommand::TakeOver(None)));
    }
    if let Some((_, size)) = processes.watching.take() {
        out.push(Effect::Process(ProcessCommand::Watch(None, size)));
    }
    if processes.watching_second.take().is_some() {
        out.push(Effect::Process(ProcessCommand::WatchSecond(None, (0, 0))));
    }
    address(model.tab.of.as_ref(), out);
}

/// Another tab is in view.
fn entered(model: &mut Model, out: &mut Vec<Effect>) {
    model.tab.unread = false;
    model.tab.failed = false;
    model.layout = Default::default();
    sidebar::look_again(model, out);
    out.push(Effect::Load(LoadRequest::Knowledge));
    sessions::window_title(model, out);
    checkout::look(model, out);
    worktree::shown_again(model, out);
}

/// The session of a tab is over though nobody closed it. A child has done its work, and its tab goes on with what it said.
pub fn ended(model: &mut Model, out: &mut Vec<Effect>) {
    let id = model.tab.of.clone();
    let Some(name) = agents::as_child(model, id.as_ref()).map(|(_, row)| row.name.clone()) else {
        let why = "the session ended unexpectedly; the log says why. Close this tab and resume it";
        return turn::not_taken(model, out, why.to_owned());
    };
    let Some(id) = id else { return };
    model.tab.opening = true;
    let (tab, cwd) = (model.tab.id, model.tab.cwd.clone());
    out.push(Effect::Open { tab, opens: Opens::Resume(id), cwd, model: None, parent: None });
    let text = format!("{name} has ended; what you write here now goes on without its parent");
    model.notices.add(model.now, Level::Info, text);
}

/// Closes the tab of a child that works: it goes on for its parent, whose tab comes in view and shows its commands again.
fn close_child(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(parent) = agents::as_child(model, model.tab.of.as_ref()).map(|(tab, _)| tab.id) else { return };
    let (closed, rows) = (model.tab.id, std::mem::take(&mut model.tab.processes.rows));
    show(model, out, parent);
    if let Some(tab) = model.parked.iter_mut().find(|tab| tab.id == closed) {
        // Its session is not closed with it.
        tab.of = None;
    }
    drop_parked(model, out, closed, false);
    model.tab.processes.rows.extend(rows);
}

/// Closes the tab in view; what runs in it is asked about.
pub fn close(model: &mut Model, out: &mut Vec<Effect>) {
    if agents::shows_working_child(model) {
        return close_child(model, out);
    }
    let running = model.tab.processes.rows.iter().filter(|row| processes::is_running(row));
    let mut rows: Vec<String> = running.map(|row| row.command.lines().next().unwrap_or_default().to_owned()).collect();
    if turn::is_running(model) {
        rows.insert(0, "the turn of this session".to_owned());
    }
    if rows.is_empty() {
        return close_for_good(model, out);
    }
    let text = format!("Still running, and ended with the tab:\n{}", rows.join("\n"));
    model.tab.modals.push(Modal::Confirm(Confirm::new(
        "Close this tab",
        text,
        "End them and close",
        ConfirmThen::CloseTab,
    )));
}

/// Closes the tab in view with all that runs in it. The last one makes room for a new session.
pub fn close_for_good(model: &mut Model, out: &mut Vec<Effect>) {
    for row in model.tab.processes.rows.iter().filter(|row| processes::is_running(row)) {
        out.push(Effect::Process(ProcessCommand::Kill(row.id.clone())));
    }
    if model.parked.is_empty() {
        return clear(model, out);
    }
    let closed = model.tab.id;
    let at = if model.at < model.parked.len() { model.at } else { model.at - 1 };
    if let Some(next) = model.parked.get(at).map(|tab| tab.id) {
        show(model, out, next);
    }
    drop_parked(model, out, closed, false);
}

/// Takes a parked tab off the row; its session is closed.
fn drop_parked(model: &mut Model, out: &mut Vec<Effect>, id: TabId, cleared: bool) {
    let Some(at) = model.parked.iter().position(|tab| tab.id == id) else { return };
    let tab = model.parked.remove(at);
    if at < model.at {
        model.at -= 1;
    }
    if let Some(session) = tab.of {
        out.push(Effect::Close { session, cleared });
    }
}

/// A tab's session is open, or can't be: what it came from goes, or comes back.
pub fn settle(model: &mut Model, out: &mut Vec<Effect>) {
    let opened = model.tabs().find_map(|tab| tab.from.filter(|from| from.replaces && !tab.opening));
    if let Some(from) = opened {
        let done = |tab: &mut Tab| tab.from = tab.from.filter(|known| *known != from);
        done(&mut model.tab);
        model.parked.iter_mut().for_each(done);
        drop_parked(model, out, from.tab, true);
    }
}

/// The session of the tab in whose turn this happens could not be opened: the tab goes, and what it came from is in view.
pub fn not_opened(model: &mut Model, out: &mut Vec<Effect>) {
    let (id, from) = (model.tab.id, model.tab.from);
    model.tab.opening = false;
    model.tab.of = None;
    let back = from.map(|from| from.tab).filter(|tab| model.parked.iter().any(|parked| parked.id == *tab));
    match back.or_else(|| model.parked.first().map(|tab| tab.id)) {
        Some(back) => {
            // A question about it (it is open elsewhere) is asked where the person comes back to.
            let mut modals = std::mem::take(&mut model.tab.modals);
            let typed = std::mem::take(&mut model.tab.composer);
            let waiting = std::mem::take(&mut model.tab.queue);
            show(model, out, back);
            model.tab.modals.append(&mut modals);
            if !composer::is_empty(&typed) {
                drafts::push(model, composer::whole(&typed));
                drafts::said_aside(model);
            }
            model.tab.queue.prompts.extend(waiting.prompts);
            drop_parked(model, out, id, false);
            queue::send_next(model, out);
        }
        // There was nothing before it: it begins with a new session.
        None => {
            model.tab.opening = true;
            let cwd = model.tab.cwd.clone();
            out.push(Effect::Open { tab: id, opens: Opens::New, cwd, model: None, parent: None });
        }
    }
}

/// A window was killed with these open.
pub fn lost(model: &mut Model, kept: Vec<KeptTab>) {
    model.lost_tabs = kept;
    found(model);
    tell_lost(model);
}

/// What is open again already is not lost.
pub fn found(model: &mut Model) {
    let mut kept = std::mem::take(&mut model.lost_tabs);
    let before = kept.len();
    kept.retain(|kept| !matches!(kept, KeptTab::Session(id) if model.tabs().any(|tab| tab.of.as_ref() == Some(id))));
    let fewer = kept.len() < before;
    model.lost_tabs = kept;
    if fewer && model.notices.shown.iter().any(|notice| notice.about == About::LostTabs) {
        model.notices.settled(&About::LostTabs);
        tell_lost(model);
    }
}

fn tell_lost(model: &mut Model) {
    let kept = &model.lost_tabs;
    if kept.is_empty() {
        return;
    }
    let count = plural(kept.len() as u64, "tab was", "tabs were");
    let keys = model.keymap.keys_for("restore-tabs");
    let how = keys.first().map_or_else(|| "/restore".to_owned(), ToString::to_string);
    let text = format!("{count} open when hermes was killed: {how} opens them again");
    model.notices.about(model.now, Level::Warning, About::LostTabs, text);
}

/// Opens the tabs of a window that was killed.
pub fn restore_lost(model: &mut Model, out: &mut Vec<Effect>) {
    let lost = std::mem::take(&mut model.lost_tabs);
    model.notices.settled(&About::LostTabs);
    if lost.is_empty() {
        return model.notices.add(model.now, Level::Info, "no tabs to open again");
    }
    restore(model, out, lost);
}

/// `/tabs`: all of them.
pub fn list(model: &mut Model) {
    let shown = model.tab.id;
    let items = model.tabs().map(|tab| PickItem {
        label: tab.name(),
        detail: model.shown_folder(tab.session.as_ref().map_or(&tab.cwd, |session| &session.cwd)),
        hint: word(tab.state()).to_owned(),
        value: tab.id.0.to_string(),
        current: tab.id == shown,
        ..PickItem::default()
    });
    let items: Vec<PickItem> = items.collect();
    let title = plural(items.len() as u64, "tab", "tabs");
    pickers::open(model, PickerKind::Tabs, &title, items);
}

/// A row of the list was taken.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, value: &str) {
    if let Ok(id) = value.parse() {
        show(model, out, TabId(id));
    }
}

/// A state in words.
pub fn word(state: TabState) -> &'static str {
    match state {
        TabState::Idle => "",
        TabState::Working => "working",
        TabState::NeedsAnswer => "needs you",
        TabState::NeedsPassword => "asks for a password",
        TabState::Unread => "done",
        TabState::Failed => "failed",
    }
}

/// Tells which sessions are open when that changed: a killed window comes back with them.
pub fn save(model: &mut Model, out: &mut Vec<Effect>) {
    let begun = |tab: &Tab| tab.transcript.cells.iter().any(|cell| cell.item.is_some());
    let open: Vec<KeptTab> = model
        .tabs()
        .filter_map(|tab| match &tab.of {
            Some(session) if begun(tab) => Some(KeptTab::Session(session.clone())),
            // The draft in view is kept for its folder.
            _ if tab.id == model.tab.id || tab.composer.area.is_empty() => None,
            _ => {
                let cwd = tab.session.as_ref().map_or(&tab.cwd, |session| &session.cwd).clone();
                Some(KeptTab::Draft { cwd, text: drafts::encoded(&tab.composer) })
            }
        })
        .collect();
    if open != model.saved_tabs {
        model.saved_tabs.clone_from(&open);
        out.push(Effect::SaveTabs(open));
    }
}

#[cfg(test)]
mod tests;

//! The root: routes each message to its concern, then lets the few things that follow from the whole state follow.

use super::effect::{Effect, LoadRequest};
use super::model::{Model, Pane, TurnStatus, transcript::Transcript};
use super::msg::{LoadReply, Msg};
use super::{
    approvals, completion, composer, drafts, events, first_run, focus, history, items, keys, looks, models, mouse,
    processes, scroll, sessions, sidebar, wake,
};
use crate::agent::event::{Level, Meter};
use crate::config::Config;
use crate::config::keymap::Keymap;
use crate::config::skin::Look;
use crate::store::{StoreJob, StoreReply};
use std::sync::Arc;

/// Earlier prompts that are loaded at the start.
pub const HISTORY: usize = 1000;

impl Model {
    /// The state before the first frame: nothing is loaded, typing works. `size` is columns and rows, `cwd` the folder
    /// the program was started in, `now` milliseconds since the epoch.
    pub fn new(
        config: Arc<Config>,
        look: Arc<Look>,
        keymap: Arc<Keymap>,
        size: (u16, u16),
        cwd: String,
        now: i64,
    ) -> Model {
        let mouse_captured = config.display.mouse;
        Model {
            now,
            size,
            session: None,
            turn: TurnStatus::Idle,
            meter: Meter::default(),
            transcript: Transcript::default(),
            composer: composer::new(),
            queue: Vec::new(),
            approvals: Default::default(),
            processes: processes::new(),
            sidebar: Default::default(),
            modals: Vec::new(),
            focus: Pane::Composer,
            notices: Default::default(),
            first_run: None,
            chord: None,
            config,
            look,
            layout: Default::default(),
            mouse_captured,
            window_focused: true,
            quit_armed: None,
            demo: false,
            keymap,
            cwd,
            queue_selected: 0,
            sent: None,
            choices: Vec::new(),
            recent_models: Vec::new(),
            looks: Default::default(),
            tool_words: Default::default(),
            switching: false,
            next_session: false,
            wake: None,
            window_title: String::new(),
        }
    }
}

/// What to ask for at the start; none of it delays the first frame.
pub fn start(model: &mut Model) -> Vec<Effect> {
    let mut out = vec![
        drafts::load(model),
        Effect::Store(StoreJob::LoadHistory { limit: HISTORY }),
        Effect::Load(LoadRequest::Git),
        Effect::Load(LoadRequest::Knowledge),
        Effect::Load(LoadRequest::Looks),
    ];
    if model.mouse_captured {
        out.push(Effect::Mouse(true));
    }
    sessions::window_title(model, &mut out);
    out
}

/// Applies a fact and returns what to do about it. `now` is milliseconds since the epoch.
pub fn update(model: &mut Model, now: i64, msg: Msg) -> Vec<Effect> {
    // a clock that was set back must not make durations negative
    model.now = model.now.max(now);
    let mut out = Vec::new();
    route(model, &mut out, msg);
    settle(model, &mut out);
    out
}

fn route(model: &mut Model, out: &mut Vec<Effect>, msg: Msg) {
    match msg {
        Msg::Key(key) => keys::key(model, out, key),
        Msg::Pasted(text) => super::modals::paste(model, out, text),
        Msg::Mouse(event) => mouse::mouse(model, out, event),
        Msg::Resized(columns, rows) => model.size = (columns, rows),
        Msg::FocusChanged(focused) => model.window_focused = focused,
        Msg::Woke => wake::woke(model, out),
        Msg::Agent(event) => events::agent(model, out, event),
        Msg::Process(event) => processes::event(model, out, event),
        Msg::Store(reply) => store(model, out, reply),
        Msg::Loaded(reply) => loaded(model, out, reply),
        Msg::Drawn(layout) => scroll::drawn(model, out, *layout),
        Msg::Terminated => sessions::leave(model, out),
        Msg::Edited(text) => composer::edited(model, out, text),
        Msg::Copied(result) => super::select::copied(model, result),
    }
}

fn store(model: &mut Model, out: &mut Vec<Effect>, reply: StoreReply) {
    match reply {
        StoreReply::Sessions { query, rows } => sessions::listed(model, out, &query, rows),
        StoreReply::Preview { session, items } => sessions::previewed(model, &session, &items),
        StoreReply::Older { session, items, more } => items::older(model, &session, items, more),
        StoreReply::Draft { session, text } => drafts::loaded(model, session, text),
        StoreReply::History(entries) => history::loaded(model, entries),
        StoreReply::Failed(error) => model.notices.add(model.now, Level::Error, error),
        StoreReply::Opened { path: _, warning } => {
            if let Some(warning) = warning {
                model.notices.add(model.now, Level::Warning, warning);
            }
        }
    }
}

fn loaded(model: &mut Model, out: &mut Vec<Effect>, reply: LoadReply) {
    match reply {
        LoadReply::Models { choices, problems } => models::listed(model, choices, &problems),
        LoadReply::Found(found) => first_run::found(model, found),
        LoadReply::KeyTried { provider, outcome } => first_run::key_tried(model, out, &provider, outcome),
        LoadReply::KeySaved { provider, result } => first_run::key_saved(model, out, &provider, result),
        LoadReply::Knowledge(knowledge) => model.sidebar.knowledge = knowledge,
        LoadReply::Look { name, result } => looks::loaded(model, &name, result),
        LoadReply::Looks { skins, themes } => looks::listed(model, out, skins, themes),
        LoadReply::Git(git) => model.sidebar.git = git,
        LoadReply::Paths { word, paths } => completion::paths(model, &word, paths),
        LoadReply::Image(image) => composer::image(model, image),
        LoadReply::Report { title, text } => sidebar::report(model, &title, &text),
    }
}

/// What follows from the whole state, whatever changed it.
fn settle(model: &mut Model, out: &mut Vec<Effect>) {
    focus::settle(model);
    approvals::open_waiting(model);
    processes::watch(model, out);
    wake::schedule(model, out);
}

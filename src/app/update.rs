//! The root: routes each message to its concern, then lets the few things that follow from the whole state follow.

use super::effect::{Effect, LoadRequest};
use super::model::Model;
use super::model::tab::{Tab, TabId};
use super::msg::{LoadReply, Msg};
use super::{approvals, events};
use crate::app::approvals::{inert, permissions, policy_changed};
use crate::app::input::{completion, composer, drafts, focus, history, keys, mouse, vi};
use crate::app::lists::{
    agents, extensions, first_run, local_models, models, named, own_server, self_test, servers, sign_in, toolsets,
    tree, uses,
};
use crate::app::reading::{marking, scroll, select};
use crate::app::session::{
    checkout, elsewhere, items, queue, replay, rewind, sessions, stats, tabs, turn, undo, worktree,
};
use crate::app::terminal::{asks, editor, pane};
use crate::app::window::{appearance, modals, sidebar, talk, wake};
use crate::config::Config;
use crate::config::keymap::Keymap;
use crate::config::skin::Appearance;
use crate::protocol::Level;
use crate::store::{StoreJob, StoreReply};
use std::sync::Arc;

/// Earlier prompts that are loaded at the start.
pub const HISTORY: usize = 1000;

impl Model {
    /// The state before the first frame: nothing is loaded, typing works. `size` is columns and rows, `cwd` the folder
    /// the program was started in, `now` milliseconds since the epoch.
    pub fn new(
        config: Arc<Config>,
        look: Arc<Appearance>,
        keymap: Arc<Keymap>,
        size: (u16, u16),
        cwd: String,
        now: i64,
    ) -> Model {
        let mouse_captured = config.display.mouse;
        let vi = vi::Vi::new(config.composer.mode == "vi");
        Model {
            now,
            size,
            tab: Tab::new(TabId(1), cwd),
            parked: Vec::new(),
            at: 0,
            tab_count: 1,
            saved_tabs: Vec::new(),
            lost_tabs: Vec::new(),
            wishes: Vec::new(),
            shared_checkouts: Vec::new(),
            servers: Vec::new(),
            extensions: Default::default(),
            keyed_at: None,
            pressed: None,
            click: None,
            notices: Default::default(),
            unsaved: None,
            first_run: None,
            first_choice: false,
            own_server: Default::default(),
            chord: None,
            config,
            look,
            layout: Default::default(),
            mouse_captured,
            window_focused: true,
            quit_armed: None,
            demo: false,
            local: Default::default(),
            keymap,
            home: String::new(),
            profile: None,
            choices: Vec::new(),
            sign_ins: Vec::new(),
            self_test: None,
            recent_models: Vec::new(),
            appearance: Default::default(),
            tool_words: Default::default(),
            wake: None,
            uses: Default::default(),
            vi,
            permissions: Default::default(),
            toolsets: Vec::new(),
            caret: vi::Caret::Usual,
            window_title: String::new(),
        }
    }
}

/// What to ask for at the start; none of it delays the first frame.
pub fn start(model: &mut Model) -> Vec<Effect> {
    let mut out = vec![
        drafts::load(model),
        queue::load(model),
        Effect::Store(StoreJob::LoadHistory { limit: HISTORY }),
        Effect::Store(StoreJob::LoadUses),
        Effect::Load(LoadRequest::Git),
        Effect::Load(LoadRequest::Knowledge),
        Effect::Load(LoadRequest::Looks),
        extensions::ask(model),
    ];
    if model.config.elsewhere.import_python && !model.demo {
        out.push(Effect::Load(LoadRequest::Migrate));
    }
    if !model.demo {
        out.push(Effect::Load(LoadRequest::Tidy));
    }
    if model.mouse_captured {
        out.push(Effect::Mouse(true));
    }
    if model.first_run.is_some() {
        first_run::open(model, &mut out);
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

pub(super) fn route(model: &mut Model, out: &mut Vec<Effect>, msg: Msg) {
    match msg {
        Msg::Key(key) => {
            model.keyed_at = Some(model.now);
            keys::key(model, out, key);
        }
        Msg::Pasted(text) => {
            model.keyed_at = Some(model.now);
            modals::paste(model, out, text);
        }
        Msg::Mouse(event) => mouse::mouse(model, out, event),
        Msg::Resized(columns, rows) => {
            let hidden = inert::hidden(model);
            model.size = (columns, rows);
            // rows wrap elsewhere now
            if model.tab.pane_selection.is_some() {
                select::clear(model);
            }
            if hidden && !inert::hidden(model) {
                inert::seen_again(model);
            }
        }
        Msg::FocusChanged(focused) => {
            model.window_focused = focused;
            if focused {
                approvals::look_again(model, out);
                first_run::look_again(model, out);
            }
        }
        Msg::Woke => wake::woke(model, out),
        Msg::Agent(event) => events::agent(model, out, event),
        Msg::Ended => tabs::ended(model, out),
        Msg::Of(session, msg) => tabs::of(model, out, &session, *msg),
        Msg::Bound(tab, session) => tabs::bound(model, tab, session),
        Msg::Window(id, request, by) => talk::asked(model, out, id, request, by),
        Msg::WindowGone(id) => talk::gone(model, id),
        Msg::LostTabs(sessions) => tabs::lost(model, sessions),
        Msg::Process(event) => tabs::process(model, out, event),
        Msg::Store(reply) => tabs::store(model, out, reply),
        Msg::Loaded(reply) => loaded(model, out, reply),
        Msg::Servers(rows) => servers::changed(model, rows),
        Msg::Server(fact) => servers::heard(model, out, fact),
        Msg::Account(fact) => sign_in::heard(model, out, fact),
        Msg::Local(fact) => local_models::heard(model, out, fact),
        Msg::Drawn(layout) => scroll::drawn(model, out, *layout),
        Msg::Terminated => sessions::leave(model, out),
        Msg::EditorStarted(id) => editor::started(model, id),
        Msg::Edited(result) => editor::ended(model, out, result),
        Msg::Copied(result) => select::copied(model, result),
    }
}

pub(super) fn store(model: &mut Model, out: &mut Vec<Effect>, reply: StoreReply) {
    match reply {
        StoreReply::Sessions { query, rows, of } => sessions::listed(model, out, &query, rows, of),
        StoreReply::Preview { session, items } => sessions::previewed(model, &session, &items),
        StoreReply::SessionChanged(_) => sessions::changed_elsewhere(model, out),
        StoreReply::Tree { session, branches } => tree::listed(model, &session, branches),
        StoreReply::Older { session, items, more } => items::older(model, &session, items, more),
        StoreReply::Draft { session, text } => drafts::loaded(model, session, text),
        StoreReply::Queue { session, prompts } => queue::loaded(model, session, prompts),
        StoreReply::History(entries) => history::loaded(model, entries),
        StoreReply::Uses(stored) => uses::loaded(model, stored),
        StoreReply::Failed(error) => model.notices.add(model.now, Level::Error, error),
        StoreReply::Saving(trouble) => events::saving(model, trouble),
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
        LoadReply::ServerStarted(result) => own_server::started(model, out, result),
        LoadReply::NamedModel { name, choices, problems } => named::model_listed(model, out, &name, choices, &problems),
        LoadReply::NamedLocal { name, offers } => named::local_listed(model, out, &name, offers),
        LoadReply::Found(found) => first_run::found(model, found),
        LoadReply::LocalModels(offers) => local_models::listed(model, offers),
        LoadReply::Served(served) => model.local.served = served,
        LoadReply::KeyTried { provider, outcome } => first_run::key_tried(model, out, &provider, outcome),
        LoadReply::Untested { model: name, is_near } => self_test::untested(model, &name, is_near),
        LoadReply::SelfTested { model: name, result } => self_test::tested(model, &name, result),
        LoadReply::LoggedOut(result) => models::logged_out(model, out, result),
        LoadReply::KeySaved { provider, result } => first_run::key_saved(model, out, &provider, result),
        LoadReply::ServerTried { address, key, outcome } => own_server::tried(model, out, address, key, outcome),
        LoadReply::ServerUsed { model: name, result } => own_server::used(model, out, &name, result),
        LoadReply::Knowledge(knowledge) => model.tab.sidebar.knowledge = knowledge,
        LoadReply::Appearance { name, result } => appearance::loaded(model, &name, result),
        LoadReply::Looks { skins, themes } => appearance::listed(model, out, skins, themes),
        LoadReply::Exported(text) => model.notices.add(model.now, Level::Info, text),
        LoadReply::Neighbours(found) => checkout::found(model, found),
        LoadReply::Worktree(result) => checkout::made(model, result),
        LoadReply::TreeChanges { wanted, result } => {
            worktree::listed(model, out, &wanted, result.map(|it| *it));
        }
        LoadReply::TreeHunks { path, result } => worktree::hunks(model, &path, result.map(|it| *it)),
        LoadReply::WorktreeDropped { folder, result } => worktree::removed(model, out, &folder, result),
        LoadReply::OtherWindows(sessions) => agents::others(model, sessions),
        LoadReply::WindowFocused(result) => agents::focused(model, result),
        LoadReply::Git(git) => model.tab.sidebar.git = git,
        LoadReply::Files { session, files } => {
            sidebar::files(model, &session, files);
            undo::look_again(model, out);
        }
        LoadReply::Toolsets(rows) => toolsets::listed(model, rows),
        LoadReply::Permissions(new) => permissions::listed(model, new),
        LoadReply::Tried { command, verdict } => permissions::tried(model, command, verdict),
        LoadReply::Revoked(result) => permissions::revoked(model, out, result),
        LoadReply::Paths { word, paths } => completion::paths(model, &word, paths),
        LoadReply::RewindPoints(points) => rewind::listed(model, out, points),
        LoadReply::RewindPreview { item, preview } => rewind::previewed(model, out, item, preview.map(|it| *it)),
        LoadReply::UndoPoints(points) => undo::listed(model, out, points),
        LoadReply::UndoPreview { command, preview } => undo::previewed(model, command, preview.map(|it| *it)),
        LoadReply::Replay { session, page } => replay::loaded(model, out, &session, page.map(|it| *it)),
        LoadReply::ReplayMoment { session, stop, moment } => replay::shown(model, &session, stop, moment),
        LoadReply::Image(image) => composer::image(model, image),
        LoadReply::Elsewhere { query, rows, more, problems } => {
            elsewhere::listed(model, out, &query, rows, more, &problems);
        }
        LoadReply::ElsewherePreview { key, items } => elsewhere::previewed(model, &key, items),
        LoadReply::TakenOver(result) => elsewhere::taken(model, out, result),
        LoadReply::Stats { days, figures } => stats::loaded(model, days, figures),
        LoadReply::Tidied { level, text } => model.notices.add(model.now, level, text),
        LoadReply::Migrated(result) => elsewhere::migrated(model, result),
        LoadReply::Prompt(result) => servers::prompted(model, out, result),
        LoadReply::Report { title, text } => sidebar::report(model, &title, &text),
        LoadReply::Extensions(new) => extensions::changed(model, out, *new),
        LoadReply::Trusted(result) => extensions::trusted(model, out, result),
        LoadReply::PluginAnswered { name, result } => extensions::answered(model, out, &name, result),
    }
}

/// What follows from the whole state, whatever changed it.
fn settle(model: &mut Model, out: &mut Vec<Effect>) {
    tabs::settle(model, out);
    focus::settle(model);
    first_run::settle(model);
    self_test::settle(model, out);
    asks::open_waiting(model);
    approvals::open_waiting(model);
    approvals::tell_writing(model, out);
    turn::waits(model);
    policy_changed::open_waiting(model);
    extensions::open_waiting(model);
    talk::open_waiting(model);
    checkout::settle(model, out);
    marking::settle(model, out);
    asks::tell_hands(model, out);
    pane::watch(model, out);
    vi::settle(model, out);
    queue::settle(model, out);
    tabs::save(model, out);
    tabs::hold(model, out);
    wake::schedule(model, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::Pane;
    use crate::app::model::layout::{Area, Layout};
    use crate::app::msg::{Mouse, MouseKind};
    use crate::app::tests::{keys, model, opened, script_at, user};
    use crate::app::window::wake::next_wake;
    use crate::exec::{Exit, ExitReason, ProcessEvent, ProcessId, ProcessInfo, ProcessState};
    use crate::protocol::{AgentEvent, Question, QuestionId, TurnEnd, TurnOutcome};
    use proptest::prelude::*;

    #[test]
    fn the_start_asks_for_everything_and_waits_for_nothing() {
        let mut model = model();
        let expected = [
            Effect::Store(StoreJob::LoadDraft { session: None, cwd: "/src/app".into() }),
            Effect::Store(StoreJob::LoadQueue { session: None, cwd: "/src/app".into() }),
            Effect::Store(StoreJob::LoadHistory { limit: HISTORY }),
            Effect::Store(StoreJob::LoadUses),
            Effect::Load(LoadRequest::Git),
            Effect::Load(LoadRequest::Knowledge),
            Effect::Load(LoadRequest::Looks),
            Effect::Load(LoadRequest::Extensions { seen: 0 }),
            Effect::Load(LoadRequest::Migrate),
            Effect::Load(LoadRequest::Tidy),
            Effect::Mouse(true),
            Effect::Title("app — Hermes".into()),
        ];
        assert_eq!(start(&mut model), expected);
        script_at(&mut model, 0, "typed before anything came");
        assert_eq!(composer::text(&model.tab.composer), "typed before anything came");
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_turn_time_round() {
        let mut model = model();
        update(&mut model, 5000, Msg::Woke);
        update(&mut model, 1000, Msg::Woke);
        assert_eq!(model.now, 5000);
    }

    const KEYS: [&str; 48] = [
        "a",
        "z",
        " ",
        "/",
        "@",
        "?",
        "y",
        "s",
        "d",
        "e",
        "x",
        "n",
        "o",
        "1",
        "7",
        "<ret>",
        "<esc>",
        "<tab>",
        "<S-tab>",
        "<up>",
        "<down>",
        "<left>",
        "<right>",
        "<home>",
        "<end>",
        "<pgup>",
        "<pgdn>",
        "<backspace>",
        "<del>",
        "<C-x>",
        "<C-p>",
        "<C-r>",
        "<C-o>",
        "<C-t>",
        "<C-f>",
        "<C-c>",
        "<C-u>",
        "<A-v>",
        "<A-]>",
        "<f1>",
        "<f4>",
        "<f7>",
        "<f8>",
        "<f9>",
        "<C-v>",
        "<C-w>",
        "<A-ret>",
        "<C-end>",
    ];

    fn fact(number: usize) -> Msg {
        let process = |state| {
            let id = ProcessId("p".into());
            ProcessInfo {
                task: "s".into(),
                id,
                command: "run".into(),
                cwd: "/".into(),
                pid: 1,
                background: number.is_multiple_of(2),
                started_at: 0,
                state,
                port: None,
                output_bytes: 0,
                vitals: crate::exec::Vitals::default(),
            }
        };
        let exit = Exit { code: 0, reason: ExitReason::Exited, duration: std::time::Duration::ZERO };
        let question = Question {
            id: QuestionId(number as u64),
            call_id: "c".into(),
            text: "?".into(),
            choices: vec!["a".into(); number % 3],
            allow_freetext: true,
            own_answer: String::new(),
        };
        let outcome = TurnOutcome { turn: 1, end: TurnEnd::Completed, steps: 1, duration_ms: 1 };
        let mouse = |kind| Msg::Mouse(Mouse { column: number as u16, row: number as u16 % 30, kind, shift: false });
        match number % 13 {
            0 => Msg::Agent(AgentEvent::TurnStarted { turn: 1, at: 0 }),
            1 => Msg::Agent(AgentEvent::TextDelta("text".into())),
            2 => Msg::Agent(AgentEvent::ItemFinished(user(number as i64, "item"))),
            3 => Msg::Agent(AgentEvent::Asked(question)),
            4 => Msg::Agent(AgentEvent::TurnFinished(outcome)),
            5 => Msg::Process(ProcessEvent::Started(process(ProcessState::Running))),
            6 => Msg::Process(ProcessEvent::Exited(process(ProcessState::Exited(exit)))),
            7 => Msg::Pasted("pasted\ntext\n".repeat(number)),
            8 => mouse(MouseKind::Press),
            9 => mouse(MouseKind::Drag),
            10 => mouse(MouseKind::Release),
            11 => mouse(MouseKind::Wheel(-1)),
            _ => Msg::Woke,
        }
    }

    fn frame(model: &Model) -> Msg {
        let rows = model.tab.transcript.cells.iter().take(10).enumerate();
        let rows = rows.map(|(row, cell)| (row as u16 + 1, cell.id, 0)).collect();
        let panes = vec![(Pane::Conversation, Area { x: 0, y: 1, width: 80, height: 10 })];
        let terminal = model.tab.processes.pane.open.then_some((80, 5));
        Msg::Drawn(Box::new(Layout { rows, panes, terminal, at_top: true, ..Layout::default() }))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        #[test]
        fn nothing_panics_and_rest_is_rest(steps in prop::collection::vec((0..KEYS.len() + 20, 0..100usize), 1..80)) {
            let mut model = model();
            opened(&mut model, "s", &[]);
            let mut now = 0;
            for (step, number) in steps {
                now += 100;
                let msg = match KEYS.get(step) {
                    Some(key) => Msg::Key(keys(key)[0]),
                    None => fact(number),
                };
                update(&mut model, now, msg);
                let msg = frame(&model);
                update(&mut model, now, msg);
            }
            // everything ends, every question is put aside, all wake-ups come
            let end = fact(4);
            model.tab.queue = Default::default();
            update(&mut model, now, end);
            update(&mut model, now, fact(6));
            update(&mut model, now, fact(19));
            for _ in 0..30 {
                now += 1000;
                for key in if model.tab.processes.pane.taken_over { ["<f9>", "<esc>"] } else { ["<esc>", "<esc>"] } {
                    update(&mut model, now, Msg::Key(keys(key)[0]));
                }
            }
            // sessions that were asked for open
            for _ in 0..=model.parked.len() {
                if model.tab.opening {
                    opened(&mut model, "other", &[]);
                }
                tabs::go(&mut model, &mut Vec::new(), tabs::Go::Next);
            }
            for _ in 0..10 {
                now += 10_000;
                update(&mut model, now, Msg::Woke);
            }
            prop_assert!(model.tab.modals.is_empty(), "{:?}", model.tab.modals);
            prop_assert_eq!(next_wake(&model), None, "turn {:?}", model.tab.turn);
        }
    }
}

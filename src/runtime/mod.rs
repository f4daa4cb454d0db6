//! The loop of the screen, and the only code that awaits for the UI: wait, drain, update, run effects, maybe draw.

pub mod accounts;
mod browser_login;
mod diff;
mod editor;
mod effects;
mod elsewhere;
mod export;
mod extensions;
mod frame;
mod images;
mod input;
mod loads;
mod local_models;
mod open_tabs;
mod own_server;
mod paths;
mod permissions;
mod replay;
mod reports;
mod self_test;
mod servers;
mod talk;
mod toolsets;
mod trim;
mod typed;
mod worktrees;

use crate::app::approvals::seen;
use crate::app::input::vi;
use crate::app::model::local::LocalFact;
use crate::app::model::modal::SessionScope;
use crate::app::model::notices::Notices;
use crate::app::model::tab::{KeptTab, TabId, TabState};
use crate::app::session::{replay as replay_view, sessions, tabs};
use crate::app::{Effect, Model, Msg, update};
use crate::config::load::{Loaded, Sources};
use crate::config::paths::Paths;
use crate::engine::{Engine, SessionEvent, SessionSpec};
use crate::exec::{Exec, ProcessEvent};
use crate::protocol::{AgentEvent, Opens, SessionId};
use crate::term::Signals;
use crate::term::{Frames, Guard, Reader};
use crate::ui::ViewCache;
pub use elsewhere::Elsewhere;
pub use open_tabs::last as last_tabs;

use frame::{FrameClock, Urgency};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Everything the screen hears.
pub struct Workers {
    pub events: mpsc::Receiver<SessionEvent>,
    pub processes: mpsc::Receiver<ProcessEvent>,
}

/// What is open when the screen starts.
#[derive(Clone, Debug, Default)]
pub struct FirstTabs {
    pub first: Opens,
    /// Sessions that open behind it.
    pub behind: Vec<KeptTab>,
    /// Words that the browser opens with, for sessions of other agents.
    pub choose: Option<String>,
    /// The session that is shown on a time line over it.
    pub replay: Option<SessionId>,
}

/// When a frame that was drawn without grammars is drawn again.
const REDRAW_AFTER: Duration = Duration::from_millis(50);
/// How long queued messages are taken in before a frame is drawn.
const DRAIN: Duration = Duration::from_millis(4);

/// The screen, drawn once and waiting for its workers.
pub struct Screen {
    _guard: Guard,
    frames: Frames,
    model: Model,
    /// Of each tab what was laid out.
    caches: HashMap<TabId, ViewCache>,
    clock: FrameClock,
    /// Something is drawn that will look better soon (grammars load): another frame then.
    better_at: Option<Instant>,
    /// Orders of the last frame, not yet carried out.
    pending: Vec<Effect>,
    trace: bool,
    /// The terminal is gone: nobody was asked what goes on.
    hung_up: bool,
}

/// What the loop ended with.
pub struct Ended {
    pub code: i32,
    /// The demo was asked for.
    pub demo: bool,
    /// Something was said in it.
    pub spoke: bool,
    /// The session that was open, for the words of farewell.
    pub session: Option<crate::protocol::SessionInfo>,
    /// Commands that go on: the first line of each, and its process number or the machine that it is on.
    pub kept: Vec<(String, String)>,
    /// The window was closed: nobody was asked what goes on.
    pub hung_up: bool,
}

impl Screen {
    /// Takes the terminal and draws the first frame. Nothing else has been started yet.
    pub fn open(mut model: Model) -> io::Result<Self> {
        crate::term::install_panic_hook();
        let (guard, first) = Guard::enter(model.mouse_captured)?;
        let frames = Frames::new(&first)?;
        model.size = frames.size()?;
        let trace = std::env::var_os("HERMES_TRACE_FRAMES").is_some();
        let mut screen = Self {
            _guard: guard,
            frames,
            model,
            caches: HashMap::new(),
            clock: FrameClock::default(),
            better_at: None,
            pending: Vec::new(),
            trace,
            hung_up: false,
        };
        screen.draw()?;
        Ok(screen)
    }

    fn draw(&mut self) -> io::Result<()> {
        let began = Instant::now();
        let mut layout = None;
        let model = &self.model;
        self.caches.retain(|id, _| model.tabs().any(|tab| tab.id == *id));
        let cache = self.caches.entry(model.tab.id).or_default();
        let bytes = self.frames.draw(|frame| layout = Some(crate::ui::draw(model, cache, frame)))?;
        self.clock.drawn(Instant::now());
        self.better_at = cache.wants_frame().then(|| Instant::now() + REDRAW_AFTER);
        if self.trace {
            tracing::info!(bytes, micros = began.elapsed().as_micros(), "frame");
        }
        if let Some(layout) = layout
            && (layout != self.model.layout
                || self.model.tab.transcript.scroll != 0
                || self.model.tab.copying.is_some())
        {
            let read = seen::reading(&self.model);
            let effects = update(&mut self.model, crate::agent::now(), Msg::Drawn(Box::new(layout)));
            self.pending.extend(effects);
            if seen::reading(&self.model) != read {
                self.clock.want(Urgency::Input);
            }
        }
        Ok(())
    }

    /// Runs until the person leaves.
    pub async fn run(
        mut self,
        mut workers: Workers,
        context: Context,
        tabs: FirstTabs,
        first: Option<String>,
        mut signals: Signals,
    ) -> io::Result<Ended> {
        trim::later();
        let mut input = Reader::start()?;
        let (replies, mut heard) = mpsc::channel(64);
        let mut hands = effects::EffectRunner::new(&context, replies);
        let (mcp, engine) = (context.mcp.clone(), context.engine.clone());
        let exec = engine.services().exec.clone();
        let mut asked = engine.screen_asks();
        let mut servers_changed = mcp.changes();
        servers_changed.mark_changed();
        let local = engine.services().models.local().clone();
        let mut served_changed = local.changes();
        let opened = engine.open(SessionSpec { opens: tabs.first, ..context.spec.clone() });
        self.take_in(Msg::Bound(self.model.tab.id, opened), Urgency::Background);
        let start = crate::app::start(&mut self.model);
        self.pending.extend(start);
        let mut behind = Vec::new();
        tabs::restore(&mut self.model, &mut behind, tabs.behind);
        if let Some(words) = tabs.choose {
            sessions::show(&mut self.model, &mut behind, &words, SessionScope::Elsewhere);
        }
        if let Some(session) = tabs.replay {
            replay_view::open(&mut self.model, &mut behind, session);
        }
        self.pending.extend(behind);
        if let Some(text) = first {
            self.pending.push(Effect::Agent(crate::protocol::AgentCommand::Submit { text, images: Vec::new() }));
        }
        loop {
            let pending = std::mem::take(&mut self.pending);
            for effect in pending {
                match hands.carry_out(effect, &mut self.frames, &self.model) {
                    effects::ControlFlow::GoOn => {}
                    effects::ControlFlow::Tell(msg) => self.take_in(*msg, Urgency::Input),
                    effects::ControlFlow::Redraw => self.clock.want(Urgency::Input),
                    effects::ControlFlow::Suspend => {
                        // The shell reads the terminal itself: nobody else may.
                        input.stop().await;
                        let msg = effects::suspend(&mut self.frames, self.model.mouse_captured)?;
                        input = Reader::start()?;
                        if self.model.caret != vi::Caret::Usual {
                            self.frames.send(effects::caret(self.model.caret))?;
                        }
                        // Keys meant for the shell (Ctrl-C) are no signals for this program.
                        signals = Signals::new()?;
                        self.take_in(msg, Urgency::Input);
                    }
                    effects::ControlFlow::Leave { code, demo } => {
                        // The agent may be waiting for a machine that is on its way.
                        engine.give_up_backends();
                        hands.leave(&mut workers, &mut heard).await;
                        // The shell that comes next must find all that is typed once the terminal is its own.
                        input.stop().await;
                        let spoke = !self.model.tab.transcript.cells.is_empty();
                        let kept = std::mem::take(&mut self.model.tab.processes.kept);
                        return Ok(Ended {
                            code,
                            demo,
                            spoke,
                            session: self.model.tab.session.take(),
                            kept,
                            hung_up: self.hung_up,
                        });
                    }
                }
            }
            if self.clock.due(Instant::now()).is_some_and(|at| at <= Instant::now()) {
                if let Err(error) = self.draw() {
                    // The terminal is gone: leave the orderly way, with drafts and sessions saved.
                    tracing::warn!("could not draw a frame: {error}");
                    self.hang_up(&exec);
                    self.take_in(Msg::Terminated, Urgency::Background);
                    self.clock.drawn(Instant::now());
                }
                if !self.pending.is_empty() {
                    continue;
                }
            }
            let better_at = self.better_at.map(tokio::time::Instant::from_std);
            let frame_at = self.clock.due(Instant::now()).map(tokio::time::Instant::from_std);
            let first = tokio::select! {
                biased;
                hung_up = signals.next() => {
                    if hung_up {
                        self.hang_up(&exec);
                    }
                    (Msg::Terminated, Urgency::Input)
                }
                event = input.next() => match event {
                    Some(event) => match input::message(event) {
                        Some(msg) => (msg, Urgency::Input),
                        None => continue,
                    },
                    // The terminal is gone.
                    None => {
                        self.hang_up(&exec);
                        (Msg::Terminated, Urgency::Input)
                    }
                },
                () = until(frame_at) => continue,
                () = until(better_at) => {
                    self.better_at = None;
                    self.clock.want(Urgency::Background);
                    continue;
                }
                Some(told) = workers.events.recv() => (of_session(told), Urgency::Background),
                Some(event) = workers.processes.recv() => (Msg::Process(event), Urgency::Background),
                Some(msg) = heard.recv() => (msg, Urgency::Background),
                Some(ask) = asked.recv() => (hands.asked(ask), Urgency::Input),
                Ok(()) = servers_changed.changed() => {
                    (Msg::Servers(servers::rows(&mcp)), Urgency::Background)
                }
                Ok(()) = served_changed.changed() => {
                    (Msg::Local(LocalFact::Served(local_models::served(&local))), Urgency::Background)
                }
                () = hands.woken() => (Msg::Woke, Urgency::Background),
            };
            self.take_in(first.0, first.1);
            hands.look(&self.model);
            self.drain(&mut workers, &mut input, &mut heard);
        }
    }

    /// The terminal is gone: who is left to be told is the next run.
    fn hang_up(&mut self, exec: &Exec) {
        self.hung_up = true;
        exec.hung_up();
    }

    /// One message into the model.
    fn take_in(&mut self, msg: Msg, urgency: Urgency) {
        let urgency = if is_urgent(&msg) { Urgency::Input } else { urgency };
        let behind = matches!(&msg, Msg::Of(session, _) if self.model.tab.of.as_ref() != Some(session));
        let before = behind.then(|| chrome(&self.model));
        let effects = update(&mut self.model, crate::agent::now(), msg);
        self.pending.extend(effects);
        // What streams in a tab behind this one is not seen.
        if before.is_none_or(|before| before != chrome(&self.model)) {
            self.clock.want(urgency);
        }
    }

    /// Everything that is queued already, within the time bound, input first.
    fn drain(&mut self, workers: &mut Workers, input: &mut Reader, heard: &mut mpsc::Receiver<Msg>) {
        let stop = Instant::now() + DRAIN;
        let mut held: Option<Msg> = None;
        while Instant::now() < stop {
            if let Some(event) = input.ready() {
                if let Some(msg) = input::message(event) {
                    match held.as_mut() {
                        Some(before) => {
                            if let Some(next) = input::merge(before, msg)
                                && let Some(done) = held.replace(next)
                            {
                                self.take_in(done, Urgency::Input);
                            }
                        }
                        None => held = Some(msg),
                    }
                }
            } else if let Ok(told) = workers.events.try_recv() {
                self.take_in(of_session(told), Urgency::Background);
            } else if let Ok(event) = workers.processes.try_recv() {
                self.take_in(Msg::Process(event), Urgency::Background);
            } else if let Ok(msg) = heard.try_recv() {
                self.take_in(msg, Urgency::Background);
            } else {
                break;
            }
        }
        if let Some(msg) = held {
            self.take_in(msg, Urgency::Input);
        }
    }
}

/// What is seen of tabs that are not in view.
fn chrome(model: &Model) -> (Vec<(TabId, TabState, String)>, Notices) {
    (model.tabs().map(|tab| (tab.id, tab.state(), tab.name())).collect(), model.notices.clone())
}

/// What a session tells, as a message. A tab whose session was closed is gone: only one that ended by itself hears its end.
fn of_session(from: SessionEvent) -> Msg {
    Msg::Of(from.session, Box::new(from.event.map_or(Msg::Ended, Msg::Agent)))
}

/// Facts that a person waits for.
fn is_urgent(msg: &Msg) -> bool {
    if let Msg::Of(_, msg) = msg {
        return is_urgent(msg);
    }
    matches!(
        msg,
        Msg::Agent(
            AgentEvent::ApprovalRequested(_)
                | AgentEvent::Asked(_)
                | AgentEvent::TurnFinished(_)
                | AgentEvent::TurnStarted { .. }
                | AgentEvent::SessionOpened { .. }
        )
    )
}

/// What loads and effects need.
#[derive(Clone)]
pub struct Context {
    pub engine: Engine,
    /// How sessions of this screen are opened.
    pub spec: SessionSpec,
    pub loaded: Arc<Loaded>,
    pub sources: Arc<Sources>,
    pub paths: Paths,
    pub cwd: PathBuf,
    /// The folders that the session works in, as the gate knows them.
    pub border: Vec<PathBuf>,
    pub canvas: crate::config::theme::Canvas,
    pub registry: Arc<crate::tools::registry::Registry>,
    pub extensions: crate::plugins::Extensions,
    pub mcp: crate::mcp::Mcp,
    pub backends: crate::backends::Backends,
    pub elsewhere: Elsewhere,
    /// The files of the policy: what the screen writes for the person goes through it.
    pub policy: Arc<crate::agent::policy_snapshot::PolicySnapshot>,
}

impl Context {
    /// The same for a session: where it works, and the policy as it read it.
    fn of(&self, session: Option<&SessionId>) -> Self {
        let (backends, policy) = (self.engine.backends(session), self.engine.policy(session));
        Self { backends, policy, ..self.clone() }
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

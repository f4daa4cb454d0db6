//! The loop of the screen: the only code that awaits for the UI. Waits, drains, updates, runs effects, maybe draws.

mod editor;
mod effects;
mod export;
mod extensions;
mod figures;
mod frame;
mod images;
mod input;
mod loads;
mod own_server;
mod paths;
mod permissions;
mod reports;
mod servers;
mod toolsets;
mod trim;
mod watch;

use crate::agent::runner::Handle;
use crate::app::{Effect, Model, Msg, approvals, update};
use crate::config::load::{Loaded, Sources};
use crate::config::paths::Paths;
use crate::exec::{Exec, ProcessEvent};
use crate::protocol::AgentEvent;
use crate::store::Store;
use crate::term::Signals;
use crate::term::{Frames, Guard, Reader};
use crate::ui::ViewCache;
use frame::{FrameClock, Urgency};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Everything the screen talks to.
pub struct Workers {
    pub agent: Handle,
    pub exec: Exec,
    pub processes: mpsc::Receiver<ProcessEvent>,
    pub store: Store,
}

/// When a frame that was drawn without grammars is drawn again.
const BETTER: Duration = Duration::from_millis(50);
/// How long queued messages are taken in before a frame is drawn.
const DRAIN: Duration = Duration::from_millis(4);

/// The screen, drawn once and waiting for its workers.
pub struct Screen {
    _guard: Guard,
    frames: Frames,
    model: Model,
    cache: ViewCache,
    clock: FrameClock,
    /// Something is drawn that will look better soon (grammars load): another frame then.
    better_at: Option<Instant>,
    /// Orders of the last frame, not yet carried out.
    owed: Vec<Effect>,
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
            cache: ViewCache::default(),
            clock: FrameClock::default(),
            better_at: None,
            owed: Vec::new(),
            trace,
            hung_up: false,
        };
        screen.draw()?;
        Ok(screen)
    }

    fn draw(&mut self) -> io::Result<()> {
        let began = Instant::now();
        let mut layout = None;
        let (model, cache) = (&self.model, &mut self.cache);
        let bytes = self.frames.draw(|frame| layout = Some(crate::ui::draw(model, cache, frame)))?;
        self.clock.drawn(Instant::now());
        self.better_at = self.cache.wants_frame().then(|| Instant::now() + BETTER);
        if self.trace {
            tracing::info!(bytes, micros = began.elapsed().as_micros(), "frame");
        }
        if let Some(layout) = layout
            && (layout != self.model.layout || self.model.transcript.scroll != 0 || self.model.copying.is_some())
        {
            let read = approvals::reading(&self.model);
            let effects = update(&mut self.model, crate::agent::now(), Msg::Drawn(Box::new(layout)));
            self.owed.extend(effects);
            if approvals::reading(&self.model) != read {
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
        first: Option<String>,
        mut signals: Signals,
    ) -> io::Result<Ended> {
        trim::later();
        let mut input = Reader::start()?;
        let (replies, mut heard) = mpsc::channel(64);
        let mut hands = effects::Hands::new(&workers, &context, replies);
        let mut agent_gone = false;
        let (mcp, backends) = (context.mcp.clone(), context.backends.clone());
        let mut servers_changed = mcp.changes();
        servers_changed.mark_changed();
        let start = crate::app::start(&mut self.model);
        self.owed.extend(start);
        if let Some(text) = first {
            self.owed.push(Effect::Agent(crate::protocol::AgentCommand::Submit { text, images: Vec::new() }));
        }
        loop {
            let owed = std::mem::take(&mut self.owed);
            for effect in owed {
                match hands.carry_out(effect, &mut self.frames, &self.model) {
                    effects::Then::GoOn => {}
                    effects::Then::Redraw => self.clock.want(Urgency::Input),
                    effects::Then::Suspend => {
                        // The shell reads the terminal itself: nobody else may.
                        input.stop().await;
                        let msg = effects::suspend(&mut self.frames, self.model.mouse_captured)?;
                        input = Reader::start()?;
                        if self.model.caret != crate::app::vi::Caret::Usual {
                            self.frames.send(effects::caret(self.model.caret))?;
                        }
                        // Keys meant for the shell (Ctrl-C) are no signals for this program.
                        signals = Signals::new()?;
                        self.take_in(msg, Urgency::Input);
                    }
                    effects::Then::Leave { code, demo } => {
                        // The agent may be waiting for a machine that is on its way.
                        backends.give_up();
                        hands.leave(&mut workers, &mut heard).await;
                        // The shell that comes next must find all that is typed once the terminal is its own.
                        input.stop().await;
                        let spoke = !self.model.transcript.cells.is_empty();
                        let kept = std::mem::take(&mut self.model.processes.kept);
                        return Ok(Ended {
                            code,
                            demo,
                            spoke,
                            session: self.model.session.take(),
                            kept,
                            hung_up: self.hung_up,
                        });
                    }
                }
            }
            if self.clock.due(Instant::now()).is_some_and(|at| at <= Instant::now()) {
                if let Err(error) = self.draw() {
                    // The terminal is gone: leave the orderly way, with drafts and sessions saved.
                    tracing::warn!("the terminal took no frame: {error}");
                    self.hang_up(&workers.exec);
                    self.take_in(Msg::Terminated, Urgency::Background);
                    self.clock.drawn(Instant::now());
                }
                if !self.owed.is_empty() {
                    continue;
                }
            }
            let better_at = self.better_at.map(tokio::time::Instant::from_std);
            let frame_at = self.clock.due(Instant::now()).map(tokio::time::Instant::from_std);
            let first = tokio::select! {
                biased;
                hung_up = signals.next() => {
                    if hung_up {
                        self.hang_up(&workers.exec);
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
                        self.hang_up(&workers.exec);
                        (Msg::Terminated, Urgency::Input)
                    }
                },
                () = until(frame_at) => continue,
                () = until(better_at) => {
                    self.better_at = None;
                    self.clock.want(Urgency::Background);
                    continue;
                }
                event = workers.agent.events.recv(), if !agent_gone => match event {
                    Some(event) => (Msg::Agent(event), Urgency::Background),
                    None => {
                        agent_gone = true;
                        let text = "the agent ended by itself; the log says why. Quit and resume with hermes -c".to_owned();
                        (Msg::Agent(AgentEvent::NotTaken(text)), Urgency::Input)
                    }
                },
                Some(event) = workers.processes.recv() => (Msg::Process(event), Urgency::Background),
                Some(msg) = heard.recv() => (msg, Urgency::Background),
                Ok(()) = servers_changed.changed() => {
                    (Msg::Servers(servers::rows(&mcp)), Urgency::Background)
                }
                () = hands.woken() => (Msg::Woke, Urgency::Background),
            };
            self.take_in(first.0, first.1);
            hands.look();
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
        let effects = update(&mut self.model, crate::agent::now(), msg);
        self.owed.extend(effects);
        self.clock.want(urgency);
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
            } else if let Ok(event) = workers.agent.events.try_recv() {
                self.take_in(Msg::Agent(event), Urgency::Background);
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

/// Facts that a person waits for.
fn is_urgent(msg: &Msg) -> bool {
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

/// What loads and effects need beside the workers.
#[derive(Clone)]
pub struct Context {
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
    /// The files of the policy: what the screen writes for the person goes through it.
    pub policy: Arc<crate::agent::frozen::Frozen>,
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

//! Carries out what `update` orders. Long work goes to tasks that answer with messages.

use super::browser_login::BrowserLogin;
use super::open_tabs::OpenTabs;
use super::paths::Paths;
use super::typed::Typed;
use super::{Context, Workers, editor, loads};
use crate::app::effect::{AccountOrder, LoadRequest, ServerOrder};
use crate::app::input::vi::Caret;
use crate::app::model::servers::ServerFact;
use crate::app::session::sessions;
use crate::app::{Effect, Model, Msg};
use crate::engine::SessionSpec;
use crate::exec::Exec;
use crate::lock::lock;
use crate::protocol::SessionId;
use crate::store::Store;
use crate::term::{Frames, Guard, Shape};
use std::collections::HashMap;
use std::mem::Discriminant;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The longest wait for the last writes at the end.
const SHUTDOWN_WAIT: std::time::Duration = std::time::Duration::from_secs(3);

/// What the loop does after an effect.
pub enum ControlFlow {
    GoOn,
    /// A fact that is known at once.
    Tell(Box<Msg>),
    Redraw,
    /// The shell takes the terminal for a while.
    Suspend,
    Leave {
        code: i32,
        demo: bool,
    },
}

/// The hands of the screen: senders and running loads.
pub struct EffectRunner {
    exec: Exec,
    store: Store,
    context: Context,
    replies: mpsc::Sender<Msg>,
    /// The latest load of each kind; an older one is dropped.
    loads: HashMap<Discriminant<LoadRequest>, tokio::task::JoinHandle<()>>,
    /// Milliseconds since the epoch; the earliest counts.
    wake_at: Option<i64>,
    /// Store jobs likewise, so that a draft never overtakes a later one.
    jobs: mpsc::UnboundedSender<crate::store::StoreJob>,
    /// Changes of files of the home folder: one after another, none is dropped.
    writes: mpsc::UnboundedSender<LoadRequest>,
    paths: Paths,
    login: BrowserLogin,
    sign_in: BrowserLogin,
    downloads: super::local_models::Downloads,
    watch: crate::engine::Watch,
    job_pump: Option<tokio::task::JoinHandle<()>>,
    /// The session in view, as plugins and hooks know it.
    shown: Option<SessionId>,
    tabs: Arc<Mutex<OpenTabs>>,
    talk: super::talk::Talk,
}

impl EffectRunner {
    /// Hands for these workers.
    pub fn new(context: &Context, replies: mpsc::Sender<Msg>) -> Self {
        let services = context.engine.services();
        // It holds what a person typed: a handful of entries, never a stream.
        let (jobs, mut work) = mpsc::unbounded_channel();
        let (store, answers) = (services.store.clone(), replies.clone());
        let masks = context.loaded.config.security.redact_secrets.then(|| context.elsewhere.secrets.clone());
        let mut typed = Typed::new(masks);
        let job_pump = tokio::spawn(async move {
            let opened = store.opened().await;
            let _ = answers
                .send(Msg::Store(crate::store::StoreReply::Opened { path: opened.path, warning: opened.warning }))
                .await;
            while let Some(job) = work.recv().await {
                let reply = store.job(typed.masked(job)).await;
                if let Some(reply) = reply
                    && answers.send(Msg::Store(typed.as_typed(reply))).await.is_err()
                {
                    break;
                }
            }
        });
        let (store, told) = (services.store.clone(), replies.clone());
        tokio::spawn(async move {
            let mut trouble = None;
            loop {
                trouble = store.trouble_after(trouble.as_deref()).await;
                let saving = crate::store::StoreReply::Saving(trouble.clone());
                if told.send(Msg::Store(saving)).await.is_err() {
                    break;
                }
            }
        });
        let (paths, told) = (context.paths.clone(), replies.clone());
        tokio::task::spawn_blocking(move || {
            // The screen is gone already: the next one finds the last list.
            let _ = told.blocking_send(Msg::LostTabs(super::open_tabs::lost(&paths)));
        });
        let (writes, mut changes) = mpsc::unbounded_channel();
        let (home, told) = (context.clone(), replies.clone());
        tokio::spawn(async move {
            while let Some(request) = changes.recv().await {
                let (home, done) = (home.clone(), loads::write(request));
                let Ok(reply) = tokio::task::spawn_blocking(move || done(&home)).await else { continue };
                if let Some(reply) = reply
                    && told.send(reply).await.is_err()
                {
                    break;
                }
            }
        });
        Self {
            writes,
            exec: services.exec.clone(),
            store: services.store.clone(),
            context: context.clone(),
            replies,
            loads: HashMap::new(),
            wake_at: None,
            jobs,
            paths: Paths::default(),
            login: Default::default(),
            sign_in: Default::default(),
            downloads: Default::default(),
            watch: Default::default(),
            shown: None,
            talk: Default::default(),
            tabs: Arc::new(Mutex::new(OpenTabs::new(&context.paths))),
            job_pump: Some(job_pump),
        }
    }

    /// Another program asks something of this window.
    pub fn asked(&mut self, ask: crate::engine::ScreenAsk) -> Msg {
        self.talk.asked(ask, &self.replies)
    }

    /// Carries out one effect.
    pub fn carry_out(&mut self, effect: Effect, frames: &mut Frames, model: &Model) -> ControlFlow {
        match effect {
            Effect::Agent(order) => {
                if let Some(session) = &model.tab.of {
                    self.context.engine.order(session, order);
                }
            }
            Effect::Of(session, order) => self.context.engine.order(&session, order),
            Effect::Open { tab, opens, cwd, model, parent } => {
                let model = model.or_else(|| self.context.spec.model.clone());
                let spec = SessionSpec { opens, cwd: cwd.into(), model, parent, ..self.context.spec.clone() };
                return ControlFlow::Tell(Box::new(Msg::Bound(tab, self.context.engine.open(spec))));
            }
            Effect::Close { session, cleared } => self.context.engine.close(&session, cleared),
            Effect::SaveTabs(sessions) => {
                let tabs = Arc::clone(&self.tabs);
                tokio::task::spawn_blocking(move || {
                    if let Err(error) = lock(&tabs).save(&sessions) {
                        tracing::warn!("the list of open tabs was not saved: {error}");
                    }
                });
            }
            Effect::Window(id, word) => self.talk.answer(id, word),
            Effect::Server(order) => self.server(order, model),
            Effect::Account(order) => self.account(order, model),
            Effect::Local(order) => self.downloads.order(order, &self.context, self.replies.clone()),
            Effect::Process(order) => self.exec.command(order),
            Effect::Store(job) => {
                let _ = self.jobs.send(job);
            }
            Effect::Load(LoadRequest::Demo) => return ControlFlow::Leave { code: 0, demo: true },
            Effect::Load(
                request @ (LoadRequest::SetConfig { .. }
                | LoadRequest::SaveModel { .. }
                | LoadRequest::SaveKey { .. }
                | LoadRequest::UseServer { .. }),
            ) => {
                let _ = self.writes.send(request);
            }
            Effect::Load(request) => self.load(request, model),
            Effect::Copy(text) => {
                let offered = crate::term::offer(&text).is_some_and(|sequence| frames.send(&sequence).is_ok());
                let replies = self.replies.clone();
                tokio::task::spawn_blocking(move || {
                    // Closed only when the program ends.
                    let _ = replies.blocking_send(Msg::Copied(crate::term::copy(&text, offered)));
                });
            }
            Effect::Edit(text) => {
                let (exec, replies) = (self.exec.clone(), self.replies.clone());
                let cwd = PathBuf::from(sessions::cwd(model));
                tokio::spawn(editor::edit(text, exec, cwd, replies));
            }
            Effect::Title(title) => self.write(frames, &format!("\x1b]2;{}\x07", plain(&title))),
            Effect::Notify(text) => self.write(frames, &format!("\x07\x1b]9;{}\x07", plain(&text))),
            Effect::WakeAt(at) => self.wake_at = Some(self.wake_at.map_or(at, |before| before.min(at))),
            Effect::Caret(shape) => self.write(frames, caret(shape)),
            Effect::Mouse(on) => self.write(frames, Guard::mouse(on)),
            Effect::Repaint => {
                if let Err(error) = frames.clear() {
                    tracing::warn!("could not clear the screen: {error}");
                }
                return ControlFlow::Redraw;
            }
            Effect::Suspend => return ControlFlow::Suspend,
            Effect::Quit(code) => return ControlFlow::Leave { code, demo: false },
        }
        ControlFlow::GoOn
    }

    /// Comes back when the earliest wake-up is due; never when none was asked for.
    pub async fn woken(&mut self) {
        match self.wake_at {
            Some(at) => {
                let wait = u64::try_from(at.saturating_sub(crate::agent::now())).unwrap_or(0);
                tokio::time::sleep_until(Instant::now() + std::time::Duration::from_millis(wait)).await;
                self.wake_at = None;
            }
            None => std::future::pending().await,
        }
    }

    fn load(&mut self, request: LoadRequest, model: &Model) {
        let key = std::mem::discriminant(&request);
        let session = model.tab.of.clone();
        let (context, replies) = (self.context.of(session.as_ref()), self.replies.clone());
        // What is known of a model outlives the tab that it was chosen in.
        let session =
            session.filter(|_| !matches!(request, LoadRequest::Ability { .. } | LoadRequest::SelfTest { .. }));
        let facts = loads::Facts::of(model, self.store.clone());
        if let LoadRequest::Paths { word } = request {
            let task = tokio::spawn(self.paths.clone().answer(facts.cwd, word, replies));
            return self.replace(key, task);
        }
        let task = tokio::spawn(async move {
            if let Some(reply) = loads::answer(request, context, facts).await {
                let reply = match session {
                    // Another tab may be in view by now.
                    Some(session) => Msg::Of(session, Box::new(reply)),
                    None => reply,
                };
                // The screen is gone: nobody waits.
                let _ = replies.send(reply).await;
            }
        });
        self.replace(key, task);
    }

    fn replace(&mut self, key: Discriminant<LoadRequest>, task: tokio::task::JoinHandle<()>) {
        if let Some(before) = self.loads.insert(key, task) {
            before.abort();
        }
    }

    /// Notices what others changed meanwhile.
    pub fn look(&mut self, model: &Model) {
        if self.shown != model.tab.of {
            self.shown.clone_from(&model.tab.of);
            if let Some(session) = &self.shown {
                self.context.extensions.show(&session.0);
            }
        }
        if let Some(looked) = self.watch.look(&self.context.engine) {
            let replies = self.replies.clone();
            tokio::spawn(async move {
                if looked.await {
                    // The screen is gone: nobody waits.
                    let _ = replies.send(Msg::Server(ServerFact::ConfigChanged)).await;
                }
            });
        }
    }

    fn server(&mut self, order: ServerOrder, model: &Model) {
        // The policy as the session in view knows it: it may have taken a change a moment ago.
        let context = self.context.of(model.tab.of.as_ref());
        match order {
            // A server that is gone meanwhile has nothing to switch.
            ServerOrder::Switch { name, on } => drop(context.mcp.switch(&name, on)),
            ServerOrder::Reload(why) => {
                let replies = self.replies.clone();
                tokio::spawn(async move {
                    let result = super::servers::reload(&context).await;
                    // The screen is gone: nobody waits.
                    let _ = replies.send(Msg::Server(ServerFact::Read { result, why })).await;
                });
            }
            ServerOrder::Login { name } => {
                let replies = self.replies.clone();
                self.login.begin(|pasted| super::servers::log_in(name, context.mcp, replies, pasted));
            }
            ServerOrder::CameBack { address } => self.login.came_back(address),
            ServerOrder::LeaveLogin => self.login.leave(),
        }
    }

    fn account(&mut self, order: AccountOrder, model: &Model) {
        match order {
            AccountOrder::SignIn { provider } => {
                let (context, replies) = (self.context.of(model.tab.of.as_ref()), self.replies.clone());
                self.sign_in.begin(|pasted| super::accounts::sign_in(provider, context, replies, pasted));
            }
            // Without a browser the person follows the address by hand.
            AccountOrder::Browse { address } => drop(crate::exec::browse(&address)),
            AccountOrder::CameBack { address } => self.sign_in.came_back(address),
            AccountOrder::Leave => self.sign_in.leave(),
        }
    }

    fn write(&self, frames: &mut Frames, sequence: &str) {
        if let Err(error) = frames.send(sequence) {
            tracing::warn!("could not write to the terminal: {error}");
        }
    }

    /// Lets queued jobs (drafts) finish and the sessions close. Facts that nobody reads any more are taken in, so that none
    /// waits for room.
    pub async fn leave(mut self, workers: &mut Workers, heard: &mut mpsc::Receiver<Msg>) {
        self.jobs = mpsc::unbounded_channel().0;
        let work = async {
            let pump = async {
                if let Some(pump) = self.job_pump.take() {
                    let _ = pump.await;
                }
            };
            let sessions = self.context.engine.close_all(&mut workers.events);
            let replies = async { while heard.recv().await.is_some() {} };
            let downloads = self.downloads.leave();
            tokio::select! {
                _ = futures::future::join3(pump, sessions, downloads) => {}
                () = replies => {}
            }
            self.store.close().await;
        };
        if tokio::time::timeout(SHUTDOWN_WAIT, work).await.is_err() {
            tracing::warn!("quit before everything was written");
        }
        self.login.leave();
        lock(&self.tabs).close();
    }
}

/// The sequence for the cursor of a field.
pub fn caret(shape: Caret) -> &'static str {
    crate::term::shape(match shape {
        Caret::Usual => Shape::Usual,
        Caret::Block => Shape::Block,
        Caret::Bar => Shape::Bar,
    })
}

/// Text for a terminal sequence: no control characters, not endless.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(120).collect()
}

/// Gives the terminal to the shell until the person comes back, and takes it again.
pub fn suspend(frames: &mut Frames, mouse: bool) -> std::io::Result<Msg> {
    crate::term::restore();
    crate::term::suspend()?;
    let (columns, rows) = frames.size()?;
    let (guard, first) = Guard::enter(mouse)?;
    // The screen's own guard restores at the end; this one only entered again.
    std::mem::forget(guard);
    frames.send(&first)?;
    frames.clear()?;
    Ok(Msg::Resized(columns, rows))
}

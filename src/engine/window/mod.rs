//! Windows that talk: each process in which a session is open listens on a socket of its owner, `HERMES_HOME/run/PID.sock`.
//! What another program of the same person asks there is answered from the `board`, or carried out like an order from the
//! screen. What a command of an agent asks is asked about first: only a person talks for themselves.

mod board;
mod client;

pub(super) use board::Board;
pub use client::{call, listening, windows};

use super::Engine;
use crate::config::Paths;
use crate::exec;
use crate::fs::{ensure_dir, remove};
use crate::protocol::{
    AgentCommand, Decision, SessionId, SessionState, VERSION, WaitingId, WindowAnswer, WindowCall, WindowReply,
    WindowRequest, WindowSays, WindowSession, WindowStatus,
};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

/// Bytes of a request.
const MAX_REQUEST_BYTES: u64 = 64 * 1024;
/// How long a program that connected may take to say what it wants.
const REQUEST_WAIT: Duration = Duration::from_secs(5);
/// How long a person has to look at what a command of an agent wants, and a screen to answer.
const PERSON_WAIT: Duration = Duration::from_secs(60);

/// How long another window may take to say what is open in it.
const NEIGHBOUR_WAIT: Duration = Duration::from_millis(300);

/// A request that the screen answers: it knows what is in view, and who may say yes.
#[derive(Debug)]
pub struct ScreenAsk {
    pub request: WindowRequest,
    /// The command of an agent that wants it; `None`: a person.
    pub by: Option<String>,
    pub reply: oneshot::Sender<ScreenWord>,
}

/// What a screen says to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenWord {
    /// The engine carries it out.
    CarryOut,
    /// It is done already.
    Done,
    /// Why not.
    Refuse(String),
}

/// The socket of this process.
pub(super) struct Window {
    home: PathBuf,
    socket: PathBuf,
}

impl Window {
    /// Makes the socket and listens. Blocks for some looks at the disk; must be called inside the runtime.
    pub(super) fn open(paths: &Paths, engine: Engine) -> io::Result<Self> {
        let dir = paths.run();
        ensure_dir(&dir).map_err(io::Error::other)?;
        let socket = client::socket_of(paths, std::process::id());
        let window = Self { home: paths.home.clone(), socket };
        // Of a process that had this number before and was killed.
        window.close();
        // Under another name until it listens: whoever finds a socket that nobody listens on takes it for a dead one.
        let new = dir.join(format!("{}.{:08x}", std::process::id(), fastrand::u32(..)));
        let listener = client::with_short(&new, |short| UnixListener::bind(short))?;
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&new, &window.socket)?;
        tokio::spawn(listen(listener, engine));
        Ok(window)
    }

    /// Nobody finds this process any more.
    pub(super) fn close(&self) {
        remove_socket(&self.home, &self.socket);
    }
}

fn remove_socket(home: &Path, socket: &Path) {
    if let Err(error) = remove::file(remove::File::Window, home, socket) {
        tracing::debug!("{error}");
    }
}

async fn listen(listener: UnixListener, engine: Engine) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let engine = engine.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, &engine).await {
                        tracing::debug!("a program left before it was answered: {error}");
                    }
                });
            }
            Err(error) => {
                // No descriptor is free: it is tried again once some are.
                tracing::warn!("cannot hear another window: {error}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

async fn serve(mut stream: UnixStream, engine: &Engine) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    let reply = if peer.uid() == rustix::process::geteuid().as_raw() {
        // Who it is counts from its first moment on.
        let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
        let paths = engine.base().paths.clone();
        let looks = move || {
            let mut known: Vec<u32> = windows(&paths).into_iter().map(|(pid, _)| pid).collect();
            known.push(std::process::id());
            match pid {
                // It has left: nobody is there to hear.
                Some(pid) if !exec::is_there(pid) => None,
                Some(pid) => Some(exec::command_above(pid, &known)),
                None => Some(Some(String::new())),
            }
        };
        let Some(by) = tokio::task::spawn_blocking(looks).await.unwrap_or(Some(Some(String::new()))) else {
            return Ok(());
        };
        match request(&mut stream).await {
            Ok(request) => {
                tokio::select! {
                    reply = engine.answer(request, by) => reply,
                    () = left(&stream) => return Ok(()),
                }
            }
            Err(why) => WindowReply::Refused(why),
        }
    } else {
        WindowReply::Refused("this window belongs to another user".into())
    };
    let mut line = serde_json::to_vec(&WindowAnswer { version: VERSION, reply }).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    stream.shutdown().await
}

/// Comes back when whoever asked has left. One that only says that no more requests follow still reads.
async fn left(stream: &UnixStream) {
    let mut rest = [0; 64];
    loop {
        let ended = match stream.readable().await.and_then(|()| stream.try_read(&mut rest)) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(_) => return,
        };
        if ended {
            match stream.ready(Interest::WRITABLE).await {
                Ok(ready) if !ready.is_write_closed() => return std::future::pending().await,
                Ok(_) | Err(_) => return,
            }
        }
    }
}

async fn request(stream: &mut UnixStream) -> Result<WindowRequest, String> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream.take(MAX_REQUEST_BYTES));
    match tokio::time::timeout(REQUEST_WAIT, reader.read_line(&mut line)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(format!("the request can't be read: {error}")),
        Err(_) => return Err("no request came".into()),
    }
    let call: WindowCall =
        serde_json::from_str(&line).map_err(|error| format!("the request can't be read: {error}"))?;
    if call.version == VERSION {
        Ok(call.request)
    } else {
        Err(format!("this window speaks version {VERSION} of the protocol, not {}", call.version))
    }
}

impl Engine {
    /// Lets other programs find this process. Returns at once.
    pub(super) fn be_found(&self) {
        let engine = self.clone();
        tokio::task::spawn_blocking(move || {
            let open = || {
                Window::open(&engine.base().paths, engine.clone())
                    .inspect_err(|error| tracing::warn!("other windows can't reach this one: {error}"))
                    .ok()
            };
            engine.inner.window.get_or_init(open);
        });
    }

    /// The other windows of this home, with what is open in each; one that does not answer can't be known. Blocks.
    pub fn other_windows(&self) -> Vec<(WindowStatus, Vec<WindowSession>)> {
        self.others().into_iter().map(|(_, status, sessions)| (status, sessions)).collect()
    }

    fn others(&self) -> Vec<(PathBuf, WindowStatus, Vec<WindowSession>)> {
        let paths = &self.base().paths;
        let ask = |(_, socket): (u32, PathBuf)| match call(paths, &socket, WindowRequest::List, Some(NEIGHBOUR_WAIT)) {
            Ok(WindowReply::List { window, sessions }) => Some((socket, window, sessions)),
            Ok(_) | Err(_) => None,
        };
        windows(paths).into_iter().filter_map(ask).collect()
    }

    /// Puts a session in view in the window that it is open in. Blocks.
    ///
    /// # Errors
    /// It is open in no other window, or that one refuses; in words.
    pub fn focus_elsewhere(&self, session: &SessionId) -> Result<(), String> {
        let has = |sessions: &[WindowSession]| sessions.iter().any(|open| open.session == *session);
        let Some((socket, ..)) = self.others().into_iter().find(|(.., sessions)| has(sessions)) else {
            return Err("it is open in no other window any more: resume it here".into());
        };
        let request = WindowRequest::Focus(session.clone());
        match call(&self.base().paths, &socket, request, Some(REQUEST_WAIT)) {
            Ok(WindowReply::Refused(why)) => Err(why),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("that window gave no answer: {error}")),
        }
    }

    /// A session of this home, in any window, that works in a folder or below it: its title. Blocks.
    pub fn open_in(&self, folder: &Path) -> Option<String> {
        let own = board::placed(self.inner.board.sessions());
        let others = self.others().into_iter().flat_map(|(.., sessions)| sessions);
        let found = own.into_iter().chain(others).find(|session| Path::new(&session.cwd).starts_with(folder))?;
        Some(found.title.unwrap_or(found.session.0))
    }

    /// What only a screen can answer goes there from now on.
    pub fn screen_asks(&self) -> mpsc::Receiver<ScreenAsk> {
        let (asks, asked) = mpsc::channel(8);
        *crate::lock::lock(&self.inner.screen) = Some(asks);
        asked
    }

    /// The sessions of this home that work in the checkout of this folder, but for one: those of this process and of other
    /// windows, in which something was said. Blocks.
    pub fn neighbours(&self, session: &SessionId, cwd: &Path) -> Option<(String, Vec<WindowSession>)> {
        let checkout = board::checkout(cwd)?;
        let mut found = board::placed(self.inner.board.sessions());
        let paths = &self.base().paths;
        for (_, socket) in windows(paths) {
            // A window that does not answer can't be known.
            if let Ok(WindowReply::List { sessions: theirs, .. }) =
                call(paths, &socket, WindowRequest::List, Some(NEIGHBOUR_WAIT))
            {
                found.extend(theirs);
            }
        }
        let there = |other: &WindowSession| {
            other.used && other.session != *session && other.checkout.as_ref() == Some(&checkout)
        };
        found.retain(there);
        Some((checkout, found))
    }

    async fn answer(&self, request: WindowRequest, by: Option<String>) -> WindowReply {
        let needs_screen = match &request {
            WindowRequest::Focus(_) => true,
            // A person reads what needs approval, and says yes themselves.
            WindowRequest::Answer { .. } if by.is_some() => {
                return WindowReply::Refused("a command of an agent can't answer for a person".into());
            }
            WindowRequest::List | WindowRequest::Status | WindowRequest::Ask { .. } | WindowRequest::Answer { .. } => {
                by.is_some()
            }
        };
        if !needs_screen {
            return self.carry_out(request).await;
        }
        // Nobody is asked about what can't be done.
        if let WindowRequest::Focus(session) | WindowRequest::Ask { session, .. } = &request
            && !self.inner.board.is_open(session)
        {
            return not_open();
        }
        let screen = crate::lock::lock(&self.inner.screen).clone();
        let Some(screen) = screen else {
            return WindowReply::Refused("no screen is open there, so nobody can allow it".into());
        };
        let (reply, answered) = oneshot::channel();
        if screen.try_send(ScreenAsk { request: request.clone(), by, reply }).is_err() {
            return WindowReply::Refused("that window is busy; try again".into());
        }
        match tokio::time::timeout(PERSON_WAIT, answered).await {
            Ok(Ok(ScreenWord::CarryOut)) => self.carry_out(of_command(request)).await,
            Ok(Ok(ScreenWord::Done)) => WindowReply::Done,
            Ok(Ok(ScreenWord::Refuse(why))) => WindowReply::Refused(why),
            Ok(Err(_)) | Err(_) => WindowReply::Refused("nobody answered there".into()),
        }
    }

    fn status(&self, sessions: &[WindowSession]) -> WindowStatus {
        let count = |state| sessions.iter().filter(|session| session.state == state).count();
        WindowStatus {
            pid: std::process::id(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            folder: self.base().cwd.display().to_string(),
            sessions: sessions.len(),
            waiting: count(SessionState::NeedsAnswer),
            working: count(SessionState::Working),
        }
    }

    /// Does what a person asks of this process, as far as it needs no screen.
    async fn carry_out(&self, request: WindowRequest) -> WindowReply {
        let board = &self.inner.board;
        match request {
            WindowRequest::List => {
                let sessions = board.sessions();
                let window = self.status(&sessions);
                let sessions = tokio::task::spawn_blocking(|| board::placed(sessions)).await.unwrap_or_default();
                WindowReply::List { window, sessions }
            }
            WindowRequest::Status => WindowReply::Status(self.status(&board.sessions())),
            WindowRequest::Focus(_) => WindowReply::Refused("no screen is open there".into()),
            WindowRequest::Ask { text, .. } if text.trim().is_empty() => {
                WindowReply::Refused("the prompt is empty".into())
            }
            WindowRequest::Ask { session, text, wait } => {
                if !board.is_open(&session) {
                    return not_open();
                }
                let answered = if wait { board.wait_for(&session, &text) } else { None };
                self.order(&session, AgentCommand::Steer { text, images: Vec::new() });
                match answered {
                    // Gone with its session.
                    Some(answered) => answered.await.unwrap_or_else(|_| not_open()),
                    None => WindowReply::Done,
                }
            }
            WindowRequest::Answer { session, to, says } => {
                let Some(waiting) = board.waiting(&session, to) else {
                    return WindowReply::Refused("nothing with this number needs an answer there".into());
                };
                if waiting.cut && says == WindowSays::Allow {
                    return WindowReply::Refused("it is too long to be allowed unseen: answer it in its window".into());
                }
                let order = match (to, says) {
                    (WaitingId::Approval(id), WindowSays::Allow) => AgentCommand::Decide(id, Decision::Once),
                    (WaitingId::Approval(id), WindowSays::Deny(feedback)) => {
                        AgentCommand::Decide(id, Decision::Deny { feedback })
                    }
                    (WaitingId::Question(id), WindowSays::Text(text)) => AgentCommand::Answer(id, text),
                    (WaitingId::Approval(_), WindowSays::Text(_)) => {
                        return WindowReply::Refused("this needs approval: answer with --allow or --deny".into());
                    }
                    (WaitingId::Question(_), WindowSays::Allow | WindowSays::Deny(_)) => {
                        return WindowReply::Refused("this is a question: answer with text".into());
                    }
                };
                self.order(&session, order);
                WindowReply::Done
            }
        }
    }
}

/// A prompt that a command gives says so.
fn of_command(request: WindowRequest) -> WindowRequest {
    match request {
        WindowRequest::Ask { session, text, wait } => {
            WindowRequest::Ask { session, text: format!("[A command of another session asks:] {text}"), wait }
        }
        other => other,
    }
}

fn not_open() -> WindowReply {
    WindowReply::Refused("this session is not open there".into())
}

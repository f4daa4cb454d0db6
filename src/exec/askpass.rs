//! The answers that `sudo`, `ssh` and `git` want, over a private socket: the helper that they run (this program by another
//! name) asks here, and the person sees who asks and for which command.
//!
//! The socket lies in a folder of the owner. Who connects must be a process that a running command of ours started
//! (`peer`). What the person types for `sudo` is kept for a while (`memory`), for lines that are nothing but a `sudo` (`line`).

mod client;
mod line;
mod memory;
mod peer;
mod probe;
mod under_way;

pub use client::{HELPER, ask};
pub(super) use memory::Passwords;
pub(super) use under_way::UnderWay;

use super::asks::{Answer, Wanted};
use super::env::Env;
use super::hub::Hub;
use super::process::{Process, lock};
use super::procfs::{self, Identity};
use super::scratch::Scratch;
use super::who::{self, Program};
use super::{Hidden, ProcessEvent};
use crate::text::visible::visible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::UCred;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;

/// The socket in the private folder.
const SOCKET: &str = "ask";
/// Bytes of a question.
const MOST: usize = 4096;
/// How long a helper may take to say what it wants.
const QUESTION: Duration = Duration::from_secs(5);
/// Bytes that the address of a socket may have on every system.
const ADDRESS: usize = 100;
/// Variables that name the helper.
const SUDO: &str = "SUDO_ASKPASS";
const GIT: &str = "GIT_ASKPASS";
const SSH: &str = "SSH_ASKPASS";
const SSH_REQUIRE: &str = "SSH_ASKPASS_REQUIRE";
const GIT_PROMPT: &str = "GIT_TERMINAL_PROMPT";
/// How soon and how often it is looked whether the command of a `sudo` runs.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);

/// What `ssh` says about a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// A password or passphrase, unless its words say otherwise.
    Answer = b'a' as isize,
    /// Yes or no.
    Confirm = b'c' as isize,
    /// Nothing is asked, only told: touch the key.
    None = b'n' as isize,
}

impl Hint {
    /// Of the variable `SSH_ASKPASS_PROMPT`.
    pub(super) fn of(value: Option<&str>) -> Self {
        match value {
            Some("confirm") => Self::Confirm,
            Some("none") => Self::None,
            _ => Self::Answer,
        }
    }

    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Answer, Self::Confirm, Self::None].into_iter().find(|hint| *hint as u8 == byte)
    }
}

/// Where helpers ask. The folder and the task go with this value.
pub(crate) struct Askpass {
    folder: Scratch,
    task: JoinHandle<()>,
}

impl Drop for Askpass {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Askpass {
    /// Makes the folder with its socket and the link to this program, and listens.
    pub(crate) fn start(hub: &Arc<Hub>, program: &Path) -> io::Result<Self> {
        let folder = Scratch::new(&room(), "askpass")?;
        std::os::unix::fs::symlink(target(program)?, folder.path().join(HELPER))?;
        let listener = UnixListener::bind(folder.path().join(SOCKET))?;
        let hub = Arc::downgrade(hub);
        let task = tokio::spawn(listen(listener, hub));
        Ok(Self { folder, task })
    }

    /// Removes the folder; nobody can ask any more.
    pub(crate) fn discard(&self) {
        self.task.abort();
        self.folder.discard();
    }

    /// What a command gets so that programs ask here. A helper of the person's own stays. `headless`: nobody can answer, and
    /// no program must wait for somebody.
    pub(crate) fn variables(&self, base: &Env, headless: bool) -> Vec<(&'static str, OsString)> {
        let has = |name: &str| base.get(OsStr::new(name)).is_some_and(|value| !value.is_empty());
        let helper = || self.folder.path().join(HELPER).into_os_string();
        let mut found = Vec::new();
        for name in [SUDO, GIT] {
            if !has(name) {
                found.push((name, helper()));
            }
        }
        // Desktops name a helper of theirs for all; who says when it is to be used means it.
        if !has(SSH_REQUIRE) {
            // Without a display `prefer` means never.
            let shown = !headless && (has("DISPLAY") || has("WAYLAND_DISPLAY"));
            found.push((SSH, helper()));
            found.push((SSH_REQUIRE, if shown { "prefer" } else { "force" }.into()));
        }
        if headless && !has(GIT_PROMPT) {
            found.push((GIT_PROMPT, "0".into()));
        }
        found
    }
}

/// Takes what [`Askpass::variables`] gave out of what a command exported: it is no change of the command's.
pub(crate) fn forget(given: &[(&'static str, OsString)], base: &Env, exported: &mut Env) {
    for (name, value) in given {
        let name = OsStr::new(name);
        if exported.get(name) == Some(value) {
            match base.get(name) {
                Some(before) => exported.insert(name.to_owned(), before.clone()),
                None => exported.remove(name),
            };
        }
    }
}

/// The folder for temporary files, or a shorter one: the address of a socket has little room.
fn room() -> PathBuf {
    let usual = std::env::temp_dir();
    let longest = "/hermes-askpass-4294967295-ffffff/".len() + SOCKET.len();
    if usual.as_os_str().len() + longest <= ADDRESS { usual } else { "/tmp".into() }
}

/// What the link leads to. `program` may be a path that means another file for each process that follows it.
fn target(program: &Path) -> io::Result<PathBuf> {
    let real = std::fs::read_link(program).unwrap_or_else(|_| program.to_owned());
    if who::is_same_file(&real, program) {
        return Ok(real);
    }
    // Replaced since it was started.
    if cfg!(target_os = "linux") && program.starts_with("/proc/self") && program.exists() {
        return Ok(PathBuf::from(format!("/proc/{}/exe", std::process::id())));
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "this program's file is gone"))
}

/// How long a command that began may need until it is in the table, on a machine with much to do.
const IN_TABLE: Duration = Duration::from_secs(1);

/// Connections of which nobody knows yet whose they are; others wait in the queue of the socket.
const UNKNOWN: usize = 64;
/// How long one that was refused may take to hear it.
const HEARS: Duration = Duration::from_secs(1);

async fn listen(listener: UnixListener, hub: Weak<Hub>) {
    let room = Arc::new(Semaphore::new(UNKNOWN));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let hub = Weak::clone(&hub);
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, &hub, permit).await {
                        tracing::debug!("a helper went away: {error}");
                    }
                });
            }
            Err(error) => {
                // No descriptor is free: it is tried again once some are.
                tracing::warn!("no question can be taken: {error}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// `permit` is held until it is known that the one that connected may ask.
async fn serve(mut stream: UnixStream, hub: &Weak<Hub>, permit: OwnedSemaphorePermit) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    let Some(hub) = hub.upgrade() else { return Ok(()) };
    let (asking, _place) = match asking_soon(&hub, peer).await.and_then(|asking| {
        let place = hub.asking.place(asking.process.pid)?;
        Ok((asking, place))
    }) {
        Ok(asking) => asking,
        Err(why) => {
            say(&mut stream, b"n", why.as_bytes()).await?;
            // What it asks has to be read, or it does not hear this.
            let mut rest = [0; MOST];
            let drained = async { while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {} };
            tokio::time::timeout(HEARS, drained).await.ok();
            return Ok(());
        }
    };
    drop(permit);
    let answer = match question(&mut stream).await? {
        Some(question) => asking.answer(&hub, question, &mut stream).await,
        None => Err("the question cannot be read".into()),
    };
    match &answer {
        Ok(text) => say(&mut stream, b"y", text.reveal().as_bytes()).await,
        Err(why) => say(&mut stream, b"n", why.as_bytes()).await,
    }
}

async fn say(stream: &mut UnixStream, kind: &[u8], text: &[u8]) -> io::Result<()> {
    stream.write_all(kind).await?;
    stream.write_all(text).await?;
    stream.shutdown().await
}

async fn question(stream: &mut UnixStream) -> io::Result<Option<Question>> {
    let mut question = Vec::new();
    let reading = async {
        while !question.contains(&0) && question.len() <= MOST {
            if stream.read_buf(&mut question).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
        }
        Ok(())
    };
    tokio::time::timeout(QUESTION, reading).await.map_err(io::Error::other)??;
    Ok(parse(&question))
}

/// What a helper sends: a byte for the hint, and the words, which end with a zero byte.
#[derive(Debug, PartialEq)]
struct Question {
    hint: Hint,
    /// One line, its control characters made visible.
    prompt: String,
}

fn parse(question: &[u8]) -> Option<Question> {
    let (hint, words) = question.strip_suffix(&[0])?.split_first()?;
    let words = String::from_utf8_lossy(words);
    // Breaks of lines are common and mean nothing.
    let plain = words.split(['\r', '\n', '\t', ' ']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    Some(Question { hint: Hint::from_byte(*hint)?, prompt: visible(&plain).text })
}

/// A process that may ask.
struct Asking {
    process: Arc<Process>,
    /// The process that connected.
    peer: u32,
    /// It is our own helper, so whoever ran it asks.
    is_helper: bool,
    by: Identity,
    program: Program,
}

/// A command is in the table a moment after it has begun, and may be quick to ask.
async fn asking_soon(hub: &Arc<Hub>, peer: UCred) -> Result<Asking, String> {
    let deadline = tokio::time::Instant::now() + IN_TABLE;
    loop {
        // Looked at before the table is: a launch that ends in between has put its command there.
        let begins = hub.asking.is_launching() && tokio::time::Instant::now() < deadline;
        let looked = Arc::clone(hub);
        let found = tokio::task::spawn_blocking(move || asking(&looked, &peer)).await;
        match found.map_err(|error| error.to_string())? {
            Err(_) if begins => tokio::time::sleep(IN_TABLE / 50).await,
            done => return done,
        }
    }
}

fn asking(hub: &Hub, peer: &UCred) -> Result<Asking, String> {
    let refused = || "only what a running command of Hermes started may ask: nobody was asked".to_owned();
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0).ok_or_else(refused)?;
    if peer.uid() != rustix::process::geteuid().as_raw() || !peer::proc_is_ours() {
        return Err(refused());
    }
    let running: Vec<Arc<Process>> = hub.all().into_iter().filter(|process| !process.over()).collect();
    let leaders: Vec<u32> = running.iter().map(|process| process.pid).collect();
    let leader = peer::leader_of(pid, &leaders, &procfs::stat).ok_or_else(refused)?;
    let process = running.into_iter().find(|process| process.pid == leader).ok_or_else(refused)?;
    let program = hub.options.program.as_deref();
    let is_helper = program.is_some_and(|program| who::is_same_file(Path::new(&format!("/proc/{pid}/exe")), program));
    let by = if is_helper { procfs::stat(pid).ok_or_else(refused)?.parent } else { pid };
    let by = Identity::of(by).ok_or_else(refused)?;
    Ok(Asking { process, peer: pid, is_helper, by, program: who::of(by.pid) })
}

impl Asking {
    async fn answer(self, hub: &Arc<Hub>, question: Question, stream: &mut UnixStream) -> Result<Hidden, String> {
        let Question { hint, prompt } = question;
        let task = &self.process.task;
        let is_sudo = self.is_helper && who::is_sudo(self.by.pid);
        let again = is_sudo && hub.passwords.is_back(task, self.by);
        let keeps = is_sudo && line::is_all_of(&self.process, self.by);
        if keeps
            && !again
            && let Some(password) = hub.passwords.give(task, self.by, Instant::now())
        {
            let words =
                format!("sudo was told the password that is kept, for: {}", visible(&self.process.command).text);
            hub.outbox.post(ProcessEvent::Told(self.process.id.clone(), words));
            self.keep_when_right(hub);
            return Ok(password);
        }
        let who = self.program.name.clone();
        if hub.options.headless {
            return Err(format!(
                "{who} asks “{prompt}”, and nobody can answer: this runs without a person. Give it a key, a token or a rule \
                 that needs no password"
            ));
        }
        if hint == Hint::None {
            hub.outbox.post(ProcessEvent::Told(self.process.id.clone(), format!("{who}: {prompt}")));
            return Ok(Hidden::default());
        }
        let stranger = !self.program.known;
        let path = self.program.path.clone();
        let wanted = Wanted { who, path, masked: is_masked(hint, &prompt), prompt, again, stranger };
        let (sender, heard) = oneshot::channel();
        let id = hub.ask(&self.process, wanted, Answer::Helper(sender));
        tracing::debug!("helper {} of {} asks", self.peer, self.process.id.0);
        let mut rest = [0; 1];
        let answer = tokio::select! {
            answer = heard => answer.ok().flatten(),
            // The helper says nothing more; when it reads no longer, its program has ended.
            _ = stream.read(&mut rest) => {
                hub.unask(id);
                return Err("it went away".into());
            }
        };
        let answer = answer.ok_or("the person gave no answer")?;
        if keeps {
            hub.passwords.typed(&self.process.task, self.by, answer.clone());
            self.keep_when_right(hub);
        } else if is_sudo {
            hub.passwords.answered(&self.process.task, self.by);
        }
        Ok(answer)
    }

    /// Keeps what this `sudo` was given once its command runs, or it ended well: it is all of its line. Its words are no
    /// proof, since they are in the language of the person.
    fn keep_when_right(&self, hub: &Arc<Hub>) {
        let (hub, process, sudo) = (Arc::downgrade(hub), Arc::clone(&self.process), self.by);
        tokio::spawn(async move {
            let mut phase = process.phase.subscribe();
            let mut pause = FIRST_LOOK;
            let is_right = loop {
                let exited = tokio::time::timeout(pause, phase.wait_for(|phase| phase.exited)).await.is_ok();
                if exited {
                    break lock(&process.life).exit.as_ref().is_some_and(|exit| exit.code == 0);
                }
                // It asked again, or the program ends.
                if hub.upgrade().is_none_or(|hub| !hub.passwords.is_given(&process.task, sudo)) {
                    return;
                }
                let looked_at = Arc::clone(&process);
                let begun = tokio::task::spawn_blocking(move || line::has_begun(&looked_at, sudo)).await;
                if begun.unwrap_or_default() {
                    break true;
                }
                pause = (pause * 2).min(LAST_LOOK);
            };
            let Some(hub) = hub.upgrade() else { return };
            if !is_right {
                hub.passwords.drop_given(&process.task, sudo);
            } else if hub.passwords.proved(&process.task, sudo, Instant::now()) {
                tokio::spawn(wipe_old(Arc::downgrade(&hub)));
            }
        });
    }
}

/// Wipes what is kept once it is too old, though nobody asks for it; ends when nothing is kept.
async fn wipe_old(hub: Weak<Hub>) {
    while let Some(next) = hub.upgrade().and_then(|hub| hub.passwords.expire(Instant::now())) {
        tokio::time::sleep_until(next.into()).await;
    }
}

/// Whether what is typed must not be seen: all but names and plain yes or no.
fn is_masked(hint: Hint, prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    let open = lower.starts_with("username") || lower.contains("(yes/no");
    hint == Hint::Answer && !open
}

impl Hub {
    /// What the next command gets so that programs ask here; nothing where the helper cannot be had.
    pub(crate) async fn askpass(self: &Arc<Self>, base: &Env, headless: bool) -> Vec<(&'static str, OsString)> {
        let start = || async {
            let program = self.options.program.as_deref()?;
            Askpass::start(self, program).inspect_err(|error| tracing::warn!("no program can ask here: {error}")).ok()
        };
        self.askpass.get_or_init(start).await.as_ref().map_or(Vec::new(), |askpass| askpass.variables(base, headless))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_one_plain_line() {
        let question = |hint, prompt: &str| Some(Question { hint, prompt: prompt.into() });
        assert_eq!(parse(b"aPassword:\0"), question(Hint::Answer, "Password:"));
        assert_eq!(
            parse(b"cThe host\r\nkey \x1b[31mis\x07 new\0"),
            question(Hint::Confirm, "The host key ␛[31mis␇ new")
        );
        assert_eq!(parse("aa\u{202e}b\0".as_bytes()), question(Hint::Answer, "a⟨U+202E⟩b"));
        assert_eq!(parse(b"n\xff\0"), question(Hint::None, "\u{fffd}"));
        for wrong in [&b""[..], b"\0", b"aPassword:", b"xPassword:\0"] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn names_and_yes_or_no_are_shown_while_they_are_typed() {
        for (hint, prompt, masked) in [
            (Hint::Answer, "[sudo] password for ada:", true),
            (Hint::Answer, "Enter passphrase for key '/home/ada/.ssh/id':", true),
            (Hint::Answer, "Password for 'https://ada@host':", true),
            (Hint::Answer, "Username for 'https://host':", false),
            (Hint::Answer, "Are you sure you want to continue connecting (yes/no/[fingerprint])?", false),
            (Hint::Confirm, "Allow use of key?", false),
        ] {
            assert_eq!(is_masked(hint, prompt), masked, "{prompt}");
        }
    }
}

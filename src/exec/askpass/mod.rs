//! The answers that `sudo`, `ssh` and `git` want, over a private socket: the helper that they run (this program by another
//! name) asks here, and the user sees who asks and for which command.
//!
//! The socket lies in a folder of the owner. Who connects must be a process that a running command of ours started
//! (`peer`). What the user types for `sudo` is kept for a while (`memory`), for lines that are nothing but a `sudo` (`line`).

mod asking;
pub(super) mod asks;
mod client;
pub(super) mod hidden;
mod line;
mod memory;
mod peer;
mod probe;
mod under_way;

pub use client::{HELPER, ask};
pub(super) use memory::Passwords;
pub(super) use under_way::UnderWay;

use super::process::env::Env;
use super::process::hub::Hub;
use super::process::process_identity;
use super::scratch::Scratch;
use crate::text::visible::visible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// The socket in the private folder.
const SOCKET: &str = "ask";
/// Bytes of a question.
const MAX_QUESTION_BYTES: usize = 4096;
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
    if process_identity::is_same_file(&real, program) {
        return Ok(real);
    }
    // Replaced since it was started.
    if cfg!(target_os = "linux") && program.starts_with("/proc/self") && program.exists() {
        return Ok(PathBuf::from(format!("/proc/{}/exe", std::process::id())));
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "this program's file no longer exists"))
}

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
                        tracing::debug!("a helper exited: {error}");
                    }
                });
            }
            Err(error) => {
                // No descriptor is free: it is tried again once some are.
                tracing::warn!("cannot accept a question: {error}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// `permit` is held until it is known that the one that connected may ask.
async fn serve(mut stream: UnixStream, hub: &Weak<Hub>, permit: OwnedSemaphorePermit) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    let Some(hub) = hub.upgrade() else { return Ok(()) };
    let (asking, _place) = match asking::soon(&hub, peer).await.and_then(|asking| {
        let place = hub.asking.place(asking.process.pid)?;
        Ok((asking, place))
    }) {
        Ok(asking) => asking,
        Err(why) => {
            say(&mut stream, b"n", why.as_bytes()).await?;
            // What it asks has to be read, or it does not hear this.
            let mut rest = [0; MAX_QUESTION_BYTES];
            let drained = async { while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {} };
            tokio::time::timeout(HEARS, drained).await.ok();
            return Ok(());
        }
    };
    drop(permit);
    let answer = match question(&mut stream).await? {
        Some(question) => asking.answer(&hub, question, &mut stream).await,
        None => Err("cannot read the question".into()),
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
        while !question.contains(&0) && question.len() <= MAX_QUESTION_BYTES {
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

impl Hub {
    /// What the next command gets so that programs ask here; nothing where the helper cannot be had.
    pub(crate) async fn askpass(self: &Arc<Self>, base: &Env, headless: bool) -> Vec<(&'static str, OsString)> {
        let start = || async {
            let program = self.options.program.as_deref()?;
            Askpass::start(self, program)
                .inspect_err(|error| tracing::warn!("programs cannot ask for passwords: {error}"))
                .ok()
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
}

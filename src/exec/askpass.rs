//! The answers that `sudo`, `ssh` and `git` want, over a private socket: the helper that they run (this program by another
//! name) asks here, and the person sees who asks and for which command.
//!
//! The socket lies in a folder of the owner. Who connects must be a process that a running command of ours started
//! (`peer`). What the person types is kept in memory only, for `sudo` and for its session.

mod client;
mod peer;
mod probe;

pub use client::{HELPER, ask};

use super::asks::{Answer, Wanted};
use super::env::Env;
use super::hub::Hub;
use super::process::{Process, lock};
use super::scratch::Scratch;
use super::stat::{self, Stat};
use super::{Hidden, ProcessEvent};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
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
/// Programs that are known to ask for passwords, by the first letters of their names.
const KNOWN: &[&str] = &["sudo", "ssh", "git", "scp", "sftp", "rsync"];

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
    use std::os::unix::fs::MetadataExt;
    let real = std::fs::read_link(program).unwrap_or_else(|_| program.to_owned());
    let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (&std::fs::metadata(&real), &std::fs::metadata(program)) {
        (Ok(real_file), Ok(file)) if same(real_file, file) => Ok(real),
        // Replaced since it was started.
        (_, Ok(_)) if cfg!(target_os = "linux") && program.starts_with("/proc/self") => {
            Ok(PathBuf::from(format!("/proc/{}/exe", std::process::id())))
        }
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "this program's file is gone")),
    }
}

async fn listen(listener: UnixListener, hub: Weak<Hub>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let hub = Weak::clone(&hub);
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, &hub).await {
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

async fn serve(mut stream: UnixStream, hub: &Weak<Hub>) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    let mut question = Vec::new();
    let reading = async {
        while !question.ends_with(&[0]) && question.len() <= MOST {
            if stream.read_buf(&mut question).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
        }
        Ok(())
    };
    tokio::time::timeout(QUESTION, reading).await.map_err(io::Error::other)??;
    let Some(hub) = hub.upgrade() else { return Ok(()) };
    let answer = match parse(&question) {
        Some((hint, prompt)) => match asking(&hub, &peer) {
            Ok(asking) => asking.answer(&hub, hint, prompt, &mut stream).await,
            Err(why) => Err(why),
        },
        None => Err("the question cannot be read".into()),
    };
    let (kind, text): (&[u8], &[u8]) = match &answer {
        Ok(text) => (b"y", text.reveal().as_bytes()),
        Err(why) => (b"n", why.as_bytes()),
    };
    stream.write_all(kind).await?;
    stream.write_all(text).await?;
    stream.shutdown().await
}

/// The hint, and the words as one line without control characters.
fn parse(question: &[u8]) -> Option<(Hint, String)> {
    let (hint, words) = question.strip_suffix(&[0])?.split_first()?;
    let words = String::from_utf8_lossy(words);
    let plain: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Some((Hint::from_byte(*hint)?, plain.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// A helper that may ask.
struct Asking {
    process: Arc<Process>,
    /// The program that ran the helper.
    by: (u32, Stat),
    helper: u32,
}

fn asking(hub: &Hub, peer: &tokio::net::unix::UCred) -> Result<Asking, String> {
    let refused = || "only what a running command of Hermes started may ask: nobody was asked".to_owned();
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0).ok_or_else(refused)?;
    if peer.uid() != rustix::process::geteuid().as_raw() || !peer::proc_is_ours() {
        return Err(refused());
    }
    let running: Vec<Arc<Process>> = hub.all().into_iter().filter(|process| !process.over()).collect();
    let leaders: Vec<u32> = running.iter().map(|process| process.pid).collect();
    let leader = peer::leader_of(pid, &leaders, &stat::of).ok_or_else(refused)?;
    let process = running.into_iter().find(|process| process.pid == leader).ok_or_else(refused)?;
    let parent = stat::of(pid).ok_or_else(refused)?.parent;
    let by = (parent, stat::of(parent).ok_or_else(refused)?);
    Ok(Asking { process, by, helper: pid })
}

impl Asking {
    async fn answer(
        self,
        hub: &Arc<Hub>,
        hint: Hint,
        prompt: String,
        stream: &mut UnixStream,
    ) -> Result<Hidden, String> {
        let who = self.by.1.name.clone();
        let is_sudo = who == "sudo" && peer::is_root(self.by.0);
        let mut again = false;
        if is_sudo {
            match hub.passwords.known(&self.process.task, (self.by.0, self.by.1.started)) {
                Known::Answer(password) => return Ok(password),
                Known::Wrong => again = true,
                Known::Nothing => {}
            }
        }
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
        let stranger = !KNOWN.iter().any(|known| who.starts_with(known));
        let wanted = Wanted { who, masked: is_masked(hint, &prompt), prompt, again, stranger };
        let (sender, heard) = oneshot::channel();
        let id = hub.ask(&self.process, wanted, Answer::Helper(sender));
        tracing::debug!("helper {} of {} asks", self.helper, self.process.id.0);
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
        if is_sudo {
            let name = (self.by.0, self.by.1.started);
            hub.passwords.keep(&self.process.task, name, answer.clone());
        }
        Ok(answer)
    }
}

/// Whether what is typed must not be seen: all but names and plain yes or no.
fn is_masked(hint: Hint, prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    let open = lower.starts_with("username") || lower.contains("(yes/no");
    hint == Hint::Answer && !open
}

/// What is known of passwords of `sudo`: in memory, by task.
#[derive(Default)]
pub(crate) struct Passwords {
    /// Of the environment, for all.
    configured: Option<Hidden>,
    tasks: Mutex<HashMap<String, Kept>>,
}

#[derive(Default)]
struct Kept {
    password: Option<Hidden>,
    /// The number and start of the `sudo` that was answered last: when it asks again the answer was wrong.
    told: Option<(u32, u64)>,
    /// The configured one was wrong.
    refused: bool,
}

#[derive(Debug, PartialEq)]
enum Known {
    Answer(Hidden),
    /// What it was told was wrong.
    Wrong,
    Nothing,
}

impl Passwords {
    pub(crate) fn new(configured: Option<Hidden>) -> Self {
        Self { configured, tasks: Mutex::default() }
    }

    fn known(&self, task: &str, sudo: (u32, u64)) -> Known {
        let mut tasks = lock(&self.tasks);
        let kept = tasks.entry(task.to_owned()).or_default();
        if kept.told == Some(sudo) {
            kept.refused |= kept.password.take().is_none();
            return Known::Wrong;
        }
        let configured = self.configured.as_ref().filter(|_| !kept.refused);
        match kept.password.as_ref().or(configured).cloned() {
            Some(password) => {
                kept.told = Some(sudo);
                Known::Answer(password)
            }
            None => Known::Nothing,
        }
    }

    fn keep(&self, task: &str, sudo: (u32, u64), password: Hidden) {
        let mut tasks = lock(&self.tasks);
        let kept = tasks.entry(task.to_owned()).or_default();
        (kept.password, kept.told) = (Some(password), Some(sudo));
    }
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
    fn a_wrong_password_is_asked_for_again() {
        let hidden = |text: &str| Hidden::new(text.into());
        let passwords = Passwords::new(None);
        let (first, second) = ((7, 100), (8, 200));
        assert_eq!(passwords.known("a", first), Known::Nothing);
        passwords.keep("a", first, hidden("one"));
        // Another sudo of the session gets it; another session does not.
        assert_eq!(passwords.known("a", second), Known::Answer(hidden("one")));
        assert_eq!(passwords.known("b", second), Known::Nothing);
        // The same sudo asks again: it was wrong, and the next one is not told it either.
        assert_eq!(passwords.known("a", second), Known::Wrong);
        assert_eq!(passwords.known("a", (9, 300)), Known::Nothing);
        let passwords = Passwords::new(Some(hidden("env")));
        assert_eq!(passwords.known("a", first), Known::Answer(hidden("env")));
        assert_eq!(passwords.known("a", first), Known::Wrong);
        assert_eq!(passwords.known("a", second), Known::Nothing, "the configured one was wrong");
        passwords.keep("a", second, hidden("typed"));
        assert_eq!(passwords.known("a", (9, 1)), Known::Answer(hidden("typed")));
    }

    #[test]
    fn questions_are_one_plain_line() {
        assert_eq!(parse(b"aPassword:\0"), Some((Hint::Answer, "Password:".into())));
        assert_eq!(
            parse(b"cThe host\r\nkey \x1b[31mis new\0"),
            Some((Hint::Confirm, "The host key [31mis new".into()))
        );
        assert_eq!(parse(b"n\xff\0"), Some((Hint::None, "\u{fffd}".into())));
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

//! One other machine: the link to it, what is known of it, and the variables of the tasks that work there.

use super::backend::{Backend, PlaceError, Terminal};
use super::script::Script;
use super::world::Looked;
use crate::exec::{Link, LinkError, Said, Variables, exported};
use crate::lock::lock;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a small question may take.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// How long a shell there may take to answer for the first time, once the place is ready.
const FIRST: Duration = Duration::from_secs(30);
/// Bytes of a small answer.
pub(crate) const SMALL: usize = 4 * 1024 * 1024;
/// How long a signal waits for others that ask.
const QUEUE: Duration = Duration::from_millis(150);
/// How long a signal may take to be delivered.
const SIGNAL: Duration = Duration::from_secs(2);

/// What is asked first. Makes the private folder there, and tells one fact a line; variables come last.
const FACTS: &str = r#"
umask 022
case $HOME in /*) ;; *) HOME=/;; esac
d=${XDG_STATE_HOME:-$HOME/.local/state}/hermes
if ! (umask 077; mkdir -p "$d" && : >"$d/.w") 2>/dev/null; then
  d=/tmp/hermes-$(id -u 2>/dev/null || echo x)
  (umask 077; mkdir -p "$d") 2>/dev/null
  # In a folder that someone else put there anything could be put into ours.
  [ -O "$d" ] && [ ! -L "$d" ] || d=
fi
[ -n "$d" ] && (umask 077; mkdir -p "$d/$S/jobs") || d=
H_DIR=${d:+$d/$S}
# What commands of sessions that are gone left: folders and variables for a day, output that nobody came back for for a month.
for h_s in "$d"/s-*; do
  [ -n "$d" ] && [ "$h_s" != "$H_DIR" ] && [ -d "$h_s" ] || continue
  for h_j in "$h_s"/jobs/*; do
    { read -r h_p <"$h_j/pid" && kill -0 "$h_p"; } 2>/dev/null && continue
    h_n=0; [ -e "$h_j/log" ] && h_n=30
    [ -n "$(find "$h_j" -prune -mtime "+$h_n" 2>/dev/null)" ] && rm -rf -- "$h_j"
  done
  [ -n "$(find "$h_s" -prune -mtime +0 2>/dev/null)" ] && rmdir -- "$h_s/jobs" "$h_s" 2>/dev/null
done
# How often no process could be made there, how many there may be, and how many there are: with the words of the shell alone.
h_pids() {
  for h_p in /sys/fs/cgroup/pids /sys/fs/cgroup; do
    { read -r h_x h_n <"$h_p/pids.events" && read -r h_m <"$h_p/pids.max" && read -r h_k <"$h_p/pids.current"; } 2>/dev/null &&
    { printf '%s %s %s\n' "$h_n" "$h_m" "$h_k"; return; }
  done
  h_k=0; h_m=max; printf '0 max 0\n'
}
has() { command -v "$1" >/dev/null 2>&1; }
if stat -L -c %s / >/dev/null 2>&1
then h_stat() { stat -L -c '%f|%s|%Y|%y|%a' -- "$1"; }
else h_stat() { stat -L -f '%Xp|%z|%m|%Fm|%Lp' "$1"; }
fi
printf '%s\n' "$HOME" "$H_DIR" "$(uname -s 2>/dev/null)" "$(uname -n 2>/dev/null)"
for h_tool in bash rg base64; do has "$h_tool" && printf '%s ' "$h_tool"; done
readlink -mz / >/dev/null 2>&1 && printf 'readlink-mz '
printf '\n'
if has bash; then bash -lc 'export -p' </dev/null 2>/dev/null; else sh -lc 'export -p' </dev/null 2>/dev/null; fi
"#;

/// Removes what is not needed there any more.
const LEAVE: &str = r#"cd /
for h_j in "$H"/jobs/*; do [ -e "$h_j/begun" ] || rm -rf -- "$h_j"; done
rmdir -- "$H/jobs" "$H" 2>/dev/null"#;

/// What is known of the other side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) home: PathBuf,
    /// Private: what commands need to start and what they leave behind.
    pub(crate) dir: PathBuf,
    pub(crate) system: String,
    /// What it calls itself.
    pub(crate) machine: String,
    pub(crate) tools: Vec<String>,
    pub(crate) base: Arc<Variables>,
}

impl Facts {
    fn read(out: &[u8]) -> Option<Self> {
        let mut lines = out.splitn(6, |byte| *byte == b'\n');
        let mut line = || lines.next().map(|line| String::from_utf8_lossy(line).into_owned());
        let (home, dir, system, machine, tools) = (line()?, line()?, line()?, line()?, line()?);
        if dir.is_empty() {
            return None;
        }
        let base = lines.next().and_then(exported).unwrap_or_default();
        let tools = tools.split_whitespace().map(str::to_owned).collect();
        Some(Self { home: home.into(), dir: dir.into(), system, machine, tools, base: Arc::new(base) })
    }

    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|known| known == tool)
    }
}

/// The link, and how often there was a new one.
#[derive(Default)]
struct Open {
    link: Option<Link>,
    facts: Option<Arc<Facts>>,
    /// It was to be made ready: something may stand there that need not stay, whether a shell answered or not.
    is_made: bool,
    /// It was left, and nothing was to be done there since.
    is_left: bool,
}

/// A machine that is reached through a client program. Everything here blocks, within bounds.
pub struct Remote {
    backend: Box<dyn Backend>,
    open: Mutex<Open>,
    /// Goes up whenever the link breaks: what ran meanwhile may have ended with it.
    breaks: AtomicU64,
    /// Why it broke the last time, in the words of whoever keeps the place: asked before that is made ready again.
    why: Mutex<Option<String>>,
    /// Names the private folder there.
    session: String,
    /// Tasks that have worked there.
    arrived: Mutex<HashSet<String>>,
    tasks: Mutex<HashMap<String, Arc<Variables>>>,
    /// What the next command says of how the place was made ready.
    notes: Mutex<Vec<String>>,
    pub(crate) looked: Mutex<Looked>,
}

impl Remote {
    /// Nothing is reached yet.
    pub fn new(backend: Box<dyn Backend>) -> Self {
        Self {
            backend,
            open: Mutex::default(),
            breaks: AtomicU64::new(0),
            why: Mutex::default(),
            session: format!("s-{:012x}", fastrand::u64(..1 << 48)),
            arrived: Mutex::default(),
            tasks: Mutex::default(),
            notes: Mutex::default(),
            looked: Mutex::default(),
        }
    }

    /// What kind of place it is.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// As people read it: `ssh dev@host`.
    pub fn label(&self) -> &str {
        &self.backend.traits().label
    }

    /// Makes it ready, when it is not.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn ready(&self) -> Result<(), PlaceError> {
        self.facts().map(|_| ())
    }

    /// Whether what an earlier run left there can be asked for: it is reached, and nothing is made for that.
    ///
    /// # Errors
    /// When it cannot be told.
    pub(crate) fn remains(&self) -> Result<bool, PlaceError> {
        if lock(&self.open).link.is_some() {
            return Ok(true);
        }
        if !self.backend.remains()? {
            return Ok(false);
        }
        self.ready().map(|()| true)
    }

    /// The home folder there.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn home(&self) -> Result<PathBuf, PlaceError> {
        Ok(self.facts()?.home.clone())
    }

    /// The folder that work begins in.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn begin(&self) -> Result<PathBuf, PlaceError> {
        match &self.backend.traits().cwd {
            Some(folder) => Ok(folder.clone()),
            None => self.home(),
        }
    }

    /// Whether it was reached. Does not reach for it.
    pub fn is_reached(&self) -> bool {
        lock(&self.open).facts.is_some()
    }

    /// The folder that work begins in, as far as that is known without reaching for it.
    pub fn known_begin(&self) -> Option<PathBuf> {
        let known = || lock(&self.open).facts.as_ref().map(|facts| facts.home.clone());
        self.backend.traits().cwd.clone().or_else(known)
    }

    /// The folder that a task works in now, when it comes here for the first time from `from`: the same one when it is of
    /// this machine, which `came_back` says, else where work begins.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn arrive(&self, task: &str, from: &Path, came_back: bool) -> Result<Option<PathBuf>, PlaceError> {
        if lock(&self.arrived).contains(task) {
            return self.ready().map(|()| None);
        }
        self.ready()?;
        let begin = self.begin()?;
        let same = came_back && self.is_dir(from)?;
        lock(&self.arrived).insert(task.to_owned());
        Ok((!same).then_some(begin))
    }

    /// The variables that the next command of a task starts with.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn environment_of(&self, task: &str) -> Result<Arc<Variables>, PlaceError> {
        let facts = self.facts()?;
        let known = lock(&self.tasks).get(task).cloned();
        Ok(known.unwrap_or_else(|| self.base(&facts)))
    }

    /// What a first command starts with: the login's variables, and those that the person sends along.
    pub(crate) fn base(&self, facts: &Facts) -> Arc<Variables> {
        let sent = &self.backend.traits().variables;
        if sent.is_empty() {
            return Arc::clone(&facts.base);
        }
        let mut base = (*facts.base).clone();
        base.extend(sent.iter().map(|(name, value)| (name.into(), value.into())));
        Arc::new(base)
    }

    pub(crate) fn keep(&self, task: &str, variables: Variables) {
        lock(&self.tasks).insert(task.to_owned(), Arc::new(variables));
    }

    pub(crate) fn facts(&self) -> Result<Arc<Facts>, PlaceError> {
        let mut open = lock(&self.open);
        if let (Some(facts), Some(_)) = (&open.facts, &open.link) {
            return Ok(Arc::clone(facts));
        }
        // Something is to be done there: it is made again.
        open.is_left = false;
        self.connect(&mut open)
    }

    /// What there is to say of how the place was made ready, once.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.notes))
    }

    /// Whose turn is waited for while it is made ready. Blocks for a moment.
    pub fn waiting(&self) -> Option<String> {
        self.backend.waiting()
    }

    /// How often the link broke.
    pub(crate) fn breaks(&self) -> u64 {
        self.breaks.load(Ordering::Relaxed)
    }

    /// Why the link broke the last time, where that is known.
    pub(crate) fn why(&self) -> Option<String> {
        lock(&self.why).clone()
    }

    /// The link is of no more use.
    fn broke(&self, open: &mut Open) {
        open.link = None;
        self.breaks.fetch_add(1, Ordering::Relaxed);
        *lock(&self.why) = self.backend.why_gone();
    }

    fn connect(&self, open: &mut Open) -> Result<Arc<Facts>, PlaceError> {
        let why = |error: LinkError| PlaceError::unreachable(self.label(), link_error_text(&error));
        // What is given up half made need not stay either.
        open.is_made = true;
        self.backend.start()?;
        lock(&self.notes).extend(self.backend.notes());
        let leaving = &self.backend.traits().leaving;
        let client = self.backend.client(&["sh"], Terminal::None);
        let mut link = Link::open(client, FIRST, &|| leaving.is_set()).map_err(why)?;
        let script = Script::new("").set("S", &self.session).add(FACTS);
        let said = link.ask(&script.0, FIRST, SMALL).map_err(why)?;
        let none = || "no writable folder there: make the home folder or /tmp writable".to_owned();
        let facts = Facts::read(&said.out).ok_or_else(|| PlaceError::unreachable(self.label(), none()))?;
        let facts = Arc::new(facts);
        (open.link, open.facts) = (Some(link), Some(Arc::clone(&facts)));
        Ok(facts)
    }

    /// Asks the shell there. When the link turns out to be broken it is made anew once, and asked again: a question must
    /// mean the same the second time.
    ///
    /// # Errors
    /// When there is no answer.
    pub(crate) fn ask(&self, script: &Script, within: Duration, most: usize) -> Result<Said, PlaceError> {
        let mut open = lock(&self.open);
        let mut fresh = open.link.is_none();
        loop {
            if open.link.is_none() {
                // Whoever only asks what became of a command makes no other place for that.
                if open.is_left && !self.backend.remains().unwrap_or(true) {
                    let why = "the backend was left, and everything running there ended".to_owned();
                    return Err(PlaceError::RemoteLost { place: self.label().to_owned(), why });
                }
                self.connect(&mut open)?;
            }
            let Some(link) = &mut open.link else { continue };
            let error = match link.ask(&script.0, within, most) {
                Ok(said) => return Ok(said),
                Err(error) => error,
            };
            self.broke(&mut open);
            if fresh || !matches!(error, LinkError::Ended(_)) {
                let why = self.why().unwrap_or_else(|| link_error_text(&error));
                return Err(PlaceError::RemoteLost { place: self.label().to_owned(), why });
            }
            fresh = true;
        }
    }

    /// Asks without waiting behind others: over a client of its own when the link is busy or
    /// broken. For signals, which may come twice.
    pub(crate) fn ask_now(&self, script: &Script) -> Option<Said> {
        let deadline = Instant::now() + QUEUE;
        while Instant::now() < deadline {
            if let Ok(mut open) = self.open.try_lock() {
                if let Some(link) = open.link.as_mut() {
                    if let Ok(said) = link.ask(&script.0, SIGNAL, SMALL) {
                        return Some(said);
                    }
                    self.broke(&mut open);
                }
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut link = Link::open(self.backend.client(&["sh"], Terminal::None), SIGNAL, &|| false).ok()?;
        link.ask(&script.0, SIGNAL, SMALL).ok()
    }

    /// Whether a folder is there.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn is_dir(&self, path: &Path) -> Result<bool, PlaceError> {
        Ok(self.ask(&Script::new("[ -d ").word(path).add(" ]"), ANSWER_LIMIT, SMALL)?.code == 0)
    }

    /// Whether the `sudo` that commands of this task find there wants a password, as `sudo -n true` tells. Where there is
    /// none, it wants none.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn sudo_wants_password(&self, task: &str) -> Result<bool, PlaceError> {
        let variables = self.environment_of(task)?;
        let mut script = Script::new("");
        if let Some(path) = variables.get(OsStr::new("PATH")) {
            script = script.set("PATH", path);
        }
        let script = script.add("command -v sudo >/dev/null 2>&1 || exit 0\nsudo -n true </dev/null >/dev/null 2>&1");
        Ok(self.ask(&script, ANSWER_LIMIT, SMALL)?.code != 0)
    }

    /// What tells its files from those of all other places: where it is, or its container.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn identity(&self) -> Result<String, PlaceError> {
        let facts = self.facts()?;
        Ok(self.backend.identity(&facts.machine))
    }

    /// It will be left soon: who waits for it to be ready waits no longer. Blocks nobody.
    pub(super) fn give_up(&self) {
        self.backend.traits().leaving.set(true);
    }

    /// Leaves it: what is not needed any more is removed there, and the place may go. Background work goes on. Who waits
    /// for it to be ready waits no longer.
    ///
    /// # Errors
    /// When something there could not be kept.
    pub fn leave(&self) -> Result<(), PlaceError> {
        self.give_up();
        let mut open = lock(&self.open);
        // Whoever follows work there in the background may come back for what it left.
        self.backend.traits().leaving.set(false);
        let facts = open.facts.clone();
        if let (Some(link), Some(facts)) = (&mut open.link, &facts) {
            // Background work keeps what it has.
            let script = Script::new("").set("H", &facts.dir).add(LEAVE);
            if let Err(error) = link.ask(&script.0, SIGNAL, SMALL) {
                tracing::debug!("leaving {}: {error}", self.label());
            }
        }
        let is_made = std::mem::take(&mut *open).is_made;
        open.is_left = true;
        drop(open);
        if !is_made {
            return Ok(());
        }
        self.backend.stop().map_err(|why| {
            tracing::error!("leaving {}: {why}", self.label());
            PlaceError::RemoteLost { place: self.label().to_owned(), why }
        })
    }
}

/// An error of the link with what to do, where that is known.
fn link_error_text(error: &LinkError) -> String {
    let text = error.to_string();
    let remedy = match &*text {
        text if text.contains("Permission denied") => "log in once manually, or set terminal.ssh_key",
        text if text.contains("Host key verification failed") => "connect once manually and check its key",
        // Shells and engines, each in their own words.
        text if ["Cannot fork", "Resource temporarily unavailable", "read init-p"].iter().any(|w| text.contains(w)) => {
            "no more processes can start there: kill some"
        }
        text if text.contains("Could not resolve") => "check terminal.ssh_host",
        text if text.contains("Connection refused") || text.contains("timed out") => "is it up, and is the port right?",
        _ => return text,
    };
    format!("{text}: {remedy}")
}

#[cfg(test)]
mod tests;

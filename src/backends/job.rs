//! A command there: what starts it, what ends it, and what it leaves behind.
//!
//! Its line goes over the link into a private folder, so that it stands in no list of arguments and no shell on the way
//! reads it. A trap writes folder and variables there when its shell ends; nothing of ours is ever printed. Work in the
//! background leads a session of its own with its output in a log: it outlives the connection, and is found again
//! (`backends::found`). Its client starts it: what got no client, or was given up before, never ran.

mod end;

use self::end::Pids;
use super::backend::{PlaceError, Terminal};
use super::remote::{ANSWER_LIMIT, Remote, SMALL};
use super::script::Script;
use crate::exec::{RemoteCommand, RemoteEnd, RemotePlace, RemoteSignal};
use crate::lock::lock;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Variables that belong to a terminal or a shell, not to the task.
const OWN: &[&str] = &["PWD", "OLDPWD", "SHLVL", "TERM", "_", "SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT", MARK];
/// The start of those that belong to one job, which a later command may run in no more.
const JOB: &str = "SLURM_";
/// By it all that a command started is found again, in whatever session.
pub(crate) const MARK: &str = "HERMES_JOB";
/// A pager would wait for keys that nobody presses.
const ADDED: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat"), ("PYTHONUNBUFFERED", "1")];
/// Starts background work, once, and tells more of it as it comes, from where it was last told: `$1` keeps that, and
/// another one who follows takes it away.
const FOLLOW: &str = r#"
h_s=$J/$1; export J
if mv "$J/start" "$J/begun" 2>/dev/null; then
  : >"$J/log"
  if command -v setsid >/dev/null 2>&1; then nohup setsid sh "$J/begun" >>"$J/log" 2>&1 </dev/null &
  else set -m 2>/dev/null; nohup sh "$J/begun" >>"$J/log" 2>&1 </dev/null & set +m; fi
  n=0; while [ ! -s "$J/pid" ] && [ $n -lt 100 ]; do sleep 0.02 2>/dev/null; n=$((n+1)); done
fi
while seen=$(cat "$h_s" 2>/dev/null); do
  over=; { [ -e "$J/code" ] || ! kill -0 "$(cat "$J/pid")" 2>/dev/null; } && over=1
  size=$(wc -c <"$J/log" 2>/dev/null || echo "$seen")
  if [ "$size" -gt "$seen" ]; then
    tail -c +$((seen + 1)) "$J/log" | head -c $((size - seen)); [ -e "$h_s" ] && echo $((size)) >"$h_s"; continue
  fi
  [ -n "$over" ] && break
  sleep 0.2 2>/dev/null || sleep 1
done
[ -e "$J/code" ] && exit "$(cat "$J/code")"
exit 137
"#;
/// Follows again while the connection is broken: for about ten minutes, and from the start once it held for one.
const AGAIN: &str = r#"n=0; broken=$1; shift
while :; do
  begun=$(date +%s); "$@"; code=$?
  [ "$code" = "$broken" ] || exit "$code"
  [ $(($(date +%s) - begun)) -lt 60 ] || n=0
  n=$((n + 1)); [ "$n" -le 120 ] || exit "$code"
  if [ "$n" -lt 5 ]; then sleep "$n"; else sleep 5; fi
done"#;

/// A command to start on another machine.
#[derive(Clone, Debug)]
pub struct JobSpec {
    pub line: String,
    pub cwd: PathBuf,
    /// Names the variables that it starts with.
    pub task: String,
    /// In the background, its output in a log there.
    pub detached: bool,
    /// Nobody can type.
    pub headless: bool,
    /// Later commands of the task get its folder and variables.
    pub keep: bool,
}

/// A command on another machine that is ready to start.
pub struct Job {
    place: Arc<Remote>,
    spec: JobSpec,
    /// The folder with its files there.
    folder: PathBuf,
    id: String,
    /// How often the link was broken when it started.
    breaks: u64,
    /// How often no process could be made there before it started.
    refused: u64,
    /// What was done when it was to be ended and nothing could be started there.
    cleared: Mutex<Option<String>>,
    /// Keeps how much of its output was told.
    seen: String,
    /// When an earlier run of this program started it.
    since: Option<i64>,
    /// It was handed over, and nobody watches it yet: dropped now, it is ended.
    unwatched: AtomicBool,
}

impl Job {
    /// Hands over its line; its client starts it. Dropped before that, nothing of it stays there. Blocks.
    ///
    /// # Errors
    /// When the place cannot be reached, or the folder is not there.
    pub fn new(place: Arc<Remote>, spec: JobSpec) -> Result<Self, PlaceError> {
        let facts = place.facts()?;
        let id = format!("{:012x}", fastrand::u64(..1 << 48));
        let folder = facts.dir.join("jobs").join(&id);
        let mut job = Self::of(place, spec, folder, id);
        let script = job.script(facts.has("bash"))?;
        let said = job.place.ask(&script, ANSWER_LIMIT, SMALL)?;
        job.unwatched = AtomicBool::new(true);
        // It wrote files: what was known of that machine may be old.
        lock(&job.place.looked).forget();
        let lost = |why: String| PlaceError::RemoteLost { place: job.place.label().to_owned(), why };
        match said.code {
            0 => {
                job.refused = Pids::read(&said.out).0.refused;
                Ok(job)
            }
            2 => Err(lost(format!(
                "the working folder {} no longer exists there: nothing was run; recreate it, or use another",
                job.spec.cwd.display()
            ))),
            _ => {
                let why = String::from_utf8_lossy(Pids::read(&said.out).1).trim().to_owned();
                Err(lost(format!("could not send the command: {why}; is the disk there full?")))
            }
        }
    }

    fn of(place: Arc<Remote>, spec: JobSpec, folder: PathBuf, id: String) -> Self {
        Self {
            breaks: place.breaks(),
            refused: 0,
            cleared: Mutex::default(),
            seen: "seen".into(),
            since: None,
            unwatched: AtomicBool::new(false),
            id,
            folder,
            spec,
            place,
        }
    }

    /// One that runs there since an earlier run of this program started it; `seen` keeps how much of its output was told.
    pub(super) fn found(place: Arc<Remote>, spec: JobSpec, folder: PathBuf, seen: String, since: i64) -> Self {
        let id = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut job = Self::of(place, spec, folder, id);
        (job.seen, job.since) = (seen, Some(since));
        job
    }

    /// Where work in the background keeps its output there.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Writes its files.
    fn script(&self, bash: bool) -> Result<Script, PlaceError> {
        let jobs = Script::new("h_pids\n").set("J", &self.folder);
        let mut script = jobs.add("[ -d ").word(&self.spec.cwd).add(" ] || (exit 2) && (umask 077; mkdir -p \"$J\"\n");
        script = script.file("$J/keep", &self.prelude(bash));
        script = script.file("$J/run", &String::from_utf8_lossy(&self.run(bash)?.0));
        if self.spec.detached {
            script = script.file("$J/start",
                "echo $$ >\"$J/pid\"\nsh \"$J/run\"\ncode=$?\necho \"$code\" >\"$J/code.new\" && mv \"$J/code.new\" \"$J/code\"",
            );
            let follow = Script::new("").set("J", &self.folder).add(FOLLOW);
            script = script.file("$J/follow", &String::from_utf8_lossy(&follow.0));
            script = script.add("echo 0 >\"$J/").add(&self.seen).add("\"\n");
        }
        Ok(script.add(")"))
    }

    /// What its shell reads first.
    fn prelude(&self, bash: bool) -> String {
        let unset = if bash { "unset BASH_ENV\n" } else { "" };
        if !self.spec.keep {
            return unset.to_owned();
        }
        let state = self.folder.join("state");
        // As on this machine (`exec::shell`): `set +x` hides it from a traced command, `>|` works under noclobber.
        format!(
            "{unset}trap '{{ set +x; }} 2>/dev/null; umask 077; {{ pwd -P; export -p; }} >|\"{}\" 2>/dev/null || :' EXIT\n",
            state.display()
        )
    }

    /// What the client starts: variables, folder, shell.
    fn run(&self, bash: bool) -> Result<Script, PlaceError> {
        let facts = self.place.facts()?;
        let wanted = self.place.environment_of(&self.spec.task)?;
        // Its line and variables may hold secrets: the file is gone before the command begins, whatever becomes of it.
        let run = Script::new("").set("J", &self.folder).add("rm -f -- \"$J/run\"\n");
        let mut run = run.set("h_line", self.spec.line.trim_end_matches('\n'));
        if !self.spec.detached {
            run = run.add("echo $$ >\"$J/pid\"\n");
        }
        if self.spec.headless && !self.spec.detached {
            run = run.add("exec </dev/null\n");
        }
        let plain = |name: &std::ffi::OsString| {
            let name = name.to_str()?;
            let first = name.bytes().next()?;
            let fits = !first.is_ascii_digit() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let own = OWN.contains(&name) || name.starts_with(JOB);
            (fits && !own).then(|| name.to_owned())
        };
        for name in facts.base.keys().filter(|name| !wanted.contains_key(*name)).filter_map(plain) {
            run = run.add(&format!("unset {name}\n"));
        }
        for (name, value) in &*wanted {
            if let Some(name) = plain(name) {
                run = run.add(&format!("export {name}=")).word(value).add("\n");
            }
        }
        for (name, value) in ADDED {
            run = run.add(&format!("export {name}={value}\n"));
        }
        run = run.add(&format!("export {MARK}={}\n", self.id));
        run = run.add("case $TERM in ''|dumb) TERM=xterm-256color; export TERM;; esac\n");
        run = run.add("cd ").word(&self.spec.cwd).add(" || exit 126\n");
        // Jobs get groups of their own: what a command leaves running is not hung up with its shell. Without a terminal
        // nothing is, and bash complains. Where the leader of the terminal's session is not to be seen from, a shell would
        // wait for its turn for ever.
        run = run.add("set --\n");
        if !self.spec.detached && !self.place.backend().traits().signals_here {
            run = run.add("[ -t 1 ] && set -- -m\n");
        }
        Ok(if bash {
            run.add("BASH_ENV=$J/keep; export BASH_ENV\n")
                .add("exec bash --noprofile --norc \"$@\" -c \"$h_line\" bash")
        } else {
            run.add("exec sh -c '. \"$1\"; eval \"$2\"' sh \"$J/keep\" \"$h_line\"")
        })
    }
}

impl RemoteCommand for Job {
    fn client(&self) -> Command {
        let folder = |name: &str| self.folder.join(name).display().to_string();
        let terminal = if self.spec.headless { Terminal::Output } else { Terminal::Full };
        let backend = self.place.backend();
        if !self.spec.detached {
            return backend.client(&["sh", &folder("run")], terminal);
        }
        let client = backend.client(&["sh", &folder("follow"), &self.seen], terminal);
        let Some(broken) = backend.traits().broken else { return client };
        let mut again = Command::new("/bin/sh");
        again.args(["-c", AGAIN, "sh"]).arg(broken.to_string()).arg(client.get_program()).args(client.get_args());
        for (name, value) in client.get_envs() {
            match value {
                Some(value) => again.env(name, value),
                None => again.env_remove(name),
            };
        }
        again
    }

    fn signal(&self, signal: RemoteSignal) -> bool {
        self.send(signal)
    }

    fn resized(&self, (columns, rows): (u16, u16)) {
        if !self.place.backend().traits().size_over_link {
            return;
        }
        let script = Script::new("").set("J", &self.folder).add(&format!(
            "read -r h_l <\"$J/pid\" && stty rows {rows} cols {columns} <\"/proc/$h_l/fd/0\" 2>/dev/null"
        ));
        let place = Arc::clone(&self.place);
        let asked =
            std::thread::Builder::new().name("place-size".into()).spawn(move || place.ask_now(&script).is_some());
        if let Err(error) = asked {
            tracing::debug!("could not resize the terminal of {}: {error}", self.id);
        }
    }

    fn place(&self) -> Option<RemotePlace> {
        let facts = self.place.facts().ok().filter(|_| self.spec.detached)?;
        let (kind, label) = (self.place.backend().traits().kind.to_owned(), self.place.label().to_owned());
        Some(RemotePlace { kind, label, machine: facts.machine.clone(), folder: self.folder.clone() })
    }

    fn launched(&self) {
        self.unwatched.store(false, Ordering::Relaxed);
    }

    fn since(&self) -> Option<i64> {
        self.since
    }

    fn finish(&self, ended: bool, code: i32) -> RemoteEnd {
        // Whatever becomes of it is told: nothing is left to be ended.
        self.launched();
        if ended {
            // Its shell may have gone before what it started: nothing of a command that was ended stays.
            self.send(RemoteSignal::Kill);
        }
        self.left(ended, code)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !*self.unwatched.get_mut() {
            return;
        }
        // Whoever drops it may not wait.
        let (place, script) = (Arc::clone(&self.place), self.ending(RemoteSignal::Kill).add("\nrm -rf -- \"$J\""));
        let ended =
            std::thread::Builder::new().name("place-drop".into()).spawn(move || place.ask_now(&script).is_some());
        if let Err(error) = ended {
            tracing::warn!("could not remove {} from {}: {error}", self.folder.display(), self.place.label());
        }
    }
}

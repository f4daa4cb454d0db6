//! A command there: what starts it, what ends it, and what it leaves behind.
//!
//! Its line goes over the link into a private folder, so that it stands in no list of arguments and no shell on the way
//! reads it. A trap writes folder and variables there when its shell ends; nothing of ours is ever printed. Work in the
//! background leads a session of its own with its output in a log: it outlives the connection, and is found again
//! (`places::found`). Its client starts it: what got no client, or was given up before, never ran.

use super::backend::{PlaceError, Terminal};
use super::remote::{Remote, SMALL, SOON, lock};
use super::script::Script;
use crate::exec::{Far, FarEnd, FarPlace, FarSignal, Lost, Said, left_behind};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Variables that belong to a terminal or a shell, not to the task.
const OWN: &[&str] = &["PWD", "OLDPWD", "SHLVL", "TERM", "_", "SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT", MARK];
/// The start of those that belong to one job, which a later command may run in no more.
const JOB: &str = "SLURM_";
/// By it all that a command started is found again, in whatever session.
pub(crate) const MARK: &str = "HERMES_JOB";
/// A pager would wait for keys that nobody presses.
const ADDED: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat"), ("PYTHONUNBUFFERED", "1")];
/// Bytes of what a shell leaves behind.
const STATE: usize = 1024 * 1024;
/// How often a command that was to end is killed once more while it lives, and how long that is waited for.
const ENDINGS: u32 = 25;
const ENDING: Duration = Duration::from_millis(20);
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
/// Before a kill: what makes processes faster than they can be ended is stopped first, with all that descends from it.
const STOP: &str = r#"h_all=" $h_l "; h_i=0; h_new=1
while [ -n "$h_new" ] && [ $h_i -lt 20 ]; do
  h_new=; h_i=$((h_i + 1))
  for h_f in /proc/[0-9]*/stat; do
    { read -r h_x <"$h_f"; } 2>/dev/null || continue
    h_y=${h_x##*") "}; set -- $h_y
    h_f=${h_f#/proc/}; h_f=${h_f%/stat}
    case $h_all in
      *" $h_f "*) continue;;
      *" $2 "*) ;;
      *) [ "$4" = "$h_l" ] || continue;;
    esac
    kill -s STOP "$h_f" && { h_all="$h_all$h_f "; h_new=1; }
  done
done
for h_f in $h_all; do [ "$h_f" = "$h_l" ] || kill -s KILL "$h_f"; done
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

/// What is left of a command. Where no process can be made, only that is said.
const LEFT: &str = r#"h_pids
if [ "$h_m" != max ] && [ "$h_k" -ge "$h_m" ]; then echo full
elif [ -d "$J" ]; then
if [ ! -e "$J/state" ] && [ ! -e "$J/code" ] && [ -s "$J/pid" ] && h_p=$(cat "$J/pid") &&
  kill -0 "$h_p" 2>/dev/null && ! grep -qs '^State:.Z' "/proc/$h_p/status"
then echo alive
else
  [ -e "$J/code" ] && echo code || { [ -e "$J/state" ] && echo state || echo none; }
  cat "$J/state" 2>/dev/null; rm -rf -- "$J"
fi; else echo none; fi"#;

/// The bound on processes there.
struct Pids {
    /// How often one could not be made.
    refused: u64,
    /// How many there may be; `None`: as many as wanted.
    most: Option<u64>,
}

impl Pids {
    /// From the first line of an answer; and the rest of it.
    fn read(out: &[u8]) -> (Self, &[u8]) {
        let end = out.iter().position(|byte| *byte == b'\n').unwrap_or(out.len());
        let line = String::from_utf8_lossy(&out[..end]);
        let mut words = line.split(' ');
        let mut number = || words.next().and_then(|word| word.parse().ok());
        let pids = Self { refused: number().unwrap_or(0), most: number() };
        (pids, out.get(end + 1..).unwrap_or_default())
    }
}

/// Whether an answer says that no process can be made there.
fn is_full(out: &[u8]) -> bool {
    out.starts_with(b"full\n")
}

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
        let said = job.place.ask(&script, SOON, SMALL)?;
        job.unwatched = AtomicBool::new(true);
        // It wrote files: what was known of that machine may be old.
        lock(&job.place.looked).forget();
        let lost = |why: String| PlaceError::Lost { place: job.place.label().to_owned(), why };
        match said.code {
            0 => {
                job.refused = Pids::read(&said.out).0.refused;
                Ok(job)
            }
            2 => Err(lost(format!(
                "the working folder {} is gone there: nothing was run; make it again, or name another one",
                job.spec.cwd.display()
            ))),
            _ => {
                let why = String::from_utf8_lossy(Pids::read(&said.out).1).trim().to_owned();
                Err(lost(format!("the command could not be handed over: {why}; is the disk there full?")))
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
        Ok(match bash {
            true => run
                .add("BASH_ENV=$J/keep; export BASH_ENV\n")
                .add("exec bash --noprofile --norc \"$@\" -c \"$h_line\" bash"),
            false => run.add("exec sh -c '. \"$1\"; eval \"$2\"' sh \"$J/keep\" \"$h_line\""),
        })
    }

    /// What sends a signal to all of it there.
    fn ending(&self, signal: FarSignal) -> Script {
        let name = match signal {
            FarSignal::Interrupt => "INT",
            FarSignal::Terminate => "TERM",
            FarSignal::Continue => "CONT",
            FarSignal::Kill => "KILL",
        };
        // By the words of the shell alone: where no process can be started any more, this still works.
        let stop = if signal == FarSignal::Kill { STOP } else { "" };
        let mut script = Script::new("h_pids >/dev/null\n").set("J", &self.folder).set("H_S", name).add(
            r#"if [ "$h_m" != max ] && [ "$h_k" -ge "$h_m" ]; then echo full; else
h_l=; { read -r h_l <"$J/pid"; } 2>/dev/null
if [ -n "$h_l" ]; then
"#,
        );
        script = script.add(stop).add(
            r#"for h_f in /proc/[0-9]*/stat; do
  { read -r h_x <"$h_f"; } 2>/dev/null || continue
  h_y=${h_x##*") "}; set -- $h_y
  [ "$4" = "$h_l" ] && { h_f=${h_f#/proc/}; kill -s "$H_S" "${h_f%/stat}"; }
done
kill -s "$H_S" -- "-$h_l" || kill -s "$H_S" "$h_l"; :
else false; fi 2>/dev/null"#,
        );
        if signal == FarSignal::Kill {
            // What went into a session of its own is known by its mark.
            script = script.add("\nh_c=$?\n").add(&format!(
                "for h_f in $(grep -ls '{MARK}={}' /proc/[0-9]*/environ 2>/dev/null); do h_f=${{h_f#/proc/}}; kill -s KILL \"${{h_f%/environ}}\" 2>/dev/null; done; (exit $h_c)",
                self.id
            ));
        }
        script.add("\nfi")
    }

    /// What the place did to it by its bound on processes.
    fn crowded(&self, pids: &Pids, cleared: Option<String>) -> Option<Lost> {
        if pids.refused <= self.refused && cleared.is_none() {
            return None;
        }
        let limit = pids.most.map_or_else(|| "of processes".to_owned(), |most| format!("of {most} processes"));
        let next = cleared.map(|done| format!("; {done}")).unwrap_or_default();
        let why = format!(
            "{} reached its limit {limit} while this ran: some of it could not be started{next}",
            self.place.label()
        );
        Some(Lost { why, short: "process limit reached" })
    }

    /// What became of it, when its shell left nothing behind although nobody ended it.
    fn lost(&self, alive: bool, code_known: bool) -> Option<Lost> {
        let broke = |why: String| Some(Lost { why, short: "connection lost" });
        let label = self.place.label();
        if alive {
            let log =
                if self.spec.detached { format!(", its output in {}", self.log().display()) } else { String::new() };
            return broke(format!(
                "the connection to {label} broke, and the command still runs there{log}; \
                 its process group is in {}: `kill -- -$(cat FILE)` ends it",
                self.folder.join("pid").display()
            ));
        }
        // A shell that is told to end leaves its folder and variables, too: whoever keeps the place knows better.
        let why = self.place.why();
        if self.place.breaks() == self.breaks || code_known && (why.is_none() || self.spec.detached) {
            return None;
        }
        let why = why.unwrap_or_else(|| "the connection broke".to_owned());
        broke(format!("{label}: {why}; the command ended with it, and what it did so far stays done"))
    }
}

impl Far for Job {
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

    fn signal(&self, signal: FarSignal) -> bool {
        if self.place.backend().traits().signals_here && !self.spec.detached {
            return false;
        }
        let said = self.place.ask_now(&self.ending(signal));
        match (said, signal) {
            // Whatever is ended one by one is made again at once: all of it goes.
            (Some(said), FarSignal::Kill) if is_full(&said.out) => {
                let done = self.place.backend().clear();
                let is_done = done.is_some();
                *lock(&self.cleared) = done;
                is_done
            }
            (Some(said), _) => said.code == 0 && !is_full(&said.out),
            (None, _) => false,
        }
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
            tracing::debug!("the size of the terminal of {}: {error}", self.id);
        }
    }

    fn place(&self) -> Option<FarPlace> {
        let facts = self.place.facts().ok().filter(|_| self.spec.detached)?;
        let (kind, label) = (self.place.backend().traits().kind.to_owned(), self.place.label().to_owned());
        Some(FarPlace { kind, label, machine: facts.machine.clone(), folder: self.folder.clone() })
    }

    fn launched(&self) {
        self.unwatched.store(false, Ordering::Relaxed);
    }

    fn since(&self) -> Option<i64> {
        self.since
    }

    fn finish(&self, ended: bool, code: i32) -> FarEnd {
        // Whatever becomes of it is told: nothing is left to be ended.
        self.launched();
        if ended {
            // Its shell may have gone before what it started: nothing of a command that was ended stays.
            self.signal(FarSignal::Kill);
        }
        // The session that it was started in leaves nothing else.
        let rest = if self.since.is_some() { "; rmdir -- \"${J%/*}\" \"${J%/jobs/*}\" 2>/dev/null" } else { "" };
        let script = Script::new("").set("J", &self.folder).add(LEFT).add(rest);
        let mut asked = self.place.ask(&script, SOON, STATE);
        let is_alive = |said: &Said| Pids::read(&said.out).1.starts_with(b"alive\n");
        for _ in 0..ENDINGS {
            if !ended || !asked.as_ref().is_ok_and(is_alive) {
                break;
            }
            // While the connection was broken the signal found no way: now there is one.
            self.signal(FarSignal::Kill);
            std::thread::sleep(ENDING);
            asked = self.place.ask(&script, SOON, STATE);
        }
        let mut cleared = lock(&self.cleared).take();
        if ended && cleared.is_none() && asked.as_ref().map_or(true, |said| is_full(Pids::read(&said.out).1)) {
            // What was to be ended goes on, and nothing can be done from inside.
            cleared = self.place.backend().clear();
        }
        // A client that was told to end may be gone before the command: it is on its way.
        let said = match asked {
            Ok(said) => said,
            Err(error) => {
                let next = cleared.unwrap_or_else(|| {
                    let next = if ended { "it may still run there" } else { "what it did so far stays done" };
                    next.to_owned()
                });
                let lost = Lost { why: format!("{error}; {next}"), short: "connection lost" };
                return FarEnd { lost: Some(lost), ..FarEnd::default() };
            }
        };
        let (pids, out) = Pids::read(&said.out);
        let crowded = self.crowded(&pids, cleared);
        lock(&self.place.looked).forget();
        let (word, rest) = match out.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&out[..at], &out[at + 1..]),
            None => (out, &[][..]),
        };
        if word == b"alive" {
            let lost = self.lost(true, false);
            return FarEnd { lost: lost.or(crowded), ..FarEnd::default() };
        }
        // Its shell was hung up with the connection, and left what it had as if it had ended by itself.
        let cut = !self.spec.detached && self.place.backend().traits().broken == Some(code);
        let lost = self.lost(false, !cut && (word == b"code" || word == b"state")).filter(|_| !ended).or(crowded);
        let mut base = self.place.facts().map(|facts| (*self.place.base(&facts)).clone()).unwrap_or_default();
        // What this file adds is no doing of the command.
        base.extend(ADDED.iter().map(|(name, value)| (name.into(), value.into())));
        base.insert(MARK.into(), (&self.id).into());
        let Some((cwd, variables, not_kept)) = left_behind(rest, &base).filter(|_| self.spec.keep) else {
            return FarEnd { lost, ..FarEnd::default() };
        };
        if let Some(mut variables) = variables {
            variables.remove(OsStr::new(MARK));
            self.place.keep(&self.spec.task, variables);
        }
        FarEnd { cwd: Some(cwd), not_kept, lost }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !*self.unwatched.get_mut() {
            return;
        }
        // Whoever drops it may not wait.
        let (place, script) = (Arc::clone(&self.place), self.ending(FarSignal::Kill).add("\nrm -rf -- \"$J\""));
        let ended =
            std::thread::Builder::new().name("place-drop".into()).spawn(move || place.ask_now(&script).is_some());
        if let Err(error) = ended {
            tracing::warn!("{} stays on {}: {error}", self.folder.display(), self.place.label());
        }
    }
}

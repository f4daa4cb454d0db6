//! A command there: what starts it, what ends it, and what it leaves behind.
//!
//! Its line goes over the link into a private folder, so that it stands in no list of arguments and no shell on the way
//! reads it. A trap writes folder and variables there when its shell ends; nothing of ours is ever printed. Work in the
//! background leads a session of its own with its output in a log: it outlives the connection, and is found again.

use super::backend::{PlaceError, Terminal};
use super::remote::{Remote, SMALL, SOON, lock};
use super::script::Script;
use crate::exec::{Far, FarEnd, FarSignal, left_behind};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// Variables that belong to a terminal or a shell, not to the task.
const OWN: &[&str] = &["PWD", "OLDPWD", "SHLVL", "TERM", "_", "SSH_TTY", "SSH_CONNECTION", "SSH_CLIENT", MARK];
/// By it all that a command started is found again, in whatever session.
pub(crate) const MARK: &str = "HERMES_JOB";
/// A pager would wait for keys that nobody presses.
const ADDED: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat"), ("PYTHONUNBUFFERED", "1")];
/// Bytes of what a shell leaves behind.
const STATE: usize = 1024 * 1024;
/// How often the follower of background work looks for more, and how often a broken connection is tried again.
const FOLLOW: &str = r#"
seen=$(cat "$J/seen" 2>/dev/null || echo 0)
while :; do
  over=; { [ -e "$J/code" ] || ! kill -0 "$(cat "$J/pid")" 2>/dev/null; } && over=1
  size=$(wc -c <"$J/log" 2>/dev/null || echo "$seen")
  if [ "$size" -gt "$seen" ]; then
    tail -c +$((seen + 1)) "$J/log" | head -c $((size - seen)); seen=$((size)); echo "$seen" >"$J/seen"; continue
  fi
  [ -n "$over" ] && break
  sleep 0.2 2>/dev/null || sleep 1
done
[ -e "$J/code" ] && exit "$(cat "$J/code")"
exit 137
"#;
const AGAIN: &str = r#"n=0; broken=$1; shift
while :; do
  "$@"; code=$?
  [ "$code" = "$broken" ] || exit "$code"
  n=$((n + 1)); [ "$n" -le 5 ] || exit "$code"
  sleep "$n"
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
}

impl Job {
    /// Hands over its line; work in the background is started. Blocks.
    ///
    /// # Errors
    /// When the place cannot be reached, or the folder is not there.
    pub fn new(place: Arc<Remote>, spec: JobSpec) -> Result<Self, PlaceError> {
        let facts = place.facts()?;
        let id = format!("{:012x}", fastrand::u64(..1 << 48));
        let folder = facts.dir.join("jobs").join(&id);
        let job = Self { breaks: place.breaks(), id, folder, spec, place };
        let script = job.script(facts.has("bash"), facts.has("setsid"))?;
        let said = if job.spec.detached {
            job.place.ask_once(&script, SOON, SMALL)?
        } else {
            job.place.ask(&script, SOON, SMALL)?
        };
        // It wrote files: what was known of that machine may be old.
        lock(&job.place.looked).forget();
        let lost = |why: String| PlaceError::Lost { place: job.place.label().to_owned(), why };
        match said.code {
            0 => Ok(job),
            2 => Err(lost(format!(
                "the working folder {} is gone there: nothing was run; make it again, or name another one",
                job.spec.cwd.display()
            ))),
            _ => Err(lost(format!("the command could not be handed over: {}; is the disk there full?", said.text()))),
        }
    }

    /// Where work in the background keeps its output there.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Writes its files and, in the background, starts it.
    fn script(&self, bash: bool, setsid: bool) -> Result<Script, PlaceError> {
        let jobs = Script::new("").set("J", &self.folder);
        let mut script = jobs.add("[ -d ").word(&self.spec.cwd).add(" ] || (exit 2) && (umask 077; mkdir -p \"$J\"\n");
        script = script.add("cat >\"$J/line\"").text(&self.spec.line);
        script = script.add("cat >\"$J/keep\"").text(&self.prelude(bash));
        script = script.add("cat >\"$J/run\"").text(&String::from_utf8_lossy(&self.run(bash)?.0));
        if self.spec.detached {
            let leader = if setsid { "setsid sh" } else { "sh -m" };
            script = script.add("cat >\"$J/start\"").text(
                "echo $$ >\"$J/pid\"\nsh \"$J/run\"\ncode=$?\necho \"$code\" >\"$J/code.new\" && mv \"$J/code.new\" \"$J/code\"",
            );
            let follow = Script::new("").set("J", &self.folder).add(FOLLOW);
            script = script.add("cat >\"$J/follow\"").text(&String::from_utf8_lossy(&follow.0));
            script = script.add(": >\"$J/log\"; J=$J; export J; nohup ").add(leader);
            script = script.add(" \"$J/start\" >>\"$J/log\" 2>&1 </dev/null &\n");
            script = script
                .add("n=0; while [ ! -s \"$J/pid\" ] && [ $n -lt 100 ]; do sleep 0.02 2>/dev/null; n=$((n+1)); done\n");
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
            "{unset}trap '{{ set +x; }} 2>/dev/null; {{ pwd -P; export -p; }} >|\"{}\" 2>/dev/null || :' EXIT\n",
            state.display()
        )
    }

    /// What the client starts: variables, folder, shell.
    fn run(&self, bash: bool) -> Result<Script, PlaceError> {
        let facts = self.place.facts()?;
        let wanted = self.place.environment_of(&self.spec.task)?;
        // Its variables may be secrets: both files are gone before the command begins, whatever becomes of it.
        let mut run =
            Script::new("").set("J", &self.folder).add("h_line=$(cat \"$J/line\"); rm -f -- \"$J/run\" \"$J/line\"\n");
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
            (fits && !OWN.contains(&name)).then(|| name.to_owned())
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
        // nothing is, and bash complains.
        run = run.add("set --\n");
        if !self.spec.detached {
            run = run.add("[ -t 1 ] && set -- -m\n");
        }
        Ok(match bash {
            true => run
                .add("BASH_ENV=$J/keep; export BASH_ENV\n")
                .add("exec bash --noprofile --norc \"$@\" -c \"$h_line\" bash"),
            false => run.add("exec sh -c '. \"$1\"; eval \"$2\"' sh \"$J/keep\" \"$h_line\""),
        })
    }

    /// What became of it, when its shell left nothing behind although nobody ended it.
    fn lost(&self, alive: bool, code_known: bool) -> Option<String> {
        let label = self.place.label();
        if alive {
            let log =
                if self.spec.detached { format!(", its output in {}", self.log().display()) } else { String::new() };
            return Some(format!(
                "the connection to {label} broke, and the command still runs there{log}; \
                 its process group is in {}: `kill -- -$(cat FILE)` ends it",
                self.folder.join("pid").display()
            ));
        }
        if code_known || self.place.breaks() == self.breaks {
            return None;
        }
        let why = self.place.why().unwrap_or_else(|| "the connection broke".to_owned());
        Some(format!("{label}: {why}; the command ended with it, and what it did so far stays done"))
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
        let client = backend.client(&["sh", &folder("follow")], terminal);
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
        let name = match signal {
            FarSignal::Interrupt => "INT",
            FarSignal::Terminate => "TERM",
            FarSignal::Continue => "CONT",
            FarSignal::Kill => "KILL",
        };
        // By the words of the shell alone: where no process can be started any more, this still works.
        let mut script = Script::new("").set("J", &self.folder).set("H_S", name).add(
            r#"h_l=; { read -r h_l <"$J/pid"; } 2>/dev/null
if [ -n "$h_l" ]; then
for h_f in /proc/[0-9]*/stat; do
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
        self.place.ask_now(&script).is_some_and(|said| said.code == 0)
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

    fn finish(&self, ended: bool) -> FarEnd {
        if ended {
            // Its shell may have gone before what it started: nothing of a command that was ended stays.
            self.signal(FarSignal::Kill);
        }
        let tries = if ended { "50" } else { "0" };
        let script = Script::new("").set("J", &self.folder).set("N", tries).add(
            r#"if [ -d "$J" ]; then
h_p=$(cat "$J/pid" 2>/dev/null)
h_lives() {
  [ ! -e "$J/state" ] && [ ! -e "$J/code" ] && [ -n "$h_p" ] && kill -0 "$h_p" 2>/dev/null &&
  ! grep -qs '^State:.Z' "/proc/$h_p/status"
}
while [ "$N" -gt 0 ] && h_lives; do N=$((N - 1)); sleep 0.02 2>/dev/null || break; done
if h_lives
then echo alive
else
  [ -e "$J/code" ] && echo code || { [ -e "$J/state" ] && echo state || echo none; }
  cat "$J/state" 2>/dev/null; rm -rf -- "$J"
fi; else echo none; fi"#,
        );
        // A client that was told to end may be gone before the command: it is on its way.
        let mut said = self.place.ask(&script, SOON, STATE);
        if ended && said.as_ref().is_ok_and(|said| said.out.starts_with(b"alive")) {
            // The signal found no way while the connection was broken; now there is one.
            self.signal(FarSignal::Kill);
            said = self.place.ask(&script, SOON, STATE);
        }
        let said = match said {
            Ok(said) => said,
            Err(error) => {
                let rest = match ended {
                    true => "whether the command still runs there is not known",
                    false => "what it did so far stays done",
                };
                return FarEnd { lost: Some(format!("{error}; {rest}")), ..FarEnd::default() };
            }
        };
        lock(&self.place.looked).forget();
        let (word, rest) = match said.out.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&said.out[..at], &said.out[at + 1..]),
            None => (&said.out[..], &[][..]),
        };
        if word == b"alive" {
            return FarEnd { lost: self.lost(true, false), ..FarEnd::default() };
        }
        let lost = self.lost(false, word == b"code" || word == b"state").filter(|_| !ended);
        let mut base = self.place.facts().map(|facts| (*self.place.base(&facts)).clone()).unwrap_or_default();
        // What this file adds is no doing of the command.
        base.extend(ADDED.iter().map(|(name, value)| (name.into(), value.into())));
        base.insert(MARK.into(), (&self.id).into());
        let Some((cwd, variables, not_kept)) = left_behind(rest, &base).filter(|_| self.spec.keep) else {
            return FarEnd { lost, ..FarEnd::default() };
        };
        if let Some(mut variables) = variables {
            variables.remove(std::ffi::OsStr::new(MARK));
            self.place.keep(&self.spec.task, variables);
        }
        FarEnd { cwd: Some(cwd), not_kept, lost }
    }
}

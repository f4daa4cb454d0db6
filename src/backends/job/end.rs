//! How a command there ends: what sends it signals, what is left of it, and what became of it.

use super::super::backend::PlaceError;
use super::super::remote::ANSWER_LIMIT;
use super::super::script::Script;
use super::{ADDED, Job, MARK};
use crate::exec::{RemoteEnd, RemoteLost, RemoteSignal, Said, left_behind};
use crate::lock::lock;
use std::ffi::OsStr;
use std::time::Duration;

/// Bytes of what a shell leaves behind.
const STATE: usize = 1024 * 1024;
/// How often a command that was to end is killed once more while it lives, and how long that is waited for.
const ENDINGS: u32 = 25;
const ENDING: Duration = Duration::from_millis(20);

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
pub(super) struct Pids {
    /// How often one could not be made.
    pub(super) refused: u64,
    /// How many there may be; `None`: as many as wanted.
    most: Option<u64>,
}

impl Pids {
    /// From the first line of an answer; and the rest of it.
    pub(super) fn read(out: &[u8]) -> (Self, &[u8]) {
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

impl Job {
    /// What sends a signal to all of it there.
    pub(super) fn ending(&self, signal: RemoteSignal) -> Script {
        let name = match signal {
            RemoteSignal::Interrupt => "INT",
            RemoteSignal::Terminate => "TERM",
            RemoteSignal::Continue => "CONT",
            RemoteSignal::Kill => "KILL",
        };
        // By the words of the shell alone: where no process can be started any more, this still works.
        let stop = if signal == RemoteSignal::Kill { STOP } else { "" };
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
        if signal == RemoteSignal::Kill {
            // What went into a session of its own is known by its mark.
            script = script.add("\nh_c=$?\n").add(&format!(
                "for h_f in $(grep -ls '{MARK}={}' /proc/[0-9]*/environ 2>/dev/null); do h_f=${{h_f#/proc/}}; kill -s KILL \"${{h_f%/environ}}\" 2>/dev/null; done; (exit $h_c)",
                self.id
            ));
        }
        script.add("\nfi")
    }

    /// What the place did to it by its bound on processes.
    fn crowded(&self, pids: &Pids, cleared: Option<String>) -> Option<RemoteLost> {
        if pids.refused <= self.refused && cleared.is_none() {
            return None;
        }
        let limit = pids.most.map_or_else(|| "of processes".to_owned(), |most| format!("of {most} processes"));
        let next = cleared.map(|done| format!("; {done}")).unwrap_or_default();
        let why = format!(
            "{} reached its limit {limit} during this command: some processes could not start{next}",
            self.place.label()
        );
        Some(RemoteLost { why, short: "process limit reached" })
    }

    /// What became of it, when its shell left nothing behind although nobody ended it.
    fn lost(&self, alive: bool, code_known: bool) -> Option<RemoteLost> {
        let broke = |why: String| Some(RemoteLost { why, short: "connection lost" });
        let label = self.place.label();
        if alive {
            let log =
                if self.spec.detached { format!(", its output in {}", self.log().display()) } else { String::new() };
            return broke(format!(
                "lost the connection to {label}; the command is still running there{log}; its process group is in {}: kill it with `kill -- -$(cat FILE)`",
                self.folder.join("pid").display()
            ));
        }
        // A shell that is told to end leaves its folder and variables, too: whoever keeps the place knows better.
        let why = self.place.why();
        if self.place.breaks() == self.breaks || code_known && (why.is_none() || self.spec.detached) {
            return None;
        }
        let why = why.unwrap_or_else(|| "connection lost".to_owned());
        broke(format!("{label}: {why}; the command ended with it, and its changes remain"))
    }

    /// Sends a signal to all of it there; whether it got there.
    pub(super) fn send(&self, signal: RemoteSignal) -> bool {
        if self.place.backend().traits().signals_here && !self.spec.detached {
            return false;
        }
        let said = self.place.ask_now(&self.ending(signal));
        match (said, signal) {
            // Whatever is ended one by one is made again at once: all of it goes.
            (Some(said), RemoteSignal::Kill) if is_full(&said.out) => {
                let done = self.place.backend().clear();
                let is_done = done.is_some();
                *lock(&self.cleared) = done;
                is_done
            }
            (Some(said), _) => said.code == 0 && !is_full(&said.out),
            (None, _) => false,
        }
    }

    /// What it left behind and what became of it; `ended`: somebody ended it, and nothing of it stays.
    pub(super) fn left(&self, ended: bool, code: i32) -> RemoteEnd {
        let asked = self.ask_what_is_left(ended);
        let mut cleared = lock(&self.cleared).take();
        // Only where it is known that nothing can be done from inside: an answer that does not come says nothing of what
        // else runs there, and all of that would go.
        if ended && cleared.is_none() && asked.as_ref().is_ok_and(|said| is_full(Pids::read(&said.out).1)) {
            cleared = self.place.backend().clear();
        }
        // A client that was told to end may be gone before the command: it is on its way.
        let said = match asked {
            Ok(said) => said,
            Err(error) => {
                let next = cleared.unwrap_or_else(|| {
                    let next = if ended { "it may still be running there" } else { "its changes so far remain" };
                    next.to_owned()
                });
                let lost = RemoteLost { why: format!("{error}; {next}"), short: "connection lost" };
                return RemoteEnd { lost: Some(lost), ..RemoteEnd::default() };
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
            return RemoteEnd { lost: lost.or(crowded), ..RemoteEnd::default() };
        }
        // Its shell was hung up with the connection, and left what it had as if it had ended by itself.
        let cut = !self.spec.detached && self.place.backend().traits().broken == Some(code);
        let lost = self.lost(false, !cut && (word == b"code" || word == b"state")).filter(|_| !ended).or(crowded);
        self.kept(rest, lost)
    }

    /// Asks what is left, and kills what was to end as long as it lives.
    fn ask_what_is_left(&self, ended: bool) -> Result<Said, PlaceError> {
        // The session that it was started in leaves nothing else.
        let rest = if self.since.is_some() { "; rmdir -- \"${J%/*}\" \"${J%/jobs/*}\" 2>/dev/null" } else { "" };
        let script = Script::new("").set("J", &self.folder).add(LEFT).add(rest);
        let mut asked = self.place.ask(&script, ANSWER_LIMIT, STATE);
        let is_alive = |said: &Said| Pids::read(&said.out).1.starts_with(b"alive\n");
        for _ in 0..ENDINGS {
            if !ended || !asked.as_ref().is_ok_and(is_alive) {
                break;
            }
            // While the connection was broken the signal found no way: now there is one.
            self.send(RemoteSignal::Kill);
            std::thread::sleep(ENDING);
            asked = self.place.ask(&script, ANSWER_LIMIT, STATE);
        }
        asked
    }

    /// Keeps folder and variables for later commands of the task.
    fn kept(&self, rest: &[u8], lost: Option<RemoteLost>) -> RemoteEnd {
        let mut base = self.place.facts().map(|facts| (*self.place.base(&facts)).clone()).unwrap_or_default();
        // What the program adds is no doing of the command.
        base.extend(ADDED.iter().map(|(name, value)| (name.into(), value.into())));
        base.insert(MARK.into(), (&self.id).into());
        let Some((cwd, variables, not_kept)) = left_behind(rest, &base).filter(|_| self.spec.keep) else {
            return RemoteEnd { lost, ..RemoteEnd::default() };
        };
        if let Some(mut variables) = variables {
            variables.remove(OsStr::new(MARK));
            self.place.keep(&self.spec.task, variables);
        }
        RemoteEnd { cwd: Some(cwd), not_kept, lost }
    }
}

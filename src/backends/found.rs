//! Work in the background that an earlier run of this program left on another machine.

use super::backend::PlaceError;
use super::job::{Job, JobSpec};
use super::open::Backends;
use super::remote::{ANSWER_LIMIT, Remote, SMALL};
use super::script::Script;
use crate::exec::{RemoteLeftovers, RemotePlace, RemoteSearch};
use crate::lock::lock;
use std::sync::Arc;

/// Bytes at the end of its output there that are told again: what was told before may not have been kept here.
const RESENT_BYTES: u64 = 8 * 1024 * 1024;

/// Says what is left of it. Its number may be another process's by now: only one that was started from its folder is it.
/// Whoever followed it before does so no more.
const FIND: &str = r#"
if [ ! -d "$J" ]; then echo gone
else
  if [ -e "$J/code" ]; then echo over
  elif { read -r h_p <"$J/pid"; } 2>/dev/null && { tr '\0' ' ' <"/proc/$h_p/cmdline" || ps -p "$h_p" -o args=; } 2>/dev/null |
    grep -qF -- "$J/begun"
  then echo alive
  else rm -f -- "$J/pid" "$J/start"; echo over; fi
  rm -f -- "$J"/seen*
  h_n=$(wc -c <"$J/log" 2>/dev/null || echo 0)
  [ "$h_n" -gt "$A" ] && h_n=$((h_n - A)) || h_n=0
  echo "$h_n" >"$J/$H_S"
fi"#;

impl Backends {
    /// Looks for work that an earlier run left on another machine. Makes nothing there. Blocks, within bounds.
    pub fn seek(&self, left: &RemoteLeftovers) -> RemoteSearch {
        let there = match self.earlier(&left.place) {
            Ok(there) => there,
            Err(why) => return RemoteSearch::Unreachable(why),
        };
        match there.remains() {
            Ok(true) => there.seek(left),
            Ok(false) => RemoteSearch::Gone,
            Err(error) => RemoteSearch::Unreachable(why(error)),
        }
    }

    /// The machine of this name, as it is configured now.
    fn earlier(&self, place: &RemotePlace) -> Result<Arc<Remote>, String> {
        let is_it = |there: &Arc<Remote>| there.backend().traits().kind == place.kind && there.label() == place.label;
        if let Some(there) = self.current().filter(is_it) {
            return Ok(there);
        }
        let mut earlier = lock(&self.inner.earlier);
        if let Some(there) = earlier.iter().find(|there| is_it(there)) {
            return Ok(Arc::clone(there));
        }
        let there = Arc::new(self.made(&place.kind).map_err(|error| error.to_string())?);
        if !is_it(&there) {
            return Err(format!("the configuration now has {}", there.label()));
        }
        earlier.push(Arc::clone(&there));
        Ok(there)
    }
}

/// The reason alone: its place is named beside it.
fn why(error: PlaceError) -> String {
    match error {
        PlaceError::Unreachable { why, .. } | PlaceError::RemoteLost { why, .. } | PlaceError::Config(why) => why,
    }
}

impl Remote {
    fn seek(self: &Arc<Self>, left: &RemoteLeftovers) -> RemoteSearch {
        let seen = format!("seen.{:08x}", fastrand::u32(..));
        let script =
            Script::new("").set("J", &left.place.folder).set("H_S", &seen).set("A", RESENT_BYTES.to_string()).add(FIND);
        let asked = self.facts().and_then(|facts| Ok((facts, self.ask(&script, ANSWER_LIMIT, SMALL)?)));
        let (facts, said) = match asked {
            Ok(asked) => asked,
            Err(error) => return RemoteSearch::Unreachable(why(error)),
        };
        // A container that was made anew is another machine as well; of that one nothing is left.
        let moved = facts.machine != left.place.machine && self.backend().traits().kind == "ssh";
        match said.text().as_str() {
            "gone" if moved => {
                RemoteSearch::Unreachable(format!("that name now belongs to another machine, {}", facts.machine))
            }
            "gone" => RemoteSearch::Gone,
            _ if said.code != 0 => {
                RemoteSearch::Unreachable("its folder there is not writable; is the disk full?".into())
            }
            _ => {
                let spec = JobSpec {
                    line: left.line.clone(),
                    cwd: left.cwd.clone(),
                    task: left.task.clone(),
                    detached: true,
                    headless: false,
                    keep: false,
                };
                let folder = left.place.folder.clone();
                RemoteSearch::Found(Arc::new(Job::found(Arc::clone(self), spec, folder, seen, left.started_at)))
            }
        }
    }
}

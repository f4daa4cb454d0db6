//! A configuration that changed: noticing it, and taking what it says of servers. It looks when something happens anyway (a
//! key, a focus, an event of the agent), so that nothing runs while the program is idle. Each session takes what concerns it
//! by `AgentCommand::Reload`.

use super::Engine;
use crate::agent::policy_snapshot::PolicySnapshot;
use crate::config::paths::Paths;
use crate::lock::lock;
use crate::mcp::Changes;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// When a file was written, and its size; `None` where there is none.
type Stamp = Option<(SystemTime, u64)>;

/// The configuration, and the folder of the logins.
type Stamps = (Stamp, Stamp);

/// What was seen last.
#[derive(Default)]
pub struct Watch {
    looked: Option<Instant>,
    seen: Arc<Mutex<Option<Stamps>>>,
}

impl Watch {
    /// Looks, unless that was done a moment ago: whether the configuration is another, once that is known. Logins that came
    /// are taken.
    pub fn look(&mut self, engine: &Engine) -> Option<impl Future<Output = bool> + Send + 'static> {
        if self.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return None;
        }
        self.looked = Some(Instant::now());
        let (engine, seen) = (engine.clone(), Arc::clone(&self.seen));
        Some(async move {
            let paths = engine.base().paths.clone();
            // A disk that hangs keeps a thread of its own, never the screen.
            let Ok(now) = tokio::task::spawn_blocking(move || stamps(&paths)).await else { return false };
            let (config, logins) = changed(lock(&seen).replace(now), now);
            if logins {
                engine.services().mcp.look_for_logins();
            }
            // Nothing of it is taken before the person has seen it.
            config
        })
    }
}

impl Engine {
    /// Reads what the configuration says of servers: what it names now runs, what is gone ends. A file that can't be read ends
    /// nothing.
    ///
    /// # Errors
    /// Why the configuration can't be used.
    pub async fn reload_servers(&self, policy: Arc<PolicySnapshot>) -> Result<Changes, String> {
        let (sources, file) = (Arc::clone(&self.base().sources), self.base().paths.config());
        let read = move || {
            // What somebody else wrote is started when the person has taken it, not along with something else.
            let Some(loaded) = policy.read_as("", || crate::config::load::load(&sources)) else {
                return Err("the policy changed on disk; review it first: /policy".to_owned());
            };
            let broken = loaded.warnings.into_iter().find(|warning| {
                // Without a key it is about the whole file.
                warning.key.is_empty() && warning.path.as_ref() == Some(&file)
            });
            match broken {
                Some(warning) => Err(warning.to_string()),
                None => Ok(loaded.config.mcp_servers.clone()),
            }
        };
        let servers = tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())??;
        Ok(self.services().mcp.apply(&servers))
    }
}

/// Whether the configuration, and the logins, are to be read anew. The first look says so of both: what was written after they
/// were read, and before that look, is told by nothing else.
fn changed(before: Option<Stamps>, now: Stamps) -> (bool, bool) {
    (before.is_none_or(|before| before.0 != now.0), before.is_none_or(|before| before.1 != now.1))
}

fn stamps(paths: &Paths) -> Stamps {
    let stamp = |path: std::path::PathBuf| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.modified().ok()?, about.len()))
    };
    (stamp(paths.config()), stamp(paths.mcp_tokens()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_look_misses_nothing_that_was_written_before_it() {
        let stamp = |size| Some((SystemTime::UNIX_EPOCH, size));
        let seen = (stamp(1), None);
        for (before, now, told) in [
            (None, seen, (true, true)),
            (None, (None, None), (true, true)),
            (Some(seen), seen, (false, false)),
            (Some(seen), (stamp(2), None), (true, false)),
            (Some(seen), (stamp(1), stamp(1)), (false, true)),
            (Some(seen), (None, None), (true, false)),
        ] {
            assert_eq!(changed(before, now), told, "{before:?} {now:?}");
        }
    }
}

//! Notices that someone else changed the configuration or logged in to a server. It looks when something happens anyway
//! (a key, a focus, an event of the agent), so that nothing runs while the program is idle.

use super::Context;
use crate::app::Msg;
use crate::app::model::servers::ServerFact;
use crate::config::paths::Paths;
use crate::lock::lock;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc;

/// Time between two looks.
const OFTEN: Duration = Duration::from_millis(500);

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
    /// Looks, unless that was done a moment ago. Returns at once.
    pub fn look(&mut self, context: &Context, replies: &mpsc::Sender<Msg>) {
        if self.looked.is_some_and(|at| at.elapsed() < OFTEN) {
            return;
        }
        self.looked = Some(Instant::now());
        let (context, replies, seen) = (context.clone(), replies.clone(), Arc::clone(&self.seen));
        tokio::spawn(async move {
            let paths = context.paths.clone();
            // A disk that hangs keeps a thread of its own, never the screen.
            let Ok(now) = tokio::task::spawn_blocking(move || stamps(&paths)).await else { return };
            let (config, logins) = changed(lock(&seen).replace(now), now);
            if logins {
                context.mcp.look_for_logins();
            }
            if config {
                // Nothing of it is taken before the person has seen it. The screen is gone: nobody waits.
                let _ = replies.send(Msg::Server(ServerFact::ConfigChanged)).await;
            }
        });
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

//! Notices that somebody else changed the configuration or logged in to a server. It looks when something happens anyway
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
            let before = lock(&seen).replace(now);
            let Some((config, logins)) = before else { return };
            if now.1 != logins {
                context.mcp.look_for_logins();
            }
            if now.0 != config {
                // Nothing of it is taken before the person has seen it. The screen is gone: nobody waits.
                let _ = replies.send(Msg::Server(ServerFact::ConfigChanged)).await;
            }
        });
    }
}

fn stamps(paths: &Paths) -> Stamps {
    let stamp = |path: std::path::PathBuf| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.modified().ok()?, about.len()))
    };
    (stamp(paths.config()), stamp(paths.mcp_tokens()))
}

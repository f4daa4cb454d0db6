//! Looks at the disk for the gate, off the async threads: a file system that hangs holds up neither the runner nor the
//! stop key. The thread that hangs with it is given up.

use crate::policy::{Intent, Target, Verdict, World};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time that the counting gets beyond its budget to notice it.
const SLACK: Duration = Duration::from_millis(50);

/// Does work that blocks; `None` when the turn is stopped before it is done. A panic in it goes on in the caller.
pub async fn unless_stopped<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let work = tokio::task::spawn_blocking(work);
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        done = work => match done {
            Ok(done) => Some(done),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => None,
        },
    }
}

/// What a call would touch, as far as it is known when the budget is over.
pub async fn targets(
    intent: &Intent,
    verdict: &Verdict,
    cwd: &Path,
    world: &Arc<dyn World>,
    budget: Duration,
) -> Vec<Target> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let work = {
        let (intent, verdict, cwd) = (intent.clone(), verdict.clone(), cwd.to_owned());
        let (found, world) = (Arc::clone(&found), Arc::clone(world));
        move || crate::tools::world::targets(&intent, &verdict, &cwd, budget, &*world, &found)
    };
    let done = tokio::time::timeout(budget + SLACK, tokio::task::spawn_blocking(work)).await;
    let mut found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    if done.is_err() {
        let note = "the disk did not answer in time: this is not all".to_owned();
        found.push(Target { name: "…".into(), files: None, bytes: None, at_least: true, note });
    }
    found
}

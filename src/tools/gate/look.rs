//! Looks at the disk for the gate, off the async threads: a file system that hangs holds up neither the runner nor the
//! stop key. The thread that hangs with it is given up.

use super::place::Site;
use crate::policy::{Intent, Target, Verdict};
use crate::tools::targets::{self, Found, Places};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time to count what a command would touch and to hear what git would lose, before the modal opens.
pub const BUDGET: Duration = Duration::from_millis(200);
/// Time that the counting gets beyond its budget to notice it.
const SLACK: Duration = Duration::from_millis(50);
/// Time to follow the links once more before the run.
const AGAIN: Duration = Duration::from_secs(2);

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
pub async fn found(intent: &Intent, verdict: &Verdict, site: &Site) -> Found {
    let found = Arc::new(Mutex::new(Found::default()));
    let work = {
        let (intent, verdict, cwd) = (intent.clone(), verdict.clone(), site.cwd.clone());
        let (found, world) = (Arc::clone(&found), Arc::clone(&site.world));
        move || targets::look(&intent, &verdict, &cwd, BUDGET, &*world, &found)
    };
    let done = tokio::time::timeout(BUDGET + SLACK, tokio::task::spawn_blocking(work)).await.is_ok();
    let mut found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    if !done || found.git_is_late {
        let who = if found.counted { "git" } else { "the disk" };
        let note = format!("{who} did not answer in time: this is not all");
        found.targets.push(Target { name: "…".into(), files: None, bytes: None, at_least: true, note });
    }
    found
}

/// Where the paths of a call lead now; `None` when the disk does not answer, or the turn was stopped.
pub async fn places(intent: &Intent, verdict: &Verdict, site: &Site, cancel: &CancellationToken) -> Option<Places> {
    let (intent, verdict, cwd, world) = (intent.clone(), verdict.clone(), site.cwd.clone(), Arc::clone(&site.world));
    let work = unless_stopped(cancel, move || targets::places(&intent, &verdict, &cwd, &*world));
    tokio::time::timeout(AGAIN, work).await.ok().flatten()
}

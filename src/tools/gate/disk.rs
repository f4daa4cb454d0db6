//! Looks at the disk for the gate, off the async threads: a file system that hangs holds up neither the runner nor the
//! stop key. The thread that hangs with it is given up.

use super::environment::Environment;
use crate::lock::lock;
use crate::policy::{Intent, Target, Verdict};
use crate::tools::targets::{self, Found, ResolvedPaths};
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time to count what a command would touch, and to wait for git, before the modal opens.
pub const BUDGET: Duration = Duration::from_millis(200);
/// Time that the counting gets beyond its budget to notice it.
const SLACK: Duration = Duration::from_millis(50);
/// Time for all of it: what git says comes into the open modal.
const WHOLE: Duration = Duration::from_secs(2);
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

/// What a call would touch when the rest of it is known, or the time for that is over.
pub type LateFindings = BoxFuture<'static, Found>;

/// What a call would touch, as far as it is known when the budget is over; and the rest, which comes when it comes.
pub async fn found(intent: &Intent, verdict: &Verdict, environment: &Environment) -> (Found, Option<LateFindings>) {
    let found = Arc::new(Mutex::new(Found::default()));
    let work = {
        let (intent, verdict, cwd) = (intent.clone(), verdict.clone(), environment.cwd.clone());
        let (found, world) = (Arc::clone(&found), Arc::clone(&environment.world));
        let times = targets::Times { count: BUDGET, git: WHOLE };
        move || targets::look(&intent, &verdict, &cwd, times, &*world, &found)
    };
    let mut work = tokio::task::spawn_blocking(work);
    if tokio::time::timeout(BUDGET + SLACK, &mut work).await.is_ok() {
        return (as_told(&found, Some(NOT_IN_TIME)), None);
    }
    let now = as_told(&found, Some(NOT_YET));
    let late = async move {
        let done = tokio::time::timeout(WHOLE, work).await.is_ok();
        as_told(&found, (!done).then_some(NOT_IN_TIME))
    };
    (now, Some(Box::pin(late)))
}

/// What a call would touch, with all that can be known within the time for it.
pub async fn whole(intent: &Intent, verdict: &Verdict, environment: &Environment) -> Found {
    match found(intent, verdict, environment).await {
        (_, Some(late)) => late.await,
        (found, None) => found,
    }
}

const NOT_YET: &str = "has not answered yet: more to come";
const NOT_IN_TIME: &str = "did not answer in time: this list is incomplete";

/// What was found so far. Where that is not all, a row says whose word is missing.
fn as_told(found: &Mutex<Found>, unfinished: Option<&str>) -> Found {
    let mut found = lock(found).clone();
    let missing = if found.git_is_late { Some(NOT_IN_TIME) } else { unfinished };
    if let Some(what) = missing.filter(|_| !found.complete) {
        let note = format!("{} {what}", if found.counted { "git" } else { "the disk" });
        found.targets.push(Target { name: "…".into(), files: None, bytes: None, at_least: true, note });
    }
    found
}

/// Where the paths of a call lead now; `None` when the disk does not answer, or the turn was stopped.
pub async fn resolved_paths(
    intent: &Intent,
    verdict: &Verdict,
    environment: &Environment,
    cancel: &CancellationToken,
) -> Option<ResolvedPaths> {
    let (intent, verdict, cwd, world) =
        (intent.clone(), verdict.clone(), environment.cwd.clone(), Arc::clone(&environment.world));
    let work = unless_stopped(cancel, move || targets::resolved_paths(&intent, &verdict, &cwd, &*world));
    tokio::time::timeout(AGAIN, work).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_word_is_missing_is_said_until_nothing_is() {
        let found =
            |counted, git_is_late, complete| Mutex::new(Found { counted, git_is_late, complete, ..Found::default() });
        let note = |found: Mutex<Found>, unfinished| {
            as_told(&found, unfinished).targets.pop().map(|target| target.note).unwrap_or_default()
        };
        for (found, unfinished, said) in [
            (found(false, false, false), Some(NOT_YET), "the disk has not answered yet: more to come"),
            (found(true, false, false), Some(NOT_YET), "git has not answered yet: more to come"),
            (found(true, false, false), Some(NOT_IN_TIME), "git did not answer in time: this list is incomplete"),
            (found(true, true, false), None, "git did not answer in time: this list is incomplete"),
            (found(true, false, true), Some(NOT_YET), ""),
            (found(true, false, true), None, ""),
        ] {
            assert_eq!(note(found, unfinished), said);
        }
    }
}

//! Availability checks: each in a thread of its own, with a limit, and never a reason to fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A check that takes longer counts as failed.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// Whether something that tools need is there; `Err` says what is missing. May block.
pub type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// A check in a thread of its own: one that hangs holds up neither the listing nor the end of the program.
pub async fn run_check(check: Check) -> Result<(), String> {
    let (tell, told) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("tool-check".into()).spawn(move || {
        // The receiver may have given up: then nobody is interested.
        let _ = tell.send(catch_unwind(AssertUnwindSafe(|| check())));
    });
    if let Err(error) = thread {
        return Err(format!("could not start its check: {error}"));
    }
    match tokio::time::timeout(CHECK_LIMIT, told).await {
        Ok(Ok(Ok(result))) => result,
        Ok(Ok(Err(_)) | Err(_)) => Err("its check failed unexpectedly".into()),
        Err(_) => Err(format!("its check did not answer within {} s", CHECK_LIMIT.as_secs())),
    }
}

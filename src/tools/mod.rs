//! Tools: what they are (`spec`), which exist (`registry`), which of them a session is offered (`offer`), and the one way a
//! call is run (`gate`: plan, decide, ask, run). The tools themselves stand in `builtin`, one file each.

pub mod builtin;
pub mod children;
pub mod code;
pub mod confine;
pub mod dispatch;
pub mod file;
pub mod gate;
pub mod hook;
pub mod input;
pub mod offer;
pub mod output;
pub mod parallel;
pub mod registry;
pub mod rulebook;
pub mod similarity;
pub mod spec;
pub mod targets;
#[cfg(test)]
pub(crate) mod testing;
pub mod world;

use spec::ToolError;

/// Runs work that blocks off the async threads. A panic in it goes on in the caller.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(ToolError::Interrupted),
    }
}

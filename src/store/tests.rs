//! Tests of the store through its handle.

mod clock;
mod files;
mod finding;
mod journals;
mod life;
mod pruning;
mod refused;
mod replays;
mod resuming;
mod rewinding;
mod running;
mod salvaging;

use super::*;
use crate::protocol::{AssistantBody, Body, NoteKind, Origin, StopReason, ToolBody, ToolCall};
use std::path::Path;

/// Runs a test's futures on this thread.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn id(text: &str) -> SessionId {
    SessionId(text.to_owned())
}

fn new(session: &str, cwd: &str) -> NewSession {
    let source = "tui".to_owned();
    NewSession { id: id(session), cwd: cwd.to_owned(), model: "test:model".to_owned(), source, started_at: now() }
}

fn item(number: i64, body: Body) -> Item {
    Item { id: ItemId(number), at: 1_767_254_400_000 + number * 1000, turn: 1, body }
}

fn user(text: &str) -> Body {
    Body::User {
        text: text.to_owned(),
        images: Vec::new(),
        context: "secretcontext".to_owned(),
        origin: Origin::Person,
        gist: String::new(),
    }
}

fn assistant(text: &str, calls: &[(&str, &str)]) -> Body {
    let calls = calls.iter().map(|(id, name)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        args: "{\"command\":\"zebra --stripes\"}".to_owned(),
        repaired: false,
        via: String::new(),
    });
    Body::Assistant(AssistantBody { text: text.to_owned(), calls: calls.collect(), ..AssistantBody::default() })
}

fn tool(call: &str, name: &str, content: &str) -> Body {
    let (call_id, name, content) = (call.to_owned(), name.to_owned(), content.to_owned());
    Body::Tool(ToolBody { call_id, name, content, ..ToolBody::default() })
}

fn words(items: &[Item]) -> Vec<String> {
    let word = |item: &Item| match &item.body {
        Body::User { text, .. } => format!("user {text}"),
        Body::Assistant(body) => format!("assistant {}", body.text),
        Body::Tool(body) => format!("tool {} {:?}", body.call_id, body.outcome),
        Body::Summary(summary) => format!("summary {}", summary.text),
        Body::Note { kind, .. } => format!("note {kind:?}"),
    };
    items.iter().map(word).collect()
}

/// Waits until something is true, or fails.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if holds().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

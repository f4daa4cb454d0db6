//! MCP servers for the screen: rows of the list, all about one, a login, and a configuration that is read again.

use super::Context;
use crate::app::Msg;
use crate::app::model::servers::{ServerChanges, ServerFact, ServerRow, ServerState};
use crate::mcp::{Changes, Mcp, State, Status};
use crate::text::width::truncate_end;
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc};

/// Cells of a line of standard error in a report.
const STDERR_LINE: usize = 300;

/// Servers as the screen shows them.
pub fn rows(mcp: &Mcp) -> Vec<ServerRow> {
    let row = |status: Status| ServerRow {
        state: match status.state {
            State::Off => ServerState::Off,
            State::Connecting => ServerState::Connecting,
            State::Ready => ServerState::Ready,
            State::Waiting => ServerState::Waiting,
            State::Asleep => ServerState::Asleep,
            State::NeedsLogin => ServerState::NeedsLogin,
            State::Failed => ServerState::Failed,
        },
        why: status.why,
        tools: status.tools.len(),
        tokens: status.tokens,
        resources: status.resources,
        prompts: status
            .prompts
            .into_iter()
            .map(|prompt| (prompt.name, prompt.description, prompt.args.into_iter().map(|(name, _)| name).collect()))
            .collect(),
        last_words: status.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned(),
        problems: status.problems.len(),
        name: status.name,
    };
    mcp.status().into_iter().map(row).collect()
}

/// Takes what the configuration says of servers now, as the session in view knows the policy.
///
/// # Errors
/// Why the configuration can't be used.
pub async fn reload(context: &Context) -> Result<ServerChanges, String> {
    let Changes { new, changed, gone } = context.engine.reload_servers(Arc::clone(&context.policy)).await?;
    Ok(ServerChanges { new, changed, gone })
}

/// A login to its end; `pasted` hears the address that the browser ended at.
pub async fn log_in(name: String, mcp: Mcp, replies: mpsc::Sender<Msg>, pasted: mpsc::Receiver<String>) {
    let pasted = Arc::new(Mutex::new(pasted));
    let (server, told) = (name.clone(), replies.clone());
    let visit = move |address: String| -> BoxFuture<'static, Option<String>> {
        let (server, told, pasted) = (server.clone(), told.clone(), Arc::clone(&pasted));
        Box::pin(async move {
            // Without a browser the person follows the address by hand.
            let _ = crate::exec::browse(&address);
            let _ = told.send(Msg::Server(ServerFact::LoginAt { name: server, address })).await;
            pasted.lock().await.recv().await
        })
    };
    let result = mcp.login(&name, &visit).await;
    // The screen is gone: nobody waits.
    let _ = replies.send(Msg::Server(ServerFact::LoggedIn { name, result })).await;
}

/// All about one server, as text.
pub fn report(name: &str, context: &Context) -> String {
    let Some(status) = context.mcp.status().into_iter().find(|status| status.name == name) else {
        return format!("no MCP server is named {name}");
    };
    let mut out = format!("{}\n", status.place);
    match (status.why.as_str(), status.took_ms) {
        ("", Some(took)) => {
            out.push_str(&format!("{}, protocol {}, connected in {took} ms\n", status.about, status.protocol))
        }
        (why, _) => out.push_str(&format!("{why}\n")),
    }
    out.push_str(&format!("\n{} tools, about {} tokens\n", status.tools.len(), status.tokens));
    for tool in &status.tools {
        out.push_str(&format!("  {tool}\n"));
    }
    for prompt in &status.prompts {
        out.push_str(&format!("  /{name}:{}  {}\n", prompt.name, prompt.description));
    }
    for problem in &status.problems {
        out.push_str(&format!("warning: {problem}\n"));
    }
    if !status.stderr.trim().is_empty() {
        out.push_str("\nend of its standard error\n");
        let lines: Vec<&str> = status.stderr.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(20)) {
            out.push_str(&format!("  {}\n", truncate_end(line, STDERR_LINE)));
        }
    }
    out
}
